/* SPDX-License-Identifier: MIT */
/*
 * Checks GEMMT's arguments in the order of GEMM's, with a triangle in front and one size less, and
 * turns them to the engine's normal form.
 */
#include "terms.h"

static void read_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                      int64_t *k)
{
    struct shim_gemmt_terms t;
    shim_gemmt_terms_read(call, int_bytes, &t);
    *m = *n = t.n;
    *k = t.k;
}

/* The rule of gemm.c. The standard's name is xGEMMTR, which numbers its arguments this way. */
static int illegal(const struct shim_gemmt_terms *t, int transa, int transb)
{
    bool row_major = t->order == 101;

    if (t->uplo != 'U' && t->uplo != 'L')
        return 1;
    if (transa < 0)
        return 2;
    if (transb < 0)
        return 3;
    if (t->n < 0)
        return 4;
    if (t->k < 0)
        return 5;
    if (t->lda < xg_max_i64(1, row_major != (transa > 0) ? t->k : t->n))
        return 8;
    if (t->ldb < xg_max_i64(1, row_major != (transb > 0) ? t->n : t->k))
        return 10;
    if (t->ldc < xg_max_i64(1, t->n))
        return 13;
    return 0;
}

static void read_args(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    struct shim_gemmt_terms t;
    shim_gemmt_terms_read(call, int_bytes, &t);
    int transa = shim_terms_meaning(t.type, t.transa, &args->extension);
    int transb = shim_terms_meaning(t.type, t.transb, &args->extension);
    args->illegal = shim_terms_illegal(t.cblas, t.order, illegal(&t, transa, transb));
    if (args->illegal)
        return;
    /* Matrices stored by columns are their transposes stored by rows: the triangle is the other one
     * and the operands are swapped. */
    bool row_major = t.order == 101;
    struct xg_problem *p = &args->problem;
    *p = (struct xg_problem){.op = XG_OP_GEMMT,
                             .type = t.type,
                             .uplo = row_major == (t.uplo == 'U') ? XG_UPPER : XG_LOWER,
                             .transa = (enum xg_trans)(row_major ? transa : transb),
                             .transb = (enum xg_trans)(row_major ? transb : transa),
                             .m = t.n,
                             .n = t.n,
                             .k = t.k,
                             .a = row_major ? t.a : t.b,
                             .lda = row_major ? t.lda : t.ldb,
                             .b = row_major ? t.b : t.a,
                             .ldb = row_major ? t.ldb : t.lda,
                             .c = t.c,
                             .ldc = t.ldc};
    shim_terms_scalar(t.type, t.alpha, &p->alpha, &p->alpha_im);
    shim_terms_scalar(t.type, t.beta, &p->beta, &p->beta_im);
}

/* Column-major in either interface: for row-major calls some releases of OpenBLAS take the other
 * triangle (OpenBLAS issue 4905). */
static void write_call(const struct xg_problem *p, const struct shim_numbers *numbers,
                       struct shim_call *call)
{
    if (call->symbol->interface == SHIM_CBLAS) {
        call->gemmt_cblas =
            (struct shim_gemmt_cblas){.order = 102,
                                      .uplo = p->uplo == XG_UPPER ? 122 : 121,
                                      .transa = shim_terms_trans_number(p->transb),
                                      .transb = shim_terms_trans_number(p->transa),
                                      .n = p->n,
                                      .k = p->k,
                                      .alpha = shim_terms_pass(p->type, &numbers->alpha),
                                      .a = p->b,
                                      .lda = p->ldb,
                                      .b = p->a,
                                      .ldb = p->lda,
                                      .beta = shim_terms_pass(p->type, &numbers->beta),
                                      .c = p->c,
                                      .ldc = p->ldc};
    } else {
        call->gemmt_fortran =
            (struct shim_gemmt_fortran){.uplo = p->uplo == XG_UPPER ? "L" : "U",
                                        .transa = shim_terms_trans_letter(p->transb),
                                        .transb = shim_terms_trans_letter(p->transa),
                                        .n = &p->n,
                                        .k = &p->k,
                                        .alpha = &numbers->alpha,
                                        .a = p->b,
                                        .lda = &p->ldb,
                                        .b = p->a,
                                        .ldb = &p->lda,
                                        .beta = &numbers->beta,
                                        .c = p->c,
                                        .ldc = &p->ldc,
                                        .uplo_length = 1,
                                        .transa_length = 1,
                                        .transb_length = 1};
    }
}

const struct shim_operation shim_gemmt = {read_size, read_args, write_call, true};
