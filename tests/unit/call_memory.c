/* SPDX-License-Identifier: MIT */
/* A call's memory is freed when its thread has left the call or has ended, and in a child of fork
 * that lacks the thread. A call on another stack does not free it. A closed process makes no system
 * call. Contract 7.9, 8.9. */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "src/base/sandbox.h"
#include "src/host/call_memory.h"
#include "tests/support/filter.h"
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
    if (!setjmp(out))
        leave();
    XT_CHECK(is_mapped(left), "the jump frees it");
    xg_call_memory_arrive(__builtin_frame_address(0));
    XT_CHECK(!is_mapped(left), "the next call does not free it");
}

static void *jump_in_thread(void *unused)
{
    test_jump();
    return unused;
}

/* --- Other stacks ---------------------------------------------------------------------------- */

enum { STACK = 1 << 19, DISARM = INT_MIN }; /* SS_AUTODISARM, which glibc lacks */

static void *volatile held;

static void arrive(int number)
{
    (void)number;
    xg_call_memory_arrive(__builtin_frame_address(0));
}

/* A signal interrupts a call, and the handler makes another call on the given stack. */
__attribute__((noinline)) static void hold_while_handled(char *stack, int flags)
{
    const stack_t own = {.ss_sp = stack, .ss_size = STACK, .ss_flags = flags},
                  none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = arrive, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    sigaltstack(&own, NULL);
    held = allocate(__builtin_frame_address(0));
    raise(SIGUSR1);
    sigaltstack(&none, NULL);
    XT_CHECK(is_mapped(held), "a handler frees it, flags %#x", (unsigned)flags);
    xg_call_memory_free(held);
}

__attribute__((noinline)) static void hold_while_switched(char *stack)
{
    static ucontext_t here, there;
    getcontext(&there);
    there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK};
    there.uc_link = &here;
    makecontext(&there, (void (*)(void))arrive, 1, 0);
    held = allocate(__builtin_frame_address(0));
    swapcontext(&here, &there);
    XT_CHECK(is_mapped(held), "a context frees it");
    xg_call_memory_free(held);
}

/* The reverse: the call that the thread leaves is on the given stack. */
static void leave_on_stack(int number)
{
    (void)number;
    held = allocate(__builtin_frame_address(0));
}

__attribute__((noinline)) static void arrive_while_switched(char *stack)
{
    static ucontext_t here, there;
    getcontext(&there);
    there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK};
    there.uc_link = &here;
    makecontext(&there, (void (*)(void))leave_on_stack, 1, 0);
    swapcontext(&here, &there);
    arrive(0);
    XT_CHECK(is_mapped(held), "the thread frees the context's");
    xg_call_memory_free(held);
}

static void visit(char *stack)
{
    hold_while_handled(stack, 0);
    hold_while_handled(stack, DISARM);
    hold_while_switched(stack);
    arrive_while_switched(stack);
}

/* The thread's stack lies between two others. */
static void *visit_both(void *stacks)
{
    visit(stacks);
    visit((char *)stacks + 4 * STACK);
    return NULL;
}

/* A handler's stack may also be an array of a function that calls BLAS. */
static void *visit_array(void *unused)
{
    char stack[STACK];
    hold_while_handled(stack, 0);
    hold_while_handled(stack, DISARM);
    return unused;
}

static void run_on_stack(void *(*function)(void *), char *stack, void *arg)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, 3 * STACK) ||
        pthread_create(&thread, &attributes, function, arg))
        exit(XT_HARD);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static void test_stacks(void)
{
    char *stacks =
        mmap(NULL, 5 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED)
        exit(XT_HARD);
    run_on_stack(visit_both, stacks + STACK, stacks);
    run_on_stack(visit_array, stacks + STACK, NULL);
    run_on_stack(jump_in_thread, stacks + STACK, NULL);
    visit(stacks);
    visit_array(NULL);
    munmap(stacks, 5 * STACK);
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

/* --- Closed ---------------------------------------------------------------------------------- */

/* This thread or another has memory when the process closes. The filter allows only the calls that
 * end the process. The address sanitizer asks for the stack before _exit. */
__attribute__((no_sanitize("address"))) static void arrive_closed(bool own)
{
    struct sock_filter code[] = {
        FILTER_NUMBER,
        FILTER_ALLOW(SYS_write),
        FILTER_ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    if (own && !setjmp(out))
        leave();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _exit(XT_HARD);
    xg_sandbox_enter();
    xg_sandbox_leave(true);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        _exit(XT_HARD);
    arrive(0);
    _exit(0);
}

static void test_closed(void)
{
    for (int own = 0; own < 2; own++) {
        pid_t child = fork();
        if (child == 0) {
            struct thread other;
            start(&other, STAYS);
            arrive_closed(own);
        }
        xt_child_wait(child, own ? "closed, with memory" : "closed, another thread has memory");
    }
}

int main(void)
{
    test_free();
    test_jump();
    test_stacks();
    test_closed();
    test_ends();
    test_fork();
    return xt_done();
}
