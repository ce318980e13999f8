/* SPDX-License-Identifier: MIT */
/*
 * A routine that stays on the CPU is forwarded unchanged. Routines and products that it calls by
 * name come back to this library, which decides about each of them. A routine that the GPU computes
 * makes no inner call, except least squares (src/pipeline/least_squares.h).
 */
#define _GNU_SOURCE
#include "routine.h"

#include <errno.h>
#include <limits.h>

#include "end.h"
#include "next.h"
#include "src/dispatch.h"
#include "src/host/call_memory.h"
#include "src/host/shelter.h"
#include "src/host/stack.h"
#include "src/host/tally.h"
#include "terms.h"
#include "whose.h"

/* The frame of this thread's outermost routine that is inside a CPU library; NULL: none. A call
 * whose frame is no deeper shows that the thread left it, for example by siglongjmp. */
static _Thread_local const char *shim_routine_frame __attribute__((tls_model("initial-exec")));

/* The object that called that routine. */
static _Thread_local const void *shim_routine_caller __attribute__((tls_model("initial-exec")));

static void shim_routine_arrive(const char *frame)
{
    if (!shim_routine_frame || frame < shim_routine_frame || xg_stack_is_handlers())
        return;
    shim_routine_frame = NULL;
    xg_tally_forget();
}

void shim_routine_notice(const char *frame, const void *caller)
{
    xg_call_memory_arrive(frame);
    if (!xg_tally_own(XG_TALLY_ROUTINES) ||
        shim_whose_is_inside(frame, caller, shim_routine_frame, shim_routine_caller))
        return;
    xg_tally_take(XG_TALLY_ROUTINES, INT_MAX);
    xg_tally_take(XG_TALLY_KEPT, INT_MAX);
    xg_tally_take(XG_TALLY_COUNTED, INT_MAX);
}

struct shim_routine_pending {
    const struct shim_routine_call *call;
    const struct shim_next *next;
    const char *frame;
    const void *caller;
    int returned;
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
    pending->returned = shim_routine_pass(call, pending->next);
    shim_routine_frame = outer;
    if (inside)
        shim_end_leave();
}

static void shim_routine_whole(void *context)
{
    struct shim_routine_pending *pending = context;
    shim_routine_compute(pending, pending->call);
}

/* R, of n rows, takes A's place and Qᴴ B takes B's, in the caller's workspace. */
static bool shim_routine_factored(void *context, const struct xg_routine *routine)
{
    struct shim_routine_pending *pending = context;
    struct shim_routine_call rest = *pending->call;
    int64_t info = 0;
    rest.gelsd.m = rest.gelsd.lda = pending->call->gelsd.n;
    rest.gelsd.ldb = pending->call->gelsd.m;
    rest.gelsd.a = routine->operand[XG_SLOT_U].at;
    rest.gelsd.b = routine->operand[XG_SLOT_V].at;
    shim_routine_set_info(&rest, &info);
    shim_routine_compute(pending, &rest);
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

/* LAPACK leaves sizes of the workspaces in their first elements, and a program may read them after
 * any call. The library's code may raise flags, and must not be left. */
static void shim_routine_sizes(const struct shim_routine_call *call, const struct shim_next *next,
                               const struct xg_routine *routine)
{
    int64_t minus_one = -1;
    struct shim_routine_call question = *call;
    struct xg_shelter shelter;
    if (!next->blas.function || !shim_routine_ask(&question, &minus_one))
        return;
    int saved_errno = errno;
    xg_shelter_enter(&shelter);
    shim_routine_forward(next->blas.function, &question);
    shim_routine_leave(call, routine, shim_blas_pool(&next->blas));
    errno = saved_errno;
    xg_shelter_leave(&shelter);
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
    struct shim_routine_pending pending = {
        .call = call, .next = &next, .frame = __builtin_frame_address(0), .caller = caller};
    shim_routine_arrive(pending.frame);
    shim_routine_notice(pending.frame, caller);
    const struct xg_cpu cpu = {.whole = shim_routine_whole,
                               .factored = routine.rank ? shim_routine_factored : NULL,
                               .library = shim_routine_library,
                               .threads = shim_routine_threads,
                               .pool = shim_blas_pool(&next.blas),
                               .ctx = &pending};
    if (!xg_dispatch(&(struct xg_call){.symbol = call->symbol->name, .routine = &routine}, &cpu))
        return pending.returned;
    shim_routine_sizes(call, &next, &routine);
    shim_routine_finish(call, next.int_bytes, &routine);
    return 0;
}
