/* SPDX-License-Identifier: MIT */
/* The process's engine. It starts in the background once a start is expected to pay; a forked child
 * has none. */
#ifndef XG_ENGINE_H
#define XG_ENGINE_H

#include <time.h>

#include "base/call.h"
#include "base/conf.h"
#include "base/xg.h"
#include "decide/decision.h"

/* Describes the engine's device, the first one if there are several (all are of one kind). Returns
 * false unless the engine is READY. From any thread; a load. */
bool xg_engine_device(struct xg_model_device *out);

/* The current state (xg.h). From any thread; a load. */
enum xg_engine_state xg_engine_state_get(void);

/* True if the engine was ever READY. From any thread; a load. */
bool xg_engine_used(void);

/* Registers the handlers for the end of the process and for fork. Call it before a thread of this
 * library starts. */
void xg_engine_watch(void);

/*
 * Starts the engine once, on a separate thread; does nothing if the state is past COLD. If a stream
 * capture of the program forbids it, the state is COLD again, at most twice. With XGEMM_MODE=gpu
 * and compare one warning says that there is no usable GPU, once that is known, and in a build
 * without CUDA at once; with auto there is none.
 */
void xg_engine_start(const struct xg_conf *conf);

/*
 * Starts the engine if it is COLD and waits until it is READY or NONE (or FORKED, or COLD again).
 * Returns that state, or STARTING after 5 s or XGEMM_TIMEOUT_MS (a caller inside dlopen holds the
 * lock that the start waits for). After one such timeout it returns at once.
 */
enum xg_engine_state xg_engine_wait(const struct xg_conf *conf);

/* The same, for at most most_s seconds. */
enum xg_engine_state xg_engine_wait_most(const struct xg_conf *conf, double most_s);

/* When callers stop waiting for a start or a similar step: after 5 s, XGEMM_TIMEOUT_MS or most_s.
 */
void xg_engine_start_deadline(struct timespec *until, const struct xg_conf *conf, double most_s);

struct xg_dev;

/* Keeps one of the engine's devices (numbered from 0) open until xg_engine_let_go; products still
 * run. If the device is lost, *dev is NULL; do not let it go then. False: no device has that
 * number. */
bool xg_engine_hold(int number, struct xg_dev **dev);
void xg_engine_let_go(int number);

/* How long a call waits for a lane while all are busy. */
struct xg_patience {
    double takes_s; /* expected time on a lane, which calls behind it add up */
    double waits_s; /* it waits if those ahead need less than this; HUGE_VAL: always */
    double most_s;  /* longest wait, whatever was expected; 0: no limit */
    int threads;    /* threads that may stage it, at least 1: the remaining cores */
};

/*
 * Runs *call on a free lane, or, if none is free and *patience allows it, on the next one. patience
 * NULL: the call always waits, and calls behind it do not know how long it will take. Once no lane
 * has been taken or freed for four times XGEMM_TIMEOUT_MS, no call waits until one is. A freed lane
 * goes to the first caller that asks. result->waited_s is the wait. XG_DECLINED: the engine is not
 * ready, or all lanes are busy; nothing is touched. Otherwise as xg_pipeline_run. After three
 * failures in a row (except XG_ERR_CAPTURE) or a lost context a device gets no more products; once
 * no device is left or being opened, the state stays NONE. The share of products that XGEMM_VERIFY
 * asks for, chosen by number, is verified (not in compare mode); a device with three wrong ones in
 * a row among those gets no more products either.
 *
 * For a routine cpu may be NULL. Unless the result is XG_OK, and if result->factored, the caller
 * must have the CPU compute it, as after xg_routine_run; XG_ERR_WRONG: verification found the
 * result wrong.
 */
enum xg_status xg_engine_compute(const struct xg_call *call, const struct xg_conf *conf,
                                 const struct xg_cpu *cpu, const struct xg_patience *patience,
                                 struct xg_result *result);

#endif
