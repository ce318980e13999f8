/* SPDX-License-Identifier: MIT */
#include "compute/gram.h"

#include <math.h>

#include "compute/cast.h"
#include "compute/cublas.h"
#include "compute/solver_part.h"
#include "device/mem.h"

/*
 * The devices that use the method: FP32's rate over FP64's is at most this. It is 2 on V100, A100
 * and H100, and 32 or 64 on graphics devices. 0: no device.
 */
enum { FP64_RATIO_MOST = 2 };

/* In call->spare, in double precision. */
struct scratch {
    CUdeviceptr a;   /* (m,n) */
    CUdeviceptr v;   /* (n,n): the Gram matrix, then V */
    CUdeviceptr w;   /* n: -S² */
    CUdeviceptr u;   /* (m,columns): A V, then U */
    CUdeviceptr tau; /* n */
    CUdeviceptr r;   /* n: R's diagonal */
};

struct run {
    struct xg_dev *dev;
    struct xg_solver *solver;
    CUstream stream;
    struct xg_solver_call *call;
    enum xg_type type; /* in double precision */
    int64_t m, n;
    struct xg_cast cast;
    struct scratch scratch;
};

static enum xg_type wide_type(const struct xg_solver_call *call)
{
    return xg_type_is_complex(call->routine->type) ? XG_TYPE_Z : XG_TYPE_D;
}

static CUdeviceptr take(CUdeviceptr *at, int64_t elems, enum xg_type type)
{
    enum { ALIGNMENT = 256 };
    const CUdeviceptr taken = *at;
    *at += (CUdeviceptr)xg_round_up(elems * (int64_t)xg_type_bytes(type), ALIGNMENT);
    return taken;
}

/* Places the matrices from an address on. Returns the address behind them. */
static CUdeviceptr lay_out(const struct xg_solver_call *call, CUdeviceptr at, struct scratch *out)
{
    const enum xg_type type = wide_type(call);
    const bool vectors = call->routine->vectors != XG_VECTORS_NONE;
    out->a = take(&at, call->m * call->n, type);
    out->v = take(&at, call->n * call->n, type);
    out->w = take(&at, call->n, XG_TYPE_D);
    out->u = take(&at, vectors ? call->m * xg_solver_u_columns(call) : 0, type);
    out->tau = take(&at, vectors ? call->n : 0, type);
    out->r = take(&at, vectors ? call->n : 0, type);
    return at;
}

/* --- Steps ----------------------------------------------------------------------------------- */

/* C = alpha op(A) B, column-major: (m,n), k deep. A has m rows in memory. */
static enum xg_status multiply(const struct run *run, enum xg_trans trans, double alpha,
                               CUdeviceptr b, struct xg_solver_matrix c, int64_t m, int64_t k)
{
    const struct xg_gemm_args gemm = {
        .type = run->type,
        .transb = trans,
        .m = run->n,
        .n = m,
        .k = k,
        .alpha = alpha,
        .a = b,
        .lda = k,
        .b = run->scratch.a,
        .ldb = run->m,
        .c = c.at,
        .ldc = c.ld,
    };
    enum xg_status status = xg_cublas_gemm(run->dev, &gemm, false, run->stream);
    return status == XG_ERR_NOTFOUND ? XG_DECLINED : status;
}

/* The routines in double precision: SYEVD, and GEQRF and ORGQR for U. */
enum { EIGEN, FACTOR, FORM, PARTS };

static struct xg_routine routine_of(const struct xg_solver_call *call, int part)
{
    const struct xg_routine routines[PARTS] = {
        [EIGEN] = {.name = XG_ROUTINE_SYEVD,
                   .uplo = XG_LOWER,
                   .vectors = call->routine->vectors,
                   .m = call->n,
                   .n = call->n},
        [FACTOR] = {.name = XG_ROUTINE_GEQRF, .m = call->m, .n = call->n},
        [FORM] = {.name = XG_ROUTINE_ORGQR,
                  .m = call->m,
                  .n = xg_solver_u_columns(call),
                  .k = call->n},
    };
    struct xg_routine routine = routines[part];
    routine.type = wide_type(call);
    return routine;
}

static struct xg_solver_call part_of(const struct xg_solver_call *call,
                                     const struct xg_routine *routine,
                                     const struct scratch *scratch)
{
    struct xg_solver_call part = xg_solver_part(call, routine);
    const bool eigen = routine->name == XG_ROUTINE_SYEVD;
    part.operand[XG_SLOT_A] =
        (struct xg_solver_matrix){eigen ? scratch->v : scratch->u, eigen ? call->n : call->m};
    part.operand[XG_SLOT_W].at = scratch->w;
    part.operand[XG_SLOT_TAU].at = scratch->tau;
    return part;
}

static enum xg_status run_part(const struct run *run, int which)
{
    const struct xg_routine routine = routine_of(run->call, which);
    struct xg_solver_call part = part_of(run->call, &routine, &run->scratch);
    return xg_solver_part_run(run->dev, run->solver, run->call, &part);
}

/* Writes S to the call's operand. */
static enum xg_status put_values(const struct run *run)
{
    const size_t n = (size_t)run->n;
    double *squares = run->call->block->ones;
    float *values = (float *)(squares + n);
    enum xg_status status =
        xg_mem_host_copy(run->dev, false, run->scratch.w, n * sizeof *squares, squares,
                         n * sizeof *squares, n * sizeof *squares, 1, run->stream);
    if (status == XG_OK)
        status = xg_solver_wait(run->dev, run->solver, run->call->limit_s);
    if (status != XG_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        values[i] = (float)sqrt(fmax(0, -squares[i]));
    return xg_mem_host_copy(run->dev, true, run->call->operand[XG_SLOT_W].at, n * sizeof *values,
                            values, n * sizeof *values, n * sizeof *values, 1, run->stream);
}

/* Copies a matrix of the scratch to the call's operand, and its columns from `first` on. */
static enum xg_status put_vectors(const struct run *run, enum xg_slot slot, CUdeviceptr from,
                                  int64_t rows, int64_t first, int64_t columns, CUdeviceptr phases)
{
    const struct xg_solver_matrix to = run->call->operand[slot];
    const struct xg_cast_args args = {
        .from = from + (CUdeviceptr)(first * rows) * xg_type_bytes(run->type),
        .to = to.at + (CUdeviceptr)(first * to.ld) * xg_type_bytes(run->call->routine->type),
        .from_ld = rows,
        .to_ld = to.ld,
        .rows = rows,
        .phases = phases,
    };
    return columns ? xg_cast_narrow(run->dev, &run->cast, args, columns, run->stream) : XG_OK;
}

/* Computes U from A V, with R's diagonal made positive, and writes both to the call's operands. */
static enum xg_status compute_vectors(const struct run *run)
{
    const struct scratch *scratch = &run->scratch;
    const struct xg_solver_matrix u = {scratch->u, run->m};
    const size_t bytes = xg_type_bytes(run->type);
    enum xg_status status = multiply(run, XG_NO_TRANS, 1, scratch->v, u, run->m, run->n);
    if (status == XG_OK)
        status = run_part(run, FACTOR);
    if (status == XG_OK)
        status = xg_mem_dev_copy(run->dev, scratch->r, bytes, scratch->u,
                                 (size_t)(run->m + 1) * bytes, bytes, (size_t)run->n, run->stream);
    if (status == XG_OK)
        status = run_part(run, FORM);
    if (status == XG_OK)
        status = put_vectors(run, XG_SLOT_U, scratch->u, run->m, 0, run->n, scratch->r);
    if (status == XG_OK)
        status = put_vectors(run, XG_SLOT_U, scratch->u, run->m, run->n,
                             xg_solver_u_columns(run->call) - run->n, 0);
    return status == XG_OK ? put_vectors(run, XG_SLOT_V, scratch->v, run->n, 0, run->n, 0) : status;
}

/* --- From pipeline/factor.c ----------------------------------------------------------------- */

bool xg_gram_serves(struct xg_dev *dev, const struct xg_solver_call *call)
{
    const struct xg_routine *routine = call->routine;
    const int64_t pitch_most = INT32_MAX / (int64_t)xg_type_bytes(XG_TYPE_Z) - 1;
    struct xg_cast cast;
    return xg_routine_rows[routine->name].retries && !xg_type_is_double(routine->type) &&
           dev->facts.fp64_ratio > 0 && dev->facts.fp64_ratio <= FP64_RATIO_MOST &&
           call->n <= XG_SOLVER_ONES && call->m <= pitch_most &&
           xg_solver_u_columns(call) <= INT32_MAX / call->m && dev->plan_bytes == 0 &&
           xg_cublas_is_loaded() && xg_cast_open(dev, wide_type(call), &cast) == XG_OK &&
           xg_cublas_present(dev);
}

size_t xg_gram_bytes(const struct xg_solver_call *call)
{
    struct scratch scratch;
    return (size_t)lay_out(call, 0, &scratch);
}

enum xg_status xg_gram_measure(struct xg_solver *solver, struct xg_solver_call *call)
{
    const int parts = call->routine->vectors == XG_VECTORS_NONE ? 1 : PARTS;
    const struct scratch none = {0};
    enum xg_status status = XG_OK;
    call->work_bytes = call->host_bytes = 0;
    for (int i = 0; i < parts && status == XG_OK; i++) {
        const struct xg_routine routine = routine_of(call, i);
        struct xg_solver_call part = part_of(call, &routine, &none);
        status = xg_solver_part_measure(solver, call, &part);
    }
    return status;
}

enum xg_status xg_gram_run(struct xg_dev *dev, struct xg_solver *solver, CUstream stream,
                           struct xg_solver_call *call)
{
    struct run run = {.dev = dev,
                      .solver = solver,
                      .stream = stream,
                      .call = call,
                      .type = wide_type(call),
                      .m = call->m,
                      .n = call->n};
    const struct xg_solver_matrix *a = &call->operand[XG_SLOT_A];
    call->kernel = "cuSOLVER";
    call->v_is_rows = false;
    lay_out(call, call->spare, &run.scratch);
    const struct xg_cast_args up = {
        .from = a->at, .to = run.scratch.a, .from_ld = a->ld, .to_ld = run.m, .rows = run.m};
    const struct xg_solver_matrix gram = {run.scratch.v, run.n};
    enum xg_status status = xg_cast_open(dev, run.type, &run.cast);
    if (status == XG_OK)
        status = xg_cast_widen(dev, &run.cast, up, run.n, stream);
    if (status == XG_OK)
        status = multiply(&run, xg_type_is_complex(run.type) ? XG_CONJ_TRANS : XG_TRANS, -1,
                          run.scratch.a, gram, run.n, run.m);
    if (status == XG_OK)
        status = run_part(&run, EIGEN);
    if (status == XG_OK)
        status = put_values(&run);
    if (status == XG_OK && call->routine->vectors != XG_VECTORS_NONE)
        status = compute_vectors(&run);
    return status == XG_OK ? xg_solver_wait(dev, solver, call->limit_s) : status;
}
