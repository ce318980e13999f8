/* SPDX-License-Identifier: MIT */
/* What GEMM's arguments mean, for it and for its batches. */
#ifndef SHIM_GEMM_H
#define SHIM_GEMM_H

#include "terms.h"

/* The number, without the order, of the first illegal argument; 0 when there is none. *extension
 * is set to true for R, and left alone otherwise. */
int shim_gemm_illegal(const struct shim_gemm_terms *t, bool *extension);

/* The normal form of legal ones. */
void shim_gemm_problem(const struct shim_gemm_terms *t, struct xg_problem *p);

#endif
