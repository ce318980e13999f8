/* SPDX-License-Identifier: MIT */
/* Emulated DGEMM on Hopper: products of residues by wgmma. */

#include "clusters.cuh"
#include "residue.cuh"

/*
 * Why. mma.sync reaches two thirds of the rate at which Hopper multiplies 8-bit integers (4096
 * pairs a cycle and SM), and its operands go through registers. wgmma reads both from shared
 * memory. The other steps are those of dgemm_residue_sm80.cu.
 *
 * Sums are exact, so all of k is added in the tensor cores' 128 registers a thread: two warpgroups
 * with 64x256 results each. One thread of a third warpgroup keeps a ring of four stages of 128
 * positions of k full, 48 KiB each. Two blocks form a cluster, one above the other; each copies
 * half of their columns of B to both.
 *
 * Accounts. A stage is 2 groups x 4 steps of 64x256x32: 1024 cycles of the tensor cores, which read
 * 80 KiB of shared memory (80 of 128 bytes per cycle); 32 KiB come from L2. A group starts the
 * products of a stage before it waits for those of the stage before, so the tensor cores always
 * have work until the end of a tile, where residues are stored: about 2000 cycles, which a k of
 * 8192 hides to 3 %.
 *
 * Blocks are persistent, and have all tiles of one modulus before those of the next, in bands.
 */

#ifdef XG_SPLIT_SM90
enum { BLOCK_N = 256, STAGE_K = 128, STEP_K = 32, STAGES = 4, SHARE_N = BLOCK_N / CLUSTER };
enum { STAGE_BYTES = (BLOCK_M + BLOCK_N) * STAGE_K, SUMS = BLOCK_N / 2 };
static_assert(STAGES * (STAGE_BYTES + 16) + 1024 <= 227 * 1024, "what a block may have");

/* What a block does: its tiles, of all moduli, and the addresses of its stages and barriers. */
struct work {
    uint32_t room, barriers, rank;
    unsigned tiles_m, tiles_n;
    int stages_of_k;
};

static __device__ __forceinline__ uint32_t filled(const struct work &work, uint32_t stage)
{
    return work.barriers + 8 * stage;
}

static __device__ __forceinline__ uint32_t emptied(const struct work &work, uint32_t stage)
{
    return work.barriers + 8 * (STAGES + stage);
}

/* The modulus and position of the `turn`th tile of all; false if no element of it is wanted. */
static __device__ __forceinline__ bool find_tile(const struct xg_residue_product_args &args,
                                                 const struct work &work, unsigned turn, int *index,
                                                 int *row, int *column)
{
    const unsigned tiles = work.tiles_m * work.tiles_n;
    *index = (int)(turn / tiles);
    return tile_of<BLOCK_N>(args.wanted, turn % tiles, work.tiles_m, work.tiles_n, work.rank, row,
                            column);
}

/* The number of tiles of all moduli. */
static __device__ __forceinline__ unsigned turns(const struct work &work)
{
    return work.tiles_m * work.tiles_n * XG_RESIDUE_MODULI_COUNT;
}

/* The code of the thread that keeps the ring full: this block's rows of A, and its share of B for
 * the whole cluster. */
static __device__ __forceinline__ void produce(const struct xg_residue_product_args &args,
                                               const struct work &work)
{
    struct ring_place at = {0, 1};
    for (unsigned turn = blockIdx.x / CLUSTER; turn < turns(work); turn += gridDim.x / CLUSTER) {
        int index, row, column;
        if (!find_tile(args, work, turn, &index, &row, &column))
            continue;
        for (int k = 0; k < work.stages_of_k; k++) {
            const uint32_t full = filled(work, at.stage);
            const uint32_t a = work.room + at.stage * STAGE_BYTES;
            const uint32_t b = a + (BLOCK_M + work.rank * SHARE_N) * STAGE_K;
            xg_barrier_wait(emptied(work, at.stage), at.parity);
            xg_barrier_expect(full, STAGE_BYTES);
            xg_copy_box3(a, &args.a_map, full, k * STAGE_K, row, index);
            xg_copy_box3_multicast(b, &args.b_map, full, k * STAGE_K,
                                   column + (int)work.rank * SHARE_N, index, (1 << CLUSTER) - 1);
            at.step<STAGES>();
        }
    }
    /* A block must not end while its partner still signals to it. */
    for (int s = 0; s < STAGES; s++) {
        xg_barrier_wait(emptied(work, at.stage), at.parity);
        at.step<STAGES>();
    }
}

/* Starts the products of a stage; `add`: to the sums of earlier stages. */
static __device__ __forceinline__ void multiply_stage(int32_t (&sums)[SUMS], uint32_t stage,
                                                      int group, bool add)
{
    const uint32_t a = stage + group * GROUP_M * STAGE_K, b = stage + BLOCK_M * STAGE_K;
    xg_wgmma_fence();
#pragma unroll
    for (int k = 0; k < STAGE_K; k += STEP_K)
        xg_wgmma_bytes(sums, xg_wgmma_operand<STAGE_K>(a + k), xg_wgmma_operand<STAGE_K>(b + k),
                       add || k > 0);
    xg_wgmma_commit();
}

/* Says that this warp has read a stage, to both blocks of the cluster. */
static __device__ __forceinline__ void release(const struct work &work, uint32_t stage)
{
    if (threadIdx.x % 32 < CLUSTER)
        xg_barrier_arrive(emptied(work, stage), threadIdx.x % 32);
}

/* The code of a warpgroup that multiplies: 64 rows of each tile. */
static __device__ __forceinline__ void consume(const struct xg_residue_product_args &args,
                                               const struct work &work)
{
    const int group = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    struct ring_place at = {0, 0};
    for (unsigned turn = blockIdx.x / CLUSTER; turn < turns(work); turn += gridDim.x / CLUSTER) {
        int index, row, column;
        if (!find_tile(args, work, turn, &index, &row, &column))
            continue;
        int32_t sums[1][SUMS];
        uint32_t before = 0;
        for (int k = 0; k < work.stages_of_k; k++) {
            xg_barrier_wait(filled(work, at.stage), at.parity);
            multiply_stage(sums[0], work.room + at.stage * STAGE_BYTES, group, k > 0);
            if (k > 0) {
                xg_wgmma_wait_until<1>();
                release(work, before);
            }
            before = at.stage;
            at.step<STAGES>();
        }
        xg_wgmma_wait(sums[0]);
        release(work, before);
        xg_residue_store(args, sums, index, row + group * GROUP_M + warp * 16 + lane / 4,
                         column + lane % 4 * 2);
    }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(PRODUCT_THREADS, 1)
    xg_residue_product_sm90_128x256x128(const __grid_constant__ struct xg_residue_product_args args)
{
    extern __shared__ uint8_t shared[];
    if (!xg_residue_verdict(args.pair))
        return;
    struct work work;
    work.room = (xg_shared_address(shared) + 1023) & ~1023u;
    work.barriers = work.room + STAGES * STAGE_BYTES;
    work.rank = xg_cluster_rank();
    work.tiles_m = (unsigned)((args.m + CLUSTER * BLOCK_M - 1) / (CLUSTER * BLOCK_M));
    work.tiles_n = (unsigned)((args.n + BLOCK_N - 1) / BLOCK_N);
    work.stages_of_k = (int)((args.k + STAGE_K - 1) / STAGE_K);
    if (threadIdx.x == 0) {
        xg_copy_prefetch_map(&args.a_map);
        xg_copy_prefetch_map(&args.b_map);
        for (int s = 0; s < STAGES; s++) {
            xg_barrier_init(filled(work, s), 1);
            xg_barrier_init(emptied(work, s), CLUSTER * GROUPS * 4);
        }
        xg_barrier_init_fence();
    }
    xg_cluster_sync();
    if (threadIdx.x < 128) {
        xg_registers_lower<40>();
        if (threadIdx.x == 0)
            produce(args, work);
    } else {
        xg_registers_raise<232>();
        consume(args, work);
    }
}

#else
XG_SPLIT_ABSENT(dgemm_residue_sm90)
#endif
