/* SPDX-License-Identifier: MIT */
/* Rung 3: both operands whole in shared memory, one block; for products that fit (at most
 * 64x64x64). */

/*
 * Why. Shared memory is a scratchpad on the multiprocessor: reading the same bytes again costs tens
 * of cycles instead of hundreds, and any thread of the block may read what another one has loaded.
 * The smallest program with it loads all of A and B, waits once, and multiplies.
 *
 * Memory. Each element of A and B is read from global memory exactly once, along memory (coalesced)
 * for every transpose, and is stored at its position in op(X). A row has one float of padding: with
 * a stride of 65 both the rows and the columns of a tile fall on 32 different banks, so transposed
 * stores and reads have no conflicts.
 *
 * FLOP per byte: at m = n = k = 64, 2 * 64^3 / (3 * 64^2 * 4) = 10.7, the most that any kernel can
 * reach at this size. Only one of 132 multiprocessors works, and 48 KiB of shared memory (the
 * default of every device) hold at most two 64x64 operands. Expect the time of a launch and a few
 * microseconds.
 */

#include "../common/epilogue.cuh"
#include "../common/tile.cuh"

enum { SIDE = 64, STRIDE = SIDE + 1, THREADS = 1024, TM = 2, TN = 2 };

/*
 * Loads op(X), (rows,cols), into shared memory: reads the stored matrix along its rows, 64 floats
 * at a time, and transposes it during the copy if the operand is transposed.
 */
static __device__ __forceinline__ void load_whole(float *tile, uint64_t data, int64_t ld, int rows,
                                                  int cols, bool trans)
{
    const int stored_rows = trans ? cols : rows, stored_cols = trans ? rows : cols;
    for (int e = threadIdx.x; e < SIDE * SIDE; e += THREADS) {
        const int r = e / SIDE, c = e % SIDE;
        if (r < stored_rows && c < stored_cols)
            tile[trans ? c * STRIDE + r : r * STRIDE + c] = ((const float *)data)[r * ld + c];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    xg_sgemm_single_block_sm75_64x64x64(const __grid_constant__ struct xg_sgemm_args args)
{
    __shared__ float a_tile[SIDE * STRIDE], b_tile[SIDE * STRIDE];
    const int m = (int)args.m, n = (int)args.n,
              k = (int)args.k; /* at most 64: XG_KERNEL_ONE_BLOCK */
    load_whole(a_tile, args.a, args.lda, m, k, args.transa);
    load_whole(b_tile, args.b, args.ldb, k, n, args.transb);
    __syncthreads();

    /* Results (i, i + 32) x (j, j + 32): a warp's row of C has 32 adjacent elements. */
    const int i = threadIdx.x / 32, j = threadIdx.x % 32;
    float sum[TM][TN] = {};
    for (int p = 0; p < k; p++)
        for (int y = 0; y < TM; y++)
            for (int x = 0; x < TN; x++)
                sum[y][x] = fmaf(a_tile[(i + 32 * y) * STRIDE + p], b_tile[p * STRIDE + j + 32 * x],
                                 sum[y][x]);
    for (int y = 0; y < TM; y++)
        for (int x = 0; x < TN; x++)
            if (i + 32 * y < m && j + 32 * x < n)
                xg_c_store(args, i + 32 * y, j + 32 * x, sum[y][x]);
}
