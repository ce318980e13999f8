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

/* A step of the routine; NULL: it has no more. */
static const struct xg_solver_row *row_of(const struct xg_solver_call *call, int step)
{
    const struct xg_routine_row *routine = &xg_routine_rows[call->routine->name];
    return step < XG_ROUTINE_STEPS && routine->steps[step] ? &xg_solver_rows[routine->steps[step]]
                                                           : NULL;
}

/* The step's extra matrix. With `polar` no step starts again from a copy of A. */
static enum xg_spare spare_of(const struct xg_solver_call *call, int step)
{
    const enum xg_spare spare = row_of(call, step)->spare;
    return spare == XG_SPARE_COPY && call->routine->polar ? XG_SPARE_NONE : spare;
}

int64_t xg_solver_spare_elems(const struct xg_solver_call *call)
{
    const int64_t n = call->n;
    for (int i = 0; row_of(call, i); i++)
        if (spare_of(call, i) != XG_SPARE_NONE)
            return spare_of(call, i) == XG_SPARE_TRIANGLE ? 3 * n * n
                                                          : call->operand[XG_SLOT_A].ld * n;
    return 0;
}

static const char *text_of(const struct xg_solver_call *call)
{
    return xg_routine_text(call->routine->name, call->routine->type);
}

/* The sizes fit the functions of all steps. */
static bool fits(const struct xg_solver_call *call)
{
    int64_t most = xg_max_i64(xg_max_i64(call->m, call->n), call->routine->k);
    for (int slot = 0; slot < XG_SLOT_COUNT; slot++)
        most = xg_max_i64(most, call->operand[slot].ld);
    for (int i = 0; row_of(call, i); i++)
        if ((row_of(call, i)->ints && most > INT_MAX) ||
            (spare_of(call, i) == XG_SPARE_UNIT && call->n > XG_SOLVER_ONES))
            return false;
    return true;
}

enum xg_status xg_solver_measure(struct xg_solver *solver, struct xg_solver_call *call)
{
    if (!fits(call))
        return XG_DECLINED;
    call->work_bytes = call->host_bytes = 0;
    for (int i = 0; row_of(call, i); i++) {
        size_t device_bytes = 0, host_bytes = 0;
        const struct xg_solver_step step = {solver, call, &device_bytes, &host_bytes, NULL};
        if (xg_drv_ended())
            return XG_ERR_LOST;
        enum xg_status status = status_of(row_of(call, i)->function(&step), text_of(call));
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
    if (!row_of(call, step)->mirrored || !xg_solver_is_mirrored(solver, call))
        return XG_OK;
    return xg_mirror_run(dev, solver->mirrors[call->routine->type], args, solver->stream);
}

/* Writes to A and spare what a step expects there. */
static enum xg_status prepare(const struct xg_dev *dev, const struct xg_solver *solver,
                              const struct xg_solver_call *call, int step)
{
    const struct xg_solver_matrix *a = &call->operand[XG_SLOT_A];
    const struct xg_solver_spare spare = {call->spare,         a->at,         a->ld, call->n,
                                          call->routine->type, solver->stream};
    enum xg_status status = XG_OK;
    switch (spare_of(call, step)) {
    case XG_SPARE_COPY:
        status = xg_solver_spare_copy(dev, &spare);
        break;
    case XG_SPARE_UNIT:
        status = xg_solver_spare_unit(dev, &spare, call->block->ones);
        break;
    case XG_SPARE_TRIANGLE:
        status = xg_solver_spare_triangle(dev, &spare);
        break;
    default:
        break;
    }
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

/* The same for QR. */
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
    const struct xg_solver_row *row = row_of(call, index);
    const CUdeviceptr info = call->info + (unsigned)index * sizeof(int);
    const struct xg_solver_step step = {solver, call, NULL, NULL, (void *)(uintptr_t)info};
    const enum xg_status status = row->ours == XG_OURS_LU   ? factorize_lu(dev, solver, call, info)
                                  : row->ours == XG_OURS_QR ? factorize_qr(dev, solver, call)
                                                            : XG_ERR_NOTFOUND;
    if (status != XG_ERR_NOTFOUND)
        return status;
    return xg_drv_ended() ? XG_ERR_LOST : status_of(row->function(&step), text_of(call));
}

enum xg_status xg_solver_wait(const struct xg_dev *dev, const struct xg_solver *solver,
                              double limit_s)
{
    enum { SPINS = 5000 }; /* some milliseconds: a pause between queries lengthens short waits */
    enum xg_status status = XG_DRV(&dev->drv, cuEventRecord, solver->done, solver->stream);
    return status == XG_OK ? xg_dev_await(dev, solver->done, SPINS, limit_s) : status;
}

enum xg_status xg_solver_run(struct xg_dev *dev, struct xg_solver *solver,
                             struct xg_solver_call *call)
{
    int *info = call->block->info;
    enum xg_status status =
        XG_DRV(&dev->drv, cuMemsetD32Async, call->info, 0, XG_ROUTINE_STEPS, solver->stream);
    call->kernel = "cuSOLVER";
    for (int i = 0; row_of(call, i) && status == XG_OK; i++) {
        status = prepare(dev, solver, call, i);
        if (status == XG_OK)
            status = run_step(dev, solver, call, i);
        if (status == XG_OK)
            status = mirror(dev, solver, call, i, true);
        if (status == XG_OK && call->deflate && i == 0)
            status = call->deflate(dev, solver, solver->stream, call);
    }
    if (status == XG_OK)
        status = XG_DRV(&dev->drv, cuMemcpyDtoHAsync, info, call->info,
                        XG_ROUTINE_STEPS * sizeof *info, solver->stream);
    if (status == XG_OK)
        status = xg_solver_wait(dev, solver, call->limit_s);
    if (status == XG_OK && xg_routine_rows[call->routine->name].retries && call->v_is_rows)
        info[0] = 0; /* the first step's answer is not used */
    for (int i = 0; i < XG_ROUTINE_STEPS; i++)
        if (status == XG_OK && info[i] != 0)
            status = XG_DECLINED;
    return status;
}
