/* SPDX-License-Identifier: MIT */
/* Both interfaces of SGEMM, and one each of DGEMM and SSYRK, with 32-bit integers. */
#ifndef BENCH_NOTHING_H
#define BENCH_NOTHING_H

#include <stddef.h>

#pragma GCC visibility push(default)

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc, size_t transa_length,
            size_t transb_length);

void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c,
                 int ldc);
void ssyrk_(const char *uplo, const char *trans, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *beta, float *c, const int *ldc,
            size_t uplo_length, size_t trans_length);

#pragma GCC visibility pop

#endif
