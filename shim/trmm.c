/* SPDX-License-Identifier: MIT */
/*
 * Checks TRMM's and TRSM's arguments, which are alike, in the standard's order, and turns them to
 * the engine's normal form, whose C is the standard's B.
 */
#include "terms.h"

_Static_assert(sizeof(struct shim_trmm_cblas) == sizeof(struct shim_trsm_cblas) &&
                   sizeof(struct shim_trmm_fortran) == sizeof(struct shim_trsm_fortran),
               "one may be read as the other");

static void read_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                      int64_t *k)
{
    struct shim_trmm_terms t;
    shim_trmm_terms_read(call, int_bytes, &t);
    *m = t.order == 101 ? t.m : t.n;
    *n = t.order == 101 ? t.n : t.m;
    *k = t.side == 'L' ? t.m : t.n;
}

/* The rule of gemm.c. */
static int illegal(const struct shim_trmm_terms *t, int trans)
{
    if (t->side != 'L' && t->side != 'R')
        return 1;
    if (t->uplo != 'U' && t->uplo != 'L')
        return 2;
    if (trans < 0)
        return 3;
    if (t->diag != 'U' && t->diag != 'N')
        return 4;
    if (t->m < 0)
        return 5;
    if (t->n < 0)
        return 6;
    if (t->lda < xg_max_i64(1, t->side == 'L' ? t->m : t->n))
        return 9;
    if (t->ldb < xg_max_i64(1, t->order == 101 ? t->n : t->m))
        return 11;
    return 0;
}

static void read_args(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    struct shim_trmm_terms t;
    shim_trmm_terms_read(call, int_bytes, &t);
    int trans = shim_terms_meaning(t.type, t.trans, &args->extension);
    args->illegal = shim_terms_illegal(t.cblas, t.order, illegal(&t, trans));
    if (args->illegal)
        return;
    /* Matrices stored by columns are their transposes stored by rows: the triangle is the other
     * one, on the other side, and the transpose of op(A) is op() of A's transpose. */
    bool row_major = t.order == 101, left = row_major == (t.side == 'L');
    struct xg_problem *p = &args->problem;
    *p = (struct xg_problem){.op = call->symbol->op,
                             .type = t.type,
                             .uplo = XG_FULL,
                             .structured = left ? XG_OPERAND_A : XG_OPERAND_B,
                             .stored = row_major == (t.uplo == 'U') ? XG_UPPER : XG_LOWER,
                             .unit = t.diag == 'U',
                             .transa = left ? (enum xg_trans)trans : XG_NO_TRANS,
                             .transb = left ? XG_NO_TRANS : (enum xg_trans)trans,
                             .m = row_major ? t.m : t.n,
                             .n = row_major ? t.n : t.m,
                             .k = t.side == 'L' ? t.m : t.n,
                             .a = left ? t.a : t.b,
                             .lda = left ? t.lda : t.ldb,
                             .b = left ? t.b : t.a,
                             .ldb = left ? t.ldb : t.lda,
                             .c = t.b,
                             .ldc = t.ldb};
    shim_terms_scalar(t.type, t.alpha, &p->alpha, &p->alpha_im);
}

static void write_call(const struct xg_problem *p, const struct shim_numbers *numbers,
                       struct shim_call *call)
{
    bool left = p->structured == XG_OPERAND_A, upper = p->stored == XG_UPPER;
    enum xg_trans trans = left ? p->transa : p->transb;
    if (call->symbol->interface == SHIM_CBLAS) {
        call->trmm_cblas =
            (struct shim_trmm_cblas){.order = 101,
                                     .side = left ? 141 : 142,
                                     .uplo = upper ? 121 : 122,
                                     .trans = shim_terms_trans_number(trans),
                                     .diag = p->unit ? 132 : 131,
                                     .m = p->m,
                                     .n = p->n,
                                     .alpha = shim_terms_pass(p->type, &numbers->alpha),
                                     .a = left ? p->a : p->b,
                                     .lda = left ? p->lda : p->ldb,
                                     .b = p->c,
                                     .ldb = p->ldc};
    } else {
        call->trmm_fortran = (struct shim_trmm_fortran){.side = left ? "R" : "L",
                                                        .uplo = upper ? "L" : "U",
                                                        .trans = shim_terms_trans_letter(trans),
                                                        .diag = p->unit ? "U" : "N",
                                                        .m = &p->n,
                                                        .n = &p->m,
                                                        .alpha = &numbers->alpha,
                                                        .a = left ? p->a : p->b,
                                                        .lda = left ? &p->lda : &p->ldb,
                                                        .b = p->c,
                                                        .ldb = &p->ldc,
                                                        .side_length = 1,
                                                        .uplo_length = 1,
                                                        .trans_length = 1,
                                                        .diag_length = 1};
    }
}

const struct shim_operation shim_trmm = {read_size, read_args, write_call, false};
const struct shim_operation shim_trsm = {read_size, read_args, write_call, false};
