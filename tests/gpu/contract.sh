# SPDX-License-Identifier: MIT
# On a device, what the contract says of operands and of the process: numbers that are not finite
# through each kind of kernel, edges, shared memory, flags, signals, ends.
# Contract 1.1, 2.1, 2.2, 2.3, 2.4, 3.1, 3.2, 3.3, 4.1, 4.2, 4.4, 6.1 (doc/contract.md).
# Contract 7.1, 7.2, 7.3, 8.2, 8.4, 8.5, 8.6.
. "$srcdir/tests/preload/lib"
needs_plain_library
[ -n "$XG_BLAS_LIBS" ] || skip "no BLAS with a C interface"
export OPENBLAS_NUM_THREADS=1
for name in large process state values; do
    blas_program $name -DCALL_INT=int32_t -frounding-math
done

on_gpu() {
    env XGEMM_MODE=gpu LD_PRELOAD="$preload" "$@"
}

on_gpu XGEMM_STATS=1 "$tmp/values" blocks >"$tmp/out" 2>&1
grep -q ' 1 on the GPU' "$tmp/out" || {
    [ "${XGEMM_TEST_REQUIRE_GPU-}" = 1 ] || skip "no GPU"
    cat "$tmp/out"
    echo "no GPU, and one was required"
    exit 1
}

# right PROGRAM ARGUMENT [NAME=VALUE...]: silently.
right() {
    what="$1 $2"
    program=$1
    argument=$2
    shift 2
    on_gpu "$@" timeout -s KILL 120 "$tmp/$program" $argument >"$tmp/out" 2>"$tmp/err"
    result=$?
    [ $result -eq 0 ] && ! grep -q -e '[1-9] failed' "$tmp/out" && [ ! -s "$tmp/err" ] && return
    head -20 "$tmp/out" "$tmp/err"
    fail "$what $*: exit status $result, or messages"
}

for math in strict accurate; do
    for scenario in not_finite old_c scalars unread empty edges const same_inputs blocks; do
        right values $scenario XGEMM_MATH=$math
    done
done
# Numbers that are not finite, and edges, through each kind of kernel.
for kernel in uncoalesced tiled coarse_2d vectorized pipelined pipelined_scalar outer skinny_16x128 \
    splitk deep deep_scalar fp16x3 fp16x3_mma; do
    for scenario in not_finite old_c edges; do
        right values $scenario XGEMM_KERNEL=$kernel XGEMM_MATH=accurate
    done
done
right values not_finite XGEMM_MEM_LIMIT=8M
right large 400000003

"$tmp/values" overlap >"$tmp/alone"
on_gpu "$tmp/values" overlap | diff "$tmp/alone" - || fail "contract 4.2: not what the CPU gives"
on_gpu XGEMM_REPRODUCIBLE=1 "$tmp/values" bits >"$tmp/alone" || fail "contract 6.1: bits"
on_gpu XGEMM_REPRODUCIBLE=1 XGEMM_STAGE_THREADS=2 "$tmp/values" bits | diff "$tmp/alone" - ||
    fail "contract 6.1: other bits in another run"

for scenario in errno rounding flags traps flush signals storm; do
    right state $scenario
done
right process spawn
right process main_leaves
on_gpu timeout -s KILL 60 "$tmp/process" end quick_exit
[ $? -eq 5 ] || fail "contract 8.4: quick_exit"
on_gpu timeout -s KILL 60 "$tmp/process" end _exit
[ $? -eq 6 ] || fail "contract 8.4: _exit"
exit $status
