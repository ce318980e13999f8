/* SPDX-License-Identifier: MIT */
/* A panel of a QR factorization by Householder reflectors, in one cluster (Hopper). */

/*
 * Why. A reflector is known only after the previous one has been applied to its column, so a panel
 * is a chain of `columns` steps. Up to n = 2048 the latency of a step is most of the time of a QR
 * factorization.
 *
 * Where the data is. The panel is in registers from the first step to the last one. A thread has 4
 * or 8 rows of 8 columns, a block has 256 or 512 rows, and a cluster has up to 16 blocks.
 *
 * A step. x is the part of column j below row j. The products of x with all 32 columns are summed
 * over the warp's rows by shuffles, over the block's warps in shared memory, and over the cluster
 * by st.async, which also counts the bytes at the receiver's barrier: one exchange per step, and no
 * barrier of the cluster. Block 0, which has row j, sends it too. Then each block knows x'x, x'a_k
 * and the elements of row j, hence the reflector and its product with each column, and each thread
 * updates its elements. All blocks add in the same order, so they compute the same numbers. There
 * are two sets of buffers: a block can be one step ahead of another.
 *
 * The products with finished columns are those of V'V, from which the block reflector is made.
 *
 * Scale. Q does not depend on the columns' scales. While they are here, columns are multiplied by
 * powers of two so that their largest elements are about 1, and x'x does not overflow. If x'x is
 * below NEGLIGIBLE, bits of it may have underflowed, and tau would be wrong. Then |x| is below
 * 2^-450 (in single precision 2^-300 of its column), and the kernel treats x as 0. Single precision
 * is computed in double, which needs no scale, and rounded once.
 *
 * Registers have constant indexes: each group of 8 columns has its own code, which does not update
 * the columns that earlier groups finished.
 */
#include <limits.h>

#include "../common/barrier.cuh"
#include "../common/cluster.cuh"
#include "panel.cuh"
#include "qr_kabi.h"

enum { PANEL = XG_PANEL, CLUSTER_MOST = XG_PANEL_CLUSTER_MOST };
enum { THREADS = XG_QR_THREADS, WARPS = THREADS / 32 };
enum { COLUMNS = 8, GROUP = 8 }; /* of a thread; of a group */

#if XG_PANEL_HOPPER

/* 1 / sqrt(x) within two units in the last place. */
static __device__ __forceinline__ double reciprocal_root(double x)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x)); /* 20 bits */
#pragma unroll
    for (int i = 0; i < 2; i++)
        y = fma(y * 0.5, fma(-x * y, y, 1.0), y);
    return y;
}

static constexpr double NEGLIGIBLE = 0x1p-900;

static __device__ __forceinline__ double power(int exponent)
{
    return __hiloint2double((1023 + exponent) << 20, 0);
}

template <typename real, int ROWS, bool CLUSTER>
struct panel {
    enum { SOURCES = CLUSTER ? CLUSTER_MOST : 1 };
    static_assert(WARPS * 8 * ROWS == XG_PANEL_ROWS || WARPS * 8 * ROWS == XG_PANEL_TALL_ROWS,
                  "panel_kabi.h");

    /* [0] is for even columns, [1] for odd ones. */
    struct shared {
        double sum[2][SOURCES][PANEL]; /* of each block */
        double part[2][WARPS][PANEL];  /* of each warp */
        double row[2][PANEL];          /* the elements of row j */
        double w[WARPS][PANEL];        /* tau v'a_k */
        double scale[PANEL];
        unsigned most[PANEL]; /* the upper 32 bits of the column's largest magnitude here */
        uint64_t arrived[2];
    };

    shared &s;
    const xg_qr_panel_args &args;
    unsigned rank, blocks, lane, warp;
    int first, place; /* the thread's first row; its first column / 2 */
    double a[ROWS][COLUMNS];

    __device__ __forceinline__ panel(shared &s_, const xg_qr_panel_args &args_)
        : s(s_), args(args_), rank(CLUSTER ? xg_cluster_rank() : 0),
          blocks(CLUSTER ? gridDim.x : 1), lane(threadIdx.x % 32), warp(threadIdx.x / 32),
          first((int)((rank * WARPS + warp) * ROWS * 8 + lane / 4)), place((int)lane % 4)
    {
    }

    __device__ __forceinline__ int row(int q) const { return first + q * 8; }

    /* The column of element i of a row: two adjacent ones of each group. */
    __device__ __forceinline__ int column(int i) const { return i / 2 * GROUP + place * 2 + i % 2; }

    /* The warp's sums of c[i] over its 8 lanes of each column: lane 4 r + g has that of its own
     * c[r]. */
    __device__ __forceinline__ void add_lanes(double (&c)[COLUMNS]) const
    {
#pragma unroll
        for (int half = COLUMNS / 2; half; half /= 2) {
            const bool upper = lane & (unsigned)(half * 4);
#pragma unroll
            for (int i = 0; i < half; i++) {
                const double give = upper ? c[i] : c[i + half], keep = upper ? c[i + half] : c[i];
                c[i] = keep + __shfl_xor_sync(~0u, give, half * 4);
            }
        }
    }

    /* Sends the block's sums to all blocks, and from block 0 row j as well. A lane has two columns
     * and half a warp has a block. */
    __device__ __forceinline__ void send_sums(int slot)
    {
        const unsigned to = warp * 2 + lane / 16, k = lane % 16 * 2;
        if (warp * 2 >= blocks)
            return;
        double2 sum = {0, 0};
#pragma unroll
        for (int i = 0; i < WARPS; i++) {
            const double2 part = *(const double2 *)&s.part[slot][i][k];
            sum.x += part.x;
            sum.y += part.y;
        }
        if (to >= blocks)
            return;
        const unsigned barrier = xg_cluster_address(&s.arrived[slot], to);
        xg_cluster_send(xg_cluster_address(&s.sum[slot][rank][k], to), *(const uint4 *)&sum,
                        barrier);
        if (rank == 0)
            xg_cluster_send(xg_cluster_address(&s.row[slot][k], to),
                            *(const uint4 *)&s.row[slot][k], barrier);
    }

    /* x'a_k for the column k = lane, over all rows below row j. */
    __device__ __forceinline__ double add_blocks(int j)
    {
        const int slot = j % 2;
        double sum = 0;
        if (!CLUSTER) {
#pragma unroll
            for (int i = 0; i < WARPS; i++)
                sum += s.part[slot][i][lane];
            return sum;
        }
        send_sums(slot);
        const unsigned barrier = xg_shared_address(&s.arrived[slot]);
        if (threadIdx.x == 0)
            xg_barrier_expect(barrier, (blocks + 1) * PANEL * (unsigned)sizeof(double));
        xg_barrier_wait(barrier, j / 2 % 2);
#pragma unroll 4
        for (unsigned i = 0; i < blocks; i++)
            sum += s.sum[slot][i][lane];
        return sum;
    }

    /* Makes and applies the reflector of column j, which is element I of the lanes at `at`. */
    template <int I>
    __device__ __forceinline__ void step(int at)
    {
        const int j = I / 2 * GROUP + at * 2 + I % 2, slot = j % 2;
        double x[ROWS], c[COLUMNS] = {};
#pragma unroll
        for (int q = 0; q < ROWS; q++) {
            x[q] = __shfl_sync(~0u, a[q][I], (int)(lane & ~3u) | at);
            x[q] = row(q) > j ? x[q] : 0;
#pragma unroll
            for (int i = 0; i < COLUMNS; i++)
                c[i] = fma(x[q], a[q][i], c[i]);
        }
        add_lanes(c);
        s.part[slot][warp][column((int)lane / 4)] = c[0];
        if (row(I / 2) == j)
#pragma unroll
            for (int i = 0; i < COLUMNS; i++)
                s.row[slot][column(i)] = a[I / 2][i];
        __syncthreads();
        const double sum = add_blocks(j), own = s.row[slot][lane];

        /* With alpha = a_jj and the norm r of alpha and x: beta = -+r, v = x / (alpha - beta),
         * tau = (beta - alpha) / beta, hence tau / (alpha - beta) = +-1 / r. */
        const double alpha = s.row[slot][j], rest = __shfl_sync(~0u, sum, j);
        const bool none = rest < NEGLIGIBLE;
        const double square = fma(alpha, alpha, rest), root = reciprocal_root(square);
        const double norm = square * root;
        const double inverse = none ? 0 : copysign(xg_reciprocal(fabs(alpha) + norm), alpha);
        const double tau = none ? 0 : fma(fabs(alpha), root, 1.0);
        const double beta = none ? alpha : -copysign(norm, alpha);
        const double product = fma(none ? 0 : copysign(root, alpha), sum, tau * own);
        s.w[warp][lane] = (int)lane > j ? product : 0;
        __syncwarp();
        if (rank == 0 && warp == 0 && j < args.columns) {
            if ((int)lane < j)
                ((double *)args.gram)[j + (int)lane * XG_PANEL_BLOCK] = fma(sum, inverse, own);
            if (lane == 0)
                ((real *)args.tau)[j] = (real)tau;
        }
#pragma unroll
        for (int q = 0; q < ROWS; q++) {
            x[q] = row(q) == j ? 1 : x[q] * inverse;
#pragma unroll
            for (int i = I / 2 * 2; i < COLUMNS; i += 2) {
                const double2 w = *(const double2 *)&s.w[warp][column(i)];
                a[q][i] = fma(-x[q], w.x, a[q][i]);
                a[q][i + 1] = fma(-x[q], w.y, a[q][i + 1]);
            }
            if (place == at)
                a[q][I] = row(q) > j ? x[q] : row(q) == j ? beta : a[q][I];
        }
    }

    template <int I>
    __device__ __forceinline__ void steps(void)
    {
        if (I / 2 * GROUP >= args.columns)
            return;
#pragma unroll 1
        for (int at = 0; at < GROUP / 2; at++) {
            step<I>(at);
            step<I + 1>(at);
        }
        if constexpr (I + 2 < COLUMNS)
            steps<I + 2>();
    }

    __device__ __forceinline__ bool has(int q, int i) const
    {
        return row(q) < args.rows && column(i) < args.columns;
    }

    __device__ __forceinline__ void load(void)
    {
        const real *from = (const real *)args.a + first;
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
#pragma unroll
            for (int q = 0; q < ROWS; q++)
                a[q][i] = has(q, i) ? (double)from[q * 8 + column(i) * args.ld] : 0;
    }

    /* Finds the largest magnitudes of the block's part of each column. */
    __device__ __forceinline__ void find_most(void)
    {
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) {
            unsigned most = 0;
#pragma unroll
            for (int q = 0; q < ROWS; q++)
                most = max(most, (unsigned)__double2hiint(a[q][i]) & INT_MAX);
#pragma unroll
            for (int apart = 4; apart < 32; apart *= 2)
                most = max(most, __shfl_xor_sync(~0u, most, apart));
            if (lane / 4 == 0)
                atomicMax(&s.most[column(i)], most);
        }
    }

    /* Scales the columns. The blocks have found their largest magnitudes. */
    __device__ __forceinline__ void scale(void)
    {
        if (threadIdx.x < PANEL) {
            unsigned most = s.most[threadIdx.x];
            for (unsigned i = 0; CLUSTER && i < blocks; i++)
                most = max(most,
                           xg_cluster_load_unsigned(xg_cluster_address(&s.most[threadIdx.x], i)));
            /* An exponent of 1023 would have a subnormal reciprocal. */
            const int exponent = min(max((int)(most >> 20) - 1023, -1022), 1022);
            s.scale[threadIdx.x] = power(-exponent);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
#pragma unroll
            for (int q = 0; q < ROWS; q++)
                a[q][i] *= s.scale[column(i)];
    }

    __device__ __forceinline__ void store(void) const
    {
        real *to = (real *)args.a + first, *v = (real *)args.v + args.before + first;
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) {
            const int k = column(i);
            const double unscale = sizeof(real) == sizeof(double) ? 1 / s.scale[k] : 1;
#pragma unroll
            for (int q = 0; q < ROWS; q++)
                if (has(q, i)) {
                    const bool below = row(q) > k;
                    to[q * 8 + k * args.ld] = (real)(below ? a[q][i] : a[q][i] * unscale);
                    v[q * 8 + k * args.ldv] = (real)(below ? a[q][i] : row(q) == k);
                }
        }
        for (int i = (int)threadIdx.x; rank == 0 && i < args.before * args.columns; i += THREADS)
            ((real *)args.v)[i % args.before + i / args.before * args.ldv] = 0;
    }

    __device__ __forceinline__ void run(void)
    {
        const bool scales = sizeof(real) == sizeof(double);
        if (CLUSTER) {
            if (threadIdx.x < 2)
                xg_barrier_init(xg_shared_address(&s.arrived[threadIdx.x]), 1);
            xg_barrier_init_fence();
        }
        load();
        if (scales) {
            if (threadIdx.x < PANEL)
                s.most[threadIdx.x] = 0;
            __syncthreads();
            find_most();
        }
        if (CLUSTER)
            xg_cluster_sync();
        else
            __syncthreads();
        if (scales)
            scale();
        steps<0>();
        /* Each block has waited for all that is sent to it. So no block ends while another one
         * sends to it or reads what it found. */
        store();
    }
};

#endif

template <typename real, int ROWS, bool CLUSTER>
static __device__ __forceinline__ void factorize(const xg_qr_panel_args &args)
{
#if XG_PANEL_HOPPER
    __shared__ __align__(16) typename panel<real, ROWS, CLUSTER>::shared s;
    panel<real, ROWS, CLUSTER>(s, args).run();
#else
    asm volatile("trap;");
#endif
}

/* One block of 256 rows; a cluster of up to 16 such blocks; up to 16 blocks of 512 rows. */
#define ENTRY(name, real, rows, cluster)                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                       \
        xg_qr_panel_##name##_sm90(const __grid_constant__ struct xg_qr_panel_args args)            \
    {                                                                                              \
        factorize<real, rows, cluster>(args);                                                      \
    }
ENTRY(s1, float, 4, false)
ENTRY(s, float, 4, true)
ENTRY(s_tall, float, 8, true)
ENTRY(d1, double, 4, false)
ENTRY(d, double, 4, true)
ENTRY(d_tall, double, 8, true)
