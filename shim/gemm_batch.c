/* SPDX-License-Identifier: MIT */
/*
 * Checks the arguments of GEMM_BATCH and GEMM_BATCH_STRIDED like GEMM's, group by group, and turns
 * them to the engine's normal form: the products of one group, one below the other.
 */
#include "gemm_batch.h"

#include "terms.h"

/* The size of the normal form; if there is no product, a size that the engine never wants. */
static void size_of(const struct shim_terms *product, int64_t *m, int64_t *n, int64_t *k)
{
    const bool by_rows = product->order == 101;
    *n = by_rows ? product->n : product->m;
    if (product->batch_size <= 0 ||
        __builtin_mul_overflow(product->batch_size, by_rows ? product->m : product->n, m))
        *m = -1, *n = 1;
    *k = *m < 0 ? 1 : product->k;
}

/* Makes a batch of the first product. *batch is in the order of the call. */
static void make_batch(const struct shim_terms *product, const struct xg_batch *batch,
                       struct shim_args *args)
{
    struct xg_problem *problem = &args->problem;
    shim_terms_problem(product, problem);
    problem->m *= batch->count;
    if (problem->m == 0 || problem->n == 0) /* the batch may have no arrays */
        return;
    args->batch = *batch;
    problem->batch = &args->batch;
    if (product->order != 101) {
        args->batch.a = batch->b;
        args->batch.b = batch->a;
        args->batch.stride_a = batch->stride_b;
        args->batch.stride_b = batch->stride_a;
    }
    xg_batch_settle(&args->batch, (int64_t)xg_problem_elem_bytes(problem));
}

/* --- GEMM_BATCH_STRIDED -------------------------------------------------------------------- */

void shim_strided_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                       int64_t *k)
{
    struct shim_terms t;
    shim_gemm_batch_strided_terms_read(call, int_bytes, &t);
    size_of(&t, m, n, k);
}

void shim_strided_read(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    struct shim_terms t;
    shim_gemm_batch_strided_terms_read(call, int_bytes, &t);
    args->extension = shim_terms_extended(&t);
    args->illegal = shim_terms_illegal(&t);
    if (!args->illegal)
        make_batch(&t,
                   &(struct xg_batch){.count = t.batch_size,
                                      .stride_a = t.stridea,
                                      .stride_b = t.strideb,
                                      .stride_c = t.stridec},
                   args);
}

/* --- GEMM_BATCH ---------------------------------------------------------------------------- */

static const void *skip_integers(const void *array, int int_bytes, int64_t count)
{
    return (const char *)array + count * int_bytes;
}

static int64_t integer_at(const void *array, int int_bytes, int64_t index)
{
    return shim_terms_int(skip_integers(array, int_bytes, index), int_bytes);
}

static const void *scalar_at(enum xg_type type, const void *array, int64_t index)
{
    return (const char *)array + index * (int64_t)xg_type_bytes(type);
}

/* Letters are one character each in Fortran, and numbers in the C interface. */
static char trans_at(const struct shim_terms *t, const void *array, int64_t index)
{
    return t->cblas ? shim_terms_letter_of(((const int *)array)[index], SHIM_LETTERS_trans)
                    : shim_terms_letter((const char *)array + index);
}

/* The terms of one group, without its matrices. Inlined like shim_gemm_batch_terms_read. */
static inline __attribute__((always_inline)) struct shim_terms
group_terms(const struct shim_terms *t, int int_bytes, int64_t group)
{
    struct shim_terms product = *t;
    product.transa = trans_at(t, t->transa_array, group);
    product.transb = trans_at(t, t->transb_array, group);
    product.m = integer_at(t->m_array, int_bytes, group);
    product.n = integer_at(t->n_array, int_bytes, group);
    product.k = integer_at(t->k_array, int_bytes, group);
    product.lda = integer_at(t->lda_array, int_bytes, group);
    product.ldb = integer_at(t->ldb_array, int_bytes, group);
    product.ldc = integer_at(t->ldc_array, int_bytes, group);
    product.alpha = (struct shim_scalar_at){scalar_at(t->type, t->alpha_array, group), t->type};
    product.beta = (struct shim_scalar_at){scalar_at(t->type, t->beta_array, group), t->type};
    product.batch_size = integer_at(t->group_size, int_bytes, group);
    return product;
}

/* The number of the first group's illegal argument. Counts all products, because the arrays hold
 * their addresses. */
static int batch_illegal(const struct shim_terms *t, int int_bytes, bool *extension)
{
    int64_t products = 0;
    if (!shim_terms_order_legal(t))
        return 1;
    if (t->group_count < 0)
        return shim_terms_position(t, offsetof(struct shim_terms, group_count));
    for (int64_t group = 0; group < t->group_count; group++) {
        const struct shim_terms product = group_terms(t, int_bytes, group);
        int illegal = shim_terms_illegal(&product);
        *extension |= shim_terms_extended(&product);
        if (illegal)
            return illegal;
        if (__builtin_add_overflow(products, product.batch_size, &products))
            return shim_terms_position(t, offsetof(struct shim_terms, group_size));
    }
    return 0;
}

void shim_batch_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                     int64_t *k)
{
    struct shim_terms t, product = {.batch_size = 0};
    shim_gemm_batch_terms_read(call, int_bytes, &t);
    if (t.group_count > 0)
        product = group_terms(&t, int_bytes, 0);
    size_of(&product, m, n, k);
}

void shim_batch_read(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    struct shim_terms t;
    shim_gemm_batch_terms_read(call, int_bytes, &t);
    args->illegal = batch_illegal(&t, int_bytes, &args->extension);
    args->problem = (struct xg_problem){.op = XG_OP_GEMM_BATCH, .type = t.type};
    if (args->illegal || !t.group_count)
        return;
    struct shim_terms product = group_terms(&t, int_bytes, 0);
    if (product.batch_size && product.m && product.n) {
        product.a = t.a_array[0];
        product.b = t.b_array[0];
        product.result = t.c_array[0];
    }
    make_batch(&product,
               &(struct xg_batch){
                   .count = product.batch_size, .a = t.a_array, .b = t.b_array, .c = t.c_array},
               args);
}

/* --- The groups of a call ------------------------------------------------------------------ */

void shim_groups_init(const struct shim_call *call, int int_bytes, struct shim_groups *groups)
{
    struct shim_terms t;
    shim_gemm_batch_terms_read(call, int_bytes, &t);
    *groups = (struct shim_groups){.call = call, .int_bytes = int_bytes, .count = t.group_count};
}

void shim_groups_seek(struct shim_groups *groups, shim_groups_wants *wants, void *context)
{
    int64_t m, n, k;
    struct shim_terms t;
    shim_gemm_batch_terms_read(groups->call, groups->int_bytes, &t);
    for (groups->wanted = groups->first; groups->wanted < groups->count; groups->wanted++) {
        const struct shim_terms product = group_terms(&t, groups->int_bytes, groups->wanted);
        size_of(&product, &m, &n, &k);
        if (wants(context, m, n, k))
            return;
    }
}

/* Moves each array in the arguments *at, of either interface, to the first group that is left. */
#define CUT(role, name) CUT_##role(name)
#define CUT_LETTERS(name) at->name += groups->first;
#define CUT_INTEGERS(name) at->name = skip_integers(at->name, groups->int_bytes, groups->first);
#define CUT_SCALARS(name) at->name = scalar_at(t.type, at->name, groups->first);
#define CUT_MATRICES(name) at->name += groups->products;
#define CUT_RESULTS(name) at->name += groups->products;
#define CUT_INTEGER(name)

void shim_groups_take(struct shim_groups *groups, int64_t count, struct shim_cut *cut)
{
    struct shim_terms t;
    shim_gemm_batch_terms_read(groups->call, groups->int_bytes, &t);
    cut->call = *groups->call;
    cut->count = count;
    if (t.cblas) {
        struct shim_gemm_batch_cblas *at = &cut->call.gemm_batch_cblas;
        SHIM_EACH(GEMM_BATCH, CUT)
        at->group_count = count;
    } else {
        struct shim_gemm_batch_fortran *at = &cut->call.gemm_batch_fortran;
        SHIM_EACH(GEMM_BATCH, CUT)
        at->group_count = &cut->count;
    }
    for (; count > 0; count--)
        groups->products += integer_at(t.group_size, groups->int_bytes, groups->first++);
}
