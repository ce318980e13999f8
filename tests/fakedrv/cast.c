/* SPDX-License-Identifier: MIT */
/* The kernels that cast a matrix between precisions (kernels/lapack/cast_sm75.cu). */
#include "fake.h"

#include <complex.h>

#include "src/base/integers.h"

enum { WIDEN, NARROW_D, NARROW_Z };

/* The grid has a block for each XG_CAST_ROWS rows of each column. */
static int64_t columns_of(const struct fake_launch *launch)
{
    const struct xg_cast_args *args = (const void *)launch->parameter;
    return launch->blocks / xg_ceil_div(args->rows, XG_CAST_ROWS);
}

static bool allows(const struct fake_launch *launch)
{
    const struct xg_cast_args *args = (const void *)launch->parameter;
    return args->rows >= 1 && args->from_ld >= args->rows && args->to_ld >= args->rows &&
           launch->blocks >= 1 &&
           columns_of(launch) * xg_ceil_div(args->rows, XG_CAST_ROWS) == launch->blocks &&
           !(launch->kernel->kind == WIDEN && args->phases);
}

static void resolve(struct fake_launch *launch)
{
    struct xg_cast_args *args = (void *)launch->parameter;
    const int kind = launch->kernel->kind;
    const int64_t small = sizeof(float) * (kind == NARROW_Z ? 2 : 1), wide = 2 * small;
    const int64_t before = columns_of(launch) - 1;
    fake_mem_resolve(&args->from,
                     (before * args->from_ld + args->rows) * (kind == WIDEN ? small : wide),
                     "a matrix to cast");
    fake_mem_resolve(&args->to,
                     (before * args->to_ld + args->rows) * (kind == WIDEN ? wide : small),
                     "a cast matrix");
    if (args->phases)
        fake_mem_resolve(&args->phases, columns_of(launch) * wide, "the phases of columns");
}

static double _Complex phase_of(const struct xg_cast_args *args, int kind, int64_t j)
{
    const double *phases = (const double *)(uintptr_t)args->phases;
    const double _Complex x = !phases            ? 0
                              : kind == NARROW_Z ? CMPLX(phases[2 * j], phases[2 * j + 1])
                                                 : phases[j];
    return x == 0 ? 1 : x / cabs(x);
}

static void run(const struct fake_launch *launch)
{
    const struct xg_cast_args *args = (const void *)launch->parameter;
    const int kind = launch->kernel->kind;
    const double *wide = (const double *)(uintptr_t)args->from;
    float *small = (float *)(uintptr_t)args->to;
    for (int64_t j = 0; j < columns_of(launch); j++)
        for (int64_t i = 0; i < args->rows; i++) {
            const int64_t from = j * args->from_ld + i, to = j * args->to_ld + i;
            if (kind == WIDEN)
                ((double *)(uintptr_t)args->to)[to] = ((const float *)(uintptr_t)args->from)[from];
            else if (kind == NARROW_D)
                small[to] = (float)(wide[from] * creal(phase_of(args, kind, j)));
            else
                ((float _Complex *)small)[to] = (float _Complex)(
                    ((const double _Complex *)wide)[from] * phase_of(args, kind, j));
        }
}

static const struct fake_role role = {sizeof(struct xg_cast_args), XG_CAST_THREADS, allows, resolve,
                                      run};

const struct fake_kernel fake_cast_kernels[] = {
    {"xg_widen_sm75", &role, WIDEN, 0},
    {"xg_narrow_d_sm75", &role, NARROW_D, 0},
    {"xg_narrow_z_sm75", &role, NARROW_Z, 0},
    {0},
};
