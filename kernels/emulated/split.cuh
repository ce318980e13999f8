/* SPDX-License-Identifier: MIT */
/* The pieces that two operands need, which every kernel of a product derives from their
 * statistics. */
#ifndef XG_SPLIT_CUH
#define XG_SPLIT_CUH

#include "split_verdict.h"

/*
 * The code in a file of these kernels is for devices from the compute capability in its name on;
 * _sm90 is Hopper alone (sm_90a). For other devices the file compiles to one unused entry, so that
 * the lookup of a real entry fails.
 */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define XG_SPLIT_SM80
#endif
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define XG_SPLIT_SM90
#endif
#define XG_SPLIT_ABSENT(file)                                                                      \
    extern "C" __global__ void xg_##file##_absent(void) {}

/* The verdict on a product from the statistics of all its panels. */
static __device__ __forceinline__ struct xg_split_verdict
xg_split_verdict_of(const struct xg_split_pair &pair)
{
    const struct xg_split_stats a =
        xg_split_worst((const struct xg_split_stats *)pair.a_stats, pair.a_panels);
    const struct xg_split_stats b =
        xg_split_worst((const struct xg_split_stats *)pair.b_stats, pair.b_panels);
    return xg_split_judge(&a, &b, pair.k);
}

/* 2^exponent, -126 <= exponent <= 127. */
static __device__ __forceinline__ float xg_power_of_two(int exponent)
{
    return __uint_as_float((uint32_t)(exponent + 127) << 23);
}

#endif
