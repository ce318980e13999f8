# SPDX-License-Identifier: MIT
# Legal calls are right and illegal ones are left to the caller's own BLAS, for each BLAS there is,
# or for XT_ONLY alone. Contract 1.1, 3.1, 5.1, 6.3 (doc/contract.md).
. "$srcdir/tests/preload/lib"

# Stand-ins that the user names, whose integers are not the program's.
stub "$tmp/narrow.so" narrow -DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm -DSTUB_ISAMAX
stub "$tmp/wide.so" wide -DSTUB_INT=int64_t -DSTUB_CBLAS=cblas_sgemm -DSTUB_ISAMAX

# judge WHAT LIBRARY INT [OPTION...]
judge() {
    blas=$1
    library=$2
    case $3 in
    int64_t) other=$tmp/narrow.so ;;
    *) other=$tmp/wide.so ;;
    esac
    int=$3
    shift 3
    set -- "-DCALL_INT=$int" "$@"
    [ "${XT_ONLY:-$blas}" = "$blas" ] || return 0
    compile -o "$tmp/args" "$srcdir/tests/preload/args.c" "$@" "$library" -lm \
        -Wl,-rpath,"${library%/*}" -Wl,--disable-new-dtags
    same_as_alone "$blas, legal" "$tmp/args" legal bits
    grep -q '[1-9][0-9]* checks, 0 failed' "$tmp/preloaded" || fail "$blas: answers are wrong"
    same_as_alone "$blas, illegal" "$tmp/args" illegal
    grep -q untouched "$tmp/preloaded" || fail "$blas: no illegal call was seen"
    same_as_alone "$blas, illegal, computed by a library of other integers" \
        env XGEMM_CPU_BLAS="$other" "$tmp/args" illegal
    compile -rdynamic -DOWN_XERBLA -o "$tmp/reports" "$srcdir/tests/preload/args.c" "$@" \
        "$library" -lm -Wl,-rpath,"${library%/*}" -Wl,--disable-new-dtags
    same_as_alone "$blas, the program's xerbla_" env XGEMM_CPU_BLAS="$other" "$tmp/reports" illegal
    ended "$tmp/illegal" "$tmp/args" illegal
    if has_engine; then
        on_engine "$tmp/args" legal >"$tmp/engine" 2>&1 ||
            fail_with "$blas: answers are wrong on the engine" "$tmp/engine"
        same_on_engine "$blas, illegal" "$tmp/illegal" "$tmp/args" illegal
    fi
    judged="$judged $blas"
}

judged=
each_blas judge
library=$(real libgslcblas.so.0)
[ -z "$library" ] || judge gslcblas "$library" int32_t -DCALL_NO_FORTRAN
[ -n "$judged" ] || skip "no BLAS is installed"
echo "judged:$judged"
exit $status
