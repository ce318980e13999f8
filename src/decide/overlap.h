/* SPDX-License-Identifier: MIT */
/* Whether a product's result shares memory with an operand. Pure. */
#ifndef XG_OVERLAP_H
#define XG_OVERLAP_H

#include "base/xg.h"

/*
 * True when an element of C lies on one of A or B. BLAS leaves open what C is then, and programs
 * exist that rely on what their CPU library makes of it, so that nobody else may compute it. True
 * also when a matrix of several rows has such a leading dimension, or a batch such a stride, that
 * addresses wrap around: the matrix cannot exist, and rows of it may be one and the same. Blocks
 * of one matrix whose rows lie beside each other (factorisations multiply such) share nothing.
 * m, n, k >= 1. A few nanoseconds where the operands lie apart, and some tens for each instance of
 * a batch; else some for each row of the operand that has fewer. Of a batch C must share nothing
 * with another instance's, either.
 */
bool xg_overlap_find(const struct xg_problem *call);

#endif
