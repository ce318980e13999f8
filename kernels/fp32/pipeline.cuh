/* SPDX-License-Identifier: MIT */
/* The product of a tile of C with asynchronous copies: the common code of the `pipelined`
 * kernels. */
#ifndef XG_PIPELINE_CUH
#define XG_PIPELINE_CUH

#include "../common/async.cuh"
#include "../common/cluster.cuh"
#include "../common/epilogue.cuh"
#include "../common/ptx.cuh"
#include "../common/target.cuh"
#include "../common/tile.cuh"
#include "../tiles.h"

/*
 * A thread's share of the copies of an operand's (BK,EXTENT) tiles to shared memory, tile after
 * tile.
 *
 * TURN: the operand is contiguous along k. Each float is copied singly to its transposed position,
 * so that the tile is k-major in both cases. A warp copies 8 steps of k (one 32-byte sector) of 4
 * rows; 4 floats of padding per row of the tile spread these over 32 banks. Otherwise VEC copies 16
 * aligned bytes at a time, and without VEC 4 bytes.
 *
 * If k is not a multiple of BK, the first tile is the short one, so that the others need no test
 * along k. There is no test for rows and columns outside C either: those of the previous tile are
 * copied instead, or, if there is none, the last existing one; their products are not stored.
 * (Copying the last one for all takes 32 passes for 32 copies of one address: 1535 x 1537 ran at 28
 * TFLOP/s instead of 40.)
 */
template <int EXTENT, int BK, int THREADS, bool TURN, bool VEC>
struct xg_copier {
    enum { STRIDE = TURN ? EXTENT + 4 : EXTENT, UNIT = VEC && !TURN ? 4 : 1 };
    enum { PIECES = EXTENT * BK / UNIT / THREADS };
    /* Transposed: rows that the block copies at once, and pieces along k. */
    enum { ROWS = THREADS / 8, PIECES_K = BK / 8 };
    /* Not transposed: units per row of the tile; rows that the block copies at once, or pieces per
     * row. */
    enum { UNITS = EXTENT / UNIT, DEPTH = UNITS < THREADS ? THREADS / UNITS : 1 };
    enum { PIECES_ROW = UNITS < THREADS ? 1 : UNITS / THREADS };
    enum { POINTERS = TURN ? EXTENT / ROWS : PIECES_ROW };
    static_assert(PIECES * UNIT * THREADS == EXTENT * BK, "whole pieces a thread");
    static_assert(BK % 8 == 0 && BK % DEPTH == 0, "whole tiles");

    const float *at[POINTERS];
    unsigned to;  /* in the first stage; a shared memory address */
    int64_t step; /* elements from a piece to the next one below, if not transposed */

    static __device__ __forceinline__ int first_k(void)
    {
        return TURN ? threadIdx.x % 8 : threadIdx.x / UNITS;
    }

    /* tile: the operand's tile in the first stage; first: its first row of m or n, of which
     * `extent` exist. */
    __device__ __forceinline__ void init(unsigned tile, uint64_t data, int64_t ld, int64_t first,
                                         int extent)
    {
        const float *from = (const float *)data;
        const int x = TURN ? threadIdx.x / 8 : threadIdx.x % UNITS * UNIT;
        to = tile + (first_k() * STRIDE + x) * 4;
        step = DEPTH * ld;
        /* Kept in registers; otherwise the compiler reads ld and multiplies again each time. */
        asm volatile("mov.b64 %0, %0;" : "+l"(step));
#pragma unroll
        for (int p = 0; p < POINTERS; p++) {
            const int last = (extent - 1) / UNIT * UNIT, apart = TURN ? ROWS : THREADS * UNIT;
            int place = x + p * apart;
            if (place > last)
                place = first >= EXTENT ? place - EXTENT : last;
            const int64_t inside = first + place;
            at[p] = from + (TURN ? inside * ld + first_k() : first_k() * ld + inside);
        }
    }

    /*
     * Copies pieces from..until of a tile, in order, to the stage that is `stage` bytes from the
     * first. FIRST: only `depth` steps of k exist. After the last piece the pointers are at the
     * next tile.
     */
    template <bool FIRST>
    __device__ __forceinline__ void copy(int from, int until, unsigned stage, int depth)
    {
#pragma unroll
        for (int i = from; i < until; i++) {
            const int p = TURN ? i / PIECES_K : i % PIECES_ROW;
            const int k = TURN ? i % PIECES_K * 8 : i / PIECES_ROW * DEPTH;
            const unsigned place =
                to + stage + (k * STRIDE + p * (TURN ? ROWS : THREADS * UNIT)) * 4;
            const bool skip = FIRST && k + first_k() >= depth;
            if (UNIT == 4)
                xg_async_copy16(place, at[p], skip);
            else
                xg_async_copy4(place, at[p] + (TURN ? k : 0), skip);
            if (TURN && k == BK - 8)
                at[p] += FIRST ? depth : BK;
            else if (!TURN && (!FIRST || k + DEPTH <= depth))
                at[p] += step;
        }
    }

    /* After the short tile: moves the pointers by the rows that are not a whole piece. */
    __device__ __forceinline__ void settle(int depth, int64_t ld)
    {
#pragma unroll
        for (int p = 0; p < POINTERS && !TURN; p++)
            at[p] += depth % DEPTH * ld;
    }
};

/*
 * The layout: warps of a block, quads of 4x4 results per thread, lanes of a warp along m, and the
 * width of the bands in which a thread multiplies (xg_order_row). The rest follows from these.
 */
template <int WARPS_M_, int WARPS_N_, int QUADS_M_, int QUADS_N_, int LANES_M_, int BAND_>
struct xg_layout {
    enum { WARPS_M = WARPS_M_, WARPS_N = WARPS_N_, QUADS_M = QUADS_M_, QUADS_N = QUADS_N_ };
    enum {
        BAND = BAND_,
        LANES_M = LANES_M_,
        LANES_N = 32 / LANES_M,
        THREADS = WARPS_M * WARPS_N * 32
    };
    enum { APART_M = LANES_M * 4, APART_N = LANES_N * 4, TM = QUADS_M * 4, TN = QUADS_N * 4 };
    enum { WARP_M = QUADS_M * APART_M, WARP_N = QUADS_N * APART_N };
    enum { BM = WARPS_M * WARP_M, BN = WARPS_N * WARP_N };
    static_assert(LANES_M == 4 || LANES_M == 8, "lanes are numbered for these two");

    /*
     * A thread's first row and column in the tile. The lane bits, high to low, are m1 n2 n1 m0 n0
     * or m2 m1 n1 m0 n0, because a 128-bit shared load takes only two passes if lanes i and i ^ 1,
     * or lanes i and i ^ 2, read the same address.
     */
    static __device__ __forceinline__ int row(int thread)
    {
        const int high = LANES_M == 4 ? thread >> 3 & 2 : thread >> 2 & 6;
        return thread / 32 / WARPS_N * WARP_M + ((thread >> 1 & 1) | high) * 4;
    }
    static __device__ __forceinline__ int col(int thread)
    {
        const int high = LANES_M == 4 ? thread >> 1 & 6 : thread >> 1 & 2;
        return thread / 32 % WARPS_N * WARP_N + ((thread & 1) | high) * 4;
    }
};

/* Writes a thread's results as quads; (row,col) is the position of the first one in C. */
template <class L, bool BETA>
static __device__ __forceinline__ void xg_store_quads(const struct xg_sgemm_args &args,
                                                      const float (*sum)[L::TN], int64_t row,
                                                      int64_t col)
{
#pragma unroll
    for (int i = 0; i < L::TM; i++) {
        const int64_t at = row + i / 4 * L::APART_M + i % 4;
        if (at >= args.m)
            continue;
        float *c = (float *)args.c + at * args.ldc + col;
#pragma unroll
        for (int q = 0; q < L::QUADS_N; q++)
            xg_c_store4<BETA>(args, c + q * L::APART_N, xg_clip(args.n - col - q * L::APART_N, 4),
                              sum[i] + 4 * q);
    }
}

/*
 * The same for a C that is not aligned. If adjacent lanes stored quads float by float, each store
 * would fill a quarter of each sector. So the warp rearranges LANES_M of its rows at once in shared
 * memory, and stores 32 adjacent elements together. (row,col) is the warp's first result. Multiply
 * by alpha before the stores: otherwise the compiler puts the sums in groups of four consecutive
 * registers, in the bank of the operand that is added to them, which costs a sixth of the kernel's
 * rate.
 */
template <class L>
static __device__ __forceinline__ void xg_store_rows(const struct xg_sgemm_args &args,
                                                     const float (*sum)[L::TN], float *shared,
                                                     int64_t row, int64_t col)
{
    const int thread = xg_ptx_thread_x(), lane = thread % 32;
    const int lane_m = L::row(thread) % L::WARP_M / 4, lane_n = L::col(thread) % L::WARP_N;
    float *mine = shared + thread / 32 * (L::LANES_M * (L::WARP_N + 4));
#pragma unroll
    for (int i = 0; i < L::TM; i++) {
        __syncwarp();
#pragma unroll
        for (int q = 0; q < L::QUADS_N; q++)
            *(float4 *)(mine + lane_m * (L::WARP_N + 4) + lane_n + q * L::APART_N) =
                make_float4(args.alpha * sum[i][4 * q], args.alpha * sum[i][4 * q + 1],
                            args.alpha * sum[i][4 * q + 2], args.alpha * sum[i][4 * q + 3]);
        __syncwarp();
#pragma unroll
        for (int r = 0; r < L::LANES_M; r++) {
            const int64_t at = row + i / 4 * L::APART_M + r * 4 + i % 4;
            if (at >= args.m)
                break;
#pragma unroll
            for (int j = 0; j < L::WARP_N; j += 32)
                if (col + j + lane < args.n) {
                    float *c = (float *)args.c + at * args.ldc + col + j + lane;
                    const float product = mine[r * (L::WARP_N + 4) + j + lane];
                    *c = args.beta == 0.0f ? product : fmaf(args.beta, *c, product);
                }
        }
    }
}

/*
 * The position of the x-th multiplication of a step among the TM x TN: bands of BAND columns, row
 * after row, with alternating direction, so that each shares an operand with the previous one.
 */
template <int TM, int BAND>
static __device__ __forceinline__ constexpr int xg_order_row(int x)
{
    return x / (BAND * TM) % 2 ? TM - 1 - x / BAND % TM : x / BAND % TM;
}

template <int TM, int BAND>
static __device__ __forceinline__ constexpr int xg_order_col(int x)
{
    const int place = x / BAND % TM % 2 ? BAND - 1 - x % BAND : x % BAND;
    return x / (BAND * TM) * BAND + place;
}

/* A slice of k: its start, its tiles along k, and the depth of the first one. */
struct xg_slice {
    int64_t begin;
    int tiles, first_depth;
};

/* The short tile is the first of the whole product. */
template <int BK>
static __device__ __forceinline__ struct xg_slice xg_slice_find(int64_t k, unsigned slice,
                                                                unsigned split)
{
    const int tiles = (int)((k + BK - 1) / BK);
    const int first = (int)((uint64_t)tiles * slice / split);
    const int end = (int)((uint64_t)tiles * (slice + 1) / split);
    const int short_depth = (int)((k - 1) % BK) + 1;
    if (first == 0)
        return {0, end, short_depth};
    return {short_depth + (int64_t)(first - 1) * BK, end - first, BK};
}

/*
 * The epilogue of a block with a slice of k. The blocks of the cluster divide each thread's rows of
 * results. The sums that another block adds are in shared memory, with one float per thread next to
 * each other, and the thread of the same number reads them. (They are not in quads, for the reason
 * in xg_store_rows.) (row,col): the thread's first result.
 */
template <class L>
static __device__ __forceinline__ void xg_store_slice(const struct xg_sgemm_args &args,
                                                      const float (*sum)[L::TN], float *shared,
                                                      int64_t row, int64_t col)
{
    const unsigned size = args.split, rank = xg_ptx_block_x() % size;
    const struct xg_target target = xg_target_find(args);
    float *own = shared + xg_ptx_thread_x();
    if (size > 1) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < L::TM; i++)
            if (i * size / L::TM != rank)
#pragma unroll
                for (int j = 0; j < L::TN; j++)
                    own[(i * L::TN + j) * L::THREADS] = sum[i][j];
        xg_cluster_sync();
    }
#pragma unroll
    for (int i = 0; i < L::TM; i++) {
        const int64_t at = row + i / 4 * L::APART_M + i % 4;
        if (i * size / L::TM != rank || at >= args.m)
            continue;
        float total[L::TN];
#pragma unroll
        for (int j = 0; j < L::TN; j++)
            total[j] = rank > 0 ? 0.0f : sum[i][j];
        for (unsigned r = rank > 0 ? 0 : 1; r < size; r++) {
            const unsigned from = xg_cluster_address(own + i * L::TN * L::THREADS, r);
#pragma unroll
            for (int j = 0; j < L::TN; j++)
                total[j] += r == rank ? sum[i][j] : xg_cluster_load(from + j * L::THREADS * 4);
        }
#pragma unroll
        for (int q = 0; q < L::QUADS_N; q++)
            xg_target_store4(target, at, col + q * L::APART_N,
                             xg_clip(args.n - col - q * L::APART_N, 4), total + 4 * q);
    }
    if (size > 1)
        xg_cluster_sync();
}

/*
 * Computes the block's tile of C. L: xg_layout. STAGES tiles of both operands are in shared memory
 * (dynamic: STAGES * BK * (BM + BN + 8) * 4 bytes suffice), of which STAGES - 1 are in flight while
 * one is multiplied. STEPS of k (an even number, at most BK) are unrolled; the copies of a tile are
 * spread over the last STEPS of them. VEC: A, B and, without SPLIT, C satisfy XG_KERNEL_VEC4.
 * GROUP: tile.cuh. SPLIT: the block has a slice of k (XG_KERNEL_SPLIT).
 */
template <class L, int BK, int STEPS, int STAGES, int GROUP, bool TRANSA, bool TRANSB, bool VEC,
          bool SPLIT = false>
static __device__ __forceinline__ void xg_pipeline(const struct xg_sgemm_args &args)
{
#if __CUDA_ARCH__ >= 800 /* not reached on older ones: the table requires sm_80 */
    typedef xg_copier<L::BM, BK, L::THREADS, !TRANSA, VEC> copier_a;
    typedef xg_copier<L::BN, BK, L::THREADS, TRANSB, VEC> copier_b;
    constexpr int A_ROW = copier_a::STRIDE * 4, B_ROW = copier_b::STRIDE * 4;
    constexpr unsigned STAGE = BK * (A_ROW + B_ROW), STAGES_END = STAGES * STAGE;
    static_assert(STAGES_END <= XG_TILES_PIPELINE_BYTES(L::BM, L::BN, BK, STAGES), "shared memory");
    extern __shared__ __align__(128) float shared[];
    const unsigned base = (unsigned)__cvta_generic_to_shared(shared);

    const unsigned split = SPLIT ? args.split : 1;
    const struct xg_slice slice = xg_slice_find<BK>(args.k, blockIdx.x % split, split);
    const struct xg_tile tile = xg_tile_find<L::BM, L::BN, GROUP>(args, blockIdx.x / split);
    if (xg_tile_unwanted<L::BM, L::BN>(args.wanted, tile.row, tile.col))
        return;
    const int tiles_k = slice.tiles, first_depth = slice.first_depth;
    copier_a a_copier;
    copier_b b_copier;
    a_copier.init(base, args.a + (TRANSA ? args.lda : 1) * slice.begin * 4, args.lda, tile.row,
                  tile.rows);
    b_copier.init(base + BK * A_ROW, args.b + (TRANSB ? 1 : args.ldb) * slice.begin * 4, args.ldb,
                  tile.col, tile.cols);

    a_copier.template copy<true>(0, copier_a::PIECES, 0, first_depth);
    b_copier.template copy<true>(0, copier_b::PIECES, 0, first_depth);
    a_copier.settle(first_depth, args.lda);
    b_copier.settle(first_depth, args.ldb);
    xg_async_commit();
#pragma unroll
    for (int s = 1; s < STAGES - 1; s++) {
        if (s < tiles_k) {
            a_copier.template copy<false>(0, copier_a::PIECES, s * STAGE, BK);
            b_copier.template copy<false>(0, copier_b::PIECES, s * STAGE, BK);
        }
        xg_async_commit();
    }

    /* A warp whose results are all outside C only copies, so that the SM serves other warps. */
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    const bool inside =
        warp / L::WARPS_N * L::WARP_M < tile.rows && warp % L::WARPS_N * L::WARP_N < tile.cols;

    float sum[L::TM][L::TN] = {};
    float a[2][L::TM], b[2][L::TN];
    /* Reads the operands of a step of k, then multiplies those of the previous step. */
    const auto turn = [&](int step, unsigned a_at, unsigned b_at) {
        const int now = step % 2, next = (step + 1) % 2;
#pragma unroll
        for (int q = 0; q < L::QUADS_M; q++)
            xg_async_load4(a[next] + 4 * q, a_at + q * L::APART_M * 4);
#pragma unroll
        for (int q = 0; q < L::QUADS_N; q++)
            xg_async_load4(b[next] + 4 * q, b_at + q * L::APART_N * 4);
#pragma unroll
        for (int x = 0; x < L::TM * L::TN; x++) {
            const int i = xg_order_row<L::TM, L::BAND>(x), j = xg_order_col<L::TM, L::BAND>(x);
            sum[i][j] = fmaf(a[now][i], b[now][j], sum[i][j]);
        }
    };

    const unsigned a_home = base + L::row(threadIdx.x) * 4;
    const unsigned b_home = base + BK * A_ROW + L::col(threadIdx.x) * 4;
    unsigned read = 0, write = (STAGES - 1) * STAGE;
    xg_async_wait<STAGES - 2>();
    __syncthreads();
#pragma unroll
    for (int q = 0; q < L::QUADS_M; q++)
        xg_async_load4(a[0] + 4 * q, a_home + q * L::APART_M * 4);
#pragma unroll
    for (int q = 0; q < L::QUADS_N; q++)
        xg_async_load4(b[0] + 4 * q, b_home + q * L::APART_N * 4);

    for (int left = tiles_k; left > 0; left--) {
        unsigned a_at = a_home + read, b_at = b_home + read;
#pragma unroll 1
        for (int p = inside ? BK / STEPS - 1 : 0; p > 0; p--) {
#pragma unroll
            for (int step = 0; step < STEPS; step++)
                turn(step, a_at + (step + 1) * A_ROW, b_at + (step + 1) * B_ROW);
            a_at += STEPS * A_ROW, b_at += STEPS * B_ROW;
        }
        /* The last reads of the stage that is filled here came before the previous barrier. */
#pragma unroll
        for (int step = 0; step < STEPS - 1; step++) {
            if (left > STAGES - 1) {
                a_copier.template copy<false>(step * copier_a::PIECES / (STEPS - 1),
                                              (step + 1) * copier_a::PIECES / (STEPS - 1), write,
                                              BK);
                b_copier.template copy<false>(step * copier_b::PIECES / (STEPS - 1),
                                              (step + 1) * copier_b::PIECES / (STEPS - 1), write,
                                              BK);
            }
            turn(step, a_at + (step + 1) * A_ROW, b_at + (step + 1) * B_ROW);
        }
        xg_async_commit();
        xg_async_wait<STAGES - 2>();
        __syncthreads();
        read = read + STAGE == STAGES_END ? 0 : read + STAGE;
        write = write + STAGE == STAGES_END ? 0 : write + STAGE;
        turn(STEPS - 1, a_home + read, b_home + read);
    }

    /* Computes the position of the results again, because keeping it would take registers from the
     * loop. */
    const int thread = xg_ptx_thread_x();
    const struct xg_tile home =
        xg_tile_find<L::BM, L::BN, GROUP>(args, xg_ptx_block_x() / (SPLIT ? args.split : 1));
    const int64_t row = home.row + L::row(thread), col = home.col + L::col(thread);
    if (SPLIT) {
        xg_store_slice<L>(args, sum, shared, row, col);
    } else if (!VEC) {
        __syncthreads();
        xg_store_rows<L>(args, sum, shared, row - L::row(thread) % L::WARP_M,
                         col - L::col(thread) % L::WARP_N);
    } else if (args.beta == 0.0f) {
        xg_store_quads<L, false>(args, sum, row, col);
    } else {
        xg_store_quads<L, true>(args, sum, row, col);
    }
#else
    asm volatile("trap;"); /* PTX of an older architecture on a newer device */
#endif
}

/* One entry per transpose, with the ENTRY macro of the file. */
#define XG_PIPELINE_ENTRIES(tile, layout, blocks)                                                  \
    ENTRY(tile, nn, layout, blocks, false, false)                                                  \
    ENTRY(tile, nt, layout, blocks, false, true)                                                   \
    ENTRY(tile, tn, layout, blocks, true, false)                                                   \
    ENTRY(tile, tt, layout, blocks, true, true)

#endif
