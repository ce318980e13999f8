/* SPDX-License-Identifier: MIT */
/* Routines as steps of a call, in its device memory. */
#ifndef XG_SOLVER_PART_H
#define XG_SOLVER_PART_H

#include "compute/solver.h"

/* A call of a routine on parts of the call's memory, with the call's operands. */
struct xg_solver_call xg_solver_part(const struct xg_solver_call *call,
                                     const struct xg_routine *routine);

/* Raises the call's work_bytes and host_bytes to what the part needs. Returns the statuses of
 * xg_solver_measure. */
enum xg_status xg_solver_part_measure(struct xg_solver *solver, struct xg_solver_call *call,
                                      struct xg_solver_call *part);

/* Runs the part in the call's workspace. Returns the statuses of xg_solver_run; XG_DECLINED also if
 * that workspace is too small. */
enum xg_status xg_solver_part_run(struct xg_dev *dev, struct xg_solver *solver,
                                  const struct xg_solver_call *call, struct xg_solver_call *part);

#endif
