/* SPDX-License-Identifier: MIT */
/* Starts what a call needs on the GPU, and waits for it. */
#ifndef XG_NEEDS_H
#define XG_NEEDS_H

#include "base/conf.h"
#include "decide/decide.h"

/*
 * Does what the decision says: starts the GPU, cuBLAS or cuSOLVER in the background, and waits for
 * them. False: something is not ready, so the call stays on the CPU; *why is the reason. Call it
 * inside a shelter that is not open.
 */
bool xg_needs_bring(const struct xg_conf *conf, const struct xg_call *call,
                    const struct xg_decision *decision, enum xg_reason *why);

#endif
