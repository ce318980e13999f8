/* SPDX-License-Identifier: MIT */
#include "compute/solver_part.h"

struct xg_solver_call xg_solver_part(const struct xg_solver_call *call,
                                     const struct xg_routine *routine)
{
    struct xg_solver_call part = *call;
    part.routine = routine;
    part.m = routine->m;
    part.n = routine->n;
    part.by_qr = false;
    part.deflate = NULL;
    return part;
}

enum xg_status xg_solver_part_measure(struct xg_solver *solver, struct xg_solver_call *call,
                                      struct xg_solver_call *part)
{
    enum xg_status status = xg_solver_measure(solver, part);
    if (status != XG_OK)
        return status;
    if (part->work_bytes > call->work_bytes)
        call->work_bytes = part->work_bytes;
    if (part->host_bytes > call->host_bytes)
        call->host_bytes = part->host_bytes;
    return XG_OK;
}

enum xg_status xg_solver_part_run(struct xg_dev *dev, struct xg_solver *solver,
                                  const struct xg_solver_call *call, struct xg_solver_call *part)
{
    enum xg_status status = xg_solver_measure(solver, part);
    if (status == XG_OK &&
        (part->work_bytes > call->work_bytes || part->host_bytes > call->host_bytes))
        status = XG_DECLINED;
    return status == XG_OK ? xg_solver_run(dev, solver, part) : status;
}
