/* SPDX-License-Identifier: MIT */
/* Deliberate defects of the door, in front of its own functions as tests/mutation/engine.c says. */
#include "../../shim/args.h"
#include "../../shim/blas.h"
#include "defect.h"

void __real_shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args);
void __wrap_shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args);
void __real_shim_blas_forward(const struct shim_blas *blas, const struct shim_call *call);
void __wrap_shim_blas_forward(const struct shim_blas *blas, const struct shim_call *call);

/* Whether the defect reads this transpose as none: a letter, or a number of the C interface. */
static bool misread(int trans)
{
    if (defect_is("conjugate"))
        return trans == 113 || trans == 'C' || trans == 'c';
    return defect_is("lowercase") && (trans == 't' || trans == 'c');
}

void __wrap_shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    __real_shim_args_read(call, int_bytes, args);
    if (args->illegal)
        return;
    if (defect_is("triangle") && args->problem.uplo != XG_FULL)
        args->problem.uplo = args->problem.uplo == XG_UPPER ? XG_LOWER : XG_UPPER;
    if (call->symbol->op != XG_OP_GEMM)
        return;
    bool cblas = call->symbol->interface == SHIM_CBLAS;
    bool row_major = cblas && call->gemm_cblas.order == 101;
    bool a = misread(cblas ? call->gemm_cblas.transa : *call->gemm_fortran.transa);
    bool b = misread(cblas ? call->gemm_cblas.transb : *call->gemm_fortran.transb);
    /* A column-major product is its transpose, operands swapped. */
    if (row_major ? a : b)
        args->problem.transa = XG_NO_TRANS;
    if (row_major ? b : a)
        args->problem.transb = XG_NO_TRANS;
}

void __wrap_shim_blas_forward(const struct shim_blas *blas, const struct shim_call *call)
{
    struct shim_args args;
    __real_shim_args_read(call, blas->int_bytes, &args);
    if (!args.illegal || !defect_is("illegal"))
        __real_shim_blas_forward(blas, call);
}
