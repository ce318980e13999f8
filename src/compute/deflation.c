/* SPDX-License-Identifier: MIT */
#include "compute/deflation.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "compute/cublas.h"
#include "compute/solver_part.h"
#include "device/mem.h"

/*
 * The largest noise, in units of eps and of the largest value: of R's diagonal, and of the largest
 * value of A Q2. In double precision it was 0 to 9.6 for n = 512 to 4096; in single precision it
 * was 4 to 8 for rank n - 1. For half the rank it was 20 to 400, which is too large for noise,
 * because Xgesvdp's vectors are less exact there.
 */
enum { NOISE = 16 };

/* Rounds of the power method: one round suffices for a value that is ten times the others. */
enum { ROUNDS = 2 };

/* The largest noise of a matrix with such values. */
static double noise_most(enum xg_type type, double largest)
{
    return NOISE * (xg_type_is_double(type) ? DBL_EPSILON : (double)FLT_EPSILON) * largest;
}

/* The memory behind the copy of A. */
struct scratch {
    CUdeviceptr v;          /* (r,r) */
    CUdeviceptr tau;        /* n */
    CUdeviceptr z, q2z, az; /* vectors of n, n and m elements */
};

struct run {
    struct xg_dev *dev;
    struct xg_solver *solver;
    CUstream stream;
    struct xg_solver_call *call;
    enum xg_type type;
    int64_t m, n, rank;
    double largest, noise;
    struct scratch scratch;
    struct xg_solver_matrix a, u, v, free; /* A; Xgesvdp's U; V; memory of A's size */
};

static CUdeviceptr element(const struct run *run, CUdeviceptr at, int64_t elems)
{
    return at + (size_t)elems * xg_type_bytes(run->type);
}

static struct xg_solver_matrix from(const struct run *run, struct xg_solver_matrix matrix,
                                    int64_t column)
{
    return (struct xg_solver_matrix){element(run, matrix.at, column * matrix.ld), matrix.ld};
}

/* --- Steps ----------------------------------------------------------------------------------- */

/* C = op(A) B, column-major: (m,n), k deep. */
static enum xg_status multiply(const struct run *run, enum xg_trans trans,
                               struct xg_solver_matrix a, struct xg_solver_matrix b,
                               struct xg_solver_matrix c, int64_t m, int64_t n, int64_t k)
{
    const struct xg_gemm_args gemm = {
        .type = run->type,
        .transb = trans,
        .m = n,
        .n = m,
        .k = k,
        .alpha = 1,
        .a = b.at,
        .lda = b.ld,
        .b = a.at,
        .ldb = a.ld,
        .c = c.at,
        .ldc = c.ld,
    };
    enum xg_status status = xg_cublas_gemm(run->dev, &gemm, false, run->stream);
    return status == XG_ERR_NOTFOUND ? XG_DECLINED : status;
}

static enum xg_status copy(const struct run *run, struct xg_solver_matrix to,
                           struct xg_solver_matrix source, int64_t rows, int64_t columns)
{
    const size_t bytes = xg_type_bytes(run->type);
    return xg_mem_dev_copy(run->dev, to.at, (size_t)to.ld * bytes, source.at,
                           (size_t)source.ld * bytes, (size_t)rows * bytes, (size_t)columns,
                           run->stream);
}

/* A step of a QR factorization in the matrix: R and the reflectors, or Q's first columns. */
static enum xg_status factorize(const struct run *run, enum xg_routine_name name,
                                struct xg_solver_matrix matrix, int64_t rows, int64_t columns,
                                int64_t reflectors)
{
    const struct xg_routine routine = {
        .name = name, .type = run->type, .m = rows, .n = columns, .k = reflectors};
    struct xg_solver_call part = xg_solver_part(run->call, &routine);
    part.operand[XG_SLOT_A] = matrix;
    part.operand[XG_SLOT_TAU].at = run->scratch.tau;
    return xg_solver_part_run(run->dev, run->solver, run->call, &part);
}

/* Copies numbers between the device, where they lie a pitch apart, and the call's block, and waits.
 */
static enum xg_status move(const struct run *run, bool to_device, CUdeviceptr at, size_t pitch,
                           size_t bytes, int64_t count)
{
    enum xg_status status = xg_mem_host_copy(run->dev, to_device, at, pitch, run->call->block->ones,
                                             bytes, bytes, (size_t)count, run->stream);
    return status == XG_OK ? xg_solver_wait(run->dev, run->solver, run->call->limit_s) : status;
}

static enum xg_status down(const struct run *run, CUdeviceptr at, size_t bytes)
{
    return move(run, false, at, bytes, bytes, 1);
}

static enum xg_status up(const struct run *run, CUdeviceptr at, size_t bytes)
{
    return move(run, true, at, bytes, bytes, 1);
}

static size_t real_bytes(const struct run *run)
{
    return xg_type_bytes(xg_type_real(run->type));
}

static double number(const struct run *run, int64_t i)
{
    const double *numbers = run->call->block->ones;
    return xg_type_is_double(run->type) ? numbers[i] : (double)((const float *)numbers)[i];
}

static double magnitude(const struct run *run, int64_t i)
{
    return xg_type_is_complex(run->type) ? hypot(number(run, 2 * i), number(run, 2 * i + 1))
                                         : fabs(number(run, i));
}

static void set_number(const struct run *run, int64_t i, double x)
{
    double *numbers = run->call->block->ones;
    if (xg_type_is_double(run->type))
        numbers[i] = x;
    else
        ((float *)numbers)[i] = (float)x;
}

/* --- The method ------------------------------------------------------------------------------ */

/* R's diagonal shows the rank: its elements from number r on are small. */
static enum xg_status find_rank(struct run *run)
{
    const size_t bytes = xg_type_bytes(run->type);
    enum xg_status status =
        move(run, false, run->v.at, (size_t)(run->v.ld + 1) * bytes, bytes, run->n);
    if (status != XG_OK)
        return status;
    for (int64_t i = 0; i < run->n; i++)
        run->largest = fmax(run->largest, magnitude(run, i));
    const double least = noise_most(run->type, run->largest);
    while (run->rank < run->n && magnitude(run, run->rank) > least)
        run->rank++;
    for (int64_t i = run->rank; i < run->n; i++)
        if (!(magnitude(run, i) <= least))
            return XG_DECLINED;
    return run->rank > 0 && run->rank < run->n ? XG_OK : XG_DECLINED;
}

static enum xg_trans adjoint(const struct run *run)
{
    return xg_type_is_complex(run->type) ? XG_CONJ_TRANS : XG_TRANS;
}

/* Writes Q1 and Q2 to V; Q2 spans the null space. */
static enum xg_status find_null_space(struct run *run)
{
    enum xg_status status =
        multiply(run, adjoint(run), run->a, run->u, run->v, run->n, run->n, run->m);
    if (status == XG_OK)
        status = factorize(run, XG_ROUTINE_GEQRF, run->v, run->n, run->n, 0);
    if (status == XG_OK)
        status = find_rank(run);
    return status == XG_OK ? factorize(run, XG_ROUTINE_ORGQR, run->v, run->n, run->n, run->rank)
                           : status;
}

static double norm(const struct run *run, int64_t elems)
{
    const int64_t numbers = elems * xg_type_parts(run->type);
    double squares = 0, most = 0;
    for (int64_t i = 0; i < numbers; i++)
        most = fmax(most, fabs(number(run, i)));
    for (int64_t i = 0; i < numbers && most > 0; i++)
        squares += pow(number(run, i) / most, 2);
    return most * sqrt(squares);
}

/* The norm of A Q2 z. The block holds z, and then A Q2 z. */
static enum xg_status apply(const struct run *run, double *length)
{
    const struct xg_solver_matrix z = {run->scratch.z, run->n}, q2z = {run->scratch.q2z, run->n},
                                  az = {run->scratch.az, run->m};
    const int64_t null = run->n - run->rank;
    enum xg_status status = up(run, z.at, (size_t)null * xg_type_bytes(run->type));
    if (status == XG_OK)
        status = multiply(run, XG_NO_TRANS, from(run, run->v, run->rank), z, q2z, run->n, 1, null);
    if (status == XG_OK)
        status = multiply(run, XG_NO_TRANS, run->a, q2z, az, run->m, 1, run->n);
    if (status == XG_OK)
        status = down(run, az.at, (size_t)run->m * xg_type_bytes(run->type));
    *length = norm(run, run->m);
    return status;
}

/* Writes the power method's next z, of length 1, to the block, from A Q2 z. */
static enum xg_status turn(const struct run *run)
{
    const struct xg_solver_matrix z = {run->scratch.z, run->n}, q2z = {run->scratch.q2z, run->n},
                                  az = {run->scratch.az, run->m};
    const int64_t null = run->n - run->rank;
    const int64_t numbers = null * xg_type_parts(run->type);
    enum xg_status status = multiply(run, adjoint(run), run->a, az, q2z, run->n, 1, run->m);
    if (status == XG_OK)
        status = multiply(run, adjoint(run), from(run, run->v, run->rank), q2z, z, null, 1, run->n);
    if (status == XG_OK)
        status = down(run, z.at, (size_t)null * xg_type_bytes(run->type));
    const double length = norm(run, null);
    for (int64_t i = 0; i < numbers; i++)
        set_number(run, i, length > 0 ? number(run, i) / length : 0);
    return status;
}

/* Computes A Q2 z for a z of random signs: the mean of its squared norm is the sum of the squares
 * of A Q2's values. Then runs the power method. XG_DECLINED: A Q2 is not noise. */
static enum xg_status measure_noise(struct run *run)
{
    const int64_t null = run->n - run->rank, parts = xg_type_parts(run->type);
    uint64_t bits = 0x9e3779b97f4a7c15u;
    double all, most = 0;
    for (int64_t i = 0; i < null * parts; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        set_number(run, i, parts == 2 && i % 2 ? 0 : bits >> 63 ? 1 : -1);
    }
    enum xg_status status = apply(run, &all);
    run->noise = all / sqrt((double)null);
    for (int round = 0; round < ROUNDS && status == XG_OK; round++) {
        status = turn(run);
        if (status == XG_OK)
            status = apply(run, &most);
    }
    if (status != XG_OK)
        return status;
    xg_log(XG_LOG_INFO, "gesdd: rank %lld of %lld, the rest has %.3g of the largest value, or %.3g",
           (long long)run->rank, (long long)run->n, run->noise / run->largest, most / run->largest);
    const double limit = noise_most(run->type, run->largest);
    return run->noise <= limit && most <= limit ? XG_OK : XG_DECLINED;
}

/* Computes the values, U's first columns, and V's first columns from Q1 W. */
static enum xg_status compute_rest(const struct run *run)
{
    const struct xg_routine gesdd = {.name = XG_ROUTINE_GESDD,
                                     .type = run->type,
                                     .vectors = XG_VECTORS_THIN,
                                     .polar = true,
                                     .m = run->m,
                                     .n = run->rank};
    struct xg_solver_call part = xg_solver_part(run->call, &gesdd);
    const struct xg_solver_matrix w = {run->scratch.v, run->rank}, v1 = {run->free.at, run->n};
    part.operand[XG_SLOT_V] = w;
    enum xg_status status =
        multiply(run, XG_NO_TRANS, run->a, run->v, run->free, run->m, run->rank, run->n);
    if (status == XG_OK)
        status = xg_solver_part_run(run->dev, run->solver, run->call, &part);
    if (status == XG_OK)
        status = multiply(run, XG_NO_TRANS, run->v, w, v1, run->n, run->rank, run->rank);
    return status == XG_OK ? copy(run, run->v, v1, run->n, run->rank) : status;
}

/* Sets the other values, which are no larger than those before them. */
static enum xg_status put_noise(const struct run *run)
{
    const CUdeviceptr values = run->call->operand[XG_SLOT_W].at;
    const size_t before = (size_t)(run->rank - 1) * real_bytes(run);
    enum xg_status status = down(run, values + before, real_bytes(run));
    const double noise = fmin(run->noise, number(run, 0));
    for (int64_t i = 0; i < run->n - run->rank; i++)
        set_number(run, i, noise);
    if (status == XG_OK)
        status = up(run, values + before + real_bytes(run),
                    (size_t)(run->n - run->rank) * real_bytes(run));
    return status;
}

/* Computes U's other columns and the values that belong to them. */
static enum xg_status complete(const struct run *run)
{
    const int64_t columns = xg_solver_u_columns(run->call);
    enum xg_status status = copy(run, run->free, run->u, run->m, run->rank);
    if (status == XG_OK)
        status = factorize(run, XG_ROUTINE_GEQRF, run->u, run->m, run->rank, 0);
    if (status == XG_OK)
        status = factorize(run, XG_ROUTINE_ORGQR, run->u, run->m, columns, run->rank);
    if (status == XG_OK)
        status = copy(run, run->u, run->free, run->m, run->rank);
    return status == XG_OK ? put_noise(run) : status;
}

/* --- From solver.c --------------------------------------------------------------------------- */

bool xg_deflation_serves(const struct xg_solver_call *call)
{
    const struct xg_routine *routine = call->routine;
    return xg_routine_rows[routine->name].retries && routine->vectors != XG_VECTORS_NONE &&
           !routine->polar && call->m <= XG_SOLVER_ONES &&
           call->m * xg_solver_u_columns(call) <= INT32_MAX;
}

int64_t xg_deflation_elems(const struct xg_solver_call *call)
{
    return call->deflate ? call->n * call->n + 3 * call->n + call->m : 0;
}

enum xg_status xg_deflation_measure(struct xg_solver *solver, struct xg_solver_call *call)
{
    const int64_t m = call->m, n = call->n, columns = xg_solver_u_columns(call);
    const struct xg_routine parts[] = {
        {.name = XG_ROUTINE_GEQRF, .type = call->routine->type, .m = m, .n = n},
        {.name = XG_ROUTINE_ORGQR, .type = call->routine->type, .m = m, .n = columns, .k = n},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && call->deflate; i++) {
        struct xg_solver_call part = xg_solver_part(call, &parts[i]);
        enum xg_status status = xg_solver_part_measure(solver, call, &part);
        if (status != XG_OK && status != XG_DECLINED) /* xg_deflation_run will decline */
            return status;
    }
    return XG_OK;
}

enum xg_status xg_deflation_run(struct xg_dev *dev, struct xg_solver *solver, CUstream stream,
                                struct xg_solver_call *call)
{
    struct run run = {.dev = dev,
                      .solver = solver,
                      .stream = stream,
                      .call = call,
                      .type = call->routine->type,
                      .m = call->m,
                      .n = call->n,
                      .a = {call->spare, call->operand[XG_SLOT_A].ld},
                      .u = call->operand[XG_SLOT_U],
                      .v = call->operand[XG_SLOT_V],
                      .free = call->operand[XG_SLOT_A]};
    if (!call->v_is_rows || call->by_qr || !(call->block->perturbation > 0) ||
        !xg_cublas_is_loaded())
        return XG_OK;
    enum xg_status status = xg_cublas_open(dev);
    if (status != XG_OK)
        return status == XG_ERR_LOST ? status : XG_OK;
    run.scratch.v = element(&run, call->spare, run.a.ld * run.n);
    run.scratch.tau = element(&run, run.scratch.v, run.n * run.n);
    run.scratch.z = element(&run, run.scratch.tau, run.n);
    run.scratch.q2z = element(&run, run.scratch.z, run.n);
    run.scratch.az = element(&run, run.scratch.q2z, run.n);
    status = find_null_space(&run);
    if (status == XG_OK)
        status = measure_noise(&run);
    if (status == XG_OK)
        status = compute_rest(&run);
    if (status == XG_OK)
        status = complete(&run);
    call->v_is_rows = status != XG_OK;
    return status == XG_DECLINED || status == XG_ERR_NOMEM ? XG_OK : status;
}
