/* SPDX-License-Identifier: MIT */
/* Rows of a batch's matrices, of which some follow each other on the device (stage.h). */
#ifndef XG_BATCH_H
#define XG_BATCH_H

#include "pipeline/stage.h"

/*
 * xg_stage_pack of A's or B's rows, and xg_stage_commit of C's, from `row` on as they are counted
 * over all instances: `to` and `from` say how many they are, where their instance ends each goes on
 * with the next one.
 */
void xg_batch_pack(const struct xg_problem *p, bool b, int64_t row, char *dst,
                   const struct xg_stage_rows *to, bool cached);
void xg_batch_commit(const struct xg_problem *p, int64_t row, const struct xg_stage_rows *from);

#endif
