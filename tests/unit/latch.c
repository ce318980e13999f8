/* SPDX-License-Identifier: MIT */
/* A latch has one holder at a time, waits are short, and holders may never release it. */
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/host/latch.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

enum { THREADS = 4, TIMES = 20000, REFUSED = 15 /* after one more refusal it may change hands */ };

static struct xg_latch latch;
static int64_t count, inside, together;
static atomic_int lost; /* a holder lacked a core for so long that the latch changed hands */

static void *add(void *unused)
{
    for (int i = 0; i < TIMES; i++) {
        int64_t taken = xg_latch_wait(&latch);
        together += inside++ != 0;
        count++;
        inside--;
        lost += !xg_latch_leave(&latch, taken);
    }
    return unused;
}

static void test_one_at_a_time(void)
{
    xt_threads_run(THREADS, add, NULL, 0);
    XT_CHECK(lost || (count == THREADS * TIMES && together == 0), "%lld counted, %lld not alone",
             (long long)count, (long long)together);
}

static void *try_in_vain(void *unused)
{
    for (int i = 0; i < REFUSED; i++)
        XT_CHECK(xg_latch_take(&latch) == 0, "taken twice, at trial %d", i);
    XT_CHECK(!xg_latch_leave(&latch, 0), "released by a thread that was refused");
    return unused;
}

static void *take(void *taken)
{
    *(int64_t *)taken = xg_latch_take(&latch);
    return NULL;
}

/* A latch whose holder waits for a core. */
static void test_refused(void)
{
    int64_t taken = xg_latch_take(&latch);
    XT_CHECK(taken != 0, "it was free");
    xt_threads_run(1, try_in_vain, NULL, 0);
    xg_latch_leave(&latch, taken);
    xt_threads_run(1, take, &taken, 0);
    XT_CHECK(taken != 0, "it was let go");
    xg_latch_leave(&latch, taken);
}

/* Its holder, another thread, jumped out, or continues after a long stop. */
static void test_lost(void)
{
    int64_t gone, none;
    xt_threads_run(1, take, &gone, 0);
    usleep(250000);
    XT_CHECK(xg_latch_take(&latch) == 0, "the process may have been stopped");
    int64_t taken = xg_latch_wait(&latch);
    xt_threads_run(1, take, &none, 0);
    XT_CHECK(!xg_latch_leave(&latch, gone) && none == 0, "released by a thread that had lost it");
    XT_CHECK(xg_latch_leave(&latch, taken), "lost again");
    xt_threads_run(1, take, &taken, 0);
    XT_CHECK(taken != 0, "let go");
    xg_latch_reset(&latch);
    XT_CHECK(xg_latch_take(&latch) != 0, "the holder is not in this process");
    xg_latch_reset(&latch);
}

static sigjmp_buf out;
static volatile int64_t in_handler;

static void leave(int signal)
{
    siglongjmp(out, signal);
}

static void multiply(int signal)
{
    (void)signal;
    in_handler = xg_latch_take(&latch) + xg_latch_wait(&latch);
}

/* A signal handler interrupts this thread while it has the latch. If the handler jumps out, no
 * thread waits for the latch. A handler that returns does not get the latch. */
static void test_own(void)
{
    signal(SIGUSR1, leave);
    if (!sigsetjmp(out, 1)) {
        XT_CHECK(xg_latch_take(&latch) != 0, "it was free");
        raise(SIGUSR1);
    }
    int64_t taken = xg_latch_take(&latch);
    XT_CHECK(taken != 0, "its own thread waits for itself");
    signal(SIGUSR1, multiply);
    in_handler = -1;
    raise(SIGUSR1);
    XT_CHECK(in_handler == 0, "taken from what it interrupted");
    XT_CHECK(xg_latch_leave(&latch, taken), "lost to a handler");
}

/* A program may define the clock's function; this one does. */
static atomic_bool stands_at_zero;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!stands_at_zero)
        return (int)syscall(SYS_clock_gettime, clock, time);
    *time = (struct timespec){0};
    return 0;
}

static void test_clock_at_zero(void)
{
    stands_at_zero = true;
    int64_t taken = xg_latch_take(&latch);
    XT_CHECK(taken != 0, "it was free");
    XT_CHECK(xg_latch_leave(&latch, taken), "lost");
    stands_at_zero = false;
}

int main(void)
{
    test_one_at_a_time();
    test_refused();
    test_lost();
    test_own();
    test_clock_at_zero();
    return xt_done();
}
