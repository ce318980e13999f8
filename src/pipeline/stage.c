/* SPDX-License-Identifier: MIT */
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

/* --- Triangular matrices: copies of stored elements, and mirror images of them --------------- */

/* A matrix with one stored triangle, and a block of it in a staging buffer. */
struct block {
    const char *matrix;
    int64_t ld; /* in elements */
    char *dst;
    int64_t dst_ld;
    int64_t row, rows, column, columns;
    int64_t elem_bytes;
};

static char *dst_at(const struct block *block, int64_t row, int64_t column)
{
    return block->dst +
           ((row - block->row) * block->dst_ld + column - block->column) * block->elem_bytes;
}

/*
 * Writes mirror images into the block's columns [begin, end), to the elements that are not stored:
 * each source row becomes a column of them. A stripe has few rows, so the reads are contiguous and
 * the writes stay in the nearest cache.
 */
#define MIRROR(bytes)                                                                              \
    static void mirror_##bytes(const struct block *block, int64_t begin, int64_t end, bool upper)  \
    {                                                                                              \
        for (int64_t column = begin; column < end; column++) {                                     \
            const char *source = block->matrix + column * block->ld * bytes;                       \
            int64_t first = upper ? xg_max_i64(block->row, column + 1) : block->row;               \
            int64_t last = block->row + block->rows;                                               \
            if (!upper)                                                                            \
                last = xg_min_i64(last, column);                                                   \
            for (int64_t row = first; row < last; row++)                                           \
                memcpy(dst_at(block, row, column), source + row * bytes, bytes);                   \
        }                                                                                          \
    }
MIRROR(4)
MIRROR(8)
MIRROR(16)

static void mirror(const struct block *block, int64_t begin, int64_t end, bool upper)
{
    if (block->elem_bytes == 4)
        mirror_4(block, begin, end, upper);
    else if (block->elem_bytes == 8)
        mirror_8(block, begin, end, upper);
    else
        mirror_16(block, begin, end, upper);
}

/* Negates imaginary parts: the conjugate of mirrored elements. */
static void conjugate(enum xg_type type, char *numbers, int64_t count)
{
    double *wide = (double *)(void *)numbers;
    float *single = (float *)(void *)numbers;
    for (int64_t i = 0; i < count; i++)
        if (xg_type_is_double(type))
            wide[2 * i + 1] = -wide[2 * i + 1];
        else
            single[2 * i + 1] = -single[2 * i + 1];
}

/* The stored columns of a row of the block; a unit diagonal is not stored. */
static void stored_columns(const struct xg_problem *p, const struct block *block, int64_t row,
                           int64_t *begin, int64_t *end)
{
    const struct xg_problem triangle = {.uplo = p->stored};
    xg_problem_row(&triangle, row, block->column, block->column + block->columns, begin, end);
    if (p->unit && p->stored == XG_UPPER && *begin == row && *begin < *end)
        ++*begin;
    if (p->unit && p->stored == XG_LOWER && *end == row + 1 && *begin < *end)
        --*end;
}

static void complete_row(const struct xg_problem *p, const struct block *block, int64_t row)
{
    int64_t begin, end, last = block->column + block->columns;
    stored_columns(p, block, row, &begin, &end);
    if (xg_problem_is_in_place(p)) {
        memset(dst_at(block, row, block->column), 0,
               (size_t)((begin - block->column) * block->elem_bytes));
        memset(dst_at(block, row, end), 0, (size_t)((last - end) * block->elem_bytes));
    } else if (p->op == XG_OP_HEMM) {
        conjugate(p->type, dst_at(block, row, block->column), begin - block->column);
        conjugate(p->type, dst_at(block, row, end), last - end);
        if (row >= begin && row < end)
            memset(dst_at(block, row, row) + block->elem_bytes / 2, 0,
                   (size_t)block->elem_bytes / 2);
    }
    memset(dst_at(block, row, last), 0,
           (size_t)((xg_round_up(block->columns, 4) - block->columns) * block->elem_bytes));
}

void xg_stage_pack_triangle(const struct xg_problem *p, int64_t row, int64_t column, char *dst,
                            const struct xg_stage_rows *to)
{
    bool left = p->structured == XG_OPERAND_A;
    const struct block block = {.matrix = left ? p->a : p->b,
                                .ld = left ? p->lda : p->ldb,
                                .dst = dst,
                                .dst_ld = to->ld,
                                .row = row,
                                .rows = to->rows,
                                .column = column,
                                .columns = to->width,
                                .elem_bytes = (int64_t)xg_problem_elem_bytes(p)};
    for (int64_t i = row; i < row + to->rows; i++) {
        int64_t begin, end;
        stored_columns(p, &block, i, &begin, &end);
        xg_copy_keep(dst_at(&block, i, begin),
                     block.matrix + (i * block.ld + begin) * block.elem_bytes,
                     (size_t)((end - begin) * block.elem_bytes));
    }
    if (!xg_problem_is_in_place(p))
        mirror(&block, column, column + to->width, p->stored == XG_UPPER);
    for (int64_t i = row; i < row + to->rows; i++)
        complete_row(p, &block, i);
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

#define COMBINE_COMPLEX(letter, real_type)                                                         \
    static void combine_##letter(void *c, const void *from, int64_t count,                         \
                                 const struct xg_problem *p)                                       \
    {                                                                                              \
        loose_##real_type *to = c;                                                                 \
        const real_type *x = from;                                                                 \
        const real_type re = (real_type)p->beta, im = (real_type)p->beta_im;                       \
        for (int64_t i = 0; i < 2 * count; i += 2) {                                               \
            real_type real = to[i], imaginary = to[i + 1];                                         \
            to[i] = x[i] + (re * real - im * imaginary);                                           \
            to[i + 1] = x[i + 1] + (re * imaginary + im * real);                                   \
        }                                                                                          \
    }
COMBINE_COMPLEX(c, float)
COMBINE_COMPLEX(z, double)

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
