/* SPDX-License-Identifier: MIT */
/* Rungs 1 and 2: one thread per element of C, and the cost of one swapped index. */

/*
 * Why. This is the definition of the product on a million threads. `uncoalesced` and `coalesced` do
 * the same arithmetic in the same order and give the same bits. They differ only in the index of C
 * along which threadIdx.x runs, and this is worth an order of magnitude.
 *
 * A warp is 32 threads with consecutive threadIdx.x. Its load is served in sectors of 32 bytes: the
 * hardware fetches every sector that the 32 addresses touch, each whole (CUDA C++ Best Practices
 * Guide).
 *
 * uncoalesced: x along the rows of C. In one step of k (row-major, not transposed) the warp reads
 *   op(A)(i..i+31, p): 32 addresses, lda apart  -> 32 sectors, 4 of 32 bytes of each used,
 *   op(B)(p, j):       one address              -> 1 sector, the value is broadcast.
 *   The next steps of k use the rest of A's sectors if they are still in the L1 cache. Usually they
 *   are, because the 32 warps of a block read the same 32 rows. But each such load occupies the
 *   load unit for 32 passes, and the stores of C are scattered in the same way.
 *
 * coalesced: x along the columns of C. In one step of k the warp reads
 *   op(A)(i, p):       one address              -> 1 sector,
 *   op(B)(p, j..j+31): 128 consecutive bytes    -> 4 sectors, every byte used.
 *
 * FLOP per byte: 2 FLOP for the 8 bytes that a thread loads, 0.25. From DRAM alone (4.8 TB/s on an
 * H200) this would be 1.2 TFLOP/s. Caches serve the 32-fold reuse within a block, so the bottleneck
 * of `coalesced` is the load unit: two load instructions per FFMA. Expect about 0.5 and 6 TFLOP/s
 * at 4096.
 *
 * With A transposed the loads of `uncoalesced` are coalesced, and with B transposed those of
 * `coalesced` are not: `bench/kernels --trans all` shows it.
 */

#include "../common/epilogue.cuh"
#include "../common/tile.cuh"

enum { BM = 32, BN = 32 };

/* Computes C(i,j). Threads outside C return, because there is no barrier. */
static __device__ __forceinline__ void compute(const struct xg_sgemm_args &args, int64_t i,
                                               int64_t j)
{
    if (i >= args.m || j >= args.n)
        return;
    const struct xg_operand a = xg_operand_a(args), b = xg_operand_b(args);
    const float *a_at = a.data + i * a.row_stride;
    const float *b_at = b.data + j * b.col_stride;
    float sum = 0.0f;
    for (int64_t p = 0; p < args.k; p++) {
        sum = fmaf(*a_at, *b_at, sum);
        a_at += a.col_stride;
        b_at += b.row_stride;
    }
    xg_c_store(args, i, j, sum);
}

extern "C" __global__ void __launch_bounds__(BM *BN)
    xg_sgemm_uncoalesced_sm75_32x32x1(const __grid_constant__ struct xg_sgemm_args args)
{
    const struct xg_tile tile = xg_tile_find<BM, BN, 1>(args, blockIdx.x);
    compute(args, tile.row + threadIdx.x, tile.col + threadIdx.y);
}

extern "C" __global__ void __launch_bounds__(BM *BN)
    xg_sgemm_coalesced_sm75_32x32x1(const __grid_constant__ struct xg_sgemm_args args)
{
    const struct xg_tile tile = xg_tile_find<BM, BN, 1>(args, blockIdx.x);
    compute(args, tile.row + threadIdx.y, tile.col + threadIdx.x);
}
