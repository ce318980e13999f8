/* SPDX-License-Identifier: MIT */
/* What a test may ask of the fake driver: faults to inject, calls counted, objects alive. */
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include <stddef.h>

/*
 * The environment, read when the library is loaded:
 *   FAKECUDA_DEVICES   number of devices (1; may be 0)
 *   FAKECUDA_MIXED     1: each of another name
 *   FAKECUDA_SM        compute capability, 10 * major + minor (90)
 *   FAKECUDA_SM_COUNT  multiprocessors (132)
 *   FAKECUDA_COMPUTE_MODE  as the driver counts them: 0 shared, 2 prohibited, 3 exclusive
 *   FAKECUDA_MEM       device memory in bytes (8 GiB, given out as it is asked for)
 *   FAKECUDA_INIT_MS   what cuInit takes; -1: until fakecuda_release
 *   FAKECUDA_DELAY_US  what each queued operation takes
 *   FAKECUDA_SEED      of the order in which streams advance
 *   FAKECUDA_FAIL      name:nth[:code[:sticky|always]], several with commas; see fakecuda_fail
 *                      exec:nth:-1 hangs: that operation and what is queued behind it never end
 *                      name:nth:-1 of a function: that call waits until fakecuda_release
 *                      flip:nth:bit (1 to 31) inverts this bit of one element of C that the nth
 *                      kernel that multiplies has computed, and no call fails
 *   FAKECUDA_LAPACK    by which the fake cuSOLVER computes (the configured BLAS, or liblapack.so.3)
 *   FAKECUDA_REPORT    file to which one line of counts is appended at exit
 */

/* What happens after the nth call failed. */
enum fakecuda_after {
    FAKECUDA_ONCE,   /* the calls after it succeed */
    FAKECUDA_STICKY, /* the context is lost: every later call on it returns the code */
    FAKECUDA_ALWAYS, /* the calls after it fail too, but the context is not lost */
};

/* The code of a fault of "exec" that is a hang; of a function's, that the call waits. */
enum { FAKECUDA_HANG = -1 };

struct fakecuda_live {
    size_t dev, dev_bytes, pinned, pinned_bytes, streams, events, modules, contexts;
    size_t reclaimed; /* objects that only the destruction of their context gave back */
    size_t pageable;  /* copies from or to memory that was not page-locked */
};

/* The control functions, which the fake exports beside the driver's; all take its lock. */
struct fakecuda {
    /*
     * The nth call (1: the next) of the function fails with the code. name: as src/device/drv.h has
     * it, without a version; NULL: any function but cuEventQuery and cuGetErrorName, whose number
     * depends on time; "exec": the nth operation executed on any stream,
     * which fails after it was queued and loses the context; "flip": as above.
     */
    void (*fail)(const char *name, long nth, int code, enum fakecuda_after after);
    /* Calls so far of the function; NULL: of any, as above; "exec": operations executed. */
    long (*calls)(const char *name);
    /* Faults that have struck the function so far; NULL: any. */
    long (*faults)(const char *name);
    /* Calls made by children of the process, which must make none. Takes no lock. */
    long (*forked_calls)(void);
    void (*live)(struct fakecuda_live *live);
    /* Copies so far from and to the page-locked allocation in which the address lies. */
    long (*copies)(const void *address);
    /* Elements of C so far, of an enum xg_type, that kernels left because they were not wanted. */
    long (*left)(int type);
    /* No faults, no counts, and what follows is ordered by this seed. Objects stay. */
    void (*reset)(unsigned long seed);
    /* Lets the calls that wait for it go on, and every later one pass. Takes no lock. */
    void (*release)(void);
};

/* Fills *fake from the libcuda.so.1 that dlopen finds; false where that is no fake. */
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
