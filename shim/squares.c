/* SPDX-License-Identifier: MIT */
#include "squares.h"

#include <float.h>
#include <math.h>

#include "routine_reading.h"
#include "src/host/call_memory.h"
#include "src/verify/cpu.h"

/* --- Arguments ------------------------------------------------------------------------------- */

static void system_of(struct reading *r, const void *m, const void *n, const void *nrhs, void *a,
                      const void *lda, void *b, const void *ldb)
{
    rectangle(r, m, n, a, lda);
    right_sides(r, nrhs, b, ldb);
    r->legal = r->legal && r->routine->m >= r->routine->n;
}

/* The caller's library solves the other systems of GELS, A X = B with fewer rows than columns and
 * Aᴴ X = B, whose shortest solution is wanted. */
void shim_squares_read_gels(struct reading *r)
{
    const struct shim_gels *c = &r->call->gels;
    letter(r, c->trans, "N");
    system_of(r, c->m, c->n, c->nrhs, c->a, c->lda, c->b, c->ldb);
    workspace(r, c->lwork, r->routine->n + xg_max_i64(r->routine->n, r->routine->k));
}

static void squares(struct reading *r)
{
    const struct shim_gelsd *c = &r->call->gelsd;
    system_of(r, c->m, c->n, c->nrhs, c->a, c->lda, c->b, c->ldb);
    r->routine->uplo = XG_UPPER;
    vector(r, XG_SLOT_W, c->s, r->routine->n);
}

/* The rows that count for the workspace: LAPACK first factorizes a tall matrix, and then needs the
 * workspace of R. */
static int64_t rows_left(const struct reading *r)
{
    const int64_t m = r->routine->m, n = r->routine->n;
    return 5 * m < 8 * (n + 1) ? m : n;
}

/* Requires the workspaces that LAPACK demands for A; for R it demands no more. */
void shim_squares_read_gelsd(struct reading *r)
{
    static const int64_t LEAF = 25; /* the largest problem that LAPACK does not divide */
    squares(r);
    const int64_t n = r->routine->n;
    if (xg_type_is_complex(r->routine->type)) {
        workspace(r, r->call->gelsd.lwork, 2 * n + xg_max_i64(rows_left(r), n * r->routine->k));
        return;
    }
    int64_t levels = 2 * n > LEAF + 1;
    while ((LEAF + 1) << levels <= n)
        levels++;
    workspace(r, r->call->gelsd.lwork,
              12 * n + 2 * n * LEAF + 8 * n * levels + n * r->routine->k + (LEAF + 1) * (LEAF + 1));
}

void shim_squares_read_gelss(struct reading *r)
{
    squares(r);
    const int64_t m = r->routine->m, n = r->routine->n, k = r->routine->k;
    workspace(r, r->call->gelss.lwork,
              xg_type_is_complex(r->routine->type)
                  ? 2 * n + xg_max_i64(m, k)
                  : xg_max_i64(5 * n, 3 * n + xg_max_i64(rows_left(r), k)));
}

/* --- A call ---------------------------------------------------------------------------------- */

/* Places the next matrix in the memory; room lies behind all of them. */
static struct xg_matrix place(struct shim_squares *squares, int64_t rows, int64_t columns,
                              size_t elem_bytes)
{
    const struct xg_matrix matrix = {squares->room, rows, columns, rows};
    squares->room = (char *)squares->room + (size_t)(rows * columns) * elem_bytes;
    return matrix;
}

bool shim_squares_open(struct shim_squares *squares, struct xg_routine *routine, const void *frame)
{
    const int64_t m = routine->m, n = routine->n, k = routine->k;
    const size_t elem_bytes = xg_type_bytes(routine->type);
    *squares = (struct shim_squares){0};
    if (routine->name != XG_ROUTINE_GELSD && routine->name != XG_ROUTINE_GELSS)
        return true;
    squares->memory = squares->room =
        xg_call_memory_alloc((size_t)(3 * n * n + m * k + n * k + n) * elem_bytes, frame);
    if (!squares->memory)
        return false;
    squares->triangle = place(squares, n, n, elem_bytes);
    squares->right = place(squares, m, k, elem_bytes);
    squares->decomposition =
        (struct xg_routine){.name = XG_ROUTINE_GESDD,
                            .type = routine->type,
                            .vectors = XG_VECTORS_THIN,
                            .polar = true,
                            .m = n,
                            .n = n,
                            .operand = {[XG_SLOT_A] = squares->triangle,
                                        [XG_SLOT_U] = place(squares, n, n, elem_bytes),
                                        [XG_SLOT_V] = place(squares, n, n, elem_bytes),
                                        [XG_SLOT_W] = place(squares, n, 1, elem_bytes)}};
    routine->operand[XG_SLOT_U] = squares->triangle;
    routine->operand[XG_SLOT_V] = squares->right;
    return true;
}

void shim_squares_close(struct shim_squares *squares)
{
    xg_call_memory_free(squares->memory);
    squares->memory = NULL;
}

struct shim_routine_call shim_squares_rest(const struct shim_squares *squares,
                                           const struct shim_routine_call *call, int64_t *info)
{
    struct shim_routine_call rest = *call;
    rest.gelsd.m = rest.gelsd.lda = call->gelsd.n;
    rest.gelsd.a = squares->triangle.at;
    rest.gelsd.b = squares->right.at;
    rest.gelsd.ldb = call->gelsd.m;
    shim_routine_set_info(&rest, info);
    return rest;
}

/* --- With R's singular values ---------------------------------------------------------------- */

static double real_at(enum xg_type type, const void *at, int64_t index)
{
    return xg_type_is_double(type) ? ((const double *)at)[index] : ((const float *)at)[index];
}

/* LAPACK's bound (dlalsd.f, dgelss.f): smaller singular values count as 0. eps: the largest
 * relative rounding error. */
static double negligible(const struct xg_routine *routine, double rcond, double largest, double eps)
{
    const double least = xg_type_is_double(routine->type) ? DBL_MIN : FLT_MIN;
    if (routine->name == XG_ROUTINE_GELSD)
        return largest * (rcond > 0 && rcond < 1 ? rcond : eps);
    return fmax(least, largest * (rcond < 0 ? 2 * eps : rcond));
}

/* The number of singular values above the bound. -1: a value is so near to the bound that an error
 * of m eps times the largest value could change the number. Errors of R, from the CPU or the GPU,
 * are smaller. */
static int64_t rank_of(const struct xg_routine *routine, const void *values, double rcond)
{
    const double eps = (xg_type_is_double(routine->type) ? DBL_EPSILON : FLT_EPSILON) / 2;
    const double largest = real_at(routine->type, values, 0);
    const double bound = negligible(routine, rcond, largest, eps);
    int64_t rank = 0;
    for (int64_t i = 0; i < routine->n; i++) {
        const double value = real_at(routine->type, values, i);
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
            const double value = real_at(routine->type, values, i / parts);
            const int64_t at = j * routine->n * parts + i;
            if (xg_type_is_double(routine->type))
                ((double *)right)[at] /= value;
            else
                ((float *)right)[at] /= (float)value;
        }
}

/* The problem's row-major matrices are the transposes of these column-major ones. */
bool shim_squares_solve(struct shim_squares *squares, const struct shim_routine_call *call,
                        int int_bytes, const struct xg_routine *routine)
{
    const struct xg_matrix *operand = squares->decomposition.operand;
    const int64_t n = routine->n;
    const int64_t rank =
        rank_of(routine, operand[XG_SLOT_W].at, real_at(routine->type, call->gelsd.rcond, 0));
    if (rank < 0)
        return false;
    struct xg_problem product = {.op = XG_OP_GEMM,
                                 .type = routine->type,
                                 .m = routine->k,
                                 .n = rank,
                                 .k = n,
                                 .transb = XG_CONJ_TRANS,
                                 .alpha = 1,
                                 .a = squares->right.at,
                                 .lda = squares->right.ld,
                                 .b = operand[XG_SLOT_U].at,
                                 .ldb = n,
                                 .c = squares->room,
                                 .ldc = n};
    xg_cpu_compute(&product);
    divide(routine, squares->room, operand[XG_SLOT_W].at, rank);
    product.n = n;
    product.k = rank;
    product.a = squares->room;
    product.lda = n;
    product.b = operand[XG_SLOT_V].at;
    product.c = squares->right.at;
    product.ldc = squares->right.ld;
    xg_cpu_compute(&product);
    squares->triangle = operand[XG_SLOT_V];
    memcpy(routine->operand[XG_SLOT_W].at, operand[XG_SLOT_W].at,
           (size_t)n * xg_type_bytes(xg_type_real(routine->type)));
    shim_terms_put_int(call->gelsd.rank, int_bytes, 0, rank);
    return true;
}

/* --- The caller's operands ------------------------------------------------------------------- */

static void copy(const struct xg_matrix *to, const struct xg_matrix *from, int64_t rows,
                 size_t elem_bytes)
{
    for (int64_t j = 0; j < from->columns; j++)
        memcpy((char *)to->at + (size_t)(j * to->ld) * elem_bytes,
               (const char *)from->at + (size_t)(j * from->ld) * elem_bytes,
               (size_t)rows * elem_bytes);
}

/* GELSS leaves the right singular vectors of A, which are those of R, in A. */
void shim_squares_give(struct shim_squares *squares, const struct xg_routine *routine)
{
    const size_t elem_bytes = xg_type_bytes(routine->type);
    copy(&routine->operand[XG_SLOT_B], &squares->right, routine->m, elem_bytes);
    if (routine->name == XG_ROUTINE_GELSS)
        copy(&routine->operand[XG_SLOT_A], &squares->triangle, routine->n, elem_bytes);
    shim_squares_close(squares);
}
