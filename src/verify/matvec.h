/* SPDX-License-Identifier: MIT */
/* A matrix of floats or doubles times several vectors at once, in double precision by a team. */
#ifndef XG_MATVEC_H
#define XG_MATVEC_H

#include "base/xg.h"
#include "host/team.h"

enum { XG_MATVEC_VECTORS = 4, XG_MATVEC_PLANES };

/* Contents of the fifth plane. The first four are op(M) in_v. */
enum xg_matvec_form {
    XG_MATVEC_SQUARES,  /* sums of squares of each row of op(M); in[4] is not read */
    XG_MATVEC_LARGEST,  /* the largest magnitude of each row; NaN counts as 0; in[4] is not read */
    XG_MATVEC_WEIGHTED, /* |op(M)| in[4] */
    XG_MATVEC_ABSOLUTE, /* nothing; and the first four are |op(M)| in_v */
};

/*
 * op(M) is (rows,columns); M is stored like that or, if trans, as (columns,rows), with leading
 * dimension ld and any alignment. in holds XG_MATVEC_PLANES planes of `columns` numbers, out as
 * many planes of `rows` numbers, all of which are written. copy: NULL, or memory that gets a copy
 * of M with contiguous rows; trans is then false.
 */
struct xg_matvec {
    enum xg_type type; /* S or D */
    const void *matrix;
    int64_t rows, columns, ld;
    bool trans;
    enum xg_matvec_form form;
    const double *in;
    double *out;
    void *copy;
};

/* Element `index` of a matrix of type S or D, which may have any alignment. */
static inline double xg_matvec_element(const void *matrix, int64_t index, enum xg_type type)
{
    typedef float float_element __attribute__((aligned(1), may_alias));
    typedef double double_element __attribute__((aligned(1), may_alias));
    return type == XG_TYPE_D ? ((const double_element *)matrix)[index]
                             : (double)((const float_element *)matrix)[index];
}

/*
 * Runs the job with up to `workers` members of the team, which must be idle; team NULL: on this
 * thread. The sums round to nearest and flush nothing, whatever this thread's floating-point
 * environment is, and leave that unchanged. The order of each sum does not depend on the worker.
 */
void xg_matvec_run(const struct xg_matvec *job, struct xg_team *team, int workers);

#endif
