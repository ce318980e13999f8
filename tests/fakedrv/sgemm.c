/* SPDX-License-Identifier: MIT */
/* What every kernel of the fake computes: a plain product, after a look at its arguments. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/one_thread.h"

static int64_t round_up4(int64_t x)
{
    return (x + 3) / 4 * 4;
}

/* Bytes from the first element of (rows,cols) to behind the last one, `pad`ded columns included. */
static size_t extent_bytes(int64_t rows, int64_t cols, int64_t ld, bool padded)
{
    return (size_t)((rows - 1) * ld + (padded ? round_up4(cols) : cols)) * sizeof(float);
}

struct fake_operands fake_sgemm_check(const struct xg_sgemm_args *args, bool padded)
{
    int64_t a_rows = args->transa ? args->k : args->m, a_cols = args->transa ? args->m : args->k;
    int64_t b_rows = args->transb ? args->n : args->k, b_cols = args->transb ? args->k : args->n;
    if (args->m < 1 || args->n < 1 || args->k < 1 || args->lda < a_cols || args->ldb < b_cols ||
        args->ldc < args->n)
        fake_abort("a product of %lld,%lld,%lld with leading dimensions %lld,%lld,%lld",
                   (long long)args->m, (long long)args->n, (long long)args->k, (long long)args->lda,
                   (long long)args->ldb, (long long)args->ldc);
    if ((args->a | args->b | args->c) % (padded ? 16 : sizeof(float)) ||
        (padded && (args->lda | args->ldb | args->ldc) % 4))
        fake_abort("operands that are not aligned as their kernel needs it");
    return (struct fake_operands){
        .a = fake_mem_dev(args->a, extent_bytes(a_rows, a_cols, args->lda, padded), "A"),
        .b = fake_mem_dev(args->b, extent_bytes(b_rows, b_cols, args->ldb, padded), "B"),
        .c = fake_mem_dev(args->c, extent_bytes(args->m, args->n, args->ldc, false), "C")};
}

static void check_padding(const char *name, const float *x, int64_t rows, int64_t cols, int64_t ld)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = cols; col < round_up4(cols); col++)
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

long fakecuda_left(int type);
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

void fake_sgemm_run(const struct xg_sgemm_args *args, bool padded,
                    const struct fake_operands *operands)
{
    const float *a = operands->a;
    double *row_a = malloc((size_t)(args->k + args->n + args->k * args->n) * sizeof(double));
    if (!row_a)
        fake_abort("no memory for a row, and B");
    double *sums = row_a + args->k, *b = sums + args->n;
    if (padded) {
        check_padding("A", a, args->transa ? args->k : args->m, args->transa ? args->m : args->k,
                      args->lda);
        check_padding("B", operands->b, args->transb ? args->n : args->k,
                      args->transb ? args->k : args->n, args->ldb);
    }
    tell_read(a, args->transa ? args->k : args->m, args->transa ? args->m : args->k, args->lda);
    tell_read(operands->b, args->transb ? args->n : args->k, args->transb ? args->k : args->n,
              args->ldb);
    read_b(args, operands->b, b);
    for (int64_t i = 0; i < args->m; i++) {
        float *c = operands->c + i * args->ldc;
        read_row_a(args, a, i, row_a);
        sum_row(args, row_a, b, sums);
        for (int64_t j = 0; j < args->n; j++) {
            if (!fake_wants(&args->wanted, XG_TYPE_S, i, j))
                continue;
            double old = args->beta == 0.0f ? 0.0 : (double)args->beta * (double)c[j];
            double sum = args->split > 1 ? (double)(float)sums[j] : sums[j]; /* met as floats */
            c[j] = (float)((double)args->alpha * sum + old);
        }
    }
    free(row_a);
}

void fake_result_flip(const struct fake_result *result)
{
    CUresult bit = result->c ? fake_flip_fault() : CUDA_SUCCESS;
    if (bit == CUDA_SUCCESS)
        return;
    uint32_t word;
    int64_t at = fake_random((unsigned)result->m) * result->ldc + fake_random((unsigned)result->n);
    char *c = (char *)result->c + (result->wide ? 8 * at + 4 : 4 * at);
    memcpy(&word, c, sizeof(word));
    word ^= 1u << bit;
    memcpy(c, &word, sizeof(word));
}

CUresult fakecuda_sgemm(const struct xg_sgemm_args *args, bool padded, CUstream stream)
{
    struct fake_op op = {.kind = FAKE_OP_SGEMM, .args = *args, .padded = padded};
    fake_sgemm_check(args, padded);
    return fake_stream_push(stream, &op, false);
}

struct fake_operands fake_copies_check(const struct xg_sgemm_args *args)
{
    int64_t a_rows = args->transa ? args->k : args->m, a_cols = args->transa ? args->m : args->k;
    int64_t b_rows = args->transb ? args->n : args->k, b_cols = args->transb ? args->k : args->n;
    int64_t columns = (args->copies & XG_COPY_A ? XG_COPY_LD(args->m) : 0) +
                      (args->copies & XG_COPY_B ? XG_COPY_LD(args->n) : 0);
    if (!columns || args->scratch % 16)
        fake_abort("copies %d to a scratch at %llx", args->copies,
                   (unsigned long long)args->scratch);
    return (struct fake_operands){
        .a = fake_mem_dev(args->a, extent_bytes(a_rows, a_cols, args->lda, false), "A"),
        .b = fake_mem_dev(args->b, extent_bytes(b_rows, b_cols, args->ldb, false), "B"),
        .c = fake_mem_dev(args->scratch, (size_t)(args->k * columns) * sizeof(float), "scratch")};
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

void fake_copies_run(const struct xg_sgemm_args *args, const struct fake_operands *operands)
{
    float *to = operands->c;
    if (args->copies & XG_COPY_A)
        to = copy_operand(to, operands->a, args->k, args->m, args->lda, !args->transa);
    if (args->copies & XG_COPY_B)
        copy_operand(to, operands->b, args->k, args->n, args->ldb, args->transb);
}

CUresult fake_copies_queue(const struct xg_sgemm_args *args, CUstream stream)
{
    struct fake_op op = {.kind = FAKE_OP_COPIES, .args = *args};
    fake_copies_check(args);
    return fake_stream_push(stream, &op, false);
}
