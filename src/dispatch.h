/* SPDX-License-Identifier: MIT */
/* One intercepted call: asks the policy, runs it on the GPU or the CPU, and keeps the account. */
#ifndef XG_DISPATCH_H
#define XG_DISPATCH_H

#include "xg.h"

/*
 * Computes *call, always: C is right when this returns, whatever failed on the way. symbol is the
 * name that the program called (a static string). cpu: see xg.h; used for the whole call when the
 * policy says CPU, for the tiles left over after a failure, and beside the GPU in compare mode.
 *
 * From any thread. errno, the signal mask, the floating-point environment and the caller's current
 * CUDA context are as before. Never calls a BLAS symbol itself.
 */
void xg_dispatch_sgemm(const char *symbol, const struct xg_sgemm *call, const struct xg_cpu *cpu);

/*
 * True when a product of this size must be handed to xg_dispatch_sgemm; false when the caller may
 * forward it straight to its BLAS (too small ever to pay, and nobody asked to be told). A few
 * nanoseconds: one load and two multiplications once the configuration has been read.
 */
bool xg_dispatch_wants(int64_t m, int64_t n, int64_t k);

/* The configuration's XGEMM_CPU_BLAS, or NULL: the one setting that the shim itself needs. */
const char *xg_dispatch_cpu_blas(void);

#endif
