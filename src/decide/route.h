/* SPDX-License-Identifier: MIT */
/* How a device computes a problem: decided once a call; pipeline and compute obey. Pure. */
#ifndef XG_ROUTE_H
#define XG_ROUTE_H

#include "base/conf.h"
#include "decide/select.h"

struct xg_route {
    struct xg_device_facts facts;
    enum xg_math math;
    const char *kernel_name; /* for the runs: XGEMM_KERNEL, or NULL to choose */
    struct xg_choice whole;  /* for the whole problem, or one instance of a batch; no row: the
                              * device cannot compute it */
    bool pieces; /* split the operands into pieces or residues, if both fit the device memory */
    double macs_per_byte; /* multiply-adds in the time in which the link transfers a byte
                           * (tiling.h) */
};

/*
 * Decides for *call (m, n, k >= 1) on the device. math, kernel_name: see select.h. Only cuBLAS
 * computes problems in place (TRMM, TRSM). kernel_name is kept, not copied.
 */
void xg_route_decide(struct xg_route *route, const struct xg_device_facts *facts, enum xg_math math,
                     const char *kernel_name, const struct xg_problem *call);

/* The choice for one run of its plan, without pieces: a tile (m,n) of one slice of depth k. */
struct xg_choice xg_route_run(const struct xg_route *route, const struct xg_problem *call,
                              int64_t m, int64_t n, int64_t k);

/* Returns the choice of xg_select, or a recent one: programs repeat shapes, and a selection takes
 * microseconds. A named row is selected again each time. Callable from any thread and any signal
 * handler. */
struct xg_choice xg_route_select(const struct xg_device_facts *facts, enum xg_math math,
                                 const char *name, const struct xg_shape *shape);

/* How the sums of *call are computed, with or without pieces; this bounds their errors
 * (verify.h). */
enum xg_sums xg_route_sums(const struct xg_route *route, const struct xg_problem *call,
                           bool pieces);

/* The choice for a product with operands on the device: a kernel of the table, or a row that works
 * on pieces if it is named or expected to be clearly faster. The row of residues computes complex
 * products only as problems (xg_launch_gemm declines them). */
struct xg_choice xg_route_resident(const struct xg_device_facts *facts, enum xg_math math,
                                   const char *kernel_name, const struct xg_shape *shape);

/* Whether pieces or residues may compute the problem: cuBLAS computes problems in place and with a
 * complex alpha, and SYR2K and batches of small instances use other kernels. */
bool xg_route_may_emulate(const struct xg_problem *call);

/* Whether the instances of a batch are large enough to run as separate problems, one after the
 * other. As a separate problem an instance is cut into tiles and may be computed from pieces. */
bool xg_route_is_one_by_one(const struct xg_problem *call);

#endif
