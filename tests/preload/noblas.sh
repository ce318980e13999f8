# SPDX-License-Identifier: MIT
# Without a BLAS the library computes, and reports that once for each operation. If a BLAS lacks a
# name, another spelling of it serves; if it lacks the operation, the library computes. Contract
# 5.3, 9.5, 11.3 (doc/contract.md).
. "$srcdir/tests/preload/lib"

# A library of the configured name without SGEMM hides the real one.
mkdir "$tmp/empty"
echo 'int nothing_here = 1;' >"$tmp/empty.c"
$CC -shared -fPIC -o "$tmp/empty/$XG_CPU_BLAS" "$tmp/empty.c" || exit 99
LD_LIBRARY_PATH=$tmp/empty${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# alone WHAT LINES COMMAND...: right answers, and LINES messages that there is no BLAS.
alone() {
    what=$1
    lines=$2
    shift 2
    "$@" >"$tmp/out" 2>"$tmp/err" || fail "$what: exit status $?"
    grep -q right "$tmp/out" && ! grep -q WRONG "$tmp/out" || fail "$what: answers"
    grep -c '^xgemm: no BLAS' "$tmp/err" | grep -qx "$lines" ||
        fail_with "$what: the message does not come $lines times" "$tmp/err"
}

for call in CBLAS=cblas_sgemm:int32_t FORTRAN=sgemm_:int32_t CBLAS=cblas_sgemm64_:int64_t \
    FORTRAN=scipy_sgemm_64_:int64_t; do
    program "$tmp/main" -DCALL_${call%:*} -DCALL_INT=${call#*:} "$XG_SO" \
        -Wl,-rpath,"${XG_SO%/*}"
    alone "$call" 1 env XGEMM_MODE=cpu "$tmp/main" own 5 own 90
    ! has_engine || alone "$call on the engine" 1 on_engine "$tmp/main" own 5 own 90
done

# Illegal arguments: the library reports the number that BLAS would report, and the program goes on.
compile -DWITH_PRODUCTS -DCALL_INT=int32_t -o "$tmp/level3" "$srcdir/tests/preload/level3.c" "$XG_SO" \
    -Wl,-rpath,"${XG_SO%/*}" -lm
alone "level 3" 8 env XGEMM_MODE=cpu "$tmp/level3" legal
! has_engine || alone "level 3 on the engine" 8 on_engine XGEMM_OPERATIONS=all "$tmp/level3" legal
XGEMM_MODE=cpu "$tmp/level3" illegal >"$tmp/out" 2>&1 || fail "level 3, illegal: exit status $?"
grep -q 'C untouched, wait status 0' "$tmp/out" || fail "no illegal call was seen"
grep 'wait status [1-9]' "$tmp/out" && fail "an illegal call ended the program"
reported() {
    grep -A 3 "$1" "$tmp/out" | grep -q "xgemm: .*argument $2 " || fail "$1: not argument $2"
}
reported 'sgemm order 101 uplo 121 trans 111 112 size -13 5 6' 4
reported 'sgemm order 102 uplo 121 trans 112 113 size 7 5 6 ld 5 5 7' 9
reported 'sgemm order 101 uplo 121 trans 111 112 size 7 5 6 ld 6 6 4' 14
reported 'sgemm order 110 uplo' 1
reported 'sgemm order 101 uplo 121 trans 110' 2
reported 'sgemm Fortran uplo U trans N n size 7 5 6 ld 7 5 7' 10
reported 'sgemm Fortran uplo U trans X' 1
reported 'dsyrk order 101 uplo 121 trans 111 111 size 7 -13 6' 4
reported 'ssyrk order 102 uplo 122 trans 112 111 size 7 7 -14' 5
reported 'csyrk order 101 uplo 121 trans 111 111 size 7 7 6 ld 5 6 7' 8
reported 'zsyrk order 101 uplo 121 trans 111 111 size 7 7 6 ld 6 6 6' 11
reported 'zsyrk order 102 uplo 121 trans 113' 3
reported 'dsyrk order 102 uplo 115 trans' 2
reported 'dsyrk order 115 uplo' 1
reported 'csyrk Fortran uplo U trans C' 2
reported 'dsyrk Fortran uplo X trans N' 1
reported 'zgemm Fortran uplo U trans R' 1
reported 'zgemm order 101 uplo 121 trans 114' 2

compile -DWITH_GEMMT=gemmt -DCALL_INT=int32_t -o "$tmp/gemmt" "$srcdir/tests/preload/level3.c" "$XG_SO" \
    -Wl,-rpath,"${XG_SO%/*}" -lm
alone GEMMT 4 env XGEMM_MODE=cpu "$tmp/gemmt" legal
! has_engine || alone "GEMMT on the engine" 4 on_engine XGEMM_OPERATIONS=all "$tmp/gemmt" legal
XGEMM_MODE=cpu "$tmp/gemmt" illegal >"$tmp/out" 2>&1 || fail "GEMMT, illegal: exit status $?"
grep 'wait status [1-9]' "$tmp/out" && fail "an illegal call ended the program"
reported 'sgemmt order 101 uplo 115' 2
reported 'dgemmt order 102 uplo 121 trans 115 111' 3
reported 'zgemmt order 102 uplo 121 trans 111 114' 4
reported 'cgemmt order 101 uplo 122 trans 113 111 size 7 -13 6' 5
reported 'dgemmt order 102 uplo 122 trans 112 112 size 7 7 -14' 6
reported 'sgemmt order 101 uplo 121 trans 112 111 size 7 7 6 ld 6 7 7' 9
reported 'zgemmt order 101 uplo 121 trans 113 113 size 7 7 6 ld 7 5 7' 11
reported 'zgemmt order 102 uplo 121 trans 111 111 size 7 7 6 ld 7 6 6' 14
reported 'cgemmt Fortran uplo X trans N' 1
reported 'dgemmt Fortran uplo U trans t Transpose size 7 7 6 ld 6 7 6' 13

compile -DCALL_INT=int32_t -o "$tmp/batch" "$srcdir/tests/preload/batch.c" "$XG_SO" \
    -Wl,-rpath,"${XG_SO%/*}" -lm
alone batches 4 env XGEMM_MODE=cpu "$tmp/batch" legal
! has_engine || alone "batches on the engine" 4 on_engine XGEMM_OPERATIONS=all "$tmp/batch" legal

# Operations with a side, a triangle or two operands, in every spelling: memory that they must not
# touch lies on inaccessible pages.
structured() {
    what=$2
    compile -DCALL_INT=$1 "-DCBLAS_NAME(name)=$2" "-DFORTRAN_NAME(name)=$3" -o "$tmp/structured" \
        "$srcdir/tests/preload/level3.c" "$XG_SO" -Wl,-rpath,"${XG_SO%/*}" -lm
    XGEMM_MODE=cpu "$tmp/structured" illegal >"$tmp/out" 2>&1 || fail "$what: exit status $?"
    grep 'wait status [1-9]' "$tmp/out" && fail "$what: an illegal call ended the program"
    told=$(grep -c '^xgemm: .* argument [1-9]' "$tmp/out")
    [ "$told" -ge 500 ] || fail "$what: $told illegal calls are reported"
    shift 3
    for mode in empty "$@"; do
        XGEMM_MODE=cpu "$tmp/structured" $mode >"$tmp/values" 2>"$tmp/err" ||
            fail "$what, $mode: $(grep WRONG "$tmp/values" | head -3)"
        grep -v '^xgemm: no BLAS' "$tmp/err" && fail "$what, $mode: other messages"
    done
}

structured int32_t 'cblas_##name' 'name##_' edges triangles
at='trans 111 diag 131 size'
reported 'ssyr2k order 0 side 141 uplo 123' 1
reported "zher2k order 0 side 141 uplo 122 $at 5 5 6 ld 5 4 5" 9
reported "cherk order 0 side 141 uplo 121 $at 5 5 6 ld -45 -45 -45" 7
reported "dsymm order 102 side 142 uplo 121 $at 7 5 5 ld 5 7 6" 13
reported "zhemm order 0 side 142 uplo 121 $at 7 5 5 ld 5 7 6" 12
reported 'dtrmm order 102 side 142 uplo 121 trans 115' 4
reported 'ctrsm order 102 side 142 uplo 122 trans 111 diag 133' 5
structured int32_t 'scipy_cblas_##name' 'scipy_##name##_'
structured int64_t 'cblas_##name##64_' 'name##_64_'
structured int64_t 'cblas_##name##_64' 'name##_64_'
structured int64_t 'scipy_cblas_##name##64_' 'scipy_##name##_64_' edges

# A library that has one name in one spelling.
cat >"$tmp/part.c" <<'END'
#include <stdio.h>
void dsyrk_(const char *uplo, const char *trans, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *beta, double *c, const int *ldc)
{
    fputs("part: dsyrk_\n", stderr);
    for (int j = 0; j < *n; j++)
        for (int i = *uplo == 'U' || *uplo == 'u' ? 0 : j;
             i < (*uplo == 'U' || *uplo == 'u' ? j + 1 : *n); i++) {
            double sum = 0, *at = &c[i + j * *ldc];
            int plain = *trans == 'N' || *trans == 'n';
            for (int l = 0; l < *k && *alpha != 0; l++)
                sum += plain ? a[i + l * *lda] * a[j + l * *lda] : a[l + i * *lda] * a[l + j * *lda];
            *at = (*beta != 0 ? *beta * *at : 0) + *alpha * sum;
        }
}
END
$CC -shared -fPIC -o "$tmp/part.so" "$tmp/part.c" || exit 99
compile -DWITH_PRODUCTS -DCALL_INT=int32_t -o "$tmp/level3" "$srcdir/tests/preload/level3.c" "$XG_SO" \
    -Wl,--no-as-needed "$tmp/part.so" -Wl,-rpath,"${XG_SO%/*}" -lm
alone "a library with dsyrk_ alone" 7 env XGEMM_MODE=cpu "$tmp/level3" legal
grep -q 'no BLAS found behind cblas_dsyrk' "$tmp/err" && fail "dsyrk_ is not found for cblas_dsyrk"
grep -q 'no BLAS found behind cblas_dgemm\|no BLAS found behind dgemm_' "$tmp/err" ||
    fail "the message names no operation: $(cat "$tmp/err")"
XGEMM_MODE=cpu "$tmp/level3" legal 2>&1 | grep -A 1 'part: dsyrk_' | grep -q '^dsyrk order 101' ||
    fail "cblas_dsyrk is not computed by dsyrk_"

# XGEMM_CPU_BLAS names a library with any name of SGEMM, and integers of either width.
stub "$tmp/libnarrow.so" narrow -DSTUB_INT=int32_t -DSTUB_FORTRAN=sgemm_
stub "$tmp/libopenblas64.so" wide -DSTUB_INT=int64_t -DSTUB_CBLAS=cblas_sgemm
for call in CBLAS=cblas_sgemm:int32_t FORTRAN=sgemm_:int32_t CBLAS=cblas_sgemm64_:int64_t \
    FORTRAN=scipy_sgemm_64_:int64_t; do
    program "$tmp/main" -DCALL_${call%:*} -DCALL_INT=${call#*:} "$XG_SO" \
        -Wl,-rpath,"${XG_SO%/*}"
    for library in narrow:libnarrow.so wide:libopenblas64.so; do
        alone "$call by ${library#*:}" 0 \
            env XGEMM_MODE=cpu XGEMM_CPU_BLAS="$tmp/${library#*:}" "$tmp/main" own 5
        grep -q "^${library%:*}: " "$tmp/err" || fail "$call: ${library#*:} is not used"
    done
done
XGEMM_CPU_BLAS=$tmp/nowhere.so "$tmp/main" own 5 >"$tmp/out" 2>&1 || fail "no such XGEMM_CPU_BLAS"
grep -q '^xgemm: ignoring XGEMM_CPU_BLAS=.*nowhere.so' "$tmp/out" ||
    fail "a wrong XGEMM_CPU_BLAS is not reported"
exit $status
