/* SPDX-License-Identifier: MIT */
/* A list of all threads' memory; the key's destructor frees that of a thread that ends. */
#include "host/call_memory.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/sandbox.h"
#include "host/fork.h"
#include "host/shelter.h"
#include "host/stack.h"

/* At the begin of a mapping. */
struct block {
    _Alignas(64) struct block *next;
    pthread_t thread;
    const void *frame; /* NULL: on a stack that is not the thread's own */
    size_t bytes;
    stack_t handlers; /* the thread's alternate stack, which may be an array on its own stack */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *first; /* with the lock held */

/* The lowest frame of this thread's blocks; 0: none. Written with signals blocked. */
static _Thread_local uintptr_t deepest __attribute__((tls_model("initial-exec")));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool keyed;

/* Which blocks to free. */
struct choice {
    bool others;        /* those of the other threads; else this thread's */
    const void *frame;  /* only those that a call in this frame shows to be left; NULL: all */
    const void *memory; /* only this one; NULL: all */
};

/* Frames of different stacks cannot be compared. The call's frame is on the thread's own stack. */
static bool is_left(const struct block *block, const void *frame)
{
    return block->frame && block->frame <= frame &&
           (uintptr_t)frame - (uintptr_t)block->handlers.ss_sp >= block->handlers.ss_size;
}

static bool is_chosen(const struct choice *choice, const struct block *block)
{
    return !pthread_equal(block->thread, pthread_self()) == choice->others &&
           (!choice->frame || is_left(block, choice->frame)) &&
           (!choice->memory || block + 1 == choice->memory);
}

static void add_locked(struct block *block)
{
    uintptr_t frame = (uintptr_t)block->frame;
    block->next = first;
    first = block;
    if (frame && (!deepest || frame < deepest) && pthread_equal(block->thread, pthread_self()))
        deepest = frame;
}

static void release_locked(const struct choice *choice)
{
    struct block *block = first, *next;
    first = NULL;
    deepest = 0;
    for (; block; block = next) {
        next = block->next;
        if (is_chosen(choice, block))
            munmap(block, block->bytes);
        else
            add_locked(block);
    }
}

static void release(const struct choice *choice)
{
    struct xg_shelter shelter;
    if (xg_sandbox_closed() || xg_fork_unannounced())
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
    *block = (struct block){
        .thread = pthread_self(), .frame = xg_stack_holds(frame) ? frame : NULL, .bytes = bytes};
    sigaltstack(NULL, &block->handlers);
    pthread_mutex_lock(&lock);
    add_locked(block);
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

/* A signal handler, or a context to which one switches, may be on another stack. */
void xg_call_memory_arrive(const void *frame)
{
    if (deepest && (uintptr_t)frame >= deepest && xg_stack_holds(frame))
        release(&(struct choice){.frame = frame});
}
