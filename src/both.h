/* SPDX-License-Identifier: MIT */
/* One product on both sides, which are compared (XGEMM_MODE=compare). */
#ifndef XG_BOTH_H
#define XG_BOTH_H

#include "base/conf.h"
#include "base/xg.h"
#include "host/shelter.h"

/*
 * The caller gets the CPU's C, always; the GPU works on a copy of what C held before, and nothing
 * helps it out, for a failure would be hidden. Where it succeeds (XG_OK) the statistics get both
 * times and both errors. XG_ERR_NOMEM, with *result all zeros, where the copy had no room. symbol:
 * a static string. *shelter is entered; the CPU computes outside.
 */
enum xg_status xg_both_compute(const char *symbol, const struct xg_problem *call,
                               const struct xg_conf *conf, const struct xg_cpu *cpu,
                               struct xg_shelter *shelter, struct xg_gemm_result *result);

#endif
