/* SPDX-License-Identifier: MIT */
/* C as the target of a block's sums, in any alignment. */
#ifndef XG_TARGET_CUH
#define XG_TARGET_CUH

#include "../kabi.h"

struct xg_target {
    float *c;
    int64_t ldc;
    float alpha, beta;
    bool quads; /* 16-byte aligned rows */
};

static __device__ __forceinline__ struct xg_target xg_target_find(const struct xg_sgemm_args &args)
{
    return {(float *)args.c, args.ldc, args.alpha, args.beta,
            ((args.c & 15) | (args.ldc & 3)) == 0};
}

/* Stores element (i,j), which is inside C. */
static __device__ __forceinline__ void xg_target_store(const struct xg_target &target, int64_t i,
                                                       int64_t j, float sum)
{
    float *c = target.c + i * target.ldc + j;
    const float value = target.alpha * sum;
    *c = target.beta == 0.0f ? value : fmaf(target.beta, *c, value);
}

/* Stores four adjacent elements of row i from column j on, of which `inside` are inside C. */
static __device__ __forceinline__ void xg_target_store4(const struct xg_target &target, int64_t i,
                                                        int64_t j, int inside, const float *sum)
{
    float *c = target.c + i * target.ldc + j;
    if (target.quads && inside >= 4) {
        float4 value = make_float4(target.alpha * sum[0], target.alpha * sum[1],
                                   target.alpha * sum[2], target.alpha * sum[3]);
        if (target.beta != 0.0f) {
            const float4 old = *(const float4 *)c;
            value.x = fmaf(target.beta, old.x, value.x);
            value.y = fmaf(target.beta, old.y, value.y);
            value.z = fmaf(target.beta, old.z, value.z);
            value.w = fmaf(target.beta, old.w, value.w);
        }
        *(float4 *)c = value;
        return;
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
        if (e < inside)
            xg_target_store(target, i, j + e, sum[e]);
}

#endif
