/* SPDX-License-Identifier: MIT */
/*
 * Compares several application threads that multiply at once with a single thread: products per
 * second, computed as by the shim.
 *
 * usage: threads [THREADS [EXTENT [SECONDS]]]   (8 threads, 1024 x 1024 x 1024, 2 s each)
 *
 * A thread computes one product after the other on its own operands. Every thread's last result is
 * checked; a wrong one ends the program with an error.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "sides.h"
#include "src/base/clock.h"
#include "src/verify/accuracy.h"

enum { THREADS_MAX = 64 };

static struct {
    int64_t extent;
    double seconds;
    pthread_barrier_t begin;
    _Atomic bool over;
} run;

struct caller {
    pthread_t thread;
    struct xg_problem call;
    long products;
    double error; /* of the last result, in 2^-24 of |A||B| */
};

static void *call_on(void *arg)
{
    struct caller *caller = arg;
    struct xg_accuracy accuracy;
    xg_accuracy_init(&accuracy, &caller->call);
    side_table[SIDE_AUTO].compute(&caller->call); /* allocates lanes and their memory */
    pthread_barrier_wait(&run.begin);
    for (caller->products = 0; !run.over; caller->products++)
        side_table[SIDE_AUTO].compute(&caller->call);
    caller->error = xg_accuracy_error(&accuracy, &caller->call);
    return NULL;
}

/* Products per second of all threads together; negative if a result is wrong. */
static double rate(struct caller *callers, int threads)
{
    pthread_barrier_init(&run.begin, NULL, (unsigned)threads + 1);
    run.over = false;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&callers[i].thread, NULL, call_on, &callers[i])) {
            fprintf(stderr, "no thread\n");
            exit(EXIT_FAILURE);
        }
    pthread_barrier_wait(&run.begin);
    double begin = xg_clock_s();
    while (xg_clock_s() - begin < run.seconds)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    run.over = true;
    long products = 0;
    bool right = true;
    for (int i = 0; i < threads; i++) {
        pthread_join(callers[i].thread, NULL);
        products += callers[i].products;
        right &= callers[i].error <= (double)run.extent + 3;
    }
    double seconds = xg_clock_s() - begin;
    pthread_barrier_destroy(&run.begin);
    return right ? (double)products / seconds : -1;
}

int main(int argc, char **argv)
{
    static struct caller callers[THREADS_MAX];
    int threads = argc > 1 ? atoi(argv[1]) : 8;
    run.extent = argc > 2 ? atoll(argv[2]) : 1024;
    run.seconds = argc > 3 ? atof(argv[3]) : 2;
    if (threads < 1 || threads > THREADS_MAX || run.extent < 1 || !(run.seconds > 0)) {
        fprintf(stderr, "usage: threads [THREADS [EXTENT [SECONDS]]]\n");
        return EXIT_FAILURE;
    }
    if (!sides_open())
        return EXIT_FAILURE;
    size_t elems = (size_t)(run.extent * run.extent);
    for (int i = 0; i < threads; i++)
        callers[i].call = (struct xg_problem){
            .m = run.extent,
            .n = run.extent,
            .k = run.extent,
            .alpha = 1,
            .a = random_matrix(elems),
            .b = random_matrix(elems),
            .c = random_matrix(elems),
            .lda = run.extent,
            .ldb = run.extent,
            .ldc = run.extent,
        };
    double alone = rate(callers, 1), together = rate(callers, threads);
    printf("# %s, %d threads, %lld^3\n", sides_device()->name, threads, (long long)run.extent);
    printf("one: %.1f products per second; all: %.1f; ratio %.3f; %s\n", alone, together,
           together / alone, alone > 0 && together > 0 ? "right" : "WRONG");
    return alone > 0 && together > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
