/* SPDX-License-Identifier: MIT */
/* The product of split operands on Hopper's tensor cores, for pieces of either type. */
#ifndef XG_SPLIT_PRODUCT_CUH
#define XG_SPLIT_PRODUCT_CUH

#include "clusters.cuh"
#include "split_sums.cuh"

/*
 * Why. Hopper's tensor cores multiply 16-bit numbers twelve times as fast as the FP32 units
 * multiply FP32 numbers. With x = x0 + x1 (+ x2), pieces of decreasing size, A B = A0 B0 + A0 B1 +
 * A1 B0 + ..., and products below the last bit of FP32 are omitted: 3 products of FP16 pieces are
 * computed, 6 of BF16 pieces, or 8 if each sum has few products. The method is known from Markidis
 * et al. (2018), Henry, Tang and Heinecke (2019), and Ootomo and Yokota (2022), who also add the
 * tensor cores' sums outside them.
 *
 * Sums. A tensor core truncates its addends 25 bits below the largest, and truncates the sum: its
 * errors have one sign and grow with k. So it adds at most 32 positions of k, the small products
 * first; then an FADD rounds that sum into an FP32 total. Both are in registers, which limits the
 * tile: two warpgroups with 64x192 results each, 96 + 96 registers per thread.
 *
 * One thread of a third warpgroup (384 threads in all) keeps a ring of stages full: 32 positions of
 * k of all pieces, 40 KiB (FP16, five stages) or 60 KiB (BF16, three) at a width of 192. Two blocks
 * form a cluster, one above the other; each copies half of their columns of B to both.
 *
 * Accounts, FP16, width 192: a stage is 2 groups x 6 steps of 64x192x16, 1152 cycles of the tensor
 * cores. They read 96 KiB of shared memory (85 of 128 bytes per cycle); 28 KiB come from L2 (25
 * bytes per cycle and SM). The 192 FADDs of a quarter overlap with the other group's products. The
 * bottleneck at large sizes is the device's power: see NOTES.md.
 *
 * Blocks are persistent and loop over tiles, in bands as in tile.cuh. Narrower tiles are for shapes
 * that leave a part of the last round empty: src/decide/tensor.c chooses.
 */

/* The differences between the types. A box of a tensor copy has all pieces of a step, or one
 * piece. */
template <bool BF16, int BLOCK_N>
struct split_form : split_order<BF16> {
    enum {
        PIECES = split_order<BF16>::PIECES,
        BOXES = BF16 ? PIECES : 1,
        ROW_BYTES = PIECES * XG_SPLIT_BLOCK * 2 / BOXES, /* bytes of a box's row: the width of the
                                                          * swizzle */
        STAGE_BYTES = BOXES * (BLOCK_M + BLOCK_N) * ROW_BYTES,
        STAGES = (227 * 1024 - 5 * 1024) / STAGE_BYTES,
    };
    /* Bytes from an operand's first box, with ROWS rows, to a piece. */
    template <int ROWS>
    static __device__ __forceinline__ int piece_at(int piece)
    {
        return BOXES == 1 ? piece * XG_SPLIT_BLOCK * 2 : piece * ROWS * ROW_BYTES;
    }
};

/* Shared memory: stages (aligned for the swizzle), barriers, and each warpgroup's factors of
 * columns.
 */
template <bool BF16, int BLOCK_N>
struct product_room {
    using form = split_form<BF16, BLOCK_N>;
    enum {
        BARRIERS = form::STAGES * form::STAGE_BYTES,
        FACTORS = BARRIERS + 16 * form::STAGES,
        BYTES = FACTORS + GROUPS * BLOCK_N * 8 + 1024,
    };
    static_assert(BYTES <= 227 * 1024, "what a block may have");
};

/* Starts the copies of one stage with BOXES boxes: this block's rows of A, and its share of B for
 * the whole cluster. */
template <bool BF16, int BLOCK_N, int BOXES>
static __device__ __forceinline__ void copy_stage(const struct xg_split_product_args &args,
                                                  uint32_t to, uint32_t full, int block, int row,
                                                  int column, uint32_t rank)
{
    using form = split_form<BF16, BLOCK_N>;
    constexpr int SHARE = BLOCK_N / CLUSTER;
    xg_barrier_expect(full, form::STAGE_BYTES / form::BOXES * BOXES);
#pragma unroll
    for (int box = 0; box < BOXES; box++) {
        const int k = (block * form::BOXES + box) * (form::ROW_BYTES / 2);
        const uint32_t a = to + box * BLOCK_M * form::ROW_BYTES;
        const uint32_t b =
            to + (form::BOXES * BLOCK_M + box * BLOCK_N + rank * SHARE) * form::ROW_BYTES;
        xg_copy_box(a, &args.a, full, k, row);
        xg_copy_box_multicast(b, &args.b, full, k, column + rank * SHARE, (1 << CLUSTER) - 1);
    }
}

/* Computes sums = products FIRST to LAST - 1 of a stage's pieces. */
template <bool BF16, int BLOCK_N, int FIRST, int LAST>
static __device__ __forceinline__ void multiply_stage(float (&sums)[BLOCK_N / 2], uint32_t stage,
                                                      int group)
{
    using form = split_form<BF16, BLOCK_N>;
    const uint32_t stage_a = stage + group * GROUP_M * form::ROW_BYTES;
    const uint32_t stage_b = stage + form::BOXES * BLOCK_M * form::ROW_BYTES;
    xg_wgmma_fence();
#pragma unroll
    for (int i = FIRST; i < LAST; i++) {
#pragma unroll
        for (int k = 0; k < XG_SPLIT_BLOCK / 16; k++) {
            const uint32_t a =
                stage_a + form::template piece_at<BLOCK_M>(form::piece_a(i)) + k * 32;
            const uint32_t b =
                stage_b + form::template piece_at<BLOCK_N>(form::piece_b(i)) + k * 32;
            xg_wgmma<BF16>(sums, xg_wgmma_operand<form::ROW_BYTES>(a),
                           xg_wgmma_operand<form::ROW_BYTES>(b), i > FIRST || k > 0);
        }
    }
    xg_wgmma_commit();
}

/* Stores the factors of a tile's columns in shared memory for the warpgroup's threads. */
template <bool BF16, int BLOCK_N>
static __device__ __forceinline__ void load_factors(const struct xg_split_product_args &args,
                                                    float2 *column_factors, int group,
                                                    int64_t column)
{
    const int32_t *b_scale = (const int32_t *)args.b_scale;
    xg_turn_wait(3 + group, 128);
    for (int at = threadIdx.x % 128; at < BLOCK_N; at += 128)
        column_factors[at] = factors(column + at < args.n ? b_scale[column + at] : 0);
    xg_turn_wait(3 + group, 128);
}

/* Fills the stages of one pass over k. */
template <bool BF16, int BLOCK_N, int BOXES>
static __device__ __forceinline__ void
produce_pass(const struct xg_split_product_args &args, uint32_t room, uint32_t barriers, int row,
             int column, int blocks, uint32_t rank, struct ring_place *at)
{
    using form = split_form<BF16, BLOCK_N>;
    for (int block = 0; block < blocks; block++) {
        xg_barrier_wait(barriers + 8 * (form::STAGES + at->stage), at->parity);
        copy_stage<BF16, BLOCK_N, BOXES>(args, room + at->stage * form::STAGE_BYTES,
                                         barriers + 8 * at->stage, block, row, column, rank);
        at->step<form::STAGES>();
    }
}

/* The code of the thread that keeps the ring full. apart: two passes over k. */
template <bool BF16, int BLOCK_N>
static __device__ __forceinline__ void produce(const struct xg_split_product_args &args,
                                               uint32_t room, uint32_t barriers, unsigned tiles_m,
                                               unsigned tiles_n, int blocks, bool apart)
{
    using form = split_form<BF16, BLOCK_N>;
    const uint32_t rank = xg_cluster_rank();
    struct ring_place at = {0, 1};
    for (unsigned tile = blockIdx.x / CLUSTER; tile < tiles_m * tiles_n;
         tile += gridDim.x / CLUSTER) {
        int row, column;
        if (!tile_of<BLOCK_N>(args.wanted, tile, tiles_m, tiles_n, rank, &row, &column))
            continue;
        produce_pass<BF16, BLOCK_N, form::BOXES>(args, room, barriers, row, column, blocks, rank,
                                                 &at);
        if (BF16 && apart)
            produce_pass<BF16, BLOCK_N, 1>(args, room, barriers, row, column, blocks, rank, &at);
    }
    /* A block must not end while its partner still signals to it. */
    for (int s = 0; s < form::STAGES; s++) {
        xg_barrier_wait(barriers + 8 * (form::STAGES + at.stage), at.parity);
        at.step<form::STAGES>();
    }
}

/* Adds part, which products in flight may still write, to total. */
template <int SUMS>
static __device__ __forceinline__ void add_part(float (&total)[SUMS], float (&part)[SUMS])
{
    xg_wgmma_wait(part);
#pragma unroll
    for (int i = 0; i < SUMS; i++)
        total[i] += part[i];
}

/*
 * One pass over k: total += products FIRST to LAST - 1 of each stage. The two warpgroups alternate
 * in starting their products, so that one waits for and adds its own while the other's are
 * computed.
 */
template <bool BF16, int BLOCK_N, int FIRST, int LAST>
static __device__ __forceinline__ void
consume_pass(float (&total)[BLOCK_N / 2], float (&part)[BLOCK_N / 2], uint32_t room,
             uint32_t barriers, int group, int blocks, struct ring_place *at)
{
    using form = split_form<BF16, BLOCK_N>;
    const int lane = threadIdx.x % 32;
    for (int block = 0; block < blocks; block++) {
        xg_turn_wait(1 + group, GROUPS * 128);
        xg_barrier_wait(barriers + 8 * at->stage, at->parity);
        multiply_stage<BF16, BLOCK_N, FIRST, LAST>(part, room + at->stage * form::STAGE_BYTES,
                                                   group);
        xg_turn_give(2 - group, GROUPS * 128);
        xg_wgmma_wait(part);
        if (lane < CLUSTER)
            xg_barrier_arrive(barriers + 8 * (form::STAGES + at->stage), lane);
        at->step<form::STAGES>();
        add_part(total, part);
    }
}

/* The code of a warpgroup that multiplies: 64 rows of each tile. */
template <bool BF16, int BLOCK_N, enum xg_split_products MODE>
static __device__ __forceinline__ void
consume(const struct xg_split_product_args &args, uint32_t room, uint32_t barriers,
        float2 *column_factors, unsigned tiles_m, unsigned tiles_n, int blocks)
{
    using form = split_form<BF16, BLOCK_N>;
    constexpr int FIRST = MODE == XG_SPLIT_FEW ? 0 : form::SIX, LAST = form::PRODUCTS;
    const uint32_t rank = xg_cluster_rank();
    const int group = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    struct ring_place at = {0, 0};
    if (group == 1)
        xg_turn_give(1, GROUPS * 128);
    for (unsigned tile = blockIdx.x / CLUSTER; tile < tiles_m * tiles_n;
         tile += gridDim.x / CLUSTER) {
        int row, column;
        if (!tile_of<BLOCK_N>(args.wanted, tile, tiles_m, tiles_n, rank, &row, &column))
            continue;
        float total[BLOCK_N / 2] = {}, part[BLOCK_N / 2];
        consume_pass<BF16, BLOCK_N, FIRST, MODE == XG_SPLIT_MANY ? LAST : LAST - 1>(
            total, part, room, barriers, group, blocks, &at);
        if (MODE != XG_SPLIT_MANY)
            consume_pass<BF16, BLOCK_N, LAST - 1, LAST>(total, part, room, barriers, group, blocks,
                                                        &at);
        const int64_t r = row + group * GROUP_M + warp * 16 + lane / 4;
        const int64_t c = column + lane % 4 * 2;
        load_factors<BF16, BLOCK_N>(args, column_factors, group, column);
        if (args.beta == 0.0f)
            store_sums<BF16, false>(args, total, r, c, column_factors + lane % 4 * 2);
        else
            store_sums<BF16, true>(args, total, r, c, column_factors + lane % 4 * 2);
    }
    if (group == 0)
        xg_turn_wait(1, GROUPS * 128);
}

template <bool BF16, int BLOCK_N>
static __device__ __forceinline__ void split_product(const struct xg_split_product_args &args)
{
    using form = split_form<BF16, BLOCK_N>;
    extern __shared__ uint8_t shared[];
    const struct xg_split_verdict verdict = xg_split_verdict_of(args.pair);
    if (verdict.kind != (BF16 ? XG_SPLIT_BF16 : XG_SPLIT_FP16)) {
        if (!BF16 && args.refused && threadIdx.x == 0)
            *(volatile uint32_t *)args.refused = 1; /* every block writes the same value */
        return;
    }
    const uint32_t room = (xg_shared_address(shared) + 1023) & ~1023u;
    const uint32_t barriers = room + product_room<BF16, BLOCK_N>::BARRIERS;
    /* The factors of this thread's warpgroup. */
    float2 *column_factors = (float2 *)(shared + (room - xg_shared_address(shared)) +
                                        product_room<BF16, BLOCK_N>::FACTORS) +
                             (threadIdx.x / 128 == GROUPS ? BLOCK_N : 0);
    const unsigned tiles_m = (unsigned)((args.m + CLUSTER * BLOCK_M - 1) / (CLUSTER * BLOCK_M));
    const unsigned tiles_n = (unsigned)((args.n + BLOCK_N - 1) / BLOCK_N);
    const int blocks = (int)((args.k + XG_SPLIT_BLOCK - 1) / XG_SPLIT_BLOCK);

    if (threadIdx.x == 0) {
        xg_copy_prefetch_map(&args.a);
        xg_copy_prefetch_map(&args.b);
        for (int s = 0; s < form::STAGES; s++) {
            xg_barrier_init(barriers + 8 * s, 1);
            xg_barrier_init(barriers + 8 * (form::STAGES + s), CLUSTER * GROUPS * 4);
        }
        xg_barrier_init_fence();
    }
    xg_cluster_sync();

    if (threadIdx.x < 128) {
        xg_registers_lower<40>();
        if (threadIdx.x == 0)
            produce<BF16, BLOCK_N>(args, room, barriers, tiles_m, tiles_n, blocks,
                                   verdict.products != XG_SPLIT_MANY);
    } else {
        xg_registers_raise<232>();
        if (BF16 && verdict.products == XG_SPLIT_FEW)
            consume<BF16, BLOCK_N, BF16 ? XG_SPLIT_FEW : XG_SPLIT_MANY>(
                args, room, barriers, column_factors, tiles_m, tiles_n, blocks);
        else if (BF16 && verdict.products == XG_SPLIT_SOME)
            consume<BF16, BLOCK_N, BF16 ? XG_SPLIT_SOME : XG_SPLIT_MANY>(
                args, room, barriers, column_factors, tiles_m, tiles_n, blocks);
        else
            consume<BF16, BLOCK_N, XG_SPLIT_MANY>(args, room, barriers, column_factors, tiles_m,
                                                  tiles_n, blocks);
    }
}

#endif
