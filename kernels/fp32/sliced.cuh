/* SPDX-License-Identifier: MIT */
/* A block's tile of C from a slice of k: any alignment, k divided within and among blocks. */
#ifndef XG_SLICED_CUH
#define XG_SLICED_CUH

/*
 * This code is for products with too few tiles of C to fill the device, or with tiles too narrow
 * for much reuse. It differs from sgemm_vectorized in three points:
 *
 * k is divided. Within a block WARPS_K groups of warps take alternate parts of each step along k
 * (sliced-K in CUTLASS), so that a small tile has large fragments (a warp's 32x64 needs 64 FFMA for
 * 4 shared loads) and still several warps to hide latency. Among blocks, `split` blocks compute one
 * slice of k each (split-K). The slices of a tile are one cluster, whose blocks read each other's
 * shared memory and add the sums in the order of the slices, so the same call gives the same bits.
 *
 * Operands are copied with cp.async, several steps ahead, without registers. If the operand is
 * contiguous along the tile's extent and everything is 16-byte aligned, they are copied in quads.
 * Otherwise they are copied in single floats, which need no alignment. An operand that is
 * contiguous along k is transposed during the copy, 8 floats along k by 4 rows per warp (whole
 * 32-byte sectors), without bank conflicts, because a row of the tile is 4 floats longer than its
 * extent. Elements outside the operand are not read; zeros are written instead.
 *
 * The lanes of a warp are numbered so that lanes i and i ^ 1 share their row of A, and lanes i and
 * i ^ 2 share their column of B: this needs the fewest passes for 128-bit shared loads
 * (sgemm_vectorized_sm75.cu).
 */

#include "../common/async.cuh"
#include "../common/cluster.cuh"
#include "../common/ptx.cuh"
#include "../common/target.cuh"
#include "../common/tile.cuh"
#include "../tiles.h"

/* Floats of padding after each row of a tile in shared memory; keeps 16-byte alignment. */
enum { SLICED_PAD = 4 };

/* Tile rows that a wave goes down before it goes right. */
enum { SLICED_GROUP = 16 };

/* The layout of a kernel's tile: lanes of a warp, quads of a thread, warps of a block. */
template <int LANES_M_, int LANES_N_, int QUADS_M_, int QUADS_N_, int WARPS_M_, int WARPS_N_,
          int WARPS_K_, int BK_, int STAGES_>
struct sliced_shape {
    enum {
        LANES_M = LANES_M_,
        LANES_N = LANES_N_,
        QUADS_M = QUADS_M_,
        QUADS_N = QUADS_N_,
        WARPS_M = WARPS_M_,
        WARPS_N = WARPS_N_,
        WARPS_K = WARPS_K_,
        BK = BK_,
        STAGES = STAGES_,
        THREADS = WARPS_M * WARPS_N * WARPS_K * 32,
        APART_M = LANES_M * 4, /* rows from a thread's quad to its next quad */
        APART_N = LANES_N * 4,
        BM = WARPS_M * QUADS_M * APART_M,
        BN = WARPS_N * QUADS_N * APART_N,
        STRIDE_A = BM + SLICED_PAD,
        STRIDE_B = BN + SLICED_PAD,
        STAGE = BK * (STRIDE_A + STRIDE_B),
        DEPTH = BK / WARPS_K, /* steps of k of a stage for each group of warps */
    };
    static_assert(LANES_M * LANES_N == 32 && BK % 8 == 0 && BK % WARPS_K == 0, "whole warps");
    static_assert(STAGES * STAGE * 4 == XG_TILES_PIPELINE_BYTES(BM, BN, BK, STAGES) &&
                      WARPS_K * BM * STRIDE_B * 4 == XG_TILES_SUMS_BYTES(BM, BN, WARPS_K),
                  "shared memory");
};

/*
 * A thread's share of the copy of an operand's (EXTENT,BK) tile to shared memory, where its layout
 * is (BK,EXTENT + SLICED_PAD). TURN: the operand is contiguous along k.
 */
template <int EXTENT, int BK, int THREADS, bool TURN>
struct sliced_copier {
    enum { STRIDE = EXTENT + SLICED_PAD, QUADS = EXTENT / 4, OCTET = 8 * EXTENT };
    static_assert(THREADS % EXTENT == 0, "a thread keeps its column");

    const float *from; /* this thread's first element of the next tile */
    int64_t ld;
    unsigned to; /* byte offset in the stage */
    int x_left;  /* existing elements along the extent, from this thread's first one */
    int k;       /* this thread's first step of k */
    bool quads;

    /* first: the tile's first row of m or n, of which `extent` exist; l: its first step of k. */
    __device__ __forceinline__ void init(uint64_t data, int64_t ld_, int64_t first, int extent,
                                         int64_t l)
    {
        const int thread = threadIdx.x;
        quads = !TURN && ((data & 15) | (ld_ & 3)) == 0;
        int x = thread % EXTENT;
        k = thread / EXTENT;
        if (TURN) {
            x = thread / 8 % EXTENT;
            k = thread % 8 + thread / OCTET * 8;
        } else if (quads) {
            x = thread % QUADS * 4;
            k = thread / QUADS;
        }
        ld = ld_;
        x_left = extent - x;
        to = (k * STRIDE + x) * sizeof(float);
        from = (const float *)data + (TURN ? (first + x) * ld + l + k : (l + k) * ld + first + x);
    }

    /* Starts the copies of a tile of which `depth` steps of k exist. */
    __device__ __forceinline__ void fetch(unsigned stage, int depth)
    {
        stage += to;
        depth -= k;
        if (TURN) {
            enum { ROWS = THREADS < OCTET ? OCTET / THREADS : 1, APART = THREADS / 8 };
            enum { STEP = THREADS < OCTET ? 8 : THREADS / EXTENT };
            const float *at = from;
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
#pragma unroll
                for (int p = 0; p < BK; p += STEP)
                    if (BK % STEP == 0 || k + p < BK)
                        xg_async_copy4_if(stage + (p * STRIDE + i * APART) * (int)sizeof(float),
                                          at + p, i * APART < x_left && p < depth);
                at += APART * ld;
            }
            from += BK;
        } else if (quads) {
            enum { STEP = THREADS / QUADS };
            const int bytes = max(0, min(x_left, 4)) * (int)sizeof(float);
            const float *at = from;
#pragma unroll
            for (int p = 0; p < BK; p += STEP) {
                if (BK % STEP == 0 || k + p < BK)
                    xg_async_copy_part(stage + p * STRIDE * (int)sizeof(float), at,
                                       p < depth ? bytes : 0);
                at += STEP * ld;
            }
            from += BK * ld;
        } else {
            enum { STEP = THREADS / EXTENT };
            const float *at = from;
#pragma unroll 4
            for (int p = 0; p < BK; p += STEP) {
                if (BK % STEP == 0 || k + p < BK)
                    xg_async_copy4_if(stage + p * STRIDE * (int)sizeof(float), at,
                                      x_left > 0 && p < depth);
                at += STEP * ld;
            }
            from += BK * ld;
        }
    }
};

/* The position of a thread's first quad in its warp's tile, in quads. */
template <int LANES_M, int LANES_N>
static __device__ __forceinline__ int lane_m(int lane)
{
    if (LANES_M == 1 || LANES_N == 1)
        return LANES_M == 1 ? 0 : lane;
    return (lane >> 1 & 1) | lane / (2 * LANES_N) << 1;
}

template <int LANES_M, int LANES_N>
static __device__ __forceinline__ int lane_n(int lane)
{
    if (LANES_M == 1 || LANES_N == 1)
        return LANES_N == 1 ? 0 : lane;
    return (lane & 1) | lane / 4 % (LANES_N > 1 ? LANES_N / 2 : 1) << 1;
}

/*
 * The sums of a block are in shared memory, one tile (BM,STRIDE_B) for each group of warps. Adds
 * the groups in their order, then, in a cluster, the blocks in their order; each block writes its
 * share of rows.
 */
template <class SHAPE>
static __device__ __forceinline__ void merge_sums(const struct xg_sgemm_args &args, float *shared,
                                                  unsigned slice)
{
    enum { ROW = SHAPE::BN / 4, ALL = SHAPE::BM * ROW, RANKS_MAX = 8 };
    const bool cluster = args.split > 1;
    const struct xg_tile tile =
        xg_tile_find<SHAPE::BM, SHAPE::BN, SLICED_GROUP>(args, xg_ptx_block_x() / args.split);
    const struct xg_target target = xg_target_find(args);
    if (SHAPE::WARPS_K > 1)
        for (int q = threadIdx.x; q < ALL; q += SHAPE::THREADS) {
            const int i = q / ROW, j = q % ROW * 4;
            float *at = shared + i * SHAPE::STRIDE_B + j;
            float sum[4];
            *(float4 *)sum = *(float4 *)at;
#pragma unroll
            for (int g = 1; g < SHAPE::WARPS_K; g++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sum[e] += at[g * SHAPE::BM * SHAPE::STRIDE_B + e];
            if (cluster)
                *(float4 *)at = *(float4 *)sum;
            else if (i < tile.rows && j < tile.cols)
                xg_target_store4(target, tile.row + i, tile.col + j, tile.cols - j, sum);
        }
    if (!cluster)
        return;
    xg_cluster_sync();
    const int first = ALL * slice / args.split, end = ALL * (slice + 1) / args.split;
    for (int q = first + threadIdx.x; q < end; q += SHAPE::THREADS) {
        const int i = q / ROW, j = q % ROW * 4;
        float4 part[RANKS_MAX];
#pragma unroll
        for (int r = 0; r < RANKS_MAX; r++)
            if (r < args.split)
                part[r] = xg_cluster_load4(
                    xg_cluster_address(shared + i * SHAPE::STRIDE_B + j, (unsigned)r));
        float sum[4] = {part[0].x, part[0].y, part[0].z, part[0].w};
#pragma unroll
        for (int r = 1; r < RANKS_MAX; r++)
            if (r < args.split) {
                sum[0] += part[r].x;
                sum[1] += part[r].y;
                sum[2] += part[r].z;
                sum[3] += part[r].w;
            }
        if (i < tile.rows && j < tile.cols)
            xg_target_store4(target, tile.row + i, tile.col + j, tile.cols - j, sum);
    }
    /* A block must not end while others read its shared memory. */
    xg_cluster_sync();
}

/* Multiplies the steps of k of one stage that belong to this thread's group of warps. */
template <class SHAPE>
static __device__ __forceinline__ void multiply_stage(float (*sum)[SHAPE::QUADS_N * 4],
                                                      const float *a_read, const float *b_read)
{
    float a[2][SHAPE::QUADS_M * 4], b[2][SHAPE::QUADS_N * 4];
#pragma unroll
    for (int p = 0; p <= SHAPE::DEPTH; p++) {
        if (p < SHAPE::DEPTH) {
#pragma unroll
            for (int q = 0; q < SHAPE::QUADS_M; q++)
                xg_ptx_load_shared4(a[p % 2] + 4 * q,
                                    a_read + p * SHAPE::STRIDE_A + q * SHAPE::APART_M);
#pragma unroll
            for (int q = 0; q < SHAPE::QUADS_N; q++)
                xg_ptx_load_shared4(b[p % 2] + 4 * q,
                                    b_read + p * SHAPE::STRIDE_B + q * SHAPE::APART_N);
        }
        if (p > 0) {
#pragma unroll
            for (int i = 0; i < SHAPE::QUADS_M * 4; i++)
#pragma unroll
                for (int j = 0; j < SHAPE::QUADS_N * 4; j++)
                    sum[i][j] = fmaf(a[(p - 1) % 2][i], b[(p - 1) % 2][j], sum[i][j]);
        }
    }
}

/* The stages in shared memory form a ring. */
template <class SHAPE, bool TRANSA, bool TRANSB>
static __device__ __forceinline__ void multiply_slice(const struct xg_sgemm_args &args,
                                                      float *shared)
{
    enum { STAGES = SHAPE::STAGES, BK = SHAPE::BK, STAGE_BYTES = SHAPE::STAGE * 4 };
    const unsigned slice = blockIdx.x % args.split;
    const struct xg_tile tile =
        xg_tile_find<SHAPE::BM, SHAPE::BN, SLICED_GROUP>(args, blockIdx.x / args.split);
    const unsigned steps = (unsigned)((args.k + BK - 1) / BK);
    const unsigned first = (unsigned)((uint64_t)steps * slice / args.split);
    const unsigned count = (unsigned)((uint64_t)steps * (slice + 1) / args.split) - first;
    const int last_depth = first + count == steps ? (int)(args.k - (int64_t)(steps - 1) * BK) : BK;

    sliced_copier<SHAPE::BM, BK, SHAPE::THREADS, !TRANSA> a_copier;
    sliced_copier<SHAPE::BN, BK, SHAPE::THREADS, TRANSB> b_copier;
    a_copier.init(args.a, args.lda, tile.row, tile.rows, (int64_t)first * BK);
    b_copier.init(args.b, args.ldb, tile.col, tile.cols, (int64_t)first * BK);

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int group = warp / (SHAPE::WARPS_M * SHAPE::WARPS_N);
    const int warp_m = warp / SHAPE::WARPS_N % SHAPE::WARPS_M, warp_n = warp % SHAPE::WARPS_N;
    const int thread_m =
        warp_m * SHAPE::QUADS_M * SHAPE::APART_M + lane_m<SHAPE::LANES_M, SHAPE::LANES_N>(lane) * 4;
    const int thread_n =
        warp_n * SHAPE::QUADS_N * SHAPE::APART_N + lane_n<SHAPE::LANES_M, SHAPE::LANES_N>(lane) * 4;
    const float *a_read = shared + group * SHAPE::DEPTH * SHAPE::STRIDE_A + thread_m;
    const float *b_read =
        shared + BK * SHAPE::STRIDE_A + group * SHAPE::DEPTH * SHAPE::STRIDE_B + thread_n;

    const unsigned base = (unsigned)__cvta_generic_to_shared(shared);
    unsigned to = base, ahead = 0;
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (ahead < count) {
            const int depth = ahead + 1 == count ? last_depth : BK;
            a_copier.fetch(to, depth);
            b_copier.fetch(to + BK * SHAPE::STRIDE_A * 4, depth);
        }
        xg_async_commit();
        ahead++;
        to += STAGE_BYTES;
    }

    float sum[SHAPE::QUADS_M * 4][SHAPE::QUADS_N * 4] = {};
    int at = 0;
    for (unsigned left = count; left > 0; left--) {
        xg_async_wait<STAGES - 2>();
        /* The stage is visible to all threads, and all have finished with the one that is filled
         * next. */
        __syncthreads();
        if (left >= STAGES) {
            const int depth = left == STAGES ? last_depth : BK;
            a_copier.fetch(to, depth);
            b_copier.fetch(to + BK * SHAPE::STRIDE_A * 4, depth);
        }
        xg_async_commit();
        to = to == base + (STAGES - 1) * STAGE_BYTES ? base : to + STAGE_BYTES;
        multiply_stage<SHAPE>(sum, a_read + at, b_read + at);
        at = at == (STAGES - 1) * SHAPE::STAGE ? 0 : at + SHAPE::STAGE;
    }

    if (SHAPE::WARPS_K == 1 && args.split == 1) {
        const struct xg_target target = xg_target_find(args);
#pragma unroll
        for (int i = 0; i < SHAPE::QUADS_M * 4; i++) {
            const int row = thread_m + i / 4 * SHAPE::APART_M + i % 4;
            if (row < tile.rows)
#pragma unroll
                for (int q = 0; q < SHAPE::QUADS_N; q++)
                    xg_target_store4(target, tile.row + row,
                                     tile.col + thread_n + q * SHAPE::APART_N,
                                     tile.cols - thread_n - q * SHAPE::APART_N, sum[i] + 4 * q);
        }
        return;
    }
    __syncthreads(); /* the stages are no longer read: the sums reuse their memory */
    float *own = shared + group * SHAPE::BM * SHAPE::STRIDE_B;
#pragma unroll
    for (int i = 0; i < SHAPE::QUADS_M * 4; i++)
#pragma unroll
        for (int q = 0; q < SHAPE::QUADS_N; q++)
            *(float4 *)(own + (thread_m + i / 4 * SHAPE::APART_M + i % 4) * SHAPE::STRIDE_B +
                        thread_n + q * SHAPE::APART_N) =
                make_float4(sum[i][4 * q], sum[i][4 * q + 1], sum[i][4 * q + 2], sum[i][4 * q + 3]);
    __syncthreads();
    /* With 8 groups of warps ptxas spills if the slice stays in a register during the loop above.
     */
    merge_sums<SHAPE>(args, shared, SHAPE::WARPS_K > 4 ? xg_ptx_block_x() % args.split : slice);
}

extern __shared__ __align__(16) float sliced_shared[];

/* One entry per transpose; BLOCKS is the number of blocks that must fit an SM, which limits the
 * registers. */
#define SLICED_ENTRY(method, tile, suffix, blocks, shape, transa, transb)                          \
    extern "C" __global__ void __launch_bounds__(shape::THREADS, blocks)                           \
        xg_sgemm_##method##_sm80_##tile##_##suffix(                                                \
            const __grid_constant__ struct xg_sgemm_args args)                                     \
    {                                                                                              \
        XG_TILES_ASSERT_LAYOUT(method, tile, shape);                                               \
        static_assert(int(shape::BK) == int(listed::BK) &&                                         \
                          int(shape::STAGES) == int(listed::STAGES) &&                             \
                          int(shape::WARPS_K) == int(listed::GROUPS),                              \
                      "kernels/tiles.h has another step, stage or group");                         \
        multiply_slice<shape, transa, transb>(args, sliced_shared);                                \
    }
#define SLICED_ENTRIES(method, tile, blocks, ...)                                                  \
    typedef sliced_shape<__VA_ARGS__> shape_##tile;                                                \
    SLICED_ENTRY(method, tile, nn, blocks, shape_##tile, false, false)                             \
    SLICED_ENTRY(method, tile, nt, blocks, shape_##tile, false, true)                              \
    SLICED_ENTRY(method, tile, tn, blocks, shape_##tile, true, false)                              \
    SLICED_ENTRY(method, tile, tt, blocks, shape_##tile, true, true)

#endif
