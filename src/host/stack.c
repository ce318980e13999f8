/* SPDX-License-Identifier: MIT */
/* Asks once per thread where its stack ends. */
#include "host/stack.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 80 KiB were too little for a first product on the GPU, which loads a module. */
enum { LEAST_BYTES = 256 << 10 };

/* The stack's upper end and its lowest byte; both 1: not known. 0: not asked yet. */
static _Thread_local uintptr_t highest __attribute__((tls_model("initial-exec")));
static _Thread_local uintptr_t lowest __attribute__((tls_model("initial-exec")));

static void ask(void)
{
    pthread_attr_t attributes;
    void *address;
    size_t size;
    lowest = highest = 1;
    if (syscall(SYS_gettid) == getpid() || pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
        lowest = (uintptr_t)address;
        highest = lowest + size;
    }
    pthread_attr_destroy(&attributes);
}

bool xg_stack_suffices(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (!lowest)
        ask();
    return here < lowest || here >= highest || here - lowest >= LEAST_BYTES;
}

bool xg_stack_is_handlers(void)
{
    stack_t stack;
    return sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK;
}
