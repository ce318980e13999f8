/* SPDX-License-Identifier: MIT */
/* A list of all threads' memory; the key's destructor frees that of a thread that ends. */
#include "host/call_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "base/sandbox.h"
#include "host/fork.h"
#include "host/shelter.h"
#include "host/stack.h"

/* At the begin of a mapping. */
struct block {
    _Alignas(64) struct block *next;
    pthread_t thread;
    const void *frame;
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *_Atomic first; /* written with the lock held */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool keyed;

/* Which blocks to free. */
struct choice {
    bool others;        /* those of the other threads; else this thread's */
    const void *frame;  /* only those of frames that are no deeper; NULL: all */
    const void *memory; /* only this one; NULL: all */
};

static bool is_chosen(const struct choice *choice, const struct block *block)
{
    return !pthread_equal(block->thread, pthread_self()) == choice->others &&
           (!choice->frame || block->frame <= choice->frame) &&
           (!choice->memory || block + 1 == choice->memory);
}

static void release_locked(const struct choice *choice)
{
    struct block *block = first, *kept = NULL, *next;
    for (; block; block = next) {
        next = block->next;
        if (is_chosen(choice, block)) {
            munmap(block, block->bytes);
        } else {
            block->next = kept;
            kept = block;
        }
    }
    first = kept;
}

static void release(const struct choice *choice)
{
    struct xg_shelter shelter;
    if (!atomic_load(&first) || xg_sandbox_closed() || xg_fork_unannounced())
        return;
    int saved_errno = errno;
    xg_shelter_enter(&shelter);
    pthread_mutex_lock(&lock);
    release_locked(choice);
    pthread_mutex_unlock(&lock);
    errno = saved_errno;
    xg_shelter_leave(&shelter);
}

static void release_in_child(void)
{
    release_locked(&(struct choice){.others = true});
}

static void release_at_end(void *unused)
{
    (void)unused;
    release(&(struct choice){0});
}

static void init(void)
{
    keyed =
        xg_fork_register(&(struct xg_fork_watch){.lock = &lock, .in_child = release_in_child}) &&
        pthread_key_create(&key, release_at_end) == 0;
}

static struct block *map(size_t bytes, const void *frame)
{
    struct block *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    *block = (struct block){.thread = pthread_self(), .frame = frame, .bytes = bytes};
    pthread_mutex_lock(&lock);
    block->next = first;
    first = block;
    pthread_mutex_unlock(&lock);
    return block;
}

void *xg_call_memory_alloc(size_t bytes, const void *frame)
{
    int saved_errno = errno;
    struct block *block = NULL;
    struct xg_shelter shelter;
    if (xg_sandbox_closed() || xg_fork_unannounced())
        return NULL;
    xg_shelter_enter(&shelter);
    pthread_once(&once, init);
    if (keyed && pthread_setspecific(key, &lock) == 0)
        block = map(sizeof *block + bytes, frame);
    errno = saved_errno;
    xg_shelter_leave(&shelter);
    return block ? block + 1 : NULL;
}

void xg_call_memory_free(void *memory)
{
    if (memory)
        release(&(struct choice){.memory = memory});
}

/* The frame of a signal handler that has its own stack may lie anywhere. */
void xg_call_memory_arrive(const void *frame)
{
    if (atomic_load_explicit(&first, memory_order_relaxed) && !xg_stack_is_handlers())
        release(&(struct choice){.frame = frame});
}
