/* SPDX-License-Identifier: MIT */
/* The product that every kernel of floats computes. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/integers.h"
#include "tests/support/one_thread.h"

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

/* Copies op(B), (k, n), as doubles, once for all rows of C. */
XT_ONE_THREAD static void read_b(const struct xg_problem *p, const float *b, double *to)
{
    for (int64_t l = 0; l < p->k; l++)
        for (int64_t j = 0; j < p->n; j++)
            to[l * p->n + j] = (double)(p->transb ? b[j * p->ldb + l] : b[l * p->ldb + j]);
}

/* Copies row i of op(A), (k), as doubles. */
XT_ONE_THREAD static void read_row_a(const struct xg_problem *p, const float *a, int64_t i,
                                     double *to)
{
    for (int64_t l = 0; l < p->k; l++)
        to[l] = (double)(p->transa ? a[l * p->lda + i] : a[i * p->lda + l]);
}

/* Sums one row of C in double precision, four rows of B at a time; most of a test's time is spent
 * here. row_a: (k); b: (k, n); sums: (n). */
XT_ONE_THREAD static void sum_row(const struct xg_problem *p, const double *row_a, const double *b,
                                  double *sums)
{
    const int64_t n = p->n, k = p->k;
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

void fake_sgemm_run(const struct xg_problem *p, const struct xg_triangle *wanted, int split,
                    bool padded)
{
    double *row_a = malloc((size_t)(p->k + p->n + p->k * p->n) * sizeof(double));
    if (!row_a)
        fake_abort("no memory for a row, and B");
    double *sums = row_a + p->k, *all_b = sums + p->n;
    fake_factors_check(p, padded);
    read_b(p, p->b, all_b);
    for (int64_t i = 0; i < p->m; i++) {
        float *c = (float *)p->c + i * p->ldc;
        read_row_a(p, p->a, i, row_a);
        sum_row(p, row_a, all_b, sums);
        for (int64_t j = 0; j < p->n; j++) {
            if (!fake_wants(wanted, XG_TYPE_S, i, j))
                continue;
            double old = p->beta == 0 ? 0.0 : p->beta * (double)c[j];
            double sum = split > 1 ? (double)(float)sums[j] : sums[j]; /* slices add up as floats */
            c[j] = (float)(p->alpha * sum + old);
        }
    }
    free(row_a);
    fake_result_flip(p->c, p->m, p->n, p->ldc, false);
}

void fake_sgemm_resolve(struct xg_sgemm_args *args)
{
    struct xg_problem p = FAKE_PROBLEM(XG_TYPE_S, args);
    fake_problem_resolve(&p, false);
    args->a = (uintptr_t)p.a;
    args->b = (uintptr_t)p.b;
    args->c = (uintptr_t)p.c;
}
