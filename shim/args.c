/* SPDX-License-Identifier: MIT */
/* Reads, checks and normalises the arguments of a call. */
#include "args.h"

/* One call in the terms of the BLAS standard, before either order is swapped away. */
struct shim_terms {
    bool row_major;
    int transa, transb; /* 0, 1; -1: no such transpose */
    int64_t m, n, k, lda, ldb, ldc;
};

/* An integer of a Fortran call, by address, and of a C call, in its slot. */
static int64_t shim_int(const void *value, int int_bytes)
{
    return int_bytes == 8 ? *(const int64_t *)value : *(const int32_t *)value;
}

static int64_t shim_slot(int64_t value, int int_bytes)
{
    return int_bytes == 8 ? value : (int32_t)value;
}

static int shim_trans_enum(int trans, bool *extension)
{
    switch (trans) {
    case 114:
        *extension = true;
        return 0;
    case 111:
        return 0;
    case 112:
    case 113:
        return 1;
    default:
        return -1;
    }
}

static int shim_trans_letter(char letter, bool *extension)
{
    switch (letter) {
    case 'R':
    case 'r':
        *extension = true;
        return 0;
    case 'N':
    case 'n':
        return 0;
    case 'T':
    case 't':
    case 'C':
    case 'c':
        return 1;
    default:
        return -1;
    }
}

/*
 * The number, in Fortran's counting, of the first illegal argument; 0 when there is none. This is
 * the standard's rule. Some libraries let more pass (OpenBLAS takes lda = 0 for an empty matrix):
 * what is illegal here goes to the library all the same, and it decides.
 */
static int shim_terms_illegal(const struct shim_terms *t)
{
    int64_t a_extent = t->row_major != (t->transa == 1) ? t->k : t->m;
    int64_t b_extent = t->row_major != (t->transb == 1) ? t->n : t->k;
    int64_t c_extent = t->row_major ? t->n : t->m;

    if (t->transa < 0)
        return 1;
    if (t->transb < 0)
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

/* A column-major product is the row-major one of the transposes: C' = op(B)' op(A)'. */
static void shim_product_swap(struct xg_sgemm *p)
{
    struct xg_sgemm q = *p;
    p->transa = q.transb;
    p->transb = q.transa;
    p->m = q.n;
    p->n = q.m;
    p->a = q.b;
    p->lda = q.ldb;
    p->b = q.a;
    p->ldb = q.lda;
}

static void shim_product_set(struct xg_sgemm *p, const struct shim_terms *t)
{
    p->transa = t->transa == 1;
    p->transb = t->transb == 1;
    p->m = t->m;
    p->n = t->n;
    p->k = t->k;
    p->lda = t->lda;
    p->ldb = t->ldb;
    p->ldc = t->ldc;
    if (!t->row_major)
        shim_product_swap(p);
}

static void shim_cblas_read(const struct shim_cblas_args *c, int int_bytes, struct shim_args *args)
{
    struct shim_terms t = {
        .row_major = c->order == 101,
        .transa = shim_trans_enum(c->transa, &args->extension),
        .transb = shim_trans_enum(c->transb, &args->extension),
        .m = shim_slot(c->m, int_bytes),
        .n = shim_slot(c->n, int_bytes),
        .k = shim_slot(c->k, int_bytes),
        .lda = shim_slot(c->lda, int_bytes),
        .ldb = shim_slot(c->ldb, int_bytes),
        .ldc = shim_slot(c->ldc, int_bytes),
    };
    int illegal = shim_terms_illegal(&t);

    args->product =
        (struct xg_sgemm){.alpha = c->alpha, .a = c->a, .b = c->b, .beta = c->beta, .c = c->c};
    shim_product_set(&args->product, &t);
    /* The order is one argument more, in front. */
    args->illegal = c->order != 101 && c->order != 102 ? 1 : illegal ? illegal + 1 : 0;
}

static void shim_fortran_read(const struct shim_fortran_args *f, int int_bytes,
                              struct shim_args *args)
{
    struct shim_terms t = {
        .transa = shim_trans_letter(*f->transa, &args->extension),
        .transb = shim_trans_letter(*f->transb, &args->extension),
        .m = shim_int(f->m, int_bytes),
        .n = shim_int(f->n, int_bytes),
        .k = shim_int(f->k, int_bytes),
        .lda = shim_int(f->lda, int_bytes),
        .ldb = shim_int(f->ldb, int_bytes),
        .ldc = shim_int(f->ldc, int_bytes),
    };

    args->illegal = shim_terms_illegal(&t);
    args->product =
        (struct xg_sgemm){.alpha = *f->alpha, .a = f->a, .b = f->b, .beta = *f->beta, .c = f->c};
    shim_product_set(&args->product, &t);
}

void shim_args_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n, int64_t *k)
{
    if (call->symbol->kind == SHIM_CBLAS) {
        bool row_major = call->cblas.order == 101;
        *m = shim_slot(row_major ? call->cblas.m : call->cblas.n, int_bytes);
        *n = shim_slot(row_major ? call->cblas.n : call->cblas.m, int_bytes);
        *k = shim_slot(call->cblas.k, int_bytes);
    } else {
        *m = shim_int(call->fortran.n, int_bytes);
        *n = shim_int(call->fortran.m, int_bytes);
        *k = shim_int(call->fortran.k, int_bytes);
    }
}

void shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    args->extension = false;
    if (call->symbol->kind == SHIM_CBLAS)
        shim_cblas_read(&call->cblas, int_bytes, args);
    else
        shim_fortran_read(&call->fortran, int_bytes, args);
}
