# SPDX-License-Identifier: MIT
# The program's own handler of illegal arguments gets the same arguments as without the library,
# from the same function, and may leave by longjmp (contract 5.1, 5.2).
. "$srcdir/tests/preload/lib"
needs_plain_library
export OPENBLAS_NUM_THREADS=1

judged=
for name in openblas:libopenblas.so.0:int32_t reference:blas/libblas.so.3:int32_t \
    openblas64:libopenblas64.so.0:int64_t reference64:blas64/libblas64.so.3:int64_t; do
    blas=${name%%:*} int=${name##*:} file=${name#*:}
    library=$(real "${file%:*}")
    [ -n "$library" ] || continue
    compile -DCALL_INT="$int" -rdynamic -o "$tmp/xerbla" "$srcdir/tests/preload/xerbla.c" \
        "$library" -lm -Wl,-rpath,"${library%/*}" -Wl,--disable-new-dtags
    for how in returns jumps; do
        same_as_alone "$blas, $how" "$tmp/xerbla" $how
        grep -q 'argument' "$tmp/alone" && grep -q ' 0 failed' "$tmp/alone" ||
            fail_with "$blas, $how: no handler was called, or it fails without the library" "$tmp/alone"
        has_engine || continue
        same_on_engine "$blas, $how" "$tmp/alone" XGEMM_OPERATIONS=all "$tmp/xerbla" $how
        on_engine XGEMM_STATS=1 "$tmp/xerbla" $how >"$tmp/engine" 2>&1
        grep -q ' 5 on the GPU, 0 on the CPU' "$tmp/engine" ||
            fail_with "$blas, $how: contract 5.2: a thread that left a call by longjmp keeps the GPU" "$tmp/engine"
    done
    judged="$judged $blas"
done
[ -n "$judged" ] || skip "no BLAS is installed"
echo "judged:$judged"
exit $status
