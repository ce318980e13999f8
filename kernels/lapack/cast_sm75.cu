/* SPDX-License-Identifier: MIT */
/* Copies a matrix in another precision: `widen` from float to double, `narrow` back. */

/*
 * Why. Singular values of floats are computed in double precision (compute/gram.h). A matrix that
 * is cast on the device moves over the bus in single precision.
 *
 * Memory. Neighbouring threads have neighbouring rows of a column. Each element is read once and
 * written once. A complex matrix is widened as a real one of twice as many rows.
 */
#include "cast_kabi.h"

static __device__ __forceinline__ double phase(double x)
{
    return x < 0 ? -1 : 1;
}

static __device__ __forceinline__ double2 phase(double2 x)
{
    const double size = hypot(x.x, x.y);
    return size > 0 ? make_double2(x.x / size, x.y / size) : make_double2(1, 0);
}

static __device__ __forceinline__ void put(float *to, double x, double factor)
{
    *to = (float)(x * factor);
}

static __device__ __forceinline__ void put(float2 *to, double2 x, double2 factor)
{
    *to = make_float2((float)(x.x * factor.x - x.y * factor.y),
                      (float)(x.x * factor.y + x.y * factor.x));
}

/* The column of this block, and its first row. */
static __device__ __forceinline__ int64_t column_of(const xg_cast_args &args, int64_t *row)
{
    const unsigned parts = (unsigned)((args.rows + XG_CAST_ROWS - 1) / XG_CAST_ROWS);
    *row = (int64_t)(blockIdx.x % parts) * XG_CAST_ROWS;
    return blockIdx.x / parts;
}

template <typename wide, typename small>
static __device__ __forceinline__ void narrow(const xg_cast_args &args, wide factor)
{
    int64_t row;
    const int64_t column = column_of(args, &row);
    const wide *from = (const wide *)args.from + column * args.from_ld;
    small *to = (small *)args.to + column * args.to_ld;
    if (args.phases)
        factor = phase(((const wide *)args.phases)[column]);
    for (int i = threadIdx.x; i < XG_CAST_ROWS && row + i < args.rows; i += XG_CAST_THREADS)
        put(&to[row + i], from[row + i], factor);
}

#define KERNEL extern "C" __global__ void __launch_bounds__(XG_CAST_THREADS)

KERNEL xg_widen_sm75(const __grid_constant__ struct xg_cast_args args)
{
    int64_t row;
    const int64_t column = column_of(args, &row);
    const float *from = (const float *)args.from + column * args.from_ld;
    double *to = (double *)args.to + column * args.to_ld;
    for (int i = threadIdx.x; i < XG_CAST_ROWS && row + i < args.rows; i += XG_CAST_THREADS)
        to[row + i] = from[row + i];
}

KERNEL xg_narrow_d_sm75(const __grid_constant__ struct xg_cast_args args)
{
    narrow<double, float>(args, 1);
}

KERNEL xg_narrow_z_sm75(const __grid_constant__ struct xg_cast_args args)
{
    narrow<double2, float2>(args, make_double2(1, 0));
}
