/* SPDX-License-Identifier: MIT */
/* Rungs 4 and 5: tiles of A and B in shared memory (CUDA C++ Programming Guide), and transposed
 * operands transposed during the copy. */

/*
 * Why. `coalesced` reads every element of A n times and every element of B m times, and depends
 * on the caches. Here a block of 32x32 threads loads a 32x32 tile of each into shared memory once,
 * and every element is used 32 times from there. k is cut into strips of 32 (strip-mining), each
 * strip in two phases with a barrier after each: no thread multiplies before the tile is complete,
 * and no thread overwrites it before all have multiplied. Elements outside a matrix are zeros in
 * the tile, so the inner loop needs no edge cases.
 *
 * FLOP per byte: 2 * 32^3 FLOP for 2 * 32 * 32 * 4 bytes, 8: 32 times that of the earlier rungs. An
 * H200 could reach 38 TFLOP/s from DRAM at that ratio, so DRAM is not the bottleneck. The
 * bottleneck is shared memory: an FFMA still needs two shared loads (one of them a broadcast). The
 * load unit serves one warp per cycle, and the arithmetic needs four. Expect about 7 TFLOP/s,
 * hardly more than `coalesced`, whose two loads hit the L1 cache, which is the same memory. The
 * tile gains when registers are added (sgemm_coarse_sm75.cu). On older GPUs without L1 for global
 * loads this rung was the largest gain.
 *
 * tiled:       threadIdx.x runs along the columns of op(X). Loads are coalesced if the operand is
 *              not transposed; otherwise a warp's load touches 32 sectors
 *              (sgemm_element_sm75.cu).
 * corner_turn: threadIdx.x runs along memory, whichever index of op(X) that is, and the value is
 *              stored at its transposed position: `tile[x][y]` for `tile[y][x]`. A warp's 32
 *              stores then go down a column of the tile; with rows of 32 floats they would all hit
 *              one bank and be served one after another. One float of padding per row makes the
 *              distance 33, which hits 32 banks. The four transposes then run at the same rate.
 */

#include "../common/epilogue.cuh"
#include "../common/tile.cuh"

enum { SIDE = 32, STRIDE = SIDE + 1 };

/*
 * Loads op(X)(row.., col..), one element per thread, into the tile. `turn`: threadIdx.x runs along
 * the rows of op(X), which is along memory if X is transposed.
 */
static __device__ __forceinline__ void load_tile(float (*tile)[STRIDE],
                                                 const struct xg_operand &operand, int64_t row,
                                                 int64_t col, int64_t rows, int64_t cols, bool turn)
{
    const int y = turn ? threadIdx.x : threadIdx.y;
    const int x = turn ? threadIdx.y : threadIdx.x;
    const bool inside = row + y < rows && col + x < cols;
    tile[y][x] = inside
                     ? operand.data[(row + y) * operand.row_stride + (col + x) * operand.col_stride]
                     : 0.0f;
}

static __device__ __forceinline__ void multiply(const struct xg_sgemm_args &args, bool turn_a,
                                                bool turn_b)
{
    __shared__ float a_tile[SIDE][STRIDE], b_tile[SIDE][STRIDE];
    const struct xg_tile tile = xg_tile_find<SIDE, SIDE, 1>(args, blockIdx.x);
    const struct xg_operand a = xg_operand_a(args), b = xg_operand_b(args);
    const int y = threadIdx.y, x = threadIdx.x;

    float sum = 0.0f;
    for (int64_t p0 = 0; p0 < args.k; p0 += SIDE) {
        load_tile(a_tile, a, tile.row, p0, args.m, args.k, turn_a);
        load_tile(b_tile, b, p0, tile.col, args.k, args.n, turn_b);
        __syncthreads();
#pragma unroll
        for (int p = 0; p < SIDE; p++)
            sum = fmaf(a_tile[y][p], b_tile[p][x], sum);
        __syncthreads();
    }
    if (y < tile.rows && x < tile.cols)
        xg_c_store(args, tile.row + y, tile.col + x, sum);
}

extern "C" __global__ void __launch_bounds__(SIDE *SIDE)
    xg_sgemm_tiled_sm75_32x32x32(const __grid_constant__ struct xg_sgemm_args args)
{
    multiply(args, false, false);
}

extern "C" __global__ void __launch_bounds__(SIDE *SIDE)
    xg_sgemm_corner_turn_sm75_32x32x32(const __grid_constant__ struct xg_sgemm_args args)
{
    multiply(args, args.transa, args.transb);
}
