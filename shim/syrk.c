/* SPDX-License-Identifier: MIT */
/*
 * Checks SYRK's and HERK's arguments in the standard's order and turns them to the engine's normal
 * form. Their structs have the same layout; the scalars' type and the allowed transposes differ.
 */
#include "terms.h"

_Static_assert(sizeof(struct shim_syrk_cblas) == sizeof(struct shim_herk_cblas) &&
                   sizeof(struct shim_syrk_fortran) == sizeof(struct shim_herk_fortran),
               "one may be read as the other");

static void read_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                      int64_t *k)
{
    struct shim_syrk_terms t;
    shim_syrk_terms_read(call, int_bytes, &t);
    *m = *n = t.n;
    *k = t.k;
}

/* For complex numbers HERK allows only the conjugate transpose, and SYRK does not allow it. */
static int meaning(const struct shim_syrk_terms *t, bool hermitian, bool *extension)
{
    int trans = shim_terms_meaning(t->type, t->trans, extension);
    return trans == (hermitian ? XG_TRANS : XG_CONJ_TRANS) ? -1 : trans;
}

/* The rule of gemm.c. */
static int illegal(const struct shim_syrk_terms *t, int trans)
{
    bool row_major = t->order == 101;

    if (t->uplo != 'U' && t->uplo != 'L')
        return 1;
    if (trans < 0)
        return 2;
    if (t->n < 0)
        return 3;
    if (t->k < 0)
        return 4;
    if (t->lda < xg_max_i64(1, row_major != (trans > 0) ? t->k : t->n))
        return 7;
    if (t->ldc < xg_max_i64(1, t->n))
        return 10;
    return 0;
}

static void read_args(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    struct shim_syrk_terms t;
    shim_syrk_terms_read(call, int_bytes, &t);
    bool hermitian = call->symbol->op == XG_OP_HERK;
    if (hermitian && t.cblas) {
        t.alpha = &call->herk_cblas.alpha;
        t.beta = &call->herk_cblas.beta;
    }
    int trans = meaning(&t, hermitian, &args->extension);
    args->illegal = shim_terms_illegal(t.cblas, t.order, illegal(&t, trans));
    if (args->illegal)
        return;
    /* A matrix stored by columns is its transpose stored by rows, with the other triangle. */
    bool row_major = t.order == 101, transposed = row_major == (trans > 0);
    enum xg_trans other = hermitian ? XG_CONJ_TRANS : XG_TRANS;
    enum xg_type scalar = hermitian ? xg_type_real(t.type) : t.type;
    struct xg_problem *p = &args->problem;
    *p = (struct xg_problem){.op = call->symbol->op,
                             .type = t.type,
                             .uplo = row_major == (t.uplo == 'U') ? XG_UPPER : XG_LOWER,
                             .transa = transposed ? other : XG_NO_TRANS,
                             .transb = transposed ? XG_NO_TRANS : other,
                             .m = t.n,
                             .n = t.n,
                             .k = t.k,
                             .a = t.a,
                             .lda = t.lda,
                             .b = t.a,
                             .ldb = t.lda,
                             .c = t.c,
                             .ldc = t.ldc};
    shim_terms_scalar(scalar, t.alpha, &p->alpha, &p->alpha_im);
    shim_terms_scalar(scalar, t.beta, &p->beta, &p->beta_im);
}

static void write_call(const struct xg_problem *p, const struct shim_numbers *numbers,
                       struct shim_call *call)
{
    enum xg_type scalar = p->op == XG_OP_HERK ? xg_type_real(p->type) : p->type;
    if (call->symbol->interface == SHIM_CBLAS) {
        call->syrk_cblas =
            (struct shim_syrk_cblas){.order = 101,
                                     .uplo = p->uplo == XG_UPPER ? 121 : 122,
                                     .trans = shim_terms_trans_number(p->transa),
                                     .n = p->n,
                                     .k = p->k,
                                     .alpha = shim_terms_pass(scalar, &numbers->alpha),
                                     .a = p->a,
                                     .lda = p->lda,
                                     .beta = shim_terms_pass(scalar, &numbers->beta),
                                     .c = p->c,
                                     .ldc = p->ldc};
    } else {
        call->syrk_fortran = (struct shim_syrk_fortran){.uplo = p->uplo == XG_UPPER ? "L" : "U",
                                                        .trans = shim_terms_trans_letter(p->transb),
                                                        .n = &p->n,
                                                        .k = &p->k,
                                                        .alpha = &numbers->alpha,
                                                        .a = p->a,
                                                        .lda = &p->lda,
                                                        .beta = &numbers->beta,
                                                        .c = p->c,
                                                        .ldc = &p->ldc,
                                                        .uplo_length = 1,
                                                        .trans_length = 1};
    }
}

const struct shim_operation shim_syrk = {read_size, read_args, write_call, false};
const struct shim_operation shim_herk = {read_size, read_args, write_call, false};
