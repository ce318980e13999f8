/* SPDX-License-Identifier: MIT */
/* The product of split operands on Hopper's tensor cores, for pieces of either type. */
#ifndef XG_SPLIT_PRODUCT_CUH
#define XG_SPLIT_PRODUCT_CUH

#include "split.cuh"
#include "wgmma.cuh"

/* A block's tile of C, and a warpgroup's share of it: 64 rows. */
enum { BLOCK_M = 128, BLOCK_N = 192, GROUP_M = 64, GROUPS = BLOCK_M / GROUP_M };

/* One more warpgroup, of which a thread starts the copies. */
enum { PRODUCT_THREADS = (GROUPS + 1) * 128 };

/* Tile rows of a cluster that a wave goes down before it goes right. */
enum { BAND = 8 };

/* What the types differ in. A box of a tensor copy has all pieces of a step, or one. */
template <bool BF16>
struct split_form {
    enum {
        PIECES = BF16 ? XG_SPLIT_BF16_PIECES : XG_SPLIT_FP16_PIECES,
        TARGET = BF16 ? XG_SPLIT_BF16_TARGET : XG_SPLIT_FP16_TARGET,
        BOXES = BF16 ? PIECES : 1,
        ROW_BYTES = PIECES * XG_SPLIT_BLOCK * 2 / BOXES, /* of a box: the swizzle's width */
        PRODUCTS = BF16 ? 6 : 3,
        STAGE_BYTES = BOXES * (BLOCK_M + BLOCK_N) * ROW_BYTES,
        STAGES = BF16 ? 3 : 5,
    };
    /* Bytes from the first box of an operand of ROWS rows to a piece. */
    template <int ROWS>
    static __device__ __forceinline__ int piece_at(int piece)
    {
        return BOXES == 1 ? piece * XG_SPLIT_BLOCK * 2 : piece * ROWS * ROW_BYTES;
    }
    /* The pieces of the i-th product, the smallest products first. */
    static __device__ __forceinline__ constexpr int piece_a(int i)
    {
        return BF16 ? (i == 0 ? 2 : i == 1 ? 0 : i == 2 ? 1 : i == 3 ? 1 : 0) : i == 0;
    }
    static __device__ __forceinline__ constexpr int piece_b(int i)
    {
        return BF16 ? (i == 0 ? 0 : i == 1 ? 2 : i == 2 ? 1 : i == 3 ? 0 : i == 4 ? 1 : 0) : i == 1;
    }
};

/* Where shared memory's parts begin: stages first (aligned for the swizzle), then barriers. */
template <bool BF16>
struct product_room {
    enum {
        BARRIERS = split_form<BF16>::STAGES * split_form<BF16>::STAGE_BYTES,
        BYTES = BARRIERS + 16 * split_form<BF16>::STAGES + 1024,
    };
};

/* A place in the ring of stages, and the parity of the barriers' phase there. */
struct ring_place {
    uint32_t stage, parity;
    template <int STAGES>
    __device__ __forceinline__ void step(void)
    {
        if (++stage == STAGES)
            stage = 0, parity ^= 1;
    }
};

/* Row and column of this block's part of the tile of a cluster. */
template <int CLUSTER>
static __device__ __forceinline__ void tile_of(const struct xg_split_product_args &args,
                                               unsigned tile, unsigned tiles_m, unsigned tiles_n,
                                               uint32_t rank, int *row, int *column)
{
    const unsigned band = tile / (BAND * tiles_n), inside = tile % (BAND * tiles_n);
    const unsigned rows = min((unsigned)BAND, tiles_m - band * BAND);
    *row = (int)(((band * BAND + inside % rows) * CLUSTER + rank) * BLOCK_M);
    *column = (int)(inside / rows * BLOCK_N);
}

/* Starts the copies of one stage: this block's rows of A, its share of B for the whole cluster. */
template <bool BF16, int CLUSTER>
static __device__ __forceinline__ void copy_stage(const struct xg_split_product_args &args,
                                                  uint32_t to, uint32_t full, int block, int row,
                                                  int column, uint32_t rank)
{
    using form = split_form<BF16>;
    constexpr int SHARE = BLOCK_N / CLUSTER;
    xg_barrier_expect(full, form::STAGE_BYTES);
#pragma unroll
    for (int box = 0; box < form::BOXES; box++) {
        const int k = (block * form::BOXES + box) * (form::ROW_BYTES / 2);
        const uint32_t a = to + box * BLOCK_M * form::ROW_BYTES;
        const uint32_t b =
            to + (form::BOXES * BLOCK_M + box * BLOCK_N + rank * SHARE) * form::ROW_BYTES;
        xg_copy_box(a, &args.a, full, k, row);
        if (CLUSTER == 1)
            xg_copy_box(b, &args.b, full, k, column);
        else
            xg_copy_box_multicast(b, &args.b, full, k, column + rank * SHARE, (1 << CLUSTER) - 1);
    }
}

/* sums = the products of `steps` stages, the small ones of all stages first. */
template <bool BF16, int STEPS>
static __device__ __forceinline__ void multiply_stages(float (&sums)[96], const uint32_t *stage,
                                                       int group)
{
    using form = split_form<BF16>;
    xg_wgmma_fence();
#pragma unroll
    for (int i = 0; i < form::PRODUCTS; i++) {
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
#pragma unroll
            for (int k = 0; k < XG_SPLIT_BLOCK / 16; k++) {
                const uint32_t a = stage[s] + form::template piece_at<BLOCK_M>(form::piece_a(i)) +
                                   group * GROUP_M * form::ROW_BYTES + k * 32;
                const uint32_t b = stage[s] + form::BOXES * BLOCK_M * form::ROW_BYTES +
                                   form::template piece_at<BLOCK_N>(form::piece_b(i)) + k * 32;
                const int add = i + s + k > 0;
                if (BF16)
                    xg_wgmma_bf16(sums, xg_wgmma_operand<form::ROW_BYTES>(a),
                                  xg_wgmma_operand<form::ROW_BYTES>(b), add);
                else
                    xg_wgmma_fp16(sums, xg_wgmma_operand<form::ROW_BYTES>(a),
                                  xg_wgmma_operand<form::ROW_BYTES>(b), add);
            }
        }
    }
    xg_wgmma_commit();
}

/* Two neighbours of a row of C, of which the first is inside; pair: both are, and 8-byte aligned.
 */
template <bool BETA>
static __device__ __forceinline__ void store_pair(const struct xg_split_product_args &args,
                                                  float *c, bool both, bool pair, float x, float y)
{
    x *= args.alpha, y *= args.alpha;
    if (pair) {
        if (BETA) {
            const float2 old = *(const float2 *)c;
            x = fmaf(args.beta, old.x, x), y = fmaf(args.beta, old.y, y);
        }
        *(float2 *)c = make_float2(x, y);
        return;
    }
    c[0] = BETA ? fmaf(args.beta, c[0], x) : x;
    if (both)
        c[1] = BETA ? fmaf(args.beta, c[1], y) : y;
}

/* A thread's sums to C: rows `row` and row + 8, columns column + 8 j and the next one. */
template <bool BF16, bool BETA>
static __device__ __forceinline__ void store_sums(const struct xg_split_product_args &args,
                                                  const float (&sums)[96], int64_t row,
                                                  int64_t column)
{
    constexpr int EXTRA = 2 * (split_form<BF16>::TARGET - XG_SPLIT_FP16_TARGET);
    const int32_t *a_scale = (const int32_t *)args.a_scale;
    const int32_t *b_scale = (const int32_t *)args.b_scale;
    const bool aligned = ((args.c | (uint64_t)args.ldc * 4) & 7) == 0;
    const bool inside[2] = {row < args.m, row + 8 < args.m};
    const int scale[2] = {inside[0] ? a_scale[row] + EXTRA : 0,
                          inside[1] ? a_scale[row + 8] + EXTRA : 0};
#pragma unroll
    for (int j = 0; j < BLOCK_N / 8; j++) {
        const int64_t at = column + 8 * j;
        if (at >= args.n)
            break;
        const bool both = at + 1 < args.n;
        const int scale_x = b_scale[at], scale_y = both ? b_scale[at + 1] : 0;
#pragma unroll
        for (int h = 0; h < 2; h++)
            if (inside[h])
                store_pair<BETA>(args, (float *)args.c + (row + 8 * h) * args.ldc + at, both,
                                 both && aligned,
                                 xg_scale(sums[4 * j + 2 * h], -scale[h] - scale_x),
                                 xg_scale(sums[4 * j + 2 * h + 1], -scale[h] - scale_y));
    }
}

/* The thread that keeps the ring full. */
template <bool BF16, int CLUSTER>
static __device__ __forceinline__ void produce(const struct xg_split_product_args &args,
                                               uint32_t room, uint32_t barriers, unsigned tiles_m,
                                               unsigned tiles_n, int blocks)
{
    using form = split_form<BF16>;
    const uint32_t rank = CLUSTER == 1 ? 0 : xg_cluster_rank();
    struct ring_place at = {0, 1};
    for (unsigned tile = blockIdx.x / CLUSTER; tile < tiles_m * tiles_n;
         tile += gridDim.x / CLUSTER) {
        int row, column;
        tile_of<CLUSTER>(args, tile, tiles_m, tiles_n, rank, &row, &column);
        for (int block = 0; block < blocks; block++) {
            xg_barrier_wait(barriers + 8 * (form::STAGES + at.stage), at.parity);
            copy_stage<BF16, CLUSTER>(args, room + at.stage * form::STAGE_BYTES,
                                      barriers + 8 * at.stage, block, row, column, rank);
            at.step<form::STAGES>();
        }
    }
    /* A block must not leave while its partner still signals to it. */
    if (CLUSTER > 1) {
        for (int s = 0; s < form::STAGES; s++) {
            xg_barrier_wait(barriers + 8 * (form::STAGES + at.stage), at.parity);
            at.step<form::STAGES>();
        }
    }
}

/* A warpgroup that multiplies: 64 rows of each tile. STEPS: stages summed by the tensor cores. */
template <bool BF16, int CLUSTER, int STEPS, bool TURNS>
static __device__ __forceinline__ void consume(const struct xg_split_product_args &args,
                                               uint32_t room, uint32_t barriers, unsigned tiles_m,
                                               unsigned tiles_n, int blocks)
{
    using form = split_form<BF16>;
    const uint32_t rank = CLUSTER == 1 ? 0 : xg_cluster_rank();
    const int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32 % 4;
    struct ring_place at = {0, 0};
    if (TURNS && group == 1)
        xg_turn_give(1, GROUPS * 128);
    for (unsigned tile = blockIdx.x / CLUSTER; tile < tiles_m * tiles_n;
         tile += gridDim.x / CLUSTER) {
        int row, column;
        tile_of<CLUSTER>(args, tile, tiles_m, tiles_n, rank, &row, &column);
        float total[96] = {}, part[96];
        for (int block = 0; block < blocks; block += STEPS) {
            uint32_t stage[STEPS], empty[STEPS];
            if (TURNS)
                xg_turn_wait(1 + group, GROUPS * 128);
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                xg_barrier_wait(barriers + 8 * at.stage, at.parity);
                stage[s] = room + at.stage * form::STAGE_BYTES;
                empty[s] = barriers + 8 * (form::STAGES + at.stage);
                at.step<form::STAGES>();
            }
            multiply_stages<BF16, STEPS>(part, stage, group);
            if (TURNS)
                xg_turn_give(2 - group, GROUPS * 128);
            xg_wgmma_wait(part);
#pragma unroll
            for (int s = 0; s < STEPS; s++)
                if (lane < CLUSTER)
                    xg_barrier_arrive(empty[s], lane);
#pragma unroll
            for (int i = 0; i < 96; i++)
                total[i] += part[i];
        }
        const int64_t r = row + group * GROUP_M + warp * 16 + lane / 4;
        const int64_t c = column + lane % 4 * 2;
        if (args.beta == 0.0f)
            store_sums<BF16, false>(args, total, r, c);
        else
            store_sums<BF16, true>(args, total, r, c);
    }
    if (TURNS && group == 0)
        xg_turn_wait(1, GROUPS * 128);
}

template <bool BF16, int CLUSTER, int STEPS, bool TURNS>
static __device__ __forceinline__ void split_product(const struct xg_split_product_args &args)
{
    using form = split_form<BF16>;
    extern __shared__ uint8_t shared[];
    if (xg_split_judge(args.pair) != (BF16 ? XG_SPLIT_BF16 : XG_SPLIT_FP16))
        return;
    const uint32_t room = (xg_shared_address(shared) + 1023) & ~1023u;
    const uint32_t barriers = room + product_room<BF16>::BARRIERS;
    const unsigned tiles_m = (unsigned)((args.m + CLUSTER * BLOCK_M - 1) / (CLUSTER * BLOCK_M));
    const unsigned tiles_n = (unsigned)((args.n + BLOCK_N - 1) / BLOCK_N);
    const int blocks =
        (int)((args.k + XG_SPLIT_CHUNK - 1) / XG_SPLIT_CHUNK) * (XG_SPLIT_CHUNK / XG_SPLIT_BLOCK);

    if (threadIdx.x == 0) {
        xg_copy_prefetch_map(&args.a);
        xg_copy_prefetch_map(&args.b);
        for (int s = 0; s < form::STAGES; s++) {
            xg_barrier_init(barriers + 8 * s, 1);
            xg_barrier_init(barriers + 8 * (form::STAGES + s), CLUSTER * GROUPS * 4);
        }
        xg_barrier_init_fence();
    }
    if (CLUSTER > 1)
        xg_cluster_sync();
    else
        __syncthreads();

    if (threadIdx.x < 128) {
        xg_registers_lower<40>();
        if (threadIdx.x == 0)
            produce<BF16, CLUSTER>(args, room, barriers, tiles_m, tiles_n, blocks);
    } else {
        xg_registers_raise<232>();
        consume<BF16, CLUSTER, STEPS, TURNS>(args, room, barriers, tiles_m, tiles_n, blocks);
    }
}

#endif
