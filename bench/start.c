/* SPDX-License-Identifier: MIT */
/*
 * Measures the cost of a start of the engine for a program whose threads fill the cores and meet at
 * the end of each loop, as with OpenMP: the times of its loops during a start and before.
 *
 * usage: start [--memory] [THREADS]   (one a core)
 *
 * --memory: in each loop each thread also maps, writes and unmaps 1 MiB.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/base/conf.h"
#include "src/engine/engine.h"
#include "src/host/cores.h"

enum { LOOPS = 1500, LOOPS_BEFORE = 200, STEPS = 200000, THREADS_MAX = 256 };
enum { MAPPED_BYTES = 1 << 20, PAGE_BYTES = 4096 };

static struct {
    int threads;
    bool memory;
    _Atomic long arrived;      /* at the ends of loops, by all threads */
    _Atomic bool wanted;       /* the start begins */
    double ended_s[LOOPS];     /* time at which all had arrived */
    double start_s, started_s; /* begin and end of the start */
} run;

static void touch_memory(void)
{
    char *at = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return;
    for (int i = 0; i < MAPPED_BYTES; i += PAGE_BYTES)
        ((volatile char *)at)[i] = 1;
    munmap(at, MAPPED_BYTES);
}

static void *loop_main(void *first)
{
    volatile double sink = 1.0;
    for (long loop = 0; loop < LOOPS; loop++) {
        if (run.memory)
            touch_memory();
        for (int step = 0; step < STEPS; step++)
            sink = sink * 1.0000001;
        atomic_fetch_add(&run.arrived, 1);
        while (atomic_load(&run.arrived) < (loop + 1) * run.threads)
            continue;
        if (!first)
            continue;
        run.ended_s[loop] = xg_clock_s();
        if (loop == LOOPS_BEFORE)
            atomic_store(&run.wanted, true);
    }
    return NULL;
}

static void *start_main(void *conf)
{
    const struct timespec nap = {.tv_nsec = 50000};
    while (!atomic_load(&run.wanted))
        nanosleep(&nap, NULL);
    run.start_s = xg_clock_s();
    if (xg_engine_wait(conf) != XG_ENGINE_READY) {
        fprintf(stderr, "no GPU\n");
        exit(EXIT_FAILURE);
    }
    run.started_s = xg_clock_s();
    return NULL;
}

static void print_result(void)
{
    double before_s = (run.ended_s[LOOPS_BEFORE - 1] - run.ended_s[0]) / (LOOPS_BEFORE - 1);
    double beside_s = 0.0, longest_s = 0.0;
    int loops = 0;
    for (int i = LOOPS_BEFORE + 1; i < LOOPS && run.ended_s[i - 1] < run.started_s; i++, loops++) {
        double took_s = run.ended_s[i] - run.ended_s[i - 1];
        beside_s += took_s;
        longest_s = took_s > longest_s ? took_s : longest_s;
    }
    printf("%d threads%s: a loop takes %.3f ms; a start %.0f ms; during it %d loops, which lost "
           "%.0f ms, the longest took %.1f ms\n",
           run.threads, run.memory ? ", memory" : "", 1e3 * before_s,
           1e3 * (run.started_s - run.start_s), loops, 1e3 * (beside_s - loops * before_s),
           1e3 * longest_s);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX], starter;
    run.threads = xg_cores_count();
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--memory"))
            run.memory = true;
        else
            run.threads = atoi(argv[i]);
    }
    if (run.threads < 1 || run.threads > THREADS_MAX) {
        fprintf(stderr, "usage: start [--memory] [THREADS]\n");
        return 2;
    }
    pthread_create(&starter, NULL, start_main, (void *)(uintptr_t)xg_conf_get());
    for (int i = 0; i < run.threads; i++)
        if (pthread_create(&threads[i], NULL, loop_main, i ? NULL : &run)) {
            fprintf(stderr, "no thread\n");
            return 1;
        }
    for (int i = 0; i < run.threads; i++)
        pthread_join(threads[i], NULL);
    pthread_join(starter, NULL);
    print_result();
    return 0;
}
