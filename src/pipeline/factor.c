/* SPDX-License-Identifier: MIT */
/*
 * The operands go up whole, cuSOLVER computes, and the results come down. Meanwhile the operands
 * that will be overwritten are copied (originals.h), and the pages of new outputs are populated
 * (populate.h).
 */
#include "pipeline/factor.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "compute/deflation.h"
#include "compute/gram.h"
#include "compute/solver.h"
#include "decide/routine_times.h"
#include "pipeline/lane.h"
#include "pipeline/least_squares.h"
#include "pipeline/originals.h"
#include "pipeline/populate.h"
#include "pipeline/transfer.h"
#include "verify/block.h"
#include "verify/residual.h"

_Static_assert(sizeof(struct xg_solver_block) <= XG_QUEUE_BLOCK_BYTES, "it lies in a block");

struct run {
    struct xg_lane *lane;
    const struct xg_routine *routine;
    struct xg_solver_call solver;
    bool wide;                   /* GESDD with m < n: the device has the conjugate transpose of A */
    bool by_gram;                /* GESDD: by compute/gram.h */
    int64_t *pivots;             /* as the device has them */
    _Atomic uint64_t largest[2]; /* least squares: the magnitudes of A and B (transfer.h) */
    struct xg_originals originals;
    struct xg_populate fresh[XG_SLOT_COUNT]; /* of the outputs that may lack pages */
    int fresh_count;
    enum xg_status status; /* cuSOLVER's */
    const uint64_t *seed;  /* NULL: the result is not verified */
};

/* --- Checks ---------------------------------------------------------------------------------- */

static enum xg_before check_of(const struct run *run)
{
    return xg_routine_rows[run->routine->name].before;
}

/* LAPACK scales an A or a B whose largest element is near underflow or overflow. Here the squares
 * of elements stay far from both. LAPACK treats A = 0 separately. */
static bool is_moderate(const struct run *run)
{
    const bool wide = xg_type_is_double(run->routine->type);
    const uint64_t bias = wide ? 1023 : 127, span = wide ? 400 : 40, shift = wide ? 52 : 23;
    for (int i = 0; i < 2; i++) {
        const uint64_t exponent = atomic_load(&run->largest[i]) >> shift;
        const bool zero = i > 0 && atomic_load(&run->largest[i]) == 0;
        if (!zero && (exponent < bias - span || exponent > bias + span))
            return false;
    }
    return true;
}

static bool has_real_diagonal(const struct xg_block_matrix *a)
{
    double re, im = 0;
    for (int64_t i = 0; i < a->matrix.rows && im == 0; i++)
        xg_block_get(a, i, i, &re, &im);
    return im == 0;
}

/* Whether a row, or a column, is 0 outside the diagonal. */
static bool is_isolated(const struct xg_block_matrix *a, int64_t which, bool column)
{
    for (int64_t i = 0; i < a->matrix.rows; i++) {
        double re, im;
        xg_block_get(a, column ? i : which, column ? which : i, &re, &im);
        if (i != which && (re != 0 || im != 0))
            return false;
    }
    return true;
}

/*
 * LAPACK's potri ignores the imaginary parts of a factor's diagonal; potrf's factor has none. GEBAL
 * finds eigenvalues of a reducible matrix exactly, by permutations; whether Xgeev does is unknown.
 * XG_DECLINED: the CPU computes.
 */
static enum xg_status check_operands(const struct run *run)
{
    const struct xg_routine *routine = run->routine;
    const struct xg_block_matrix a = {.matrix = routine->operand[XG_SLOT_A], .type = routine->type};
    bool passes = check_of(run) != XG_BEFORE_REAL_DIAGONAL || has_real_diagonal(&a);
    if (check_of(run) == XG_BEFORE_IRREDUCIBLE && a.matrix.rows > 1)
        for (int64_t i = 0; i < a.matrix.rows && passes; i++)
            passes = !is_isolated(&a, i, false) && !is_isolated(&a, i, true);
    return passes ? XG_OK : XG_DECLINED;
}

/* --- Device memory --------------------------------------------------------------------------- */

/* The size of an operand on the device. 0 rows: the operand has no memory of its own there. */
static struct xg_extent extent_of(const struct run *run, enum xg_slot slot)
{
    const struct xg_routine *routine = run->routine;
    const struct xg_matrix *host = &routine->operand[slot];
    const int64_t m = run->solver.m, n = run->solver.n;
    switch (xg_routine_use(routine->name, slot)->lies) {
    case XG_LIES_AS_IS:
        return host->at ? (struct xg_extent){host->rows, host->columns} : (struct xg_extent){0, 0};
    case XG_LIES_ALL:
        return (struct xg_extent){n, 1};
    case XG_LIES_TWICE:
        return (struct xg_extent){(routine->operand[XG_SLOT_WI].at ? 2 : 1) * host->rows, 1};
    case XG_LIES_TALL:
        return (struct xg_extent){m, n};
    case XG_LIES_LEFT: /* Xgesvdp uses the memory of U and V even if they are not wanted. */
        return (struct xg_extent){m, xg_solver_u_columns(&run->solver)};
    case XG_LIES_RIGHT:
        return (struct xg_extent){n, n};
    default:
        return (struct xg_extent){0, 0};
    }
}

/* The largest distance of columns for the driver's copies: no device has a larger
 * CU_DEVICE_ATTRIBUTE_MAX_PITCH. */
enum { PITCH_MAX_BYTES = INT32_MAX };

static size_t take(size_t *total_bytes, size_t bytes)
{
    enum { ALIGNMENT = 256 };
    size_t at = *total_bytes;
    *total_bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static size_t spare_bytes(const struct run *run)
{
    const struct xg_solver_call *solver = &run->solver;
    const int64_t elems = xg_solver_spare_elems(solver) + xg_deflation_elems(solver);
    return run->by_gram ? xg_gram_bytes(solver) : (size_t)elems * xg_type_bytes(run->routine->type);
}

static enum xg_status measure(struct run *run)
{
    struct xg_solver *solver = run->lane->solver;
    if (run->by_gram)
        return xg_gram_measure(solver, &run->solver);
    enum xg_status status = xg_solver_measure(solver, &run->solver);
    return status == XG_OK ? xg_deflation_measure(solver, &run->solver) : status;
}

/* Places operands, spare, info and workspace one behind the other, and counts their bytes.
 * XG_DECLINED: they are too tall for the driver's copies. */
static enum xg_status place(struct run *run, size_t *total_bytes)
{
    struct xg_solver_call *solver = &run->solver;
    size_t bytes = 0;
    for (int i = 0; i < XG_SLOT_COUNT; i++) {
        const struct xg_extent extent = extent_of(run, (enum xg_slot)i);
        const size_t elem_bytes = xg_routine_slot_bytes(run->routine, (enum xg_slot)i);
        const size_t slot_bytes = (size_t)(extent.rows * extent.columns) * elem_bytes;
        if (extent.rows > PITCH_MAX_BYTES / (int64_t)elem_bytes)
            return XG_DECLINED;
        /* cuSOLVER also checks the leading dimensions of matrices that it does not use. */
        solver->operand[i].ld = xg_max_i64(extent.rows, xg_max_i64(solver->m, solver->n));
        if (extent.rows)
            solver->operand[i].ld = extent.rows;
        solver->operand[i].at = take(&bytes, slot_bytes);
    }
    enum xg_status status = measure(run);
    solver->spare = take(&bytes, spare_bytes(run));
    solver->info = take(&bytes, XG_ROUTINE_STEPS * sizeof(int));
    solver->work = take(&bytes, solver->work_bytes);
    *total_bytes = bytes;
    return status;
}

/* Reserves memory. XG_DECLINED: it does not fit. Does without the Gram matrix, and then without
 * deflation, if its memory does not fit. With XGEMM_REPRODUCIBLE it does without both, because they
 * depend on whether cuBLAS has been loaded. */
static enum xg_status reserve(struct run *run)
{
    struct xg_solver_call *solver = &run->solver;
    struct xg_lane *lane = run->lane;
    const size_t available = xg_mem_dev_available(lane->dev, &lane->memory);
    size_t bytes = 0;
    run->by_gram = xg_gram_serves(lane->dev, solver);
    enum xg_status status = run->by_gram ? place(run, &bytes) : XG_DECLINED;
    if (status == XG_DECLINED || (status == XG_OK && bytes > available)) {
        run->by_gram = false;
        if (xg_deflation_serves(solver) && lane->dev->plan_bytes == 0)
            solver->deflate = xg_deflation_run;
        status = place(run, &bytes);
    }
    if (status == XG_OK && bytes > available && solver->deflate) {
        solver->deflate = NULL;
        status = place(run, &bytes);
    }
    if (status == XG_OK && bytes > available)
        status = XG_DECLINED;
    if (status != XG_OK)
        return status;
    status = xg_lane_reserve_memory(lane, bytes, solver->host_bytes);
    for (int i = 0; i < XG_SLOT_COUNT; i++)
        solver->operand[i].at += lane->memory.ptr;
    solver->spare += lane->memory.ptr;
    solver->info += lane->memory.ptr;
    solver->work += lane->memory.ptr;
    solver->host_work = lane->host_work;
    solver->block = (void *)lane->blocks[0].host;
    return status;
}

/* --- Pivots ---------------------------------------------------------------------------------- */

/* The caller's integers have 4 or 8 bytes, the device's 8. Pivot i of getrf is at
 * least i; other pivots might make the device access memory outside the matrix. */
static enum xg_status open_pivots(struct run *run)
{
    const struct xg_matrix *host = &run->routine->operand[XG_SLOT_PIVOTS];
    if (!host->at)
        return XG_OK;
    run->pivots = calloc((size_t)host->rows, sizeof *run->pivots);
    if (!run->pivots)
        return XG_ERR_NOMEM;
    bool in = xg_routine_use(run->routine->name, XG_SLOT_PIVOTS)->in;
    for (int64_t i = 0; in && i < host->rows; i++) {
        run->pivots[i] = run->routine->pivot_bytes == 8 ? ((const int64_t *)host->at)[i]
                                                        : ((const int32_t *)host->at)[i];
        if (run->pivots[i] <= i || run->pivots[i] > host->rows)
            return XG_DECLINED;
    }
    return XG_OK;
}

/* LAPACK reports the first 0 on the diagonal of GELS's R. A device that does not divide a 0 by it
 * leaves a finite result. */
static bool is_singular(const struct xg_routine *routine)
{
    const struct xg_block_matrix r = {.matrix = routine->operand[XG_SLOT_A], .type = routine->type};
    return xg_routine_rows[routine->name].finish == XG_FINISH_FULL_RANK &&
           xg_block_least_pivot(&r) == 0;
}

static void give_pivots(const struct run *run)
{
    const struct xg_matrix *host = &run->routine->operand[XG_SLOT_PIVOTS];
    if (!host->at || !xg_routine_use(run->routine->name, XG_SLOT_PIVOTS)->out)
        return;
    for (int64_t i = 0; i < host->rows; i++)
        if (run->routine->pivot_bytes == 8)
            ((int64_t *)host->at)[i] = run->pivots[i];
        else
            ((int32_t *)host->at)[i] = (int32_t)run->pivots[i];
}

/* --- Transfers ------------------------------------------------------------------------------- */

/* Leaves out the diagonal: the rest of the triangle is a triangle of a smaller matrix. */
static void leave_diagonal(struct xg_transfer *transfer)
{
    const bool lower = transfer->part == XG_LOWER;
    transfer->host.at =
        (char *)transfer->host.at + (size_t)(lower ? 1 : transfer->host.ld) * transfer->elem_bytes;
    transfer->device += (CUdeviceptr)(lower ? 1 : transfer->device_ld) * transfer->elem_bytes;
    transfer->host.rows--;
    transfer->host.columns--;
}

/* How the host's operand lies on the device. */
static struct xg_transfer transfer_of(const struct run *run, enum xg_slot slot)
{
    const struct xg_routine *routine = run->routine;
    const struct xg_solver_call *solver = &run->solver;
    const struct xg_use *use = xg_routine_use(routine->name, slot);
    enum xg_slot at = use->at;
    struct xg_transfer transfer = {
        .host = routine->operand[slot],
        .type = xg_routine_slot_type(routine, slot),
        .elem_bytes = xg_routine_slot_bytes(routine, slot),
        .part = use->triangle ? routine->uplo : XG_FULL,
    };
    if (slot == XG_SLOT_PIVOTS) {
        transfer.type = XG_TYPE_D;
        transfer.host.at = run->pivots;
    }
    if (use->lies == XG_LIES_TALL)
        transfer.conjugate = run->wide;
    /* The left vectors of the conjugate transpose are the right vectors of A. */
    if (use->lies == XG_LIES_LEFT || use->lies == XG_LIES_RIGHT) {
        const bool right = (use->lies == XG_LIES_RIGHT) != run->wide;
        at = right ? XG_SLOT_V : XG_SLOT_U;
        transfer.conjugate = run->wide != (right && !solver->v_is_rows);
    }
    transfer.device = solver->operand[at].at;
    transfer.device_ld = solver->operand[at].ld;
    if (use->lies == XG_LIES_BEHIND)
        transfer.device += (CUdeviceptr)transfer.host.rows * transfer.elem_bytes;
    if (slot == XG_SLOT_W || slot == XG_SLOT_U)
        transfer.device +=
            (CUdeviceptr)(routine->first * (slot == XG_SLOT_U ? transfer.device_ld : 1)) *
            transfer.elem_bytes;
    if (routine->unit)
        leave_diagonal(&transfer);
    return transfer;
}

/* The transfers up or down; returns their number, and adds their bytes to *bytes. */
static int list_transfers(const struct run *run, bool down,
                          struct xg_transfer transfers[XG_SLOT_COUNT], uint64_t *bytes)
{
    int count = 0;
    for (int i = 0; i < XG_SLOT_COUNT; i++) {
        const struct xg_use *use = xg_routine_use(run->routine->name, (enum xg_slot)i);
        const struct xg_matrix *host = &run->routine->operand[i];
        if (!host->at || !(down ? use->out : use->in))
            continue;
        transfers[count] = transfer_of(run, (enum xg_slot)i);
        *bytes += (uint64_t)(host->rows * host->columns) * transfers[count++].elem_bytes;
    }
    return count;
}

/* --- Computation ----------------------------------------------------------------------------- */

/* The results of a 4096 x 4096 dgesdd take 16 ms to arrive in memory that has pages, and 160 ms in
 * memory that NumPy has just allocated. Outputs below FRESH_BYTES are not looked at. */
static const size_t FRESH_BYTES = 1 << 20;

static void find_fresh(struct run *run)
{
    for (int i = 0; i < XG_SLOT_COUNT; i++) {
        const struct xg_use *use = xg_routine_use(run->routine->name, (enum xg_slot)i);
        const struct xg_matrix *host = &run->routine->operand[i];
        const size_t elem_bytes = xg_routine_slot_bytes(run->routine, (enum xg_slot)i);
        const struct xg_populate_lines columns = {
            .at = host->at,
            .count = host->columns,
            .bytes = (size_t)host->rows * elem_bytes,
            .ld_bytes = (size_t)host->ld * elem_bytes,
        };
        if (host->at && use->out && !use->in && !use->triangle && i != XG_SLOT_PIVOTS &&
            columns.bytes * (size_t)columns.count >= FRESH_BYTES)
            xg_populate_init(&run->fresh[run->fresh_count++], &columns);
    }
}

static enum xg_status run_solver(struct run *run)
{
    struct xg_lane *lane = run->lane;
    return run->by_gram ? xg_gram_run(lane->dev, lane->solver, lane->streams[0], &run->solver)
                        : xg_solver_run(lane->dev, lane->solver, &run->solver);
}

/* The first worker's thread has cuSOLVER, or the kernels of LU and QR, compute. The others save the
 * originals and populate the outputs. */
static void compute(void *arg, int worker)
{
    struct run *run = arg;
    struct xg_populate_range part = {0, 0};
    if (worker == 0)
        run->status = run_solver(run);
    if (worker > 0 || run->status == XG_OK)
        xg_originals_save(&run->originals);
    for (int i = 0; i < run->fresh_count && worker > 0; i++)
        while (xg_populate_step(&run->fresh[i], &part))
            ;
}

/*
 * Matrices of one shape are often alike. After INEXACT_MOST calls in a row for which Xgesvdp was
 * not exact, the next SKIPPED_MOST calls of that shape do without it, which saves a fifth of their
 * time; then one tries it again. With XGEMM_REPRODUCIBLE a call does not depend on earlier calls.
 */
enum { INEXACT_MOST = 2, SKIPPED_MOST = 7 };

static bool is_of_shape(const struct xg_lane_polar *polar, const struct xg_routine *routine)
{
    return polar->m == routine->m && polar->n == routine->n && polar->type == routine->type;
}

static bool skips_polar(const struct run *run)
{
    const struct xg_routine *routine = run->routine;
    const struct xg_lane_polar *polar = &run->lane->polar;
    return xg_routine_rows[routine->name].retries && !routine->polar && !run->by_gram &&
           is_of_shape(polar, routine) && polar->inexact >= INEXACT_MOST &&
           polar->skipped < SKIPPED_MOST && run->lane->dev->plan_bytes == 0;
}

static void learn_polar(const struct run *run)
{
    const struct xg_routine *routine = run->routine;
    struct xg_lane_polar *polar = &run->lane->polar;
    if (!xg_routine_rows[routine->name].retries || run->by_gram)
        return;
    if (run->solver.by_qr) {
        polar->skipped++;
        return;
    }
    const int before = is_of_shape(polar, routine) ? polar->inexact : 0;
    *polar = (struct xg_lane_polar){
        .m = routine->m,
        .n = routine->n,
        .type = routine->type,
        .inexact = run->solver.v_is_rows ? before + 1 : 0,
    };
}

static enum xg_status open_solver(struct xg_lane *lane, struct xg_result *result)
{
    if (lane->solver)
        return XG_OK;
    enum xg_status status = xg_solver_create(lane->dev, lane->streams[0], &lane->solver);
    result->unserved = status == XG_ERR_NOTFOUND;
    result->failed = status == XG_ERR_DRIVER;
    return status == XG_OK || status == XG_ERR_LOST ? status : XG_DECLINED;
}

/* --- Verified -------------------------------------------------------------------------------- */

static void tell_wrong(const struct xg_routine *routine, const struct xg_residual *residual)
{
    static int told;
    xg_log_once(
        &told,
        "the GPU computed a wrong %s (%lldx%lld, %s: %.3g units of sqrt(n) eps; at most %g would "
        "be right): the CPU computes it again",
        xg_routine_text(routine->name, routine->type), (long long)routine->m, (long long)routine->n,
        residual->what, residual->units, XG_RESIDUAL_BOUND);
}

/* Verifies the results in the caller's memory. XG_OK, XG_ERR_WRONG. */
static enum xg_status judge(const struct run *run, struct xg_result *result)
{
    struct xg_routine before = *run->routine, after = *run->routine;
    struct xg_residual residual;
    double begin = xg_clock_s();
    xg_originals_view(&run->originals, &before);
    before.operand[XG_SLOT_PIVOTS].at = after.operand[XG_SLOT_PIVOTS].at = run->pivots;
    before.pivot_bytes = after.pivot_bytes = sizeof *run->pivots;
    enum xg_status status = xg_residual_measure(&before, &after, *run->seed, run->lane->team,
                                                run->lane->workers, &residual);
    bool right = status != XG_OK || residual.units <= XG_RESIDUAL_BOUND;
    result->verify_s = xg_clock_s() - begin;
    result->verdict = status != XG_OK ? XG_VERDICT_UNABLE
                      : right         ? XG_VERDICT_RIGHT
                                      : XG_VERDICT_WRONG;
    if (status == XG_OK)
        result->deviation = residual.units / XG_RESIDUAL_BOUND;
    if (!right)
        tell_wrong(run->routine, &residual);
    return right ? XG_OK : XG_ERR_WRONG;
}

/* --- The routine ----------------------------------------------------------------------------- */

static enum xg_status move(struct run *run, struct xg_result *result)
{
    struct xg_lane *lane = run->lane;
    struct xg_transfer transfers[XG_SLOT_COUNT];
    bool finite = true;
    int count = list_transfers(run, false, transfers, &result->up_bytes);
    const bool measured = check_of(run) >= XG_BEFORE_MODERATE;
    for (int i = 0; i < 2 && measured; i++)
        transfers[i].largest = &run->largest[i];
    enum xg_status status = xg_transfer_up(lane, transfers, count, &finite);
    result->nonfinite = !finite;
    if (status == XG_OK && measured && !is_moderate(run))
        finite = false;
    if (status == XG_OK && !finite)
        status = XG_DECLINED;
    if (status != XG_OK)
        return status;
    run->solver.by_qr = skips_polar(run);
    find_fresh(run);
    xg_team_run(lane->team, lane->workers, compute, run);
    if (run->status != XG_OK)
        return run->status;
    learn_polar(run);
    count = list_transfers(run, true, transfers, &result->down_bytes);
    status = xg_transfer_down(lane, transfers, count, &finite);
    result->nonfinite = !finite;
    if (status == XG_OK && (!finite || is_singular(run->routine)))
        status = XG_DECLINED; /* a singular factor, or an overflow */
    if (status == XG_OK && run->seed)
        status = judge(run, result);
    if (status != XG_OK)
        xg_originals_restore(&run->originals);
    else
        give_pivots(run);
    return status;
}

/* The device's context is current. */
static enum xg_status run_entered(struct run *run, struct xg_result *result)
{
    struct xg_lane *lane = run->lane;
    enum xg_status status = open_solver(lane, result);
    if (status == XG_OK)
        status = reserve(run);
    if (status == XG_OK)
        status = open_pivots(run);
    if (status == XG_OK)
        status = check_operands(run);
    if (status == XG_OK)
        status = xg_originals_init(&run->originals, run->routine, &lane->originals);
    if (status == XG_OK)
        status = move(run, result);
    result->kernel = run->solver.kernel;
    /* A step may have been queued before the one that failed or declined. */
    if (status != XG_OK && status != XG_ERR_HUNG) {
        enum xg_status drained = xg_lane_drain(lane, run->solver.limit_s);
        if (drained != XG_OK)
            status = drained == XG_ERR_HUNG ? XG_ERR_HUNG : XG_ERR_LOST;
    }
    return status;
}

/* The operations per second of a device that does not hang. On an H100 a large gesvd reaches 8e11
 * and a large geev 4e11; smaller ones end within the time limit anyway. Ranks that share the device
 * share its speed. */
static const double SLOWEST_FLOPS = 1e10;

static double limit_of(const struct xg_dev *dev, const struct xg_routine *routine)
{
    return dev->timeout_s + dev->ranks * xg_routine_flops(routine) / SLOWEST_FLOPS;
}

static enum xg_status run_steps(struct xg_lane *lane, const struct xg_routine *routine,
                                const uint64_t *seed, struct xg_result *result)
{
    int saved_errno = errno;
    struct run run = {.lane = lane, .routine = routine, .seed = seed};
    *result = (struct xg_result){0};
    run.wide =
        xg_routine_use(routine->name, XG_SLOT_A)->lies == XG_LIES_TALL && routine->m < routine->n;
    run.solver.routine = routine;
    run.solver.limit_s = limit_of(lane->dev, routine);
    run.solver.m = run.wide ? routine->n : routine->m;
    run.solver.n = run.wide ? routine->m : routine->n;
    int before;
    enum xg_status status = xg_dev_begin(lane->dev, &before);
    if (status == XG_OK) {
        status = run_entered(&run, result);
        xg_dev_end(lane->dev, before);
    }
    xg_originals_fini(&run.originals);
    free(run.pivots);
    errno = saved_errno;
    return status;
}

/* Decomposes R, for xg_least_squares_finish. */
static enum xg_status decompose(struct xg_lane *lane, const struct xg_routine *routine,
                                const uint64_t *seed, struct xg_result *result)
{
    const struct xg_routine decomposition = xg_least_squares_decomposition(routine);
    struct xg_result second;
    enum xg_status status = run_steps(lane, &decomposition, seed, &second);
    result->up_bytes += second.up_bytes;
    result->down_bytes += second.down_bytes;
    result->verify_s += second.verify_s;
    if (second.verdict != XG_VERDICT_NONE) {
        result->verdict = second.verdict;
        result->deviation = second.deviation;
    }
    result->decomposed = status == XG_OK;
    return status == XG_DECLINED ? XG_OK : status;
}

static enum xg_status run_routine(struct xg_lane *lane, const struct xg_routine *routine,
                                  const uint64_t *seed, struct xg_result *result)
{
    enum xg_status status = run_steps(lane, routine, seed, result);
    result->factored = status == XG_OK && routine->rank;
    return result->factored && routine->decomposes ? decompose(lane, routine, seed, result)
                                                   : status;
}

enum xg_status xg_routine_run(struct xg_lane *lane, const struct xg_routine *routine,
                              struct xg_result *result)
{
    return run_routine(lane, routine, NULL, result);
}

enum xg_status xg_routine_run_verified(struct xg_lane *lane, const struct xg_routine *routine,
                                       uint64_t seed, struct xg_result *result)
{
    return run_routine(lane, routine, &seed, result);
}
