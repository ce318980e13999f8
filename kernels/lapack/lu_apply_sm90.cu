/* SPDX-License-Identifier: MIT */
/* Applies a panel, or a block of panels, of an LU factorization to other columns (Hopper). */

/*
 * Rows move as the panel's interchanges say, and the first k rows of the columns to the right are
 * multiplied by the inverse of L's triangle. What is left, the product that updates the rows below,
 * is a GEMM.
 *
 * A warp has 8 columns, which no other warp reads or writes. It reads the new elements of the first
 * k rows into registers, then copies the old ones into the rows from which the pivots came, and
 * writes the new ones at the end.
 *
 * The triangle. Substitution row by row would be a chain of k steps of 28 cycles and a broadcast
 * each. Here the chain has k / 8 links: the 8 x 8 triangles on the diagonal are inverted, column by
 * column, and everything is a product on FP64 tensor cores. |l| is at most 1 but for rounding, so an
 * element of such an inverse is at most 64, and the computed X solves (L + dL) X = B with |dL| below some 100 units of
 * |L| in the worst case, a few in practice. Inverses of 32 x 32 triangles could have elements of 2^30.
 *
 * The kernel computes single precision in double, on the same tensor cores, and rounds once.
 */
#include "lu_kabi.h"

enum { WARPS = XG_LU_APPLY_THREADS / 32, COLUMNS = XG_LU_STRIP / WARPS, SIDE = 8 };

#if XG_LU_HOPPER

/* Four more elements in a row let the lanes that read one tile use different banks. */
template <int TOP>
struct triangle {
    double l[TOP][TOP + 4];               /* [column][row], zeros outside the strict triangle */
    double inverse[TOP / SIDE][SIDE][12]; /* [column][row] of each 8 x 8 triangle */
    double x[WARPS][COLUMNS][12];         /* [column][row] of a warp's tile */
};
static_assert(sizeof(triangle<XG_LU_PANEL>) == XG_LU_APPLY_BYTES(XG_LU_PANEL), "lu_kabi.h");
static_assert(sizeof(triangle<XG_LU_BLOCK>) == XG_LU_APPLY_BYTES(XG_LU_BLOCK), "lu_kabi.h");

/* c += a b for 8x8x4. Lane l has a[l / 4][l % 4], b[l % 4][l / 4], c[l / 4][l % 4 * 2 + 0, 1]. */
static __device__ __forceinline__ void multiply(double (&c)[2], double a, double b)
{
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
}

/* Reads the triangle, and inverts its diagonal, with the whole block. */
template <typename real, int TOP>
static __device__ __forceinline__ void load_triangle(const xg_lu_apply_args &args, triangle<TOP> &s)
{
#pragma unroll 4
    for (int i = threadIdx.x; i < TOP * TOP; i += XG_LU_APPLY_THREADS) {
        const int row = i % TOP, column = i / TOP;
        const bool in = row > column && row < args.k;
        s.l[column][row] = in ? (double)((const real *)args.l)[row + column * args.ld] : 0;
    }
    __syncthreads();
    if (threadIdx.x < TOP) {
        const int tile = threadIdx.x / SIDE, column = threadIdx.x % SIDE;
        double y[SIDE];
#pragma unroll
        for (int i = 0; i < SIDE; i++)
            y[i] = i == column;
#pragma unroll
        for (int k = 0; k < SIDE - 1; k++)
#pragma unroll
            for (int i = k + 1; i < SIDE; i++)
                y[i] = fma(-s.l[tile * SIDE + k][tile * SIDE + i], y[k], y[i]);
#pragma unroll
        for (int i = 0; i < SIDE; i++)
            s.inverse[tile][column][i] = y[i];
    }
    __syncthreads();
}

/* Brings a tile of 8 x 8 from the layout of results to that of the right factor's two halves. */
static __device__ __forceinline__ void turn(double (*x)[12], const double (&from)[2],
                                            double (&to)[2])
{
    const int lane = threadIdx.x % 32, row = lane / 4, pair = lane % 4;
    __syncwarp();
#pragma unroll
    for (int e = 0; e < 2; e++)
        x[pair * 2 + e][row] = from[e];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 2; k++)
        to[k] = x[row][k * 4 + pair];
}

/* Solves L X = B for a warp's columns; b: tiles of 8 rows, from the top. */
template <int TOP>
static __device__ __forceinline__ void solve(triangle<TOP> &s, double (&b)[TOP / SIDE][2])
{
    const int lane = threadIdx.x % 32, row = lane / 4, pair = lane % 4;
    double(*x)[12] = s.x[threadIdx.x / 32];
#pragma unroll
    for (int i = 0; i < TOP / SIDE; i++) {
        double factor[2];
        turn(x, b[i], factor);
        b[i][0] = b[i][1] = 0;
#pragma unroll
        for (int k = 0; k < 2; k++)
            multiply(b[i], s.inverse[i][k * 4 + pair][row], factor[k]);
        turn(x, b[i], factor);
#pragma unroll
        for (int j = i + 1; j < TOP / SIDE; j++)
#pragma unroll
            for (int k = 0; k < 2; k++)
                multiply(b[j], s.l[i * SIDE + k * 4 + pair][j * SIDE + row], -factor[k]);
    }
}

template <typename real, int TOP>
static __device__ __forceinline__ void apply(const xg_lu_apply_args &args)
{
    extern __shared__ __align__(16) unsigned char shared[];
    const xg_lu_move *moves = (const xg_lu_move *)args.moves;
    const int lane = threadIdx.x % 32, row = lane / 4, pair = lane % 4;
    const int moving = (args.moved + XG_LU_STRIP - 1) / XG_LU_STRIP; /* strips */
    const bool solves = (int)blockIdx.x >= moving;
    const int strip = (int)blockIdx.x - (solves ? moving : 0);
    const int end = solves ? args.end : args.moved;
    const int first = (solves ? args.first : 0) + strip * XG_LU_STRIP +
                      (int)threadIdx.x / 32 * COLUMNS; /* this warp's */
    real *a = (real *)args.a + (int64_t)first * args.ld;
    double b[TOP / SIDE][2];

#pragma unroll
    for (int i = 0; i < TOP / SIDE; i++) {
        const int from = moves[i * SIDE + row].from;
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int column = pair * 2 + e;
            const bool in = from >= 0 && first + column < end;
            b[i][e] = in ? (double)a[from + column * args.ld] : 0;
        }
    }
    __syncwarp(); /* the rows from which pivots came have been read */
#pragma unroll
    for (int i = 0; i < TOP / 32; i++) {
        const xg_lu_move away = moves[TOP + i * 32 + lane];
#pragma unroll
        for (int column = 0; column < COLUMNS; column++)
            if (away.from >= 0 && first + column < end)
                a[away.to + column * args.ld] = a[away.from + column * args.ld];
    }
    if (solves) {
        triangle<TOP> &s = *(triangle<TOP> *)shared;
        load_triangle<real, TOP>(args, s);
        solve<TOP>(s, b);
    }
    __syncwarp(); /* the first k rows have been read */
#pragma unroll
    for (int i = 0; i < TOP / SIDE; i++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int column = pair * 2 + e;
            if (i * SIDE + row < args.rows && first + column < end)
                a[i * SIDE + row + column * args.ld] = (real)b[i][e];
        }
}

#endif

template <typename real, int TOP>
static __device__ __forceinline__ void run(const xg_lu_apply_args &args)
{
#if XG_LU_HOPPER
    apply<real, TOP>(args);
#else
    asm volatile("trap;");
#endif
}

#define ENTRY(name, real, top)                                                                     \
    extern "C" __global__ void __launch_bounds__(XG_LU_APPLY_THREADS, 1)                           \
        xg_lu_apply_##name##_sm90(const __grid_constant__ struct xg_lu_apply_args args)            \
    {                                                                                              \
        run<real, top>(args);                                                                      \
    }
ENTRY(s_panel, float, XG_LU_PANEL)
ENTRY(s_block, float, XG_LU_BLOCK)
ENTRY(d_panel, double, XG_LU_PANEL)
ENTRY(d_block, double, XG_LU_BLOCK)
