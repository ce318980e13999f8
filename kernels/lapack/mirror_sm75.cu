/* SPDX-License-Identifier: MIT */
/* Makes a matrix Hermitian: copies one triangle over the other, transposed and conjugated. */

/*
 * Why. cuSOLVER 12 factorizes the lower triangle of 4096 x 4096 doubles in 1.9 ms and the upper one
 * in 4.8 ms (H100), and most programs ask for the upper one. With this kernel before and after, U
 * is the conjugate transpose of the L of the same matrix.
 *
 * Memory. A block reads a 32x32 tile by columns, transposes it in shared memory and writes it by
 * columns: each element of one triangle is read once, and each of the other one is written once, in
 * whole sectors. Rows of 33 elements keep two lanes off one bank. One block reads and writes a
 * tile on the diagonal, of which it writes only the other triangle. No block reads what another one
 * writes.
 */
#include "mirror_kabi.h"

enum { SIDE = XG_MIRROR_SIDE, APART = XG_MIRROR_THREADS / SIDE };

static __device__ __forceinline__ float conjugate(float x)
{
    return x;
}

static __device__ __forceinline__ double conjugate(double x)
{
    return x;
}

static __device__ __forceinline__ float2 conjugate(float2 x)
{
    return make_float2(x.x, -x.y);
}

static __device__ __forceinline__ double2 conjugate(double2 x)
{
    return make_double2(x.x, -x.y);
}

template <typename number>
static __device__ __forceinline__ void mirror(const xg_mirror_args &args)
{
    __shared__ number tile[SIDE][SIDE + 1];
    const unsigned tiles = (unsigned)((args.n + SIDE - 1) / SIDE);
    const unsigned x = blockIdx.x % tiles, y = blockIdx.x / tiles;
    if (x < y)
        return;
    number *a = (number *)args.a;
    const int64_t row0 = (int64_t)(args.from_upper ? y : x) * SIDE;
    const int64_t column0 = (int64_t)(args.from_upper ? x : y) * SIDE;
    const int fast = threadIdx.x % SIDE, slow = threadIdx.x / SIDE;
    for (int i = slow; i < SIDE; i += APART) {
        const int64_t row = row0 + fast, column = column0 + i;
        if (row < args.n && column < args.n)
            tile[i][fast] = a[row + column * args.ld];
    }
    __syncthreads();
    for (int i = slow; i < SIDE; i += APART) {
        const int64_t row = column0 + fast, column = row0 + i;
        if (row < args.n && column < args.n && (args.from_upper ? row > column : row < column))
            a[row + column * args.ld] = conjugate(tile[fast][i]);
    }
}

#define ENTRY(letter, number)                                                                      \
    extern "C" __global__ void __launch_bounds__(XG_MIRROR_THREADS)                                \
        xg_mirror_##letter##_sm75(const __grid_constant__ struct xg_mirror_args args)              \
    {                                                                                              \
        mirror<number>(args);                                                                      \
    }
ENTRY(s, float)
ENTRY(d, double)
ENTRY(c, float2)
ENTRY(z, double2)
