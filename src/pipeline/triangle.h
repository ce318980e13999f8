/* SPDX-License-Identifier: MIT */
/* Rows of an operand of which one triangle is stored, made whole on their way to the device. */
#ifndef XG_TRIANGLE_H
#define XG_TRIANGLE_H

#include "pipeline/stage.h"

/*
 * Packs rows of p's structured operand, as it is stored, from `row` and `column` on, into dst:
 * `to` says how many there are, how wide and how far apart. What is not stored is what its
 * mirror image is (SYMM), or the conjugate of that (HEMM), or 0 (TRMM, TRSM). Elements from width
 * up to a multiple of 4 are set to 0. Nothing that is not stored is read, whatever lies there.
 */
void xg_triangle_pack(const struct xg_problem *p, int64_t row, int64_t column, char *dst,
                      const struct xg_stage_rows *to);

#endif
