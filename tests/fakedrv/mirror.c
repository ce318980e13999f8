/* SPDX-License-Identifier: MIT */
/* The kernels that make a matrix Hermitian (kernels/lapack/mirror_sm75.cu). */
#include "fake.h"

#include <complex.h>
#include <string.h>

#include "src/base/integers.h"

struct work {
    struct xg_mirror_args args;
    enum xg_type type;
};

const struct fake_kernel fake_mirror_kernels[] = {
    {.name = "xg_mirror_s_sm75", .kind = XG_TYPE_S},
    {.name = "xg_mirror_d_sm75", .kind = XG_TYPE_D},
    {.name = "xg_mirror_c_sm75", .kind = XG_TYPE_C},
    {.name = "xg_mirror_z_sm75", .kind = XG_TYPE_Z},
    {0},
};

static void resolve(void *queued)
{
    struct work *work = queued;
    const int64_t elems = (work->args.n - 1) * work->args.ld + work->args.n;
    fake_mem_resolve(&work->args.a, elems * (int64_t)xg_type_bytes(work->type), "A to mirror");
}

static void conjugate(enum xg_type type, void *element)
{
    if (type == XG_TYPE_C)
        *(float _Complex *)element = conjf(*(float _Complex *)element);
    if (type == XG_TYPE_Z)
        *(double _Complex *)element = conj(*(double _Complex *)element);
}

static void run(void *queued)
{
    const struct work *work = queued;
    const struct xg_mirror_args *args = &work->args;
    const size_t bytes = xg_type_bytes(work->type);
    for (int64_t j = 0; j < args->n; j++)
        for (int64_t i = 0; i < j; i++) {
            char *upper = (char *)(uintptr_t)args->a + (size_t)(j * args->ld + i) * bytes;
            char *lower = (char *)(uintptr_t)args->a + (size_t)(i * args->ld + j) * bytes;
            char *to = args->from_upper ? lower : upper;
            memcpy(to, args->from_upper ? upper : lower, bytes);
            conjugate(work->type, to);
        }
}

CUresult fake_mirror_queue(const struct fake_kernel *kernel, const void *parameter,
                           const struct fake_launch *launch, CUstream stream)
{
    const struct work work = {*(const struct xg_mirror_args *)parameter,
                              (enum xg_type)kernel->kind};
    const int64_t n = work.args.n, tiles = xg_ceil_div(n, XG_MIRROR_SIDE);
    if (n < 1 || work.args.ld < n || launch->blocks != tiles * tiles ||
        launch->threads != XG_MIRROR_THREADS)
        fake_abort("a mirror of %lld: %u blocks of %u threads", (long long)n, launch->blocks,
                   launch->threads);
    return fakecuda_call(&work, sizeof work, resolve, run, false, stream);
}
