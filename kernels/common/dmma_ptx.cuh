/* SPDX-License-Identifier: MIT */
/* The PTX instructions of the DGEMM kernels; tests/simt/simt.h has them for a CPU. */
#ifndef XG_DMMA_PTX_CUH
#define XG_DMMA_PTX_CUH

#include <stdint.h>

/* The block's dynamic shared memory, which starts at a whole line, and its shared address. */
static __device__ __forceinline__ double *xg_dmma_shared(void)
{
    extern __shared__ __align__(1024) double xg_dmma_stages[];
    return xg_dmma_stages;
}

static __device__ __forceinline__ unsigned xg_dmma_shared_address(void)
{
    return (unsigned)__cvta_generic_to_shared(xg_dmma_shared());
}

static __device__ __forceinline__ double xg_dmma_load(unsigned from)
{
    double x;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(from) : "memory");
    return x;
}

/* Hides values from the compiler, so that it computes derived values again instead of keeping them
 * in registers. */
static __device__ __forceinline__ void xg_dmma_hide(int64_t &x)
{
    asm volatile("mov.b64 %0, %0;" : "+l"(x));
}

static __device__ __forceinline__ void xg_dmma_hide(int &x)
{
    asm volatile("mov.b32 %0, %0;" : "+r"(x));
}

static __device__ __forceinline__ unsigned xg_dmma_xor(unsigned x, int y)
{
    asm volatile("xor.b32 %0, %0, %1;" : "+r"(x) : "r"(y));
    return x;
}

static __device__ __forceinline__ const char *xg_dmma_add(const char *at, int64_t bytes)
{
    asm volatile("add.s64 %0, %0, %1;" : "+l"(at) : "l"(bytes));
    return at;
}

/*
 * Multiplies 16x8x8. a: [step of 4][half], b: [step of 4], c: [half][column]. Before sm_90 only
 * 8x8x4 exists; four of these are equivalent.
 */
static __device__ __forceinline__ void xg_dmma_16x8x8(double *c, const double *a, const double *b)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int step = i / 2, half = i % 2;
        asm volatile(
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
            : "d"(a[2 * step + half]), "d"(b[step]));
    }
#endif
}

#endif
