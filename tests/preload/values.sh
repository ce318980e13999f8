# SPDX-License-Identifier: MIT
# CPU and GPU give the same results, whatever the operands hold and wherever they lie: numbers that
# are not finite, empty products, shared memory, pages that may not be touched. Contract 2.1, 2.2,
# 2.3, 2.4, 3.1, 3.2, 4.1, 4.2, 4.3, 4.4, 6.1 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
OPENBLAS_NUM_THREADS=1
XGEMM_OPERATIONS=all
export OPENBLAS_NUM_THREADS XGEMM_OPERATIONS

# alike WHAT SCENARIO COMMAND...: the run prints what the one without the library printed.
alike() {
    what=$1
    scenario=$2
    shift 2
    "$@" "$tmp/values" "$scenario" >"$tmp/out" 2>"$tmp/err"
    result=$?
    [ $result -eq 0 ] && cmp -s "$tmp/alone" "$tmp/out" && [ ! -s "$tmp/err" ] && return
    diff "$tmp/alone" "$tmp/out" | head -5
    head -5 "$tmp/err"
    fail "$what, $scenario: exit status $result, or not what it says without the library"
}

# judge WHAT LIBRARY
judge() {
    compile -pthread $XG_BLAS_CFLAGS -o "$tmp/values" "$srcdir/tests/preload/values.c" "$2" -lm \
        -Wl,-rpath,"${2%/*}" -Wl,--disable-new-dtags
    for scenario in not_finite old_c scalars unread empty edges read_only const same_inputs \
        overlap blocks triangle triangle_pages; do
        "$tmp/values" $scenario >"$tmp/alone" 2>"$tmp/err" || {
            head -5 "$tmp/err"
            echo "$1: $scenario fails without the library: nothing to compare with"
            lacks="$lacks $1:$scenario"
            continue
        }
        alike "$1 on the CPU" $scenario preloaded XGEMM_MODE=cpu
        has_engine || continue
        alike "$1 on the engine" $scenario on_engine
        [ "$1" = openblas ] || continue
        alike "$1, a team of 4" $scenario on_engine XGEMM_STAGE_THREADS=4
        alike "$1, reproducible" $scenario on_engine XGEMM_REPRODUCIBLE=1
        alike "$1, in tiles" $scenario on_engine XGEMM_MEM_LIMIT=100K
        alike "$1, compared" $scenario on_engine XGEMM_MODE=compare XGEMM_LOG="$tmp/log"
        alike "$1, after a fault" $scenario on_engine FAKECUDA_FAIL=exec:9:719 \
            XGEMM_LOG="$tmp/log"
    done
    judged="$judged $1"
}

# With alpha 0 or k 0 the BLAS's own result stands, even a fault.
# unread WHAT LIBRARY
unread() {
    compile -DWITH_PRODUCTS -DCALL_INT=int32_t -o "$tmp/level3" "$srcdir/tests/preload/level3.c" "$2" -lm \
        -Wl,-rpath,"${2%/*}" -Wl,--disable-new-dtags
    # OpenBLAS 0.3.21's kernels for AVX-512 read operands that they need not read.
    for core in -uOPENBLAS_CORETYPE OPENBLAS_CORETYPE=SkylakeX; do
        [ "${core#*=}" != SkylakeX ] || grep -q avx512dq /proc/cpuinfo || continue
        same_as_alone "$1, $core: contract 2.3" env "$core" "$tmp/level3" unread
        [ "$(grep -c 'wait status' "$tmp/alone")" = 16 ] || fail "$1: contract 2.3 is not tried"
        ! grep 'wait status [1-9]' "$tmp/alone" || echo "$1, $core: A and B are read"
        has_engine || continue
        on_engine env "$core" "$tmp/level3" unread >"$tmp/out" 2>&1
        sed '$d' "$tmp/alone" | diff - "$tmp/out" || fail "$1 on the engine, $core: contract 2.3"
    done
}

# Operations with a side, a triangle or two operands: each operand lies between inaccessible pages,
# such pages lie in its other triangle, and a whole operand that is not needed is inaccessible.
# structured WHAT LIBRARY
structured() {
    compile -DCALL_INT=int32_t -o "$tmp/structured" "$srcdir/tests/preload/level3.c" "$2" -lm \
        -Wl,-rpath,"${2%/*}" -Wl,--disable-new-dtags
    for mode in edges triangles empty; do
        "$tmp/structured" $mode >"$tmp/alone" 2>&1 || {
            echo "$1: $mode fails without the library: nothing to compare with"
            lacks="$lacks $1:$mode"
            continue
        }
        same_as_alone "$1, $mode" "$tmp/structured" $mode
        ! has_engine || untouched "$1 on the engine" $mode
    done
    has_engine && [ "$1" = openblas ] || return 0
    untouched "$1, in tiles" triangles XGEMM_MEM_LIMIT=4M
    for count in 200 300 500; do
        untouched "$1, after fault $count" triangles FAKECUDA_FAIL=exec:$count:719 \
            XGEMM_STAGE_THREADS=2
        grep -q 'GPU failed' "$tmp/err" || fail "$1: fault $count did not strike"
    done
}

# untouched WHAT MODE NAME=VALUE...: the answers are right on the engine.
untouched() {
    untouched_what="$1, $2"
    mode=$2
    shift 2
    on_engine XGEMM_STATS=1 "$@" "$tmp/structured" "$mode" >"$tmp/out" 2>"$tmp/err" ||
        fail_with "$untouched_what" "$tmp/out"
    [ "$mode" = empty ] || grep -q '^  GPU' "$tmp/err" || fail "$untouched_what: by the CPU alone"
}

judged= lacks=
for name in openblas:libopenblas.so.0 reference:blas/libblas.so.3; do
    library=$(real "${name#*:}")
    [ -z "$library" ] || judge "${name%%:*}" "$library"
    [ -z "$library" ] || structured "${name%%:*}" "$library"
    [ -z "$library" ] || unread "${name%%:*}" "$library"
done
[ -n "$judged" ] || skip "neither OpenBLAS nor the reference BLAS is installed"

# The program's own library computes operands that share memory, the GPU blocks side by side.
if has_engine; then
    on_engine XGEMM_STATS=1 "$tmp/values" overlap >"$tmp/out" 2>&1
    grep -q '12 products.* 0 on the GPU' "$tmp/out" && grep -q 'C overlaps A or B' "$tmp/out" ||
        fail_with "contract 4.2: the CPU computes a C that overlaps" "$tmp/out"
    on_engine XGEMM_STATS=1 "$tmp/values" blocks >"$tmp/out" 2>&1
    grep -q '1 product.* 1 on the GPU' "$tmp/out" ||
        fail_with "contract 4.2: blocks of one matrix are not taken for an overlap" "$tmp/out"
fi

# The rest of a triangle after a fault is rectangles too, for GEMM of the program's own library.
library=$(real libopenblas.so.0)
if has_engine && [ -n "$library" ]; then
    for count in 30 50 65 80 100; do
        on_engine FAKECUDA_FAIL=exec:$count:719 XGEMM_VERBOSE=2 XGEMM_STAGE_THREADS=2 \
            "$tmp/values" triangle_pages >>"$tmp/faults" 2>&1 || fail "a triangle after fault $count"
    done
    grep -q 'cblas_sgemm of .*blas' "$tmp/faults" ||
        fail "no rectangle of a triangle was computed by the program's own library"
fi

# In reproducible mode all runs give the same bits, whatever the order of the device's work, the
# number of threads that stage, and other threads that multiply.
library=$(real libopenblas.so.0)
if has_engine && [ -n "$library" ]; then
    compile -pthread $XG_BLAS_CFLAGS -o "$tmp/values" "$srcdir/tests/preload/values.c" "$library" -lm \
        -Wl,-rpath,"${library%/*}" -Wl,--disable-new-dtags
    on_engine XGEMM_REPRODUCIBLE=1 "$tmp/values" bits >"$tmp/alone" 2>"$tmp/err" ||
        fail "contract 6.1: $(cat "$tmp/err")"
    "$tmp/values" bits | cmp -s - "$tmp/alone" && fail "contract 6.1: the CPU computed all of it"
    for seed in 2 3 4; do
        alike "contract 6.1, order $seed" bits on_engine XGEMM_REPRODUCIBLE=1 \
            FAKECUDA_SEED=$seed XGEMM_STAGE_THREADS=$seed
    done
    on_engine XGEMM_REPRODUCIBLE=1 XGEMM_MODE=auto "$tmp/values" bits >"$tmp/alone" 2>"$tmp/err"
    for seed in 2 3; do
        alike "contract 6.1, mode auto, order $seed" bits on_engine XGEMM_REPRODUCIBLE=1 \
            XGEMM_MODE=auto FAKECUDA_SEED=$seed XGEMM_STAGE_THREADS=$seed
    done
fi

# Without any BLAS the built-in loop writes nothing if nothing is to be computed.
compile -pthread $XG_BLAS_CFLAGS -o "$tmp/values" "$srcdir/tests/preload/values.c" "$XG_SO" -lm \
    -Wl,-rpath,"${XG_SO%/*}"
mkdir "$tmp/empty"
echo 'int nothing_here = 1;' | $CC -shared -fPIC -xc -o "$tmp/empty/$XG_CPU_BLAS" - || exit 99
for scenario in old_c unread empty edges read_only const triangle triangle_pages; do
    LD_LIBRARY_PATH=$tmp/empty "$tmp/values" $scenario >"$tmp/out" 2>"$tmp/err" ||
        fail "built-in loop, $scenario: exit status $?"
    grep -v '^xgemm: no BLAS' "$tmp/err"
    grep 'wait status [1-9]' "$tmp/out" && fail "contract 4.3: the built-in loop writes"
done
echo "judged:$judged; without a standard:${lacks:- none}"
exit $status
