/* SPDX-License-Identifier: MIT */
/* This LAPACK's DGELSD fails to converge on square matrices, and overwrites its operands first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>

typedef void gelsd(int32_t *m, int32_t *n, int32_t *k, double *a, int32_t *lda, double *b,
                   int32_t *ldb, double *s, double *rcond, int32_t *rank, double *work,
                   int32_t *lwork, int32_t *iwork, int32_t *info);
gelsd dgelsd_;

void dgelsd_(int32_t *m, int32_t *n, int32_t *k, double *a, int32_t *lda, double *b, int32_t *ldb,
             double *s, double *rcond, int32_t *rank, double *work, int32_t *lwork, int32_t *iwork,
             int32_t *info)
{
    gelsd *next = (gelsd *)dlsym(RTLD_NEXT, "dgelsd_");
    if (*m != *n || *lwork == -1) {
        next(m, n, k, a, lda, b, ldb, s, rcond, rank, work, lwork, iwork, info);
        return;
    }
    a[0] = b[0] = s[0] = NAN;
    *rank = -5;
    *info = 7;
}
