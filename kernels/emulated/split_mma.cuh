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
 * rounds that sum into an FP32 total. Both are in registers.
 *
 * A block of 8 warps has a tile of 128 rows and TILE_N columns, and a ring of stages of 32
 * positions of k in 96 KiB, because a block may have 99 KiB on sm_86, sm_89 and sm_120. A warp has
 * 64 rows. It reads B's fragments of a stage once and keeps them, and A's for 16 rows at a time.
 * All are read while the tensor cores work on the rows before, also those of the next stage: its B
 * replaces, fragment by fragment, the one that the last 16 rows have used. Registers a thread:
 * 96 totals, 24 sums, 48 of B and 2 x 16 of A for FP16 and 192 columns, and 64, 16, 48 and 2 x 24
 * for BF16.
 *
 * Accounts, FP16 and 192 columns: a stage is 8 warps x 3 products x 2 steps x 24 instructions of
 * 16x8x16. The tensor cores of an SM take 2304 cycles for them on sm_80, and 1728 on Hopper. The
 * warps read 112 KiB of shared memory and the copies write 40 KiB, 1216 cycles (128 columns: 1024
 * of 1536 and 1152). 768 FADDs take 384 cycles of the FP32 units of sm_80. 40 KiB come from L2, 18
 * to 24 bytes a cycle and SM.
 */
enum { TILE_M = 128, BAND = 8, ROOM_BYTES = 96 * 1024 };
enum { WARPS_M = 2, WARPS_N = 4, PRODUCT_THREADS = WARPS_M * WARPS_N * 32 };
enum { WARP_M = TILE_M / WARPS_M, TILES_M = WARP_M / 16 };
static_assert(XG_SPLIT_BLOCK * 2 == ROW_BYTES, "a stage of a piece is a plane");
static_assert(TILES_M % 2 == 0, "a stage begins with A's first set of registers");

/* A stage has a plane for each piece, first A's, then B's. */
template <bool IS_BF16, int COLUMNS>
struct mma_form : split_order<IS_BF16> {
    using order = split_order<IS_BF16>;
    enum {
        BF16 = IS_BF16,
        TILE_N = COLUMNS,
        WARP_N = TILE_N / WARPS_N,
        TILES_N = WARP_N / 8,
        PLANE_A = TILE_M * ROW_BYTES,
        PLANE_B = TILE_N * ROW_BYTES,
        PLANES_A = order::PIECES * PLANE_A,
        STAGE_BYTES = PLANES_A + order::PIECES * PLANE_B,
        STAGES = ROOM_BYTES / STAGE_BYTES,
    };
    typedef float sums[4 * TILES_N];                          /* of a thread, in 16 rows */
    typedef uint32_t fragments_a[order::PIECES][STEPS][1][4]; /* of 16 rows */
    typedef uint32_t fragments_b[order::PIECES][STEPS][TILES_N][2];
    static_assert(TILES_N % 2 == 0 && STAGES >= 2, "pairs of B's tiles, and copies ahead");
};

/* Starts the copies of the first COPIED pieces of the sources' next stage, or writes zeros if there
 * is none: without a branch, the instructions mix with the products. */
template <class FORM, int COPIED>
static __device__ __forceinline__ void copy_stage(uint32_t to, struct plane_source &a,
                                                  struct plane_source &b, bool exists)
{
    a.rows = exists ? a.rows : 0;
    b.rows = exists ? b.rows : 0;
#pragma unroll
    for (int piece = 0; piece < COPIED; piece++) {
        copy_plane<TILE_M, PRODUCT_THREADS>(to + piece * FORM::PLANE_A, a, piece * ROW_BYTES);
        copy_plane<FORM::TILE_N, PRODUCT_THREADS>(to + FORM::PLANES_A + piece * FORM::PLANE_B, b,
                                                  piece * ROW_BYTES);
    }
    a.from += FORM::PIECES * ROW_BYTES;
    b.from += FORM::PIECES * ROW_BYTES;
    xg_async_commit();
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
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                             \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"                      \
        : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])                               \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c0), "f"(c1),      \
          "f"(c2), "f"(c3))
    if (BF16)
        XG_MMA("bf16");
    else
        XG_MMA("f16");
#undef XG_MMA
}

/* Whether a product after the i-th and before LAST has the same piece of B. */
template <class FORM, int LAST>
static __device__ __forceinline__ constexpr bool is_b_kept(int i)
{
    for (int after = i + 1; after < LAST; after++)
        if (FORM::piece_b(after) == FORM::piece_b(i))
            return true;
    return false;
}

/* Adds products FIRST to LAST - 1 of a stage to 16 rows of the warp's totals. RELOAD: each fragment
 * of B is replaced after its last product by that of the stage whose planes are at next_b. */
template <class FORM, int FIRST, int LAST, bool RELOAD>
static __device__ __forceinline__ void
multiply_rows(typename FORM::sums &total, const typename FORM::fragments_a &a,
              typename FORM::fragments_b &b, uint32_t next_b, int lane)
{
    typename FORM::sums part;
#pragma unroll
    for (int i = FIRST; i < LAST; i++) {
        const int piece_a = FORM::piece_a(i), piece_b = FORM::piece_b(i);
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
#pragma unroll
            for (int y = 0; y < FORM::TILES_N; y++)
                multiply<FORM::BF16>(&part[4 * y], a[piece_a][k][0], b[piece_b][k][y],
                                     i > FIRST || k > 0);
            if (RELOAD && !is_b_kept<FORM, LAST>(i))
                load_b(b[piece_b][k], next_b + piece_b * FORM::PLANE_B, k, lane);
        }
    }
#pragma unroll
    for (int y = 0; y < 4 * FORM::TILES_N; y++)
        total[y] += part[y];
}

/* Loads A's fragments of 16 rows, of the first COPIED pieces. */
template <class FORM, int COPIED>
static __device__ __forceinline__ void load_rows(typename FORM::fragments_a &a, uint32_t from,
                                                 int lane)
{
#pragma unroll
    for (int piece = 0; piece < COPIED; piece++)
#pragma unroll
        for (int k = 0; k < STEPS; k++)
            load_a(a[piece][k], from + piece * FORM::PLANE_A, k, lane);
}

/* One pass over k: total += products FIRST to LAST - 1 of each stage. The last product alone needs
 * the first pieces alone. The last rows of a stage, at first of a stage of zeros, are multiplied
 * after the barrier that the next stage waits for: the tensor cores have work while its first
 * fragments are loaded, and its copies started. ptxas moves no instruction across a loop's end, so
 * these stay behind the barrier. */
template <class FORM, int FIRST, int LAST>
static __device__ __forceinline__ void
multiply_pass(typename FORM::sums (&total)[TILES_M], uint32_t room, struct plane_source source_a,
              struct plane_source source_b, int blocks, int warp, int lane)
{
    constexpr int COPIED = FIRST == FORM::PRODUCTS - 1 ? 1 : FORM::PIECES;
    const uint32_t warp_a = warp % WARPS_M * WARP_M * ROW_BYTES;
    const uint32_t warp_b = FORM::PLANES_A + warp / WARPS_M * FORM::WARP_N * ROW_BYTES;
    typename FORM::fragments_a a[2] = {};
    typename FORM::fragments_b b = {};
    uint32_t stage = room, freed = room + (FORM::STAGES - 1) * FORM::STAGE_BYTES;
    xg_async_wait<0>();
    __syncthreads(); /* the previous pass has written and read its stages */
#pragma unroll
    for (int block = 0; block < FORM::STAGES - 1; block++)
        copy_stage<FORM, COPIED>(room + block * FORM::STAGE_BYTES, source_a, source_b,
                                 block < blocks);
    xg_async_wait<FORM::STAGES - 2>();
    __syncthreads();
    for (int block = 0; block < blocks; block++) {
        load_rows<FORM, COPIED>(a[0], stage + warp_a, lane);
        copy_stage<FORM, COPIED>(freed, source_a, source_b, block + FORM::STAGES - 1 < blocks);
        multiply_rows<FORM, FIRST, LAST, true>(total[TILES_M - 1], a[1], b, stage + warp_b, lane);
#pragma unroll
        for (int x = 0; x < TILES_M - 1; x++) {
            load_rows<FORM, COPIED>(a[(x + 1) % 2], stage + warp_a + (x + 1) * 16 * ROW_BYTES,
                                    lane);
            multiply_rows<FORM, FIRST, LAST, false>(total[x], a[x % 2], b, 0, lane);
        }
        freed = stage;
        stage += FORM::STAGE_BYTES;
        if (stage == room + FORM::STAGES * FORM::STAGE_BYTES)
            stage = room;
        xg_async_wait<FORM::STAGES - 2>();
        __syncthreads(); /* the next stage is there, and all warps have read this one */
    }
    multiply_rows<FORM, FIRST, LAST, false>(total[TILES_M - 1], a[1], b, 0, lane);
}

/* --- Tiles ---------------------------------------------------------------------------------- */

template <class FORM>
static __device__ __forceinline__ void
store_tile(const struct xg_split_product_args &args, const typename FORM::sums (&total)[TILES_M],
           const struct xg_tile &tile, const float2 *column_factors, int warp, int lane)
{
    const int inside = warp / WARPS_M * FORM::WARP_N + lane % 4 * 2;
    const int64_t row = tile.row + warp % WARPS_M * WARP_M + lane / 4;
#pragma unroll
    for (int x = 0; x < TILES_M; x++)
        if (args.beta == 0.0f)
            store_sums<FORM::BF16, false>(args, total[x], row + 16 * x, tile.col + inside,
                                          column_factors + inside);
        else
            store_sums<FORM::BF16, true>(args, total[x], row + 16 * x, tile.col + inside,
                                         column_factors + inside);
}

template <class FORM, enum xg_split_products MODE>
static __device__ __forceinline__ void multiply_tile(const struct xg_split_product_args &args,
                                                     const struct xg_tile &tile, uint32_t room,
                                                     float2 *column_factors)
{
    constexpr int FIRST = MODE == XG_SPLIT_FEW ? 0 : FORM::SIX, LAST = FORM::PRODUCTS;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int blocks = (int)((args.k + XG_SPLIT_BLOCK - 1) / XG_SPLIT_BLOCK);
    const int64_t row_bytes = (int64_t)blocks * (FORM::PIECES * ROW_BYTES);
    const struct plane_source a = plane_source_of(args.a_pieces, row_bytes, tile.row, args.m);
    const struct plane_source b = plane_source_of(args.b_pieces, row_bytes, tile.col, args.n);
    typename FORM::sums total[TILES_M] = {};
    multiply_pass<FORM, FIRST, MODE == XG_SPLIT_MANY ? LAST : LAST - 1>(total, room, a, b, blocks,
                                                                        warp, lane);
    if (MODE != XG_SPLIT_MANY)
        multiply_pass<FORM, LAST - 1, LAST>(total, room, a, b, blocks, warp, lane);
    if (threadIdx.x < FORM::TILE_N)
        column_factors[threadIdx.x] = factors(
            threadIdx.x < tile.cols ? ((const int32_t *)args.b_scale)[tile.col + threadIdx.x] : 0);
    __syncthreads();
    store_tile<FORM>(args, total, tile, column_factors, warp, lane);
}

template <class FORM, enum xg_split_products MODE>
static __device__ __forceinline__ void multiply_tiles(const struct xg_split_product_args &args,
                                                      float2 *column_factors)
{
    extern __shared__ uint8_t shared[];
    const uint32_t room = (uint32_t)__cvta_generic_to_shared(shared);
    const unsigned tiles =
        (unsigned)(((args.m + TILE_M - 1) / TILE_M) * ((args.n + FORM::TILE_N - 1) / FORM::TILE_N));
    for (unsigned at = blockIdx.x; at < tiles; at += gridDim.x) {
        const struct xg_tile tile = xg_tile_find<TILE_M, FORM::TILE_N, BAND>(args, at);
        if (!xg_tile_unwanted<TILE_M, FORM::TILE_N>(args.wanted, tile.row, tile.col))
            multiply_tile<FORM, MODE>(args, tile, room, column_factors);
    }
}

template <bool BF16, int TILE_N>
static __device__ __forceinline__ void split_product(const struct xg_split_product_args &args)
{
    using form = mma_form<BF16, TILE_N>;
    __shared__ float2 column_factors[TILE_N];
    const struct xg_split_verdict verdict = xg_split_verdict_of(args.pair);
    if (verdict.kind != (BF16 ? XG_SPLIT_BF16 : XG_SPLIT_FP16)) {
        if (!BF16 && args.refused && threadIdx.x == 0)
            *(volatile uint32_t *)args.refused = 1; /* every block writes the same value */
        return;
    }
    if (BF16 && verdict.products == XG_SPLIT_FEW)
        multiply_tiles<form, BF16 ? XG_SPLIT_FEW : XG_SPLIT_MANY>(args, column_factors);
    else if (BF16 && verdict.products == XG_SPLIT_SOME)
        multiply_tiles<form, BF16 ? XG_SPLIT_SOME : XG_SPLIT_MANY>(args, column_factors);
    else
        multiply_tiles<form, XG_SPLIT_MANY>(args, column_factors);
}

#endif
