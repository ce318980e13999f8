# SPDX-License-Identifier: MIT
# Programs that call BLAS and LAPACK through libblastrampoline, as Julia does: every operation and
# routine in both widths of integers, on the CPU and on the fake GPU, with and without
# xgemm_lbt_forward. The stand-in is lbt.c; XG_LBT_SOURCE=FOLDER builds and tests the real one.
# Contract 11.2, 11.4 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
case $(uname -m) in x86_64 | aarch64) ;; *) skip "no trampolines for this machine" ;; esac
openblas=$(real libopenblas.so.0)
[ -n "$openblas" ] || skip "OpenBLAS is not installed"
export OPENBLAS_NUM_THREADS=1 XT_SHIM="$XG_SO"

if [ -n "${XG_LBT_SOURCE-}" ]; then
    cp -R "$XG_LBT_SOURCE" "$tmp/source"
    make -C "$tmp/source/src" >"$tmp/out" 2>&1 || { cat "$tmp/out"; exit 99; }
    lbt=$(find "$tmp/source/src" -name 'libblastrampoline.so*' -type f)
else
    lbt=$tmp/libblastrampoline.so.5
    $CC -O1 -Wall -Werror -shared -fPIC -iquote "$srcdir" -Wl,-soname,libblastrampoline.so.5 -o "$lbt" \
        "$srcdir/tests/preload/lbt.c" -ldl || exit 99
fi
# Old releases of the real one lack GEMMT.
gemmt=
! $NM -D "$lbt" | grep -q ' cblas_sgemmt$' || gemmt=gemmt
link="$lbt -Wl,-rpath,${lbt%/*} -Wl,--disable-new-dtags -ldl"

# widths FILE BEHIND [OPTION...]: builds widths.c.
widths() {
    widths_file=$1
    widths_of=$2
    shift 2
    $CC -O1 -Wall -Werror -shared -fPIC -iquote "$srcdir" "$@" -DWIDTHS_OF="\"$widths_of\"" \
        -Wl,-soname,"${widths_file##*/}" -o "$widths_file" "$srcdir/tests/preload/widths.c" -ldl || exit 99
}
widths "$tmp/libwide.so" "$openblas" -DWIDTHS_WIDE
widths "$tmp/libnarrow.so" "$lbt" ${gemmt:+-DWIDTHS_GEMMT}
plain_blas "$tmp/libloops32.so" int32_t -DWITH_GEMMT=gemmt
plain_blas "$tmp/libloops64.so" int64_t -DWITH_GEMMT=gemmt
compile -shared -fPIC -o "$tmp/libsetup.so" "$srcdir/tests/preload/trampoline.c" $link
compile -DTRAMPOLINE_MAIN -o "$tmp/trampoline" "$srcdir/tests/preload/trampoline.c" $link -pthread

# build NAME LIBRARY: programs whose functions are those of LIBRARY.
build() {
    names="-Wl,--no-as-needed $tmp/libsetup.so -Wl,-rpath,$tmp $2 $link -lm"
    compile -O2 -DCALL_INT=int32_t -o "$tmp/level3-$1" "$srcdir/tests/preload/level3.c" $names
    compile -O2 -DCALL_INT=int32_t -DWITH_PRODUCTS -o "$tmp/products-$1" "$srcdir/tests/preload/level3.c" $names
    compile -O2 -DCALL_INT=int32_t -o "$tmp/gemv-$1" "$srcdir/tests/preload/gemv.c" $names
    [ -z "$gemmt" ] ||
        compile -O2 -DCALL_INT=int32_t -DWITH_GEMMT=gemmt -o "$tmp/gemmt-$1" "$srcdir/tests/preload/level3.c" $names
    for each in "lapack $srcdir/tests/support/routines.c $srcdir/tests/support/spectra.c" squares; do
        compile -iquote "$srcdir/src" $XG_BLAS_CFLAGS -Wno-cast-function-type -o "$tmp/${each%% *}-$1" \
            "$srcdir/tests/preload/${each%% *}.c" $(echo "$each" | sed 's/^[a-z]*//') \
            "$srcdir/tests/support/dense.c" .libs/libxgcore.a $names -lpthread
    done
}
build 32 "$lbt"
build 64 "$tmp/libnarrow.so"

# answers WHAT WIDTH [VARIABLE=VALUE...]: all answers of all programs are right; $tmp/stats has their accounts. As in
# Julia, no library is behind the functions of the other width, unless the fake cuSOLVER calls LAPACK by name.
answers() {
    answers_what="$1, $2 bits"
    width=$2
    case $width:$* in
    32:* | *=gpu*) behind="$openblas $tmp/libwide.so" ;;
    *) behind=$tmp/libwide.so ;;
    esac
    shift 2
    : >"$tmp/stats"
    for program in "level3-$width edges" "products-$width edges" "gemv-$width" ${gemmt:+"gemmt-$width edges"} "lapack-$width 40" \
        "squares-$width"; do
        env XT_BEHIND="$behind" XT_GEMMT="${gemmt:+$tmp/libloops$width.so}" XT_WIDTH=$width \
            XGEMM_STATS=1 "$@" timeout -s KILL 300 "$tmp/"$program >"$tmp/out" 2>"$tmp/err" ||
            fail_with "$answers_what, $program: exit status $?" "$tmp/out" "$tmp/err"
        grep 'no BLAS/LAPACK library loaded' "$tmp/err" | head -3 | grep . &&
            fail "$answers_what, $program: a name is missing"
        cat "$tmp/err" >>"$tmp/stats"
    done
}

# on_gpu WHAT WIDTH: each name has run on the GPU.
on_gpu() {
    suffix=
    [ "$2" = 32 ] || suffix=64_
    for name in $names_of_all; do
        grep -q "^  GPU  *XGEMM_MODE  *$name$suffix " "$tmp/stats" ||
            fail "$1, $2 bits: $name$suffix has not run on the GPU"
    done
}
names_of_all=$($NM -D --defined-only "$tmp/libnarrow.so" | sed -n 's/.* T //p' |
    grep -v 'isamax_\|dot[c]*_$\|gemmtr' | tr '\n' ' ')
case $names_of_all in *cblas_sgemm*zungqr_*) ;; *) echo "no names: $names_of_all"; exit 99 ;; esac

fake="XGEMM_MODE=gpu LD_LIBRARY_PATH=$XG_FAKEDRV_DIR"
for width in 32 64; do
    answers "without the library" $width
    for lead in all single; do
        answers "on the CPU, $lead" $width XT_LEAD=$lead XGEMM_MODE=cpu
        has_engine || continue
        answers "on the GPU, $lead" $width XT_LEAD=$lead $fake
        on_gpu "$lead" $width
    done
done
# The library is preloaded too, so that the program's own references reach it first.
answers "preloaded" 32 LD_PRELOAD="$preload" XGEMM_MODE=cpu
answers "preloaded and set" 32 LD_PRELOAD="$preload" XT_LEAD=all XGEMM_MODE=cpu
answers "preloaded and set one by one" 32 LD_PRELOAD="$preload" XT_LEAD=single XGEMM_MODE=cpu

# runs VARIABLES ARGUMENT...: a case of trampoline.c, in every mode.
runs() {
    variables=$1
    shift
    for mode in XGEMM_MODE=cpu "$fake"; do
        [ "$mode" = XGEMM_MODE=cpu ] || has_engine || continue
        env $mode $variables XT_BEHIND="$openblas $tmp/libwide.so" XGEMM_VERBOSE=2 timeout -s KILL 60 \
            "$tmp/trampoline" "$@" >"$tmp/out" 2>"$tmp/err" ||
            fail_with "$variables $*, $mode: exit status $?" "$tmp/out" "$tmp/err"
    done
}
cp "$openblas" "$tmp/libsecond.so"
runs "" again "$tmp/libsecond.so"
says "after lbt_forward" "dgemm_ of $openblas" "dgemm_ of $tmp/libsecond.so"
runs "" threads
runs "LD_PRELOAD=$preload" threads
runs XT_LEAD=all code
runs XT_LEAD=single code
runs "" batch "$tmp/libloops32.so" "$tmp/libloops64.so"
runs "" refused
says "refused" 'complex return style' 'xgemm: lbt_forward cannot take this library'
# Julia's package calls functions that exist.
for name in $(grep -o ':xgemm_[a-z_]*' "$srcdir/julia/XGEMM.jl/src/XGEMM.jl" | tr -d : | sort -u); do
    $NM -D --defined-only "$XG_SO" | grep -q " T $name\$" || fail "XGEMM.jl calls $name, which is not there"
done
exit $status
