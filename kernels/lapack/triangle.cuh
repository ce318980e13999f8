/* SPDX-License-Identifier: MIT */
/* Solves with a lower triangle in shared memory, on FP64 tensor cores (Hopper). */
#ifndef XG_TRIANGLE_CUH
#define XG_TRIANGLE_CUH

#include "panel.cuh"
#include "panel_kabi.h"

/*
 * X = (D + L)^-1 B, where L is strictly lower and D is diagonal. Substitution row by row would be a
 * chain of TOP steps of 28 cycles and a broadcast each. Here the chain has TOP / 8 links: the 8 x 8
 * triangles on the diagonal are inverted, column by column, and everything is a product.
 *
 * A warp solves for 8 columns of B.
 */
enum { XG_TRIANGLE_SIDE = 8 };

/* Four more elements in a row let the lanes that read one tile use different banks. */
template <int TOP, int WARPS>
struct xg_triangle {
    enum { SIDE = XG_TRIANGLE_SIDE, TILES = TOP / SIDE };

    double l[TOP][TOP + 4];          /* [column][row], zeros outside the strict triangle */
    double inverse[TILES][SIDE][12]; /* [column][row] of each 8 x 8 triangle */
    double x[WARPS][SIDE][12];       /* [column][row] of a warp's tile */
};

#if XG_PANEL_HOPPER

/* c += a b for 8x8x4. Lane l has a[l / 4][l % 4], b[l % 4][l / 4], c[l / 4][l % 4 * 2 + 0, 1]. */
static __device__ __forceinline__ void xg_triangle_multiply(double (&c)[2], double a, double b)
{
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
}

/* Reads the triangle, whose elements are element(row, column), and inverts the triangles on the
 * diagonal, where D has 1 / inverse(row). All threads call it. */
template <int THREADS, int TOP, int WARPS, typename element_function, typename inverse_function>
static __device__ __forceinline__ void
xg_triangle_load(xg_triangle<TOP, WARPS> &s, element_function element, inverse_function inverse)
{
    enum { SIDE = XG_TRIANGLE_SIDE };
#pragma unroll 4
    for (int i = threadIdx.x; i < TOP * TOP; i += THREADS) {
        const int row = i % TOP, column = i / TOP;
        s.l[column][row] = row > column ? element(row, column) : 0;
    }
    __syncthreads();
    if (threadIdx.x < TOP) {
        const int tile = threadIdx.x / SIDE, column = threadIdx.x % SIDE;
        double y[SIDE];
#pragma unroll
        for (int i = 0; i < SIDE; i++)
            y[i] = i == column;
#pragma unroll
        for (int k = 0; k < SIDE; k++) {
            y[k] *= inverse(tile * SIDE + k);
#pragma unroll
            for (int i = k + 1; i < SIDE; i++)
                y[i] = fma(-s.l[tile * SIDE + k][tile * SIDE + i], y[k], y[i]);
        }
#pragma unroll
        for (int i = 0; i < SIDE; i++)
            s.inverse[tile][column][i] = y[i];
    }
    __syncthreads();
}

/* Brings a tile of 8 x 8 from the layout of results to that of the right factor's two halves. */
static __device__ __forceinline__ void xg_triangle_turn(double (*x)[12], const double (&from)[2],
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

/* Solves for the 8 columns of warp `warp`; b: tiles of 8 rows, from the top. */
template <int TOP, int WARPS>
static __device__ __forceinline__ void xg_triangle_solve(xg_triangle<TOP, WARPS> &s, int warp,
                                                         double (&b)[TOP / XG_TRIANGLE_SIDE][2])
{
    enum { SIDE = XG_TRIANGLE_SIDE };
    const int lane = threadIdx.x % 32, row = lane / 4, pair = lane % 4;
    double(*x)[12] = s.x[warp];
#pragma unroll
    for (int i = 0; i < TOP / SIDE; i++) {
        double factor[2];
        xg_triangle_turn(x, b[i], factor);
        b[i][0] = b[i][1] = 0;
#pragma unroll
        for (int k = 0; k < 2; k++)
            xg_triangle_multiply(b[i], s.inverse[i][k * 4 + pair][row], factor[k]);
        xg_triangle_turn(x, b[i], factor);
#pragma unroll
        for (int j = i + 1; j < TOP / SIDE; j++)
#pragma unroll
            for (int k = 0; k < 2; k++)
                xg_triangle_multiply(b[j], s.l[i * SIDE + k * 4 + pair][j * SIDE + row],
                                     -factor[k]);
    }
}

#endif

#endif
