/* SPDX-License-Identifier: MIT */
/* The kernels that make a matrix Hermitian (kernels/lapack/mirror_sm75.cu). */
#include "fake.h"

#include <complex.h>
#include <string.h>

#include "src/base/integers.h"

static bool allows(const struct fake_launch *launch)
{
    const struct xg_mirror_args *args = (const void *)launch->parameter;
    const int64_t tiles = xg_ceil_div(args->n, XG_MIRROR_SIDE);
    return args->n >= 1 && args->ld >= args->n && launch->blocks == tiles * tiles;
}

static void resolve(struct fake_launch *launch)
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

static void run(const struct fake_launch *launch)
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

static const struct fake_role role = {sizeof(struct xg_mirror_args), XG_MIRROR_THREADS, allows,
                                      resolve, run};

const struct fake_kernel fake_mirror_kernels[] = {
    {"xg_mirror_s_sm75", &role, XG_TYPE_S, 0},
    {"xg_mirror_d_sm75", &role, XG_TYPE_D, 0},
    {"xg_mirror_c_sm75", &role, XG_TYPE_C, 0},
    {"xg_mirror_z_sm75", &role, XG_TYPE_Z, 0},
    {0},
};
