/* SPDX-License-Identifier: MIT */
#include "pipeline/least_squares.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "host/call_memory.h"
#include "reference/cpu.h"

static bool is_gelss(const struct xg_routine *routine)
{
    return xg_routine_rows[routine->name].finish == XG_FINISH_RANK_S;
}

/* --- Memory ---------------------------------------------------------------------------------- */

/* R, Qᴴ B, R's left and right vectors, its values, and the quotient S⁻¹ Uᴴ Qᴴ B. */
bool xg_least_squares_open(struct xg_routine *routine, const void *frame)
{
    const int64_t m = routine->m, n = routine->n, k = routine->k;
    const size_t elem_bytes = xg_type_bytes(routine->type);
    if (!routine->rank)
        return true;
    char *memory =
        xg_call_memory_alloc((size_t)(3 * n * n + m * k + n * k + n) * elem_bytes, frame);
    if (!memory)
        return false;
    routine->operand[XG_SLOT_U] = (struct xg_matrix){memory, n, n, n};
    routine->operand[XG_SLOT_V] =
        (struct xg_matrix){memory + (size_t)(n * n) * elem_bytes, m, k, m};
    return true;
}

void xg_least_squares_close(struct xg_routine *routine)
{
    if (!routine->rank)
        return;
    xg_call_memory_free(routine->operand[XG_SLOT_U].at);
    routine->operand[XG_SLOT_U].at = routine->operand[XG_SLOT_V].at = NULL;
}

struct xg_routine xg_least_squares_decomposition(const struct xg_routine *routine)
{
    const int64_t n = routine->n;
    const size_t elem_bytes = xg_type_bytes(routine->type);
    char *left =
        (char *)routine->operand[XG_SLOT_V].at + (size_t)(routine->m * routine->k) * elem_bytes;
    char *right = left + (size_t)(n * n) * elem_bytes;
    return (struct xg_routine){
        .name = XG_ROUTINE_GESDD,
        .type = routine->type,
        .vectors = XG_VECTORS_THIN,
        .polar = true,
        .m = n,
        .n = n,
        .operand = {[XG_SLOT_A] = routine->operand[XG_SLOT_U],
                    [XG_SLOT_U] = {left, n, n, n},
                    [XG_SLOT_V] = {right, n, n, n},
                    [XG_SLOT_W] = {right + (size_t)(n * n) * elem_bytes, n, 1, n}}};
}

/* --- The solution ---------------------------------------------------------------------------- */

/* LAPACK's bound (dlalsd.f, dgelss.f): smaller singular values count as 0. eps: the largest
 * relative rounding error. */
static double negligible(const struct xg_routine *routine, double largest, double eps)
{
    const double least = xg_type_is_double(routine->type) ? DBL_MIN : FLT_MIN;
    const double rcond = routine->rcond;
    if (!is_gelss(routine))
        return largest * (rcond > 0 && rcond < 1 ? rcond : eps);
    return fmax(least, largest * (rcond < 0 ? 2 * eps : rcond));
}

/* The number of singular values above the bound. -1: a value is so near to the bound that an error
 * of m eps times the largest value could change the number. Errors of R, from the CPU or the GPU,
 * are smaller. */
static int64_t rank_of(const struct xg_routine *routine, const void *values)
{
    const double eps = (xg_type_is_double(routine->type) ? DBL_EPSILON : FLT_EPSILON) / 2;
    const double largest = xg_type_real_at(routine->type, values, 0);
    const double bound = negligible(routine, largest, eps);
    int64_t rank = 0;
    for (int64_t i = 0; i < routine->n; i++) {
        const double value = xg_type_real_at(routine->type, values, i);
        if (!(fabs(value - bound) > (double)routine->m * eps * largest))
            return -1;
        rank += value > bound;
    }
    return rank;
}

/* Divides the rows of the right-hand sides, columns of n elements, by the singular values. */
static void divide(const struct xg_routine *routine, void *right, const void *values, int64_t rank)
{
    const int64_t parts = xg_type_parts(routine->type);
    for (int64_t j = 0; j < routine->k; j++)
        for (int64_t i = 0; i < rank * parts; i++) {
            const double value = xg_type_real_at(routine->type, values, i / parts);
            const int64_t at = j * routine->n * parts + i;
            if (xg_type_is_double(routine->type))
                ((double *)right)[at] /= value;
            else
                ((float *)right)[at] /= (float)value;
        }
}

static void copy(const struct xg_matrix *to, const struct xg_matrix *from, size_t elem_bytes)
{
    for (int64_t j = 0; j < from->columns; j++)
        memcpy((char *)to->at + (size_t)(j * to->ld) * elem_bytes,
               (const char *)from->at + (size_t)(j * from->ld) * elem_bytes,
               (size_t)from->rows * elem_bytes);
}

void xg_least_squares_give(const struct xg_routine *routine, const struct xg_matrix *vectors)
{
    const size_t elem_bytes = xg_type_bytes(routine->type);
    copy(&routine->operand[XG_SLOT_B], &routine->operand[XG_SLOT_V], elem_bytes);
    if (is_gelss(routine))
        copy(&routine->operand[XG_SLOT_A], vectors, elem_bytes);
}

/* C = Bᴴ A, with n columns of B and its first `terms` rows. The problem's row-major matrices are
 * the transposes of these column-major ones. */
static void multiply(const struct xg_routine *routine, int64_t n, int64_t terms,
                     const struct xg_matrix *a, const struct xg_matrix *b, struct xg_matrix *c)
{
    xg_cpu_compute(&(struct xg_problem){.op = XG_OP_GEMM,
                                        .type = routine->type,
                                        .m = routine->k,
                                        .n = n,
                                        .k = terms,
                                        .transb = XG_CONJ_TRANS,
                                        .alpha = 1,
                                        .a = a->at,
                                        .lda = a->ld,
                                        .b = b->at,
                                        .ldb = b->ld,
                                        .c = c->at,
                                        .ldc = c->ld});
}

/* False: rounding errors could change the rank; nothing has changed. */
static bool solve(const struct xg_routine *routine)
{
    const struct xg_routine decomposition = xg_least_squares_decomposition(routine);
    const struct xg_matrix *usv = decomposition.operand;
    struct xg_matrix rotated = routine->operand[XG_SLOT_V];
    void *values = usv[XG_SLOT_W].at;
    const int64_t n = routine->n, rank = rank_of(routine, values);
    struct xg_matrix quotient = {(char *)values + (size_t)n * xg_type_bytes(routine->type), n,
                                 routine->k, n};
    if (rank < 0)
        return false;
    multiply(routine, rank, n, &rotated, &usv[XG_SLOT_U], &quotient);
    divide(routine, quotient.at, values, rank);
    multiply(routine, n, rank, &quotient, &usv[XG_SLOT_V], &rotated);
    xg_least_squares_give(routine, &usv[XG_SLOT_V]);
    memcpy(routine->operand[XG_SLOT_W].at, values,
           (size_t)n * xg_type_bytes(xg_type_real(routine->type)));
    if (routine->pivot_bytes == 8)
        *(int64_t *)routine->rank = rank;
    else
        *(int32_t *)routine->rank = (int32_t)rank;
    return true;
}

void xg_least_squares_finish(const struct xg_routine *routine, struct xg_result *result)
{
    if (result->decomposed && solve(routine))
        result->factored = false;
}
