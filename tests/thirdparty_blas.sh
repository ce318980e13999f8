# SPDX-License-Identifier: MIT
# The reference BLAS project's testers of Level 3, as Debian ships them (libblas-test).
. "$srcdir/tests/thirdparty_lib"

# The judge refuses each bad word, and a tester that came to no verdict.
: >"$tmp/known"
for words in 'SGEMM IS SUSPECT' 'SGEMM FAILED ON CALL' 'FATAL ERROR' 'NOT DETECTED BY SGEMM' \
    'ARGUMENT CHANGED' 'xgemm: no BLAS'; do
    printf 'SGEMM PASSED THE TESTS\n%s\n' "$words" >"$tmp/counterfeit"
    (judged counterfeit "$tmp/counterfeit" 1 >/dev/null; exit $status) &&
        fail "the judge lets through: $words"
done
echo 'END OF TESTS' >"$tmp/counterfeit"
(judged counterfeit "$tmp/counterfeit" 1 >/dev/null; exit $status) &&
    fail "the judge needs no verdict"

# Debian's xscblat3 refers to two variables that nothing defines.
echo 'int RowMajorStrg, CBLAS_CallFromC;' >"$tmp/missing.c"
$CC -shared -fPIC -o "$tmp/missing.so" "$tmp/missing.c" || exit 99

# The library that the system has chosen, and those that lie beside it.
for blas in '' blas/libblas.so.3 blis-pthread/libblas.so.3; do
    library=${blas:+$(real "$blas")}
    [ -z "$blas" ] || [ -n "$library" ] || continue
    [ -z "$library" ] || export LD_LIBRARY_PATH="${library%/*}"
    # Six routines: error exits, and results in one order or in both.
    installed blas/xblat3s
    through "xblat3s, ${blas:-the system's BLAS}" 12 "${tester%/*}/sblat3.in" '' "$tester"
    installed blas/xscblat3
    through "xscblat3, ${blas:-the system's BLAS}" 18 "${tester%/*}/sin3" "$tmp/missing.so" \
        "$tester"
done
exit $status
