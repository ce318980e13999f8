/* SPDX-License-Identifier: MIT */
/* One call of a LAPACK routine while it is read, argument by argument. */
#ifndef SHIM_ROUTINE_READING_H
#define SHIM_ROUTINE_READING_H

#include "routine_read.h"
#include "terms.h"

/* `legal` turns false at the first argument that does not fit. */
struct reading {
    const struct shim_call *call;
    int int_bytes;
    struct xg_routine *routine;
    bool legal;
};

static inline int64_t integer(const struct reading *r, const void *at)
{
    return shim_terms_int(at, r->int_bytes);
}

/* Reads a dimension and requires that something is left to compute. No device holds a matrix of
 * EXTENT_MOST columns, and sums of products of smaller dimensions do not overflow. */
static inline int64_t extent(struct reading *r, const void *at)
{
    static const int64_t EXTENT_MOST = 1 << 29;
    int64_t value = integer(r, at);
    r->legal = r->legal && value >= 1 && value <= EXTENT_MOST;
    return r->legal ? value : 1;
}

/* The index of the letter among those that the engine knows; LAPACK accepts upper and lower
 * case. */
static inline int letter(struct reading *r, const void *at, const char *letters)
{
    const char given = shim_terms_letter(at);
    const char *found = given ? strchr(letters, given) : NULL;
    r->legal = r->legal && found;
    return found ? (int)(found - letters) : 0;
}

static inline void matrix(struct reading *r, enum xg_slot slot, void *at, int64_t rows,
                          int64_t columns, const void *ld)
{
    const struct xg_matrix given = {at, rows, columns, integer(r, ld)};
    r->legal = r->legal && at && given.ld >= rows && given.ld >= 1;
    r->routine->operand[slot] = given;
}

static inline void vector(struct reading *r, enum xg_slot slot, void *at, int64_t length)
{
    r->legal = r->legal && at;
    r->routine->operand[slot] = (struct xg_matrix){at, length, 1, length};
}

/* Turns `legal` false if a workspace is too small or the call asks for its size (-1). */
static inline void workspace(struct reading *r, const void *length, int64_t least)
{
    r->legal = r->legal && integer(r, length) >= least;
}

static inline void uplo(struct reading *r, const void *at)
{
    r->routine->uplo = letter(r, at, "UL") ? XG_LOWER : XG_UPPER;
}

/* A, of m rows and n columns. */
static inline void rectangle(struct reading *r, const void *m, const void *n, void *a,
                             const void *lda)
{
    r->routine->m = extent(r, m);
    r->routine->n = extent(r, n);
    matrix(r, XG_SLOT_A, a, r->routine->m, r->routine->n, lda);
}

static inline void square(struct reading *r, const void *n, void *a, const void *lda)
{
    rectangle(r, n, n, a, lda);
}

/* B, with as many rows as A. */
static inline void right_sides(struct reading *r, const void *nrhs, void *b, const void *ldb)
{
    r->routine->k = extent(r, nrhs);
    matrix(r, XG_SLOT_B, b, r->routine->m, r->routine->k, ldb);
}

#endif
