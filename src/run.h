/* SPDX-License-Identifier: MIT */
/* Computes one call on the side that was decided, and learns from the time that it took. */
#ifndef XG_RUN_H
#define XG_RUN_H

#include "base/conf.h"
#include "decide/decide.h"
#include "host/shelter.h"
#include "report/record.h"

struct xg_run {
    const struct xg_call *call;
    const struct xg_conf *conf;
    const struct xg_cpu *cpu;
    const struct xg_decision *decision;
    struct xg_shelter *shelter;
    struct xg_call_record *record; /* gets the place, the reason and the GPU's part */
};

/* Computes the call there, or on the CPU what the GPU declines or leaves. True: the GPU computed
 * all of it. reason: the reason for the place. */
bool xg_run(const struct xg_run *run, enum xg_place place, enum xg_reason reason);

#endif
