/* SPDX-License-Identifier: MIT */
/* Interprets GEMM's arguments, for GEMM and for its batches. */
#ifndef SHIM_GEMM_H
#define SHIM_GEMM_H

#include "terms.h"

/* The number of the first illegal argument, not counting the order; 0 if there is none. Sets
 * *extension to true for R and leaves it alone otherwise. */
int shim_gemm_illegal(const struct shim_gemm_terms *t, bool *extension);

/* The normal form of legal arguments. */
void shim_gemm_problem(const struct shim_gemm_terms *t, struct xg_problem *p);

#endif
