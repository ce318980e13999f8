/* SPDX-License-Identifier: MIT */
/* A panel of an LU factorization with partial pivoting, in one cluster (Hopper). */

/*
 * Why. A column's pivot is known only after the previous column has been eliminated, so a panel is
 * a chain of `columns` steps, and the latency of a step is most of the time of an LU factorization:
 * for each of 4096 columns cuSOLVER 12 takes 2.9 us on average (H100), this kernel 1.0 us.
 *
 * Where the data is. Each thread keeps one row of 32 elements in registers from the first step to
 * the last one; rows do not move until the end. Instead, each thread knows its row's place, which
 * LAPACK's interchanges would give it. A block has 256 or 512 rows. A cluster has up to 16 blocks.
 *
 * A step. Each warp compares the upper 32 bits of its elements' magnitudes by `redux`. If several
 * are equal, it compares the lower 32 bits and then the places, so that the first of equal elements
 * is the pivot, as in LAPACK. The block finds the best of its warps. Its
 * thread writes its row to shared memory, and its warp sends the row and the candidate to all
 * blocks by st.async, which also counts the bytes at the receiver's barrier. So a step needs one
 * exchange, and no barrier of the cluster. Then each block knows the pivot's row, and each thread
 * eliminates.
 *
 * What shortens the chain. The candidate's reciprocal is computed while candidates are compared,
 * and is sent in place of the pivot. The next column is eliminated first, and its candidates are
 * offered before the other columns. There are two sets of buffers: a block can be one step ahead of
 * another.
 *
 * Registers have constant indexes, so element k of the row moves to k - 1 in each step, as part of
 * the multiplication: the current column is always element 0. Finished columns collect at the end.
 * Each group of 8 steps has its own code, which leaves out the columns that earlier groups
 * finished. If all steps were unrolled, the code would exceed the instruction caches.
 */
#include <limits.h>

#include "../common/barrier.cuh"
#include "../common/cluster.cuh"
#include "lu_kabi.h"
#include "panel.cuh"

enum { PANEL = XG_PANEL, BLOCK = XG_PANEL_BLOCK, CLUSTER_MOST = XG_PANEL_CLUSTER_MOST };
enum { GROUP = 8 }; /* steps by the same code */

#if XG_PANEL_HOPPER

/* The upper 32 bits of a number's magnitude, and the lower ones. */
struct magnitude {
    unsigned high, low;
};

static __device__ __forceinline__ magnitude magnitude_of(double x)
{
    return {(unsigned)__double2hiint(x) & INT_MAX, (unsigned)__double2loint(x)};
}

static __device__ __forceinline__ magnitude magnitude_of(float x)
{
    return {__float_as_uint(x) & INT_MAX, 0};
}

/*
 * The power of two that brings the pivot, and the elements below it, to where its reciprocal is a
 * normal number. It is exact for the pivot. If another element underflows, its l would underflow
 * too.
 */
static __device__ __forceinline__ double scale_of(unsigned high, double)
{
    const unsigned field = high >> 20;
    return field < 100 ? 0x1p600 : field >= 1900 ? 0x1p-600 : 1.0;
}

static __device__ __forceinline__ float scale_of(unsigned high, float)
{
    const unsigned field = high >> 23;
    return field < 40 ? 0x1p64f : field >= 220 ? 0x1p-64f : 1.0f;
}

static __device__ __forceinline__ double reciprocal(double x)
{
    return xg_reciprocal(x);
}

static __device__ __forceinline__ float reciprocal(float x)
{
    return __frcp_rn(x);
}

/* A row that may have the pivot. place: INT_MAX if there is none. */
struct __align__(16) candidate
{
    magnitude key;
    int place, unused;
};

static __device__ __forceinline__ candidate no_candidate(void)
{
    return {{0, 0}, INT_MAX, 0};
}

/* The lane with the best candidate, as a mask of one bit. */
static __device__ __forceinline__ unsigned best(const candidate &mine)
{
    const unsigned all = 0xffffffffu, high = mine.key.high;
    const unsigned top = __reduce_max_sync(all, high);
    unsigned lanes = __ballot_sync(all, high == top);
    if (lanes & (lanes - 1)) {
        const unsigned low = high == top ? mine.key.low : 0;
        const unsigned bottom = __reduce_max_sync(all, low);
        const bool same = high == top && low == bottom;
        const unsigned place = same ? (unsigned)mine.place : UINT_MAX;
        const unsigned least = __reduce_min_sync(all, place);
        lanes = __ballot_sync(all, same && place == least);
        lanes &= 0 - lanes; /* there are several only if no lane has a candidate */
    }
    return lanes;
}

static __device__ __forceinline__ unsigned index_of(unsigned lanes)
{
    return 31 - __clz(lanes);
}

template <typename real, int THREADS, bool CLUSTER>
struct panel {
    enum { WARPS = THREADS / 32, SOURCES = CLUSTER ? CLUSTER_MOST : 1 };
    enum { PIECE = 16 / sizeof(real) };                   /* elements of 16 bytes */
    enum { LANES = PANEL / PIECE, RANKS = 32 / LANES };   /* of a row; rows of a warp */
    enum { PUSHES = CLUSTER ? CLUSTER_MOST / RANKS : 1 }; /* of a warp, for all blocks */

    /* [0] is for even columns, [1] for odd ones. */
    struct shared {
        real row[2][SOURCES][PANEL]; /* of each block's candidate; element 0: its reciprocal */
        real stage[PANEL];
        candidate of_block[2][SOURCES];
        candidate of_warp[2][WARPS];
        uint64_t arrived[2];
    };

    shared &s;
    const xg_lu_panel_args &args;
    unsigned rank, blocks, lane, warp;
    int row, place; /* the row's place at the start, and now; -1: there is no row */
    real a[PANEL];
    candidate mine; /* for the next column, */
    real inverse;   /* and its reciprocal, of the scaled pivot */

    __device__ __forceinline__ panel(shared &s_, const xg_lu_panel_args &args_)
        : s(s_), args(args_), rank(CLUSTER ? xg_cluster_rank() : 0),
          blocks(CLUSTER ? gridDim.x : 1), lane(threadIdx.x % 32), warp(threadIdx.x / 32)
    {
    }

    /* The element where a finished column is: groups are in reverse order. */
    static __device__ __forceinline__ constexpr int element_of(int column)
    {
        return column ^ (PANEL - GROUP);
    }

    __device__ __forceinline__ void offer(int column)
    {
        mine = no_candidate();
        if (place >= column) {
            mine.key = magnitude_of(a[0]);
            mine.place = place;
        }
        const bool zero = (mine.key.high | mine.key.low) == 0;
        inverse = zero ? 0 : reciprocal(a[0] * scale_of(mine.key.high, a[0]));
    }

    /* Writes this thread's row, whose first `ACTIVE` elements are in use, with the reciprocal. */
    template <int ACTIVE>
    __device__ __forceinline__ void write_row(real *to) const
    {
        to[0] = inverse;
#pragma unroll
        for (int k = 1; k < ACTIVE; k++)
            to[k] = a[k];
    }

    /* Sends the block's candidate, and its row, to all blocks. The winner's warp calls it. */
    template <int ACTIVE>
    __device__ __forceinline__ void send_row(int slot, bool first, int live)
    {
        if (first)
            write_row<ACTIVE>(s.stage);
        __syncwarp();
        if (lane < blocks)
            xg_cluster_send(xg_cluster_address(&s.of_block[slot][rank], lane),
                            *(uint4 *)&s.of_warp[slot][warp],
                            xg_cluster_address(&s.arrived[slot], lane));
        const int k = lane % LANES * PIECE;
        union {
            uint4 bits;
            real x[PIECE];
        } piece;
        piece.bits = *(uint4 *)&s.stage[k];
#pragma unroll
        for (int i = 0; i < PIECE; i++)
            if (k + i >= live)
                piece.x[i] = 0;
#pragma unroll
        for (int i = 0; i < PUSHES; i++) {
            const unsigned to = i * RANKS + lane / LANES;
            if (to < blocks && k < ACTIVE)
                xg_cluster_send(xg_cluster_address(&s.row[slot][rank][k], to), piece.bits,
                                xg_cluster_address(&s.arrived[slot], to));
        }
    }

    /* Finds the pivot of a column, and returns its row. *pivot: the pivot's key and place. */
    template <int ACTIVE>
    __device__ __forceinline__ const real *choose(int column, candidate *pivot)
    {
        const int slot = column % 2, live = ACTIVE - column % GROUP;
        const bool first = best(mine) >> lane & 1;
        if (first)
            s.of_warp[slot][warp] = mine;
        __syncthreads();
        const candidate of_warp = lane < WARPS ? s.of_warp[slot][lane] : no_candidate();
        const unsigned winner = index_of(best(of_warp));
        if (!CLUSTER) {
            real *to = s.row[slot][0];
            if (warp == winner && first) {
                write_row<ACTIVE>(to);
                for (int k = live; k < ACTIVE; k++)
                    to[k] = 0;
            }
            *pivot = s.of_warp[slot][winner];
            __syncthreads();
            return to;
        }
        if (warp == winner)
            send_row<ACTIVE>(slot, first, live);
        const unsigned barrier = xg_shared_address(&s.arrived[slot]);
        if (threadIdx.x == 0)
            xg_barrier_expect(barrier, blocks * (16 + ACTIVE * (unsigned)sizeof(real)));
        xg_barrier_wait(barrier, column / 2 % 2);
        const unsigned from =
            index_of(best(lane < blocks ? s.of_block[slot][lane] : no_candidate()));
        *pivot = s.of_block[slot][from];
        return s.row[slot][from];
    }

    template <int ACTIVE>
    __device__ __forceinline__ void step(int column)
    {
        candidate pivot;
        const real *u = choose<ACTIVE>(column, &pivot);
        if (rank == 0 && threadIdx.x == 0 && column < args.columns && pivot.place != INT_MAX) {
            ((int64_t *)args.pivots)[column] = args.first + pivot.place + 1;
            if ((pivot.key.high | pivot.key.low) == 0)
                atomicCAS((int *)args.info, 0, args.first + column + 1);
        }
        if (place == pivot.place)
            place = column;
        else if (place == column)
            place = pivot.place;
        const real scale = scale_of(pivot.key.high, u[0]);
        const bool done = place <= column; /* in this step or before */
        real l = a[0] * u[0];
        if (scale != 1)
            l = a[0] * scale * u[0];
        l = done ? 0 : l;
        const real finished = done ? a[0] : l;
        a[0] = fma(-l, u[1], a[1]);
        offer(column + 1);
#pragma unroll
        for (int k = 1; k < ACTIVE - 1; k++)
            a[k] = fma(-l, u[k + 1], a[k + 1]);
        a[ACTIVE - 1] = finished;
    }

    template <int ACTIVE>
    __device__ __forceinline__ void steps(void)
    {
#pragma unroll 1
        for (int i = PANEL - ACTIVE; i < PANEL - ACTIVE + GROUP; i++)
            step<ACTIVE>(i);
        if constexpr (ACTIVE > GROUP)
            if (args.columns > PANEL - ACTIVE + GROUP)
                steps<ACTIVE - GROUP>();
    }

    __device__ __forceinline__ void load(void)
    {
        row = (int)(rank * THREADS + threadIdx.x);
        place = row < args.rows ? row : -1;
        const real *from = (const real *)args.a + row;
#pragma unroll
        for (int k = 0; k < PANEL; k++, from += args.ld)
            a[k] = place >= 0 && k < args.columns ? *from : 0;
    }

    /* source: the row's place when the block began. */
    __device__ __forceinline__ void write_moves(int source) const
    {
        xg_lu_move *moves = (xg_lu_move *)args.moves, *block = (xg_lu_move *)args.block_moves;
        if (place < PANEL)
            moves[place] = {row, place};
        if (row < PANEL)
            moves[PANEL + row] = {place < PANEL ? -1 : row, place};
        ((int *)args.sources)[args.before + place] = source;
        if (!block)
            return;
        const int to = args.before + place;
        if (to < BLOCK)
            block[to] = {source, to};
        if (source < BLOCK)
            block[BLOCK + source] = {to < BLOCK ? -1 : source, to};
    }

    /* There is no such row. */
    __device__ __forceinline__ void write_no_moves(void) const
    {
        xg_lu_move *moves = (xg_lu_move *)args.moves, *block = (xg_lu_move *)args.block_moves;
        const int to = args.before + row;
        if (row < PANEL)
            moves[row] = moves[PANEL + row] = {-1, -1};
        if (block && to < BLOCK)
            block[to] = block[BLOCK + to] = {-1, -1};
    }

    /* The moves of the block's rows above the panel. */
    __device__ __forceinline__ void write_moves_above(void) const
    {
        xg_lu_move *block = (xg_lu_move *)args.block_moves;
        if (!block || rank > 0)
            return;
        for (int to = (int)threadIdx.x; to < args.before; to += THREADS) {
            const int source = ((const int *)args.sources)[to];
            block[to] = {source, to};
            if (source < BLOCK)
                block[BLOCK + source] = {-1, -1};
        }
    }

    __device__ __forceinline__ void store(void) const
    {
        real *to = (real *)args.a + place;
        if (args.columns == PANEL) {
#pragma unroll
            for (int k = 0; k < PANEL; k++, to += args.ld)
                *to = a[element_of(k)];
        } else {
#pragma unroll
            for (int k = 0; k < PANEL; k++, to += args.ld)
                if (k < args.columns)
                    *to = a[element_of(k)];
        }
    }

    __device__ __forceinline__ void run(void)
    {
        if (CLUSTER) {
            if (threadIdx.x < 2)
                xg_barrier_init(xg_shared_address(&s.arrived[threadIdx.x]), 1);
            xg_barrier_init_fence();
        }
        load();
        int source = args.before + row;
        if (args.before && place >= 0)
            source = ((const int *)args.sources)[source];
        if (CLUSTER)
            xg_cluster_sync();
        offer(0);
        steps<PANEL>();
        /* Each block has waited for all that is sent to it. So all rows have been read, and no
         * block ends while another one sends to it. */
        if (place >= 0) {
            write_moves(source);
            store();
        } else {
            write_no_moves();
        }
        write_moves_above();
    }
};

#endif

template <typename real, int THREADS, bool CLUSTER>
static __device__ __forceinline__ void factorize(const xg_lu_panel_args &args)
{
#if XG_PANEL_HOPPER
    __shared__ __align__(16) typename panel<real, THREADS, CLUSTER>::shared s;
    panel<real, THREADS, CLUSTER>(s, args).run();
#else
    asm volatile("trap;");
#endif
}

/* One block of 256 rows; a cluster of up to 16 such blocks; up to 16 blocks of 512 rows. */
#define ENTRY(name, real, threads, cluster)                                                        \
    extern "C" __global__ void __launch_bounds__(threads, 1)                                       \
        xg_lu_panel_##name##_sm90(const __grid_constant__ struct xg_lu_panel_args args)            \
    {                                                                                              \
        factorize<real, threads, cluster>(args);                                                   \
    }
ENTRY(s1, float, XG_PANEL_ROWS, false)
ENTRY(s, float, XG_PANEL_ROWS, true)
ENTRY(s_tall, float, XG_PANEL_TALL_ROWS, true)
ENTRY(d1, double, XG_PANEL_ROWS, false)
ENTRY(d, double, XG_PANEL_ROWS, true)
ENTRY(d_tall, double, XG_PANEL_TALL_ROWS, true)
