/* SPDX-License-Identifier: MIT */
/* Threads that run one function at once, each with an argument of its own. */
#ifndef XT_THREADS_H
#define XT_THREADS_H

#include <pthread.h>

#include "xt.h"

struct xt_threads {
    pthread_t thread[16];
    int count;
};

/* Their arguments lie so many bytes apart; 0: they share one. Ends the test where there is none. */
static inline struct xt_threads xt_threads_start(int count, void *(*run)(void *), void *arguments,
                                                 size_t apart_bytes)
{
    struct xt_threads threads = {.count = count};
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads.thread[i], NULL, run,
                           (char *)arguments + (size_t)i * apart_bytes))
            exit(XT_HARD);
    return threads;
}

static inline void xt_threads_join(const struct xt_threads *threads)
{
    for (int i = 0; i < threads->count; i++)
        pthread_join(threads->thread[i], NULL);
}

/* From start to end. */
static inline void xt_threads_run(int count, void *(*run)(void *), void *arguments,
                                  size_t apart_bytes)
{
    const struct xt_threads threads = xt_threads_start(count, run, arguments, apart_bytes);
    xt_threads_join(&threads);
}

#endif
