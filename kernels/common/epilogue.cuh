/* SPDX-License-Identifier: MIT */
/* The epilogue of every kernel: alpha * sum + beta * C. */
#ifndef XG_EPILOGUE_CUH
#define XG_EPILOGUE_CUH

#include "../kabi.h"

/* With beta == 0 C must not be read: it may contain NaN, and 0 * NaN is NaN. */
static __device__ __forceinline__ float xg_c_value(const struct xg_sgemm_args &args, float sum,
                                                   const float *c)
{
    const float product = args.alpha * sum;
    return args.beta == 0.0f ? product : fmaf(args.beta, *c, product);
}

/* Stores C(i,j), which must be inside (m,n). */
static __device__ __forceinline__ void xg_c_store(const struct xg_sgemm_args &args, int64_t i,
                                                  int64_t j, float sum)
{
    float *c = (float *)args.c + i * args.ldc + j;
    *c = xg_c_value(args, sum, c);
}

/*
 * Stores four adjacent elements of a row of C, 16-byte aligned, of which `inside` are inside (may
 * be <= 0). The last quad of a row may extend beyond it: those elements belong to the caller and
 * are neither read nor written. BETA: beta is not 0.
 */
template <bool BETA>
static __device__ __forceinline__ void xg_c_store4(const struct xg_sgemm_args &args, float *c,
                                                   int inside, const float *sum)
{
    float old[4] = {}, value[4];
    if (BETA && inside >= 4) {
        const float4 quad = *(const float4 *)c;
        old[0] = quad.x, old[1] = quad.y, old[2] = quad.z, old[3] = quad.w;
    } else if (BETA) {
#pragma unroll
        for (int e = 0; e < 3; e++)
            if (e < inside)
                old[e] = c[e];
    }
#pragma unroll
    for (int e = 0; e < 4; e++) {
        value[e] = args.alpha * sum[e];
        if (BETA)
            value[e] = fmaf(args.beta, old[e], value[e]);
    }
    if (inside >= 4) {
        *(float4 *)c = make_float4(value[0], value[1], value[2], value[3]);
    } else {
#pragma unroll
        for (int e = 0; e < 3; e++)
            if (e < inside)
                c[e] = value[e];
    }
}

#endif
