/* SPDX-License-Identifier: MIT */
/*
 * Checks SYMM's and HEMM's arguments, which are alike, in the standard's order, and turns them to
 * the engine's normal form.
 */
#include "terms.h"

_Static_assert(sizeof(struct shim_symm_cblas) == sizeof(struct shim_hemm_cblas) &&
                   sizeof(struct shim_symm_fortran) == sizeof(struct shim_hemm_fortran),
               "one may be read as the other");

static void read_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                      int64_t *k)
{
    struct shim_symm_terms t;
    shim_symm_terms_read(call, int_bytes, &t);
    *m = t.order == 101 ? t.m : t.n;
    *n = t.order == 101 ? t.n : t.m;
    *k = t.side == 'L' ? t.m : t.n;
}

/* The rule of gemm.c. */
static int illegal(const struct shim_symm_terms *t)
{
    int64_t row = t->order == 101 ? t->n : t->m;

    if (t->side != 'L' && t->side != 'R')
        return 1;
    if (t->uplo != 'U' && t->uplo != 'L')
        return 2;
    if (t->m < 0)
        return 3;
    if (t->n < 0)
        return 4;
    if (t->lda < xg_max_i64(1, t->side == 'L' ? t->m : t->n))
        return 7;
    if (t->ldb < xg_max_i64(1, row))
        return 9;
    if (t->ldc < xg_max_i64(1, row))
        return 12;
    return 0;
}

static void read_args(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    struct shim_symm_terms t;
    shim_symm_terms_read(call, int_bytes, &t);
    args->illegal = shim_terms_illegal(t.cblas, t.order, illegal(&t));
    if (args->illegal)
        return;
    /* Matrices stored by columns are their transposes stored by rows: the operands are swapped, and
     * the stored triangle is the other one, also that of a Hermitian matrix. */
    bool row_major = t.order == 101, left = row_major == (t.side == 'L');
    struct xg_problem *p = &args->problem;
    *p = (struct xg_problem){.op = call->symbol->op,
                             .type = t.type,
                             .uplo = XG_FULL,
                             .structured = left ? XG_OPERAND_A : XG_OPERAND_B,
                             .stored = row_major == (t.uplo == 'U') ? XG_UPPER : XG_LOWER,
                             .m = row_major ? t.m : t.n,
                             .n = row_major ? t.n : t.m,
                             .k = t.side == 'L' ? t.m : t.n,
                             .a = left ? t.a : t.b,
                             .lda = left ? t.lda : t.ldb,
                             .b = left ? t.b : t.a,
                             .ldb = left ? t.ldb : t.lda,
                             .c = t.c,
                             .ldc = t.ldc};
    shim_terms_scalar(t.type, t.alpha, &p->alpha, &p->alpha_im);
    shim_terms_scalar(t.type, t.beta, &p->beta, &p->beta_im);
}

static void write_call(const struct xg_problem *p, const struct shim_numbers *numbers,
                       struct shim_call *call)
{
    bool left = p->structured == XG_OPERAND_A, upper = p->stored == XG_UPPER;
    const void *a = left ? p->a : p->b, *b = left ? p->b : p->a;
    const int64_t *lda = left ? &p->lda : &p->ldb, *ldb = left ? &p->ldb : &p->lda;
    if (call->symbol->interface == SHIM_CBLAS) {
        call->symm_cblas =
            (struct shim_symm_cblas){.order = 101,
                                     .side = left ? 141 : 142,
                                     .uplo = upper ? 121 : 122,
                                     .m = p->m,
                                     .n = p->n,
                                     .alpha = shim_terms_pass(p->type, &numbers->alpha),
                                     .a = a,
                                     .lda = *lda,
                                     .b = b,
                                     .ldb = *ldb,
                                     .beta = shim_terms_pass(p->type, &numbers->beta),
                                     .c = p->c,
                                     .ldc = p->ldc};
    } else {
        call->symm_fortran = (struct shim_symm_fortran){.side = left ? "R" : "L",
                                                        .uplo = upper ? "L" : "U",
                                                        .m = &p->n,
                                                        .n = &p->m,
                                                        .alpha = &numbers->alpha,
                                                        .a = a,
                                                        .lda = lda,
                                                        .b = b,
                                                        .ldb = ldb,
                                                        .beta = &numbers->beta,
                                                        .c = p->c,
                                                        .ldc = &p->ldc,
                                                        .side_length = 1,
                                                        .uplo_length = 1};
    }
}

const struct shim_operation shim_symm = {read_size, read_args, write_call, false};
const struct shim_operation shim_hemm = {read_size, read_args, write_call, false};
