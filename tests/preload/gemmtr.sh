# SPDX-License-Identifier: MIT
# GEMMT and GEMMTR are two names of one routine. A call goes to the library's routine of the same
# name; without one it is made of GEMM, and not passed to the other name. The libraries are the
# tests' own, because few installed ones have both. Contract 5.1, 11.3 (doc/contract.md).
. "$srcdir/tests/preload/lib"

plain_blas "$tmp/libgemmt.so" int32_t -DWITHOUT_BATCH -DWITH_GEMMT=gemmt
plain_blas "$tmp/libgemmtr.so" int32_t -DWITHOUT_BATCH -DWITH_GEMMT=gemmtr
source=$srcdir/tests/preload/level3.c
compile -DWITH_GEMMT=gemmtr -DCALL_INT=int32_t -o "$tmp/own" "$source" "$tmp/libgemmtr.so" -lm -Wl,-rpath,"$tmp"

# All calls, illegal ones too, go to the library's own routine.
same_as_alone legal env BATCH_BLAS_LOG=1 "$tmp/own" legal
grep -q '[1-9][0-9]* checks, 0 failed' "$tmp/preloaded" || fail "answers are wrong"
for called in sgemmtr_ cblas_zgemmtr; do
    grep -q "blas: $called of 1" "$tmp/preloaded" || fail "$called was not called"
done
same_as_alone illegal "$tmp/own" illegal
for refused in 'cblas_sgemmtr refuses argument 2' 'zgemmtr_ refuses argument 13'; do
    grep -q "blas: $refused" "$tmp/alone" || fail "not seen: $refused"
done
mv "$tmp/alone" "$tmp/illegal"

# The library that the user names has only the other name, and is not used.
preloaded XGEMM_MODE=cpu BATCH_BLAS_LOG=1 XGEMM_CPU_BLAS="$tmp/libgemmt.so" "$tmp/own" legal \
    >"$tmp/out" 2>&1 || fail "beside a library of the other name: $(grep -m 3 WRONG "$tmp/out")"
grep -q '^xgemm: ignoring XGEMM_CPU_BLAS=.*: it cannot be loaded or has no sgemmtr' "$tmp/out" ||
    fail "nothing is said of a library of the other name"
grep 'blas: .*gemmt\(_\| \)' "$tmp/out" | head -3 | grep . && fail "the other name was called"
for called in sgemmtr_ cblas_zgemmtr; do
    grep -q "blas: $called of 1" "$tmp/out" || fail "beside a library of the other name: no $called"
done

# linked NAME OTHER OPTION: runs a program that calls NAME, with a library that has OTHER and GEMM.
linked() {
    compile "$3" -DCALL_INT=int32_t -DLEVEL3_SIDE=160 -o "$tmp/linked-$1" "$source" "$XG_SO" \
        -Wl,--no-as-needed "$tmp/lib$2.so" -lm -Wl,-rpath,"${XG_SO%/*}" -Wl,-rpath,"$tmp"
    for what in legal large; do
        XGEMM_MODE=cpu BATCH_BLAS_LOG=1 "$tmp/linked-$1" $what >"$tmp/out" 2>&1 ||
            fail "$1 by GEMM, $what: $(grep -m 3 WRONG "$tmp/out")"
        grep 'no BLAS found' "$tmp/out" && fail "$1: GEMM was not found"
        grep "blas: .*$2" "$tmp/out" | head -3 | grep . && fail "$1: $2 was called"
    done
    for called in sgemm_ dgemm_ cblas_cgemm cblas_zgemm; do
        grep -q "blas: $called of 1" "$tmp/out" || fail "$1 is made without $called"
    done
}
linked gemmt gemmtr -DWITH_GEMMT=gemmt
linked gemmtr gemmt -DWITH_GEMMT=gemmtr
XGEMM_MODE=cpu "$tmp/linked-gemmtr" illegal >"$tmp/out" 2>&1 || fail "illegal calls: exit status $?"
grep 'wait status [1-9]' "$tmp/out" && fail "an illegal call ended the program"
for told in cblas_sgemmtr:2 cblas_zgemmtr:14 dgemmtr_:13; do
    grep -q "^xgemm: .*${told%:*}: argument ${told#*:} is illegal; nothing is computed" "$tmp/out" ||
        fail "not told: argument ${told#*:} of ${told%:*}"
done

# XGEMM_OPERATIONS names the operation, which is GEMMT.
if has_engine; then
    on_engine XGEMM_STATS=1 "$tmp/own" legal >"$tmp/out" 2>&1 ||
        fail "on the engine: $(grep -m 3 WRONG "$tmp/out")"
    for called in sgemmtr_ cblas_dgemmtr cgemmtr_ cblas_zgemmtr; do
        grep -q "GPU *XGEMM_MODE *$called " "$tmp/out" || fail "$called was elsewhere"
    done
    on_engine XGEMM_OPERATIONS=sgemmt XGEMM_STATS=1 "$tmp/own" legal >"$tmp/out" 2>&1 ||
        fail "XGEMM_OPERATIONS: $(grep -m 3 WRONG "$tmp/out")"
    grep -q 'GPU *XGEMM_MODE *sgemmtr_ ' "$tmp/out" || fail "XGEMM_OPERATIONS=sgemmt: sgemmtr_ was elsewhere"
    grep 'GPU *XGEMM_MODE *dgemmtr_ ' "$tmp/out" && fail "XGEMM_OPERATIONS=sgemmt: dgemmtr_"
    same_on_engine "illegal calls" "$tmp/illegal" "$tmp/own" illegal
fi
exit $status
