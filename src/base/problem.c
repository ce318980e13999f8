/* SPDX-License-Identifier: MIT */
/* The operations' traits, and what follows from them. */
#include "base/problem.h"

#include "base/integers.h"

static const struct {
    const char *names[XG_TYPE_COUNT];
    bool b_is_a;   /* one operand travels for both */
    bool triangle; /* C has one triangle: half of the arithmetic, half of the way down */
} traits[XG_OP_COUNT] = {
    [XG_OP_GEMM] = {{"sgemm", "dgemm", "cgemm", "zgemm"}, false, false},
    [XG_OP_SYRK] = {{"ssyrk", "dsyrk", "csyrk", "zsyrk"}, true, true},
};

const char *xg_kind_name(int kind)
{
    return traits[kind / XG_TYPE_COUNT].names[kind % XG_TYPE_COUNT];
}

bool xg_problem_b_is_a(const struct xg_problem *p)
{
    return traits[p->op].b_is_a;
}

double xg_problem_up_elems(const struct xg_problem *p)
{
    double a = (double)p->m * (double)p->k, b = (double)p->k * (double)p->n;
    return xg_problem_b_is_a(p) ? a : a + b;
}

double xg_problem_down_elems(const struct xg_problem *p)
{
    double m = (double)p->m, n = (double)p->n;
    return traits[p->op].triangle ? n * (n + 1) / 2 : m * n;
}

double xg_problem_flops(const struct xg_problem *p)
{
    /* A multiplication of complex numbers is four of real ones and two additions. */
    double pair = xg_type_is_complex(p->type) ? 8 : 2;
    return pair * xg_problem_down_elems(p) * (double)p->k;
}

/* Rows and columns of C. */
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

int xg_problem_parts(const struct xg_problem *p, int64_t row, int64_t rows, int64_t column,
                     int64_t columns, struct xg_problem parts[XG_PROBLEM_PARTS])
{
    const int64_t row_end = row + rows, column_end = column + columns;
    /* The square on the diagonal; where there is none, first lies behind last. */
    int64_t first = xg_max_i64(row, column), last = xg_min_i64(row_end, column_end);
    int count = 0;
    if (p->uplo == XG_FULL) {
        add_part(p, (struct rectangle){row, row_end, column, column_end}, false, parts, &count);
    } else if (p->uplo == XG_LOWER) {
        int64_t below = xg_max_i64(row, column_end);
        if (first < last) {
            add_part(p, (struct rectangle){first, last, column, first}, false, parts, &count);
            add_part(p, (struct rectangle){first, last, first, last}, true, parts, &count);
        }
        add_part(p, (struct rectangle){below, row_end, column, column_end}, false, parts, &count);
    } else {
        int64_t above = xg_min_i64(row_end, column);
        add_part(p, (struct rectangle){row, above, column, column_end}, false, parts, &count);
        if (first < last) {
            add_part(p, (struct rectangle){first, last, first, last}, true, parts, &count);
            add_part(p, (struct rectangle){first, last, last, column_end}, false, parts, &count);
        }
    }
    return count;
}
