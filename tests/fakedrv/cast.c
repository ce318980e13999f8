/* SPDX-License-Identifier: MIT */
/* The kernels that cast a matrix between precisions (kernels/lapack/cast_sm75.cu). */
#include "fake.h"

#include <complex.h>

#include "src/base/integers.h"

enum { WIDEN, NARROW_D, NARROW_Z };

struct work {
    struct xg_cast_args args;
    int kind;
    int64_t columns;
};

const struct fake_kernel fake_cast_kernels[] = {
    {.name = "xg_widen_sm75", .kind = WIDEN},
    {.name = "xg_narrow_d_sm75", .kind = NARROW_D},
    {.name = "xg_narrow_z_sm75", .kind = NARROW_Z},
    {0},
};

static void resolve(void *queued)
{
    struct work *work = queued;
    struct xg_cast_args *args = &work->args;
    const int64_t small = sizeof(float) * (work->kind == NARROW_Z ? 2 : 1), wide = 2 * small;
    const int64_t before = work->columns - 1;
    fake_mem_resolve(&args->from,
                     (before * args->from_ld + args->rows) * (work->kind == WIDEN ? small : wide),
                     "a matrix to cast");
    fake_mem_resolve(&args->to,
                     (before * args->to_ld + args->rows) * (work->kind == WIDEN ? wide : small),
                     "a cast matrix");
    if (args->phases)
        fake_mem_resolve(&args->phases, work->columns * wide, "the phases of columns");
}

static double _Complex phase_of(const struct work *work, int64_t j)
{
    const double *phases = (const double *)(uintptr_t)work->args.phases;
    const double _Complex x = !phases                  ? 0
                              : work->kind == NARROW_Z ? CMPLX(phases[2 * j], phases[2 * j + 1])
                                                       : phases[j];
    return x == 0 ? 1 : x / cabs(x);
}

static void run(void *queued)
{
    const struct work *work = queued;
    const struct xg_cast_args *args = &work->args;
    const double *wide = (const double *)(uintptr_t)args->from;
    float *small = (float *)(uintptr_t)args->to;
    for (int64_t j = 0; j < work->columns; j++)
        for (int64_t i = 0; i < args->rows; i++) {
            const int64_t from = j * args->from_ld + i, to = j * args->to_ld + i;
            if (work->kind == WIDEN)
                ((double *)(uintptr_t)args->to)[to] = ((const float *)(uintptr_t)args->from)[from];
            else if (work->kind == NARROW_D)
                small[to] = (float)(wide[from] * creal(phase_of(work, j)));
            else
                ((float _Complex *)small)[to] =
                    (float _Complex)(((const double _Complex *)wide)[from] * phase_of(work, j));
        }
}

CUresult fake_cast_queue(const struct fake_kernel *kernel, const void *parameter,
                         const struct fake_launch *launch, CUstream stream)
{
    struct work work = {*(const struct xg_cast_args *)parameter, kernel->kind, 0};
    const int64_t rows = work.args.rows, parts = xg_ceil_div(rows, XG_CAST_ROWS);
    if (rows < 1 || work.args.from_ld < rows || work.args.to_ld < rows || launch->blocks < 1 ||
        launch->blocks % parts || launch->threads != XG_CAST_THREADS ||
        (kernel->kind == WIDEN && work.args.phases))
        fake_abort("a cast of %lld rows: %u blocks of %u threads", (long long)rows, launch->blocks,
                   launch->threads);
    work.columns = launch->blocks / parts;
    return fakecuda_call(&work, sizeof work, resolve, run, false, stream);
}
