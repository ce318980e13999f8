/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "squares.h"

#include <errno.h>
#include <sys/mman.h>

#include "routine_reading.h"

/* --- Arguments ------------------------------------------------------------------------------- */

static void system_of(struct reading *r, const void *m, const void *n, const void *nrhs, void *a,
                      const void *lda, void *b, const void *ldb)
{
    r->routine->m = extent(r, m);
    r->routine->n = extent(r, n);
    r->routine->k = extent(r, nrhs);
    r->legal = r->legal && r->routine->m >= r->routine->n;
    matrix(r, XG_SLOT_A, a, r->routine->m, r->routine->n, lda);
    matrix(r, XG_SLOT_B, b, r->routine->m, r->routine->k, ldb);
}

/* Of the others of GELS's systems, A X = B with fewer rows than columns and Aᴴ X = B, the caller's
 * library finds the shortest solution. */
void shim_squares_read_gels(struct reading *r)
{
    const struct shim_gels *c = &r->call->gels;
    letter(r, c->trans, "N");
    system_of(r, c->m, c->n, c->nrhs, c->a, c->lda, c->b, c->ldb);
    workspace(r, c->lwork, r->routine->n + xg_max_i64(r->routine->n, r->routine->k));
}

/* A matrix that is nearly square is mostly the CPU's work. */
static void squares(struct reading *r)
{
    const struct shim_gelsd *c = &r->call->gelsd;
    system_of(r, c->m, c->n, c->nrhs, c->a, c->lda, c->b, c->ldb);
    r->legal = r->legal && 2 * r->routine->m >= 3 * r->routine->n;
    r->routine->uplo = XG_UPPER;
    vector(r, XG_SLOT_W, c->s, r->routine->n);
}

/* LAPACK factorizes a matrix of so many rows first, and its workspace is that of R. */
static int64_t rows_left(const struct reading *r)
{
    const int64_t m = r->routine->m, n = r->routine->n;
    return 5 * m < 8 * (n + 1) ? m : n;
}

/* The least workspaces are what LAPACK demands for A; for R it demands no more. */
void shim_squares_read_gelsd(struct reading *r)
{
    static const int64_t LEAF = 25; /* the largest problem that LAPACK does not divide */
    squares(r);
    const int64_t n = r->routine->n;
    int64_t levels = 2 * n > LEAF + 1;
    while ((LEAF + 1) << levels <= n)
        levels++;
    workspace(r, r->call->gelsd.lwork,
              12 * n + 2 * n * LEAF + 8 * n * levels + n * r->routine->k + (LEAF + 1) * (LEAF + 1));
}

void shim_squares_read_complex_gelsd(struct reading *r)
{
    squares(r);
    const int64_t n = r->routine->n;
    workspace(r, r->call->complex_gelsd.lwork, 2 * n + xg_max_i64(rows_left(r), n * r->routine->k));
}

void shim_squares_read_gelss(struct reading *r)
{
    squares(r);
    const int64_t n = r->routine->n;
    workspace(r, r->call->gelss.lwork,
              xg_max_i64(5 * n, 3 * n + xg_max_i64(rows_left(r), r->routine->k)));
}

void shim_squares_read_complex_gelss(struct reading *r)
{
    squares(r);
    workspace(r, r->call->complex_gelss.lwork,
              2 * r->routine->n + xg_max_i64(r->routine->m, r->routine->k));
}

/* --- A call ---------------------------------------------------------------------------------- */

bool shim_squares_open(struct shim_squares *squares, struct xg_routine *routine)
{
    const int64_t m = routine->m, n = routine->n, k = routine->k;
    const size_t elem_bytes = xg_type_bytes(routine->type);
    int saved_errno = errno;
    *squares = (struct shim_squares){0};
    if (routine->name != XG_ROUTINE_GELSD && routine->name != XG_ROUTINE_GELSS)
        return true;
    squares->bytes = (size_t)(n * n + m * k) * elem_bytes;
    void *memory = mmap(NULL, squares->bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved_errno;
    if (memory == MAP_FAILED)
        return false;
    squares->memory = memory;
    squares->triangle = (struct xg_matrix){memory, n, n, n};
    squares->right = (struct xg_matrix){(char *)memory + (size_t)(n * n) * elem_bytes, m, k, m};
    routine->operand[XG_SLOT_U] = squares->triangle;
    routine->operand[XG_SLOT_V] = squares->right;
    return true;
}

void shim_squares_close(struct shim_squares *squares)
{
    if (squares->memory)
        munmap(squares->memory, squares->bytes);
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

static void copy(const struct xg_matrix *to, const struct xg_matrix *from, int64_t rows,
                 size_t elem_bytes)
{
    for (int64_t j = 0; j < from->columns; j++)
        memcpy((char *)to->at + (size_t)(j * to->ld) * elem_bytes,
               (const char *)from->at + (size_t)(j * from->ld) * elem_bytes,
               (size_t)rows * elem_bytes);
}

/* GELSS leaves the right singular vectors in A, which are those of R. */
void shim_squares_give(const struct shim_squares *squares, const struct xg_routine *routine)
{
    const size_t elem_bytes = xg_type_bytes(routine->type);
    copy(&routine->operand[XG_SLOT_B], &squares->right, routine->m, elem_bytes);
    if (routine->name == XG_ROUTINE_GELSS)
        copy(&routine->operand[XG_SLOT_A], &squares->triangle, routine->n, elem_bytes);
}
