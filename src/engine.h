/* SPDX-License-Identifier: MIT */
/* The process's engine: started in the background when earned, shared by all threads, gone in a
 * fork. */
#ifndef XG_ENGINE_H
#define XG_ENGINE_H

#include <time.h>

#include "base/conf.h"
#include "base/xg.h"
#include "decide/policy.h"

/* The device that the engine runs on, the first where there are several, which are all of its kind;
 * false unless it is READY. From any thread; a load. */
bool xg_engine_device(struct xg_model_device *out);

/* The state now (policy.h). From any thread; a load. */
enum xg_engine_state xg_engine_state_get(void);

/* Whether it was ever READY. From any thread; a load. */
bool xg_engine_used(void);

/* Begins to start the engine on a thread of its own, once; does nothing when it is past COLD. Where
 * a stream capture of the program forbids the start it is COLD again after it, twice at most. With
 * XGEMM_MODE=gpu and compare one warning says that there is no usable GPU, once that is known, and
 * in a build without CUDA at once; with auto nothing does. */
void xg_engine_start(const struct xg_conf *conf);

/* Starts it if need be and waits until it is READY or NONE (or FORKED, or COLD again); returns that
 * state, or STARTING where it takes more than 5 s, or XGEMM_TIMEOUT_MS (a caller inside dlopen
 * holds what the start waits for), and at once when that has happened before. */
enum xg_engine_state xg_engine_wait(const struct xg_conf *conf);

/* When who waits for a start, or for something like it, stops: after 5 s, or XGEMM_TIMEOUT_MS. */
void xg_engine_start_deadline(struct timespec *until, const struct xg_conf *conf);

/* Runs it on a thread of its own, which takes no signals and has the default floating-point
 * environment. The end of the process waits for what it is at. False: there is no thread. */
bool xg_engine_aside(void (*run)(const struct xg_conf *), const struct xg_conf *conf);

struct xg_dev;

/* A device of the engine's, from 0, which stays until it is let go; *dev is NULL where it is lost,
 * and there is nothing to let go. False: there is none of that number. Products run meanwhile. */
bool xg_engine_hold(int number, struct xg_dev **dev);
void xg_engine_let_go(int number);

/* Whether a call waits for a lane while all are busy. */
struct xg_patience {
    double takes_s; /* what it is expected to take on a lane: those behind it count with that */
    double waits_s; /* it waits where those ahead of it are expected to need less than this;
                       HUGE_VAL: in any case */
    double most_s;  /* and for no longer than this, whatever was expected; 0: as long as it takes */
    int threads;    /* that may stage it, at least 1: the cores that are left */
};

/*
 * Runs *call on a free lane; where none is free and *patience says so, on the next one. NULL: waits
 * in any case, and nobody behind it knows for how long it will be there. Once no lane has been
 * taken or come free for four times XGEMM_TIMEOUT_MS nobody waits until one does. A lane that comes
 * free goes to whoever asks first. result->waited_s is how long it waited. XG_DECLINED: not ready,
 * or busy; nothing touched. Otherwise as xg_gemm_run. Failures are counted, but for XG_ERR_CAPTURE,
 * and after three in a row on a device, or a lost context, it gets no more products; once none is
 * left, and none is still being opened, the engine's state is NONE for the rest of the process. The
 * share of products that XGEMM_VERIFY asks for, chosen by their number, is verified (but in compare
 * mode); a device with three wrong ones in a row, among those, gets no more either.
 */
enum xg_status xg_engine_gemm(const struct xg_problem *call, const struct xg_conf *conf,
                              const struct xg_cpu *cpu, const struct xg_patience *patience,
                              struct xg_gemm_result *result);

#endif
