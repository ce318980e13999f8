/* SPDX-License-Identifier: MIT */
/* Deliberate defects of the door, in front of its own functions as tests/mutation/engine.c says. */
#include "defect.h"
#include "shim/args.h"
#include "shim/blas.h"

void __real_shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args);
void __wrap_shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args);
int __real_shim_blas_forward(const struct shim_blas *blas, const struct shim_call *call);
int __wrap_shim_blas_forward(const struct shim_blas *blas, const struct shim_call *call);

/* Whether the defect reads this transpose as none: a letter, or a number of the C interface. */
static bool misread(int trans)
{
    if (defect_is("conjugate"))
        return trans == 113 || trans == 'C' || trans == 'c';
    return defect_is("lowercase") && (trans == 't' || trans == 'c');
}

static enum xg_uplo other_triangle(enum xg_uplo uplo)
{
    return uplo == XG_UPPER ? XG_LOWER : uplo == XG_LOWER ? XG_UPPER : XG_FULL;
}

/* What the other operations have beyond GEMM, misread. */
static void misread_problem(struct xg_problem *p)
{
    if (defect_is("triangle"))
        p->uplo = other_triangle(p->uplo);
    if (defect_is("hermitian") && p->op == XG_OP_HERK)
        p->op = XG_OP_SYRK;
    if (defect_is("exchanged") && xg_problem_is_rank_2k(p)) {
        p->b = p->a;
        p->ldb = p->lda;
    }
    if (defect_is("unit"))
        p->unit = false;
    if (defect_is("trsm") && xg_problem_is_in_place(p))
        p->op = XG_OP_TRMM;
    if (defect_is("stored"))
        p->stored = other_triangle(p->stored);
}

void __wrap_shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    __real_shim_args_read(call, int_bytes, args);
    if (args->illegal || shim_symbol_is_lapack(call->symbol))
        return;
    misread_problem(&args->problem);
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

int __wrap_shim_blas_forward(const struct shim_blas *blas, const struct shim_call *call)
{
    struct shim_args args = {.illegal = 0};
    if (defect_is("illegal") && !shim_symbol_is_lapack(call->symbol))
        __real_shim_args_read(call, blas->int_bytes, &args);
    return args.illegal ? 0 : __real_shim_blas_forward(blas, call);
}
