/* SPDX-License-Identifier: MIT */
/* Handles one intercepted call: decides, runs it on the GPU or the CPU, records it. */
#ifndef XG_DISPATCH_H
#define XG_DISPATCH_H

#include "base/call.h"
#include "base/xg.h"

/*
 * Always computes *call, whatever failed on the way. cpu: see xg.h; it computes the whole call if
 * the policy says CPU, the remaining tiles of a product after a failure, and the CPU's side in
 * compare mode. For a routine cpu->part is not used and may be NULL.
 *
 * True: the GPU computed all of it, or its part of least squares before cpu->factored; the results
 * of a routine are in its operands, and LAPACK's info is 0. False: the CPU computed a part of the
 * product, or the whole call.
 *
 * From any thread. errno, the signal mask, the floating-point environment and the current CUDA
 * context are as before. Never calls a BLAS symbol itself.
 */
bool xg_dispatch(const struct xg_call *call, const struct xg_cpu *cpu);

/*
 * True if the caller must hand a problem of this kind (problem.h) and size to xg_dispatch. False if
 * it may forward the call to its BLAS: the call is not reported, and it is too small to gain on a
 * device or cannot run there. Always true if XGEMM_MODE is gpu or compare. A few nanoseconds: two
 * loads and two multiplications once the configuration has been read.
 */
bool xg_dispatch_wants(int kind, int64_t m, int64_t n, int64_t k);

/* The same for one group of a call with several groups, which the CPU library computes in parallel.
 * In mode auto a small group stays with the others and is not reported, unless its place must not
 * depend on the others (XGEMM_REPRODUCIBLE). */
bool xg_dispatch_wants_group(int kind, int64_t m, int64_t n, int64_t k);

/*
 * True if the caller must hand a routine with these dimensions of A to xg_dispatch. False if it may
 * forward the call: the call is not reported, and it is too small to gain on a device or routines
 * are switched off (XGEMM_LAPACK). A few nanoseconds once the configuration has been read.
 */
bool xg_dispatch_wants_routine(int64_t m, int64_t n);

/* After xg_dispatch_wants_routine, once the arguments have been read: false if the caller may
 * forward the routine, because it has too few operations to gain on a device and is not
 * reported. */
bool xg_dispatch_wants_flops(const struct xg_routine *routine);

/* The configuration's XGEMM_CPU_BLAS, or NULL: the only setting that the shim itself needs. */
const char *xg_dispatch_cpu_blas(void);

#endif
