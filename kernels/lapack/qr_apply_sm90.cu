/* SPDX-License-Identifier: MIT */
/* Applies a panel of a QR factorization to the rest of its block, and solves for the whole block's
 * reflectors (Hopper). */

/*
 * H_1 ... H_k = 1 - V T VT, so (H_1 ... H_k)T C = C - V TT (VT C). T^-1 has 1 / tau on its diagonal
 * and the elements of VT V above it (Puglisi 1992; Joffrain, Low, Quintana-Orti, van de Geijn and
 * Van Zee 2006), so TT W is the solution of a lower triangular system, and no T is formed. With 8 x
 * 8 triangles that are inverted from tau rather than from 1 / tau, a reflector of tau = 0 is no
 * special case. The elements of VT V come from the panels' kernel and from this one.
 *
 * A panel. A cluster has 8 columns of C, which its blocks share by rows and keep in registers, so C
 * is read once and written once, and V is read twice. FP64 tensor cores compute both products. W =
 * VT C needs one sum over the cluster. Its rows may be added in any order: step e = 0, 1 of a tile
 * of 8 rows adds the rows 2 t + e, where t is the lane in a group of four. There the lane also has
 * the results of the second product, C^T - (TT W)T VT.
 *
 * The columns of the block that are left of the panel are V's: for them W is what G needs, and
 * nothing is updated. So a block of 128 columns has 12 clusters in each launch.
 *
 * A block of panels. cuBLAS computes W and the update; the second kernel solves.
 */
#include "../common/cluster.cuh"
#include "qr_kabi.h"
#include "triangle.cuh"

enum { PANEL = XG_PANEL, BLOCK = XG_PANEL_BLOCK, SIDE = XG_TRIANGLE_SIDE };
enum { THREADS = XG_QR_APPLY_THREADS, WARPS = THREADS / 32 };
enum { WARP_ROWS = XG_QR_APPLY_ROWS / WARPS, TILES = WARP_ROWS / SIDE };
enum { SOLVE_WARPS = XG_QR_SOLVE_THREADS / 32 };
static_assert(XG_QR_STRIP == SIDE && THREADS == PANEL * SIDE, "a thread has an element of W");

#if XG_PANEL_HOPPER

struct shared {
    double part[WARPS][SIDE][PANEL + 2]; /* of W, of each warp: [column][row] */
    double sum[THREADS];                 /* of the block */
    double w[SIDE][PANEL + 2];
    xg_triangle<PANEL, 1> triangle;
};

template <typename real>
static __device__ __forceinline__ double load(const real *at, bool in)
{
    return in ? (double)*at : 0;
}

/* W = VT C of the whole cluster; thread t has row t % 32 of column t / 32. c: the warp's tiles of
 * C. v: V in the lane's first row, of `rows` rows from there. */
template <typename real>
static __device__ __forceinline__ double multiply(shared &s, const double (&c)[TILES][2],
                                                  const real *v, int64_t ldv, int k, int rows,
                                                  unsigned blocks)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4, pair = lane % 4;
    double w[PANEL / SIDE][2] = {};
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
        for (int i = 0; i < PANEL / SIDE; i++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int r = tile * SIDE + pair * 2 + e, column = i * SIDE + row;
                xg_triangle_multiply(w[i], load(v + r + column * ldv, r < rows && column < k),
                                     c[tile][e]);
            }
#pragma unroll
    for (int i = 0; i < PANEL / SIDE; i++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            s.part[warp][pair * 2 + e][i * SIDE + row] = w[i][e];
    __syncthreads();
    double sum = 0;
#pragma unroll
    for (int i = 0; i < WARPS; i++)
        sum += s.part[i][warp][lane];
    s.sum[threadIdx.x] = sum;
    xg_cluster_sync();
    sum = 0;
#pragma unroll 8
    for (unsigned i = 0; i < blocks; i++)
        sum += xg_cluster_load_double(xg_cluster_address(&s.sum[threadIdx.x], i));
    return sum;
}

/* Replaces s.w by TT W. */
static __device__ __forceinline__ void solve_panel(shared &s)
{
    const int lane = threadIdx.x, row = lane / 4, pair = lane % 4;
    if (threadIdx.x < 32) {
        double b[PANEL / SIDE][2];
#pragma unroll
        for (int i = 0; i < PANEL / SIDE; i++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                b[i][e] = s.w[pair * 2 + e][i * SIDE + row];
        xg_triangle_solve(s.triangle, 0, b);
#pragma unroll
        for (int i = 0; i < PANEL / SIDE; i++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                s.w[pair * 2 + e][i * SIDE + row] = b[i][e];
    }
    __syncthreads();
}

template <typename real>
static __device__ __forceinline__ void apply(const xg_qr_apply_args &args)
{
    __shared__ __align__(16) shared s;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4, pair = lane % 4;
    const unsigned blocks = (unsigned)(args.rows + XG_QR_APPLY_ROWS - 1) / XG_QR_APPLY_ROWS;
    const unsigned rank = blockIdx.x % blocks;
    const int first = (int)rank * XG_QR_APPLY_ROWS + warp * WARP_ROWS, rows = args.rows - first;
    const int left = (args.left + SIDE - 1) / SIDE; /* strips */
    const int strip = (int)(blockIdx.x / blocks);
    const bool updates = strip >= left;
    const int column = (updates ? strip - left : strip) * SIDE + row;
    const bool in = column < (updates ? args.columns : args.left);
    const real *v = (const real *)args.v + first;
    const real *panel = v + args.before * args.ldv;
    real *at = (real *)args.a + first + column * args.ld;
    const real *from = updates ? at : v + column * args.ldv;

    double c[TILES][2];
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int r = tile * SIDE + pair * 2 + e;
            c[tile][e] = load(from + r, in && r < rows);
        }
    const double *gram = (const double *)args.gram + args.before * BLOCK;
    const real *tau = (const real *)args.tau;
    const int k = args.k;
    if (updates)
        xg_triangle_load<THREADS>(
            s.triangle, [=](int i, int j) { return load(gram + i + j * BLOCK, i < k); },
            [=](int i) { return load(tau + i, i < k); });
    const double sum = multiply(s, c, panel, args.ldv, k, rows, blocks);
    if (updates) {
        s.w[warp][lane] = sum;
        __syncthreads();
        solve_panel(s);
        double w[PANEL / 4];
#pragma unroll
        for (int i = 0; i < PANEL / 4; i++)
            w[i] = -s.w[row][i * 4 + pair];
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            const int r = tile * SIDE + row;
#pragma unroll
            for (int i = 0; i < PANEL / 4; i++) {
                const int j = i * 4 + pair;
                xg_triangle_multiply(c[tile], w[i],
                                     load(panel + r + j * args.ldv, r < rows && j < k));
            }
#pragma unroll
            for (int e = 0; e < 2; e++)
                if (in && tile * SIDE + pair * 2 + e < rows)
                    at[tile * SIDE + pair * 2 + e] = (real)c[tile][e];
        }
    } else if (rank == 0 && lane < k && strip * SIDE + warp < args.left) {
        ((double *)args.gram)[lane + (strip * SIDE + warp) * BLOCK] = sum;
    }
    xg_cluster_sync(); /* the others have read this block's sums */
}

template <typename real>
static __device__ __forceinline__ void solve(const xg_qr_solve_args &args)
{
    extern __shared__ __align__(16) unsigned char dynamic[];
    xg_triangle<BLOCK, SOLVE_WARPS> &s = *(xg_triangle<BLOCK, SOLVE_WARPS> *)dynamic;
    static_assert(sizeof s == XG_TRIANGLE_BYTES(BLOCK, SOLVE_WARPS), "panel_kabi.h");
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4, pair = lane % 4;
    const int first = (int)blockIdx.x * XG_QR_SOLVE_STRIP + warp * SIDE + pair * 2, k = args.k;
    const double *gram = (const double *)args.gram;
    const real *tau = (const real *)args.tau;
    real *w = (real *)args.w + first * args.ld;
    xg_triangle_load<XG_QR_SOLVE_THREADS>(
        s, [=](int i, int j) { return load(gram + i + j * BLOCK, i < k); },
        [=](int i) { return load(tau + i, i < k); });
    double b[BLOCK / SIDE][2];
#pragma unroll
    for (int i = 0; i < BLOCK / SIDE; i++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            b[i][e] = load(w + i * SIDE + row + e * args.ld,
                           i * SIDE + row < k && first + e < args.columns);
    xg_triangle_solve(s, warp, b);
#pragma unroll
    for (int i = 0; i < BLOCK / SIDE; i++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            if (i * SIDE + row < k && first + e < args.columns)
                w[i * SIDE + row + e * args.ld] = (real)b[i][e];
}

#endif

template <typename real>
static __device__ __forceinline__ void run(const xg_qr_apply_args &args)
{
#if XG_PANEL_HOPPER
    apply<real>(args);
#else
    asm volatile("trap;");
#endif
}

template <typename real>
static __device__ __forceinline__ void run(const xg_qr_solve_args &args)
{
#if XG_PANEL_HOPPER
    solve<real>(args);
#else
    asm volatile("trap;");
#endif
}

#define ENTRY(name, real, role, threads)                                                           \
    extern "C" __global__ void __launch_bounds__(threads, 1)                                       \
        xg_qr_##name##_sm90(const __grid_constant__ struct xg_qr_##role##_args args)               \
    {                                                                                              \
        run<real>(args);                                                                           \
    }
ENTRY(apply_s, float, apply, XG_QR_APPLY_THREADS)
ENTRY(apply_d, double, apply, XG_QR_APPLY_THREADS)
ENTRY(solve_s, float, solve, XG_QR_SOLVE_THREADS)
ENTRY(solve_d, double, solve, XG_QR_SOLVE_THREADS)
