/* SPDX-License-Identifier: MIT */
/* What the kernels of panels have in common (Hopper). */
#ifndef XG_PANEL_CUH
#define XG_PANEL_CUH

/* Device code exists for Hopper alone, on which its latencies were measured. Code for other
 * architectures traps; the host finds no panels there (src/compute/panel.c). */
#define XG_PANEL_HOPPER (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000)

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

#endif

#endif
