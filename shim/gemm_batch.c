/* SPDX-License-Identifier: MIT */
/*
 * Checks the arguments of GEMM_BATCH and GEMM_BATCH_STRIDED like GEMM's, group by group, and turns
 * them to the engine's normal form: the products of one group, one below the other.
 */
#include "gemm_batch.h"

#include "gemm.h"

/* False: more rows than an int64_t can count; no memory holds them. */
static bool count_rows(int64_t count, int64_t m, int64_t *rows)
{
    return !__builtin_mul_overflow(count, m, rows);
}

/* The size of the normal form; if there is no product, a size that the engine never wants. */
static void size_of(bool row_major, int64_t count, int64_t m, int64_t n, int64_t *rows,
                    int64_t *columns)
{
    *columns = row_major ? n : m;
    if (count <= 0 || !count_rows(count, row_major ? m : n, rows))
        *rows = -1, *columns = 1;
}

/* Makes a batch of the first product. *batch is in the order of the call. */
static void make_batch(enum xg_op op, bool row_major, const struct xg_batch *batch,
                       struct shim_args *args)
{
    struct xg_problem *p = &args->problem;
    p->op = op;
    p->m *= batch->count;
    if (p->m == 0 || p->n == 0) /* it may have no arrays */
        return;
    args->batch = *batch;
    p->batch = &args->batch;
    if (!row_major) {
        args->batch.a = batch->b;
        args->batch.b = batch->a;
        args->batch.stride_a = batch->stride_b;
        args->batch.stride_b = batch->stride_a;
    }
    xg_batch_settle(&args->batch, (int64_t)xg_problem_elem_bytes(p));
}

/* --- GEMM_BATCH_STRIDED -------------------------------------------------------------------- */

static struct shim_gemm_terms strided_product(const struct shim_gemm_batch_strided_terms *t)
{
    return (struct shim_gemm_terms){.type = t->type,
                                    .cblas = t->cblas,
                                    .order = t->order,
                                    .transa = t->transa,
                                    .transb = t->transb,
                                    .m = t->m,
                                    .n = t->n,
                                    .k = t->k,
                                    .alpha = t->alpha,
                                    .a = t->a,
                                    .lda = t->lda,
                                    .b = t->b,
                                    .ldb = t->ldb,
                                    .beta = t->beta,
                                    .c = t->c,
                                    .ldc = t->ldc};
}

static void strided_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                         int64_t *k)
{
    struct shim_gemm_batch_strided_terms t;
    shim_gemm_batch_strided_terms_read(call, int_bytes, &t);
    size_of(t.order == 101, t.batch_size, t.m, t.n, m, n);
    *k = *m < 0 ? 1 : t.k;
}

/* GEMM's argument number, moved by the strides between GEMM's arguments. */
static int strided_illegal(const struct shim_gemm_batch_strided_terms *t,
                           const struct shim_gemm_terms *product, bool *extension)
{
    int64_t rows;
    int illegal = shim_gemm_illegal(product, extension);
    if (illegal)
        return illegal + (illegal > 8) + (illegal > 10);
    return t->batch_size < 0 || !count_rows(t->batch_size, t->order == 101 ? t->m : t->n, &rows)
               ? 17
               : 0;
}

static void strided_read(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    struct shim_gemm_batch_strided_terms t;
    shim_gemm_batch_strided_terms_read(call, int_bytes, &t);
    const struct shim_gemm_terms product = strided_product(&t);
    args->illegal =
        shim_terms_illegal(t.cblas, t.order, strided_illegal(&t, &product, &args->extension));
    if (args->illegal)
        return;
    shim_gemm_problem(&product, &args->problem);
    make_batch(XG_OP_GEMM_BATCH_STRIDED, t.order == 101,
               &(struct xg_batch){.count = t.batch_size,
                                  .stride_a = t.stridea,
                                  .stride_b = t.strideb,
                                  .stride_c = t.stridec},
               args);
}

const struct shim_operation shim_gemm_batch_strided = {strided_size, strided_read, NULL, true};

/* --- GEMM_BATCH ---------------------------------------------------------------------------- */

int64_t shim_groups_count(const struct shim_call *call, int int_bytes)
{
    struct shim_gemm_batch_terms t;
    if (call->symbol->op != XG_OP_GEMM_BATCH)
        return 1;
    shim_gemm_batch_terms_read(call, int_bytes, &t);
    return t.group_count;
}

void shim_groups_size(const struct shim_call *call, int int_bytes, int64_t group, int64_t *m,
                      int64_t *n, int64_t *k)
{
    struct shim_gemm_batch_terms t;
    shim_gemm_batch_terms_read(call, int_bytes, &t);
    size_of(t.order == 101, shim_terms_int_at(t.group_size, int_bytes, group),
            shim_terms_int_at(t.m_array, int_bytes, group),
            shim_terms_int_at(t.n_array, int_bytes, group), m, n);
    *k = *m < 0 ? 1 : shim_terms_int_at(t.k_array, int_bytes, group);
}

int64_t shim_groups_products(const struct shim_call *call, int int_bytes, int64_t group)
{
    struct shim_gemm_batch_terms t;
    shim_gemm_batch_terms_read(call, int_bytes, &t);
    return shim_terms_int_at(t.group_size, int_bytes, group);
}

static const void *integer_at(const void *array, int int_bytes, int64_t index)
{
    return (const char *)array + index * int_bytes;
}

static const void *scalar_at(enum xg_type type, const void *array, int64_t index)
{
    return (const char *)array + index * (int64_t)xg_type_bytes(type);
}

/* X(role, name) for each array in the arguments *at of either interface. */
#define CUT(role, name) CUT_##role(name)
#define CUT_TRANSES(name) at->name += groups;
#define CUT_INTEGERS(name) at->name = integer_at(at->name, int_bytes, groups);
#define CUT_SCALARS(name) at->name = scalar_at(call->symbol->type, at->name, groups);
#define CUT_MATRICES(name) at->name += products;
#define CUT_RESULTS(name) at->name += products;
#define CUT_INTEGER(name)

void shim_groups_cut(const struct shim_call *call, int int_bytes, int64_t groups, int64_t products,
                     int64_t count, struct shim_cut *cut)
{
    cut->call = *call;
    cut->count = count;
    if (call->symbol->interface == SHIM_CBLAS) {
        struct shim_gemm_batch_cblas *at = &cut->call.gemm_batch_cblas;
        SHIM_EACH(GEMM_BATCH, CUT)
        at->group_count = count;
    } else {
        struct shim_gemm_batch_fortran *at = &cut->call.gemm_batch_fortran;
        SHIM_EACH(GEMM_BATCH, CUT)
        at->group_count = &cut->count;
    }
}

/* A group's arguments without its matrices. */
static struct shim_gemm_terms group_product(const struct shim_gemm_batch_terms *t, int int_bytes,
                                            int64_t group)
{
    return (struct shim_gemm_terms){.type = t->type,
                                    .cblas = t->cblas,
                                    .order = t->order,
                                    .transa = shim_terms_trans_at(t->transa_array, t->cblas, group),
                                    .transb = shim_terms_trans_at(t->transb_array, t->cblas, group),
                                    .m = shim_terms_int_at(t->m_array, int_bytes, group),
                                    .n = shim_terms_int_at(t->n_array, int_bytes, group),
                                    .k = shim_terms_int_at(t->k_array, int_bytes, group),
                                    .alpha = scalar_at(t->type, t->alpha_array, group),
                                    .lda = shim_terms_int_at(t->lda_array, int_bytes, group),
                                    .ldb = shim_terms_int_at(t->ldb_array, int_bytes, group),
                                    .beta = scalar_at(t->type, t->beta_array, group),
                                    .ldc = shim_terms_int_at(t->ldc_array, int_bytes, group)};
}

/* The first group's illegal argument. All products are counted, as arrays hold their addresses. */
static int batch_illegal(const struct shim_gemm_batch_terms *t, int int_bytes, bool *extension)
{
    int64_t products = 0, rows;
    if (t->group_count < 0)
        return 14;
    for (int64_t group = 0; group < t->group_count; group++) {
        const struct shim_gemm_terms product = group_product(t, int_bytes, group);
        int64_t size = shim_terms_int_at(t->group_size, int_bytes, group);
        int illegal = shim_gemm_illegal(&product, extension);
        if (illegal)
            return illegal;
        if (size < 0 || __builtin_add_overflow(products, size, &products) ||
            !count_rows(size, t->order == 101 ? product.m : product.n, &rows))
            return 15;
    }
    return 0;
}

static void batch_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                       int64_t *k)
{
    if (shim_groups_count(call, int_bytes) > 0)
        shim_groups_size(call, int_bytes, 0, m, n, k);
    else
        *m = -1, *n = *k = 1;
}

static void batch_read(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    struct shim_gemm_batch_terms t;
    shim_gemm_batch_terms_read(call, int_bytes, &t);
    args->illegal =
        shim_terms_illegal(t.cblas, t.order, batch_illegal(&t, int_bytes, &args->extension));
    args->problem = (struct xg_problem){.op = XG_OP_GEMM_BATCH, .type = t.type};
    if (args->illegal || !t.group_count)
        return;
    struct shim_gemm_terms product = group_product(&t, int_bytes, 0);
    int64_t size = shim_terms_int_at(t.group_size, int_bytes, 0);
    if (size && product.m && product.n) {
        product.a = t.a_array[0];
        product.b = t.b_array[0];
        product.c = t.c_array[0];
    }
    shim_gemm_problem(&product, &args->problem);
    make_batch(XG_OP_GEMM_BATCH, t.order == 101,
               &(struct xg_batch){.count = size, .a = t.a_array, .b = t.b_array, .c = t.c_array},
               args);
}

const struct shim_operation shim_gemm_batch = {batch_size, batch_read, NULL, true};
