/* SPDX-License-Identifier: MIT */
/* How a device computes a problem: decided once a call; pipeline and compute obey. Pure. */
#ifndef XG_ROUTE_H
#define XG_ROUTE_H

#include "base/conf.h"
#include "decide/recent.h"
#include "decide/select.h"

struct xg_plan;

struct xg_route {
    struct xg_device_facts facts;
    enum xg_math math;
    const char *kernel_name; /* for the runs: XGEMM_KERNEL, or NULL to choose */
    struct xg_shape shape;   /* of the whole problem, or of one instance of a batch */
    struct xg_choice whole;  /* for it; no row: the device cannot compute it */
    bool pieces; /* split the operands into pieces or residues, if both fit the device memory */
};

/*
 * Decides for *call (m, n, k >= 1) on the device. math, kernel_name: see select.h. recent: the
 * caller's, or NULL. Only cuBLAS computes problems in place (TRMM, TRSM). kernel_name is kept, not
 * copied.
 */
void xg_route_decide(struct xg_route *route, struct xg_recent *recent,
                     const struct xg_device_facts *facts, enum xg_math math,
                     const char *kernel_name, const struct xg_problem *call);

/* Chooses how runs without pieces are computed: selects once for each of the plan's shapes. */
void xg_route_choose(const struct xg_route *route, struct xg_recent *recent, struct xg_plan *plan);

/* Multiply-adds in the time in which the link transfers a byte (tiling.h). */
double xg_route_macs_per_byte(const struct xg_route *route);

/* How the sums of *call are computed, with or without pieces; this bounds their errors
 * (verify.h). */
enum xg_sums xg_route_sums(const struct xg_route *route, const struct xg_problem *call,
                           bool pieces);

/* The choice for a product with operands on the device: a kernel of the table, or a row that works
 * on pieces if it is named or expected to be clearly faster. The row of residues computes complex
 * products only as problems (xg_launch_gemm declines them). */
struct xg_choice xg_route_resident(const struct xg_device_facts *facts, enum xg_math math,
                                   const char *kernel_name, const struct xg_shape *shape);

/* Whether the instances of a batch are large enough to run as separate problems, one after the
 * other. As a separate problem an instance is cut into tiles and may be computed from pieces. */
bool xg_route_is_one_by_one(const struct xg_problem *call);

#endif
