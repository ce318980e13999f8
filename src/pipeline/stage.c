/* SPDX-License-Identifier: MIT */
/* Row copies to and from staging buffers. */
#include "pipeline/stage.h"

#include <string.h>

#include "pipeline/copy.h"

/* Joins rows that are contiguous on both sides: narrow rows are too short for streaming. */
static void join_rows(int64_t *rows, int64_t *width, int64_t ld, int64_t other_ld)
{
    if (ld == *width && other_ld == *width) {
        *width *= *rows;
        *rows = 1;
    }
}

void xg_stage_pack(void *dst, int64_t ld, const void *src, int64_t src_ld, int64_t rows,
                   int64_t width, size_t elem_bytes, bool cached)
{
    join_rows(&rows, &width, ld, src_ld);
    size_t bytes = (size_t)width * elem_bytes;
    size_t padding = (size_t)(xg_round_up(width, 4) - width) * elem_bytes;
    xg_copy *copy = cached ? xg_copy_keep : xg_copy_stream;
    for (int64_t row = 0; row < rows; row++) {
        char *to = (char *)dst + (size_t)(row * ld) * elem_bytes;
        copy(to, (const char *)src + (size_t)(row * src_ld) * elem_bytes, bytes);
        memset(to + bytes, 0, padding);
    }
    xg_copy_fence();
}

void xg_stage_pack_batch(const struct xg_problem *p, bool b, int64_t row, char *dst,
                         const struct xg_stage_rows *to, bool cached)
{
    const int64_t bytes = (int64_t)xg_problem_elem_bytes(p), each = xg_problem_stored(p, b).rows;
    for (int64_t at = 0; at < to->rows;) {
        const struct xg_instance_rows part = xg_instance_rows(row + at, to->rows - at, each);
        const struct xg_problem q = xg_problem_instance(p, part.instance);
        const int64_t ld = b ? q.ldb : q.lda;
        xg_stage_pack(dst + at * to->ld * bytes, to->ld,
                      xg_problem_at(&q, b ? q.b : q.a, part.row * ld), ld, part.rows, to->width,
                      (size_t)bytes, cached);
        at += part.rows;
    }
}

/* --- c = from + beta c ----------------------------------------------------------------------- */

/* C's numbers may have any alignment. */
typedef double loose_double __attribute__((aligned(1)));
typedef float loose_float __attribute__((aligned(1)));

static void combine_s(void *c, const void *from, int64_t count, const struct xg_problem *p)
{
    xg_copy_combine(c, from, (size_t)count, (float)p->beta);
}

static void combine_d(void *c, const void *from, int64_t count, const struct xg_problem *p)
{
    loose_double *to = c;
    const double *x = from;
    for (int64_t i = 0; i < count; i++)
        to[i] = x[i] + p->beta * to[i];
}

static void combine_c(void *c, const void *from, int64_t count, const struct xg_problem *p)
{
    loose_float *to = c;
    const float *x = from;
    const float re = (float)p->beta, im = (float)p->beta_im;
    for (int64_t i = 0; i < 2 * count; i += 2) {
        float real = to[i], imaginary = to[i + 1];
        to[i] = x[i] + (re * real - im * imaginary);
        to[i + 1] = x[i + 1] + (re * imaginary + im * real);
    }
}

static void combine_z(void *c, const void *from, int64_t count, const struct xg_problem *p)
{
    loose_double *to = c;
    const double *x = from;
    const double re = p->beta, im = p->beta_im;
    for (int64_t i = 0; i < 2 * count; i += 2) {
        double real = to[i], imaginary = to[i + 1];
        to[i] = x[i] + (re * real - im * imaginary);
        to[i + 1] = x[i + 1] + (re * imaginary + im * real);
    }
}

static void (*const combine[XG_TYPE_COUNT])(void *, const void *, int64_t,
                                            const struct xg_problem *) = {
    [XG_TYPE_S] = combine_s,
    [XG_TYPE_D] = combine_d,
    [XG_TYPE_C] = combine_c,
    [XG_TYPE_Z] = combine_z,
};

static void commit_row(const struct xg_problem *p, void *c, const void *from, int64_t count)
{
    if (xg_problem_beta_zero(p))
        xg_copy_drain(c, from, (size_t)count * xg_problem_elem_bytes(p));
    else if (xg_problem_is_hermitian(p)) /* the real beta scales each part, because a part may be
                                          * infinite */
        combine[xg_type_real(p->type)](c, from, 2 * count, p);
    else
        combine[p->type](c, from, count, p);
}

/* Commits an element of a Hermitian C's diagonal, whose old imaginary part is not read. */
static void commit_diagonal(const struct xg_problem *p, void *c, const void *from)
{
    const size_t part = xg_problem_elem_bytes(p) / 2;
    if (xg_problem_beta_zero(p))
        memcpy(c, from, part);
    else
        combine[xg_type_real(p->type)](c, from, 1, p);
    memset((char *)c + part, 0, part);
}

/* Commits row `row` of C between two columns; from: the first of them. */
static void commit_columns(const struct xg_problem *p, int64_t row, int64_t begin, int64_t end,
                           const char *from)
{
    const int64_t bytes = (int64_t)xg_problem_elem_bytes(p);
    char *c = (char *)p->c + row * p->ldc * bytes;
    int64_t diagonal = end;
    if (xg_problem_is_hermitian(p) && row >= begin && row < end)
        diagonal = row;
    commit_row(p, c + begin * bytes, from, diagonal - begin);
    if (diagonal == end)
        return;
    commit_diagonal(p, c + row * bytes, from + (row - begin) * bytes);
    commit_row(p, c + (row + 1) * bytes, from + (row + 1 - begin) * bytes, end - row - 1);
}

static void commit_rows(const struct xg_problem *p, int64_t row, int64_t column,
                        const struct xg_stage_rows *from)
{
    int64_t rows = from->rows, width = from->width;
    if (p->uplo == XG_FULL)
        join_rows(&rows, &width, p->ldc, from->ld);
    for (int64_t i = 0; i < rows; i++) {
        int64_t begin = column, end = column + width;
        if (p->uplo != XG_FULL)
            xg_problem_row(p, row + i, column, column + width, &begin, &end);
        commit_columns(p, row + i, begin, end,
                       xg_problem_at(p, from->data, i * from->ld + begin - column));
    }
}

void xg_stage_commit(const struct xg_problem *p, int64_t row, int64_t column,
                     const struct xg_stage_rows *from)
{
    const int64_t each = xg_problem_instance_rows(p);
    if (!p->batch)
        commit_rows(p, row, column, from);
    for (int64_t at = 0; p->batch && at < from->rows;) {
        const struct xg_instance_rows part = xg_instance_rows(row + at, from->rows - at, each);
        const struct xg_problem q = xg_problem_instance(p, part.instance);
        const struct xg_stage_rows rows = {xg_problem_at(p, from->data, at * from->ld), from->ld,
                                           part.rows, from->width};
        commit_rows(&q, part.row, column, &rows);
        at += part.rows;
    }
    xg_copy_fence();
}
