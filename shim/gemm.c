/* SPDX-License-Identifier: MIT */
/* Checks GEMM's arguments in the standard's order and turns them to the engine's normal form. */
#include "gemm.h"

static void read_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                      int64_t *k)
{
    struct shim_gemm_terms t;
    shim_gemm_terms_read(call, int_bytes, &t);
    *m = t.order == 101 ? t.m : t.n;
    *n = t.order == 101 ? t.n : t.m;
    *k = t.k;
}

/* This is the standard's rule. Some libraries accept more (OpenBLAS takes lda = 0 for an empty
 * matrix), so a call that is illegal here still goes to the library, which decides. */
int shim_gemm_illegal(const struct shim_gemm_terms *t, bool *extension)
{
    int transa = shim_terms_meaning(t->type, t->transa, extension);
    int transb = shim_terms_meaning(t->type, t->transb, extension);
    bool row_major = t->order == 101;
    int64_t a_extent = row_major != (transa > 0) ? t->k : t->m;
    int64_t b_extent = row_major != (transb > 0) ? t->n : t->k;
    int64_t c_extent = row_major ? t->n : t->m;

    if (transa < 0)
        return 1;
    if (transb < 0)
        return 2;
    if (t->m < 0)
        return 3;
    if (t->n < 0)
        return 4;
    if (t->k < 0)
        return 5;
    if (t->lda < xg_max_i64(1, a_extent))
        return 8;
    if (t->ldb < xg_max_i64(1, b_extent))
        return 10;
    if (t->ldc < xg_max_i64(1, c_extent))
        return 13;
    return 0;
}

/* A column-major product is the row-major product of the transposes: C' = op(B)' op(A)'. */
static void swap(struct xg_problem *p)
{
    struct xg_problem q = *p;
    p->transa = q.transb;
    p->transb = q.transa;
    p->m = q.n;
    p->n = q.m;
    p->a = q.b;
    p->lda = q.ldb;
    p->b = q.a;
    p->ldb = q.lda;
}

void shim_gemm_problem(const struct shim_gemm_terms *t, struct xg_problem *p)
{
    bool extension;
    *p = (struct xg_problem){
        .op = XG_OP_GEMM,
        .type = t->type,
        .uplo = XG_FULL,
        .transa = (enum xg_trans)shim_terms_meaning(t->type, t->transa, &extension),
        .transb = (enum xg_trans)shim_terms_meaning(t->type, t->transb, &extension),
        .m = t->m,
        .n = t->n,
        .k = t->k,
        .a = t->a,
        .lda = t->lda,
        .b = t->b,
        .ldb = t->ldb,
        .c = t->c,
        .ldc = t->ldc};
    shim_terms_scalar(t->type, t->alpha, &p->alpha, &p->alpha_im);
    shim_terms_scalar(t->type, t->beta, &p->beta, &p->beta_im);
    if (t->order != 101)
        swap(p);
}

static void read_args(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    struct shim_gemm_terms t;
    shim_gemm_terms_read(call, int_bytes, &t);
    args->illegal = shim_terms_illegal(t.cblas, t.order, shim_gemm_illegal(&t, &args->extension));
    if (!args->illegal)
        shim_gemm_problem(&t, &args->problem);
}

static void write_call(const struct xg_problem *p, const struct shim_numbers *numbers,
                       struct shim_call *call)
{
    if (call->symbol->interface == SHIM_CBLAS) {
        call->gemm_cblas =
            (struct shim_gemm_cblas){.order = 101,
                                     .transa = shim_terms_trans_number(p->transa),
                                     .transb = shim_terms_trans_number(p->transb),
                                     .m = p->m,
                                     .n = p->n,
                                     .k = p->k,
                                     .alpha = shim_terms_pass(p->type, &numbers->alpha),
                                     .a = p->a,
                                     .lda = p->lda,
                                     .b = p->b,
                                     .ldb = p->ldb,
                                     .beta = shim_terms_pass(p->type, &numbers->beta),
                                     .c = p->c,
                                     .ldc = p->ldc};
    } else {
        /* Fortran knows only column-major storage, so this is the product of the transposes. */
        call->gemm_fortran =
            (struct shim_gemm_fortran){.transa = shim_terms_trans_letter(p->transb),
                                       .transb = shim_terms_trans_letter(p->transa),
                                       .m = &p->n,
                                       .n = &p->m,
                                       .k = &p->k,
                                       .alpha = &numbers->alpha,
                                       .a = p->b,
                                       .lda = &p->ldb,
                                       .b = p->a,
                                       .ldb = &p->lda,
                                       .beta = &numbers->beta,
                                       .c = p->c,
                                       .ldc = &p->ldc,
                                       .transa_length = 1,
                                       .transb_length = 1};
    }
}

const struct shim_operation shim_gemm = {read_size, read_args, write_call, false};
