/* SPDX-License-Identifier: MIT */
/* A product of matrices of any type in device memory: the arguments of a kernel of the table or of
 * cuBLAS.
 */
#ifndef XG_GEMM_ARGS_H
#define XG_GEMM_ARGS_H

#include "base/xg.h"
#include "decide/select.h"
#include "device/drv.h"
#include "kernels/kabi.h"

/*
 * C = alpha * op(A) * op(B) + beta * C, row-major; leading dimensions in elements of the type.
 * wanted: the part of C to write, all zeros for all of C (kernels/kabi.h).
 */
struct xg_gemm_args {
    enum xg_type type;
    enum xg_trans transa, transb;
    int64_t m, n, k;
    double alpha, alpha_im, beta;
    CUdeviceptr a;
    int64_t lda;
    CUdeviceptr b;
    int64_t ldb;
    CUdeviceptr c;
    int64_t ldc;
    struct xg_triangle wanted;
};

/* The product's shape for selection. */
static inline struct xg_shape xg_gemm_shape(const struct xg_gemm_args *gemm)
{
    return (struct xg_shape){
        .m = gemm->m,
        .n = gemm->n,
        .k = gemm->k,
        .type = gemm->type,
        .transa = gemm->transa != XG_NO_TRANS,
        .transb = gemm->transb != XG_NO_TRANS,
        .unaligned = ((gemm->a | gemm->b | gemm->c) & 15) != 0 ||
                     ((gemm->lda | gemm->ldb | gemm->ldc) & 3) != 0,
    };
}

#endif
