# SPDX-License-Identifier: MIT
# The library exports exactly the names that it intercepts, getenv among them.
# Contract 11.2 (doc/contract.md).
. "$srcdir/tests/gate/lib"

names=$(exported_names "$srcdir")
case $names in
*cblas_sgemm*scipy_dsyrk_64_*) ;;
*) echo "no operations are read from src/base/problem.c: $names"; exit 99 ;;
esac

# check LIBRARY. A version's own name is an absolute symbol (A), which no program can call.
check() {
    printf '%s\n' $names | LC_ALL=C sort >"$gate_tmp/want"
    $NM -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
        LC_ALL=C sort >"$gate_tmp/have"
    diff "$gate_tmp/want" "$gate_tmp/have"
}

# counterfeit FILE NAME...: builds a library that defines these functions.
counterfeit() {
    file=$1
    shift
    for name; do echo "void $name(void); void $name(void) {}"; done >"$gate_tmp/fake.c"
    $CC -shared -fPIC -o "$file" "$gate_tmp/fake.c" || exit 99
}

passes "$XG_SO"
[ "$XG_WITH_WHEEL" != yes ] || passes "$builddir/python/.libs/libxgemm_shim.so"
counterfeit "$gate_tmp/exact.so" $names
passes "$gate_tmp/exact.so"
counterfeit "$gate_tmp/more.so" $names xg_dispatch_sgemm
refuses "$gate_tmp/more.so"
counterfeit "$gate_tmp/fewer.so" ${names#* }
refuses "$gate_tmp/fewer.so"
exit $status
