# SPDX-License-Identifier: MIT
# Every operation and type: legal calls are right and illegal ones are left to the caller's own
# BLAS, for each BLAS there is, or for XT_ONLY alone. Contract 1.1, 3.1, 5.1, 6.3 (doc/contract.md).
. "$srcdir/tests/preload_lib"
OPENBLAS_NUM_THREADS=1
export OPENBLAS_NUM_THREADS

# judge WHAT LIBRARY INT
judge() {
    blas=$1
    library=$2
    [ "${XT_ONLY:-$blas}" = "$blas" ] || return 0
    build="$srcdir/tests/preload_level3.c $library -lm -DCALL_INT=$3 -Wl,-rpath,${library%/*}"
    build="$build -Wl,--disable-new-dtags"
    compile -o "$tmp/level3" $build
    compile -rdynamic -DLEVEL3_XERBLA -o "$tmp/reports" $build
    same_as_alone "$blas, legal" "$tmp/level3" legal
    grep -q '[1-9][0-9]* checks, 0 failed' "$tmp/preloaded" || fail "$blas: answers are wrong"
    same_as_alone "$blas, the program's xerbla_" "$tmp/reports" illegal
    same_as_alone "$blas, illegal" "$tmp/level3" illegal
    grep -q untouched "$tmp/preloaded" || fail "$blas: no illegal call was seen"
    compile -o "$tmp/structured" "$srcdir/tests/preload_structured.c" $library -lm -DCALL_INT=$3 \
        -Wl,-rpath,"${library%/*}" -Wl,--disable-new-dtags
    mv "$tmp/alone" "$tmp/illegal"
    same_as_alone "$blas, structured" "$tmp/structured"
    grep -q '[1-9][0-9]* checks, 0 failed' "$tmp/preloaded" || fail "$blas: structured operands"
    if has_engine; then
        on_engine XGEMM_OPERATIONS=all XGEMM_STATS=1 "$tmp/structured" >"$tmp/engine" 2>&1 || {
            grep WRONG "$tmp/engine" | head -20
            fail "$blas: structured operands on the engine"
        }
        for name in herk symm hemm syr2k her2k trmm trsm; do
            grep -q "GPU *XGEMM_MODE *z${name}_" "$tmp/engine" || fail "$blas: z$name was elsewhere"
        done
        on_engine XGEMM_OPERATIONS=all "$tmp/level3" legal >"$tmp/engine" 2>&1 || {
            grep -v ' right [0-9a-f]*$' "$tmp/engine"
            fail "$blas: answers are wrong on the engine"
        }
        on_engine XGEMM_OPERATIONS=all "$tmp/level3" illegal >"$tmp/engine" 2>&1
        echo "exit status $?" >>"$tmp/engine"
        diff "$tmp/illegal" "$tmp/engine" || fail "$blas: illegal calls on the engine"
    fi
    judged="$judged $blas"
}

judged=
each_blas judge
[ -n "$judged" ] || skip "no BLAS is installed"

# Who computed: all that there is to compute went to the GPU, by XGEMM_OPERATIONS alone.
if has_engine; then
    for operations in all ssyrk,zgemm; do
        on_engine XGEMM_OPERATIONS=$operations XGEMM_STATS=1 "$tmp/level3" legal >"$tmp/out" 2>&1
        for name in ssyrk zgemm csyrk dgemm; do
            grep -q "GPU *XGEMM_MODE *cblas_$name" "$tmp/out"
            found=$?
            case $operations,$name in
            all,*|*,ssyrk|*,zgemm) expected=0 ;;
            *) expected=1 ;;
            esac
            [ $found -eq $expected ] || {
                grep '^xgemm\|^ ' "$tmp/out" | head -20
                fail "XGEMM_OPERATIONS=$operations: $name"
            }
        done
        grep 'GPU failed' "$tmp/out" && fail "a call failed on the engine"
    done
    # A kernel of double that is named takes the place of cuBLAS.
    on_engine XGEMM_OPERATIONS=all XGEMM_KERNEL=dmma_128x128x32 XGEMM_VERBOSE=3 "$tmp/level3" legal \
        >"$tmp/out" 2>&1 || fail "answers of dmma_128x128x32 are wrong"
    grep -q 'kernel xg_dgemm_dmma_sm80_128x128x32_.. loaded' "$tmp/out" ||
        fail "no product by dmma_128x128x32"
fi
echo "judged:$judged"
exit $status
