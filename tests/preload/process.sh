# SPDX-License-Identifier: MIT
# A process that multiplies and calls exec, spawns, leaves main, ends or is killed does what it does
# alone. This library may be opened and closed. Contract 8.2, 8.3, 8.4, 8.5, 8.7, 8.8, 8.12
# (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
# -rdynamic, so that the library calls the program's dl_iterate_phdr.
blas_program process -rdynamic
stub "$tmp/libstub.so" stub -DSTUB_QUIET -DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm
compile $XG_BLAS_CFLAGS -rdynamic -o "$tmp/lockless" "$srcdir/tests/preload/process.c" \
    "$tmp/libstub.so" -Wl,-rpath,"$tmp" -lm -ldl -pthread
export OPENBLAS_NUM_THREADS=1

# ends WHAT STATUS COMMAND...: the command ends with STATUS, and prints only the count of checks.
ends() {
    what=$1
    wanted=$2
    shift 2
    "$@" >"$tmp/out" 2>"$tmp/err"
    result=$?
    # Any other line is the shell's message about how the program ended.
    grep -hv -e '^[1-9][0-9]* checks, 0 failed$' -e Aborted -e Terminated "$tmp/out" "$tmp/err" \
        >"$tmp/said"
    [ $result -eq "$wanted" ] && [ ! -s "$tmp/said" ] && return
    head -20 "$tmp/said"
    fail "$what: exit status $result, not $wanted, or messages"
}

# everywhere_ends STATUS ARGUMENT...
everywhere_ends() {
    wanted=$1
    shift
    set -- timeout -s KILL 60 "$tmp/$program" "$@"
    shown="$6 ${7-}"
    ends "$shown, without the library" "$wanted" "$@"
    ends "$shown, on the CPU" "$wanted" preloaded XGEMM_MODE=cpu "$@"
    ends "$shown, as it comes" "$wanted" preloaded "$@"
    has_engine || return 0
    for turn in 1 2 3; do
        ends "$shown, on the engine" "$wanted" on_engine "$@"
    done
}

program=process
everywhere_ends 0 exec
everywhere_ends 0 spawn
# A fork beside OpenBLAS's first products leaves its locks taken in the child (one in 2000 hangs
# without this library), so the stand-in computes these.
program=lockless
for after_us in 0 20 60 150 400 1000; do
    everywhere_ends 0 fork_first $after_us
done
ends "fork_walk" 0 preloaded timeout -s KILL 60 "$tmp/$program" fork_walk
! has_engine || ends "fork_walk, on the engine" 0 on_engine timeout -s KILL 60 "$tmp/$program" \
    fork_walk
# Where threads allocate memory, as on the engine, a child that was made without fork handlers must
# not call fork: the C library's own locks may be taken in it.
mkdir "$tmp/accounts"
for way in fork _Fork clone; do
    ends "children by $way, alone" 0 "$tmp/lockless" children "$way 20 fork"
    for settings in XGEMM_MODE=cpu "XGEMM_MODE=cpu XGEMM_STATS=1 XGEMM_LOG=$tmp/log" \
        "XGEMM_MODE=cpu XGEMM_TRACE=$tmp/trace" "XGEMM_MODE=cpu XGEMM_ACCOUNT=$tmp/accounts" \
        "XGEMM_MODE=cpu XGEMM_TAPE=$tmp/accounts"; do
        ends "children by $way, $settings" 0 preloaded $settings "$tmp/lockless" children "$way 40 fork"
    done
    ends "children by $way, as it comes" 0 preloaded "$tmp/lockless" children "$way 40 $way"
    ! has_engine || ends "children by $way, on the engine" 0 on_engine "$tmp/lockless" children "$way 40 $way"
done
[ "$(ls "$tmp/accounts" | wc -l)" -gt 40 ] || fail "children of fork keep no accounts"

program=process
everywhere_ends 0 walk
everywhere_ends 0 main_leaves
everywhere_ends 5 end quick_exit
everywhere_ends 6 end _exit
everywhere_ends 134 end abort
everywhere_ends 143 end terminate

# exit while threads multiply on the GPU, after different times.
for delay in 0 200 500 1000 2000 3000 5000 7000 10000 20000; do
    has_engine || break
    for how in "200 1 $delay" "200 2 $delay" "200 4 $delay" "600 2 $delay" "200 2 $delay join" "200 1 $delay fork"; do
        case $how in *fork) threads=4 ;; *) threads=1 ;; esac
        ends "exit $how" 3 on_engine OPENBLAS_NUM_THREADS=$threads timeout -s KILL 30 "$tmp/process" exit "$how"
    done
done

# A program with AddressSanitizer, whose run-time must come first unless that check is off.
# Preloaded, it is also in every child, such as the shell, whose leaks are not ours.
asan=$($CC -print-file-name=libasan.so)
if [ "$asan" != libasan.so ] && $CC -fsanitize=address $test_flags $XG_BLAS_CFLAGS -iquote "$srcdir" \
    -o "$tmp/asan" "$srcdir/tests/preload/process.c" $XG_BLAS_LIBS -lm -ldl -pthread 2>"$tmp/err" &&
    "$tmp/asan" spawn >"$tmp/out" 2>&1; then
    preloaded "$tmp/asan" spawn >"$tmp/out" 2>&1 && fail "ASan accepts a library before it"
    grep -q 'ASan runtime does not come first' "$tmp/out" || fail "ASan: $(head -3 "$tmp/out")"
    compile -fsanitize=address -static-libasan $XG_BLAS_CFLAGS -o "$tmp/asan_static" \
        "$srcdir/tests/preload/process.c" $XG_BLAS_LIBS -lm -ldl -pthread
    for runs in preloaded on_engine; do
        [ $runs = preloaded ] || has_engine || continue
        for scenario in spawn "end _exit"; do
            wanted=$([ "$scenario" = spawn ] && echo 0 || echo 6)
            shown="$scenario, $runs"
            preload=$asan:$XG_SO
            ends "ASan before this library, $shown" $wanted $runs ASAN_OPTIONS=detect_leaks=0 \
                "$tmp/asan" $scenario
            preload=$XG_SO
            ends "ASan that does not look, $shown" $wanted $runs \
                ASAN_OPTIONS=verify_asan_link_order=0 "$tmp/asan" $scenario
            ends "ASan in the program, $shown" $wanted $runs "$tmp/asan_static" $scenario
        done
    done
else
    echo "no program with AddressSanitizer can be run here"
fi

ends "dlclose, on the CPU" 0 env XGEMM_MODE=cpu "$tmp/process" dlclose "$XG_SO"
! has_engine || ends "dlclose, on the engine" 0 env XGEMM_MODE=gpu XGEMM_STAGE_THREADS=3 \
    LD_LIBRARY_PATH="$XG_FAKEDRV_DIR" "$tmp/process" dlclose "$XG_SO"
exit $status
