/* SPDX-License-Identifier: MIT */
/* Threads that run one function at once, each with its own argument. */
#ifndef XT_THREADS_H
#define XT_THREADS_H

#include <pthread.h>

#include "xt.h"

/* Starts one thread. Ends the test if that fails. */
static inline pthread_t xt_thread_start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument))
        exit(XT_HARD);
    return thread;
}

struct xt_threads {
    pthread_t thread[16];
    int count;
};

/* apart_bytes: between the arguments; 0: all threads share one. */
static inline struct xt_threads xt_threads_start(int count, void *(*run)(void *), void *arguments,
                                                 size_t apart_bytes)
{
    struct xt_threads threads = {.count = count};
    for (int i = 0; i < count; i++)
        threads.thread[i] = xt_thread_start(run, (char *)arguments + (size_t)i * apart_bytes);
    return threads;
}

static inline void xt_threads_join(const struct xt_threads *threads)
{
    for (int i = 0; i < threads->count; i++)
        pthread_join(threads->thread[i], NULL);
}

/* Starts the threads and waits for their end. */
static inline void xt_threads_run(int count, void *(*run)(void *), void *arguments,
                                  size_t apart_bytes)
{
    const struct xt_threads threads = xt_threads_start(count, run, arguments, apart_bytes);
    xt_threads_join(&threads);
}

#endif
