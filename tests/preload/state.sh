# SPDX-License-Identifier: MIT
# A process has the same state after its products as before, holds no more memory, and leaves only
# the files that it was told to write. Contract 1.1, 7.1, 7.2, 7.3, 7.5, 7.6, 7.8, 8.6, 10.1, 10.2,
# 10.4 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
blas_program state -frounding-math
export OPENBLAS_NUM_THREADS=1

# kept WHAT SCENARIO COMMAND...: the program finds its state unchanged, and there are no messages.
kept() {
    what=$1
    scenario=$2
    shift 2
    (cd "$tmp/folder" && "$@" "$tmp/state" "$scenario") >"$tmp/out" 2>"$tmp/err"
    result=$?
    [ $result -eq 0 ] && grep -qx '[1-9][0-9]* checks, 0 failed' "$tmp/out" &&
        [ "$(wc -l <"$tmp/out")" -eq 1 ] && [ ! -s "$tmp/err" ] && return
    head -20 "$tmp/out" "$tmp/err"
    fail "$what, $scenario: exit status $result, or messages (contract 10.2)"
}

# Folders of the test's own, in which no file may appear: contract 10.4.
mkdir "$tmp/folder" "$tmp/home" "$tmp/temporary" "$tmp/accounts"
HOME=$tmp/home TMPDIR=$tmp/temporary
export HOME TMPDIR
unset XDG_CACHE_HOME
lacks=
for scenario in errno dlerror rounding flags traps flush signals storm process held; do
    (cd "$tmp/folder" && "$tmp/state" $scenario) >"$tmp/out" 2>&1 || {
        head -5 "$tmp/out"
        lacks="$lacks $scenario" # a CPU library that changes it is no standard
        continue
    }
    kept "on the CPU" $scenario preloaded XGEMM_MODE=cpu
    kept "as it comes" $scenario preloaded
    has_engine || continue
    kept "on the engine" $scenario on_engine
    kept "a team of 4" $scenario on_engine XGEMM_STAGE_THREADS=4
    kept "a lost device" $scenario on_engine FAKECUDA_FAIL=exec:30:719 XGEMM_LOG="$tmp/log"
    kept "told" $scenario on_engine XGEMM_STATS=1 XGEMM_VERBOSE=3 XGEMM_LOG="$tmp/log" \
        XGEMM_TRACE="$tmp/trace" XGEMM_ACCOUNT="$tmp/accounts"
    kept "compared" $scenario on_engine XGEMM_MODE=compare XGEMM_STATS=1 XGEMM_LOG="$tmp/log"
done
left=$(find "$tmp/folder" "$tmp/home" "$tmp/temporary" -mindepth 1)
[ -z "$left" ] || fail "contract 10.4: files appeared: $left"
case $lacks in
*errno*|*dlerror*|*signals*|*held*) fail "the test itself fails without the library:$lacks" ;;
esac

# dlerror, by each way in which the caller's library is found: main.c prints what it returns after
# each run, which must be the same as without the library.
lp64='-DSTUB_INT=int32_t -DSTUB_QUIET'
call_c='-DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm'
link="-L$tmp -Wl,-rpath,$tmp"
stub "$tmp/libone.so" one $lp64 -DSTUB_CBLAS=cblas_sgemm -DSTUB_FORTRAN=sgemm_ -DSTUB_ISAMAX \
    -DSTUB_COUNT=openblas_get_num_threads -DSTUB_PARALLEL=openblas_get_parallel -DSTUB_BUILT=2
stub "$tmp/libtwo.so" two $lp64 -DSTUB_CBLAS=cblas_sgemm -DSTUB_FORTRAN=sgemm_
stub "$tmp/libhalf.so" half $lp64 -DSTUB_FORTRAN=sgemm_
stub "$tmp/libwide.so" wide -DSTUB_INT=int64_t -DSTUB_QUIET -DSTUB_CBLAS=cblas_sgemm \
    -DSTUB_FORTRAN=sgemm_ -DSTUB_ISAMAX
compile -o "$tmp/main" "$srcdir/tests/preload/main.c" -ldl -pthread
program "$tmp/linked" $call_c $link -lone -pthread
for name in one two; do
    plugin "$tmp/$name.so" $call_c $link -l$name
done
plugin "$tmp/given.so" $call_c -DCALL_NAMELESS

# told_right HOW FILE: main.c printed in FILE what dlerror must return.
told_right() {
    awk -v how="$1" '
        $1 == "told" || $1 == "dlerror" {
            wants = $1 == "told" || how == "pending" ? "^/nowhere/libnone.so: " : "^says nothing$"
            seen[$1]++
            wrong += substr($0, length($1) + 2) !~ wants
        }
        END { exit wrong || seen["dlerror"] < 2 || (how == "told" && seen["told"] != seen["dlerror"]) }
    ' "$2"
}

# same_dlerror WHAT PROGRAM ARGUMENT...: dlerror stays the same; $with is the environment.
same_dlerror() {
    what=$1 prog=$2
    shift 2
    for how in pending told none; do
        for run in alone cpu engine nodriver; do
            case $run in
            alone) set_up= ;;
            cpu) set_up='preloaded XGEMM_MODE=cpu' ;;
            engine) has_engine && set_up=on_engine || continue ;;
            nodriver) set_up='preloaded XGEMM_MODE=gpu' ;;
            esac
            $set_up env $with "$prog" error $how "$@" >"$tmp/out" 2>"$tmp/err" &&
                told_right $how "$tmp/out" && continue
            cat "$tmp/out" "$tmp/err"
            fail "dlerror, $what, $how, $run (contract 7.8)"
        done
    done
}

with=
same_dlerror "a linked library" "$tmp/linked" own 5
same_dlerror "a plug-in" "$tmp/main" plugin "$tmp/one.so" 5
same_dlerror "two plug-ins" "$tmp/main" hold "$tmp/libtwo.so" plugin "$tmp/one.so" 5 plugin "$tmp/two.so" 6
same_dlerror "a global library" "$tmp/main" load "$tmp/libtwo.so" plugin "$tmp/one.so" 5
same_dlerror "a closed plug-in" "$tmp/main" turns "$tmp/one.so" "$tmp/one.so" 5
same_dlerror "a pointer" "$tmp/main" hold "$tmp/libtwo.so" pointer "$tmp/one.so" "$tmp/given.so" 5
for library in libtwo.so libhalf.so libwide.so libnowhere.so; do
    with=XGEMM_CPU_BLAS=$tmp/$library
    same_dlerror "XGEMM_CPU_BLAS, $library" "$tmp/linked" own 5
done
with=
echo "not kept without the library:${lacks:- none}"
exit $status
