/* SPDX-License-Identifier: MIT */
/* The product of a tile of C on FP64 tensor cores: the common code of the `dmma` kernels. */
#ifndef XG_DMMA_CUH
#define XG_DMMA_CUH

#include "../tiles.h"
#include "async.cuh"
#include "cluster.cuh"
#include "dmma_map.h"
#include "dmma_ptx.cuh"
#include "ptx.cuh"
#include "tile.cuh"

/* The layout: warps of a block along m and n, and blocks of 16 rows and of 8 columns per warp. */
template <int WARPS_M_, int WARPS_N_, int BLOCKS_M_, int BLOCKS_N_>
struct xg_dmma_layout {
    enum { WARPS_M = WARPS_M_, WARPS_N = WARPS_N_, BLOCKS_M = BLOCKS_M_, BLOCKS_N = BLOCKS_N_ };
    enum { THREADS = WARPS_M * WARPS_N * 32 };
    enum { WARP_M = BLOCKS_M * XG_DMMA_ROWS, WARP_N = BLOCKS_N * XG_DMMA_COLUMNS };
    enum { BM = WARPS_M * WARP_M, BN = WARPS_N * WARP_N };
};

/*
 * A thread's share of the copies of an operand's tiles of (EXTENT, BK), tile after tile. Elements
 * outside the operand are zeros and are not read: in a pair with one number inside, the other is
 * one of the zeros that XG_KERNEL_VEC4 requires.
 */
template <int EXTENT, int BK, int THREADS, bool ALONG_K>
struct xg_dmma_copier {
    enum { PAIRS = (ALONG_K ? BK : EXTENT) / 2, ROWS = THREADS / PAIRS };
    enum { PIECES = (ALONG_K ? EXTENT : BK) / ROWS, BYTES = EXTENT * BK * 8 };
    static_assert(!ALONG_K || ROWS % 4 == 0, "rows exchanged alike");
    static_assert(THREADS % PAIRS == 0 && PIECES * ROWS == (ALONG_K ? EXTENT : BK), "whole rows");

    const char *at; /* the tile's first piece, then each next one */
    int64_t apart;  /* bytes from a piece to the next one below */
    int64_t back;   /* along k: from the end of the last piece to the next tile */
    unsigned to;    /* the first piece in the first stage */
    int inside;     /* along k: the number of existing pieces; else whether they exist */

    static __device__ __forceinline__ int pair(void) { return threadIdx.x % PAIRS; }
    static __device__ __forceinline__ int row(void) { return threadIdx.x / PAIRS; }

    /* tile: the operand's tile in the first stage; first: its first row of m or n, of which
     * `extent` exist. */
    __device__ __forceinline__ void init(unsigned tile, uint64_t data, int64_t ld, int64_t first,
                                         int64_t first_k, int extent)
    {
        const int64_t line = (ALONG_K ? first : first_k) + row(), place = ALONG_K ? first_k : first;
        at = (const char *)data + (line * ld + place + 2 * pair()) * 8;
        apart = ROWS * ld * 8;
        /* Kept in registers; otherwise the compiler reads ld and multiplies again each time. */
        xg_dmma_hide(apart);
        back = BK * 8 - PIECES * apart;
        xg_dmma_hide(back);
        to = tile + (ALONG_K ? xg_dmma_place(true, EXTENT, BK, row(), 2 * pair())
                             : xg_dmma_place(false, EXTENT, BK, 2 * pair(), row()));
        inside = ALONG_K ? extent - row() : 2 * pair() < extent;
    }

    /*
     * Copies pieces from..until of a tile, in order, to the stage that is `stage` bytes from the
     * first; `depth` steps of k exist. After the last piece the pointer is at the next tile.
     */
    __device__ __forceinline__ void copy(int from, int until, unsigned stage, int depth)
    {
        xg_dmma_hide(inside); /* keep no results of comparisons in registers */
#pragma unroll
        for (int i = from; i < until; i++) {
            const unsigned place = (to ^ xg_dmma_piece_within(ALONG_K, ROWS, i)) + stage +
                                   xg_dmma_piece_beyond(PAIRS, ROWS, i);
            const bool skip = ALONG_K ? i * ROWS >= inside || 2 * pair() >= depth
                                      : !inside || i * ROWS + row() >= depth;
            xg_async_copy16(place, at, skip);
            at = xg_dmma_add(at, apart);
        }
        if (ALONG_K && until == PIECES)
            at += back;
    }
};

/* Finds and loads a lane's numbers in a warp's part of an operand's tile. */
template <int EXTENT, int BK, bool ALONG_K>
struct xg_dmma_reader {
    unsigned home; /* the first number in the first stage */

    /* tile: the operand's tile in the first stage; index: the warp's first row or column in it. */
    __device__ __forceinline__ void init(unsigned tile, int index, int lane)
    {
        home = tile +
               xg_dmma_place(ALONG_K, EXTENT, BK, index + xg_dmma_index(lane), xg_dmma_depth(lane));
    }

    /* Loads x[step of 4][half] of a block of HALVES * 8 rows or columns, for a slice of k from `k`
     * on. */
    template <int HALVES>
    __device__ __forceinline__ void load_block(double *x, unsigned stage, int block, int k) const
    {
#pragma unroll
        for (int i = 0; i < XG_DMMA_STEPS / 4 * HALVES; i++) {
            const int index = (block * HALVES + i % HALVES) * 8, depth = k + i / HALVES * 4;
            const int within = xg_dmma_within(ALONG_K, index, depth);
            unsigned from = home + stage;
            /* Hidden, because otherwise the compiler keeps each of them in a register. */
            if (within)
                from = xg_dmma_xor(from, within);
            x[i] = xg_dmma_load(from + xg_dmma_beyond(ALONG_K, EXTENT, BK, index, depth));
        }
    }
};

/* Stores two adjacent elements of a row of C, 16-byte aligned, of which `inside` are inside (may be
 * <= 0). */
static __device__ __forceinline__ void xg_dmma_store2(const struct xg_dgemm_args &args, double *c,
                                                      int64_t inside, const double *sum)
{
    const bool beta = args.beta != 0.0;
    double2 value = make_double2(args.alpha * sum[0], args.alpha * sum[1]);
    if (inside >= 2) {
        if (beta) {
            const double2 old = *(const double2 *)c;
            value.x = fma(args.beta, old.x, value.x);
            value.y = fma(args.beta, old.y, value.y);
        }
        *(double2 *)c = value;
    } else if (inside == 1) {
        *c = beta ? fma(args.beta, *c, value.x) : value.x;
    }
}

/* Writes a thread's results; (row,col) is the position of the first one in C. */
template <class L>
static __device__ __forceinline__ void xg_dmma_store(const struct xg_dgemm_args &args,
                                                     const double (*sum)[L::BLOCKS_N][4],
                                                     int64_t row, int64_t col)
{
#pragma unroll
    for (int i = 0; i < 2 * L::BLOCKS_M; i++) {
        const int64_t at = row + i * 8;
        if (at >= args.m)
            break;
        double *c = (double *)args.c + at * args.ldc + col;
#pragma unroll
        for (int j = 0; j < L::BLOCKS_N; j++)
            xg_dmma_store2(args, c + j * 8, args.n - col - j * 8, sum[i / 2][j] + i % 2 * 2);
    }
}

/*
 * The same for the blocks of a cluster, each of which has a slice of k: they divide each thread's
 * rows. The sums that another block adds are in shared memory, with one number per thread next to
 * each other, and the thread of the same number reads them, in the order of the slices.
 */
template <class L>
static __device__ __forceinline__ void xg_dmma_store_slice(const struct xg_dgemm_args &args,
                                                           double (*sum)[L::BLOCKS_N][4],
                                                           double *shared, int64_t row, int64_t col)
{
    enum { ROWS = 2 * L::BLOCKS_M, OF_ROW = 2 * L::BLOCKS_N };
    const unsigned size = args.split, rank = xg_ptx_block_x() % size;
    double *own = shared + xg_ptx_thread_x();
    xg_async_wait<0>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ROWS; i++)
        if (i * size / ROWS != rank)
#pragma unroll
            for (int e = 0; e < OF_ROW; e++)
                own[(i * OF_ROW + e) * L::THREADS] = sum[i / 2][e / 2][i % 2 * 2 + e % 2];
    xg_cluster_sync();
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const int64_t at = row + i * 8;
        if (i * size / ROWS != rank || at >= args.m)
            continue;
        double total[OF_ROW] = {};
        for (unsigned r = 0; r < size; r++) {
            const unsigned from = xg_cluster_address(own + i * OF_ROW * L::THREADS, r);
#pragma unroll
            for (int e = 0; e < OF_ROW; e++)
                total[e] += r == rank ? sum[i / 2][e / 2][i % 2 * 2 + e % 2]
                                      : xg_cluster_load_double(from + e * L::THREADS * 8);
        }
        double *c = (double *)args.c + at * args.ldc + col;
#pragma unroll
        for (int j = 0; j < L::BLOCKS_N; j++)
            xg_dmma_store2(args, c + j * 8, args.n - col - j * 8, total + 2 * j);
    }
    xg_cluster_sync();
}

/*
 * Computes the sums of a tile of C over `depth` steps of k from `first_k` on. L: xg_dmma_layout.
 * STAGES tiles of both operands are in shared memory (STAGES * BK * (BM + BN) * 8 bytes), of which
 * STAGES - 1 are in flight while one is multiplied.
 *
 * A slice of k is loaded at a time, the steps of one instruction. A warp loads a block of A while
 * it multiplies the previous one, and loads B while it multiplies the last block of the previous
 * slice. The barrier that releases a stage comes before the last block of a tile, which is then in
 * registers, so that multiplications follow the barrier at once.
 */
template <class L, int BK, int STAGES, bool TRANSA, bool TRANSB>
static __device__ __forceinline__ void xg_dmma_sum(const struct xg_dgemm_args &args,
                                                   const struct xg_tile &tile, int64_t first_k,
                                                   int64_t depth, double (*sum)[L::BLOCKS_N][4])
{
    enum { SLICE = XG_DMMA_STEPS, SLICES = BK / SLICE, STEPS = SLICES * L::BLOCKS_M };
    typedef xg_dmma_copier<L::BM, BK, L::THREADS, !TRANSA> copier_a;
    typedef xg_dmma_copier<L::BN, BK, L::THREADS, TRANSB> copier_b;
    enum { STAGE = copier_a::BYTES + copier_b::BYTES, STAGES_END = STAGES * STAGE };
    static_assert(STAGES_END == XG_TILES_DMMA_BYTES(L::BM, L::BN, BK, STAGES), "shared memory");
    static_assert(SLICES % 2 == 0 && STEPS % 2 == 0, "two sets of registers take turns");
    const unsigned shared = xg_dmma_shared_address();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    copier_a a_copier;
    copier_b b_copier;
    xg_dmma_reader<L::BM, BK, !TRANSA> a_reader;
    xg_dmma_reader<L::BN, BK, TRANSB> b_reader;
    a_copier.init(shared, args.a, args.lda, tile.row, first_k, tile.rows);
    b_copier.init(shared + copier_a::BYTES, args.b, args.ldb, tile.col, first_k, tile.cols);
    a_reader.init(shared, warp / L::WARPS_N * L::WARP_M, lane);
    b_reader.init(shared + copier_a::BYTES, warp % L::WARPS_N * L::WARP_N, lane);

    int left = (int)((depth + BK - 1) / BK);
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; stage++, depth -= BK) {
        a_copier.copy(0, copier_a::PIECES, stage * STAGE, xg_clip(depth, BK));
        b_copier.copy(0, copier_b::PIECES, stage * STAGE, xg_clip(depth, BK));
        xg_async_commit();
    }
    xg_async_wait<STAGES - 2>();
    __syncthreads();

    double a[2][SLICE / 2], b[2][L::BLOCKS_N][SLICE / 4];
    unsigned read = 0, write = (STAGES - 1) * STAGE;
    a_reader.template load_block<2>(a[0], read, 0, 0);
#pragma unroll
    for (int j = 0; j < L::BLOCKS_N; j++)
        b_reader.template load_block<1>(b[0][j], read, j, 0);

    for (; left > 0; left--, depth -= BK) {
        const int inside = xg_clip(depth, BK);
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            const int slice = step / L::BLOCKS_M, i = step % L::BLOCKS_M;
            const int next = (step + 1) % STEPS / L::BLOCKS_M * SLICE;
            if (step == STEPS - 1) {
                xg_async_commit();
                xg_async_wait<STAGES - 2>();
                __syncthreads();
                read = read + STAGE == STAGES_END ? 0 : read + STAGE;
                write = write + STAGE == STAGES_END ? 0 : write + STAGE;
            } else {
                a_copier.copy(step * copier_a::PIECES / (STEPS - 1),
                              (step + 1) * copier_a::PIECES / (STEPS - 1), write, inside);
                b_copier.copy(step * copier_b::PIECES / (STEPS - 1),
                              (step + 1) * copier_b::PIECES / (STEPS - 1), write, inside);
            }
            a_reader.template load_block<2>(a[(step + 1) % 2], read, (step + 1) % L::BLOCKS_M,
                                            next);
#pragma unroll
            for (int j = 0; j < L::BLOCKS_N && i == L::BLOCKS_M - 1; j++)
                b_reader.template load_block<1>(b[(slice + 1) % 2][j], read, j, next);
#pragma unroll
            for (int j = 0; j < L::BLOCKS_N; j++)
                xg_dmma_16x8x8(sum[i][j], a[step % 2], b[slice % 2][j]);
        }
    }
}

/*
 * Computes the block's tile of C, or with SPLIT one of args.split slices of k of a tile, in a
 * cluster. Dynamic shared memory: the stages (xg_dmma_sum), with SPLIT at least BM * BN * 8 bytes.
 * GROUP: tile.cuh.
 */
template <class L, int BK, int STAGES, int GROUP, bool SPLIT, bool TRANSA, bool TRANSB>
static __device__ __forceinline__ void xg_dmma(const struct xg_dgemm_args &args)
{
#if __CUDA_ARCH__ >= 800
    const unsigned split = SPLIT ? args.split : 1, slice = blockIdx.x % split;
    const int64_t tiles = (args.k + BK - 1) / BK;
    const int64_t first = tiles * slice / split * BK, end = tiles * (slice + 1) / split * BK;
    const struct xg_tile tile = xg_tile_find<L::BM, L::BN, GROUP>(args, blockIdx.x / split);
    if (xg_tile_unwanted<L::BM, L::BN>(args.wanted, tile.row, tile.col))
        return;
    double sum[L::BLOCKS_M][L::BLOCKS_N][4] = {};
    xg_dmma_sum<L, BK, STAGES, TRANSA, TRANSB>(args, tile, first,
                                               (end < args.k ? end : args.k) - first, sum);

    /* Computes the position of the results again, because keeping it would take registers from the
     * loop. */
    const int thread = xg_ptx_thread_x(), warp = thread / 32, lane = thread % 32;
    const struct xg_tile home =
        xg_tile_find<L::BM, L::BN, GROUP>(args, xg_ptx_block_x() / (SPLIT ? args.split : 1));
    const int64_t row = home.row + warp / L::WARPS_N * L::WARP_M + xg_dmma_index(lane);
    const int64_t col = home.col + warp % L::WARPS_N * L::WARP_N + xg_dmma_column(lane);
    if (SPLIT && args.split > 1) {
        static_assert(!SPLIT || STAGES * BK * (L::BM + L::BN) >= L::BM * L::BN, "room for sums");
        xg_dmma_store_slice<L>(args, sum, xg_dmma_shared(), row, col);
    } else {
        xg_dmma_store<L>(args, sum, row, col);
    }
#else
    asm volatile("trap;"); /* PTX of an older architecture on a newer device */
#endif
}

#endif
