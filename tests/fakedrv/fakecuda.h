/* SPDX-License-Identifier: MIT */
/* Controls of the fake driver: inject faults, count calls and living objects. */
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include <stddef.h>

/*
 * The environment, read when the library is loaded:
 *   FAKECUDA_DEVICES   number of devices (1; may be 0)
 *   FAKECUDA_MIXED     1: each device has another name
 *   FAKECUDA_SM        compute capability, 10 * major + minor (90)
 *   FAKECUDA_SM_COUNT  multiprocessors (132)
 *   FAKECUDA_COMPUTE_MODE  as the driver counts them: 0 shared, 2 prohibited, 3 exclusive
 *   FAKECUDA_MEM       device memory in bytes (8 GiB, given out as it is asked for)
 *   FAKECUDA_INIT_MS   duration of cuInit; -1: until fakecuda_release
 *   FAKECUDA_DELAY_US  duration of each queued operation
 *   FAKECUDA_SEED      seed of the order in which streams advance
 *   FAKECUDA_FAIL      name:nth[:code[:sticky|always]], several with commas; see fakecuda_fail
 *                      exec:nth:-1 hangs: that operation and all that follow never end
 *                      name:nth:-1 of a function: that call waits until fakecuda_release
 *                      flip:nth:bit (1 to 31) inverts this bit of one element of C that the nth
 *                      kernel that multiplies has computed, and no call fails
 *   FAKECUDA_LAPACK    LAPACK of the fake cuSOLVER (the configured BLAS, or liblapack.so.3)
 *   FAKECUDA_REPORT    file to which one line of counts is appended at exit
 */

/* Later calls after the nth has failed. */
enum fakecuda_after {
    FAKECUDA_ONCE,   /* they succeed */
    FAKECUDA_STICKY, /* the context is lost, and every call on it returns the code */
    FAKECUDA_ALWAYS, /* they fail too, but the context is not lost */
};

/* The code of a hang: "exec" never ends; a function waits for fakecuda_release. */
enum { FAKECUDA_HANG = -1 };

struct fakecuda_live {
    size_t dev, dev_bytes, pinned, pinned_bytes, streams, events, modules, contexts;
    size_t reclaimed; /* objects that were freed only with their context */
    size_t pageable;  /* copies from or to pageable memory */
};

/* The control functions, which the fake exports with the driver's functions. They take its lock. */
struct fakecuda {
    /*
     * The nth call (1: the next) of the function fails with the code. name: the name in
     * src/device/drv.h, without a version. NULL: any function but cuEventQuery and cuGetErrorName,
     * whose number of calls depends on time. "exec": the nth operation executed on any stream
     * fails, after it was queued, and the context is lost. "flip": as above.
     */
    void (*fail)(const char *name, long nth, int code, enum fakecuda_after after);
    /* Calls of the function so far; NULL: of any, as above; "exec": operations executed. */
    long (*calls)(const char *name);
    /* Faults of the function so far; NULL: of any. */
    long (*faults)(const char *name);
    /* Calls by children of the process, which must make none. Takes no lock. */
    long (*forked_calls)(void);
    void (*live)(struct fakecuda_live *live);
    /* Copies so far to and from the page-locked allocation that has the address. */
    long (*copies)(const void *address);
    /* Elements of C so far, of an enum xg_type, that kernels did not compute because they were not
     * wanted. */
    long (*left)(int type);
    /* Removes faults and counts, and sets the seed of the order of operations. Objects stay. */
    void (*reset)(unsigned long seed);
    /* Releases the calls that wait for it; later calls do not wait. Takes no lock. */
    void (*release)(void);
};

/* Fills *fake from the libcuda.so.1 that dlopen finds; false: that is not the fake. */
#ifdef FAKECUDA_WANT_LOAD
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static inline bool fakecuda_symbol(void *library, const char *name, void *member)
{
    void *address = dlsym(library, name);
    memcpy(member, &address, sizeof(address));
    return address;
}

static inline bool fakecuda_load(struct fakecuda *fake)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library && fakecuda_symbol(library, "fakecuda_fail", &fake->fail) &&
           fakecuda_symbol(library, "fakecuda_calls", &fake->calls) &&
           fakecuda_symbol(library, "fakecuda_faults", &fake->faults) &&
           fakecuda_symbol(library, "fakecuda_forked_calls", &fake->forked_calls) &&
           fakecuda_symbol(library, "fakecuda_live", &fake->live) &&
           fakecuda_symbol(library, "fakecuda_copies", &fake->copies) &&
           fakecuda_symbol(library, "fakecuda_left", &fake->left) &&
           fakecuda_symbol(library, "fakecuda_reset", &fake->reset) &&
           fakecuda_symbol(library, "fakecuda_release", &fake->release);
}
#endif

#endif
