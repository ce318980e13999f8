# SPDX-License-Identifier: MIT
# The program's own handler of illegal arguments gets the same arguments as without the library,
# from the same function, and may leave by longjmp (contract 5.1, 5.2).
. "$srcdir/tests/preload/lib"
needs_plain_library
export OPENBLAS_NUM_THREADS=1

judge() {
    [ "$1" != atlas ] || return 0 # not tried
    compile -DCALL_INT="$3" -rdynamic -o "$tmp/xerbla" "$srcdir/tests/preload/xerbla.c" \
        "$2" -lm -Wl,-rpath,"${2%/*}" -Wl,--disable-new-dtags
    judged="$judged $1"
    for how in returns jumps; do
        same_as_alone "$1, $how" "$tmp/xerbla" $how
        grep -q 'argument' "$tmp/alone" && grep -q ' 0 failed' "$tmp/alone" ||
            fail_with "$1, $how: no handler was called, or it fails without the library" "$tmp/alone"
        has_engine || continue
        same_on_engine "$1, $how" "$tmp/alone" XGEMM_OPERATIONS=all "$tmp/xerbla" $how
        on_engine XGEMM_STATS=1 "$tmp/xerbla" $how >"$tmp/engine" 2>&1
        grep -q ' 5 on the GPU, 0 on the CPU' "$tmp/engine" ||
            fail_with "$1, $how: contract 5.2: a thread that left a call by longjmp keeps the GPU" "$tmp/engine"
    done
}
judged=
each_blas judge
[ -n "$judged" ] || skip "no BLAS is installed"
echo "judged:$judged"
exit $status
