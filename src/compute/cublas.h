/* SPDX-License-Identifier: MIT */
/* cuBLAS as another row of the kernel table: opened with dlopen on first use, never linked. */
#ifndef XG_CUBLAS_H
#define XG_CUBLAS_H

#include "compute/gemm_args.h"
#include "device/dev.h"

/*
 * Enqueues cublas?gemm (as the column-major transpose) of all of C on the stream. tf32: XG_TYPE_S
 * factors may be rounded to TF32. The first call loads the library and creates its handle. Returns
 * XG_OK; XG_DECLINED for sizes beyond 2^31 - 1; XG_ERR_NOTFOUND if there is no cuBLAS;
 * XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST. The device's context must be current. Callable from any
 * thread; calls are serialised. With XGEMM_REPRODUCIBLE the same call gives the same bits, whatever
 * runs on other streams.
 */
enum xg_status xg_cublas_gemm(struct xg_dev *dev, const struct xg_gemm_args *gemm, bool tf32,
                              CUstream stream);

/* A TRMM or TRSM in device memory, row-major, in the terms of problem.h. */
struct xg_cublas_triangular {
    enum xg_op op;
    enum xg_type type;
    enum xg_operand structured;
    enum xg_uplo stored;
    enum xg_trans trans;
    bool unit;
    int64_t m, n; /* of C */
    double alpha, alpha_im;
    CUdeviceptr triangle;
    int64_t ld;
    CUdeviceptr b; /* TRMM: the other operand; TRSM solves in place */
    int64_t ldb;
    CUdeviceptr c;
    int64_t ldc;
};

/* Enqueues cublas?trmm or cublas?trsm, under the conditions of xg_cublas_gemm. */
enum xg_status xg_cublas_triangular(struct xg_dev *dev,
                                    const struct xg_cublas_triangular *triangular, CUstream stream);

/* Loads a libcublas and finds its functions, unless the process has done so. Takes the dynamic
 * linker's lock. Callable from any thread. */
void xg_cublas_load(void);

/* Whether xg_cublas_load has found the functions. An atomic load. */
bool xg_cublas_is_loaded(void);

/*
 * Calls xg_cublas_load and creates the device's handle. Returns XG_OK; XG_ERR_NOTFOUND if there is
 * no libcublas or creating the handle failed three times; XG_ERR_NOMEM and XG_ERR_DRIVER, which may
 * be temporary; XG_ERR_LOST. Callable from any thread, with the device's context current.
 */
enum xg_status xg_cublas_open(struct xg_dev *dev);

/* Whether xg_cublas_open returns XG_OK. */
bool xg_cublas_present(struct xg_dev *dev);

/* Whether a thread is in the driver to create a handle. An atomic load. */
bool xg_cublas_opens(void);

/* Destroys the handle, with the device's context current. */
void xg_cublas_fini(struct xg_dev *dev);

/* Frees host memory alone: the context cannot be entered, and keeps the handle. */
void xg_cublas_forget(struct xg_dev *dev);

#endif
