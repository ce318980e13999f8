/* SPDX-License-Identifier: MIT */
/* Asks once per thread where its stack ends. */
#include "host/stack.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 80 KiB were too little for a first product on the GPU, which loads a module. */
enum { LEAST_BYTES = 256 << 10 };

/* Of the first thread's stack, which grows: Linux maps nothing else here (MIN_GAP). */
enum { FIRST_BYTES = 128 << 20 };

/* The stack's upper end and its lowest byte; both 1: not known. 0: not asked yet. */
static _Thread_local uintptr_t highest __attribute__((tls_model("initial-exec")));
static _Thread_local uintptr_t lowest __attribute__((tls_model("initial-exec")));
static _Thread_local bool grows __attribute__((tls_model("initial-exec")));

/* The kernel puts the random bytes above the first frame. */
static void ask_first(void)
{
    uintptr_t above = (uintptr_t)getauxval(AT_RANDOM);
    if (above > FIRST_BYTES) {
        highest = above;
        lowest = above - FIRST_BYTES;
        grows = true;
    }
}

static void ask(void)
{
    pthread_attr_t attributes;
    void *address;
    size_t size;
    lowest = highest = 1;
    if (syscall(SYS_gettid) == getpid()) {
        ask_first();
        return;
    }
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
        lowest = (uintptr_t)address;
        highest = lowest + size;
    }
    pthread_attr_destroy(&attributes);
}

bool xg_stack_holds(const void *address)
{
    if (!lowest)
        ask();
    return (uintptr_t)address >= lowest && (uintptr_t)address < highest;
}

bool xg_stack_is_known(void)
{
    return lowest != 0;
}

bool xg_stack_suffices(void)
{
    const char *here = __builtin_frame_address(0);
    return !xg_stack_holds(here) || grows || (uintptr_t)here - lowest >= LEAST_BYTES;
}

bool xg_stack_is_handlers(void)
{
    stack_t stack;
    return sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK;
}
