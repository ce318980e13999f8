/* SPDX-License-Identifier: MIT */
/* Replaces getenv: passes every query on, but answers OPENBLAS_THREAD_TIMEOUT if it is not set. */
/*
 * The environment itself stays unchanged, for the program and for its children. If a library asks
 * this function for OPENBLAS_THREAD_TIMEOUT and the variable is not set, it may get a short time.
 * That library is OpenBLAS while it is loaded (shim/pools.h gives the reason).
 *
 * Any function of the process may call getenv at any moment: one that the dynamic linker calls
 * before it has bound our own names, a strcmp that a profiler put in front of libc's, or a thread
 * that holds the lock of another library's getenv. So getenv here calls only the next getenv: it
 * calls no other function by name, makes no system call and takes no lock. For that one name, once
 * our constructor has run, shim_pools_answer reads two small files; it asks for no variable through
 * getenv and takes no lock either.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "pools.h"
#include "src/engine/early_start.h"

typedef char *environment_getenv(const char *name);

/* The next getenv: libc's, or that of another preloaded library. NULL until the constructor has
 * run. */
static _Atomic(environment_getenv *) next;

/* A set-user-ID program: settings of its caller are ignored. Written before `next`. */
static bool is_secure;

/* Objects that the dynamic linker has loaded: the program's own, when our constructor runs. */
static unsigned long long objects;

static int count_objects(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    (void)context;
    objects = object->dlpi_adds;
    return 1;
}

/*
 * The library is linked with -z initfirst, so this runs before the constructors of all other
 * libraries, including an OpenBLAS that the program is linked to. dlsym takes the dynamic linker's
 * lock here, which getenv must not take.
 */
__attribute__((constructor)) static void look_at_load(void)
{
    void *found = dlsym(RTLD_NEXT, "getenv");
    if (!found)
        (void)dlerror(); /* The program must not see this error. */
    is_secure = getauxval(AT_SECURE) != 0;
    dl_iterate_phdr(count_objects, NULL);
    atomic_store_explicit(&next, *(environment_getenv **)&found, memory_order_release);
}

/*
 * The dynamic linker relocates this library after the libraries of the program. A resolver of one
 * of their functions (STT_GNU_IFUNC) may call getenv before that or while our own names are being
 * bound. Until then this function can reach only the stack and this pointer, which is NULL until it
 * can be followed. libc's own getenv finds no environment that early either.
 */
static char ***const volatile environment = &environ;

/* Searches as libc does. */
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

static const char *setting(void *context, const char *name)
{
    (void)context;
    return is_secure ? NULL : scan(name);
}

__attribute__((visibility("default"))) char *getenv(const char *name);
char *getenv(const char *name)
{
    environment_getenv *behind = atomic_load_explicit(&next, memory_order_acquire);
    if (!behind)
        return scan(name);
    char *value = behind(name);
    const bool asks = shim_pools_is_word(name, SHIM_POOLS_POWER);
    if (asks || shim_pools_is_word(name, "OMP_SCHEDULE"))
        xg_early_start(objects, setting);
    if (value || !asks)
        return value;
    /* POSIX forbids the program to write to what getenv returns. */
    return (char *)(uintptr_t)shim_pools_answer(setting, NULL);
}
