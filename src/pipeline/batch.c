/* SPDX-License-Identifier: MIT */
/* Cuts runs of rows at the ends of a batch's instances. */
#include "pipeline/batch.h"

/* Rows of one instance. */
struct part {
    int64_t instance, row, rows;
};

/* The first part of `rows` rows from `row` on; each instance has `each` rows. */
static struct part part_at(int64_t row, int64_t rows, int64_t each)
{
    struct part part = {.instance = row / each, .row = row % each};
    part.rows = xg_min_i64(rows, each - part.row);
    return part;
}

void xg_batch_pack(const struct xg_problem *p, bool b, int64_t row, char *dst,
                   const struct xg_stage_rows *to, bool cached)
{
    const int64_t bytes = (int64_t)xg_problem_elem_bytes(p), each = xg_problem_stored(p, b).rows;
    for (int64_t at = 0; at < to->rows;) {
        const struct part part = part_at(row + at, to->rows - at, each);
        const struct xg_problem q = xg_problem_instance(p, part.instance);
        const int64_t ld = b ? q.ldb : q.lda;
        xg_stage_pack(dst + at * to->ld * bytes, to->ld,
                      xg_problem_at(&q, b ? q.b : q.a, part.row * ld), ld, part.rows, to->width,
                      (size_t)bytes, cached);
        at += part.rows;
    }
}

void xg_batch_commit(const struct xg_problem *p, int64_t row, const struct xg_stage_rows *from)
{
    const int64_t each = xg_problem_instance_rows(p), bytes = (int64_t)xg_problem_elem_bytes(p);
    for (int64_t at = 0; at < from->rows;) {
        const struct part part = part_at(row + at, from->rows - at, each);
        const struct xg_problem q = xg_problem_instance(p, part.instance);
        const struct xg_stage_rows rows = {from->data + at * from->ld * bytes, from->ld, part.rows,
                                           from->width};
        xg_stage_commit(&q, part.row, 0, &rows);
        at += part.rows;
    }
}
