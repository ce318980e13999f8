/* SPDX-License-Identifier: MIT */
/* The process's engine: started in the background when earned, shared by all threads, gone in a
 * fork. */
#ifndef XG_ENGINE_H
#define XG_ENGINE_H

#include "conf.h"
#include "policy.h"
#include "xg.h"

/* The device that the engine runs on; false unless it is READY. From any thread; a load. */
bool xg_engine_device(struct xg_machine_device *out);

/* The state now (policy.h). From any thread; a load. */
enum xg_engine_state xg_engine_state_get(void);

/* Begins to start the engine on a thread of its own, once; does nothing when it is past COLD. */
void xg_engine_start(const struct xg_conf *conf);

/* Starts it if need be and waits until it is READY or NONE (or FORKED); returns that state, or
 * STARTING where it takes more than 5 s (a caller inside dlopen holds what the start waits for). */
enum xg_engine_state xg_engine_wait(const struct xg_conf *conf);

/*
 * Runs *call on a free lane. wait: wait for a lane rather than decline when all are busy.
 * XG_DECLINED: not ready, or busy; nothing touched. Otherwise as xg_gemm_run. Failures are counted,
 * and after three in a row, or a lost context, the engine's state is NONE for the rest of the
 * process.
 */
enum xg_status xg_engine_gemm(const struct xg_sgemm *call, const struct xg_conf *conf,
                              const struct xg_cpu *cpu, bool wait, struct xg_gemm_result *result);

#endif
