/* SPDX-License-Identifier: MIT */
/* Runs a program's traced products again by the policy, on a simulated clock. */
/*
 * A fixture is a text file (tests/traces): lines "# name: value", then a product a line,
 *
 *   start_us,thread,m,n,k,cpu_us,gpu_us,gpu_busy_us
 *
 * in any order: when it began in the plain run, by which of the program's threads (from 0), and
 * what it took on the CPU, on the GPU, and on the GPU while all cores were busy. Names that matter:
 *
 *   cores            that the process could use
 *   cpu_threads      of the CPU library, as the program used it; with 1 none of them spins
 *   cpu_threads_set  optional: how many the environment asked for, which the policy knows
 *   spin_s           how long they spin after a product of more than 64^3
 *   repeat: N PERIOD_US   lines up to the next one are a period, and come N times in a row; their
 *                    times count from where the lines before end
 *
 * "#" without a name and a colon begins a remark.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The duration of the engine's start. */
#define REPLAY_START_S 0.45

enum { REPLAY_LANES = 2, REPLAY_THREADS_MAX = 64, REPLAY_NAME_BYTES = 80 };

struct replay_product {
    double start_s;
    int thread;
    int64_t m, n, k;
    double cpu_s, gpu_s, gpu_busy_s;
    /* In the plain run it began gap_s after the end of product number `after`, the one before it on
     * its thread; of a thread's first product that is the last to end, on any thread, before it
     * began. -1: none, and the gap is since the program's first product. */
    ptrdiff_t after;
    double gap_s;
};

struct replay_fixture {
    char program[REPLAY_NAME_BYTES];
    int cores, cpu_threads, cpu_threads_set; /* the last 0: not set */
    double spin_s;
    int threads;
    size_t count;
    struct replay_product *products; /* in order of their start */
};

/* Seconds of one way to run the program. */
struct replay_times {
    double total_s;    /* from the first product's begin to the last one's end */
    double products_s; /* in products, what they waited for included, summed over threads */
    double counted_s;  /* of those, in the ones that the policy is judged by */
};

/*
 * The products that count are those that began when the engine was ready; where the policy never
 * starts it all do, and the GPU's time is charged with a start.
 */
struct replay_result {
    struct replay_times cpu, gpu, policy; /* all on the CPU; all on the GPU, which is ready */
    double least_s;                       /* each product where it is faster, undisturbed */
    long gpu_products;                    /* the policy's */
    long moves;         /* of a thread's products above 64^3 from one place to the other */
    double first_gpu_s; /* when the first of them began, since the first product; -1: never */
};

/*
 * Reads a fixture; the caller frees it with replay_free. False: what is wrong is in error, and
 * nothing is left to free.
 */
bool replay_read(FILE *file, struct replay_fixture *fixture, char error[REPLAY_NAME_BYTES]);
void replay_free(struct replay_fixture *fixture);

/* Between two runs of a program that is repeated. */
#define REPLAY_PAUSE_S 1e-3

/* The program runs so many times in a row. False: no memory, and *fixture is as before. */
bool replay_repeat(struct replay_fixture *fixture, int times);

/*
 * Runs the program all three ways. products: unless NULL, gets a line for each product of the
 * policy's run, when it ends: second it began, thread, m, n, k, place, microseconds, reason. False:
 * no memory.
 */
bool replay_run(const struct replay_fixture *fixture, struct replay_result *result, FILE *products);

#endif
