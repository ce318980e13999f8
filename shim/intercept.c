/* SPDX-License-Identifier: MIT */
/*
 * Every intercepted name leads to shim_intercept, which computes the call through the engine or
 * passes it on to the caller's own BLAS.
 */
#include "intercept.h"

#include "end.h"
#include "gemm_batch.h"
#include "next.h"
#include "routine.h"
#include "src/base/log.h"
#include "src/dispatch.h"
#include "src/host/shelter.h"
#include "src/host/tally.h"
#include "src/reference/cpu.h"
#include "whose.h"

/*
 * The frame of this thread's call that is inside a CPU library (NULL: none), and where that call
 * came from. Reference BLAS and BLIS call sgemm_ from their cblas_sgemm through the PLT and so come
 * back here: such a nested call is part of the outer call and is passed on uncounted. Initial-exec
 * variables are plain offsets, which need no allocation in a signal handler or at exit.
 */
static _Thread_local const char *shim_frame __attribute__((tls_model("initial-exec")));
static _Thread_local const void *shim_caller __attribute__((tls_model("initial-exec")));

/* Whether a call comes from inside the outer product. */
static bool shim_is_nested(const char *frame, const void *caller)
{
    if (!shim_frame)
        return false;
    if (shim_whose_is_inside(frame, caller, shim_frame, shim_caller))
        return true;
    shim_frame = NULL;
    xg_tally_forget();
    return false;
}

struct shim_pending {
    const struct shim_call *call;
    struct shim_args *args;
    const struct shim_next *next;
    const char *frame;
    const void *caller;
    bool nested;      /* part of the outer call */
    bool accompanied; /* a group on the CPU needs shim_end_enter, as a single call does */
};

/* Both enclose calls into the CPU library. False: the process ends, and no such call may begin. */
static bool shim_enter(const struct shim_pending *pending, const char **outer)
{
    if (!shim_end_enter())
        return false;
    *outer = shim_frame;
    if (!*outer) {
        shim_frame = pending->frame;
        shim_caller = pending->caller;
    }
    return true;
}

static void shim_leave(const char *outer)
{
    shim_frame = outer;
    shim_end_leave();
}

static void shim_part(const struct shim_pending *pending, const struct xg_problem *part);

/* Computes an operation that the caller's library lacks. A batch is a series of GEMM products;
 * GEMMT is GEMM except on its diagonal, and every library has GEMM. */
static void shim_made(const struct shim_pending *pending)
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

static void shim_whole(const struct shim_pending *pending)
{
    const char *outer;
    if (!pending->next->blas.function && shim_args_optional(pending->args->problem.op)) {
        shim_made(pending);
        return;
    }
    if (!shim_enter(pending, &outer)) {
        xg_cpu_compute(&pending->args->problem);
        return;
    }
    if (pending->next->forwards)
        shim_blas_forward(&pending->next->blas, pending->call);
    else
        shim_blas_compute(&pending->next->blas, &pending->args->problem);
    shim_leave(outer);
}

/* A part of a triangle may be a rectangle: a GEMM product, for which the caller has a library. */
static void shim_part(const struct shim_pending *pending, const struct xg_problem *part)
{
    const struct shim_symbol *symbol = pending->call->symbol;
    const struct shim_blas *blas = &pending->next->blas;
    struct shim_next other;
    const char *outer;
    if (!shim_enter(pending, &outer)) {
        xg_cpu_compute(part);
        return;
    }
    if (part->op != symbol->op) {
        shim_next_sibling(pending->next, symbol, xg_problem_kind(part), &other);
        blas = &other.blas;
    }
    shim_blas_compute(blas, part);
    shim_leave(outer);
}

static void shim_cpu_whole(void *context)
{
    shim_whole(context);
}

static void shim_cpu_part(void *context, const struct xg_problem *part)
{
    shim_part(context, part);
}

/* The library that computes the call: the caller's own, or, if that lacks the operation, the one
 * whose GEMM replaces it. */
static struct shim_blas shim_cpu_blas(const struct shim_pending *pending)
{
    const struct shim_symbol *symbol = pending->call->symbol;
    struct shim_next other;
    if (pending->next->blas.function || !shim_args_optional(symbol->op))
        return pending->next->blas;
    shim_next_sibling(pending->next, symbol, xg_kind(XG_OP_GEMM, symbol->type), &other);
    return other.blas;
}

static const char *shim_cpu_library(void *context)
{
    const struct shim_blas blas = shim_cpu_blas(context);
    return shim_blas_file(&blas);
}

static int shim_cpu_threads(void *context)
{
    const struct shim_pending *pending = context;
    const struct shim_blas blas = shim_cpu_blas(pending);
    return shim_blas_threads(&blas, &pending->args->problem);
}

/*
 * Handles a call that the BLAS standard forbids, or that only some libraries accept. The caller's
 * library decides: it may accept the call, report it under its own number, or never return (stop,
 * exit, longjmp, throw), so shim_frame is not set. If the library that computes has other integers,
 * the call goes to the library that the caller would reach without us. Returns false if there is
 * none and the call is legal except in points on which libraries disagree.
 */
static bool shim_refused(const struct shim_pending *pending)
{
    struct shim_blas bound;
    if (pending->next->forwards)
        shim_blas_forward(&pending->next->blas, pending->call);
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

static void shim_dispatch(struct shim_pending *pending)
{
    const struct shim_blas blas = shim_cpu_blas(pending);
    xg_dispatch(&(struct xg_call){.symbol = pending->call->symbol->name,
                                  .problem = &pending->args->problem},
                &(struct xg_cpu){.whole = shim_cpu_whole,
                                 .part = shim_cpu_part,
                                 .library = shim_cpu_library,
                                 .threads = shim_cpu_threads,
                                 .pool = shim_blas_pool(&blas),
                                 .ctx = pending});
}

/*
 * A call that the engine does not want is forwarded at once. Only its size is read, and shim_frame
 * is not set: the call may be illegal and never return. If the library then calls itself by name,
 * that call has the same size, so the engine does not want it either; if it did, the two would
 * still count as one.
 */
static void shim_one(struct shim_pending *pending)
{
    const struct shim_call *call = pending->call;
    const struct shim_next *next = pending->next;
    int64_t m, n, k;
    shim_args_size(call, next->int_bytes, &m, &n, &k);
    bool ours = !pending->nested && xg_dispatch_wants(call->symbol->kind, m, n, k);
    bool accompanied = !ours && !pending->nested && shim_end_wants(m, n, k);
    if (!ours && !accompanied && next->forwards) {
        shim_blas_forward(&next->blas, call);
        return;
    }

    shim_read(pending);
    if ((pending->args->illegal || pending->args->extension) && shim_refused(pending))
        return;
    if (ours)
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
        shim_leave(outer);
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
    if ((pending->args->illegal || pending->args->extension) && shim_refused(pending))
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

void shim_intercept(const struct shim_symbol *symbol, const void *returns, struct shim_call *call)
{
    struct shim_module module;
    struct shim_next next;
    struct shim_args args;
    const char *frame = __builtin_frame_address(0);
    const void *caller = shim_whose(returns, &module);
    bool nested = shim_is_nested(frame, caller);
    shim_routine_notice(frame, caller);
    call->symbol = symbol;
    shim_next_find(symbol, caller, &module, &next);
    struct shim_pending pending = {.call = call,
                                   .args = &args,
                                   .next = &next,
                                   .frame = frame,
                                   .caller = caller,
                                   .nested = nested};
    if (symbol->op == XG_OP_GEMM_BATCH)
        shim_several(&pending);
    else
        shim_one(&pending);
}
