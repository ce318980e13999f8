/* SPDX-License-Identifier: MIT */
/* Each worker takes neighbouring elements of the result, so that no two workers share a sum. */
#include "verify/block.h"

#include <math.h>

/* Elements of the result that a worker takes at a time. */
enum { CHUNK = 64 };

typedef float loose_float __attribute__((aligned(1), may_alias));
typedef double loose_double __attribute__((aligned(1), may_alias));
typedef double four __attribute__((vector_size(4 * sizeof(double)), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))

enum way { DIRECT, CONJUGATE, MEASURE };

struct job {
    const struct xg_block_matrix *a;
    enum way way;
    const struct xg_block_row *in;
    struct xg_block_row *out;
};

INLINE void get(const void *at, enum xg_type type, int64_t i, double *re, double *im)
{
    *im = 0;
    if (type == XG_TYPE_S)
        *re = (double)((const loose_float *)at)[i];
    else if (type == XG_TYPE_D)
        *re = ((const loose_double *)at)[i];
    else if (type == XG_TYPE_C) {
        *re = (double)((const loose_float *)at)[2 * i];
        *im = (double)((const loose_float *)at)[2 * i + 1];
    } else {
        *re = ((const loose_double *)at)[2 * i];
        *im = ((const loose_double *)at)[2 * i + 1];
    }
}

/* out += (re + i im) in */
INLINE void add(struct xg_block_row *out, double re, double im, const struct xg_block_row *in,
                bool complex)
{
    const four in_re = *(const four *)in->re, in_im = *(const four *)in->im;
    if (!complex) {
        *(four *)out->re += re * in_re;
        return;
    }
    *(four *)out->re += re * in_re - im * in_im;
    *(four *)out->im += re * in_im + im * in_re;
}

INLINE void measure(struct xg_block_row *out, double re, double im)
{
    out->re[0] += re * re + im * im;
    out->re[1] = fmax(out->re[1], fmax(fabs(re), fabs(im)));
}

INLINE void visit(const struct job *job, enum xg_type type, int64_t i, int64_t j, double re,
                  double im)
{
    const bool complex = type == XG_TYPE_C || type == XG_TYPE_Z;
    if (job->way == DIRECT)
        add(&job->out[i], re, im, &job->in[j], complex);
    else if (job->way == CONJUGATE)
        add(&job->out[j], re, -im, &job->in[i], complex);
    else
        measure(&job->out[j], re, im);
}

INLINE void run_columns(const struct job *job, enum xg_type type, enum way way, int64_t begin,
                        int64_t end)
{
    const struct xg_block_matrix *a = job->a;
    const struct xg_matrix *matrix = &a->matrix;
    const size_t elem_bytes = xg_type_bytes(type);
    const struct job own = {.way = way, .in = job->in, .out = job->out};
    const int64_t first = way == DIRECT ? 0 : begin;
    const int64_t last = way == DIRECT ? matrix->columns : end;
    for (int64_t j = first; j < last; j++) {
        const char *column = (const char *)matrix->at + (size_t)(j * matrix->ld) * elem_bytes;
        int64_t from, to;
        double re, im;
        xg_matrix_column(matrix, a->part, j, &from, &to);
        if (a->part != XG_FULL && j < matrix->rows) {
            from += a->part == XG_LOWER;
            to -= a->part == XG_UPPER;
            get(column, type, j, &re, &im);
            im = a->diagonal == XG_DIAGONAL_STORED ? im : 0;
            re = a->diagonal == XG_DIAGONAL_ONE ? 1 : re;
            if (a->diagonal != XG_DIAGONAL_ZERO && (way != DIRECT || (j >= begin && j < end)))
                visit(&own, type, j, j, re, a->diagonal == XG_DIAGONAL_ONE ? 0 : im);
        }
        from = way == DIRECT ? xg_max_i64(from, begin) : from;
        to = way == DIRECT ? xg_min_i64(to, end) : to;
        for (int64_t i = from; i < to; i++) {
            get(column, type, i, &re, &im);
            visit(&own, type, i, j, re, im);
        }
    }
}

INLINE void run_way(const struct job *job, enum xg_type type, int64_t begin, int64_t end)
{
    if (job->way == DIRECT)
        run_columns(job, type, DIRECT, begin, end);
    else if (job->way == CONJUGATE)
        run_columns(job, type, CONJUGATE, begin, end);
    else
        run_columns(job, type, MEASURE, begin, end);
}

static void run_chunk(void *arg, int64_t begin, int64_t end)
{
    const struct job *job = arg;
    switch (job->a->type) {
    case XG_TYPE_S:
        run_way(job, XG_TYPE_S, begin, end);
        break;
    case XG_TYPE_D:
        run_way(job, XG_TYPE_D, begin, end);
        break;
    case XG_TYPE_C:
        run_way(job, XG_TYPE_C, begin, end);
        break;
    default:
        run_way(job, XG_TYPE_Z, begin, end);
        break;
    }
}

void xg_block_multiply(const struct xg_block_matrix *a, bool conjugate,
                       const struct xg_block_row *in, struct xg_block_row *out,
                       struct xg_team *team, int workers)
{
    struct job job = {.a = a, .way = conjugate ? CONJUGATE : DIRECT, .in = in, .out = out};
    xg_team_share(team, workers, conjugate ? a->matrix.columns : a->matrix.rows, CHUNK, run_chunk,
                  &job);
}

struct xg_block_size xg_block_measure(const struct xg_block_matrix *a, struct xg_block_row *room,
                                      struct xg_team *team, int workers)
{
    const int64_t columns = a->matrix.columns;
    struct job job = {.a = a, .way = MEASURE, .out = room};
    struct xg_block_size size = {0, 0};
    for (int64_t j = 0; j < columns; j++)
        room[j].re[0] = room[j].re[1] = 0;
    xg_team_share(team, workers, columns, CHUNK, run_chunk, &job);
    for (int64_t j = 0; j < columns; j++) {
        size.norm += room[j].re[0];
        size.largest = fmax(size.largest, room[j].re[1]);
    }
    size.norm = sqrt(size.norm);
    return size;
}

void xg_block_get(const struct xg_block_matrix *a, int64_t i, int64_t j, double *re, double *im)
{
    const char *column =
        (const char *)a->matrix.at + (size_t)(j * a->matrix.ld) * xg_type_bytes(a->type);
    get(column, a->type, i, re, im);
}

double xg_block_least_pivot(const struct xg_block_matrix *a)
{
    const int64_t count = xg_min_i64(a->matrix.rows, a->matrix.columns);
    double least = INFINITY, re, im;
    for (int64_t i = 0; i < count; i++) {
        xg_block_get(a, i, i, &re, &im);
        least = fmin(least, hypot(re, im));
    }
    return least;
}
