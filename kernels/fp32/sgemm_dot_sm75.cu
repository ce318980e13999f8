/* SPDX-License-Identifier: MIT */
/* A few rows times a vector, or a vector times a few columns, with a long k: m is 1 or n is 1. A
 * block of 512 threads computes 4 results; FP32, summed in a tree. */

/*
 * In sgemm_gemv_sm75.cu a warp computes whole rows, so one result with a long k would keep only one
 * warp of a block busy. Here all 16 warps of a block divide the k of four results, so that a slice
 * of 12500 is six loads per thread, all in flight at once. The sums are a parallel reduction (M.
 * Harris, "Optimizing Parallel Reduction in CUDA"). The bottleneck is latency: the launch, one
 * access to memory, and the sums through shuffles, shared memory and the cluster. 1 x 1 with k =
 * 100000 reads 0.8 MB, which takes 8 blocks 0.8 us at 64 bytes per cycle each.
 */

#include "../common/cluster.cuh"
#include "../common/target.cuh"
#include "../tiles.h"

enum {
    THREADS = 512,
    WARPS = THREADS / 32,
    OUTPUTS = 4,
#if __CUDA_ARCH__ >= 1000 /* ptxas spills there with larger ones; the order of k is the same */
    BATCH = 2,
    BATCH_STEPS = 8,
#else
    BATCH = 4,
    BATCH_STEPS = 12,
#endif
    RANKS_MAX = 8
};

/* y = M x, which is C = op(A) op(B) if m or n is 1. It has both strides of M, of which one is 1.
 */
struct dot_product {
    const float *matrix, *vector;
    int64_t output_step, k_step, vector_step;
    int64_t begin, end; /* the slice of k */
    int outputs;        /* results of the block that exist */
    bool along_k;       /* the matrix is contiguous along k */
};

/* ROW: C is a row, and op(B) is the matrix. */
template <bool ROW>
static __device__ __forceinline__ struct dot_product
dot_product_find(const struct xg_sgemm_args &args, unsigned slice, int64_t first)
{
    const int64_t ld = ROW ? args.ldb : args.lda, quads = (args.k + 3) / 4;
    struct dot_product p;
    p.along_k = ROW ? args.transb : !args.transa;
    p.output_step = p.along_k ? ld : 1;
    p.k_step = p.along_k ? 1 : ld;
    p.matrix = (const float *)(ROW ? args.b : args.a) + first * p.output_step;
    p.vector = (const float *)(ROW ? args.a : args.b);
    p.vector_step = ROW ? (args.transa ? args.lda : 1) : (args.transb ? 1 : args.ldb);
    p.begin = quads * slice / args.split * 4;
    p.end = min(quads * (slice + 1) / args.split * 4, args.k);
    p.outputs = (int)min((ROW ? args.n : args.m) - first, (int64_t)OUTPUTS);
    return p;
}

/* Loads four adjacent elements along k, or zeros. */
template <bool QUADS>
static __device__ __forceinline__ float4 read_quad(const float *from, int64_t step, bool there)
{
    float4 value = {};
    if (QUADS && there)
        value = __ldg((const float4 *)from);
    if (!QUADS && there) {
        value.x = __ldg(from);
        value.y = __ldg(from + step);
        value.z = __ldg(from + 2 * step);
        value.w = __ldg(from + 3 * step);
    }
    return value;
}

/* Adds one step of k if it is in the slice. */
static __device__ __forceinline__ void add_single(const struct dot_product &p, int64_t l,
                                                  float *sum)
{
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (l < p.end && r < p.outputs)
            sum[r] = fmaf(__ldg(p.vector + l * p.vector_step),
                          __ldg(p.matrix + r * p.output_step + l * p.k_step), sum[r]);
}

/*
 * Adds this thread's share of the slice: every THREADS-th quad along k, BATCH of them loaded at
 * once, with any alignment. The rest, less than a quad, is one float per thread.
 */
template <bool MATRIX_QUADS, bool VECTOR_QUADS>
static __device__ __forceinline__ void add_quads(const struct dot_product &p, float *sum)
{
    const int64_t whole = p.begin + (p.end - p.begin) / 4 * 4;
    for (int64_t l = p.begin + threadIdx.x * 4; l < whole; l += BATCH * THREADS * 4) {
        float4 x[BATCH], y[BATCH][OUTPUTS];
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            const int64_t at = l + u * THREADS * 4;
            x[u] =
                read_quad<VECTOR_QUADS>(p.vector + at * p.vector_step, p.vector_step, at < whole);
#pragma unroll
            for (int r = 0; r < OUTPUTS; r++)
                y[u][r] = read_quad<MATRIX_QUADS>(p.matrix + r * p.output_step + at * p.k_step,
                                                  p.k_step, at < whole && r < p.outputs);
        }
#pragma unroll
        for (int u = 0; u < BATCH; u++)
#pragma unroll
            for (int r = 0; r < OUTPUTS; r++) {
                sum[r] = fmaf(x[u].x, y[u][r].x, sum[r]);
                sum[r] = fmaf(x[u].y, y[u][r].y, sum[r]);
                sum[r] = fmaf(x[u].z, y[u][r].z, sum[r]);
                sum[r] = fmaf(x[u].w, y[u][r].w, sum[r]);
            }
    }
    add_single(p, whole + threadIdx.x, sum);
}

/* The same if the matrix is contiguous along the results: every THREADS-th step of k. */
static __device__ __forceinline__ void add_steps(const struct dot_product &p, float *sum)
{
    for (int64_t l = p.begin + threadIdx.x; l < p.end; l += BATCH_STEPS * THREADS) {
        float x[BATCH_STEPS], y[BATCH_STEPS][OUTPUTS];
#pragma unroll
        for (int u = 0; u < BATCH_STEPS; u++) {
            const int64_t at = l + u * THREADS;
            x[u] = at < p.end ? __ldg(p.vector + at * p.vector_step) : 0.0f;
#pragma unroll
            for (int r = 0; r < OUTPUTS; r++)
                y[u][r] = at < p.end && r < p.outputs ? __ldg(p.matrix + at * p.k_step + r) : 0.0f;
        }
#pragma unroll
        for (int u = 0; u < BATCH_STEPS; u++)
#pragma unroll
            for (int r = 0; r < OUTPUTS; r++)
                sum[r] = fmaf(x[u], y[u][r], sum[r]);
    }
}

static __device__ __forceinline__ bool is_aligned(const float *data, int64_t ld)
{
    return (((uint64_t)data & 15) | (ld & 3)) == 0;
}

template <bool ROW>
static __device__ __forceinline__ void multiply_few(const struct xg_sgemm_args &args)
{
    __shared__ float part[OUTPUTS][WARPS];
    __shared__ float sums[OUTPUTS];
    const unsigned slice = blockIdx.x % args.split;
    const int64_t first = (int64_t)(blockIdx.x / args.split) * OUTPUTS;
    const struct dot_product p = dot_product_find<ROW>(args, slice, first);
    float sum[OUTPUTS] = {};
    const bool matrix_quads = is_aligned(p.matrix, p.outputs > 1 ? p.output_step : 0);
    const bool vector_quads = p.vector_step == 1 && is_aligned(p.vector, 0);
    if (!p.along_k)
        add_steps(p, sum);
    else if (matrix_quads && vector_quads)
        add_quads<true, true>(p, sum);
    else if (matrix_quads)
        add_quads<true, false>(p, sum);
    else if (vector_quads)
        add_quads<false, true>(p, sum);
    else
        add_quads<false, false>(p, sum);

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
#pragma unroll
        for (int apart = 16; apart > 0; apart /= 2)
            sum[r] += __shfl_xor_sync(~0u, sum[r], apart);
        if (lane == r)
            part[r][warp] = sum[r];
    }
    __syncthreads();
    const bool cluster = args.split > 1;
    const struct xg_target target = xg_target_find(args);
    float total = 0.0f;
    if (warp < OUTPUTS) {
        total = lane < WARPS ? part[warp][lane] : 0.0f;
#pragma unroll
        for (int apart = 16; apart > 0; apart /= 2)
            total += __shfl_xor_sync(~0u, total, apart);
        if (lane == 0)
            sums[warp] = total;
    }
    if (cluster) {
        xg_cluster_sync();
        /* Rank r of the cluster adds result r and every size-th result after it. */
        if (warp == 0 && lane < OUTPUTS && lane % args.split == slice) {
            total = 0.0f;
#pragma unroll
            for (int r = 0; r < RANKS_MAX; r++)
                if (r < args.split)
                    total += xg_cluster_load(xg_cluster_address(sums + lane, (unsigned)r));
        }
    }
    const int own = cluster ? threadIdx.x : warp;
    const bool writes =
        cluster ? threadIdx.x < OUTPUTS && threadIdx.x % args.split == slice : lane == 0;
    if (writes && own < p.outputs)
        xg_target_store(target, ROW ? 0 : first + own, ROW ? first + own : 0, total);
    if (cluster)
        xg_cluster_sync();
}

#define ENTRY(tile, row)                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                       \
        xg_sgemm_dot_sm75_##tile(const __grid_constant__ struct xg_sgemm_args args)                \
    {                                                                                              \
        XG_TILES_ASSERT(dot, tile, row ? 1 : int(OUTPUTS), row ? int(OUTPUTS) : 1, int(THREADS));  \
        multiply_few<row>(args);                                                                   \
    }

ENTRY(1x4x2048, true)
ENTRY(4x1x2048, false)
