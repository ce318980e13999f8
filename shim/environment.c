/* SPDX-License-Identifier: MIT */
/* getenv as CPU libraries find it: the next one's answers, but for how long OpenBLAS's threads
 * spin. */
/*
 * The environment itself stays as it is, for the program and its children alike. A library that
 * asks by this function for OPENBLAS_THREAD_TIMEOUT, which is not set, gets a short time: that is
 * OpenBLAS, when it is loaded (src/host/spin.h says why).
 *
 * Every function of the process may ask, at any moment: one that the dynamic linker calls before it
 * has bound our own names, a strcmp that a profiler put in front of libc's, a thread that holds the
 * lock of another library's getenv. So getenv here calls the next getenv and nothing else: no
 * function by name, no system call, no lock. tests/preload_environment.sh reads that from the
 * object.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "src/host/spin.h"

typedef char *environment_getenv(const char *name);

/* The one behind us: libc's, or that of another library that was preloaded. NULL before the
 * constructor has run. */
static _Atomic(environment_getenv *) next;

/* Written by the constructor, before `next`. */
static bool has_device;
static bool is_secure; /* a set-user-ID program: its caller's settings count for nothing */

/*
 * The library is linked with -z initfirst, so that this runs before the constructors of all others,
 * of an OpenBLAS that the program is linked to among them. dlsym here takes the dynamic linker's
 * lock, which getenv must not, and whether there is a device is a system call.
 */
__attribute__((constructor)) static void look_at_load(void)
{
    void *found = dlsym(RTLD_NEXT, "getenv");
    if (!found)
        (void)dlerror(); /* the program must not be told of it */
    has_device = xg_spin_has_device();
    is_secure = getauxval(AT_SECURE) != 0;
    atomic_store_explicit(&next, *(environment_getenv **)&found, memory_order_release);
}

/*
 * The dynamic linker relocates us behind the libraries of the program, and a resolver of one of
 * their functions (STT_GNU_IFUNC) may ask by then, or while our own names are being bound. Only
 * what is on the stack and this pointer can be reached: it is NULL until it can be followed. libc's
 * own getenv finds no environment that early either.
 */
static char ***const volatile environment = &environ;

/* As libc does it. */
static char *scan(const char *name)
{
    char ***at_environ = environment;
    for (char **entry = at_environ && *name ? *at_environ : NULL; entry && *entry; entry++) {
        const char *at = *entry, *wanted = name;
        while (*wanted && *at == *wanted)
            at++, wanted++;
        if (!*wanted && *at == '=')
            return (char *)(uintptr_t)at + 1;
    }
    return NULL;
}

static const char *setting(const char *name)
{
    return is_secure ? NULL : scan(name);
}

__attribute__((visibility("default"))) char *getenv(const char *name);
char *getenv(const char *name)
{
    environment_getenv *behind = atomic_load_explicit(&next, memory_order_acquire);
    if (!behind)
        return scan(name);
    char *value = behind(name);
    if (value || !xg_spin_is_word(name, XG_SPIN_VARIABLE) ||
        !xg_spin_is_short(setting("XGEMM_SPIN"), setting("XGEMM_MODE"),
                          setting("CUDA_VISIBLE_DEVICES"), has_device))
        return value;
    atomic_store_explicit(&xg_spin_told, true, memory_order_relaxed);
    /* The program does not write to what getenv returns: POSIX forbids it. */
    return (char *)(uintptr_t)XG_SPIN_SHORT;
}
