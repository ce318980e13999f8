/* SPDX-License-Identifier: MIT */
#include "compute/solver.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "compute/mirror.h"
#include "compute/solver_spare.h"
#include "compute/solver_steps.h"

static enum xg_status status_of(int result, const char *call)
{
    if (result == XG_SOLVER_SUCCESS)
        return XG_OK;
    xg_log(XG_LOG_INFO, "%s: %d", call, result);
    return result == XG_SOLVER_ALLOC_FAILED                                         ? XG_ERR_NOMEM
           : result == XG_SOLVER_INVALID_VALUE || result == XG_SOLVER_NOT_SUPPORTED ? XG_DECLINED
                                                                                    : XG_ERR_DRIVER;
}

/* --- Handles --------------------------------------------------------------------------------- */

/* After this many failures no handle is created again; the cause of fewer may be temporary. */
enum { FAILURES_MAX = 3 };

enum xg_status xg_solver_create(struct xg_dev *dev, CUstream stream, struct xg_solver **out)
{
    if (atomic_load(&dev->solver_failures) >= FAILURES_MAX || !xg_solver_load())
        return XG_ERR_NOTFOUND;
    struct xg_solver *solver = calloc(1, sizeof *solver);
    if (!solver)
        return XG_ERR_NOMEM;
    solver->stream = stream;
    enum xg_status status = XG_ERR_LOST;
    xg_drv_register_exit();
    if (xg_drv_ended())
        goto free_solver;
    status = XG_DRV(&dev->drv, cuEventCreate, &solver->done, CU_EVENT_DISABLE_TIMING);
    if (status != XG_OK)
        goto free_solver;
    status = status_of(xg_solver_functions.create(&solver->handle), "cusolverDnCreate");
    if (status != XG_OK)
        goto destroy_event;
    status =
        status_of(xg_solver_functions.set_stream(solver->handle, stream), "cusolverDnSetStream");
    if (status == XG_OK)
        status =
            status_of(xg_solver_functions.create_params(&solver->params), "cusolverDnCreateParams");
    if (status != XG_OK)
        goto destroy_handle;
    for (int type = 0; type < XG_TYPE_COUNT; type++)
        (void)xg_mirror_open(dev, (enum xg_type)type, &solver->mirrors[type]);
    *out = solver;
    return XG_OK;

destroy_handle:
    xg_solver_functions.destroy(solver->handle);
destroy_event:
    XG_DRV(&dev->drv, cuEventDestroy, solver->done);
free_solver:
    free(solver);
    if (status == XG_DECLINED)
        status = XG_ERR_DRIVER;
    if (status == XG_ERR_DRIVER)
        atomic_fetch_add(&dev->solver_failures, 1);
    return status;
}

void xg_solver_destroy(struct xg_dev *dev, struct xg_solver *solver)
{
    if (!solver)
        return;
    if (!xg_drv_ended()) {
        xg_solver_functions.destroy_params(solver->params);
        xg_solver_functions.destroy(solver->handle);
        XG_DRV(&dev->drv, cuEventDestroy, solver->done);
    }
    free(solver);
}

void xg_solver_forget(struct xg_solver *solver)
{
    free(solver);
}

/* --- Runs ------------------------------------------------------------------------------------ */

int64_t xg_solver_spare_elems(const struct xg_solver_call *call)
{
    const int64_t n = call->n;
    switch (xg_solver_rows[call->routine->name].spare) {
    case XG_SPARE_LIKE_A:
        return call->routine->polar ? 0 : call->operand[XG_SLOT_A].ld * n;
    case XG_SPARE_TRIANGLE:
        return 3 * n * n;
    default:
        return 0;
    }
}

static bool fits_int(const struct xg_solver_call *call)
{
    bool fits = call->m <= INT_MAX && call->n <= INT_MAX && call->routine->k <= INT_MAX;
    for (int slot = 0; slot < XG_SLOT_COUNT; slot++)
        fits = fits && call->operand[slot].ld <= INT_MAX;
    return fits;
}

enum xg_status xg_solver_measure(struct xg_solver *solver, struct xg_solver_call *call)
{
    enum xg_routine_name name = call->routine->name;
    if ((xg_solver_rows[name].ints && !fits_int(call)) ||
        (name == XG_ROUTINE_GETRI && call->n > XG_SOLVER_ONES))
        return XG_DECLINED;
    call->work_bytes = call->host_bytes = 0;
    for (int i = 0; i < XG_SOLVER_STEPS && xg_solver_rows[name].steps[i]; i++) {
        size_t device_bytes = 0, host_bytes = 0;
        const struct xg_solver_step step = {solver, call, &device_bytes, &host_bytes, NULL};
        if (xg_drv_ended())
            return XG_ERR_LOST;
        enum xg_status status = status_of(xg_solver_rows[name].steps[i](&step),
                                          xg_routine_text(name, call->routine->type));
        if (status != XG_OK)
            return status;
        if (device_bytes > call->work_bytes)
            call->work_bytes = device_bytes;
        if (host_bytes > call->host_bytes)
            call->host_bytes = host_bytes;
    }
    return XG_OK;
}

/* Mirrors A before the Cholesky factorization of an upper triangle, or back after it. */
static enum xg_status mirror(const struct xg_dev *dev, const struct xg_solver *solver,
                             const struct xg_solver_call *call, int step, bool back)
{
    const struct xg_solver_matrix *a = &call->operand[XG_SLOT_A];
    const struct xg_mirror_args args = {a->at, a->ld, call->n, !back};
    if (xg_solver_rows[call->routine->name].steps[step] != xg_solver_potrf ||
        !xg_solver_is_mirrored(solver, call))
        return XG_OK;
    return xg_mirror_run(dev, solver->mirrors[call->routine->type], args, solver->stream);
}

/* Writes to A, spare and info what a step expects there. */
static enum xg_status prepare(const struct xg_dev *dev, const struct xg_solver *solver,
                              const struct xg_solver_call *call, int step)
{
    const enum xg_routine_name name = call->routine->name;
    const struct xg_solver_matrix *a = &call->operand[XG_SLOT_A];
    const struct xg_solver_spare spare = {call->spare,         a->at,         a->ld, call->n,
                                          call->routine->type, solver->stream};
    if (xg_solver_rows[name].steps[step] == xg_solver_solve_triangle)
        return xg_solver_spare_triangle(dev, &spare);
    if (step > 0)
        return XG_OK;
    enum xg_status status =
        XG_DRV(&dev->drv, cuMemsetD32Async, call->info, 0, XG_SOLVER_STEPS, solver->stream);
    if (status == XG_OK && name == XG_ROUTINE_GESDD && !call->routine->polar)
        status = xg_solver_spare_copy(dev, &spare);
    if (status == XG_OK && name == XG_ROUTINE_GETRI)
        status = xg_solver_spare_unit(dev, &spare, call->block->ones);
    return status == XG_OK ? mirror(dev, solver, call, step, false) : status;
}

/* LU by our kernels. XG_ERR_NOTFOUND: they do not serve this matrix. */
static enum xg_status factorize_lu(struct xg_dev *dev, struct xg_solver *solver,
                                   struct xg_solver_call *call, CUdeviceptr info)
{
    const enum xg_type type = call->routine->type;
    struct xg_lu *lu = &solver->lus[type];
    const struct xg_lu_matrix matrix = {.type = type,
                                        .m = call->m,
                                        .n = call->n,
                                        .ld = call->operand[XG_SLOT_A].ld,
                                        .a = call->operand[XG_SLOT_A].at,
                                        .pivots = call->operand[XG_SLOT_PIVOTS].at,
                                        .info = info,
                                        .work = call->work};
    xg_lu_open(dev, type, lu);
    if (!xg_panel_serves(dev, &lu->panel, call->m, call->n))
        return XG_ERR_NOTFOUND;
    call->kernel = "lu_panel";
    return xg_lu_run(dev, lu, &matrix, solver->stream);
}

/* QR, likewise. */
static enum xg_status factorize_qr(struct xg_dev *dev, struct xg_solver *solver,
                                   struct xg_solver_call *call)
{
    const enum xg_type type = call->routine->type;
    struct xg_qr *qr = &solver->qrs[type];
    const struct xg_qr_matrix matrix = {.type = type,
                                        .m = call->m,
                                        .n = call->n,
                                        .ld = call->operand[XG_SLOT_A].ld,
                                        .a = call->operand[XG_SLOT_A].at,
                                        .tau = call->operand[XG_SLOT_TAU].at,
                                        .work = call->work};
    xg_qr_open(dev, type, qr);
    if (!xg_panel_serves(dev, &qr->panel, call->m, call->n))
        return XG_ERR_NOTFOUND;
    call->kernel = "qr_panel";
    return xg_qr_run(dev, qr, &matrix, solver->stream);
}

static enum xg_status run_step(struct xg_dev *dev, struct xg_solver *solver,
                               struct xg_solver_call *call, int index)
{
    const struct xg_routine *routine = call->routine;
    xg_solver_function *function = xg_solver_rows[routine->name].steps[index];
    const CUdeviceptr info = call->info + (unsigned)index * sizeof(int);
    const struct xg_solver_step step = {solver, call, NULL, NULL, (void *)(uintptr_t)info};
    const enum xg_status status = function == xg_solver_getrf
                                      ? factorize_lu(dev, solver, call, info)
                                  : function == xg_solver_geqrf ? factorize_qr(dev, solver, call)
                                                                : XG_ERR_NOTFOUND;
    if (status != XG_ERR_NOTFOUND)
        return status;
    return xg_drv_ended()
               ? XG_ERR_LOST
               : status_of(function(&step), xg_routine_text(routine->name, routine->type));
}

enum xg_status xg_solver_wait(const struct xg_dev *dev, const struct xg_solver *solver,
                              double limit_s)
{
    enum { SPINS = 5000 }; /* some milliseconds, of which a pause between queries would show */
    enum xg_status status = XG_DRV(&dev->drv, cuEventRecord, solver->done, solver->stream);
    return status == XG_OK ? xg_dev_await(dev, solver->done, SPINS, limit_s) : status;
}

enum xg_status xg_solver_run(struct xg_dev *dev, struct xg_solver *solver,
                             struct xg_solver_call *call)
{
    enum xg_routine_name name = call->routine->name;
    int *info = call->block->info;
    enum xg_status status = XG_OK;
    call->kernel = "cuSOLVER";
    for (int i = 0; i < XG_SOLVER_STEPS && xg_solver_rows[name].steps[i] && status == XG_OK; i++) {
        status = prepare(dev, solver, call, i);
        if (status != XG_OK)
            break;
        status = run_step(dev, solver, call, i);
        if (status == XG_OK)
            status = mirror(dev, solver, call, i, true);
        if (status == XG_OK && call->deflate &&
            xg_solver_rows[name].steps[i] == xg_solver_gesdd_by_polar)
            status = call->deflate(dev, solver, solver->stream, call);
    }
    if (status == XG_OK)
        status = XG_DRV(&dev->drv, cuMemcpyDtoHAsync, info, call->info,
                        XG_SOLVER_STEPS * sizeof *info, solver->stream);
    if (status == XG_OK)
        status = xg_solver_wait(dev, solver, call->limit_s);
    if (status == XG_OK && name == XG_ROUTINE_GESDD && call->v_is_rows)
        info[0] = 0; /* the first step's answer is not used */
    for (int i = 0; i < XG_SOLVER_STEPS; i++)
        if (status == XG_OK && info[i] != 0)
            status = XG_DECLINED;
    return status;
}
