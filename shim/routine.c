/* SPDX-License-Identifier: MIT */
/*
 * A routine that stays on the CPU is forwarded unchanged. Routines and products that it calls by
 * name come back to this library, which decides about each of them. A routine that the GPU computes
 * makes no inner call, except least squares (squares.h).
 */
#define _GNU_SOURCE
#include "routine.h"

#include <fenv.h>
#include <limits.h>
#include <signal.h>

#include "end.h"
#include "next.h"
#include "squares.h"
#include "src/dispatch.h"
#include "src/host/tally.h"
#include "terms.h"
#include "whose.h"

/* The frame of this thread's outermost routine that is inside a CPU library, or that has memory of
 * least squares; NULL: none. A call whose frame is no deeper shows that the thread left it, for
 * example by siglongjmp. */
static _Thread_local const char *shim_routine_frame __attribute__((tls_model("initial-exec")));

/* The object that called that routine. */
static _Thread_local const void *shim_routine_caller __attribute__((tls_model("initial-exec")));

/* The memory of the least squares that this thread computes. */
static _Thread_local struct shim_squares shim_routine_squares
    __attribute__((tls_model("initial-exec")));

/* True if the thread runs on a signal handler's own stack, which may lie anywhere. */
static bool shim_routine_handles_signal(void)
{
    stack_t stack;
    return sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK;
}

static void shim_routine_arrive(const char *frame)
{
    if (!shim_routine_frame || frame < shim_routine_frame || shim_routine_handles_signal())
        return;
    shim_routine_frame = NULL;
    shim_squares_close(&shim_routine_squares);
    xg_tally_forget();
}

void shim_routine_notice(const char *frame, const void *caller)
{
    if (!xg_tally_own(XG_TALLY_ROUTINES) ||
        shim_whose_is_inside(frame, caller, shim_routine_frame, shim_routine_caller))
        return;
    xg_tally_take(XG_TALLY_ROUTINES, INT_MAX);
    xg_tally_take(XG_TALLY_KEPT, INT_MAX);
}

struct shim_routine_pending {
    const struct shim_routine_call *call;
    const struct shim_next *next;
    const struct xg_routine *routine;
    struct shim_squares squares;
    const char *frame, *outer_frame;
    const void *caller;
    struct shim_squares outer_squares;
    int returned;
    fenv_t env; /* the program's floating-point environment while ours is active */
};

/* Without LAPACK in the process, reports a failure in info. */
static int shim_routine_pass(const struct shim_routine_call *call, const struct shim_next *next)
{
    if (next->blas.function)
        return shim_routine_forward(next->blas.function, call);
    shim_terms_put_int(shim_routine_info(call), next->int_bytes, 0, -1);
    return 0;
}

static void shim_routine_compute(struct shim_routine_pending *pending,
                                 const struct shim_routine_call *call)
{
    bool inside = shim_end_enter();
    if (!inside)
        shim_end_await();
    const char *outer = shim_routine_frame;
    if (!outer) {
        shim_routine_frame = pending->frame;
        shim_routine_caller = pending->caller;
    }
    fesetenv(&pending->env);
    pending->returned = shim_routine_pass(call, pending->next);
    feholdexcept(&pending->env);
    shim_routine_frame = outer;
    if (inside)
        shim_end_leave();
}

static void shim_routine_whole(void *context)
{
    struct shim_routine_pending *pending = context;
    shim_squares_close(&pending->squares); /* the thread may leave the call by a jump */
    shim_routine_squares = pending->outer_squares;
    shim_routine_compute(pending, pending->call);
}

/* Computes the rest of GELSD and GELSS. */
static bool shim_routine_solve(void *context)
{
    struct shim_routine_pending *pending = context;
    bool solved = shim_squares_solve(&pending->squares, pending->call, pending->next->int_bytes,
                                     pending->routine);
    if (solved)
        shim_squares_give(&pending->squares, pending->routine);
    return solved;
}

static bool shim_routine_rest(void *context)
{
    struct shim_routine_pending *pending = context;
    int64_t info = 0;
    struct shim_routine_call rest = shim_squares_rest(&pending->squares, pending->call, &info);
    shim_routine_compute(pending, &rest);
    if (info == 0)
        shim_squares_give(&pending->squares, pending->routine);
    return info == 0;
}

static const char *shim_routine_library(void *context)
{
    const struct shim_routine_pending *pending = context;
    return shim_blas_file(&pending->next->blas);
}

static int shim_routine_threads(void *context)
{
    const struct shim_routine_pending *pending = context;
    return shim_blas_threads(&pending->next->blas, NULL);
}

/* LAPACK leaves the best sizes of the workspaces in their first elements, and a program may read
 * them after any call. */
static void shim_routine_sizes(const struct shim_routine_call *call, const struct shim_next *next)
{
    int64_t minus_one = -1;
    struct shim_routine_call question = *call;
    if (next->blas.function && shim_routine_ask(&question, &minus_one))
        shim_routine_forward(next->blas.function, &question);
}

/* From here on, if the thread leaves this call by a jump, its next call finds the memory. */
static void shim_routine_own(struct shim_routine_pending *pending)
{
    pending->outer_frame = shim_routine_frame;
    pending->outer_squares = shim_routine_squares;
    if (!pending->squares.memory)
        return;
    shim_routine_squares = pending->squares;
    shim_routine_frame = shim_routine_frame ? shim_routine_frame : pending->frame;
}

static void shim_routine_disown(const struct shim_routine_pending *pending)
{
    shim_routine_squares = pending->outer_squares;
    shim_routine_frame = pending->outer_frame;
}

int shim_routine_intercept(struct shim_routine_call *call, const void *returns)
{
    struct shim_module module;
    struct shim_next next;
    struct xg_routine routine;
    int64_t m, n;
    const void *caller = shim_whose(returns, &module);
    shim_next_find(call->symbol, caller, &module, &next);
    shim_routine_size(call, next.int_bytes, &m, &n);
    if (!xg_dispatch_wants_routine(m, n) || !shim_routine_read(call, next.int_bytes, &routine) ||
        !xg_dispatch_wants_flops(&routine))
        return shim_routine_pass(call, &next);
    struct shim_routine_pending pending = {.call = call,
                                           .next = &next,
                                           .routine = &routine,
                                           .frame = __builtin_frame_address(0),
                                           .caller = caller};
    shim_routine_arrive(pending.frame);
    shim_routine_notice(pending.frame, caller);
    if (!shim_squares_open(&pending.squares, &routine))
        return shim_routine_pass(call, &next);
    shim_routine_own(&pending);
    const struct xg_cpu cpu = {.whole = shim_routine_whole,
                               .library = shim_routine_library,
                               .threads = shim_routine_threads,
                               .decomposition = &pending.squares.decomposition,
                               .solve = pending.squares.memory ? shim_routine_solve : NULL,
                               .rest = pending.squares.memory ? shim_routine_rest : NULL,
                               .pool = shim_blas_pool(&next.blas),
                               .ctx = &pending};
    feholdexcept(&pending.env);
    bool computed = xg_dispatch_routine(call->symbol->name, &routine, &cpu);
    shim_squares_close(&pending.squares);
    shim_routine_disown(&pending);
    fesetenv(&pending.env);
    if (!computed)
        return pending.returned;
    shim_routine_sizes(call, &next);
    shim_routine_finish(call, next.int_bytes, &routine);
    return 0;
}
