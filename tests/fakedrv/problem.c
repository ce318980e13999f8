/* SPDX-License-Identifier: MIT */
/* Products of doubles and complex numbers, of the fake cuBLAS and of kernels, by the built-in loop.
 * Checks of operands for products of all types. */
#include "fake.h"

#include <string.h>

#include "src/base/integers.h"
#include "src/reference/cpu.h"
#include "tests/support/one_thread.h"
#include "tests/support/typed.h"

/* padded: for XG_KERNEL_VEC4; the columns in memory are rounded up to a multiple of 4. */
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
    int split; /* slices of k that a product of floats adds up */
};

void fake_factors_resolve(struct xg_problem *p, bool padded)
{
    int64_t a_rows = p->transa ? p->k : p->m, a_columns = p->transa ? p->m : p->k;
    int64_t b_rows = p->transb ? p->n : p->k, b_columns = p->transb ? p->k : p->n;
    p->a = operand(p, p->a, a_rows, a_columns, p->lda, padded, "A");
    p->b = operand(p, p->b, b_rows, b_columns, p->ldb, padded, "B");
}

static bool is_sgemm(const struct xg_problem *p)
{
    return p->op == XG_OP_GEMM && p->type == XG_TYPE_S;
}

void fake_problem_resolve(struct xg_problem *p, bool padded)
{
    if (p->m < 1 || p->n < 1 || p->k < is_sgemm(p))
        fake_abort("a product of %lld,%lld,%lld", (long long)p->m, (long long)p->n,
                   (long long)p->k);
    if (padded && ((uintptr_t)p->c % 16 || p->ldc % 4))
        fake_abort("C: not aligned as its kernel needs it");
    p->c = operand(p, p->c, p->m, p->n, p->ldc, false, "C");
    if (p->k > 0)
        fake_factors_resolve(p, padded);
}

static void resolve(void *queued)
{
    struct work *work = queued;
    fake_problem_resolve(&work->problem, work->padded);
}

/* Real numbers. */
static void check_padding(const struct xg_problem *p, const void *x, int64_t rows, int64_t columns,
                          int64_t ld, const char *name)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = columns; column % 4; column++)
            if (!(xt_get(p->type, x, row * ld + column) == 0.0))
                fake_abort("%s: the padding at row %lld, column %lld is %g, not 0", name,
                           (long long)row, (long long)column,
                           xt_get(p->type, x, row * ld + column));
}

/* The functions that compute are not built for the thread sanitizer, which would slow them down ten
 * times. This reports whole rows as read to the sanitizer. */
static void tell_read(const struct xg_problem *p, const void *data, int64_t rows, int64_t columns,
                      int64_t ld)
{
    const int64_t bytes = (int64_t)xg_problem_elem_bytes(p);
    for (int64_t i = 0; i < rows && data != p->c; i++)
        XT_TELL_READ(xg_problem_at(p, data, i * ld), columns * bytes);
}

void fake_factors_check(const struct xg_problem *p, bool padded)
{
    const int64_t a_rows = p->transa ? p->k : p->m, a_columns = p->transa ? p->m : p->k;
    const int64_t b_rows = p->transb ? p->n : p->k, b_columns = p->transb ? p->k : p->n;
    if (padded) {
        check_padding(p, p->a, a_rows, a_columns, p->lda, "A");
        check_padding(p, p->b, b_rows, b_columns, p->ldb, "B");
    }
    tell_read(p, p->a, a_rows, a_columns, p->lda);
    tell_read(p, p->b, b_rows, b_columns, p->ldb);
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

/* Copies to C what cuBLAS's TRMM reads elsewhere. The product is then computed in place. */
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

/* Computes the wanted elements of doubles, row by row. */
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
    if (is_sgemm(&p)) {
        fake_sgemm_run(&p, &work->wanted, work->split, work->padded);
        return;
    }
    if (xg_problem_is_in_place(&p))
        place(&p);
    if (p.k > 0)
        fake_factors_check(&p, work->padded);
    if (work->wanted.kind == XG_TRIANGLE_ALL)
        compute(&p);
    else
        run_wanted(&p, &work->wanted);
    if (p.op == XG_OP_GEMM && p.type == XG_TYPE_D)
        fake_result_flip(p.c, p.m, p.n, p.ldc, true);
}

CUresult fakecuda_problem(const struct xg_problem *p, int split, CUstream stream)
{
    const struct work work = {.problem = *p, .split = split};
    return fakecuda_call(&work, sizeof work, resolve, run, false, stream);
}

CUresult fake_sgemm_queue(const struct xg_sgemm_args *args, bool padded, CUstream stream)
{
    const struct work work = {.problem = FAKE_PROBLEM(XG_TYPE_S, args),
                              .wanted = args->wanted,
                              .padded = padded,
                              .split = args->split};
    return fakecuda_call(&work, sizeof work, resolve, run, false, stream);
}

CUresult fake_dgemm_queue(const struct xg_dgemm_args *args, CUstream stream)
{
    const struct work work = {
        .problem = FAKE_PROBLEM(XG_TYPE_D, args), .wanted = args->wanted, .padded = true};
    return fakecuda_call(&work, sizeof work, resolve, run, false, stream);
}
