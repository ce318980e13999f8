/* SPDX-License-Identifier: MIT */
/* What the kernels of panels have in common (Hopper). */
#ifndef XG_PANEL_CUH
#define XG_PANEL_CUH

#include "panel_kabi.h"

#if XG_PANEL_HOPPER

/* 1/x within a unit in the last place, for x whose reciprocal is normal. */
static __device__ __forceinline__ double xg_reciprocal(double x)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x)); /* 20 bits */
#pragma unroll
    for (int i = 0; i < 3; i++)
        y = fma(y, fma(-x, y, 1.0), y);
    return y;
}

/* Writes 16 bytes to another block's shared memory, and counts them at a barrier there. */
static __device__ __forceinline__ void xg_cluster_send(unsigned to, const uint4 &x,
                                                       unsigned barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
                 "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(barrier)
                 : "memory");
}

#endif

#endif
