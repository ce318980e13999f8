/* SPDX-License-Identifier: MIT */
/* A matrix times a vector: m is 1 or n is 1. The bottleneck is reading the matrix once. 32 or 128
 * results per block of 256 threads; FP32. */

/*
 * Every element of the matrix is used once, 0.5 FLOP per byte: shared memory gains nothing, and
 * only the number of loads in flight matters. A block computes OUTPUTS results from a slice of k.
 * If the matrix is contiguous along k, a warp goes along 4 rows at a time, 128 floats of each per
 * step, and its lanes add their sums by shuffles. If the matrix is contiguous along the results, a
 * thread has four columns and every GROUPS-th row of the slice. Such kernels are described in KBLAS
 * (Abdelfattah, Keyes and Ltaief, 2016). Slices are added as in sliced.cuh: in a cluster, in their
 * order.
 */

#include "../common/cluster.cuh"
#include "../common/target.cuh"
#include "../tiles.h"

enum { THREADS = 256, WARPS = THREADS / 32, PASS = 4, UNROLL = 8, RANKS_MAX = 8 };

/* y = M x, which is C = op(A) op(B) if m or n is 1. */
struct vector_product {
    const float *matrix, *vector;
    int64_t ld, vector_step, outputs, first, end; /* first, end: the slice of k */
    bool along_k, quads;
};

/* ROW: C is a row, and op(B) is the matrix. */
template <bool ROW>
static __device__ __forceinline__ struct vector_product
vector_product_find(const struct xg_sgemm_args &args, unsigned slice)
{
    struct vector_product p;
    p.matrix = (const float *)(ROW ? args.b : args.a);
    p.vector = (const float *)(ROW ? args.a : args.b);
    p.ld = ROW ? args.ldb : args.lda;
    p.vector_step = ROW ? (args.transa ? args.lda : 1) : (args.transb ? 1 : args.ldb);
    p.outputs = ROW ? args.n : args.m;
    p.along_k = ROW ? args.transb : !args.transa;
    p.quads = (((uint64_t)p.matrix & 15) | (p.ld & 3)) == 0;
    const int64_t quads = (args.k + 3) / 4;
    p.first = quads * slice / args.split * 4;
    p.end = min(quads * (slice + 1) / args.split * 4, args.k);
    return p;
}

/* Adds this lane's part of the sums of 4 rows over the slice. */
static __device__ __forceinline__ void add_rows(const struct vector_product &p, int64_t row,
                                                int lane, float *sum)
{
    const float *at[PASS];
#pragma unroll
    for (int r = 0; r < PASS; r++) /* instead of rows that do not exist: the last one */
        at[r] = p.matrix + min(row + r, p.outputs - 1) * p.ld;
    int64_t l = p.first;
    if (p.quads && p.vector_step == 1 && ((uint64_t)p.vector & 15) == 0) {
#pragma unroll 2
        for (l += lane * 4; l + 4 <= p.end; l += 128) {
            const float4 x = __ldg((const float4 *)(p.vector + l));
            float4 y[PASS];
#pragma unroll
            for (int r = 0; r < PASS; r++)
                y[r] = __ldcs((const float4 *)(at[r] + l));
#pragma unroll
            for (int r = 0; r < PASS; r++) {
                sum[r] = fmaf(x.x, y[r].x, sum[r]);
                sum[r] = fmaf(x.y, y[r].y, sum[r]);
                sum[r] = fmaf(x.z, y[r].z, sum[r]);
                sum[r] = fmaf(x.w, y[r].w, sum[r]);
            }
        }
        l = p.first + (p.end - p.first) / 4 * 4;
    }
#pragma unroll 2
    for (l += lane; l < p.end; l += 32) {
        const float x = __ldg(p.vector + l * p.vector_step);
#pragma unroll
        for (int r = 0; r < PASS; r++)
            sum[r] = fmaf(x, at[r][l], sum[r]);
    }
}

template <int OUTPUTS>
static __device__ __forceinline__ void dot_rows(const struct vector_product &p, int64_t first,
                                                float *sums)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll 1
    for (int i = warp * PASS; i < OUTPUTS; i += WARPS * PASS) {
        if (first + i >= p.outputs)
            break;
        float sum[PASS] = {};
        add_rows(p, first + i, lane, sum);
#pragma unroll
        for (int r = 0; r < PASS; r++) {
#pragma unroll
            for (int apart = 16; apart > 0; apart /= 2)
                sum[r] += __shfl_xor_sync(~0u, sum[r], apart);
            if (lane == r)
                sums[i + r] = sum[r];
        }
    }
    __syncthreads();
}

template <int OUTPUTS>
static __device__ __forceinline__ void add_columns(const struct vector_product &p, int64_t first,
                                                   float *sums)
{
    enum { LANES = OUTPUTS / 4, GROUPS = THREADS / LANES };
    __shared__ float part[GROUPS][OUTPUTS];
    const int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
    const int64_t left = p.outputs - first;
    const bool quads = p.quads && left >= OUTPUTS;
    const int col = quads ? lane * 4 : lane, apart = quads ? 1 : LANES;
    const float *at = p.matrix + (p.first + group) * p.ld + first + col;
    float sum[4] = {};
    if (quads) {
#pragma unroll UNROLL
        for (int64_t l = p.first + group; l < p.end; l += GROUPS) {
            const float x = __ldg(p.vector + l * p.vector_step);
            const float4 y = __ldcs((const float4 *)at);
            sum[0] = fmaf(x, y.x, sum[0]);
            sum[1] = fmaf(x, y.y, sum[1]);
            sum[2] = fmaf(x, y.z, sum[2]);
            sum[3] = fmaf(x, y.w, sum[3]);
            at += GROUPS * p.ld;
        }
    } else {
#pragma unroll 2
        for (int64_t l = p.first + group; l < p.end; l += GROUPS) {
            const float x = __ldg(p.vector + l * p.vector_step);
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (col + e * LANES < left)
                    sum[e] = fmaf(x, at[e * LANES], sum[e]);
            at += GROUPS * p.ld;
        }
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
        part[group][col + e * apart] = sum[e];
    __syncthreads();
    if (threadIdx.x < OUTPUTS) {
        float total = part[0][threadIdx.x];
#pragma unroll
        for (int g = 1; g < GROUPS; g++)
            total += part[g][threadIdx.x];
        sums[threadIdx.x] = total;
    }
    __syncthreads();
}

template <int OUTPUTS, bool ROW>
static __device__ __forceinline__ void multiply_vector(const struct xg_sgemm_args &args)
{
    __shared__ __align__(16) float sums[OUTPUTS];
    const unsigned slice = blockIdx.x % args.split;
    const int64_t first = (int64_t)(blockIdx.x / args.split) * OUTPUTS;
    const struct vector_product p = vector_product_find<ROW>(args, slice);
    if (p.along_k)
        dot_rows<OUTPUTS>(p, first, sums);
    else
        add_columns<OUTPUTS>(p, first, sums);

    const bool cluster = args.split > 1;
    if (cluster)
        xg_cluster_sync();
    const struct xg_target target = xg_target_find(args);
    const int quad = threadIdx.x * 4;
    const int64_t inside = p.outputs - first - quad;
    /* The blocks of a cluster divide the quads. */
    if (quad < OUTPUTS && inside > 0 && (!cluster || threadIdx.x % args.split == slice)) {
        float4 total = *(const float4 *)(sums + quad);
        if (cluster) {
            float4 part[RANKS_MAX];
#pragma unroll
            for (int r = 0; r < RANKS_MAX; r++)
                if (r < args.split)
                    part[r] = xg_cluster_load4(xg_cluster_address(sums + quad, (unsigned)r));
            total = part[0];
#pragma unroll
            for (int r = 1; r < RANKS_MAX; r++)
                if (r < args.split) {
                    total.x += part[r].x;
                    total.y += part[r].y;
                    total.z += part[r].z;
                    total.w += part[r].w;
                }
        }
        const float sum[4] = {total.x, total.y, total.z, total.w};
        if (ROW)
            xg_target_store4(target, 0, first + quad, (int)min(inside, (int64_t)4), sum);
        else
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (e < inside)
                    xg_target_store(target, first + quad + e, 0, sum[e]);
    }
    if (cluster)
        xg_cluster_sync();
}

#define ENTRY(tile, outputs, row)                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                       \
        xg_sgemm_gemv_sm75_##tile(const __grid_constant__ struct xg_sgemm_args args)               \
    {                                                                                              \
        XG_TILES_ASSERT(gemv, tile, row ? 1 : outputs, row ? outputs : 1, THREADS);                \
        multiply_vector<outputs, row>(args);                                                       \
    }

ENTRY(1x128x4, 128, true)
ENTRY(1x32x4, 32, true)
ENTRY(128x1x4, 128, false)
ENTRY(32x1x4, 32, false)
