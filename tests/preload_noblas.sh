# SPDX-License-Identifier: MIT
# Where no BLAS can be found the library says so once, and still computes.
. "$srcdir/tests/preload_lib"

# A library of the configured name that has no SGEMM hides the real one.
mkdir "$tmp/empty"
echo 'int nothing_here = 1;' >"$tmp/empty.c"
$CC -shared -fPIC -o "$tmp/empty/$XG_CPU_BLAS" "$tmp/empty.c" || exit 99
LD_LIBRARY_PATH=$tmp/empty${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# alone WHAT LINES COMMAND...: right answers, and as many lines of the library's.
alone() {
    what=$1
    lines=$2
    shift 2
    "$@" >"$tmp/out" 2>"$tmp/err" || fail "$what: exit status $?"
    grep -q right "$tmp/out" && ! grep -q WRONG "$tmp/out" || fail "$what: answers"
    grep -c '^xgemm: no BLAS' "$tmp/err" | grep -qx "$lines" || {
        cat "$tmp/err"
        fail "$what: the message does not come $lines times"
    }
}

for call in CBLAS=cblas_sgemm:int32_t FORTRAN=sgemm_:int32_t CBLAS=cblas_sgemm64_:int64_t \
    FORTRAN=scipy_sgemm_64_:int64_t; do
    program "$tmp/main" -DCALL_${call%:*} -DCALL_INT=${call#*:} "$XG_SO" \
        -Wl,-rpath,"${XG_SO%/*}"
    alone "$call" 1 env XGEMM_MODE=cpu "$tmp/main" own 5 own 90
    ! has_engine || alone "$call on the engine" 1 on_engine "$tmp/main" own 5 own 90
done

# Illegal arguments: the number that BLAS would report, C untouched, and the program goes on.
compile -DCALL_INT=int32_t -o "$tmp/args" "$srcdir/tests/preload_args.c" "$XG_SO" \
    -Wl,-rpath,"${XG_SO%/*}" -lm
XGEMM_MODE=cpu "$tmp/args" legal >"$tmp/out" 2>&1 || fail "legal calls: $(grep -v right "$tmp/out")"
XGEMM_MODE=cpu "$tmp/args" illegal >"$tmp/out" 2>&1 || fail "illegal calls: exit status $?"
grep 'wait status' "$tmp/out" | sort | uniq -c >"$tmp/count"
grep -q 'C untouched, wait status 0' "$tmp/count" || fail "no illegal call was seen"
grep 'wait status [1-9]' "$tmp/count" && fail "an illegal call ended the program"
reported() {
    grep -A 3 "$1" "$tmp/out" | grep -q "xgemm: .*argument $2 " || fail "$1: not argument $2"
}
reported 'order 101 trans 111 111 size -13 5 6' 4
reported 'order 102 trans 112 111 size 7 5 6 ld 5 6 7' 9
reported 'order 101 trans 111 112 size 7 5 6 ld 6 6 4' 14
reported 'order 110 trans' 1
reported 'order 101 trans 110' 2
reported 'Fortran trans N N size 7 5 6 ld 7 5 7' 10
reported 'Fortran trans X N' 1

# XGEMM_CPU_BLAS names the library: by any name of its SGEMM, of either width.
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
grep -q '^xgemm: XGEMM_CPU_BLAS=.*nowhere.so' "$tmp/out" ||
    fail "a wrong XGEMM_CPU_BLAS is not said"
exit $status
