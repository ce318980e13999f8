/* SPDX-License-Identifier: MIT */
/* Computes one call on both sides and compares them (XGEMM_MODE=compare). */
#ifndef XG_BOTH_SIDES_H
#define XG_BOTH_SIDES_H

#include "base/call.h"
#include "base/conf.h"
#include "base/xg.h"
#include "host/shelter.h"

/*
 * The caller always gets the CPU's result. The GPU works on a copy of the previous C, or of all
 * operands that a routine reads and writes, and no CPU fallback helps it, because that would hide a
 * failure. If the GPU succeeds (XG_OK), the statistics get both times and both errors; those of a
 * routine are residuals (verify/residual.h), or NaN if it has none. Returns XG_ERR_NOMEM, with
 * *result all zeros, if there was no memory for the copy. *shelter is entered; the CPU computes
 * outside it.
 */
enum xg_status xg_both_sides_compute(const struct xg_call *call, const struct xg_conf *conf,
                                     const struct xg_cpu *cpu, struct xg_shelter *shelter,
                                     struct xg_result *result);

#endif
