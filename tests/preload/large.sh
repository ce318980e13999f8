# SPDX-License-Identifier: MIT
# Operands that span more than 2^31 elements, and leading dimensions far beyond any memory where
# they separate no rows, with 32-bit and 64-bit integers (contract 3.3, 4.2).
. "$srcdir/tests/preload/lib"
needs_plain_library
export OPENBLAS_NUM_THREADS=1

# large WHAT COMMAND...: the answers are right, with rows $apart elements apart.
large() {
    what=$1
    shift
    "$@" "$tmp/large" $apart >"$tmp/out" 2>&1
    result=$?
    [ $result -ne 77 ] || skip "$(cat "$tmp/out")"
    [ $result -eq 0 ] && ! grep -q xgemm: "$tmp/out" && return
    head -20 "$tmp/out"
    fail "$what: exit status $result, or messages"
}

# rows WHAT COMMAND...: all checks pass, and a C that overlaps becomes what it becomes alone.
rows() {
    what=$1
    shift
    "$@" "$tmp/row" all >"$tmp/out" 2>&1 || fail "$what: one row: exit status $?"
    grep -qx "$(grep overlaps "$tmp/alone")" "$tmp/out" && grep -q '[1-9][0-9]* checks, 0 failed' "$tmp/out" ||
        fail_with "$what: one row" "$tmp/out"
}

# OpenBLAS 0.3.21 itself faults, or is wrong: its kernels for small products gather with offsets of
# 32 bits. A product that fails without the library is not compared with it; on the GPU it must be right.
judge() {
    [ "$1" != atlas ] || return 0 # not tried
    apart=2147483647
    [ "$3" = int32_t ] || apart=2147483659
    compile -DCALL_INT="$3" -o "$tmp/large" "$srcdir/tests/preload/large.c" "$2" -lm \
        -Wl,-rpath,"${2%/*}" -Wl,--disable-new-dtags
    compile -DCALL_INT="$3" -o "$tmp/row" "$srcdir/tests/preload/row.c" -Wl,--no-as-needed "$2" -lm -ldl \
        -Wl,-rpath,"${2%/*}" -Wl,--disable-new-dtags
    judged="$judged $1"
    # Its kernels for AVX-512 fault there too: then those for AVX2 are the standard.
    "$tmp/row" >"$tmp/alone" 2>&1 || {
        export OPENBLAS_CORETYPE=Haswell
        "$tmp/row" >"$tmp/alone" 2>&1 || fail "$1: one row, alone"
    }
    rows "$1, on the CPU" preloaded XGEMM_MODE=cpu XGEMM_STATS=1 XGEMM_TRACE="$tmp"
    if has_engine; then
        rows "$1, on the engine" on_engine XGEMM_VERIFY=1
        rows "$1, compared" on_engine XGEMM_MODE=compare
        rows "$1, with everything told" on_engine XGEMM_STATS=1 XGEMM_TRACE="$tmp"
        grep -q 'GPU *XGEMM_MODE *cblas_zgemm_batch_strided ' "$tmp/out" || fail "$1: one row: not on the GPU"
    fi
    unset OPENBLAS_CORETYPE
    alone=yes
    "$tmp/large" $apart >"$tmp/out" 2>&1 || alone=no
    [ $alone = yes ] || lacks="$lacks $1"
    [ $alone = no ] || large "$1, on the CPU" preloaded XGEMM_MODE=cpu
    has_engine || return 0
    large "$1, on the engine" on_engine
    large "$1, in tiles" on_engine XGEMM_MEM_LIMIT=100K XGEMM_STAGE_THREADS=3
    [ $alone = no ] || large "$1, after a fault" on_engine FAKECUDA_FAIL=exec:20:719 XGEMM_LOG="$tmp/log"
    on_engine XGEMM_STATS=1 "$tmp/large" $apart >"$tmp/out" 2>&1
    grep -q ' 12 on the GPU' "$tmp/out" || fail_with "$1: not on the GPU" "$tmp/out"
}
judged= lacks=
each_blas judge
[ -n "$judged" ] || skip "no BLAS is installed"
echo "judged:$judged; not right alone:${lacks:- none}"
exit $status
