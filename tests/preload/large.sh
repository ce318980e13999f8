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

# OpenBLAS 0.3.21 itself faults or is wrong: its kernels for small products gather with 32-bit
# offsets. A library that fails alone is no standard; what runs on the GPU must be right anyway.
judged= lacks=
for name in openblas:libopenblas.so.0:int32_t:2147483647 \
    openblas64:libopenblas64.so.0:int64_t:2147483659 \
    reference:blas/libblas.so.3:int32_t:2147483647 \
    reference64:blas64/libblas64.so.3:int64_t:2147483659; do
    what=${name%%:*} apart=${name##*:} file=${name#*:}
    file=${file%:*}
    int=${file##*:} file=${file%:*}
    library=$(real "$file")
    [ -n "$library" ] || continue
    case ${XG_SHORT:+short}:$what in short:openblas | short:reference64 | :*) ;; *) continue ;; esac
    compile -DCALL_INT="$int" -o "$tmp/large" "$srcdir/tests/preload/large.c" "$library" -lm \
        -Wl,-rpath,"${library%/*}" -Wl,--disable-new-dtags
    compile -DCALL_INT="$int" -o "$tmp/row" "$srcdir/tests/preload/row.c" -Wl,--no-as-needed "$library" -lm -ldl \
        -Wl,-rpath,"${library%/*}" -Wl,--disable-new-dtags
    judged="$judged $what"
    # Its AVX-512 kernels fault there too; then its AVX2 kernels are the standard.
    "$tmp/row" >"$tmp/alone" 2>&1 || {
        export OPENBLAS_CORETYPE=Haswell
        "$tmp/row" >"$tmp/alone" 2>&1 || fail "$what: one row, alone"
    }
    rows "$what, on the CPU" preloaded XGEMM_MODE=cpu XGEMM_STATS=1 XGEMM_TRACE="$tmp"
    if has_engine; then
        rows "$what, on the engine" on_engine XGEMM_VERIFY=1
        rows "$what, compared" on_engine XGEMM_MODE=compare
        rows "$what, with all reports" on_engine XGEMM_STATS=1 XGEMM_TRACE="$tmp"
        grep -q 'GPU *XGEMM_MODE *cblas_zgemm_batch_strided ' "$tmp/out" || fail "$what: one row: not on the GPU"
    fi
    unset OPENBLAS_CORETYPE
    alone=yes
    "$tmp/large" $apart >"$tmp/out" 2>&1 || alone=no
    [ $alone = yes ] || lacks="$lacks $what"
    [ $alone = no ] || large "$what, on the CPU" preloaded XGEMM_MODE=cpu
    has_engine || continue
    large "$what, on the engine" on_engine
    large "$what, in tiles" on_engine XGEMM_MEM_LIMIT=100K XGEMM_STAGE_THREADS=3
    [ $alone = no ] || large "$what, after a fault" on_engine FAKECUDA_FAIL=exec:20:719 XGEMM_LOG="$tmp/log"
    on_engine XGEMM_STATS=1 "$tmp/large" $apart >"$tmp/out" 2>&1
    grep -q ' 12 on the GPU' "$tmp/out" || fail_with "$what: not on the GPU" "$tmp/out"
done
[ -n "$judged" ] || skip "neither OpenBLAS nor the reference BLAS is installed"
echo "judged:$judged; not right alone:${lacks:- none}"
exit $status
