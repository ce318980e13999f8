/* SPDX-License-Identifier: MIT */
/* The kernels that make a matrix Hermitian, and those that cast one between precisions
 * (kernels/lapack/mirror_sm75.cu, cast_sm75.cu). */
#include "fake.h"

#include <complex.h>
#include <string.h>

#include "src/base/integers.h"

/* --- A triangle copied over the other -------------------------------------------------------- */

static bool allows_mirror(const struct fake_launch *launch)
{
    const struct xg_mirror_args *args = (const void *)launch->parameter;
    const int64_t tiles = xg_ceil_div(args->n, XG_MIRROR_SIDE);
    return args->n >= 1 && args->ld >= args->n && launch->blocks == tiles * tiles;
}

static void resolve_mirror(struct fake_launch *launch)
{
    struct xg_mirror_args *args = (void *)launch->parameter;
    const int64_t elems = (args->n - 1) * args->ld + args->n;
    fake_mem_resolve(&args->a, elems * (int64_t)xg_type_bytes(fake_type(launch)), "A to mirror");
}

static void conjugate(enum xg_type type, void *element)
{
    if (type == XG_TYPE_C)
        *(float _Complex *)element = conjf(*(float _Complex *)element);
    if (type == XG_TYPE_Z)
        *(double _Complex *)element = conj(*(double _Complex *)element);
}

static void run_mirror(const struct fake_launch *launch)
{
    const struct xg_mirror_args *args = (const void *)launch->parameter;
    const size_t bytes = xg_type_bytes(fake_type(launch));
    for (int64_t j = 0; j < args->n; j++)
        for (int64_t i = 0; i < j; i++) {
            char *upper = (char *)(uintptr_t)args->a + (size_t)(j * args->ld + i) * bytes;
            char *lower = (char *)(uintptr_t)args->a + (size_t)(i * args->ld + j) * bytes;
            char *to = args->from_upper ? lower : upper;
            memcpy(to, args->from_upper ? upper : lower, bytes);
            conjugate(fake_type(launch), to);
        }
}

static const struct fake_role mirror = {sizeof(struct xg_mirror_args), XG_MIRROR_THREADS,
                                        allows_mirror, resolve_mirror, run_mirror};

/* --- Casts ----------------------------------------------------------------------------------- */

enum { WIDEN, NARROW_D, NARROW_Z };

/* The grid has a block for each XG_CAST_ROWS rows of each column. */
static int64_t columns_of(const struct fake_launch *launch)
{
    const struct xg_cast_args *args = (const void *)launch->parameter;
    return launch->blocks / xg_ceil_div(args->rows, XG_CAST_ROWS);
}

static bool allows_cast(const struct fake_launch *launch)
{
    const struct xg_cast_args *args = (const void *)launch->parameter;
    return args->rows >= 1 && args->from_ld >= args->rows && args->to_ld >= args->rows &&
           launch->blocks >= 1 &&
           columns_of(launch) * xg_ceil_div(args->rows, XG_CAST_ROWS) == launch->blocks &&
           !(launch->kernel->kind == WIDEN && args->phases);
}

static void resolve_cast(struct fake_launch *launch)
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

static void run_cast(const struct fake_launch *launch)
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

static const struct fake_role cast = {sizeof(struct xg_cast_args), XG_CAST_THREADS, allows_cast,
                                      resolve_cast, run_cast};

/* The kind is a type, or what to cast. */
const struct fake_kernel fake_matrix_kernels[] = {
    {"xg_mirror_s_sm75", &mirror, XG_TYPE_S, 0}, {"xg_mirror_d_sm75", &mirror, XG_TYPE_D, 0},
    {"xg_mirror_c_sm75", &mirror, XG_TYPE_C, 0}, {"xg_mirror_z_sm75", &mirror, XG_TYPE_Z, 0},
    {"xg_widen_sm75", &cast, WIDEN, 0},          {"xg_narrow_d_sm75", &cast, NARROW_D, 0},
    {"xg_narrow_z_sm75", &cast, NARROW_Z, 0},    {0},
};
