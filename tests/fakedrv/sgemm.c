/* SPDX-License-Identifier: MIT */
/* What every kernel of the fake computes: a plain product, after a look at its arguments. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/integers.h"
#include "tests/support/one_thread.h"

struct work {
    struct xg_sgemm_args args;
    bool padded;
};

/* Bytes from the first element of (rows,cols) to behind the last one, `pad`ded columns included. */
static int64_t extent_bytes(int64_t rows, int64_t cols, int64_t ld, bool padded)
{
    return ((rows - 1) * ld + xg_round_up(cols, padded ? 4 : 1)) * (int64_t)sizeof(float);
}

static void resolve_factors(struct xg_sgemm_args *args, bool padded)
{
    int64_t a_rows = args->transa ? args->k : args->m, a_cols = args->transa ? args->m : args->k;
    int64_t b_rows = args->transb ? args->n : args->k, b_cols = args->transb ? args->k : args->n;
    fake_mem_resolve(&args->a, extent_bytes(a_rows, a_cols, args->lda, padded), "A");
    fake_mem_resolve(&args->b, extent_bytes(b_rows, b_cols, args->ldb, padded), "B");
}

void fake_sgemm_resolve(struct xg_sgemm_args *args, bool padded)
{
    if (args->m < 1 || args->n < 1 || args->k < 1 ||
        args->lda < (args->transa ? args->m : args->k) ||
        args->ldb < (args->transb ? args->k : args->n) || args->ldc < args->n)
        fake_abort("a product of %lld,%lld,%lld with leading dimensions %lld,%lld,%lld",
                   (long long)args->m, (long long)args->n, (long long)args->k, (long long)args->lda,
                   (long long)args->ldb, (long long)args->ldc);
    if ((args->a | args->b | args->c) % (padded ? 16 : sizeof(float)) ||
        (padded && (args->lda | args->ldb | args->ldc) % 4))
        fake_abort("operands that are not aligned as their kernel needs it");
    resolve_factors(args, padded);
    fake_mem_resolve(&args->c, extent_bytes(args->m, args->n, args->ldc, false), "C");
}

static void check_padding(const char *name, const float *x, int64_t rows, int64_t cols, int64_t ld)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = cols; col < xg_round_up(cols, 4); col++)
            if (!(x[row * ld + col] == 0.0f))
                fake_abort("%s: the padding at row %lld, column %lld of %lld is %g, not 0", name,
                           (long long)row, (long long)col, (long long)cols,
                           (double)x[row * ld + col]);
}

static _Atomic long left_count[XG_TYPE_COUNT];

bool fake_wants(const struct xg_triangle *wanted, enum xg_type type, int64_t i, int64_t j)
{
    const bool wants = xg_triangle_wants(wanted, i, j);
    if (!wants)
        left_count[type]++;
    return wants;
}

long fakecuda_left(int type)
{
    return left_count[type];
}

static void tell_read(const float *x, int64_t rows, int64_t columns, int64_t ld)
{
    for (int64_t i = 0; i < rows; i++)
        XT_TELL_READ(x + i * ld, columns * (int64_t)sizeof *x);
}

/* op(B), (k, n), as doubles: read once, for all rows of C. */
XT_ONE_THREAD static void read_b(const struct xg_sgemm_args *args, const float *b, double *to)
{
    for (int64_t l = 0; l < args->k; l++)
        for (int64_t j = 0; j < args->n; j++)
            to[l * args->n + j] =
                (double)(args->transb ? b[j * args->ldb + l] : b[l * args->ldb + j]);
}

/* Row i of op(A), (k), as doubles. */
XT_ONE_THREAD static void read_row_a(const struct xg_sgemm_args *args, const float *a, int64_t i,
                                     double *to)
{
    for (int64_t l = 0; l < args->k; l++)
        to[l] = (double)(args->transa ? a[l * args->lda + i] : a[i * args->lda + l]);
}

/* One row of C, summed in double precision, four rows of B at a time: most of a test's time is
 * here. row_a: (k); b: (k, n); sums: (n). */
XT_ONE_THREAD static void sum_row(const struct xg_sgemm_args *args, const double *row_a,
                                  const double *b, double *sums)
{
    const int64_t n = args->n, k = args->k;
    int64_t l = 0;
    for (int64_t j = 0; j < n; j++)
        sums[j] = 0.0;
    for (; l + 4 <= k; l += 4) {
        const double *x = row_a + l, *b0 = b + l * n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
        for (int64_t j = 0; j < n; j++)
            sums[j] += x[0] * b0[j] + x[1] * b1[j] + (x[2] * b2[j] + x[3] * b3[j]);
    }
    for (; l < k; l++)
        for (int64_t j = 0; j < n; j++)
            sums[j] += row_a[l] * b[l * n + j];
}

void fake_result_flip(void *c, int64_t m, int64_t n, int64_t ldc, bool wide)
{
    int64_t i, j;
    CUresult bit = fakecuda_flip(m, n, &i, &j);
    if (bit == CUDA_SUCCESS)
        return;
    char *at = (char *)c + (wide ? 8 * (i * ldc + j) + 4 : 4 * (i * ldc + j));
    uint32_t word;
    memcpy(&word, at, sizeof word);
    word ^= 1u << bit;
    memcpy(at, &word, sizeof word);
}

void fake_sgemm_run(const struct xg_sgemm_args *args, bool padded)
{
    const float *a = (const float *)(uintptr_t)args->a, *b = (const float *)(uintptr_t)args->b;
    double *row_a = malloc((size_t)(args->k + args->n + args->k * args->n) * sizeof(double));
    if (!row_a)
        fake_abort("no memory for a row, and B");
    double *sums = row_a + args->k, *all_b = sums + args->n;
    if (padded) {
        check_padding("A", a, args->transa ? args->k : args->m, args->transa ? args->m : args->k,
                      args->lda);
        check_padding("B", b, args->transb ? args->n : args->k, args->transb ? args->k : args->n,
                      args->ldb);
    }
    tell_read(a, args->transa ? args->k : args->m, args->transa ? args->m : args->k, args->lda);
    tell_read(b, args->transb ? args->n : args->k, args->transb ? args->k : args->n, args->ldb);
    read_b(args, b, all_b);
    for (int64_t i = 0; i < args->m; i++) {
        float *c = (float *)(uintptr_t)args->c + i * args->ldc;
        read_row_a(args, a, i, row_a);
        sum_row(args, row_a, all_b, sums);
        for (int64_t j = 0; j < args->n; j++) {
            if (!fake_wants(&args->wanted, XG_TYPE_S, i, j))
                continue;
            double old = args->beta == 0.0f ? 0.0 : (double)args->beta * (double)c[j];
            double sum = args->split > 1 ? (double)(float)sums[j] : sums[j]; /* met as floats */
            c[j] = (float)((double)args->alpha * sum + old);
        }
    }
    free(row_a);
    fake_result_flip((void *)(uintptr_t)args->c, args->m, args->n, args->ldc, false);
}

static void resolve(void *queued)
{
    struct work *work = queued;
    fake_sgemm_resolve(&work->args, work->padded);
}

static void run(void *queued)
{
    const struct work *work = queued;
    fake_sgemm_run(&work->args, work->padded);
}

CUresult fakecuda_sgemm(const struct xg_sgemm_args *args, bool padded, CUstream stream)
{
    const struct work work = {*args, padded};
    return fakecuda_call(&work, sizeof work, resolve, run, false, stream);
}

static void resolve_copies(void *queued)
{
    struct xg_sgemm_args *args = queued;
    int64_t columns = (args->copies & XG_COPY_A ? XG_COPY_LD(args->m) : 0) +
                      (args->copies & XG_COPY_B ? XG_COPY_LD(args->n) : 0);
    if (!columns || args->scratch % 16)
        fake_abort("copies %d to a scratch at %llx", args->copies,
                   (unsigned long long)args->scratch);
    resolve_factors(args, false);
    fake_mem_resolve(&args->scratch, args->k * columns * (int64_t)sizeof(float), "scratch");
}

/* Returns what lies behind the copy. */
static float *copy_operand(float *to, const float *x, int64_t k, int64_t extent, int64_t ld,
                           bool turn)
{
    for (int64_t l = 0; l < k; l++)
        for (int64_t i = 0; i < XG_COPY_LD(extent); i++)
            *to++ = i >= extent ? 0.0f : x[turn ? i * ld + l : l * ld + i];
    return to;
}

static void run_copies(void *queued)
{
    const struct xg_sgemm_args *args = queued;
    float *to = (float *)(uintptr_t)args->scratch;
    const float *a = (const float *)(uintptr_t)args->a, *b = (const float *)(uintptr_t)args->b;
    if (args->copies & XG_COPY_A)
        to = copy_operand(to, a, args->k, args->m, args->lda, !args->transa);
    if (args->copies & XG_COPY_B)
        copy_operand(to, b, args->k, args->n, args->ldb, args->transb);
}

CUresult fake_copies_queue(const struct xg_sgemm_args *args, CUstream stream)
{
    return fakecuda_call(args, sizeof *args, resolve_copies, run_copies, false, stream);
}
