/* SPDX-License-Identifier: MIT */
/* The process's engine: started in the background when earned, shared by all threads, gone in a
 * fork. */
#ifndef XG_ENGINE_H
#define XG_ENGINE_H

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

/*
 * Whether cuBLAS has been loaded, or looked for in vain. Where that has yet to be done it begins,
 * on a thread of its own: it takes 0.1 s, and seconds from a disk that has not read the library
 * lately. From any thread; false unless the engine is READY.
 */
bool xg_engine_looked_for_cublas(void);

/* The same once that has ended, or after the time that xg_engine_wait takes at most. */
bool xg_engine_wait_for_cublas(const struct xg_conf *conf);

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
 * in any case, and nobody behind it knows for how long it will be there. Once one has waited four
 * times XGEMM_TIMEOUT_MS in vain nobody waits until a lane comes free. A lane that comes free goes
 * to whoever asks first. result->waited_s is how long it waited. XG_DECLINED: not ready, or busy;
 * nothing touched. Otherwise as xg_gemm_run. Failures are counted, but for XG_ERR_CAPTURE, and
 * after three in a row on a device, or a lost context, it gets no more products; once none is left,
 * and none is still being opened, the engine's state is NONE for the rest of the process.
 * The share of products that XGEMM_VERIFY asks for, chosen by their number, is verified (but in
 * compare mode); a device with three wrong ones in a row, among those, gets no more either.
 */
enum xg_status xg_engine_gemm(const struct xg_problem *call, const struct xg_conf *conf,
                              const struct xg_cpu *cpu, const struct xg_patience *patience,
                              struct xg_gemm_result *result);

#endif
