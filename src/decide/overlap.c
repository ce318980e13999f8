/* SPDX-License-Identifier: MIT */
/* Rows of two matrices, compared as ranges of addresses. */
#include "decide/overlap.h"

/* `rows` ranges of `width` bytes, `pitch` apart; a single one has a pitch, too. */
struct matrix {
    int64_t begin, rows, width, pitch;
};

static struct matrix matrix_of(const void *data, int64_t rows, int64_t columns, int64_t ld,
                               int64_t bytes)
{
    return (struct matrix){(int64_t)(uintptr_t)data, rows, columns * bytes, ld * bytes};
}

static int64_t end_of(const struct matrix *x)
{
    return x->begin + (x->rows - 1) * x->pitch + x->width;
}

/* Whether a row of x holds a byte of [begin, end): the row that begins before it, or the next. */
static bool meets_range(const struct matrix *x, int64_t begin, int64_t end)
{
    int64_t row = begin < x->begin ? -1 : (begin - x->begin) / x->pitch;
    bool before = row >= 0 && row < x->rows && begin < x->begin + row * x->pitch + x->width;
    return before || (row + 1 < x->rows && end > x->begin + (row + 1) * x->pitch);
}

static bool meets(const struct matrix *x, const struct matrix *y)
{
    if (end_of(x) <= y->begin || end_of(y) <= x->begin)
        return false;
    const struct matrix *fewer = x->rows < y->rows ? x : y, *other = fewer == x ? y : x;
    for (int64_t row = 0; row < fewer->rows; row++) {
        int64_t begin = fewer->begin + row * fewer->pitch;
        if (meets_range(other, begin, begin + fewer->width))
            return true;
    }
    return false;
}

bool xg_overlap_find(const struct xg_problem *call)
{
    bool ta = call->transa, tb = call->transb;
    const int64_t bytes = (int64_t)xg_problem_elem_bytes(call);
    const struct matrix c = matrix_of(call->c, call->m, call->n, call->ldc, bytes);
    const struct matrix a =
        matrix_of(call->a, ta ? call->k : call->m, ta ? call->m : call->k, call->lda, bytes);
    const struct matrix b =
        matrix_of(call->b, tb ? call->n : call->k, tb ? call->k : call->n, call->ldb, bytes);
    bool a_is_c = xg_problem_is_in_place(call) && call->structured == XG_OPERAND_B;
    bool b_is_c = xg_problem_is_in_place(call) && call->structured == XG_OPERAND_A;
    return (!a_is_c && meets(&a, &c)) || (!b_is_c && meets(&b, &c));
}
