/* SPDX-License-Identifier: MIT */
/* The second step of a product whose slices of k wrote their sums to the scratch (kabi.h). */

/* Reads each slice's sums once, in quads, mostly from L2, where they were just written; writes C.
 */
#include "target.cuh"
#include "tile.cuh"

/*
 * The sums of all slices, which lie one (m, n rounded up to 4) matrix behind the other in the
 * scratch. A thread adds a run of slices for one quad; 8 runs make the whole, in their order.
 */
enum { RUNS = 8, RUN_THREADS = 32 };

extern "C" __global__ void __launch_bounds__(RUNS *RUN_THREADS)
    xg_sgemm_slices_sm75_1x128x1(const __grid_constant__ struct xg_sgemm_args args)
{
    __shared__ float4 part[RUNS][RUN_THREADS];
    const int64_t row_quads = (args.n + 3) / 4, quads = args.m * row_quads;
    const int64_t quad = (int64_t)blockIdx.x * RUN_THREADS + threadIdx.x % RUN_THREADS;
    const int run = threadIdx.x / RUN_THREADS;
    const int first = (int)((int64_t)args.split * run / RUNS);
    const int end = (int)((int64_t)args.split * (run + 1) / RUNS);
    float sum[4] = {};
    if (quad < quads) {
        const float4 *at = (const float4 *)args.scratch + quad;
#pragma unroll 4
        for (int s = first; s < end; s++) {
            const float4 term = at[s * quads];
            sum[0] += term.x;
            sum[1] += term.y;
            sum[2] += term.z;
            sum[3] += term.w;
        }
    }
    part[run][threadIdx.x % RUN_THREADS] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    __syncthreads();
    if (run > 0 || quad >= quads)
        return;
#pragma unroll
    for (int r = 1; r < RUNS; r++) {
        const float4 term = part[r][threadIdx.x];
        sum[0] += term.x;
        sum[1] += term.y;
        sum[2] += term.z;
        sum[3] += term.w;
    }
    const int64_t i = quad / row_quads, j = quad % row_quads * 4;
    struct xg_target target = {(float *)args.c, args.ldc, args.alpha, args.beta,
                               ((args.c & 15) | (args.ldc & 3)) == 0};
    xg_target_store4(target, i, j, xg_clip(args.n - j, 4), sum);
}
