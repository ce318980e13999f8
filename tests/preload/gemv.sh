# SPDX-License-Identifier: MIT
# GEMV in all forms is right: by each installed BLAS, without one, by one of other integers, in every
# spelling, and on the engine, which computes what it can state. A small one is not looked at.
# Contract 3.1, 3.2, 5.1, 5.3 (doc/contract.md).
. "$srcdir/tests/preload/lib"
export OPENBLAS_NUM_THREADS=1
source=$srcdir/tests/preload/gemv.c

judge() {
    blas=$1
    compile -O2 -DCALL_INT=$3 -o "$tmp/gemv" "$source" "$2" -lm -Wl,-rpath,"${2%/*}" -Wl,--disable-new-dtags
    same_as_alone "$blas" "$tmp/gemv"
    grep -q '[1-9][0-9]* checks, 0 failed' "$tmp/preloaded" || fail "$blas: answers are wrong"
    judged="$judged $blas"
    preloaded XGEMM_STATS=1 "$tmp/gemv" >"$tmp/out" 2>&1 || fail "$blas, with statistics"
    grep '[sdcz]gemv' "$tmp/out" && fail "$blas: small ones were looked at"
    # The engine computes the same whatever library is behind it: with one of each width of integers.
    case $computed in *$3*) return 0 ;; esac
    has_engine || return 0
    computed="$computed $3"
    on_engine XGEMM_STATS=1 "$tmp/gemv" >"$tmp/engine" 2>&1 || fail_with "$blas: on the engine" "$tmp/engine"
    for name in sgemv dgemv cgemv zgemv; do
        grep -q "GPU *XGEMM_MODE *${name}_ " "$tmp/engine" && grep -q "GPU *XGEMM_MODE *cblas_$name " "$tmp/engine" ||
            fail "$blas: $name was elsewhere"
    done
    on_engine XGEMM_MODE=compare XGEMM_STATS=1 "$tmp/gemv" 5 >"$tmp/engine" 2>&1 || fail "$blas: compared"
    grep -q "both *XGEMM_MODE *zgemv_ " "$tmp/engine" || fail "$blas: zgemv is not compared"
}
judged=
computed=
each_blas judge
# Without cuBLAS the GPU computes exactly the types that the help of XGEMM_OPERATIONS names.
if has_engine && [ -x "$tmp/gemv" ]; then
    on_engine XGEMM_STATS=1 FAKECUDA_FAIL=cublasCreate:1:999:always "$tmp/gemv" 5 >"$tmp/out" 2>&1 || fail "without cuBLAS"
    found=$(sed -n 's/^ *GPU *XGEMM_MODE *\(cblas_\)\{0,1\}\([a-z0-9]*\).*/\2/p' "$tmp/out" | sort -u | tr '\n' ' ')
    expect "without cuBLAS on the GPU" "$found" "dgemv sgemv "
fi
[ -n "$judged" ] || skip "no BLAS is installed"

# A library of 64-bit integers computes for a program of 32-bit integers: its calls are written anew.
openblas=$(real libopenblas.so.0)
if [ -n "$openblas" ] && [ "$XG_SANITIZER" = no ]; then
    compile -O2 -DCALL_INT=int32_t -o "$tmp/narrow" "$source" "$openblas" -lm
    $CC -O1 -Wall -Werror -shared -fPIC -iquote "$srcdir" -DWIDTHS_WIDE -DWIDTHS_OF="\"$openblas\"" \
        -o "$tmp/libwide.so" "$srcdir/tests/preload/widths.c" -ldl || exit 99
    for mode in cpu gpu; do
        ! { [ $mode = cpu ] || has_engine; } ||
            on_engine XGEMM_MODE=$mode XGEMM_CPU_BLAS="$tmp/libwide.so" "$tmp/narrow" 5 >"$tmp/out" 2>&1 ||
            fail_with "other integers, mode $mode" "$tmp/out"
    done
    grep 'ignoring' "$tmp/out" && fail "the library of other integers was not used"
fi

# Without a BLAS the library computes all forms itself.
mkdir "$tmp/empty"
echo 'int nothing_here = 1;' >"$tmp/empty.c"
$CC -shared -fPIC -o "$tmp/empty/$XG_CPU_BLAS" "$tmp/empty.c" || exit 99
spelled() {
    compile -DCALL_INT=$1 "-DCBLAS_NAME(name)=$2" "-DFORTRAN_NAME(name)=$3" -o "$tmp/own" "$source" "$XG_SO" \
        -Wl,-rpath,"${XG_SO%/*}" -lm
    for mode in cpu gpu; do
        [ $mode = cpu ] || has_engine || continue
        env LD_LIBRARY_PATH="$tmp/empty:$XG_FAKEDRV_DIR" XGEMM_MODE=$mode "$tmp/own" 5 >"$tmp/out" 2>&1 ||
            fail_with "$2, mode $mode" "$tmp/out"
        [ "$(grep -c '^xgemm: no BLAS' "$tmp/out")" = 4 ] || fail_with "$2: messages" "$tmp/out"
    done
}
spelled int32_t 'cblas_##name' 'name##_'
spelled int32_t 'scipy_cblas_##name' 'scipy_##name##_'
spelled int64_t 'cblas_##name##64_' 'name##_64_'
spelled int64_t 'cblas_##name##_64' 'name##_64_'
spelled int64_t 'scipy_cblas_##name##64_' 'scipy_##name##_64_'
echo "judged:$judged"
exit $status
