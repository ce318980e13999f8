/* SPDX-License-Identifier: MIT */
/* Walks over the loaded objects, between one fork and the next. */
#define _GNU_SOURCE
#include "loaded.h"

#include <link.h>
#include <pthread.h>

#include "src/host/fork.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* At load: a fork may come in the midst of the very first product. */
__attribute__((constructor)) static void hold_around_fork(void)
{
    xg_fork_register(&lock, NULL);
}

int shim_loaded_walk(int (*visit)(struct dl_phdr_info *info, size_t size_bytes, void *context),
                     void *context)
{
    if (xg_fork_unannounced()) {
        if (pthread_mutex_trylock(&lock) != 0)
            return 0;
    } else {
        pthread_mutex_lock(&lock);
    }
    int result = dl_iterate_phdr(visit, context);
    pthread_mutex_unlock(&lock);
    return result;
}
