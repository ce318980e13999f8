/* SPDX-License-Identifier: MIT */
/* The second step of a product whose slices of k wrote their sums to the scratch (kabi.h): adds
 * them in their order, in FP32. It is the reduction of split-K, as in CUTLASS. */

/*
 * It reads each slice's sums once, in quads, usually from L2, and writes C. The scratch has one
 * matrix (m, n rounded up to 4) for each slice, one after the other.
 *
 * With few slices C is large: a thread has a quad, and the loads of a batch of slices are in flight
 * at once. With many slices C is small: 8 groups of threads add a run of slices each, and the sums
 * of the runs are added in their order. 1024 x 1024 from 4 slices takes 6.3 us after the product in
 * the first way, and 10.8 us in the second; 128 x 128 from 264 slices takes 21 and 6.1 us. A start
 * while the product still runs (xg_ptx_wait_ahead) saves 1.8 us.
 */
#include "../common/ptx.cuh"
#include "../common/target.cuh"
#include "../common/tile.cuh"

enum { RUNS = 8, RUN_THREADS = 32, RUN_BATCH = 16, FEW_BATCH = 8, FEW_THREADS = 128 };

/* The position of a quad of sums in C, if it is inside. */
struct quad {
    int64_t index, row_quads, quads;
};

static __device__ __forceinline__ struct quad quad_find(const struct xg_sgemm_args &args,
                                                        int64_t index)
{
    const int64_t row_quads = (args.n + 3) / 4;
    return {index, row_quads, args.m * row_quads};
}

static __device__ __forceinline__ void quad_store(const struct xg_sgemm_args &args,
                                                  const struct quad &quad, float4 sum)
{
    const int64_t i = quad.index / quad.row_quads, j = quad.index % quad.row_quads * 4;
    const struct xg_target target = {(float *)args.c, args.ldc, args.alpha, args.beta,
                                     ((args.c & 15) | (args.ldc & 3)) == 0};
    const float sums[4] = {sum.x, sum.y, sum.z, sum.w};
    xg_target_store4(target, i, j, xg_clip(args.n - j, 4), sums);
}

static __device__ __forceinline__ void add(float4 &sum, float4 term)
{
    sum.x += term.x;
    sum.y += term.y;
    sum.z += term.z;
    sum.w += term.w;
}

/*
 * Adds slices first..end at `at`, in their order. BATCH of them are read at once; the compiler has
 * the registers for this because the launch bounds require only few blocks per SM.
 */
template <int BATCH>
static __device__ __forceinline__ float4 slices_add(const float4 *at, int64_t quads, int first,
                                                    int end)
{
    float4 sum = {};
    for (int s = first; s < end; s += BATCH) {
        float4 term[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            term[i] = s + i < end ? __ldcg(at + (s + i) * quads) : float4{};
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            add(sum, term[i]);
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(RUNS *RUN_THREADS, 2)
    xg_sgemm_slices_sm75_1x128x1(const __grid_constant__ struct xg_sgemm_args args)
{
    __shared__ float4 part[RUNS][RUN_THREADS];
    const int lane = threadIdx.x % RUN_THREADS, run = threadIdx.x / RUN_THREADS;
    const struct quad quad = quad_find(args, (int64_t)blockIdx.x * RUN_THREADS + lane);
    const bool inside = quad.index < quad.quads;
    const int first = (int)((int64_t)args.split * run / RUNS);
    const int end = (int)((int64_t)args.split * (run + 1) / RUNS);
    xg_ptx_wait_ahead();
    float4 sum = slices_add<RUN_BATCH>((const float4 *)args.scratch + quad.index, quad.quads, first,
                                       inside ? end : first);
    part[run][lane] = sum;
    __syncthreads();
    if (run > 0 || !inside)
        return;
#pragma unroll
    for (int r = 1; r < RUNS; r++)
        add(sum, part[r][lane]);
    quad_store(args, quad, sum);
}

extern "C" __global__ void __launch_bounds__(FEW_THREADS, 8)
    xg_sgemm_slices_sm75_1x512x1(const __grid_constant__ struct xg_sgemm_args args)
{
    const struct quad quad = quad_find(args, (int64_t)blockIdx.x * FEW_THREADS + threadIdx.x);
    const bool inside = quad.index < quad.quads;
    xg_ptx_wait_ahead();
    const float4 sum = slices_add<FEW_BATCH>((const float4 *)args.scratch + quad.index, quad.quads,
                                             0, inside ? args.split : 0);
    if (inside)
        quad_store(args, quad, sum);
}
