/* SPDX-License-Identifier: MIT */
#include "report/tape.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/log.h"
#include "host/tally.h"
#include "report/mapping.h"

/* A child of fork does not inherit the mapping, and opens a tape of its own. If it was forked while
 * another thread held the lock, it has none. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct xg_tape *tape;  /* NULL: none */
static _Atomic int opened_by; /* the process that tried to open it */

static _Atomic int threads;
static _Thread_local int thread __attribute__((tls_model("initial-exec"))) = -1;

static void open_tape(const char *folder, int cores)
{
    static char path[PATH_MAX]; /* threads may have little stack */
    static int told;
    const struct xg_tape head = {
        .magic = XG_TAPE_MAGIC, .call_bytes = sizeof(struct xg_tape_call), .cores = cores};
    const size_t bytes = sizeof head + XG_TAPE_CALLS * sizeof(struct xg_tape_call);
    void *at = NULL;
    if (xg_mapping_open(folder, path, &head, sizeof head, bytes, &at) != XG_OK)
        xg_log_once(&told, "XGEMM_TAPE=%s: cannot write calls there (errno %d)", folder, errno);
    tape = at;
}

static struct xg_tape *find_tape(const char *folder, int cores)
{
    const int self = getpid();
    if (atomic_load(&opened_by) != self) {
        if (pthread_mutex_trylock(&lock))
            return NULL;
        if (atomic_load(&opened_by) != self) {
            open_tape(folder, cores);
            atomic_store(&opened_by, self);
        }
        pthread_mutex_unlock(&lock);
    }
    return tape;
}

static bool is_worth_it(const struct xg_call *call)
{
    const struct xg_problem *problem = call->problem;
    return xg_tally_own(XG_TALLY_ROUTINES) == 0 &&
           (!problem ||
            (double)problem->m * (double)problem->n * (double)problem->k >= XG_TAPE_LEAST_MNK);
}

void xg_tape_add(const struct xg_call *call, const struct xg_situation *now, double seconds)
{
    const char *folder = xg_conf_get()->tape;
    struct xg_tape *out = folder && is_worth_it(call) ? find_tape(folder, now->cores) : NULL;
    if (!out)
        return;
    const uint64_t at = __atomic_fetch_add(&out->count, 1, __ATOMIC_RELAXED);
    if (at >= XG_TAPE_CALLS)
        return;
    if (thread < 0)
        thread = atomic_fetch_add(&threads, 1);
    struct xg_tape_call *to = &out->calls[at];
    *to = (struct xg_tape_call){.begin_s = now->now_s,
                                .spin_s = now->spin_s,
                                .cpu_threads = now->cpu_threads,
                                .under_way = now->under_way,
                                .cores_left = now->cores_left,
                                .thread = thread,
                                .pool_is_shared = now->pool_is_shared,
                                .is_routine = call->routine != NULL};
    if (call->routine)
        to->routine = *call->routine;
    else
        to->problem = *call->problem;
    if (call->problem && call->problem->batch) {
        to->batch = *call->problem->batch;
        to->batch.a = to->batch.b = NULL;
        to->batch.c = NULL;
        to->problem.batch = NULL;
    }
    to->seconds = seconds; /* last: a call without it is not read */
}
