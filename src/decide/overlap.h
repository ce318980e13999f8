/* SPDX-License-Identifier: MIT */
/* Whether a product's result shares memory with an operand. Pure. */
#ifndef XG_OVERLAP_H
#define XG_OVERLAP_H

#include "base/xg.h"

/*
 * True if an element of C shares memory with an element of A or B. BLAS does not define the result,
 * and some programs rely on the result of their CPU library, so only that library may compute it.
 * Also true if the leading dimension of a matrix with several rows, or the stride of a batch, is so
 * large that addresses wrap around: the matrix cannot exist, and its rows may coincide. Blocks of
 * one matrix whose rows are side by side, as in factorisations, share nothing. m, n, k >= 1. Also
 * true if the C of two instances of a batch share memory. Takes a few nanoseconds if the operands
 * lie apart, some tens for each instance of a batch, and otherwise some for each row of the operand
 * with fewer rows.
 */
bool xg_overlap_find(const struct xg_problem *call);

#endif
