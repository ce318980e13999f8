/* SPDX-License-Identifier: MIT */
/* The operations' traits and the functions that follow from them. */
#include "base/problem.h"

static const struct {
    const char *names[XG_TYPE_COUNT]; /* one name per type */
    enum xg_type first_type;          /* the first type that it has; it has all later ones too */
    bool b_is_a;                      /* one operand is uploaded for both */
    bool triangle; /* C has one triangle: half of the arithmetic and of the download */
} traits[XG_OP_COUNT] = {
    [XG_OP_GEMM] = {{"sgemm", "dgemm", "cgemm", "zgemm"}, XG_TYPE_S, false, false},
    [XG_OP_SYRK] = {{"ssyrk", "dsyrk", "csyrk", "zsyrk"}, XG_TYPE_S, true, true},
    [XG_OP_HERK] = {{"cherk", "zherk"}, XG_TYPE_C, true, true},
    [XG_OP_SYMM] = {{"ssymm", "dsymm", "csymm", "zsymm"}, XG_TYPE_S, false, false},
    [XG_OP_HEMM] = {{"chemm", "zhemm"}, XG_TYPE_C, false, false},
    [XG_OP_SYR2K] = {{"ssyr2k", "dsyr2k", "csyr2k", "zsyr2k"}, XG_TYPE_S, false, true},
    [XG_OP_HER2K] = {{"cher2k", "zher2k"}, XG_TYPE_C, false, true},
    [XG_OP_TRMM] = {{"strmm", "dtrmm", "ctrmm", "ztrmm"}, XG_TYPE_S, false, false},
    [XG_OP_TRSM] = {{"strsm", "dtrsm", "ctrsm", "ztrsm"}, XG_TYPE_S, false, false},
    [XG_OP_GEMMT] = {{"sgemmt", "dgemmt", "cgemmt", "zgemmt"}, XG_TYPE_S, false, true},
    [XG_OP_GEMV] = {{"sgemv", "dgemv", "cgemv", "zgemv"}, XG_TYPE_S, false, false},
    [XG_OP_GEMM_BATCH] = {{"sgemm_batch", "dgemm_batch", "cgemm_batch", "zgemm_batch"},
                          XG_TYPE_S,
                          false,
                          false},
    [XG_OP_GEMM_BATCH_STRIDED] = {{"sgemm_batch_strided", "dgemm_batch_strided",
                                   "cgemm_batch_strided", "zgemm_batch_strided"},
                                  XG_TYPE_S,
                                  false,
                                  false},
};

enum xg_op xg_kind_op(int kind)
{
    int op = XG_OP_COUNT - 1;
    while (kind < xg_kind((enum xg_op)op, traits[op].first_type))
        op--;
    return (enum xg_op)op;
}

enum xg_type xg_kind_type(int kind)
{
    return (enum xg_type)(kind - xg_kind(xg_kind_op(kind), XG_TYPE_S));
}

const char *xg_kind_name(int kind)
{
    enum xg_op op = xg_kind_op(kind);
    return traits[op].names[xg_kind_type(kind) - traits[op].first_type];
}

bool xg_problem_b_is_a(const struct xg_problem *p)
{
    return traits[p->op].b_is_a;
}

/* The settled leading dimension of an instance's matrix `stored`. The next instance's matrix starts
 * `stride` elements after it (0: there is none, or it lies anywhere). */
static int64_t settled_ld(int64_t ld, bool matters, struct xg_extent stored, int64_t stride)
{
    const int64_t least = xg_max_i64(1, stored.columns);
    if (matters && stored.rows > 1)
        return ld;
    return matters && stride > least ? stride : least;
}

void xg_problem_settle(struct xg_problem *p)
{
    const struct xg_batch none = {.count = 1}, *batch = p->batch ? p->batch : &none;
    const bool several = batch->count > 1;
    const bool reads = p->m > 0 && p->n > 0 && p->k > 0 && !xg_problem_alpha_zero(p);
    const struct xg_extent c = {xg_problem_instance_rows(p), p->n};
    p->lda = settled_ld(p->lda, reads, xg_problem_stored(p, false),
                        several && !batch->a ? batch->stride_a : 0);
    p->ldb = settled_ld(p->ldb, reads, xg_problem_stored(p, true),
                        several && !batch->b ? batch->stride_b : 0);
    p->ldc = settled_ld(p->ldc, p->n > 0, c, several && !batch->c ? batch->stride_c : 0);
    if (xg_problem_is_in_place(p))
        *(p->structured == XG_OPERAND_A ? &p->ldb : &p->lda) = p->ldc;
}

static const void *operand_of(const struct xg_problem *p, const void *const *matrices,
                              const void *first, int64_t stride, int64_t index)
{
    return matrices ? matrices[index] : xg_problem_at(p, first, xg_wrapped_mul(index, stride));
}

struct xg_problem xg_problem_instance(const struct xg_problem *p, int64_t index)
{
    const struct xg_batch *batch = p->batch;
    struct xg_problem q = *p;
    if (!batch)
        return q;
    q.op = XG_OP_GEMM;
    q.m = xg_problem_instance_rows(p);
    q.a = operand_of(p, batch->a, p->a, batch->stride_a, index);
    q.b = operand_of(p, batch->b, p->b, batch->stride_b, index);
    q.c = (void *)(uintptr_t)operand_of(p, (const void *const *)batch->c, p->c, batch->stride_c,
                                        index);
    q.batch = NULL;
    return q;
}

/* True if the matrices are evenly spaced, *stride elements apart. Compares integers, because the
 * matrices need not belong to one object. */
static bool is_even(const void *const *matrices, int64_t count, int64_t elem_bytes, int64_t *stride)
{
    const uintptr_t first = (uintptr_t)matrices[0];
    const uintptr_t step = count > 1 ? (uintptr_t)matrices[1] - first : 0;
    if ((int64_t)step % elem_bytes)
        return false;
    for (int64_t i = 2; i < count; i++)
        if ((uintptr_t)matrices[i] - first != (uintptr_t)i * step)
            return false;
    *stride = (int64_t)step / elem_bytes;
    return true;
}

void xg_batch_settle(struct xg_batch *batch, int64_t elem_bytes)
{
    if (batch->a && is_even(batch->a, batch->count, elem_bytes, &batch->stride_a))
        batch->a = NULL;
    if (batch->b && is_even(batch->b, batch->count, elem_bytes, &batch->stride_b))
        batch->b = NULL;
    if (batch->c &&
        is_even((const void *const *)batch->c, batch->count, elem_bytes, &batch->stride_c))
        batch->c = NULL;
}

bool xg_problem_is_stacked(const struct xg_problem *p, struct xg_problem *gemm)
{
    const struct xg_batch *batch = p->batch;
    if (!batch || batch->a || batch->b || batch->stride_b != 0 || p->transa != XG_NO_TRANS ||
        !xg_problem_follow(p, p->lda, batch->stride_a) || !xg_problem_c_is_whole(p))
        return false;
    *gemm = xg_problem_instance(p, 0);
    gemm->m = p->m;
    return true;
}

static double operand_elems(const struct xg_problem *p, bool b)
{
    if (!b)
        return (double)p->m * (double)p->k;
    return xg_problem_b_is_a(p) ? 0 : (double)xg_problem_instances(p) * (double)p->k * (double)p->n;
}

double xg_problem_up_elems(const struct xg_problem *p)
{
    return operand_elems(p, false) + operand_elems(p, true);
}

double xg_problem_travel_elems(const struct xg_problem *p, bool b)
{
    return operand_elems(p, b) - p->held[b];
}

double xg_problem_down_elems(const struct xg_problem *p)
{
    double m = (double)p->m, n = (double)p->n;
    return traits[p->op].triangle ? n * (n + 1) / 2 : m * n;
}

double xg_problem_products(const struct xg_problem *p)
{
    double sums = xg_problem_is_rank_2k(p) ? 2 : xg_problem_is_in_place(p) ? 0.5 : 1;
    return sums * xg_problem_down_elems(p) * (double)p->k;
}

double xg_problem_flops(const struct xg_problem *p)
{
    /* A complex multiplication is four real ones and two additions. */
    return (xg_type_is_complex(p->type) ? 8 : 2) * xg_problem_products(p);
}

struct rectangle {
    int64_t row, row_end, column, column_end;
};

static void add_part(const struct xg_problem *p, struct rectangle r, bool diagonal,
                     struct xg_problem *parts, int *count)
{
    if (r.row >= r.row_end || r.column >= r.column_end)
        return;
    struct xg_problem *part = &parts[(*count)++];
    *part = *p;
    part->m = r.row_end - r.row;
    part->n = r.column_end - r.column;
    part->a = xg_problem_at(p, p->a, p->transa ? r.row : r.row * p->lda);
    part->b = xg_problem_at(p, p->b, p->transb ? r.column * p->ldb : r.column);
    part->c = (char *)p->c + (r.row * p->ldc + r.column) * (int64_t)xg_problem_elem_bytes(p);
    if (!diagonal) {
        part->op = XG_OP_GEMM;
        part->uplo = XG_FULL;
    }
}

/* Adds one GEMM, or two. */
static void add_rectangle(const struct xg_problem *p, struct rectangle r, struct xg_problem *parts,
                          int *count)
{
    int before = *count;
    add_part(p, r, false, parts, count);
    if (*count == before || !xg_problem_is_rank_2k(p))
        return;
    struct xg_problem exchanged = xg_problem_exchanged(p);
    exchanged.beta = 1;
    exchanged.beta_im = 0;
    add_part(&exchanged, r, false, parts, count);
}

/* Sets the part's operand elements [k0, k1) of the sum from the stored part of a symmetric operand,
 * at rows (or columns) [first, last) of C. */
static void cut_symmetric(const struct xg_problem *p, int64_t first, int64_t last, int64_t k0,
                          struct xg_problem *part)
{
    bool left = p->structured == XG_OPERAND_A, diagonal = k0 == first;
    bool below = left ? k0 < first : k0 >= last;
    bool stored = diagonal || below == (p->stored == XG_LOWER);
    enum xg_trans mirrored = p->op == XG_OP_HEMM ? XG_CONJ_TRANS : XG_TRANS;
    const void **matrix = left ? &part->a : &part->b;
    int64_t ld = left ? p->lda : p->ldb;
    *matrix =
        xg_problem_at(p, left ? p->a : p->b, stored == left ? first * ld + k0 : k0 * ld + first);
    if (diagonal)
        return;
    *(left ? &part->transa : &part->transb) = stored ? XG_NO_TRANS : mirrored;
    part->op = XG_OP_GEMM;
    part->structured = XG_NO_OPERAND;
    part->stored = XG_FULL;
}

static void add_symmetric(const struct xg_problem *p, struct rectangle r, struct xg_problem *parts,
                          int *count)
{
    bool left = p->structured == XG_OPERAND_A;
    const int64_t first = left ? r.row : r.column, last = left ? r.row_end : r.column_end;
    const int64_t ends[] = {0, first, last, p->k};
    for (int i = 0; i < 3; i++) {
        int before = *count;
        if (ends[i] >= ends[i + 1])
            continue;
        add_part(p, r, true, parts, count);
        if (*count == before)
            return;
        struct xg_problem *part = &parts[before];
        part->k = ends[i + 1] - ends[i];
        if (left)
            part->b = xg_problem_at(p, p->b, ends[i] * p->ldb + r.column);
        else
            part->a = xg_problem_at(p, p->a, r.row * p->lda + ends[i]);
        if (before > 0) {
            part->beta = 1;
            part->beta_im = 0;
        }
        cut_symmetric(p, first, last, ends[i], part);
    }
}

/* Adds rows of C that depend on no others. */
static void add_triangular(const struct xg_problem *p, struct rectangle r, struct xg_problem *parts,
                           int *count)
{
    add_part(p, r, true, parts, count);
    if (*count == 0)
        return;
    struct xg_problem *part = &parts[*count - 1];
    if (p->structured == XG_OPERAND_A) {
        part->a = xg_problem_at(p, p->a, r.row * (p->lda + 1));
        part->k = part->m;
        part->b = part->c;
    } else {
        part->b = p->b;
        part->a = part->c;
    }
}

int xg_problem_parts(const struct xg_problem *p, int64_t row, int64_t rows, int64_t column,
                     int64_t columns, struct xg_problem parts[XG_PROBLEM_PARTS])
{
    const int64_t row_end = row + rows, column_end = column + columns;
    /* The square on the diagonal; if there is none, first is greater than last. */
    int64_t first = xg_max_i64(row, column), last = xg_min_i64(row_end, column_end);
    int count = 0;
    if (xg_problem_is_in_place(p)) {
        add_triangular(p, (struct rectangle){row, row_end, column, column_end}, parts, &count);
    } else if (p->structured != XG_NO_OPERAND) {
        add_symmetric(p, (struct rectangle){row, row_end, column, column_end}, parts, &count);
    } else if (p->uplo == XG_FULL) {
        add_rectangle(p, (struct rectangle){row, row_end, column, column_end}, parts, &count);
    } else if (p->uplo == XG_LOWER) {
        int64_t below = xg_max_i64(row, column_end);
        if (first < last) {
            add_rectangle(p, (struct rectangle){first, last, column, first}, parts, &count);
            add_part(p, (struct rectangle){first, last, first, last}, true, parts, &count);
        }
        add_rectangle(p, (struct rectangle){below, row_end, column, column_end}, parts, &count);
    } else {
        int64_t above = xg_min_i64(row_end, column);
        add_rectangle(p, (struct rectangle){row, above, column, column_end}, parts, &count);
        if (first < last) {
            add_part(p, (struct rectangle){first, last, first, last}, true, parts, &count);
            add_rectangle(p, (struct rectangle){first, last, last, column_end}, parts, &count);
        }
    }
    return count;
}
