/* SPDX-License-Identifier: MIT */
/* A short k (at most 16): C is a sum of a few outer products, and writing C takes most of the time.
 * Tiles 128x128 and 64x128, 256 threads, FP32. */

/*
 * Why. With k <= 16 a product has at most 8 FLOP per byte of C, so the kernel should write C in
 * whole lines of 128 bytes (coalesced stores, CUDA C++ Best Practices Guide). An ordinary tile does
 * so only if the distance of C's rows is a multiple of 128 bytes. Here each row of the tile starts
 * further left, at a line's first byte: a window of BN columns, shifted by up to CLASSES - 1. Rows
 * that are CLASSES apart have the same shift whatever ldc is, and a warp computes such a class:
 * ROWS rows, 32 columns per store.
 *
 * Memory. All of k is copied to shared memory at once: op(A) with the rows of a class together,
 * op(B) with the additional columns on the left of the windows. A second, narrow pass computes the
 * columns on the right that the windows of the last tile do not cover.
 *
 * Accounts for 128x128, classes of 4 rows, 4 columns per lane: 84 instructions for 64 FFMA per step
 * of k, so 10 us of issue at 4096 x 4096 x 16 on an H200, where the stores take 18. The rest of the
 * 33 us measured is probably the wait for a block's copies, which the block does not hide.
 */
#include "../common/async.cuh"
#include "../common/epilogue.cuh"
#include "../common/tile.cuh"
#include "../tiles.h"

enum { THREADS = 256, WARPS = THREADS / 32, LANES = 32 };

/* Rows of a tile, classes of rows, columns divided by 32, and the longest k. */
template <int BM_, int CLASSES_, int SLOTS_, int BK_>
struct outer_shape {
    enum { BM = BM_, CLASSES = CLASSES_, SLOTS = SLOTS_, BN = LANES * SLOTS, BK = BK_ };
    enum { ROWS = BM / CLASSES, LEFT = LANES, STRIDE_A = BM + 4, STRIDE_B = LEFT + BN };
    static_assert(ROWS % 4 == 0 && CLASSES <= LEFT && CLASSES % WARPS == 0, "whole quads a class");
};

/*
 * Copies EXTENT rows or columns of an operand from x0 on to `to`, k-major; those outside 0..extent
 * are zeros. TURN: the operand is contiguous along k. CLASSES > 1: adjacent elements in shared
 * memory are CLASSES apart in the operand.
 */
template <class S, int EXTENT, int STRIDE, int CLASSES, bool TURN>
static __device__ __forceinline__ void outer_copy(const float *to, uint64_t data, int64_t ld,
                                                  int64_t x0, int64_t extent, int k)
{
    enum { ALONG_K = TURN ? 8 : WARPS, ALONG_X = THREADS / ALONG_K };
    const int p0 = TURN ? threadIdx.x % 8 : threadIdx.x / 32;
    const int first = TURN ? threadIdx.x / 8 : threadIdx.x % 32;
    const unsigned stage = (unsigned)__cvta_generic_to_shared(to);
#pragma unroll
    for (int i = 0; i < EXTENT / ALONG_X; i++) {
        const int x = first + i * ALONG_X, place = x % CLASSES * (EXTENT / CLASSES) + x / CLASSES;
        const bool there = (uint64_t)(x0 + x) < (uint64_t)extent;
        const float *at = (const float *)data + (there ? x0 + x : 0) * (TURN ? ld : 1);
#pragma unroll
        for (int p = 0; p < S::BK; p += ALONG_K)
            if (p + p0 < k)
                xg_async_copy4_if(stage + ((p + p0) * STRIDE + place) * 4,
                                  at + (p + p0) * (TURN ? 1 : ld), there);
    }
}

/* Computes rows row, row + CLASSES, ... of C in columns col, col + 32, ...; does not store those
 * outside C.
 */
template <class S, int SLOTS>
static __device__ __forceinline__ void outer_window(const struct xg_sgemm_args &args,
                                                    const float *a, const float *b, int64_t row,
                                                    int64_t col)
{
    float sum[S::ROWS][SLOTS] = {};
#pragma unroll 4
    for (int p = 0; p < (int)args.k; p++) {
        float x[S::ROWS], y[SLOTS];
#pragma unroll
        for (int i = 0; i < S::ROWS; i += 4)
            *(float4 *)(x + i) = *(const float4 *)(a + p * S::STRIDE_A + i);
#pragma unroll
        for (int j = 0; j < SLOTS; j++)
            y[j] = b[p * S::STRIDE_B + LANES * j];
#pragma unroll
        for (int i = 0; i < S::ROWS; i++)
#pragma unroll
            for (int j = 0; j < SLOTS; j++)
                sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
    }
#pragma unroll
    for (int i = 0; i < S::ROWS; i++) {
        const int64_t at = row + i * S::CLASSES;
        if (at >= args.m)
            break;
#pragma unroll
        for (int j = 0; j < SLOTS; j++)
            if ((uint64_t)(col + LANES * j) < (uint64_t)args.n)
                xg_c_store(args, at, col + LANES * j, sum[i][j]);
    }
}

template <class S, bool TRANSA, bool TRANSB>
static __device__ __forceinline__ void outer(const struct xg_sgemm_args &args)
{
    __shared__ __align__(16) float a[S::BK * S::STRIDE_A];
    /* Lanes of the narrow pass with columns outside C read up to LEFT floats after a row. */
    __shared__ __align__(16) float b[S::BK * S::STRIDE_B + S::LEFT];
    const struct xg_tile tile = xg_tile_find<S::BM, S::BN, 1>(args, blockIdx.x);
    const int k = (int)args.k;
    outer_copy<S, S::BM, S::STRIDE_A, S::CLASSES, !TRANSA>(a, args.a, args.lda, tile.row, args.m,
                                                           k);
    outer_copy<S, S::STRIDE_B, S::STRIDE_B, 1, TRANSB>(b, args.b, args.ldb, tile.col - S::LEFT,
                                                       args.n, k);
    xg_async_commit();
    xg_async_wait<0>();
    __syncthreads();

    const int lane = threadIdx.x % 32;
    const bool last = tile.col + S::BN >= args.n;
#pragma unroll 1
    for (int member = threadIdx.x / 32; member < S::CLASSES; member += WARPS) {
        const int64_t row = tile.row + member;
        const int left = (int)((args.c / 4 + row * args.ldc + tile.col) % S::CLASSES);
        const float *a_at = a + member * S::ROWS, *b_at = b + S::LEFT - left + lane;
        outer_window<S, S::SLOTS>(args, a_at, b_at, row, tile.col - left + lane);
        if (last && tile.cols > S::BN - left)
            outer_window<S, 1>(args, a_at, b_at + S::BN, row, tile.col - left + S::BN + lane);
    }
}

#define ENTRY(tile, suffix, blocks, shape, transa, transb)                                         \
    extern "C" __global__ void __launch_bounds__(THREADS, blocks)                                  \
        xg_sgemm_outer_sm80_##tile##_##suffix(const __grid_constant__ struct xg_sgemm_args args)   \
    {                                                                                              \
        XG_TILES_ASSERT(outer, tile, int(shape::BM), int(shape::BN), THREADS);                     \
        static_assert(int(shape::BK) == int(listed::BK), "kernels/tiles.h has another depth");     \
        outer<shape, transa, transb>(args);                                                        \
    }
#define ENTRIES(tile, blocks, ...)                                                                 \
    typedef outer_shape<__VA_ARGS__> shape_##tile;                                                 \
    ENTRY(tile, nn, blocks, shape_##tile, false, false)                                            \
    ENTRY(tile, nt, blocks, shape_##tile, false, true)                                             \
    ENTRY(tile, tn, blocks, shape_##tile, true, false)                                             \
    ENTRY(tile, tt, blocks, shape_##tile, true, true)

/* Tile; blocks per SM; rows, classes, columns / 32, longest k. */
ENTRIES(128x128x16, 4, 128, 32, 4, 16)
ENTRIES(64x128x16, 3, 64, 8, 4, 16)
