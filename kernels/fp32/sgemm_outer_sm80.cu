/* SPDX-License-Identifier: MIT */
/* A short k: C is a sum of a few outer products, and writing it is what takes time. */

/*
 * Why. With k <= 16 a product is at most 8 FLOP a byte of C, so a kernel should do nothing but
 * write C as memory likes it: whole lines of 128 bytes. A tile whose rows begin where its first
 * column is does so only if the rows of C are a multiple of 128 bytes apart. Here each row of the
 * tile begins a little to the left instead, at a line's first byte: a window of BN columns moved
 * by up to CLASSES - 1. Rows that are CLASSES apart are moved alike whatever ldc is, and a warp
 * takes such a class: ROWS rows, 32 columns a store.
 *
 * Memory. All of k is copied to shared memory at once, op(A) so that the rows of a class lie
 * together, op(B) with the columns that windows reach on the left. The columns that the windows of
 * the last tile leave over on the right are a second, narrow pass.
 *
 * Accounts for 128x128, classes of 4 rows, 4 columns a lane: 84 instructions for 64 FFMA a step of
 * k, so 10 us of issue at 4096 x 4096 x 16 on an H200, where the stores take 18. What is missing
 * to the 33 measured is taken to be the wait for a block's copies, which nothing of it hides.
 */
#include "../common/async.cuh"
#include "../common/epilogue.cuh"
#include "../common/tile.cuh"
#include "../tiles.h"

enum { THREADS = 256, WARPS = THREADS / 32, LANES = 32 };

/* Rows of a tile, classes of rows, 32 columns so many times, and the longest k. */
template <int BM_, int CLASSES_, int SLOTS_, int BK_>
struct outer_shape {
    enum { BM = BM_, CLASSES = CLASSES_, SLOTS = SLOTS_, BN = LANES * SLOTS, BK = BK_ };
    enum { ROWS = BM / CLASSES, LEFT = LANES, STRIDE_A = BM + 4, STRIDE_B = LEFT + BN };
    static_assert(ROWS % 4 == 0 && CLASSES <= LEFT && CLASSES % WARPS == 0, "whole quads a class");
};

/*
 * Copies EXTENT rows or columns of an operand from x0 on (those in 0..extent; zeros for others) to
 * `to`, k-major. TURN: it is contiguous along k. CLASSES > 1: neighbours in shared memory are
 * CLASSES apart in the operand.
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

/* Rows row, row + CLASSES, ... of C in columns col, col + 32, ...; those outside C are not stored.
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
    /* Lanes of the narrow pass whose columns are outside C read up to LEFT floats behind a row. */
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

/* Tile; blocks an SM; rows, classes, columns / 32, longest k. */
ENTRIES(128x128x16, 4, 128, 32, 4, 16)
ENTRIES(64x128x16, 3, 64, 8, 4, 16)
