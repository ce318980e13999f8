/* SPDX-License-Identifier: MIT */
/* The fake driver's state: environment, call counts, fault injection, start and end. */
#include "fake.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FAULTS = 64, MAX_NAMES = 192 };

struct fault {
    char name[48]; /* empty: any function */
    long left;     /* calls before it fails one */
    CUresult code;
    enum fakecuda_after after;
};

struct count {
    const char *name;
    long calls, faults;
};

struct fake_state fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static struct fault faults[MAX_FAULTS];
static size_t fault_count;
static struct count counts[MAX_NAMES];
static size_t name_count;
static long call_count, exec_count, injected_count;
static _Atomic long forked_count;

void fake_abort(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("fakecuda: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

unsigned fake_random(unsigned below)
{
    uint64_t z = (fake.random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % below);
}

static void add_fault(const char *name, long nth, int code, enum fakecuda_after after)
{
    struct fault *fault = &faults[fault_count];
    if (fault_count == MAX_FAULTS)
        fake_abort("more than %d faults", MAX_FAULTS);
    fault_count++;
    snprintf(fault->name, sizeof(fault->name), "%s", name && strcmp(name, "any") ? name : "");
    fault->left = nth;
    fault->code = (CUresult)code;
    fault->after = after;
}

/* name:nth[:code[:sticky|always]][,...] */
static void parse_faults(const char *text)
{
    char copy[512], *rest = copy, *item;
    snprintf(copy, sizeof(copy), "%s", text);
    while ((item = strsep(&rest, ","))) {
        const char *name = strsep(&item, ":");
        const char *nth = strsep(&item, ":");
        const char *code = strsep(&item, ":");
        enum fakecuda_after after = !item                     ? FAKECUDA_ONCE
                                    : !strcmp(item, "sticky") ? FAKECUDA_STICKY
                                                              : FAKECUDA_ALWAYS;
        if (!nth)
            fake_abort("FAKECUDA_FAIL=%s: name:nth[:code[:sticky|always]]", text);
        add_fault(name, atol(nth), code ? atoi(code) : CUDA_ERROR_UNKNOWN, after);
    }
}

static long number(const char *name, long otherwise)
{
    const char *value = getenv(name);
    return value ? atol(value) : otherwise;
}

/*
 * Registered when the library is loaded, like the real driver's: handlers registered later run
 * before. A driver call after this ends the program, because in the real driver it may.
 */
static void stop(void)
{
    const char *path = getenv("FAKECUDA_REPORT");
    if (fake.initialized && fake.pid != getpid())
        return;
    fake_stream_stop();
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "calls=%ld executed=%ld faults=%ld\n", call_count, exec_count,
                injected_count);
        fclose(file);
    }
}

__attribute__((constructor)) static void start(void)
{
    const char *fail = getenv("FAKECUDA_FAIL");
    fake.devices = (int)number("FAKECUDA_DEVICES", 1);
    if (fake.devices > FAKE_MAX_DEVICES)
        fake_abort("at most %d devices", FAKE_MAX_DEVICES);
    fake.mixed = number("FAKECUDA_MIXED", 0);
    fake.sm = (int)number("FAKECUDA_SM", 90);
    fake.sm_count = (int)number("FAKECUDA_SM_COUNT", 132);
    fake.compute_mode = (int)number("FAKECUDA_COMPUTE_MODE", 0);
    fake.mem_bytes = (size_t)number("FAKECUDA_MEM", 8L << 30);
    fake.init_ms = number("FAKECUDA_INIT_MS", 0);
    fake.delay_us = number("FAKECUDA_DELAY_US", 0);
    fake.random = (uint64_t)number("FAKECUDA_SEED", 1);
    for (int i = 0; i < FAKE_MAX_DEVICES; i++)
        fake.contexts[i].device = i;
    if (fail)
        parse_faults(fail);
    atexit(stop);
}

static struct count *find_count(const char *name)
{
    for (size_t i = 0; i < name_count; i++)
        if (!strcmp(counts[i].name, name))
            return &counts[i];
    if (name_count == MAX_NAMES)
        fake_abort("more than %d functions", MAX_NAMES);
    counts[name_count].name = name;
    return &counts[name_count++];
}

static CUresult strike(struct fault *fault)
{
    if (fault->left > 1 || fault->left <= 0) {
        fault->left--;
        return CUDA_SUCCESS;
    }
    if (fault->after != FAKECUDA_ALWAYS)
        fault->left = 0;
    injected_count++;
    return fault->code;
}

/* The number of polls depends on time: polls count only by name, so that the other counts are the
 * same in each run. */
static bool polls(const char *name)
{
    return !strcmp(name, "cuEventQuery") || !strcmp(name, "cuGetErrorName");
}

/* The fault for this call of name. A fault for any function applies only if `any`. */
static CUresult find_fault(const char *name, bool any, enum fakecuda_after *after)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < fault_count; i++) {
        struct fault *fault = &faults[i];
        if (fault->name[0] ? strcmp(fault->name, name) : !any)
            continue;
        CUresult code = strike(fault);
        if (code != CUDA_SUCCESS) {
            result = code;
            find_count(name)->faults++;
            *after = fault->after;
        }
    }
    return result;
}

CUresult fake_exec_fault(void)
{
    enum fakecuda_after after;
    exec_count++;
    return find_fault("exec", false, &after);
}

CUresult fakecuda_flip(int64_t rows, int64_t columns, int64_t *i, int64_t *j)
{
    enum fakecuda_after after;
    pthread_mutex_lock(&fake.lock);
    CUresult bit = find_fault("flip", false, &after);
    if (bit != CUDA_SUCCESS) {
        *i = fake_random((unsigned)rows);
        *j = fake_random((unsigned)columns);
    }
    pthread_mutex_unlock(&fake.lock);
    return bit;
}

CUresult fake_enter(const char *name, enum fake_need need)
{
    enum fakecuda_after after = FAKECUDA_ONCE;
    errno = EPROTO; /* a driver makes system calls and changes errno */
    if (fake.pid && fake.pid != getpid()) {
        forked_count++;
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    pthread_mutex_lock(&fake.lock);
    call_count += !polls(name);
    find_count(name)->calls++;
    if (fake.exiting)
        fake_abort("%s after the driver's exit handlers", name);
    CUresult fault = find_fault(name, !polls(name), &after);
    CUcontext context = fake_context();
    if ((int)fault == FAKECUDA_HANG) {
        pthread_mutex_unlock(&fake.lock);
        fake_await_release();
        pthread_mutex_lock(&fake.lock);
        if (fake.exiting)
            fake_abort("%s while the driver's exit handlers ran", name);
        fault = CUDA_SUCCESS;
    }
    if (fault != CUDA_SUCCESS) {
        if (after == FAKECUDA_STICKY && context)
            fake_context_lose(context, fault);
        return fault;
    }
    if (need == FAKE_NOTHING)
        return CUDA_SUCCESS;
    if (!fake.initialized)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (need == FAKE_INIT)
        return CUDA_SUCCESS;
    if (!context || !context->refs)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context->lost == CUDA_SUCCESS && fake_capture_forbids(name))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return context->lost;
}

CUresult fake_leave(CUresult result)
{
    if (!fake.pid || fake.pid == getpid())
        pthread_mutex_unlock(&fake.lock);
    return result;
}

void *fake_make(size_t bytes)
{
    static void *made[1 << 13];
    static _Atomic unsigned count;
    void *object = calloc(1, bytes);
    made[atomic_fetch_add(&count, 1) % (sizeof made / sizeof made[0])] = object;
    return object;
}

bool fake_releases(CUresult result)
{
    return result != CUDA_ERROR_NOT_INITIALIZED && result != CUDA_ERROR_DEINITIALIZED &&
           result != CUDA_ERROR_INVALID_CONTEXT && result != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void fakecuda_fail(const char *name, long nth, int code, enum fakecuda_after after)
{
    pthread_mutex_lock(&fake.lock);
    add_fault(name, nth, code, after);
    pthread_mutex_unlock(&fake.lock);
}

long fakecuda_calls(const char *name)
{
    long calls = 0;
    pthread_mutex_lock(&fake.lock);
    if (!name)
        calls = call_count;
    else if (!strcmp(name, "exec"))
        calls = exec_count;
    for (size_t i = 0; name && i < name_count; i++)
        if (!strcmp(counts[i].name, name))
            calls += counts[i].calls;
    pthread_mutex_unlock(&fake.lock);
    return calls;
}

long fakecuda_faults(const char *name)
{
    pthread_mutex_lock(&fake.lock);
    long injected = name ? 0 : injected_count;
    for (size_t i = 0; name && i < name_count; i++)
        if (!strcmp(counts[i].name, name))
            injected = counts[i].faults;
    pthread_mutex_unlock(&fake.lock);
    return injected;
}

long fakecuda_forked_calls(void)
{
    return forked_count;
}

void fakecuda_live(struct fakecuda_live *live)
{
    pthread_mutex_lock(&fake.lock);
    *live = fake.live;
    pthread_mutex_unlock(&fake.lock);
}

void fakecuda_reset(unsigned long seed)
{
    pthread_mutex_lock(&fake.lock);
    fault_count = 0;
    call_count = exec_count = injected_count = 0;
    for (size_t i = 0; i < name_count; i++)
        counts[i].calls = counts[i].faults = 0;
    fake.live.reclaimed = fake.live.pageable = 0;
    fake.random = seed;
    pthread_mutex_unlock(&fake.lock);
}
