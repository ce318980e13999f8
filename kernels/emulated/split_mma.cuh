/* SPDX-License-Identifier: MIT */
/* The product of split operands on the tensor cores of every device from sm_80 on, by mma.sync. */
#ifndef XG_SPLIT_MMA_CUH
#define XG_SPLIT_MMA_CUH

#include "../common/tile.cuh"
#include "mma_planes.cuh"
#include "split_sums.cuh"

/*
 * Why. Hopper's warpgroup instructions (split_product.cuh) exist on Hopper alone. This kernel sums
 * the same products in the same order with the instructions that all devices from Ampere on have:
 * cp.async, ldmatrix and mma.sync. It is the kernel of the devices without wgmma, and on Hopper a
 * second opinion on the first one's numbers.
 *
 * Sums. As there, the tensor cores add 32 positions of k, the small products first, and an FADD
 * rounds that sum into an FP32 total. Both are in registers: a warp has 64x32 results, 64 + 64
 * registers a thread, and its fragments take 64 more. In a sum of many products each fragment of B
 * is read from shared memory once a stage, and of A once (FP16) or at most twice (BF16).
 *
 * A block of 8 warps has a tile of 128x128 and a ring of stages of 32 positions of k: 32 KiB and
 * three stages for FP16, 48 KiB and two for BF16. That is 96 KiB, because a block may have 99 KiB
 * on sm_86, sm_89 and sm_120.
 *
 * Accounts, FP16: a stage is 8 warps x 3 products x 2 steps x 16 instructions of 16x8x16. The
 * tensor cores of an SM of sm_80 take 1536 cycles for them. The warps read 96 KiB of shared memory,
 * 768 cycles, and add 512 times, 256 cycles of the FP32 units of sm_80. 32 KiB come from L2, 21
 * bytes a cycle and SM.
 */
enum { TILE_M = 128, TILE_N = 128, BAND = 8 };
enum { WARPS_M = 2, WARPS_N = 4, PRODUCT_THREADS = WARPS_M * WARPS_N * 32 };
enum { WARP_M = TILE_M / WARPS_M, WARP_N = TILE_N / WARPS_N };
enum { TILES_M = WARP_M / 16, TILES_N = WARP_N / 8 };
static_assert(XG_SPLIT_BLOCK * 2 == ROW_BYTES, "a stage of a piece is a plane");

/* A stage has a plane for each piece, first A's, then B's. */
template <bool BF16>
struct mma_form : split_order<BF16> {
    enum {
        PLANE_BYTES = TILE_M * ROW_BYTES,
        STAGE_BYTES = 2 * split_order<BF16>::PIECES * PLANE_BYTES,
        STAGES = BF16 ? 2 : 3,
    };
    static_assert(TILE_M == TILE_N && STAGES * STAGE_BYTES <= 96 * 1024, "what a block may have");
};

/* Starts the copies of an operand's first COPIED pieces of a stage. */
template <bool BF16, int COPIED>
static __device__ __forceinline__ void copy_operand(uint32_t to, const struct plane_source &source,
                                                    int block)
{
    using form = mma_form<BF16>;
#pragma unroll
    for (int piece = 0; piece < COPIED; piece++)
        copy_plane<TILE_M, PRODUCT_THREADS>(to + piece * form::PLANE_BYTES, source,
                                            ((int64_t)block * form::PIECES + piece) * ROW_BYTES);
}

/* --- Products ------------------------------------------------------------------------------- */

/* sums (16,8) of a warp = A (16,16) B (16,8), added to the previous sums if `add`. */
template <bool BF16>
static __device__ __forceinline__ void multiply(float *sums, const uint32_t (&a)[4],
                                                const uint32_t (&b)[2], bool add)
{
    const float c0 = add ? sums[0] : 0.0f, c1 = add ? sums[1] : 0.0f, c2 = add ? sums[2] : 0.0f,
                c3 = add ? sums[3] : 0.0f;
#define XG_MMA(type)                                                                               \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                    \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"             \
                 : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c0),      \
                   "f"(c1), "f"(c2), "f"(c3))
    if (BF16)
        XG_MMA("bf16");
    else
        XG_MMA("f16");
#undef XG_MMA
}

/* B's fragments have two slots: one for the first piece, and one for the others in turn. */
static __device__ __forceinline__ constexpr int slot_of(int piece)
{
    return piece != 0;
}

/* Whether the slot of product i's piece of B holds another piece, or none, after FIRST to i - 1. */
template <bool BF16, int FIRST>
static __device__ __forceinline__ constexpr bool is_new_b(int i)
{
    const int piece = split_order<BF16>::piece_b(i);
    for (int before = i - 1; before >= FIRST; before--)
        if (slot_of(split_order<BF16>::piece_b(before)) == slot_of(piece))
            return split_order<BF16>::piece_b(before) != piece;
    return true;
}

/* Adds products FIRST to LAST - 1 of a stage's pieces to ROWS rows of the warp's totals. */
template <bool BF16, int FIRST, int LAST, int ROWS>
static __device__ __forceinline__ void multiply_stage(float (*total)[4 * TILES_N], uint32_t warp_a,
                                                      uint32_t warp_b, int lane)
{
    using form = mma_form<BF16>;
    float part[ROWS][4 * TILES_N];
    uint32_t a[STEPS][ROWS][4], b[2][STEPS][TILES_N][2];
#pragma unroll
    for (int i = FIRST; i < LAST; i++) {
        const int piece_a = form::piece_a(i), piece_b = form::piece_b(i);
        if (i == FIRST || piece_a != form::piece_a(i - 1))
#pragma unroll
            for (int k = 0; k < STEPS; k++)
                load_a(a[k], warp_a + piece_a * form::PLANE_BYTES, k, lane);
        if (is_new_b<BF16, FIRST>(i))
#pragma unroll
            for (int k = 0; k < STEPS; k++)
                load_b(b[slot_of(piece_b)][k], warp_b + piece_b * form::PLANE_BYTES, k, lane);
#pragma unroll
        for (int k = 0; k < STEPS; k++)
#pragma unroll
            for (int x = 0; x < ROWS; x++)
#pragma unroll
                for (int y = 0; y < TILES_N; y++)
                    multiply<BF16>(&part[x][4 * y], a[k][x], b[slot_of(piece_b)][k][y],
                                   i > FIRST || k > 0);
    }
#pragma unroll
    for (int x = 0; x < ROWS; x++)
#pragma unroll
        for (int y = 0; y < 4 * TILES_N; y++)
            total[x][y] += part[x][y];
}

/* One pass over k: total += products FIRST to LAST - 1 of each stage. The last product alone needs
 * the first pieces alone. */
template <bool BF16, int FIRST, int LAST>
static __device__ __forceinline__ void
multiply_pass(float (&total)[TILES_M][4 * TILES_N], uint32_t room,
              const struct plane_source &source_a, const struct plane_source &source_b, int blocks,
              int warp, int lane)
{
    using form = mma_form<BF16>;
    constexpr int COPIED = FIRST == form::PRODUCTS - 1 ? 1 : form::PIECES;
    constexpr int PLANES_B = form::PIECES * form::PLANE_BYTES;
    /* All products of BF16 at once would spill registers: each half of the rows by itself. */
    constexpr int ROWS = FIRST < form::SIX ? TILES_M / 2 : TILES_M;
    const uint32_t warp_a = warp % WARPS_M * WARP_M * ROW_BYTES;
    const uint32_t warp_b = PLANES_B + warp / WARPS_M * WARP_N * ROW_BYTES;
    uint32_t filled = room, next = room + (form::STAGES - 1) * form::STAGE_BYTES;
    __syncthreads(); /* the previous pass has read its stages */
#pragma unroll
    for (int block = 0; block < form::STAGES - 1; block++) {
        if (block < blocks) {
            copy_operand<BF16, COPIED>(room + block * form::STAGE_BYTES, source_a, block);
            copy_operand<BF16, COPIED>(room + block * form::STAGE_BYTES + PLANES_B, source_b,
                                       block);
        }
        xg_async_commit();
    }
    for (int block = 0; block < blocks; block++) {
        xg_async_wait<form::STAGES - 2>();
        __syncthreads();
        if (block + form::STAGES - 1 < blocks) {
            copy_operand<BF16, COPIED>(next, source_a, block + form::STAGES - 1);
            copy_operand<BF16, COPIED>(next + PLANES_B, source_b, block + form::STAGES - 1);
        }
        xg_async_commit();
#pragma unroll
        for (int x = 0; x < TILES_M; x += ROWS)
            multiply_stage<BF16, FIRST, LAST, ROWS>(total + x, filled + warp_a + x * 16 * ROW_BYTES,
                                                    filled + warp_b, lane);
        next = filled;
        filled += form::STAGE_BYTES;
        if (filled == room + form::STAGES * form::STAGE_BYTES)
            filled = room;
    }
}

/* --- Tiles ---------------------------------------------------------------------------------- */

template <bool BF16>
static __device__ __forceinline__ void
store_tile(const struct xg_split_product_args &args, const float (&total)[TILES_M][4 * TILES_N],
           const struct xg_tile &tile, const float2 *column_factors, int warp, int lane)
{
    const int inside = warp / WARPS_M * WARP_N + lane % 4 * 2;
    const int64_t row = tile.row + warp % WARPS_M * WARP_M + lane / 4;
#pragma unroll
    for (int x = 0; x < TILES_M; x++)
        if (args.beta == 0.0f)
            store_sums<BF16, false>(args, total[x], row + 16 * x, tile.col + inside,
                                    column_factors + inside);
        else
            store_sums<BF16, true>(args, total[x], row + 16 * x, tile.col + inside,
                                   column_factors + inside);
}

template <bool BF16, enum xg_split_products MODE>
static __device__ __forceinline__ void multiply_tile(const struct xg_split_product_args &args,
                                                     const struct xg_tile &tile, uint32_t room,
                                                     float2 *column_factors)
{
    using form = mma_form<BF16>;
    constexpr int FIRST = MODE == XG_SPLIT_FEW ? 0 : form::SIX, LAST = form::PRODUCTS;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int blocks = (int)((args.k + XG_SPLIT_BLOCK - 1) / XG_SPLIT_BLOCK);
    const int64_t row_bytes = (int64_t)blocks * (form::PIECES * ROW_BYTES);
    const struct plane_source a = plane_source_of(args.a_pieces, row_bytes, tile.row, args.m);
    const struct plane_source b = plane_source_of(args.b_pieces, row_bytes, tile.col, args.n);
    float total[TILES_M][4 * TILES_N] = {};
    multiply_pass<BF16, FIRST, MODE == XG_SPLIT_MANY ? LAST : LAST - 1>(total, room, a, b, blocks,
                                                                        warp, lane);
    if (MODE != XG_SPLIT_MANY)
        multiply_pass<BF16, LAST - 1, LAST>(total, room, a, b, blocks, warp, lane);
    if (threadIdx.x < TILE_N)
        column_factors[threadIdx.x] = factors(
            threadIdx.x < tile.cols ? ((const int32_t *)args.b_scale)[tile.col + threadIdx.x] : 0);
    __syncthreads();
    store_tile<BF16>(args, total, tile, column_factors, warp, lane);
}

template <bool BF16, enum xg_split_products MODE>
static __device__ __forceinline__ void multiply_tiles(const struct xg_split_product_args &args,
                                                      float2 *column_factors)
{
    extern __shared__ uint8_t shared[];
    const uint32_t room = (uint32_t)__cvta_generic_to_shared(shared);
    const unsigned tiles =
        (unsigned)(((args.m + TILE_M - 1) / TILE_M) * ((args.n + TILE_N - 1) / TILE_N));
    for (unsigned at = blockIdx.x; at < tiles; at += gridDim.x) {
        const struct xg_tile tile = xg_tile_find<TILE_M, TILE_N, BAND>(args, at);
        if (!xg_tile_unwanted<TILE_M, TILE_N>(args.wanted, tile.row, tile.col))
            multiply_tile<BF16, MODE>(args, tile, room, column_factors);
    }
}

template <bool BF16>
static __device__ __forceinline__ void split_product(const struct xg_split_product_args &args)
{
    __shared__ float2 column_factors[TILE_N];
    const struct xg_split_verdict verdict = xg_split_verdict_of(args.pair);
    if (verdict.kind != (BF16 ? XG_SPLIT_BF16 : XG_SPLIT_FP16)) {
        if (!BF16 && args.refused && threadIdx.x == 0)
            *(volatile uint32_t *)args.refused = 1; /* every block writes the same value */
        return;
    }
    if (BF16 && verdict.products == XG_SPLIT_FEW)
        multiply_tiles<BF16, BF16 ? XG_SPLIT_FEW : XG_SPLIT_MANY>(args, column_factors);
    else if (BF16 && verdict.products == XG_SPLIT_SOME)
        multiply_tiles<BF16, BF16 ? XG_SPLIT_SOME : XG_SPLIT_MANY>(args, column_factors);
    else
        multiply_tiles<BF16, XG_SPLIT_MANY>(args, column_factors);
}

#endif
