/* SPDX-License-Identifier: MIT */
/* What the fake cuBLAS computes in double precision and in complex numbers, and kernels of double,
 * by the built-in loop. */
#include "fake.h"

#include <string.h>

#include "src/base/integers.h"
#include "src/verify/cpu.h"
#include "tests/support/one_thread.h"

/* padded: as XG_KERNEL_VEC4 has it, `columns` of which lie in memory up to a multiple of 4. */
static void *operand(const struct xg_problem *p, const void *data, int64_t rows, int64_t columns,
                     int64_t ld, bool padded, const char *name)
{
    size_t bytes = xg_problem_elem_bytes(p);
    if (padded && ((uintptr_t)data % 16 || ld % 4))
        fake_abort("%s: not aligned as its kernel needs it", name);
    if (padded)
        columns = xg_round_up(columns, 4);
    if (ld < columns)
        fake_abort("%s: %lld columns with a leading dimension of %lld", name, (long long)columns,
                   (long long)ld);
    if ((uintptr_t)data % bytes)
        fake_abort("%s: not aligned as its type needs it", name);
    return fake_mem_dev((CUdeviceptr)(uintptr_t)data, (size_t)((rows - 1) * ld + columns) * bytes,
                        name);
}

struct work {
    struct xg_problem problem;
    struct xg_triangle wanted;
    bool padded;
};

static void resolve(void *queued)
{
    const bool padded = ((struct work *)queued)->padded;
    struct xg_problem *p = &((struct work *)queued)->problem;
    if (p->m < 1 || p->n < 1 || p->k < 0)
        fake_abort("a product of %lld,%lld,%lld", (long long)p->m, (long long)p->n,
                   (long long)p->k);
    if (padded && ((uintptr_t)p->c % 16 || p->ldc % 4))
        fake_abort("C: not aligned as its kernel needs it");
    p->c = operand(p, p->c, p->m, p->n, p->ldc, false, "C");
    if (p->k == 0)
        return;
    int64_t a_rows = p->transa ? p->k : p->m, a_columns = p->transa ? p->m : p->k;
    int64_t b_rows = p->transb ? p->n : p->k, b_columns = p->transb ? p->k : p->n;
    p->a = operand(p, p->a, a_rows, a_columns, p->lda, padded, "A");
    p->b = operand(p, p->b, b_rows, b_columns, p->ldb, padded, "B");
}

/* Of double. */
static void check_padding(const char *name, const double *x, int64_t rows, int64_t columns,
                          int64_t ld)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = columns; column % 4; column++)
            if (!(x[row * ld + column] == 0.0))
                fake_abort("%s: the padding at row %lld, column %lld is %g, not 0", name,
                           (long long)row, (long long)column, x[row * ld + column]);
}

/* xg_cpu_compute is not built for the thread sanitizer here, under which it takes ten times as
 * long: the sanitizer is told of whole rows instead. */
static void tell_read(const struct xg_problem *p, const void *data, int64_t rows, int64_t columns,
                      int64_t ld)
{
    const int64_t bytes = (int64_t)xg_problem_elem_bytes(p);
    for (int64_t i = 0; i < rows && data != p->c; i++)
        XT_TELL_READ(xg_problem_at(p, data, i * ld), columns * bytes);
}

static void compute(const struct xg_problem *p)
{
    const int64_t bytes = (int64_t)xg_problem_elem_bytes(p);
    for (int64_t i = 0; i < p->m; i++) {
        int64_t begin, end;
        xg_problem_row(p, i, 0, p->n, &begin, &end);
        XT_TELL_WRITE(xg_problem_at(p, p->c, i * p->ldc + begin), (end - begin) * bytes);
    }
    xg_cpu_compute(p);
}

/* In place: what cuBLAS's TRMM reads elsewhere is copied first. */
static void place(struct xg_problem *p)
{
    const void **other = p->structured == XG_OPERAND_A ? &p->b : &p->a;
    int64_t *ld = p->structured == XG_OPERAND_A ? &p->ldb : &p->lda;
    const size_t bytes = xg_problem_elem_bytes(p);
    for (int64_t i = 0; i < p->m && *other != p->c; i++)
        memcpy((char *)p->c + (size_t)(i * p->ldc) * bytes, xg_problem_at(p, *other, i * *ld),
               (size_t)p->n * bytes);
    *other = p->c;
    *ld = p->ldc;
}

/* Of double: computes row by row what is wanted. */
static void run_wanted(const struct xg_problem *p, const struct xg_triangle *wanted)
{
    for (int64_t i = 0; i < p->m; i++) {
        int64_t first = 0, end = p->n;
        while (first < end && !fake_wants(wanted, XG_TYPE_D, i, first))
            first++;
        while (end > first && !fake_wants(wanted, XG_TYPE_D, i, end - 1))
            end--;
        struct xg_problem row = *p;
        row.m = 1;
        row.n = end - first;
        row.a = (const double *)p->a + (p->transa ? i : i * p->lda);
        row.b = (const double *)p->b + (p->transb ? first * p->ldb : first);
        row.c = (double *)p->c + i * p->ldc + first;
        if (row.n > 0)
            compute(&row);
    }
}

static void run(void *queued)
{
    const struct work *work = queued;
    struct xg_problem p = work->problem;
    const int64_t a_rows = p.transa ? p.k : p.m, a_columns = p.transa ? p.m : p.k;
    const int64_t b_rows = p.transb ? p.n : p.k, b_columns = p.transb ? p.k : p.n;
    if (work->padded && p.k > 0) {
        check_padding("A", p.a, a_rows, a_columns, p.lda);
        check_padding("B", p.b, b_rows, b_columns, p.ldb);
    }
    if (xg_problem_is_in_place(&p))
        place(&p);
    if (p.k > 0) {
        tell_read(&p, p.a, a_rows, a_columns, p.lda);
        tell_read(&p, p.b, b_rows, b_columns, p.ldb);
    }
    if (work->wanted.kind == XG_TRIANGLE_ALL)
        compute(&p);
    else
        run_wanted(&p, &work->wanted);
    if (p.op == XG_OP_GEMM && p.type == XG_TYPE_D)
        fake_result_flip(p.c, p.m, p.n, p.ldc, true);
}

CUresult fakecuda_problem(const struct xg_problem *p, CUstream stream)
{
    const struct work work = {.problem = *p};
    return fakecuda_call(&work, sizeof work, resolve, run, false, stream);
}

CUresult fake_dgemm_queue(const struct xg_dgemm_args *args, CUstream stream)
{
    struct work work = {.padded = true, .wanted = args->wanted};
    work.problem = (struct xg_problem){.type = XG_TYPE_D,
                                       .transa = args->transa ? XG_TRANS : XG_NO_TRANS,
                                       .transb = args->transb ? XG_TRANS : XG_NO_TRANS,
                                       .m = args->m,
                                       .n = args->n,
                                       .k = args->k,
                                       .alpha = args->alpha,
                                       .a = (const void *)(uintptr_t)args->a,
                                       .lda = args->lda,
                                       .b = (const void *)(uintptr_t)args->b,
                                       .ldb = args->ldb,
                                       .beta = args->beta,
                                       .c = (void *)(uintptr_t)args->c,
                                       .ldc = args->ldc};
    return fakecuda_call(&work, sizeof work, resolve, run, false, stream);
}
