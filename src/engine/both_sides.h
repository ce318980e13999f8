/* SPDX-License-Identifier: MIT */
/* Computes one call on both sides and compares them (XGEMM_MODE=compare). */
#ifndef XG_BOTH_SIDES_H
#define XG_BOTH_SIDES_H

#include "base/conf.h"
#include "base/routine.h"
#include "base/xg.h"
#include "host/shelter.h"

/*
 * The caller always gets the CPU's C. The GPU works on a copy of the previous C, and no CPU
 * fallback helps it, because that would hide a failure. If the GPU succeeds (XG_OK), the statistics
 * get both times and both errors. Returns XG_ERR_NOMEM, with *result all zeros, if there was no
 * memory for the copy. symbol: a static string. *shelter is entered; the CPU computes outside it.
 */
enum xg_status xg_both_sides_problem(const char *symbol, const struct xg_problem *call,
                                     const struct xg_conf *conf, const struct xg_cpu *cpu,
                                     struct xg_shelter *shelter, struct xg_result *result);

/* The same for a routine of LAPACK. All operands that it reads are copied; the GPU's results go to
 * copies too. The errors are residuals (verify/residual.h); NaN if the routine has none. */
enum xg_status xg_both_sides_routine(const char *symbol, const struct xg_routine *routine,
                                     const struct xg_conf *conf, const struct xg_cpu *cpu,
                                     struct xg_shelter *shelter, struct xg_result *result);

#endif
