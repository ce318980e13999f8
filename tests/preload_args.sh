# SPDX-License-Identifier: MIT
# Legal calls are right and illegal ones are left to the caller's own BLAS, for each BLAS there is.
. "$srcdir/tests/preload_lib"

# judge WHAT LIBRARY [OPTION...]
judge() {
    blas=$1
    library=$2
    shift 2
    compile -o "$tmp/args" "$srcdir/tests/preload_args.c" "$@" "$library" -lm \
        -Wl,-rpath,"${library%/*}" -Wl,--disable-new-dtags
    same_as_alone "$blas, legal" "$tmp/args" legal bits
    grep -q '[1-9][0-9]* checks, 0 failed' "$tmp/preloaded" || fail "$blas: answers are wrong"
    same_as_alone "$blas, illegal" "$tmp/args" illegal
    grep -q untouched "$tmp/preloaded" || fail "$blas: no illegal call was seen"
    mv "$tmp/alone" "$tmp/illegal"
    if has_engine; then
        on_engine "$tmp/args" legal >"$tmp/engine" 2>&1 || {
            grep -v ' right$' "$tmp/engine"
            fail "$blas: answers are wrong on the engine"
        }
        on_engine "$tmp/args" illegal >"$tmp/engine" 2>&1
        echo "exit status $?" >>"$tmp/engine"
        diff "$tmp/illegal" "$tmp/engine" || fail "$blas: illegal calls on the engine"
    fi
    judged="$judged $blas"
}

judged=
for name in "openblas:libopenblas.so.0:int32_t" "reference:blas/libblas.so.3:int32_t" \
    "blis:blis-pthread/libblas.so.3:int32_t" "atlas:atlas/libblas.so.3:int32_t" \
    "openblas64:libopenblas64.so.0:int64_t" "reference64:blas64/libblas64.so.3:int64_t"; do
    what=${name%%:*} int=${name##*:} file=${name#*:}
    library=$(real "${file%:*}")
    [ -z "$library" ] || judge "$what" "$library" -DCALL_INT=$int
done
library=$(real libgslcblas.so.0)
[ -z "$library" ] || judge gslcblas "$library" -DCALL_INT=int32_t -DCALL_NO_FORTRAN
[ -n "$judged" ] || skip "no BLAS is installed"
echo "judged:$judged"
exit $status
