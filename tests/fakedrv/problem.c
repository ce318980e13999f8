/* SPDX-License-Identifier: MIT */
/* What the fake cuBLAS computes in double precision and in complex numbers, by the built-in loop.
 */
#include "fake.h"

#include "src/verify/cpu.h"

static void *operand(const struct xg_problem *p, const void *data, int64_t rows, int64_t columns,
                     int64_t ld, const char *name)
{
    size_t bytes = xg_problem_elem_bytes(p);
    if (ld < columns)
        fake_abort("%s: %lld columns with a leading dimension of %lld", name, (long long)columns,
                   (long long)ld);
    if ((uintptr_t)data % bytes)
        fake_abort("%s: not aligned as its type needs it", name);
    return fake_mem_dev((CUdeviceptr)(uintptr_t)data, (size_t)((rows - 1) * ld + columns) * bytes,
                        name);
}

struct xg_problem fake_problem_resolve(const struct xg_problem *p)
{
    struct xg_problem host = *p;
    if (p->m < 1 || p->n < 1 || p->k < 1)
        fake_abort("a product of %lld,%lld,%lld", (long long)p->m, (long long)p->n,
                   (long long)p->k);
    host.a = operand(p, p->a, p->transa ? p->k : p->m, p->transa ? p->m : p->k, p->lda, "A");
    host.b = operand(p, p->b, p->transb ? p->n : p->k, p->transb ? p->k : p->n, p->ldb, "B");
    host.c = operand(p, p->c, p->m, p->n, p->ldc, "C");
    return host;
}

CUresult fakecuda_problem(const struct xg_problem *p, CUstream stream)
{
    struct fake_op op = {.kind = FAKE_OP_PROBLEM, .problem = *p};
    fake_problem_resolve(p);
    return fake_stream_push(stream, &op, false);
}

void fake_problem_run(const struct xg_problem *host)
{
    xg_cpu_compute(host);
}
