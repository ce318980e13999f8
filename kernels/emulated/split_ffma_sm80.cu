/* SPDX-License-Identifier: MIT */
/* The FP32 product of operands that 16-bit pieces cannot represent. Tile 64x64x16, 256 threads. */

#include "../common/epilogue.cuh"
#include "../common/tile.cuh"
#include "split.cuh"

/*
 * Why. Infinities, NaNs, and rows whose numbers differ by more than BF16's exponent range must give
 * the FP32 result. Only the device knows whether they occur, so this kernel is launched after every
 * product of pieces, and returns at once if the pieces served. It is rarely needed, so one entry
 * for all strides and few registers matter more than its rate.
 *
 * Blocks loop over the tiles, so an unneeded launch costs only one wave of blocks. A thread has 4x4
 * results: 2 LDS.128 for 16 FFMA, at most half of the FFMA peak. Each tile of k is summed
 * separately and then added, so that the error grows with k/16 instead of k. That adds one rounding
 * per tile, which matters for sums of few products: these are one sum.
 */

#ifdef XG_SPLIT_SM80
enum { TILE = 64, DEPTH = 16, THREADS = 256, GROUP = 16, PAD = 4 };

/* Loads an operand's (TILE,DEPTH) tile to shared memory, k-major, with zeros outside. */
static __device__ __forceinline__ void load_tile(float (*to)[TILE + PAD], const float *data,
                                                 int64_t stride, int64_t k_stride, int64_t first,
                                                 int inside, int64_t k, int depth)
{
    const bool along_k = k_stride == 1;
#pragma unroll
    for (int i = 0; i < TILE * DEPTH / THREADS; i++) {
        const int at = threadIdx.x + i * THREADS;
        const int p = along_k ? at % DEPTH : at / TILE, x = along_k ? at / DEPTH : at % TILE;
        to[p][x] = x < inside && p < depth ? data[(first + x) * stride + (k + p) * k_stride] : 0.0f;
    }
}

static __device__ __forceinline__ void multiply_tile(const struct xg_sgemm_args &args,
                                                     const struct xg_tile &tile, bool one_sum)
{
    __shared__ __align__(16) float a[DEPTH][TILE + PAD], b[DEPTH][TILE + PAD];
    const struct xg_operand op_a = xg_operand_a(args), op_b = xg_operand_b(args);
    const int row = threadIdx.x / 16 * 4, col = threadIdx.x % 16 * 4;
    float sum[4][4] = {};
    for (int64_t k = 0; k < args.k; k += DEPTH) {
        const int depth = xg_clip(args.k - k, DEPTH);
        __syncthreads();
        load_tile(a, op_a.data, op_a.row_stride, op_a.col_stride, tile.row, tile.rows, k, depth);
        load_tile(b, op_b.data, op_b.col_stride, op_b.row_stride, tile.col, tile.cols, k, depth);
        __syncthreads();
        float part[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                part[i][j] = one_sum ? sum[i][j] : 0.0f;
#pragma unroll
        for (int p = 0; p < DEPTH; p++) {
            const float4 x = *(const float4 *)&a[p][row], y = *(const float4 *)&b[p][col];
            const float left[4] = {x.x, x.y, x.z, x.w}, right[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    part[i][j] = fmaf(left[i], right[j], part[i][j]);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum[i][j] = one_sum ? part[i][j] : sum[i][j] + part[i][j];
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (row + i < tile.rows && col + j < tile.cols)
                xg_c_store(args, tile.row + row + i, tile.col + col + j, sum[i][j]);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    xg_split_ffma_sm80_64x64x16(const __grid_constant__ struct xg_split_ffma_args args)
{
    const struct xg_split_verdict verdict = xg_split_verdict_of(args.pair);
    if (verdict.kind != XG_SPLIT_FFMA)
        return;
    const bool one_sum = verdict.products == XG_SPLIT_FEW;
    const unsigned tiles =
        (unsigned)(((args.product.m + TILE - 1) / TILE) * ((args.product.n + TILE - 1) / TILE));
    for (unsigned at = blockIdx.x; at < tiles; at += gridDim.x) {
        const struct xg_tile tile = xg_tile_find<TILE, TILE, GROUP>(args.product, at);
        if (!xg_tile_unwanted<TILE, TILE>(args.product.wanted, tile.row, tile.col))
            multiply_tile(args.product, tile, one_sum);
    }
}

#else
XG_SPLIT_ABSENT(split_ffma_sm80)
#endif
