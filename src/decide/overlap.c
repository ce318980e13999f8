/* SPDX-License-Identifier: MIT */
/* Compares the rows of two matrices as ranges of addresses. */
#include "decide/overlap.h"

#include <stdlib.h>

/*
 * `rows` ranges of `width` bytes, `pitch` apart, `span` bytes in all. The pitch of a single row is
 * its width, whatever the leading dimension is. span < 0: the matrix is larger than any memory.
 */
struct matrix {
    int64_t begin, rows, width, pitch, span;
};

/* No address and no span is larger. The sum of two such numbers does not overflow. */
static const int64_t MEMORY_MOST = INT64_MAX / 4;

static struct matrix matrix_of(const struct xg_problem *p, const void *data,
                               struct xg_extent extent, int64_t ld)
{
    const int64_t bytes = (int64_t)xg_problem_elem_bytes(p);
    struct matrix x = {.begin = (int64_t)(uintptr_t)data, .rows = extent.rows, .span = -1};
    int64_t span;
    if (__builtin_mul_overflow(extent.columns, bytes, &x.width))
        return x;
    x.pitch = x.width;
    if (x.rows > 1 && __builtin_mul_overflow(ld, bytes, &x.pitch))
        return x;
    if (!__builtin_mul_overflow(x.rows - 1, x.pitch, &span) &&
        !__builtin_add_overflow(span, x.width, &span) && span <= MEMORY_MOST)
        x.span = span;
    return x;
}

/*
 * Whether no memory holds the matrix. The addresses of its rows then wrap around, and rows that
 * seem to lie apart may be one and the same.
 */
static bool is_nowhere(const struct matrix *x)
{
    return x->span < 0 || x->begin < 0 || x->begin > MEMORY_MOST;
}

static int64_t end_of(const struct matrix *x)
{
    return x->begin + x->span;
}

/* Whether a row of x holds a byte of [begin, end): the row that begins before it, or the next. */
static bool meets_range(const struct matrix *x, int64_t begin, int64_t end)
{
    int64_t row = begin < x->begin ? -1 : (begin - x->begin) / x->pitch;
    bool before = row >= 0 && row < x->rows && begin < x->begin + row * x->pitch + x->width;
    return before || (row + 1 < x->rows && end > x->begin + (row + 1) * x->pitch);
}

/* Whether both have the same pitch and columns that never meet: blocks of one matrix. */
static bool lie_beside(const struct matrix *x, const struct matrix *y)
{
    if (x->pitch != y->pitch)
        return false;
    int64_t shift = (y->begin - x->begin) % x->pitch;
    shift += shift < 0 ? x->pitch : 0;
    return shift >= x->width && shift + y->width <= x->pitch;
}

static bool meets(const struct matrix *x, const struct matrix *y)
{
    if (end_of(x) <= y->begin || end_of(y) <= x->begin || lie_beside(x, y))
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
    return matrix_of(p, p->c, (struct xg_extent){p->m, p->n}, p->ldc);
}

static struct matrix a_of(const struct xg_problem *p)
{
    return matrix_of(p, p->a, xg_problem_stored(p, false), p->lda);
}

static struct matrix b_of(const struct xg_problem *p)
{
    return matrix_of(p, p->b, xg_problem_stored(p, true), p->ldb);
}

/* --- Batches ---------------------------------------------------------------------------------- */

/*
 * The C of all instances, in the order of their addresses, which are their only difference. Ranges
 * of addresses may be interleaved, and such pairs are compared. If there are more than `looks`
 * comparisons, an overlap is assumed, because the program pays for the time.
 */
struct results {
    struct matrix c;
    int64_t *begin;
    int64_t count, at; /* at: where the last search ended; operands are usually in order too */
    int64_t looks;
};

static const int64_t LOOKS_EACH = 64, LOOKS_MOST = 1 << 20;

static int by_address(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool init_results(const struct xg_problem *call, struct results *results)
{
    const int64_t count = call->batch->count;
    bool in_order = true;
    const struct xg_problem first = xg_problem_instance(call, 0);
    *results = (struct results){.c = c_of(&first),
                                .begin = malloc((size_t)count * sizeof *results->begin),
                                .count = count,
                                .looks = xg_min_i64(LOOKS_EACH * count, LOOKS_MOST)};
    for (int64_t i = 0; results->begin && i < count; i++) {
        results->begin[i] = (int64_t)(uintptr_t)xg_problem_instance(call, i).c;
        in_order &= i == 0 || results->begin[i] >= results->begin[i - 1];
    }
    if (results->begin && !in_order)
        qsort(results->begin, (size_t)count, sizeof *results->begin, by_address);
    return results->begin != NULL;
}

/* The first instance whose C ends after the address. */
static int64_t first_behind(struct results *results, int64_t address)
{
    const int64_t from = address - results->c.span;
    int64_t low = 0, high = results->count, hint = results->at;
    for (int64_t step = 1; hint < high; step *= 2) { /* usually one or two steps */
        if (results->begin[hint] > from) {
            high = hint;
            break;
        }
        low = hint + 1;
        hint += step;
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (results->begin[middle] > from)
            high = middle;
        else
            low = middle + 1;
    }
    results->at = low;
    return low;
}

/* Whether x meets any C from the one at `first` on. */
static bool meets_any(struct results *results, const struct matrix *x, int64_t first)
{
    for (int64_t i = first; i < results->count && results->begin[i] < end_of(x); i++) {
        struct matrix c = results->c;
        c.begin = results->begin[i];
        if (results->looks-- <= 0 || meets(x, &c))
            return true;
    }
    return false;
}

static bool find_in_results(const struct xg_problem *call, struct results *results)
{
    struct matrix first = results->c, last = results->c;
    first.begin = results->begin[0];
    last.begin = results->begin[results->count - 1];
    if (is_nowhere(&first) || is_nowhere(&last))
        return true;
    for (int64_t i = 0; i < results->count; i++) {
        struct matrix c = results->c;
        c.begin = results->begin[i];
        if (meets_any(results, &c, i + 1))
            return true;
    }
    for (int64_t i = 0; i < results->count; i++) {
        const struct xg_problem instance = xg_problem_instance(call, i);
        const struct matrix operands[] = {a_of(&instance), b_of(&instance)};
        for (int o = 0; o < 2; o++)
            if (is_nowhere(&operands[o]) ||
                (operands[o].begin < end_of(&last) && end_of(&operands[o]) > first.begin &&
                 meets_any(results, &operands[o], first_behind(results, operands[o].begin))))
                return true;
    }
    return false;
}

static bool find_in_batch(const struct xg_problem *call)
{
    struct results results;
    bool found = !init_results(call, &results) || find_in_results(call, &results);
    free(results.begin);
    return found;
}

bool xg_overlap_find(const struct xg_problem *call)
{
    if (call->batch)
        return find_in_batch(call);
    const struct matrix a = a_of(call), b = b_of(call), c = c_of(call);
    if (is_nowhere(&a) || is_nowhere(&b) || is_nowhere(&c))
        return true;
    bool a_is_c = xg_problem_is_in_place(call) && call->structured == XG_OPERAND_B;
    bool b_is_c = xg_problem_is_in_place(call) && call->structured == XG_OPERAND_A;
    return (!a_is_c && meets(&a, &c)) || (!b_is_c && meets(&b, &c));
}
