/* SPDX-License-Identifier: MIT */
/* call_memory: memory of a call is freed when its thread has left the call or has ended, in a child
 * of fork when the child lacks the thread. Contract 8.9. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/host/call_memory.h"
#include "tests/support/xt.h"

enum { BYTES = 100000, PAGE = 4096 };

static bool is_mapped(void *memory)
{
    return msync((void *)((uintptr_t)memory / PAGE * PAGE), PAGE, MS_ASYNC) == 0;
}

static void *allocate(const void *frame)
{
    unsigned char *memory = xg_call_memory_alloc(BYTES, frame);
    bool zeros = memory;
    for (int i = 0; zeros && i < BYTES; i++)
        zeros = memory[i] == 0;
    XT_CHECK(zeros, "no zeros");
    if (memory)
        memset(memory, 1, BYTES);
    return memory;
}

static void test_free(void)
{
    const char frame = 0;
    void *one = allocate(&frame), *two = allocate(&frame);
    xg_call_memory_free(one);
    XT_CHECK(!is_mapped(one) && is_mapped(two), "the first alone is freed");
    xg_call_memory_free(two);
    xg_call_memory_free(NULL);
    XT_CHECK(!is_mapped(two), "the second is freed");
}

/* --- Left by a jump -------------------------------------------------------------------------- */

static jmp_buf out;
static void *volatile left;

__attribute__((noinline)) static void leave(void)
{
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    left = allocate((void *)frame);
    xg_call_memory_arrive((void *)(frame - 1));
    XT_CHECK(is_mapped(left), "a call inside frees it");
    longjmp(out, 1);
}

static void test_jump(void)
{
    const char frame = 0;
    if (!setjmp(out))
        leave();
    XT_CHECK(is_mapped(left), "the jump frees it");
    xg_call_memory_arrive(&frame);
    XT_CHECK(!is_mapped(left), "the next call does not free it");
}

static void arrive_on_own_stack(int number)
{
    (void)number;
    xg_call_memory_arrive((void *)UINTPTR_MAX);
}

/* A signal handler's own stack may lie above the thread's. */
static void test_handler(void)
{
    static char memory[1 << 16];
    const stack_t own = {.ss_sp = memory, .ss_size = sizeof memory},
                  none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = arrive_on_own_stack, .sa_flags = SA_ONSTACK};
    const char frame = 0;
    void *held = allocate(&frame);
    sigaltstack(&own, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    sigaltstack(&none, NULL);
    XT_CHECK(is_mapped(held), "a handler frees it");
    xg_call_memory_free(held);
}

/* --- Threads --------------------------------------------------------------------------------- */

enum { RETURNS, EXITS, CANCELLED, JUMPS, STAYS };

struct thread {
    pthread_t id;
    int how, ready[2];
    void *memory;
};

/* A thread that does not return leaves marks of the address sanitizer on its stack. */
__attribute__((no_sanitize("address"))) static void *hold(void *arg)
{
    struct thread *thread = arg;
    sigjmp_buf back;
    thread->memory = allocate(&thread);
    if (thread->how == EXITS)
        pthread_exit(NULL);
    if (thread->how == JUMPS && !sigsetjmp(back, 1))
        siglongjmp(back, 1);
    if (write(thread->ready[1], "", 1) != 1)
        exit(XT_HARD);
    while (thread->how == CANCELLED || thread->how == STAYS)
        pause();
    return NULL;
}

static void start(struct thread *thread, int how)
{
    char byte;
    thread->how = how;
    if (pipe(thread->ready) || pthread_create(&thread->id, NULL, hold, thread) ||
        (how != EXITS && read(thread->ready[0], &byte, 1) != 1))
        exit(XT_HARD);
}

static void finish(struct thread *thread)
{
    if (thread->how >= CANCELLED && thread->how != JUMPS)
        pthread_cancel(thread->id);
    pthread_join(thread->id, NULL);
    close(thread->ready[0]);
    close(thread->ready[1]);
    XT_CHECK(!is_mapped(thread->memory), "a thread that ended, %d", thread->how);
}

static void test_ends(void)
{
    for (int i = 0; i < 2000; i++) {
        struct thread thread;
        start(&thread, i % STAYS);
        finish(&thread);
    }
}

static void test_fork(void)
{
    enum { OTHERS = 50 };
    struct thread others[OTHERS];
    const char frame = 0;
    void *own = allocate(&frame);
    for (int i = 0; i < OTHERS; i++)
        start(&others[i], STAYS);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < OTHERS; i++)
            XT_CHECK(!is_mapped(others[i].memory), "a thread that the child lacks");
        XT_CHECK(is_mapped(own), "the child's own");
        xg_call_memory_free(own);
        XT_CHECK(!is_mapped(own), "freed in the child");
        _exit(xt_failures > 0);
    }
    xt_child_wait(child, "child");
    for (int i = 0; i < OTHERS; i++) {
        XT_CHECK(is_mapped(others[i].memory), "fork frees the parent's");
        finish(&others[i]);
    }
    XT_CHECK(is_mapped(own), "the main thread's");
    xg_call_memory_free(own);
}

int main(void)
{
    test_free();
    test_jump();
    test_handler();
    test_ends();
    test_fork();
    return xt_done();
}
