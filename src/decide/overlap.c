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

static struct matrix c_of(const struct xg_problem *p)
{
    return matrix_of(p->c, p->m, p->n, p->ldc, (int64_t)xg_problem_elem_bytes(p));
}

static struct matrix a_of(const struct xg_problem *p)
{
    return matrix_of(p->a, p->transa ? p->k : p->m, p->transa ? p->m : p->k, p->lda,
                     (int64_t)xg_problem_elem_bytes(p));
}

static struct matrix b_of(const struct xg_problem *p)
{
    return matrix_of(p->b, p->transb ? p->n : p->k, p->transb ? p->k : p->n, p->ldb,
                     (int64_t)xg_problem_elem_bytes(p));
}

/* --- Batches ---------------------------------------------------------------------------------- */

/* The range of addresses that all C are in; false where one does not begin behind the one before.
 */
static bool find_c_range(const struct xg_problem *call, int64_t *begin, int64_t *end)
{
    for (int64_t i = 0; i < call->batch->count; i++) {
        const struct xg_problem instance = xg_problem_instance(call, i);
        const struct matrix c = c_of(&instance);
        if (i == 0)
            *begin = c.begin;
        else if (c.begin < *end)
            return false;
        *end = end_of(&c);
    }
    return true;
}

/* The first instance whose C ends behind the address; their C lie in order. */
static int64_t first_behind(const struct xg_problem *call, int64_t address)
{
    int64_t low = 0, high = call->batch->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const struct xg_problem instance = xg_problem_instance(call, middle);
        const struct matrix c = c_of(&instance);
        if (end_of(&c) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether x meets any C. Of those in whose range it reaches only so many are looked at. */
static bool meets_any_c(const struct xg_problem *call, const struct matrix *x)
{
    enum { LOOKED_AT = 64 };
    const int64_t first = first_behind(call, x->begin);
    for (int64_t i = first; i < call->batch->count; i++) {
        const struct xg_problem instance = xg_problem_instance(call, i);
        const struct matrix c = c_of(&instance);
        if (c.begin >= end_of(x))
            return false;
        if (i - first >= LOOKED_AT || meets(x, &c))
            return true;
    }
    return false;
}

/* C must lie in order, apart from each other, which nearly all do; the others are said to overlap.
 */
static bool find_in_batch(const struct xg_problem *call)
{
    int64_t begin = 0, end = 0;
    if (!find_c_range(call, &begin, &end))
        return true;
    for (int64_t i = 0; i < call->batch->count; i++) {
        const struct xg_problem instance = xg_problem_instance(call, i);
        const struct matrix operands[] = {a_of(&instance), b_of(&instance)};
        for (int o = 0; o < 2; o++)
            if (operands[o].begin < end && end_of(&operands[o]) > begin &&
                meets_any_c(call, &operands[o]))
                return true;
    }
    return false;
}

bool xg_overlap_find(const struct xg_problem *call)
{
    if (call->batch)
        return find_in_batch(call);
    const struct matrix a = a_of(call), b = b_of(call), c = c_of(call);
    bool a_is_c = xg_problem_is_in_place(call) && call->structured == XG_OPERAND_B;
    bool b_is_c = xg_problem_is_in_place(call) && call->structured == XG_OPERAND_A;
    return (!a_is_c && meets(&a, &c)) || (!b_is_c && meets(&b, &c));
}
