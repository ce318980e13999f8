/* SPDX-License-Identifier: MIT */
/* Packs rows of an operand with one stored triangle as a whole matrix, for the device. */
#ifndef XG_TRIANGLE_H
#define XG_TRIANGLE_H

#include "pipeline/stage.h"

/*
 * Packs rows of p's structured operand, from `row` and `column` on as it is stored, into dst; `to`
 * holds their number, width and distance. Elements that are not stored become their mirror images
 * (SYMM), the conjugates of these (HEMM), or 0 (TRMM, TRSM). Elements from width up to a multiple
 * of 4 are set to 0. Elements that are not stored are never read.
 */
void xg_triangle_pack(const struct xg_problem *p, int64_t row, int64_t column, char *dst,
                      const struct xg_stage_rows *to);

#endif
