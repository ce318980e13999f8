/* SPDX-License-Identifier: MIT */
/*
 * Leaves products in the middle, while other threads multiply. Compiled by the preload tests and
 * linked to a BLAS with the C interface that takes no locks.
 * usage: jump jump ROUNDS    a handler of SIGALRM leaves the product by siglongjmp
 *        jump cancel ROUNDS  a thread with PTHREAD_CANCEL_ASYNCHRONOUS is cancelled in it
 *        jump signal ROUNDS  a handler of SIGALRM returns, and the signal mask is checked
 *        jump once           one product, which a signal may end
 * Prints "right" when all other products were right and each round ended as it should; on standard
 * error, the number of products that ran to their end.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/threads.h"
#include "tests/support/xt.h"

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

enum { SIDE = 160, THREADS = 3, LEAST = 20, HUNG_S = 90 };

static float ones[SIDE * SIDE];
static atomic_bool ended, wrong;
static atomic_int whole; /* products that ran to their end */

static void multiply(float *c)
{
    cblas_sgemm(101, 111, 111, SIDE, SIDE, SIDE, 1.0f, ones, SIDE, ones, SIDE, 0.0f, c, SIDE);
    whole++;
}

static void multiply_well(float *c)
{
    memset(c, 0xff, SIDE * SIDE * sizeof *c);
    multiply(c);
    for (int i = 0; i < SIDE * SIDE; i++)
        if (!(c[i] == (float)SIDE))
            wrong = true;
}

static void *multiply_on(void *c)
{
    for (int i = 0; i < LEAST || !ended; i++)
        multiply_well(c);
    return NULL;
}

/* SIGALRM is blocked in the other threads, so that the main thread takes the timer's signal. */
static void block_alarm(int how)
{
    sigset_t alarm_alone;
    sigemptyset(&alarm_alone);
    sigaddset(&alarm_alone, SIGALRM);
    pthread_sigmask(how, &alarm_alone, NULL);
}

static void alarm_after(int us)
{
    struct itimerval timer = {.it_value = {us / 1000000, us % 1000000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Draws a time from 0.05 to 12 ms. */
static int some_us(uint64_t *seed)
{
    float x = xt_random(seed);
    return 50 + (int)(12000 * x * x * x * x);
}

/* --- Jumps --------------------------------------------------------------------------------- */

static sigjmp_buf out;

static void leave(int signal)
{
    siglongjmp(out, signal);
}

static void jump(int rounds)
{
    static float c[SIDE * SIDE];
    uint64_t seed = 1;
    volatile int jumps = 0;
    signal(SIGALRM, leave);
    for (int i = 0; i < rounds || jumps < rounds / 4; i++) {
        if (sigsetjmp(out, 1)) {
            jumps++;
        } else {
            alarm_after(some_us(&seed));
            for (;;)
                multiply(c);
        }
    }
    for (int i = 0; i < LEAST; i++)
        multiply_well(c);
}

/* --- Cancelled threads --------------------------------------------------------------------- */

static void *multiply_until_cancelled(void *c)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        multiply(c);
    return NULL;
}

static void cancel(int rounds)
{
    static float c[SIDE * SIDE];
    uint64_t seed = 1;
    for (int i = 0; i < rounds; i++) {
        pthread_t thread;
        void *result = NULL;
        if (pthread_create(&thread, NULL, multiply_until_cancelled, c))
            exit(XT_HARD);
        usleep((useconds_t)some_us(&seed));
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED) {
            printf("joined with %p\n", result);
            wrong = true;
        }
    }
    multiply_well(c);
}

/* --- Signals ------------------------------------------------------------------------------- */

static atomic_int alarms;

static void count_alarm(int signal)
{
    (void)signal;
    alarms++;
}

static void keep_mask(int rounds)
{
    static float c[SIDE * SIDE];
    uint64_t seed = 1;
    sigset_t before, after;
    signal(SIGALRM, count_alarm);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    for (int i = 0; i < rounds; i++) {
        int seen = alarms;
        alarm_after(some_us(&seed));
        while (alarms == seen)
            multiply_well(c);
        pthread_sigmask(SIG_SETMASK, NULL, &after);
        for (int signal = 1; signal < NSIG; signal++)
            if (sigismember(&before, signal) != sigismember(&after, signal)) {
                printf("signal %d: the mask has changed\n", signal);
                wrong = true;
            }
    }
}

int main(int argc, char **argv)
{
    static float c[THREADS][SIDE * SIDE];
    const char *what = argc > 1 ? argv[1] : "";
    int rounds = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 0; i < SIDE * SIDE; i++)
        ones[i] = 1.0f;
    if (!strcmp(what, "once")) {
        signal(SIGHUP, SIG_DFL); /* which nohup ignores */
        multiply_well(c[0]);
        printf(wrong ? "wrong\n" : "right\n");
        return wrong;
    }
    block_alarm(SIG_BLOCK);
    const struct xt_threads threads = xt_threads_start(THREADS, multiply_on, c, sizeof c[0]);
    block_alarm(SIG_UNBLOCK);
    if (!strcmp(what, "jump"))
        jump(rounds);
    else if (!strcmp(what, "cancel"))
        cancel(rounds);
    else if (!strcmp(what, "signal"))
        keep_mask(rounds);
    else
        return XT_HARD;
    alarm_after(0);
    signal(SIGALRM, SIG_DFL);
    alarm(HUNG_S); /* ends the test if threads hang */
    ended = true;
    xt_threads_join(&threads);
    fprintf(stderr, "%d products\n", whole);
    printf(wrong ? "wrong\n" : "right\n");
    return wrong;
}
