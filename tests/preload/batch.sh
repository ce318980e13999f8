# SPDX-License-Identifier: MIT
# Batches are computed as by the library that has them, and illegal ones are passed to it. Where the
# program's library has none, its GEMM computes them. The libraries are the tests' own, because few
# installed ones have batches. Contract 1.1, 3.1, 3.2, 5.1 (doc/contract.md).
. "$srcdir/tests/preload/lib"

# engine WHAT COMMAND...: runs everything on the fake driver.
engine() {
    what=$1
    shift
    on_engine XGEMM_STATS=1 "$@" legal >"$tmp/engine" 2>&1 || fail_with "$what: on the engine" "$tmp/engine"
    grep overlaps "$tmp/engine" && fail "$what: separate matrices are reported as overlapping"
    for name in sgemm_batch dgemm_batch cgemm_batch zgemm_batch; do
        for each in ${name}_ cblas_$name ${name}_strided_ cblas_${name}_strided; do
            grep -q "GPU *XGEMM_MODE *$each " "$tmp/engine" || fail "$what: $each did not run on the GPU"
        done
    done
    on_engine XGEMM_MODE=compare XGEMM_STATS=1 "$@" legal >"$tmp/engine" 2>&1 ||
        fail "$what: compared"
    grep -q 'both *XGEMM_MODE *zgemm_batch_ ' "$tmp/engine" || fail "$what: is not compared"
    # Without cuBLAS the GPU computes the batches that the help of XGEMM_OPERATIONS names.
    on_engine XGEMM_STATS=1 FAKECUDA_FAIL=cublasCreate:1:999:always "$@" legal >"$tmp/engine" 2>&1 ||
        fail "$what: without cuBLAS"
    found=$(sed -n 's/^ *GPU *XGEMM_MODE *\(cblas_\)\{0,1\}\([a-z]*_batch\(_strided\)\{0,1\}\).*/\2/p' "$tmp/engine" |
        sort -u | tr '\n' ' ')
    [ "$found" = "dgemm_batch dgemm_batch_strided sgemm_batch sgemm_batch_strided " ] ||
        fail "$what: without cuBLAS on the GPU: $found"
}

# judge WHAT INT FILE
judge() {
    plain_blas "$tmp/$3" "$2"
    compile -DCALL_INT="$2" -o "$tmp/batch" "$srcdir/tests/preload/batch.c" "$tmp/$3" -lm -Wl,-rpath,"$tmp"
    same_as_alone "$1, legal" env BATCH_BLAS_LOG=1 "$tmp/batch" legal
    grep -q '[1-9][0-9]* checks, 0 failed' "$tmp/preloaded" || fail "$1: answers are wrong"
    same_as_alone "$1, illegal" "$tmp/batch" illegal
    grep -q 'cblas_zgemm_batch_strided refuses argument 18' "$tmp/alone" || fail "$1: nothing was refused"

    # Each group goes to the library as a call of its own.
    preloaded XGEMM_MODE=cpu XGEMM_STATS=1 BATCH_BLAS_LOG=1 "$tmp/batch" legal \
        >"$tmp/out" 2>"$tmp/err" || fail "$1: $(grep -m 3 WRONG "$tmp/out")"
    [ "$(grep -c 'blas: .*gemm_batch_* of [2-9]' "$tmp/out")" = 0 ] || fail "$1: groups are passed on together"
    preloaded XGEMM_MODE=cpu XGEMM_STATS=1 "$tmp/batch" illegal 2>/dev/null >"$tmp/out"
    echo "exit status $?" >>"$tmp/out"
    diff "$tmp/alone" "$tmp/out" || fail "$1: illegal calls"

    # Under the policy, groups that are small beside the library's threads are passed on together.
    has_engine || return 0
    on_engine XGEMM_MODE=auto BATCH_BLAS_LOG=1 "$tmp/batch" legal >"$tmp/out" 2>&1 ||
        fail "$1: $(grep -m 3 WRONG "$tmp/out")"
    grep -q 'blas: cblas_dgemm_batch of 4$' "$tmp/out" || fail "$1: small groups are passed on one by one"
    on_engine XGEMM_MODE=auto BATCH_BLAS_LOG=1 "$tmp/batch" mixed >"$tmp/out" 2>&1 ||
        fail "$1: groups of all sizes are wrong"
    [ "$(sed -n 's/^blas: cblas_dgemm_batch of //p' "$tmp/out" | tr '\n' ' ')" = '1 1 2 ' ] ||
        fail "$1: groups cut as $(grep '^blas' "$tmp/out")"
    [ "$2" = int64_t ] || engine "$1" "$tmp/batch"
    same_on_engine "$1: illegal calls" "$tmp/alone" "$tmp/batch" illegal
}

judge "32 bits" int32_t libbatch.so
[ "${XT_SHORT-}" != 1 ] || exit $status # a deliberate defect shows in this already
judge "64 bits" int64_t libbatch_blas64.so

# A program's library without batches: its GEMM computes, and no other library is searched.
plain_blas "$tmp/libplain.so" int32_t -DWITHOUT_BATCH
compile -DCALL_INT=int32_t -o "$tmp/linked" "$srcdir/tests/preload/batch.c" "$XG_SO" \
    -Wl,--no-as-needed "$tmp/libplain.so" -lm \
    -Wl,-rpath,"${XG_SO%/*}" -Wl,-rpath,"$tmp"
XGEMM_MODE=cpu BATCH_BLAS_LOG=1 "$tmp/linked" legal >"$tmp/out" 2>&1 ||
    fail "GEMM's: $(grep -m 3 WRONG "$tmp/out")"
grep 'no BLAS found' "$tmp/out" && fail "GEMM was not found"
grep 'blas: .*batch' "$tmp/out" && fail "a library without batches was called for one"
for name in cblas_sgemm zgemm_; do
    grep -q "blas: $name of 1" "$tmp/out" || fail "no $name"
done
XGEMM_MODE=cpu "$tmp/linked" illegal >"$tmp/illegal" 2>&1 || fail "illegal calls: exit status $?"
# reported CALL ARGUMENT
reported() {
    grep -A 2 "$1" "$tmp/illegal" | grep -q "xgemm: .*argument $2 is illegal" || fail "$1: not argument $2"
}
reported 'sgemm_batch order 101 .*: 2 of -1 36 30 trans 110' 2
reported 'dgemm_batch order 0 .* 1 of 3 5 7 trans 111 115' 2
reported 'cgemm_batch order 102 .* 2 of 17 9 -2 .*-2 of\|cgemm_batch order 102 .* -2 of 17 9 -2' 6
reported 'zgemm_batch order 101 .* 2 of 17 9 12 trans 112 111 ld 16 8 9' 9
reported 'zgemm_batch order 101 .* -4 of 17 9 12' 16
reported 'dgemm_batch order 0 .*groups -1' 14
reported 'sgemm_batch_strided order 102 .*: 2 of 40 36 30 .* ld 40 29 39' 12
reported 'sgemm_batch_strided order 0 .*: -1 of 40 36 30 .* ld 40 30 39' 15
reported 'cgemm_batch_strided order 101 .*: -4 of 40 36 30' 18
reported 'dgemm_batch order 103 ' 1
grep -c 'is illegal; nothing is computed' "$tmp/illegal" | grep -qx '[1-9][0-9][0-9]' ||
    fail "few illegal calls are reported"

# A library with integers of another width is named: batches are neither passed on nor translated.
plain_blas "$tmp/libwide_blas64.so" int64_t
compile -DCALL_INT=int32_t -o "$tmp/batch" "$srcdir/tests/preload/batch.c" "$tmp/libbatch.so" -lm -Wl,-rpath,"$tmp"
preloaded XGEMM_MODE=cpu BATCH_BLAS_LOG=1 XGEMM_CPU_BLAS="$tmp/libwide_blas64.so" "$tmp/batch" legal \
    >"$tmp/out" 2>&1 || fail "by a library of other integers: $(grep -m 3 WRONG "$tmp/out")"
grep 'blas: .*batch' "$tmp/out" && fail "a batch is translated"
grep -q 'blas: cblas_zgemm of 1' "$tmp/out" || fail "by a library of other integers: no GEMM"

if has_engine; then
    on_engine XGEMM_STATS=1 "$tmp/linked" legal >"$tmp/out" 2>&1 ||
        fail "on the engine: $(grep -m 3 WRONG "$tmp/out")"
    grep -q 'GPU *XGEMM_MODE *cblas_zgemm_batch_strided ' "$tmp/out" || fail "no batch on the engine"
    XGEMM_MODE=gpu LD_LIBRARY_PATH=$XG_FAKEDRV_DIR "$tmp/linked" illegal >"$tmp/out" 2>&1
    diff "$tmp/illegal" "$tmp/out" || fail "illegal calls on the engine, where no library has batches"
fi
exit $status
