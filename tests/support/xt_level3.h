/* SPDX-License-Identifier: MIT */
/* Level 3 problems of every operation and type, in their own memory, judged element by element by
 * the operation's definition in long double. All that BLAS does not read is NaN: the padding
 * between rows, the triangle that is not stored, a unit diagonal, imaginary parts of a real
 * diagonal. */
#ifndef XT_LEVEL3_H
#define XT_LEVEL3_H

#include <complex.h>
#include <math.h>

#include "one_thread.h"
#include "src/base/problem.h"
#include "typed.h"
#include "xt.h"

/* For structured operands k follows from m or n. */
struct xt_level3_shape {
    enum xg_op op;
    enum xg_type type;
    enum xg_uplo uplo;
    enum xg_trans transa, transb;
    int64_t m, n, k, pad;
    double alpha, alpha_im, beta, beta_im;
    enum xg_operand structured;
    enum xg_uplo stored;
    bool unit;
    int64_t instances; /* of a batch; m is a multiple of it */
    bool shared;       /* all instances share one A */
};

struct xt_level3 {
    struct xg_problem p;
    char *a, *b, *c; /* NULL: the operand shares another's memory */
    char *before;    /* C before the call */
    size_t c_bytes;
    struct xt_level3_batch *batch; /* NULL: no batch */
};

typedef long double _Complex xt_number;

static inline bool xt_level3_is_rank_k(enum xg_op op)
{
    return op == XG_OP_SYRK || op == XG_OP_HERK;
}

static inline bool xt_level3_is_rank_2k(enum xg_op op)
{
    return op == XG_OP_SYR2K || op == XG_OP_HER2K;
}

static inline bool xt_level3_is_structured(enum xg_op op)
{
    return op == XG_OP_SYMM || op == XG_OP_HEMM || op == XG_OP_TRMM || op == XG_OP_TRSM;
}

static inline bool xt_level3_is_in_place(enum xg_op op)
{
    return op == XG_OP_TRMM || op == XG_OP_TRSM;
}

static inline bool xt_level3_is_hermitian(enum xg_op op)
{
    return op == XG_OP_HERK || op == XG_OP_HER2K;
}

static inline bool xt_level3_is_batch(enum xg_op op)
{
    return op == XG_OP_GEMM_BATCH || op == XG_OP_GEMM_BATCH_STRIDED;
}

/* The most forms that an operation has: sides, triangles, transposes and diagonals. */
enum { XT_LEVEL3_FORMS = 24 };

/* Makes the shape legal for its operation. form: any number; it chooses side, triangle, transposes
 * and diagonal. */
static inline void xt_level3_settle(struct xt_level3_shape *s, int form)
{
    if (xt_level3_is_rank_k(s->op) || xt_level3_is_rank_2k(s->op)) {
        enum xg_trans other = xt_level3_is_hermitian(s->op) ? XG_CONJ_TRANS : XG_TRANS;
        bool trans = form & 1;
        s->uplo = form & 2 ? XG_UPPER : XG_LOWER;
        s->n = s->m;
        s->transa = trans ? other : XG_NO_TRANS;
        s->transb = trans ? XG_NO_TRANS : other;
    }
    if (s->op == XG_OP_GEMMT) {
        const int trans = form / 2 % 9;
        s->uplo = form & 1 ? XG_UPPER : XG_LOWER;
        s->n = s->m;
        s->transa = (enum xg_trans)(trans % 3);
        s->transb = (enum xg_trans)(trans / 3);
    }
    if (s->op == XG_OP_GEMV) { /* the vector is not conjugated */
        const bool row = form & 1;
        *(row ? &s->m : &s->n) = 1;
        *(row ? &s->transa : &s->transb) %= XG_CONJ_TRANS;
    }
    if (xt_level3_is_batch(s->op)) {
        static const int64_t counts[] = {1, 2, 3, 5, 8, 13};
        s->transa = (enum xg_trans)(form % 3);
        s->transb = (enum xg_trans)(form / 3 % 3);
        s->instances = counts[form % 6];
        s->m += (s->instances - s->m % s->instances) % s->instances;
        s->shared = form % 4 == 3;
    }
    if (xt_level3_is_structured(s->op)) {
        s->structured = form & 1 ? XG_OPERAND_B : XG_OPERAND_A;
        s->stored = form & 2 ? XG_UPPER : XG_LOWER;
        s->k = s->structured == XG_OPERAND_A ? s->m : s->n;
        s->transa = s->transb = XG_NO_TRANS;
    }
    if (xt_level3_is_in_place(s->op)) {
        enum xg_trans trans = (enum xg_trans)((form >> 2) % 3);
        *(s->structured == XG_OPERAND_A ? &s->transa : &s->transb) = trans;
        s->unit = (form ^ form >> 2) & 1;
        s->beta = s->beta_im = 0;
    }
    if (!xg_type_is_complex(s->type))
        s->alpha_im = s->beta_im = 0;
    if (xt_level3_is_hermitian(s->op))
        s->beta_im = 0;
    if (s->op == XG_OP_HERK)
        s->alpha_im = 0;
}

/* Real and imaginary parts of alpha and beta. */
static const double xt_level3_scalars[3][4] = {{1, 0, 0, 0}, {-2, 1, 1, 0}, {0.5, -1, 2, 0.5}};

/* A problem of the kind and the form. size: m, n and k, as far as the operation has them. */
static inline struct xt_level3_shape xt_level3_of(int kind, int form, const int64_t size[3],
                                                  const double scalars[4])
{
    struct xt_level3_shape s = {.op = xg_kind_op(kind),
                                .type = xg_kind_type(kind),
                                .transa = (enum xg_trans)(form % 3),
                                .transb = (enum xg_trans)(form / 3 % 3),
                                .m = size[0],
                                .n = size[1],
                                .k = size[2],
                                .pad = form % 4,
                                .alpha = scalars[0],
                                .alpha_im = scalars[1],
                                .beta = scalars[2],
                                .beta_im = scalars[3]};
    xt_level3_settle(&s, form);
    return s;
}

/* How a matrix is stored: its triangle, and whether its diagonal is real or unit. large is added to
 * the diagonal. */
struct xt_level3_form {
    enum xg_uplo stored;
    bool is_real, unit;
    double large;
};

static inline char *xt_level3_matrix(enum xg_type type, int64_t rows, int64_t columns, int64_t ld,
                                     struct xt_level3_form form, uint64_t *seed)
{
    char *memory = xt_alloc((size_t)(rows * ld), xg_type_bytes(type));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < ld; j++) {
            double re = (double)xt_random(seed), im = (double)xt_random(seed);
            bool there = j < columns &&
                         (form.stored == XG_FULL || (form.stored == XG_UPPER ? i <= j : i >= j));
            if (form.unit)
                re *= 64 / (64 + (double)columns), im *= 64 / (64 + (double)columns);
            re += i == j ? form.large : 0;
            if (!there || (form.unit && i == j))
                re = im = (double)NAN;
            if (i == j && form.is_real)
                im = (double)NAN;
            xt_complex_set(type, memory, i * ld + j, CMPLX(re, im));
        }
    return memory;
}

/* --- Batches --------------------------------------------------------------------------------- */

/* An operand's instances lie in one matrix with rows of NaN between them: in order and evenly if
 * they are strided; otherwise A's and B's in another order, and C's with a gap in the middle. */
enum { XT_LEVEL3_APART = 2, XT_LEVEL3_INSTANCES = 13 };

struct xt_level3_batch {
    struct xg_batch p;
    int64_t at[3][XT_LEVEL3_INSTANCES]; /* the first row of each instance of A, B and C */
    const void *matrices[2][XT_LEVEL3_INSTANCES];
    void *results[XT_LEVEL3_INSTANCES];
};

/* The place of instance i of operand o (A, B, C), counted in instances. */
static inline int64_t xt_level3_place(const struct xt_level3_shape *s, int o, int64_t i)
{
    const bool strided = s->op == XG_OP_GEMM_BATCH_STRIDED;
    if (o == 0 && s->shared)
        return 0;
    if (strided)
        return i;
    return o == 2 ? i + (i > s->instances / 2) : s->instances - 1 - i + (i % 2 == o);
}

/* Creates the operands of a batch of the shape. */
static inline void xt_level3_make_batch(const struct xt_level3_shape *s, struct xt_level3 *o,
                                        uint64_t *seed)
{
    struct xg_problem *p = &o->p;
    const int64_t each = s->m / s->instances;
    const int64_t rows[] = {s->transa ? s->k : each, s->transb ? s->n : s->k, each};
    const int64_t columns[] = {s->transa ? each : s->k, s->transb ? s->k : s->n, s->n};
    const int64_t lds[] = {columns[0] + s->pad, columns[1] + s->pad, columns[2] + s->pad};
    const bool reads = !xg_problem_beta_zero(p);
    char **const memories[] = {&o->a, &o->b, &o->c};
    struct xt_level3_batch *batch = xt_alloc(1, sizeof *batch);
    if (s->instances > XT_LEVEL3_INSTANCES)
        exit(XT_HARD);
    batch->p.count = s->instances;
    for (int i = 0; i < 3; i++) {
        const int64_t apart = rows[i] + XT_LEVEL3_APART, all = (s->instances + 2) * apart;
        const size_t row_bytes = (size_t)lds[i] * xg_type_bytes(s->type);
        *memories[i] = xt_level3_matrix(s->type, all, i == 2 && !reads ? 0 : columns[i], lds[i],
                                        (struct xt_level3_form){.stored = XG_FULL}, seed);
        for (int64_t row = 0; row < all; row++)
            for (int64_t j = 0; row % apart >= rows[i] && j < lds[i]; j++)
                xt_complex_set(s->type, *memories[i], row * lds[i] + j, CMPLX(NAN, NAN));
        for (int64_t at = 0; at < s->instances; at++) {
            batch->at[i][at] = xt_level3_place(s, i, at) * apart;
            char *matrix = *memories[i] + (size_t)batch->at[i][at] * row_bytes;
            if (i < 2)
                batch->matrices[i][at] = matrix;
            else
                batch->results[at] = matrix;
        }
        if (i == 2)
            o->c_bytes = (size_t)all * row_bytes;
    }
    p->lda = lds[0], p->ldb = lds[1], p->ldc = lds[2];
    p->a = batch->matrices[0][0], p->b = batch->matrices[1][0], p->c = batch->results[0];
    if (s->op == XG_OP_GEMM_BATCH) {
        batch->p.a = batch->matrices[0], batch->p.b = batch->matrices[1];
        batch->p.c = batch->results;
    }
    batch->p.stride_a = s->shared ? 0 : (rows[0] + XT_LEVEL3_APART) * lds[0];
    batch->p.stride_b = (rows[1] + XT_LEVEL3_APART) * lds[1];
    batch->p.stride_c = (rows[2] + XT_LEVEL3_APART) * lds[2];
    o->batch = batch;
    p->batch = &batch->p;
}

/* One instance of a batch as a problem in the same memory. */
static inline struct xt_level3 xt_level3_instance(const struct xt_level3 *o, int64_t i)
{
    struct xt_level3 one = *o;
    const size_t bytes = xg_problem_elem_bytes(&o->p);
    one.batch = NULL;
    one.p.batch = NULL;
    one.p.op = XG_OP_GEMM;
    one.p.m = o->p.m / o->batch->p.count;
    one.p.a = o->a + (size_t)(o->batch->at[0][i] * o->p.lda) * bytes;
    one.p.b = o->b + (size_t)(o->batch->at[1][i] * o->p.ldb) * bytes;
    one.p.c = o->c + (size_t)(o->batch->at[2][i] * o->p.ldc) * bytes;
    one.before = o->before + (size_t)(o->batch->at[2][i] * o->p.ldc) * bytes;
    return one;
}

static inline struct xt_level3 xt_level3_create(const struct xt_level3_shape *s, uint64_t seed)
{
    bool one = xt_level3_is_rank_k(s->op);
    int64_t a_rows = s->transa ? s->k : s->m, a_columns = s->transa ? s->m : s->k;
    int64_t b_rows = s->transb ? s->n : s->k, b_columns = s->transb ? s->k : s->n;
    struct xt_level3 o = {.p = {.op = s->op,
                                .type = s->type,
                                .uplo = s->uplo,
                                .structured = s->structured,
                                .stored = s->stored,
                                .unit = s->unit,
                                .transa = s->transa,
                                .transb = s->transb,
                                .m = s->m,
                                .n = s->n,
                                .k = s->k,
                                .alpha = s->alpha,
                                .alpha_im = s->alpha_im,
                                .lda = a_columns + s->pad,
                                .ldb = one ? a_columns + s->pad : b_columns + s->pad,
                                .beta = s->beta,
                                .beta_im = s->beta_im,
                                .ldc = s->n + s->pad}};
    const bool in_place = xt_level3_is_in_place(s->op);
    const struct xt_level3_form plain = {.stored = XG_FULL};
    /* A large diagonal keeps solutions small. */
    const struct xt_level3_form structured = {.stored = s->stored,
                                              .is_real = s->op == XG_OP_HEMM,
                                              .unit = s->unit,
                                              .large = in_place ? 4 + 0.5 * (double)s->k : 0};
    const struct xt_level3_form of_c = {.stored = XG_FULL,
                                        .is_real = xt_level3_is_hermitian(s->op)};
    if (xt_level3_is_batch(s->op)) {
        xt_level3_make_batch(s, &o, &seed);
        o.before = xt_alloc(1, o.c_bytes);
        memcpy(o.before, o.c, o.c_bytes);
        return o;
    }
    /* In place, C is the operand without structure. */
    if (!in_place || s->structured == XG_OPERAND_A)
        o.a = xt_level3_matrix(s->type, a_rows, a_columns, o.p.lda,
                               s->structured == XG_OPERAND_A ? structured : plain, &seed);
    if (!one && (!in_place || s->structured == XG_OPERAND_B))
        o.b = xt_level3_matrix(s->type, b_rows, b_columns, o.p.ldb,
                               s->structured == XG_OPERAND_B ? structured : plain, &seed);
    /* If beta is 0, all of C is NaN. */
    bool reads = in_place || !xg_problem_beta_zero(&o.p);
    o.c = xt_level3_matrix(s->type, s->m, reads ? s->n : 0, o.p.ldc, of_c, &seed);
    o.p.a = o.a ? o.a : o.c;
    o.p.b = one ? o.a : o.b ? o.b : o.c;
    o.p.c = o.c;
    o.c_bytes = (size_t)(s->m * o.p.ldc) * xg_type_bytes(s->type);
    o.before = xt_alloc(1, o.c_bytes);
    memcpy(o.before, o.p.c, o.c_bytes);
    return o;
}

static inline void xt_level3_destroy(struct xt_level3 *o)
{
    free(o->a), free(o->b), free(o->c), free(o->before), free(o->batch);
}

/* --- The definition -------------------------------------------------------------------------- */

/* An element of the structured operand. */
static inline xt_number xt_level3_structured(const struct xt_level3 *o, const void *memory,
                                             int64_t ld, int64_t row, int64_t column)
{
    const struct xg_problem *p = &o->p;
    bool stored = p->stored == XG_UPPER ? row <= column : row >= column;
    if (xt_level3_is_in_place(p->op) && (!stored || (p->unit && row == column)))
        return stored ? 1 : 0;
    xt_number x = stored ? xt_complex_get(p->type, memory, row * ld + column)
                         : xt_complex_get(p->type, memory, column * ld + row);
    if (p->op == XG_OP_HEMM && row == column)
        return creall(x);
    return p->op == XG_OP_HEMM && !stored ? conjl(x) : x;
}

/* Element (row, column) of op(A), or of op(B). */
static inline xt_number xt_level3_factor(const struct xt_level3 *o, bool b, int64_t row,
                                         int64_t column)
{
    const struct xg_problem *p = &o->p;
    enum xg_trans trans = b ? p->transb : p->transa;
    bool is_c = xt_level3_is_in_place(p->op) && p->structured != (b ? XG_OPERAND_B : XG_OPERAND_A);
    /* TRMM multiplies the old C; TRSM's solution is the new C. */
    const void *memory = is_c && p->op == XG_OP_TRMM ? o->before : b ? p->b : p->a;
    int64_t ld = b ? p->ldb : p->lda, i = trans ? column : row, j = trans ? row : column;
    bool structured = p->structured == (b ? XG_OPERAND_B : XG_OPERAND_A);
    xt_number x = structured ? xt_level3_structured(o, memory, ld, i, j)
                             : xt_complex_get(p->type, memory, i * ld + j);
    return trans == XG_CONJ_TRANS ? conjl(x) : x;
}

/* Rows of op(A), multiplied by alpha except for TRSM, and columns of op(B), of k elements each;
 * NULL until they are needed. */
struct xt_level3_factors {
    const struct xt_level3 *o;
    xt_number **rows, **columns;
};

static inline struct xt_level3_factors xt_level3_factors(const struct xt_level3 *o)
{
    return (struct xt_level3_factors){.o = o,
                                      .rows = xt_alloc((size_t)o->p.m, sizeof(xt_number *)),
                                      .columns = xt_alloc((size_t)o->p.n, sizeof(xt_number *))};
}

static inline void xt_level3_forget(struct xt_level3_factors *factors)
{
    for (int64_t i = 0; i < factors->o->p.m; i++)
        free(factors->rows[i]);
    for (int64_t j = 0; j < factors->o->p.n; j++)
        free(factors->columns[j]);
    free(factors->rows);
    free(factors->columns);
}

/* The product without C's rules for infinities, which take ten times as long. */
XT_ONE_THREAD static inline xt_number xt_level3_times(xt_number x, xt_number y)
{
    return CMPLXL(creall(x) * creall(y) - cimagl(x) * cimagl(y),
                  creall(x) * cimagl(y) + cimagl(x) * creall(y));
}

/* Row `at` of op(A), or column `at` of op(B): (k). */
static inline const xt_number *xt_level3_line(const struct xt_level3_factors *factors, bool b,
                                              int64_t at)
{
    const struct xg_problem *p = &factors->o->p;
    const xt_number scale = b || p->op == XG_OP_TRSM ? 1 : CMPLXL(p->alpha, p->alpha_im);
    xt_number **line = (b ? factors->columns : factors->rows) + at;
    if (*line)
        return *line;
    *line = xt_alloc((size_t)p->k, sizeof **line);
    for (int64_t l = 0; l < p->k; l++)
        (*line)[l] =
            xt_level3_times(scale, xt_level3_factor(factors->o, b, b ? l : at, b ? at : l));
    return *line;
}

XT_ONE_THREAD static inline long double xt_level3_size(xt_number x)
{
    return fabsl(creall(x)) + fabsl(cimagl(x));
}

struct xt_level3_sum {
    xt_number value;
    long double size;
};

XT_ONE_THREAD static inline void xt_level3_add(struct xt_level3_sum *sum, xt_number x, xt_number y)
{
    sum->value += xt_level3_times(x, y);
    sum->size += xt_level3_size(x) * xt_level3_size(y);
}

/* x: (k), conjugated or not; y: (k). */
XT_ONE_THREAD static inline void xt_level3_add_all(struct xt_level3_sum *sum, const xt_number *x,
                                                   const xt_number *y, int64_t k, bool conjugate)
{
    for (int64_t l = 0; l < k; l++)
        xt_level3_add(sum, conjugate ? conjl(x[l]) : x[l], conjugate ? conjl(y[l]) : y[l]);
}

/* The exact C[i,j]. For TRSM the residual: op(A) X or X op(B), minus alpha times the old C, which
 * must be 0. */
static inline struct xt_level3_sum xt_level3_exact(const struct xt_level3_factors *factors,
                                                   int64_t i, int64_t j)
{
    const struct xt_level3 *o = factors->o;
    const struct xg_problem *p = &o->p;
    const bool solves = p->op == XG_OP_TRSM;
    const xt_number old = xt_complex_get(p->type, o->before, i * p->ldc + j);
    struct xt_level3_sum sum = {0, 0};
    if (solves || !xg_problem_alpha_zero(p))
        xt_level3_add_all(&sum, xt_level3_line(factors, false, i), xt_level3_line(factors, true, j),
                          p->k, false);
    /* The same element of the second product: alpha, or its conjugate, times B A. */
    if (xt_level3_is_rank_2k(p->op))
        xt_level3_add_all(&sum, xt_level3_line(factors, false, j), xt_level3_line(factors, true, i),
                          p->k, p->op == XG_OP_HER2K);
    if (solves) {
        xt_level3_add(&sum, -CMPLXL(p->alpha, p->alpha_im), old);
    } else if (!xg_problem_beta_zero(p)) {
        bool is_real = xt_level3_is_hermitian(p->op) && i == j;
        xt_level3_add(&sum, CMPLXL(p->beta, p->beta_im), is_real ? creall(old) : old);
    }
    if (xt_level3_is_hermitian(p->op) && i == j)
        sum.value = creall(sum.value);
    return sum;
}

/* The error of C[i,j], in units of the bound of as many roundings of the type. */
static inline double xt_level3_error(const struct xt_level3_factors *factors, int64_t i, int64_t j)
{
    const struct xg_problem *p = &factors->o->p;
    const bool solves = p->op == XG_OP_TRSM;
    struct xt_level3_sum exact = xt_level3_exact(factors, i, j);
    long double unit = xg_type_is_double(p->type) ? 0x1p-53L : 0x1p-24L;
    xt_number off = exact.value;
    if (!solves)
        off -= xt_complex_get(p->type, p->c, i * p->ldc + j);
    long double worst = fmaxl(fabsl(creall(off)), fabsl(cimagl(off)));
    if (isnan(creall(off)) || isnan(cimagl(off)))
        return (double)NAN;
    if (xt_level3_is_hermitian(p->op) && i == j && cimagl(off) != 0)
        return (double)INFINITY;
    return worst == 0 ? 0 : (double)(worst / (exact.size * unit * (long double)(2 * p->k + 4)));
}

/* For larger problems fewer elements are judged, so that all sums together have about this many
 * terms. With a sanitizer there are fewer. */
#ifdef XG_SANITIZED
enum { XT_LEVEL3_JUDGED = 1 << 14 };
#else
enum { XT_LEVEL3_JUDGED = 1 << 18 };
#endif

static inline void xt_level3_check(const struct xt_level3 *o, const char *what);

/* Checks each instance, and that the rows between instances have not changed. */
static inline void xt_level3_check_batch(const struct xt_level3 *o, const char *what)
{
    const struct xg_problem *p = &o->p;
    const int64_t each = p->m / o->batch->p.count;
    const size_t row_bytes = (size_t)p->ldc * xg_problem_elem_bytes(p);
    size_t begin = 0;
    for (int64_t i = 0; i <= o->batch->p.count; i++) {
        size_t end = i < o->batch->p.count ? (size_t)o->batch->at[2][i] * row_bytes : o->c_bytes;
        XT_CHECK(!memcmp(o->c + begin, o->before + begin, end - begin),
                 "%s: something in front of instance %ld was touched", what, (long)i);
        if (i == o->batch->p.count)
            break;
        const struct xt_level3 one = xt_level3_instance(o, i);
        xt_level3_check(&one, what);
        begin = end + (size_t)each * row_bytes;
    }
}

/* Checks that the elements [from, to) of row i have not changed. */
static inline void xt_level3_check_old(const struct xt_level3 *o, int64_t i, int64_t from,
                                       int64_t to, const char *what)
{
    const size_t bytes = xg_problem_elem_bytes(&o->p);
    const size_t at = (size_t)(i * o->p.ldc + from) * bytes;
    XT_CHECK(!memcmp((char *)o->p.c + at, o->before + at, (size_t)(to - from) * bytes),
             "%s: one of (%ld,%ld) to (%ld,%ld) was touched", what, (long)i, (long)from, (long)i,
             (long)to - 1);
}

/* Checks the judged elements of row i, and that those outside C's triangle have not changed. False
 * after an error. */
static inline bool xt_level3_check_row(const struct xt_level3_factors *factors, int64_t i,
                                       const char *what)
{
    const struct xt_level3 *o = factors->o;
    const struct xg_problem *p = &o->p;
    const int64_t step = p->m * p->n * p->k / XT_LEVEL3_JUDGED | 1;
    int64_t begin, end;
    xg_problem_row(p, i, 0, p->n, &begin, &end);
    xt_level3_check_old(o, i, 0, begin, what);
    xt_level3_check_old(o, i, end, p->ldc, what);
    const int64_t beyond = (i * p->n + begin) % step;
    for (int64_t j = beyond ? begin + step - beyond : begin; j < end; j += step) {
        double error = xt_level3_error(factors, i, j);
        XT_CHECK(error <= 1, "%s: (%ld,%ld) is %g units off", what, (long)i, (long)j, error);
        if (!(error <= 1))
            return false;
    }
    return true;
}

/* Checks every element that the operation writes, and that no other byte of C has changed. */
static inline void xt_level3_check(const struct xt_level3 *o, const char *what)
{
    if (o->batch) {
        xt_level3_check_batch(o, what);
        return;
    }
    struct xt_level3_factors factors = xt_level3_factors(o);
    for (int64_t i = 0; i < o->p.m; i++)
        if (!xt_level3_check_row(&factors, i, what))
            break;
    xt_level3_forget(&factors);
}

/* A name for messages; valid until the next call. */
static inline const char *xt_level3_name(const struct xt_level3_shape *s)
{
    static char text[192];
    snprintf(text, sizeof text, "%s %d%d%d structured %d%d%d %ldx%ldx%ld+%ld, (%g,%g) (%g,%g)",
             xg_kind_name(xg_kind(s->op, s->type)), (int)s->uplo, (int)s->transa, (int)s->transb,
             (int)s->structured, (int)s->stored, (int)s->unit, (long)s->m, (long)s->n, (long)s->k,
             (long)s->pad, s->alpha, s->alpha_im, s->beta, s->beta_im);
    return text;
}

#endif
