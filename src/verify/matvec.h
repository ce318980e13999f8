/* SPDX-License-Identifier: MIT */
/* A matrix of floats times several vectors at once, in double precision, by a team. */
#ifndef XG_MATVEC_H
#define XG_MATVEC_H

#include "base/xg.h"
#include "host/team.h"

enum { XG_MATVEC_VECTORS = 4, XG_MATVEC_PLANES };

/* What the fifth plane is. The first four are op(M) in_v. */
enum xg_matvec_form {
    XG_MATVEC_SQUARES,  /* sums of squares of each row of op(M); in[4] is not read */
    XG_MATVEC_WEIGHTED, /* |op(M)| in[4] */
    XG_MATVEC_ABSOLUTE, /* none; and the first four are |op(M)| in_v */
};

/*
 * op(M) is (rows,columns), M stored so, or (columns,rows) where trans, with leading dimension ld
 * and any alignment. in: XG_MATVEC_PLANES planes of `columns` numbers, out: as many of `rows`; out
 * is written whole. copy: NULL, or where M (which is not trans) goes as well, its rows next to each
 * other.
 */
struct xg_matvec {
    const float *matrix;
    int64_t rows, columns, ld;
    bool trans;
    enum xg_matvec_form form;
    const double *in;
    double *out;
    float *copy;
};

/*
 * Computes it, with up to `workers` of the team, none of whom may be at work; team NULL: on this
 * thread. Rounds to nearest and flushes nothing, whatever this thread's floating-point environment,
 * which stays as it is; the order of each sum is the same whoever computes.
 */
void xg_matvec_run(const struct xg_matvec *job, struct xg_team *team, int workers);

#endif
