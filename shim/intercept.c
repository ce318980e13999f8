/* SPDX-License-Identifier: MIT */
/*
 * Every intercepted name leads to shim_intercept, which computes the call through the engine or
 * passes it on to the caller's own library.
 */
#define _GNU_SOURCE
#include "intercept.h"

#include <errno.h>
#include <limits.h>

#include "end.h"
#include "gemm_batch.h"
#include "next.h"
#include "pools.h"
#include "routine_read.h"
#include "src/base/log.h"
#include "src/dispatch.h"
#include "src/host/call_memory.h"
#include "src/host/shelter.h"
#include "src/host/stack.h"
#include "src/host/tally.h"
#include "src/reference/cpu.h"
#include "terms.h"
#include "whose.h"

/* --- Calls inside calls ---------------------------------------------------------------------- */

/*
 * This thread's outermost product and routine that are inside a CPU library: their frames (NULL:
 * none), and where they came from. Initial-exec variables are plain offsets, which need no
 * allocation in a signal handler or at exit.
 *
 * Reference BLAS and BLIS call sgemm_ from their cblas_sgemm through the PLT and so come back here:
 * such a nested call is part of the outer call and is passed on uncounted. Products and routines
 * that a routine calls by name are decided each. A routine that the GPU computes makes no inner
 * call, except least squares (src/pipeline/least_squares.h).
 */
static _Thread_local struct shim_outer {
    const char *frame;
    const void *caller;
} shim_product __attribute__((tls_model("initial-exec"))),
    shim_routine __attribute__((tls_model("initial-exec")));

/* Whether a call comes from inside the outer product. */
static bool shim_is_nested(const char *frame, const void *caller)
{
    if (!shim_product.frame)
        return false;
    if (shim_whose_is_inside(frame, caller, shim_product.frame, shim_product.caller))
        return true;
    shim_product.frame = NULL;
    xg_tally_forget();
    return false;
}

/* A routine whose frame is no deeper than the outer one's shows that the thread left that one, for
 * example by siglongjmp. */
static void shim_arrive(const char *frame)
{
    if (!shim_routine.frame || frame < shim_routine.frame || xg_stack_is_handlers())
        return;
    shim_routine.frame = NULL;
    xg_tally_forget();
}

/* Notices that the thread has left a routine on the CPU by a jump, so that the statistics do not
 * count the call as a part of that routine. */
static void shim_notice(const char *frame, const void *caller)
{
    xg_call_memory_arrive(frame);
    if (!xg_tally_own(XG_TALLY_ROUTINES) ||
        shim_whose_is_inside(frame, caller, shim_routine.frame, shim_routine.caller))
        return;
    xg_tally_take(XG_TALLY_ROUTINES, INT_MAX);
    xg_tally_take(XG_TALLY_KEPT, INT_MAX);
    xg_tally_take(XG_TALLY_COUNTED, INT_MAX);
}

struct shim_pending {
    const struct shim_call *call;
    struct shim_args *args;
    const struct shim_next *next;
    const char *frame;
    const void *caller;
    bool lapack;      /* a routine of LAPACK */
    bool nested;      /* part of the outer product */
    bool ours;        /* by its size: the engine may want it */
    bool accompanied; /* on the CPU, it or one of its groups needs shim_end_enter */
    int returned;     /* by the caller's routine */
    /* The library that computes the call, set by shim_dispatch: the caller's own, or, if that lacks
     * the operation, the one whose GEMM replaces it. */
    struct shim_blas blas;
};

static struct shim_outer *shim_outer_of(const struct shim_pending *pending)
{
    return pending->lapack ? &shim_routine : &shim_product;
}

/* Both enclose calls into the CPU library. False: the process ends, and no product may begin; only
 * the library computes a routine. */
static bool shim_enter(const struct shim_pending *pending, const char **outer)
{
    struct shim_outer *own = shim_outer_of(pending);
    if (!shim_end_enter()) {
        if (!pending->lapack)
            return false;
        shim_end_await();
    }
    *outer = own->frame;
    if (!*outer)
        *own = (struct shim_outer){pending->frame, pending->caller};
    return true;
}

static void shim_leave(const struct shim_pending *pending, const char *outer)
{
    shim_outer_of(pending)->frame = outer;
    shim_end_leave();
}

/* --- The caller's library -------------------------------------------------------------------- */

/* Without LAPACK in the process a routine reports a failure in info. */
static void shim_fail(const struct shim_pending *pending)
{
    shim_terms_put_int(shim_routine_info(pending->call), pending->next->int_bytes, 0, -1);
}

static void shim_part(void *context, const struct xg_problem *part);

/* Computes an operation that the caller's library lacks. A batch is a series of GEMM products;
 * GEMMT is GEMM except on its diagonal, and every library has GEMM. */
static void shim_made(struct shim_pending *pending)
{
    enum { ROWS = 128 };
    const struct xg_problem *problem = &pending->args->problem;
    struct xg_problem parts[XG_PROBLEM_PARTS];
    if (problem->batch) {
        for (int64_t i = 0; i < problem->batch->count; i++) {
            parts[0] = xg_problem_instance(problem, i);
            shim_part(pending, &parts[0]);
        }
        return;
    }
    for (int64_t row = 0; row < problem->m; row += ROWS) {
        int count = xg_problem_parts(problem, row, xg_min_i64(ROWS, problem->m - row), 0,
                                     problem->n, parts);
        for (int i = 0; i < count; i++)
            shim_part(pending, &parts[i]);
    }
}

static void shim_whole(void *context)
{
    struct shim_pending *pending = context;
    const struct shim_next *next = pending->next;
    const char *outer;
    if (!next->blas.function && shim_args_optional(pending->call->symbol->op)) {
        shim_made(pending);
        return;
    }
    if (!shim_enter(pending, &outer)) {
        xg_cpu_compute(&pending->args->problem);
        return;
    }
    if (next->forwards)
        pending->returned = shim_blas_forward(&next->blas, pending->call);
    else if (pending->lapack)
        shim_fail(pending);
    else
        shim_blas_compute(&next->blas, &pending->args->problem);
    shim_leave(pending, outer);
}

/* A part of a triangle may be a rectangle: a GEMM product, for which the caller has a library. */
static void shim_part(void *context, const struct xg_problem *part)
{
    const struct shim_pending *pending = context;
    const struct shim_symbol *symbol = pending->call->symbol;
    const struct shim_blas *blas = &pending->next->blas;
    struct shim_next other;
    const char *outer;
    if (!shim_enter(pending, &outer)) {
        xg_cpu_compute(part);
        return;
    }
    if ((int)part->op != symbol->op) {
        shim_next_sibling(pending->next, symbol, xg_problem_kind(part), &other);
        blas = &other.blas;
    }
    shim_blas_compute(blas, part);
    shim_leave(pending, outer);
}

static bool shim_factored(void *context, const struct xg_routine *routine)
{
    struct shim_pending rest = *(const struct shim_pending *)context;
    struct shim_call call = *rest.call;
    int64_t info = 0;
    shim_routine_reduce(&call, routine, &info);
    rest.call = &call;
    shim_whole(&rest);
    return info == 0;
}

static const char *shim_library(void *context)
{
    const struct shim_pending *pending = context;
    return shim_blas_file(&pending->blas);
}

static int shim_threads_of(void *context)
{
    const struct shim_pending *pending = context;
    return shim_blas_threads(&pending->blas, pending->lapack ? NULL : &pending->args->problem);
}

static double shim_spin_s(void *context)
{
    const struct shim_pending *pending = context;
    return shim_pools_spin_s(shim_blas_pool(&pending->blas));
}

/* --- One call -------------------------------------------------------------------------------- */

/*
 * Handles a call that the standard forbids, that only some libraries accept, or that the engine
 * does not compute. The caller's library decides: it may accept the call, report it under its own
 * number, or never return (stop, exit, longjmp, throw), so no frame is kept. If the library that
 * computes has other integers, the call goes to the library that the caller would reach without us.
 * Returns false if there is none and the call is legal except in points on which libraries
 * disagree.
 */
static bool shim_refused(struct shim_pending *pending)
{
    struct shim_blas bound;
    if (pending->next->forwards)
        pending->returned = shim_blas_forward(&pending->next->blas, pending->call);
    else if (pending->lapack)
        shim_fail(pending);
    else if (shim_next_bound(pending->next, pending->call->symbol, &bound))
        shim_blas_forward(&bound, pending->call);
    else if (pending->args->illegal)
        xg_log(XG_LOG_WARN, "%s: argument %d is illegal; nothing is computed",
               pending->call->symbol->name, pending->args->illegal);
    else
        return false;
    return true;
}

/* A scalar may be a signalling NaN, which raises a flag where it is converted. */
static void shim_read(struct shim_pending *pending)
{
    struct xg_shelter shelter;
    xg_shelter_enter_open(&shelter);
    shim_args_read(pending->call, pending->next->int_bytes, pending->args);
    xg_shelter_leave(&shelter);
}

/* LAPACK leaves sizes of the workspaces in their first elements, and a program may read them after
 * any call. The library's code may raise flags, and must not be left. */
static void shim_leave_sizes(const struct shim_pending *pending)
{
    const struct shim_blas *blas = &pending->next->blas;
    int64_t minus_one = -1;
    struct shim_call question = *pending->call;
    struct xg_shelter shelter;
    if (!blas->function || !shim_routine_ask(&question, &minus_one))
        return;
    int saved_errno = errno;
    xg_shelter_enter(&shelter);
    shim_blas_forward(blas, &question);
    shim_routine_leave(pending->call, &pending->args->routine, shim_blas_pool(blas));
    errno = saved_errno;
    xg_shelter_leave(&shelter);
}

static void shim_dispatch(struct shim_pending *pending)
{
    const struct shim_symbol *symbol = pending->call->symbol;
    struct shim_next next = *pending->next;
    if (!next.blas.function && shim_args_optional(symbol->op))
        shim_next_sibling(pending->next, symbol, xg_kind(XG_OP_GEMM, symbol->type), &next);
    pending->blas = next.blas;
    const enum shim_pool pool = shim_blas_pool(&pending->blas);
    struct shim_args *args = pending->args;
    struct xg_call call = {.symbol = symbol->name, .problem = &args->problem};
    struct xg_cpu cpu = {.whole = shim_whole,
                         .part = shim_part,
                         .library = shim_library,
                         .threads = shim_threads_of,
                         .spin_s = shim_spin_s,
                         .own_pool = pool == SHIM_POOL_OPENBLAS,
                         .shared_pool = pool == SHIM_POOL_GOMP || pool == SHIM_POOL_KMP,
                         .ctx = pending};
    if (pending->lapack) {
        shim_arrive(pending->frame);
        call = (struct xg_call){.symbol = call.symbol, .routine = &args->routine};
        cpu.factored = args->routine.rank ? shim_factored : NULL;
    }
    if (!xg_dispatch(&call, &cpu) || !pending->lapack)
        return;
    shim_leave_sizes(pending);
    shim_routine_finish(pending->call, pending->next->int_bytes, &args->routine);
}

/* Once it has been read: whether the caller's library decides about the call, or gets it because it
 * has too few operations. */
static bool shim_declines(const struct shim_pending *pending)
{
    const struct shim_args *args = pending->args;
    return args->illegal || args->extension ||
           (pending->lapack && !xg_dispatch_wants_flops(&args->routine));
}

/* By its size: whether the engine may want the call. *accompanied: otherwise, whether it needs
 * shim_end_enter. Inlined: it costs every small call a nanosecond otherwise. */
static inline __attribute__((always_inline)) bool shim_wants(const struct shim_call *call,
                                                             int int_bytes, bool *accompanied)
{
    const struct shim_symbol *symbol = call->symbol;
    int64_t m, n, k;
    shim_args_size(call, int_bytes, &m, &n, &k);
    if (shim_symbol_is_lapack(symbol))
        return xg_dispatch_wants_routine(m, n);
    const bool wants = xg_dispatch_wants(symbol->kind, m, n, k);
    *accompanied = !wants && shim_end_wants(m, n, k);
    return wants;
}

static void shim_one(struct shim_pending *pending)
{
    if (!pending->ours && !pending->accompanied && pending->next->forwards) {
        pending->returned = shim_blas_forward(&pending->next->blas, pending->call);
        return;
    }
    shim_read(pending);
    if (shim_declines(pending) && shim_refused(pending))
        return;
    const bool strange = pending->args->extension && pending->call->symbol->op == XG_OP_GEMV;
    if (pending->ours && !strange)
        shim_dispatch(pending);
    else
        shim_whole(pending);
}

/* --- Calls of several groups --------------------------------------------------------------- */

static bool shim_wants_group(void *context, int64_t m, int64_t n, int64_t k)
{
    struct shim_pending *pending = context;
    if (xg_dispatch_wants_group(pending->call->symbol->kind, m, n, k))
        return true;
    pending->accompanied |= shim_end_wants(m, n, k);
    return false;
}

/* A pending call of the next `count` groups, with the arguments of the first of them. */
static struct shim_pending shim_take(const struct shim_pending *all, struct shim_groups *groups,
                                     int64_t count, struct shim_cut *cut)
{
    struct shim_pending pending = *all;
    shim_groups_take(groups, count, cut);
    pending.call = &cut->call;
    shim_read(&pending);
    return pending;
}

/* Passes on groups that the engine does not want, in one call if the library takes it unchanged. */
static void shim_pass(const struct shim_pending *all, struct shim_groups *groups)
{
    struct shim_cut cut;
    struct shim_pending pending;
    const char *outer;
    if (all->next->forwards && shim_enter(all, &outer)) {
        pending = shim_take(all, groups, groups->wanted - groups->first, &cut);
        shim_blas_forward(&all->next->blas, pending.call);
        shim_leave(all, outer);
    }
    while (groups->first < groups->wanted) {
        pending = shim_take(all, groups, 1, &cut);
        shim_whole(&pending);
    }
}

/*
 * Each group that the engine wants becomes a separate problem; the groups in between are passed on.
 * All groups are read before anything is computed, because the caller's library decides what an
 * illegal group does to the whole call.
 */
static void shim_several(struct shim_pending *pending)
{
    struct shim_groups groups;
    struct shim_cut cut;
    struct shim_pending one;
    shim_groups_init(pending->call, pending->next->int_bytes, &groups);
    if (groups.count <= 1) {
        if (!pending->nested)
            pending->ours =
                shim_wants(pending->call, pending->next->int_bytes, &pending->accompanied);
        shim_one(pending);
        return;
    }
    if (pending->nested)
        groups.wanted = groups.count;
    else
        shim_groups_seek(&groups, shim_wants_group, pending);
    if (groups.wanted == groups.count && !pending->accompanied && pending->next->forwards) {
        shim_blas_forward(&pending->next->blas, pending->call);
        return;
    }

    shim_read(pending);
    if (shim_declines(pending) && shim_refused(pending))
        return;
    for (;;) {
        if (groups.first < groups.wanted)
            shim_pass(pending, &groups);
        if (groups.first == groups.count)
            return;
        one = shim_take(pending, &groups, 1, &cut);
        shim_dispatch(&one);
        shim_groups_seek(&groups, shim_wants_group, pending);
    }
}

/*
 * A call that the engine does not want is forwarded at once. Only its size is read, and no frame is
 * kept: the call may be illegal and never return. If the library then calls itself by name, that
 * call has the same size, so the engine does not want it either; if it did, the two would still
 * count as one.
 */
int shim_intercept(const struct shim_symbol *symbol, const void *returns, struct shim_call *call)
{
    struct shim_module module;
    struct shim_next next;
    struct shim_args args;
    const char *frame = __builtin_frame_address(0);
    const void *caller = shim_whose(returns, &module);
    const bool groups = symbol->op == XG_OP_GEMM_BATCH;
    bool nested = shim_is_nested(frame, caller), ours = false, accompanied = false;
    shim_notice(frame, caller);
    call->symbol = symbol;
    shim_next_find(symbol, caller, &module, &next);
    if (!nested && !groups)
        ours = shim_wants(call, next.int_bytes, &accompanied);
    if (!ours && !accompanied && !groups && next.forwards)
        return shim_blas_forward(&next.blas, call);
    struct shim_pending pending = {.call = call,
                                   .args = &args,
                                   .next = &next,
                                   .frame = frame,
                                   .caller = caller,
                                   .lapack = shim_symbol_is_lapack(symbol),
                                   .nested = nested,
                                   .ours = ours,
                                   .accompanied = accompanied};
    (groups ? shim_several : shim_one)(&pending);
    return pending.returned;
}
