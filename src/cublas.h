/* SPDX-License-Identifier: MIT */
/* cuBLAS as one more row of the table: dlopened when a call asks for it, never linked. */
#ifndef XG_CUBLAS_H
#define XG_CUBLAS_H

#include "../kernels/kabi.h"
#include "dev.h"

/*
 * cublasSgemm for row-major *args (as the column-major transpose), on the stream; tf32: the factors
 * may be rounded to TF32. The library is
 * loaded and its handle created at the first call. XG_OK; XG_DECLINED for sizes beyond 2^31 - 1;
 * XG_ERR_NOTFOUND where there is no cuBLAS; XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST. The device's
 * context must be current; from any thread (calls take turns). With XGEMM_REPRODUCIBLE the same
 * call gives the same bits, whatever runs on other streams.
 */
enum xg_status xg_cublas_sgemm(struct xg_dev *dev, bool tf32, const struct xg_sgemm_args *args,
                               CUstream stream);

/*
 * dlopens libcublas: the newest of versions 13 to 11, from the linker's folders or the toolkit's.
 * NULL, logged, where there is none. The handle is the caller's, and the library stays loaded.
 */
void *xg_cublas_library(void);

/* True when a libcublas can be loaded; loads it. From any thread. */
bool xg_cublas_present(struct xg_dev *dev);

void xg_cublas_fini(struct xg_dev *dev);

#endif
