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
 * Accuracy. The 8 x 8 triangles on the diagonal are inverted (triangle.cuh). |l| is at most 1 but
 * for rounding, so an element of such an inverse is at most 64, and the computed X solves (L + dL)
 * X = B with |dL| below some 100 units of |L| in the worst case, a few in practice. Inverses of 32
 * x 32 triangles could have elements of 2^30.
 *
 * The kernel computes single precision in double, on the same tensor cores, and rounds once.
 */
#include "lu_kabi.h"
#include "triangle.cuh"

enum { WARPS = XG_LU_APPLY_THREADS / 32, COLUMNS = XG_LU_STRIP / WARPS, SIDE = COLUMNS };
static_assert(SIDE == XG_TRIANGLE_SIDE, "a warp solves for its columns");

#if XG_PANEL_HOPPER

template <int TOP>
using triangle = xg_triangle<TOP, WARPS>;
static_assert(sizeof(triangle<XG_PANEL>) == XG_LU_APPLY_BYTES(XG_PANEL), "panel_kabi.h");
static_assert(sizeof(triangle<XG_PANEL_BLOCK>) == XG_LU_APPLY_BYTES(XG_PANEL_BLOCK),
              "panel_kabi.h");

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
        const real *l = (const real *)args.l;
        const int k = args.k;
        const int64_t ld = args.ld;
        xg_triangle_load<XG_LU_APPLY_THREADS>(
            s, [=](int i, int j) { return i < k ? (double)l[i + j * ld] : 0; },
            [](int) { return 1.0; });
        xg_triangle_solve(s, threadIdx.x / 32, b);
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
#if XG_PANEL_HOPPER
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
ENTRY(s_panel, float, XG_PANEL)
ENTRY(s_block, float, XG_PANEL_BLOCK)
ENTRY(d_panel, double, XG_PANEL)
ENTRY(d_block, double, XG_PANEL_BLOCK)
