/* SPDX-License-Identifier: MIT */
/* Packs rows of a triangular matrix: copies of stored elements, and mirror images of them. */
#include "pipeline/triangle.h"

#include <string.h>

#include "pipeline/copy.h"

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

static void settle_row(const struct xg_problem *p, const struct block *block, int64_t row)
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

void xg_triangle_pack(const struct xg_problem *p, int64_t row, int64_t column, char *dst,
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
        settle_row(p, &block, i);
}
