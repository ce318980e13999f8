/* SPDX-License-Identifier: MIT */
/*
 * The functions of cuSOLVER that the fake has. NVIDIA's cusolverDn.h declares the same with enums
 * in place of int and with typed pointers to elements. The fake and its test include this.
 */
#ifndef CUSOLVER_H
#define CUSOLVER_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

/* cusolverStatus_t, as far as the fake returns it. */
enum {
    CUSOLVER_STATUS_SUCCESS = 0,
    CUSOLVER_STATUS_NOT_INITIALIZED = 1,
    CUSOLVER_STATUS_ALLOC_FAILED = 2,
    CUSOLVER_STATUS_INVALID_VALUE = 3,
    CUSOLVER_STATUS_EXECUTION_FAILED = 6,
};

/* cudaDataType. */
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_C_32F = 4, CUDA_C_64F = 5 };

typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct cusolverDnParams *cusolverDnParams_t;

int cusolverDnCreate(cusolverDnHandle_t *handle);
int cusolverDnDestroy(cusolverDnHandle_t handle);
int cusolverDnSetStream(cusolverDnHandle_t handle, CUstream stream);
int cusolverDnCreateParams(cusolverDnParams_t *params);
int cusolverDnDestroyParams(cusolverDnParams_t params);

/* What the parameters of the functions of any type begin and end with. */
#define CUSOLVER_ANY cusolverDnHandle_t handle, cusolverDnParams_t params
#define CUSOLVER_SIZES int compute, size_t *device_bytes, size_t *host_bytes
#define CUSOLVER_WORK                                                                              \
    int compute, void *device, size_t device_bytes, void *host, size_t host_bytes, int *info

int cusolverDnXpotrs(CUSOLVER_ANY, int uplo, int64_t n, int64_t nrhs, int type, const void *a,
                     int64_t lda, int type_b, void *b, int64_t ldb, int *info);

int cusolverDnXgetrf_bufferSize(CUSOLVER_ANY, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, CUSOLVER_SIZES);
int cusolverDnXgetrf(CUSOLVER_ANY, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int64_t *pivots, CUSOLVER_WORK);
int cusolverDnXgetrs(CUSOLVER_ANY, int trans, int64_t n, int64_t nrhs, int type, const void *a,
                     int64_t lda, const int64_t *pivots, int type_b, void *b, int64_t ldb,
                     int *info);

int cusolverDnXgeqrf_bufferSize(CUSOLVER_ANY, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, int type_tau, const void *tau, CUSOLVER_SIZES);
int cusolverDnXgeqrf(CUSOLVER_ANY, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int type_tau, void *tau, CUSOLVER_WORK);

int cusolverDnXsyevd_bufferSize(CUSOLVER_ANY, int job, int uplo, int64_t n, int type, const void *a,
                                int64_t lda, int type_w, const void *w, CUSOLVER_SIZES);
int cusolverDnXsyevd(CUSOLVER_ANY, int job, int uplo, int64_t n, int type, void *a, int64_t lda,
                     int type_w, void *w, CUSOLVER_WORK);

int cusolverDnXgesvd_bufferSize(CUSOLVER_ANY, signed char job_u, signed char job_vt, int64_t m,
                                int64_t n, int type, const void *a, int64_t lda, int type_s,
                                const void *s, int type_u, const void *u, int64_t ldu, int type_vt,
                                const void *vt, int64_t ldvt, CUSOLVER_SIZES);
int cusolverDnXgesvd(CUSOLVER_ANY, signed char job_u, signed char job_vt, int64_t m, int64_t n,
                     int type, void *a, int64_t lda, int type_s, void *s, int type_u, void *u,
                     int64_t ldu, int type_vt, void *vt, int64_t ldvt, CUSOLVER_WORK);

/* econ: 1: the first min(m,n) columns of U and V; 0: all. V is no transpose here. */
int cusolverDnXgesvdp_bufferSize(CUSOLVER_ANY, int job, int econ, int64_t m, int64_t n, int type,
                                 const void *a, int64_t lda, int type_s, const void *s, int type_u,
                                 const void *u, int64_t ldu, int type_v, const void *v, int64_t ldv,
                                 CUSOLVER_SIZES);
int cusolverDnXgesvdp(CUSOLVER_ANY, int job, int econ, int64_t m, int64_t n, int type, void *a,
                      int64_t lda, int type_s, void *s, int type_u, void *u, int64_t ldu,
                      int type_v, void *v, int64_t ldv, CUSOLVER_WORK, double *err_sigma);

int cusolverDnXgeev_bufferSize(CUSOLVER_ANY, int job_vl, int job_vr, int64_t n, int type,
                               const void *a, int64_t lda, int type_w, const void *w, int type_vl,
                               const void *vl, int64_t ldvl, int type_vr, const void *vr,
                               int64_t ldvr, CUSOLVER_SIZES);
int cusolverDnXgeev(CUSOLVER_ANY, int job_vl, int job_vr, int64_t n, int type, void *a, int64_t lda,
                    int type_w, void *w, int type_vl, void *vl, int64_t ldvl, int type_vr, void *vr,
                    int64_t ldvr, CUSOLVER_WORK);

int cusolverDnXtrtri_bufferSize(cusolverDnHandle_t handle, int uplo, int diag, int64_t n, int type,
                                void *a, int64_t lda, size_t *device_bytes, size_t *host_bytes);
int cusolverDnXtrtri(cusolverDnHandle_t handle, int uplo, int diag, int64_t n, int type, void *a,
                     int64_t lda, void *device, size_t device_bytes, void *host, size_t host_bytes,
                     int *info);

/* The functions of one type: its letter, and what the standard calls the routine in it. lwork
 * counts elements. */
#define CUSOLVER_TYPED(X) X(S, or, sy) X(D, or, sy) X(C, un, he) X(Z, un, he)
#define CUSOLVER_DECLARE(T, or, sy)                                                                \
    int cusolverDn##T##potrf_bufferSize(cusolverDnHandle_t handle, int uplo, int n, void *a,       \
                                        int lda, int *lwork);                                      \
    int cusolverDn##T##potrf(cusolverDnHandle_t handle, int uplo, int n, void *a, int lda,         \
                             void *work, int lwork, int *info);                                    \
    int cusolverDn##T##potri_bufferSize(cusolverDnHandle_t handle, int uplo, int n, void *a,       \
                                        int lda, int *lwork);                                      \
    int cusolverDn##T##potri(cusolverDnHandle_t handle, int uplo, int n, void *a, int lda,         \
                             void *work, int lwork, int *info);                                    \
    int cusolverDn##T## or ##gqr_bufferSize(cusolverDnHandle_t handle, int m, int n, int k,        \
                                            const void *a, int lda, const void *tau, int *lwork);  \
    int cusolverDn##T## or ##gqr(cusolverDnHandle_t handle, int m, int n, int k, void *a, int lda, \
                                 const void *tau, void *work, int lwork, int *info);               \
    int cusolverDn##T## or ##mqr_bufferSize(cusolverDnHandle_t handle, int side, int trans, int m, \
                                            int n, int k, const void *a, int lda, const void *tau, \
                                            const void *c, int ldc, int *lwork);                   \
    int cusolverDn##T## or                                                                         \
        ##mqr(cusolverDnHandle_t handle, int side, int trans, int m, int n, int k, const void *a,  \
              int lda, const void *tau, void *c, int ldc, void *work, int lwork, int *info);       \
    int cusolverDn##T##sy##gvd_bufferSize(cusolverDnHandle_t handle, int itype, int job, int uplo, \
                                          int n, const void *a, int lda, const void *b, int ldb,   \
                                          const void *w, int *lwork);                              \
    int cusolverDn##T##sy##gvd(cusolverDnHandle_t handle, int itype, int job, int uplo, int n,     \
                               void *a, int lda, void *b, int ldb, void *w, void *work, int lwork, \
                               int *info);
CUSOLVER_TYPED(CUSOLVER_DECLARE)

#endif
