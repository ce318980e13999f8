/* SPDX-License-Identifier: MIT */
/* One intercepted call: asks the policy, runs it on the GPU or the CPU, and keeps the account. */
#ifndef XG_DISPATCH_H
#define XG_DISPATCH_H

#include "base/xg.h"

/*
 * Computes *call, always: C is right when this returns, whatever failed on the way. symbol is the
 * name that the program called (a static string). cpu: see xg.h; used for the whole call when the
 * policy says CPU, for the tiles left over after a failure, and beside the GPU in compare mode.
 *
 * From any thread. errno, the signal mask, the rounding mode and the caller's current CUDA context
 * are as before; the floating-point flags are not, and no trap may be enabled: the shim puts both
 * aside. Never calls a BLAS symbol itself.
 */
void xg_dispatch_problem(const char *symbol, const struct xg_problem *call,
                         const struct xg_cpu *cpu);

/*
 * True when a problem of this kind (problem.h) and size must be handed to xg_dispatch_problem;
 * false when the caller may forward it straight to its BLAS (too small ever to pay, or not to run
 * on a device, and nobody asked to be told; where XGEMM_MODE is gpu or compare every call is handed
 * over). A few nanoseconds: two loads and two multiplications once the configuration has been read.
 */
bool xg_dispatch_wants(int kind, int64_t m, int64_t n, int64_t k);

/* The same of one group of a call of several, which the CPU library computes beside each other: in
 * mode auto a small one is not taken out of them, nor told of, unless its place must not depend on
 * the others (XGEMM_REPRODUCIBLE). */
bool xg_dispatch_wants_group(int kind, int64_t m, int64_t n, int64_t k);

/* The configuration's XGEMM_CPU_BLAS, or NULL: the one setting that the shim itself needs. */
const char *xg_dispatch_cpu_blas(void);

#endif
