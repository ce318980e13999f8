/* SPDX-License-Identifier: MIT */
/* The kernels that make a matrix Hermitian (kernels/lapack/mirror_sm75.cu). */
#include "fake.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

struct work {
    struct xg_mirror_args args;
    enum xg_type type;
};

bool fake_mirror_find(const char *name, enum xg_type *type)
{
    static const char *const names[XG_TYPE_COUNT] = {
        [XG_TYPE_S] = "xg_mirror_s_sm75",
        [XG_TYPE_D] = "xg_mirror_d_sm75",
        [XG_TYPE_C] = "xg_mirror_c_sm75",
        [XG_TYPE_Z] = "xg_mirror_z_sm75",
    };
    for (int i = 0; i < XG_TYPE_COUNT; i++)
        if (!strcmp(names[i], name)) {
            *type = (enum xg_type)i;
            return true;
        }
    return false;
}

static void resolve(void *queued)
{
    struct work *work = queued;
    const size_t elems = (size_t)((work->args.n - 1) * work->args.ld + work->args.n);
    work->args.a =
        (uintptr_t)fake_mem_dev(work->args.a, elems * xg_type_bytes(work->type), "A to mirror");
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

CUresult fake_mirror_queue(enum xg_type type, const struct xg_mirror_args *args,
                           const struct fake_launch *launch, CUstream stream)
{
    const int64_t tiles = (args->n + XG_MIRROR_SIDE - 1) / XG_MIRROR_SIDE;
    struct work *work = malloc(sizeof *work);
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *work = (struct work){*args, type};
    if (args->n < 1 || args->ld < args->n || launch->blocks != tiles * tiles ||
        launch->threads != XG_MIRROR_THREADS)
        fake_abort("a mirror of %lld: %u blocks of %u threads", (long long)args->n, launch->blocks,
                   launch->threads);
    struct work now = *work;
    resolve(&now);
    struct fake_op op = {.kind = FAKE_OP_CALL, .owned = work, .resolve = resolve, .run = run};
    return fake_stream_push(stream, &op, false);
}
