/* SPDX-License-Identifier: MIT */
/* The built-in product on the CPU: a blocked plain loop, for when there is no BLAS at all. */
#include "cpu.h"

#include <math.h>
#include <string.h>

/* A block of op(B), (BLOCK_K, BLOCK_N) floats, stays in the second-level cache over all rows of A.
 */
enum { BLOCK_K = 128, BLOCK_N = 512 };

/* C = beta * C. beta == 0 writes zeros without reading: C may hold NaN. */
static void scale_c(const struct xg_sgemm *call)
{
    for (int64_t i = 0; i < call->m; i++) {
        float *row = call->c + i * call->ldc;

        if (call->beta == 0.0f) {
            memset(row, 0, (size_t)call->n * sizeof *row);
        } else if (call->beta != 1.0f) {
            for (int64_t j = 0; j < call->n; j++)
                row[j] *= call->beta;
        }
    }
}

static float a_element(const struct xg_sgemm *call, int64_t i, int64_t p)
{
    return call->transa ? call->a[p * call->lda + i] : call->a[i * call->lda + p];
}

/* C[i, j0:j1] += alpha * op(A)[i, p0:p1] * B[p0:p1, j0:j1], along rows of B. */
static void row_by_rows(const struct xg_sgemm *call, int64_t i, int64_t p0, int64_t p1, int64_t j0,
                        int64_t j1)
{
    float *restrict c = call->c + i * call->ldc;

    for (int64_t p = p0; p < p1; p++) {
        const float *restrict b = call->b + p * call->ldb;
        float a = call->alpha * a_element(call, i, p);

        for (int64_t j = j0; j < j1; j++)
            c[j] += a * b[j];
    }
}

/* The same with B stored transposed, (n,k): each element is a dot product along contiguous k. */
static void row_by_dots(const struct xg_sgemm *call, int64_t i, int64_t p0, int64_t p1, int64_t j0,
                        int64_t j1)
{
    float *restrict c = call->c + i * call->ldc;

    for (int64_t j = j0; j < j1; j++) {
        const float *restrict b = call->b + j * call->ldb;
        float sum = 0.0f;

        for (int64_t p = p0; p < p1; p++)
            sum += a_element(call, i, p) * b[p];
        c[j] += call->alpha * sum;
    }
}

void xg_cpu_sgemm(const struct xg_sgemm *call)
{
    if (call->m == 0 || call->n == 0)
        return;
    scale_c(call);
    if (call->alpha == 0.0f || call->k == 0)
        return;
    for (int64_t p0 = 0; p0 < call->k; p0 += BLOCK_K) {
        int64_t p1 = xg_min_i64(p0 + BLOCK_K, call->k);

        for (int64_t j0 = 0; j0 < call->n; j0 += BLOCK_N) {
            int64_t j1 = xg_min_i64(j0 + BLOCK_N, call->n);

            for (int64_t i = 0; i < call->m; i++)
                (call->transb ? row_by_dots : row_by_rows)(call, i, p0, p1, j0, j1);
        }
    }
}

double xg_cpu_sgemm_element(const struct xg_sgemm *call, int64_t i, int64_t j, float c0,
                            double *magnitude)
{
    double sum = 0.0, scale = 0.0;

    if (call->alpha != 0.0f) {
        for (int64_t p = 0; p < call->k; p++) {
            const float b = call->transb ? call->b[j * call->ldb + p] : call->b[p * call->ldb + j];
            double product = (double)a_element(call, i, p) * (double)b;

            sum += product;
            scale += fabs(product);
        }
        sum *= (double)call->alpha;
        scale *= fabs((double)call->alpha);
    }
    if (call->beta != 0.0f) {
        sum += (double)call->beta * (double)c0;
        scale += fabs((double)call->beta * (double)c0);
    }
    *magnitude = scale;
    return sum;
}
