/* SPDX-License-Identifier: MIT */
/* spare: one product at a time computes with a thread less, and what the program set stays. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/host/spare.h"
#include "src/host/tally.h"
#include "xt.h"

static _Atomic int count = 16;

static int get_threads(void)
{
    return count;
}

static void set_threads(int threads)
{
    count = threads;
}

static int other_count = 16;

static int get_others(void)
{
    return other_count;
}

static void set_others(int threads)
{
    other_count = threads;
}

static const struct xg_cpu cpu = {.get_threads = get_threads, .set_threads = set_threads};
static const struct xg_cpu other = {.get_threads = get_others, .set_threads = set_others};

static void test_one_product(void)
{
    const struct xg_cpu fixed = {.get_threads = get_threads};
    const struct xg_cpu unknown = {.set_threads = set_threads};

    XT_CHECK(xg_spare_begin(&cpu, 16, 16) && count == 15, "%d", count);
    XT_CHECK(!xg_spare_begin(&cpu, 15, 15) && count == 15, "a second one at once: %d", count);
    xg_spare_end(&cpu);
    XT_CHECK(count == 16, "%d", count);

    XT_CHECK(xg_spare_begin(&cpu, 16, 8) && count == 15, "more threads than cores: %d", count);
    count = 4; /* the program, from another thread */
    xg_spare_end(&cpu);
    XT_CHECK(count == 4, "the program's count is lost: %d", count);

    XT_CHECK(!xg_spare_begin(&cpu, 16, 16) && count == 4, "changed since it was read: %d", count);
    count = 16;
    XT_CHECK(xg_spare_begin(&cpu, 16, 16) && count == 15, "%d", count);
    xg_spare_end(&cpu);
    count = 4;

    XT_CHECK(!xg_spare_begin(&cpu, 15, 16), "a core is free");
    XT_CHECK(!xg_spare_begin(&cpu, 2, 2), "half of two");
    XT_CHECK(!xg_spare_begin(&fixed, 16, 16) && !xg_spare_begin(&unknown, 16, 16), "no way to");
    XT_CHECK(count == 4, "%d", count);
    count = 16;
}

/* A product that its thread left does not keep the thread that it lent, nor all others from
 * lending.
 */
static void test_left(void)
{
    XT_CHECK(xg_spare_begin(&cpu, 16, 16) && count == 15, "%d", count);
    xg_spare_settle(&cpu);
    XT_CHECK(count == 15, "settled while it runs: %d", count);
    xg_tally_forget();
    xg_spare_settle(&other);
    XT_CHECK(count == 15 && other_count == 16, "%d, %d", count, other_count);
    xg_spare_settle(&cpu);
    XT_CHECK(count == 16, "left: %d", count);
    XT_CHECK(xg_spare_begin(&cpu, 16, 16) && count == 15, "none lends after it: %d", count);
    xg_spare_end(&cpu);

    XT_CHECK(xg_spare_begin(&cpu, 16, 16), "%d", count);
    xg_tally_forget();
    count = 3; /* the program */
    xg_spare_settle(&cpu);
    XT_CHECK(count == 3, "the program's count is lost: %d", count);
    count = 16;
}

static void *lend(void *done)
{
    XT_CHECK(xg_spare_begin(&cpu, 16, 16) && count == 15, "%d", count);
    pthread_barrier_wait(done);
    pthread_barrier_wait(done);
    xg_spare_end(&cpu);
    return NULL;
}

static void *lend_for_ever(void *arg)
{
    if (xg_spare_begin(&cpu, 16, 16))
        for (;;)
            pause();
    return arg;
}

/* Nor does one whose thread was cancelled. */
static void test_cancelled(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, lend_for_ever, NULL))
        exit(XT_HARD);
    while (get_threads() == 16)
        usleep(1000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    XT_CHECK(count == 15, "%d", count);
    xg_spare_settle(&cpu);
    XT_CHECK(count == 16, "cancelled: %d", count);
}

/* A child forked meanwhile has the count, and not the thread that would put it back. */
static void test_forked(void)
{
    pthread_t thread;
    pthread_barrier_t done;
    int status = -1;
    pthread_barrier_init(&done, NULL, 2);
    if (pthread_create(&thread, NULL, lend, &done))
        exit(XT_HARD);
    pthread_barrier_wait(&done);
    pid_t pid = fork();
    if (pid == 0) {
        xg_spare_settle(&cpu);
        XT_CHECK(count == 16, "the child: %d", count);
        XT_CHECK(xg_spare_begin(&cpu, 16, 16) && count == 15, "none lends in it: %d", count);
        xg_spare_end(&cpu);
        XT_CHECK(count == 16, "the child: %d", count);
        _exit(xt_failures ? XT_FAIL : XT_PASS);
    }
    waitpid(pid, &status, 0);
    XT_CHECK(status == 0, "status %#x", (unsigned)status);
    pthread_barrier_wait(&done);
    pthread_join(thread, NULL);
    XT_CHECK(count == 16, "%d", count);
}

enum { OTHERS = 4096, STACK_BYTES = 64 << 10 };

static pthread_barrier_t counted, finished;

static void *count_on(void *unused)
{
    xg_tally_add(XG_TALLY_PRODUCTS, 1);
    pthread_barrier_wait(&counted);
    pthread_barrier_wait(&finished);
    return unused;
}

static void *lend_uncounted(void *unused)
{
    XT_CHECK(!xg_spare_begin(&cpu, 16, 16) && count == 16, "who is not counted lends: %d", count);
    return unused;
}

/* Beside more threads than are counted nobody lends: the count could not be put back for sure. The
 * thread sanitizer takes minutes to start so many. */
static void test_many(void)
{
#ifdef __SANITIZE_THREAD__
    return;
#endif
    static pthread_t threads[OTHERS], last;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_barrier_init(&counted, NULL, OTHERS + 1);
    pthread_barrier_init(&finished, NULL, OTHERS + 1);
    for (int i = 0; i < OTHERS; i++)
        if (pthread_create(&threads[i], &attr, count_on, NULL)) {
            printf("no more than %d threads here: not tested with more than are counted\n", i);
            exit(xt_done()); /* which ends those that there are */
        }
    pthread_barrier_wait(&counted);
    if (pthread_create(&last, &attr, lend_uncounted, NULL))
        exit(XT_HARD);
    pthread_join(last, NULL);
    XT_CHECK(xg_tally_all(XG_TALLY_PRODUCTS) >= OTHERS - 1, "%d counted",
             xg_tally_all(XG_TALLY_PRODUCTS));
    pthread_barrier_wait(&finished);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(threads[i], NULL);
    pthread_attr_destroy(&attr);
}

int main(void)
{
    test_one_product();
    test_left();
    test_cancelled();
    test_forked();
    test_many();
    return xt_done();
}
