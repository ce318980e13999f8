/* SPDX-License-Identifier: MIT */
/* Counts of what threads do, summed over threads. The counts of threads that end, jump out, or do
 * not exist in a child are subtracted. */
#include <sys/wait.h>
#include <unistd.h>

#include "src/host/tally.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

static void check(int products, int cores, int own, const char *what)
{
    int all_products = xg_tally_all(XG_TALLY_PRODUCTS), all_cores = xg_tally_all(XG_TALLY_CORES);
    XT_CHECK(all_products == products, "%s: %d products, not %d", what, all_products, products);
    XT_CHECK(all_cores == cores, "%s: %d cores, not %d", what, all_cores, cores);
    XT_CHECK(xg_tally_own(XG_TALLY_CORES) == own, "%s: own %d, not %d", what,
             xg_tally_own(XG_TALLY_CORES), own);
}

static void enter(void)
{
    xg_tally_add(XG_TALLY_PRODUCTS, 1);
    xg_tally_add(XG_TALLY_CORES, 8);
}

static void leave(void)
{
    xg_tally_take(XG_TALLY_CORES, 8);
    xg_tally_take(XG_TALLY_PRODUCTS, 1);
}

static void *end_inside(void *how)
{
    enter();
    if (how)
        pthread_exit(NULL);
    for (;;)
        pause();
    return NULL;
}

static void *stay_inside(void *done)
{
    enter();
    pthread_barrier_wait(done);
    pthread_barrier_wait(done);
    leave();
    return NULL;
}

static void test_ended(void)
{
    static char leaves;
    pthread_join(xt_thread_start(end_inside, &leaves), NULL);
    check(0, 0, 0, "a thread that has ended");
    const pthread_t thread = xt_thread_start(end_inside, NULL);
    while (xg_tally_all(XG_TALLY_CORES) < 8)
        usleep(1000);
    check(1, 8, 0, "a thread that is inside");
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    check(0, 0, 0, "a thread that was cancelled");
}

static void test_left(void)
{
    enter();
    check(1, 8, 8, "inside");
    xg_tally_forget();
    check(0, 0, 0, "left");
    enter();
    check(1, 8, 8, "inside again");
    leave();
    leave();
    check(0, 0, 0, "what the thread does not have is not taken");
}

static void test_forked(void)
{
    pthread_barrier_t done;
    pthread_barrier_init(&done, NULL, 2);
    const pthread_t thread = xt_thread_start(stay_inside, &done);
    pthread_barrier_wait(&done);
    enter();
    check(2, 16, 8, "two threads");
    pid_t pid = fork();
    if (pid == 0) {
        check(1, 8, 8, "the child");
        leave();
        check(0, 0, 0, "the child, outside");
        _exit(xt_failures ? XT_FAIL : XT_PASS);
    }
    xt_child_wait(pid, "the child");
    leave();
    pthread_barrier_wait(&done);
    pthread_join(thread, NULL);
    check(0, 0, 0, "the parent");
}

int main(void)
{
    test_left();
    test_ended();
    test_forked();
    return xt_done();
}
