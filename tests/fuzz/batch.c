/* SPDX-License-Identifier: MIT */
/* Compares how the arguments of a batch are read with a second statement of the rules: which
 * argument is illegal, where each product's matrices and elements lie, and how a call is cut down
 * to one group. */
#include "call.h"
#include "shim/gemm_batch.h"

long fuzz_reached;

enum { GROUPS = 3, PRODUCTS = 6, ALL = GROUPS * PRODUCTS };

/* m, n, k, leading dimensions and the size of each group. */
enum { M, N, K, LDA, LDB, LDC, SIZE, ARRAYS };

struct batch {
    struct standard group[GROUPS];
    int64_t size[GROUPS], groups;
    int64_t stride[3];
};

/* The upper half of a slot that holds an int. */
static const uint64_t GARBAGE = 0x5a5a5a5a;

static char memory[1 << 16];

/* The matrix of an operand (A, B or C) of a product, at any address. */
static char *matrix(int operand, int64_t product)
{
    return memory + ((uint64_t)product * 7919 + (uint64_t)operand * 104729) % sizeof memory;
}

static double scalar(int group, int which)
{
    return which + 0.5 * group;
}

static struct batch take_batch(struct fuzz_bytes *bytes)
{
    uint8_t kind = fuzz_byte(bytes), what = fuzz_byte(bytes);
    struct standard call = {.op = what & 1 ? XG_OP_GEMM_BATCH : XG_OP_GEMM_BATCH_STRIDED,
                            .type = (enum xg_type)(what >> 1 & 3),
                            .int_bytes = kind & 1 ? 8 : 4};
    struct batch batch = {.groups = call.op == XG_OP_GEMM_BATCH ? what >> 3 & 3 : 1};
    if (kind & 2)
        call.order = kind < 240 ? 101 + (kind >> 2 & 1) : 99 + fuzz_byte(bytes) % 6;
    for (int i = 0; i < 3; i++)
        batch.stride[i] = (int64_t)fuzz_byte(bytes) - 100;
    for (int g = 0; g < GROUPS; g++) {
        call.transa = take_trans(bytes, call.order != 0);
        call.transb = take_trans(bytes, call.order != 0);
        call.m = take_int(bytes, call.int_bytes);
        call.n = take_int(bytes, call.int_bytes);
        call.k = take_int(bytes, call.int_bytes);
        /* Wide leading dimensions, so that sometimes all three groups are legal. */
        bool wide = fuzz_byte(bytes) < 200;
        int64_t *const lds[] = {&call.lda, &call.ldb, &call.ldc};
        for (int i = 0; i < 3; i++)
            *lds[i] = wide ? 24 + fuzz_byte(bytes) % 8 : take_int(bytes, call.int_bytes);
        batch.group[g] = call;
        batch.size[g] = take_int(bytes, call.int_bytes);
        if (call.op == XG_OP_GEMM_BATCH && batch.size[g] > PRODUCTS)
            batch.size[g] = g && what >= 192 ? INT64_MAX >> (call.int_bytes == 4 ? 32 : 0) : 2;
    }
    if (call.op == XG_OP_GEMM_BATCH && what == 255)
        batch.groups = -1;
    return batch;
}

static int64_t number_of(const struct batch *batch, int array, int group)
{
    const struct standard *call = &batch->group[group];
    const int64_t numbers[ARRAYS] = {call->m,   call->n,   call->k,           call->lda,
                                     call->ldb, call->ldc, batch->size[group]};
    return numbers[array];
}

/* The arguments as a program passes them. */
struct passed {
    int transes[2][GROUPS];
    char letters[2][GROUPS];
    union {
        int64_t wide[GROUPS];
        int32_t narrow[GROUPS];
    } integers[ARRAYS];
    union {
        float single[2 * GROUPS];
        double twice[2 * GROUPS];
    } scalars[2];
    const void *a[ALL], *b[ALL];
    void *c[ALL];
    int64_t stride[3], groups;
    struct shim_call call;
};

static void fill(const struct batch *batch, struct passed *to)
{
    const struct standard *call = &batch->group[0];
    bool is_double = xg_type_is_double(call->type);
    int parts = xg_type_is_complex(call->type) ? 2 : 1;
    for (int g = 0; g < GROUPS; g++) {
        to->transes[0][g] = batch->group[g].transa;
        to->transes[1][g] = batch->group[g].transb;
        for (int i = 0; i < 2; i++) {
            to->letters[i][g] = (char)to->transes[i][g];
            for (int part = 0; part < parts; part++)
                if (is_double)
                    to->scalars[i].twice[g * parts + part] = scalar(g, 1 + i + 4 * part);
                else
                    to->scalars[i].single[g * parts + part] = (float)scalar(g, 1 + i + 4 * part);
        }
        for (int i = 0; i < ARRAYS; i++)
            if (call->int_bytes == 8)
                to->integers[i].wide[g] = number_of(batch, i, g);
            else
                to->integers[i].narrow[g] = (int32_t)number_of(batch, i, g);
    }
    for (int i = 0; i < ALL; i++) {
        to->a[i] = matrix(0, i);
        to->b[i] = matrix(1, i);
        to->c[i] = matrix(2, i);
    }
    memcpy(to->stride, batch->stride, sizeof to->stride);
    to->groups = batch->groups;
}

static void pass_strided(const struct batch *batch, struct passed *to)
{
    const struct standard *call = &batch->group[0];
    if (call->order)
        to->call.gemm_batch_strided_cblas = (struct shim_gemm_batch_strided_cblas){
            .order = call->order,
            .transa = call->transa,
            .transb = call->transb,
            .m = fuzz_slot(call, call->m, GARBAGE),
            .n = fuzz_slot(call, call->n, GARBAGE),
            .k = fuzz_slot(call, call->k, GARBAGE),
            .alpha = fuzz_scalar(call->type, &to->scalars[0]),
            .a = to->a[0],
            .lda = fuzz_slot(call, call->lda, GARBAGE),
            .stridea = fuzz_slot(call, batch->stride[0], GARBAGE),
            .b = to->b[0],
            .ldb = fuzz_slot(call, call->ldb, GARBAGE),
            .strideb = fuzz_slot(call, batch->stride[1], GARBAGE),
            .beta = fuzz_scalar(call->type, &to->scalars[1]),
            .c = to->c[0],
            .ldc = fuzz_slot(call, call->ldc, GARBAGE),
            .stridec = fuzz_slot(call, batch->stride[2], GARBAGE),
            .batch_size = fuzz_slot(call, batch->size[0], GARBAGE)};
    else
        to->call.gemm_batch_strided_fortran =
            (struct shim_gemm_batch_strided_fortran){.transa = to->letters[0],
                                                     .transb = to->letters[1],
                                                     .m = &to->integers[M],
                                                     .n = &to->integers[N],
                                                     .k = &to->integers[K],
                                                     .alpha = &to->scalars[0],
                                                     .a = to->a[0],
                                                     .lda = &to->integers[LDA],
                                                     .stridea = &to->stride[0],
                                                     .b = to->b[0],
                                                     .ldb = &to->integers[LDB],
                                                     .strideb = &to->stride[1],
                                                     .beta = &to->scalars[1],
                                                     .c = to->c[0],
                                                     .ldc = &to->integers[LDC],
                                                     .stridec = &to->stride[2],
                                                     .batch_size = &to->integers[SIZE]};
}

/* Arguments that are the same in both interfaces. */
#define ARRAYS(none, to)                                                                           \
    .m_array = (none) ? NULL : &(to)->integers[M], .n_array = (none) ? NULL : &(to)->integers[N],  \
    .k_array = (none) ? NULL : &(to)->integers[K],                                                 \
    .alpha_array = (none) ? NULL : &(to)->scalars[0], .a_array = (none) ? NULL : (to)->a,          \
    .lda_array = (none) ? NULL : &(to)->integers[LDA], .b_array = (none) ? NULL : (to)->b,         \
    .ldb_array = (none) ? NULL : &(to)->integers[LDB],                                             \
    .beta_array = (none) ? NULL : &(to)->scalars[1], .c_array = (none) ? NULL : (to)->c,           \
    .ldc_array = (none) ? NULL : &(to)->integers[LDC],                                             \
    .group_size = (none) ? NULL : &(to)->integers[SIZE]

static void pass_groups(const struct batch *batch, struct passed *to)
{
    const struct standard *call = &batch->group[0];
    bool none = batch->groups <= 0; /* without groups the arrays are NULL */
    if (call->order)
        to->call.gemm_batch_cblas =
            (struct shim_gemm_batch_cblas){.order = call->order,
                                           .transa_array = none ? NULL : to->transes[0],
                                           .transb_array = none ? NULL : to->transes[1],
                                           .group_count = fuzz_slot(call, batch->groups, GARBAGE),
                                           ARRAYS(none, to)};
    else
        to->call.gemm_batch_fortran =
            (struct shim_gemm_batch_fortran){.transa_array = none ? NULL : to->letters[0],
                                             .transb_array = none ? NULL : to->letters[1],
                                             .group_count = &to->groups,
                                             ARRAYS(none, to)};
}

static void check_scalars(const struct standard *call, const struct xg_problem *p, int group)
{
    bool is_complex = xg_type_is_complex(call->type);
    FUZZ_CHECK(p->op == call->op && p->type == call->type && p->uplo == XG_FULL, "which operation");
    FUZZ_CHECK(p->alpha == scalar(group, 1) && p->beta == scalar(group, 2), "scalars");
    FUZZ_CHECK(p->alpha_im == (is_complex ? scalar(group, 5) : 0) &&
                   p->beta_im == (is_complex ? scalar(group, 6) : 0),
               "imaginary parts");
}

/* A product of a batch is a GEMM. Element (i,j) of its C and term l of its sum lie where the
 * standard says. */
static void check_product(const struct standard *call, const struct xg_problem *p,
                          void *const operands[3], const int64_t at[3])
{
    const bool swapped = call->order != 101;
    FUZZ_CHECK(p->op == XG_OP_GEMM && !p->batch, "a product of a batch is a GEMM");
    FUZZ_CHECK(p->m == (swapped ? call->n : call->m) && p->n == (swapped ? call->m : call->n) &&
                   p->k == call->k,
               "a product's size");
    fuzz_check_gemm(call, p, operands, at[0], at[1], at[2]);
}

/* Checks the problem of a legal group; `first` products come before it. */
static void check_group(struct fuzz_bytes *bytes, const struct batch *batch, int group,
                        int64_t first, const struct xg_problem *p)
{
    const struct standard *call = &batch->group[group];
    int64_t size = batch->size[group], rows = call->order == 101 ? call->m : call->n;
    FUZZ_CHECK(p->m == size * rows && p->n == (call->order == 101 ? call->n : call->m) &&
                   p->k == call->k,
               "the size");
    check_scalars(call, p, group);
    bool empty = !size || !call->m || !call->n; /* it may have no matrices */
    FUZZ_CHECK(empty ? !p->batch : p->batch && p->batch->count == size, "how many products");
    if (empty || !call->k)
        return;
    fuzz_reached++;
    int64_t product = (int64_t)fuzz_word(bytes, 2) % size;
    const int64_t at[3] = {(int64_t)fuzz_word(bytes, 4) % call->m,
                           (int64_t)fuzz_word(bytes, 4) % call->n,
                           (int64_t)fuzz_word(bytes, 4) % call->k};
    void *operands[3];
    for (int i = 0; i < 3; i++)
        operands[i] =
            call->op == XG_OP_GEMM_BATCH
                ? matrix(i, first + product)
                : matrix(i, 0) + product * batch->stride[i] * (int64_t)xg_type_bytes(call->type);
    const struct xg_problem instance = xg_problem_instance(p, product);
    check_product(call, &instance, operands, at);
}

static bool take_size(void *context, int64_t m, int64_t n, int64_t k)
{
    memcpy(context, (const int64_t[]){m, n, k}, 3 * sizeof(int64_t));
    return true;
}

/* Checks the call that is cut down to each group. */
static void check_cuts(struct fuzz_bytes *bytes, const struct batch *batch,
                       const struct passed *passed)
{
    const int int_bytes = batch->group[0].int_bytes;
    int64_t first = 0, sought[3], size[3];
    struct shim_groups groups, alone;
    shim_groups_init(&passed->call, int_bytes, &groups);
    FUZZ_CHECK(groups.count == batch->groups, "how many groups");
    for (int g = 0; g < batch->groups; first += batch->size[g++]) {
        struct shim_cut cut;
        struct shim_args args;
        if (first + (batch->size[g] > PRODUCTS ? 0 : batch->size[g]) > ALL ||
            batch->size[g] > PRODUCTS)
            return; /* the arrays have no such addresses */
        FUZZ_CHECK(groups.products == first, "how many products");
        shim_groups_seek(&groups, take_size, sought);
        FUZZ_CHECK(groups.wanted == g, "which group is next");
        shim_groups_take(&groups, 1, &cut);
        shim_groups_init(&cut.call, int_bytes, &alone);
        FUZZ_CHECK(alone.count == 1, "a group alone");
        shim_args_read(&cut.call, int_bytes, &args);
        FUZZ_CHECK(!args.illegal, "argument %d of a legal group", args.illegal);
        check_group(bytes, batch, g, first, &args.problem);
        shim_args_size(&cut.call, int_bytes, &size[0], &size[1], &size[2]);
        FUZZ_CHECK(!memcmp(sought, size, sizeof size), "the size of a group");
        FUZZ_CHECK(batch->size[g] ? size[0] == args.problem.m && size[1] == args.problem.n &&
                                        size[2] == args.problem.k
                                  : size[0] < 0 && size[1] > 0 && size[2] > 0,
                   "the size alone is another");
    }
}

static bool is_extension(const struct standard *call)
{
    return call->order ? call->transa == 114 || call->transb == 114
                       : strchr("Rr", call->transa) != NULL || strchr("Rr", call->transb) != NULL;
}

/* The number of the illegal argument in shim_args_read's order; 0: none. */
static int info_of(const struct batch *batch)
{
    const struct standard *call = &batch->group[0];
    uint64_t sum = 0;
    int info = batch->groups < 0 ? 14 : 0;
    if (call->op == XG_OP_GEMM_BATCH_STRIDED)
        return standard_info_strided(call, batch->size[0]);
    if (call->order && call->order != 101 && call->order != 102)
        return 1;
    for (int g = 0; g < batch->groups && !info; g++)
        info = standard_info_group(&batch->group[g], batch->size[g], &sum);
    return info && call->order ? info + 1 : info;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    const struct batch batch = take_batch(&bytes);
    const struct standard *call = &batch.group[0];
    struct passed passed;
    struct shim_args args;
    int64_t m, n, k;
    fill(&batch, &passed);
    passed.call.symbol =
        shim_symbol_spellings(xg_kind(call->op, call->type)) + (call->order ? 0 : 1);
    if (call->op == XG_OP_GEMM_BATCH)
        pass_groups(&batch, &passed);
    else
        pass_strided(&batch, &passed);
    shim_args_read(&passed.call, call->int_bytes, &args);
    int info = info_of(&batch);
    FUZZ_CHECK(args.illegal == info, "argument %d, and by the standard %d", args.illegal, info);
    shim_args_size(&passed.call, call->int_bytes, &m, &n, &k);
    if (info)
        return 0;
    bool extension = false;
    for (int g = 0; g < batch.groups; g++)
        extension |= is_extension(&batch.group[g]);
    FUZZ_CHECK(args.extension == extension, "whether all libraries take it");
    FUZZ_CHECK(batch.groups && batch.size[0]
                   ? m == args.problem.m && n == args.problem.n && k == args.problem.k
                   : m < 0 && n > 0 && k > 0,
               "the size alone is another");
    if (call->op == XG_OP_GEMM_BATCH)
        check_cuts(&bytes, &batch, &passed);
    else
        check_group(&bytes, &batch, 0, 0, &args.problem);
    return 0;
}
