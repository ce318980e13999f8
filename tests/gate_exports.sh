# SPDX-License-Identifier: MIT
# The library exports exactly the names that it intercepts.
. "$srcdir/tests/gate_lib"

names='cblas_sgemm cblas_sgemm64_ cblas_sgemm_64 scipy_cblas_sgemm scipy_cblas_sgemm64_
scipy_sgemm_ scipy_sgemm_64_ sgemm_ sgemm_64_'

# check LIBRARY. A version's own name is an absolute symbol (A), which no program can call.
check() {
    printf '%s\n' $names | LC_ALL=C sort >"$gate_tmp/want"
    $NM -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
        LC_ALL=C sort >"$gate_tmp/have"
    diff "$gate_tmp/want" "$gate_tmp/have"
}

# counterfeit FILE NAME...: a library that defines these functions.
counterfeit() {
    file=$1
    shift
    for name; do echo "void $name(void); void $name(void) {}"; done >"$gate_tmp/fake.c"
    $CC -shared -fPIC -o "$file" "$gate_tmp/fake.c" || exit 99
}

passes "$XG_SO"
counterfeit "$gate_tmp/exact.so" $names
passes "$gate_tmp/exact.so"
counterfeit "$gate_tmp/more.so" $names xg_dispatch_sgemm
refuses "$gate_tmp/more.so"
counterfeit "$gate_tmp/fewer.so" ${names#cblas_sgemm }
refuses "$gate_tmp/fewer.so"
exit $status
