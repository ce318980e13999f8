/* SPDX-License-Identifier: MIT */
/* cuBLAS as one more row of the table: dlopened when a call asks for it, never linked. */
#ifndef XG_CUBLAS_H
#define XG_CUBLAS_H

#include "compute/gemm_args.h"
#include "device/dev.h"

/*
 * cublas?gemm (as the column-major transpose) of all of C, on the stream. tf32: XG_TYPE_S factors
 * may be rounded to TF32. The library is loaded and its handle created at the first call. XG_OK;
 * XG_DECLINED for sizes beyond 2^31 - 1; XG_ERR_NOTFOUND where there is no cuBLAS; XG_ERR_NOMEM,
 * XG_ERR_DRIVER, XG_ERR_LOST. The device's context must be current; from any thread (calls take
 * turns). With XGEMM_REPRODUCIBLE the same call gives the same bits, whatever runs on other
 * streams.
 */
enum xg_status xg_cublas_gemm(struct xg_dev *dev, const struct xg_gemm_args *gemm, bool tf32,
                              CUstream stream);

/* B times or over a triangle, in device memory: row-major, as problem.h has TRMM and TRSM. */
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

/* cublas?trmm or cublas?trsm, likewise. */
enum xg_status xg_cublas_triangular(struct xg_dev *dev,
                                    const struct xg_cublas_triangular *triangular, CUstream stream);

/* Loads a libcublas and finds its functions where the process has yet to do so, which takes the
 * dynamic linker's lock. From any thread. */
void xg_cublas_load(void);

/*
 * Does that, and makes the device's handle. XG_OK; XG_ERR_NOTFOUND where there is no libcublas, or
 * the handle could not be made three times; XG_ERR_NOMEM and XG_ERR_DRIVER, which may pass;
 * XG_ERR_LOST. From any thread, with the device's context current.
 */
enum xg_status xg_cublas_open(struct xg_dev *dev);

/* Whether that is XG_OK. */
bool xg_cublas_present(struct xg_dev *dev);

/* Whether some thread is in the driver for it. A load. */
bool xg_cublas_opens(void);

void xg_cublas_fini(struct xg_dev *dev);

#endif
