/* SPDX-License-Identifier: MIT */
/* Whether a general matrix must be balanced before its eigenvalues are computed. */
#ifndef XG_BALANCE_H
#define XG_BALANCE_H

#include "base/routine.h"
#include "base/xg.h"

/*
 * LAPACK's GEEV balances the matrix first (GEBAL): it permutes rows and columns that are 0 outside
 * the diagonal, and scales row and column i by powers of two where their norms differ by more than
 * a factor of about 2. Without that the eigenvalues of a badly scaled matrix have no correct digit.
 * NVIDIA does not document that Xgeev balances.
 *
 * a: n x n, in the program's memory, read once. Returns XG_OK if GEBAL would not change it;
 * XG_DECLINED if it would, or if the norms overflow or vanish; XG_ERR_NOMEM. From any thread.
 */
enum xg_status xg_balance_check(const struct xg_matrix *a, enum xg_type type);

#endif
