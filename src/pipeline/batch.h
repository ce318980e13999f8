/* SPDX-License-Identifier: MIT */
/* Packs and commits rows of a batch's matrices, which follow each other on the device (stage.h). */
#ifndef XG_BATCH_H
#define XG_BATCH_H

#include "pipeline/stage.h"

/*
 * xg_stage_pack for rows of A or B, and xg_stage_commit for rows of C. Rows are counted over all
 * instances and begin at `row`; `to` and `from` hold their number. Rows behind the end of an
 * instance are those of the next instance.
 */
void xg_batch_pack(const struct xg_problem *p, bool b, int64_t row, char *dst,
                   const struct xg_stage_rows *to, bool cached);
void xg_batch_commit(const struct xg_problem *p, int64_t row, const struct xg_stage_rows *from);

#endif
