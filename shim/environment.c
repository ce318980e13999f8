/* SPDX-License-Identifier: MIT */
/* getenv as CPU libraries find it: libc's answers, but for how long OpenBLAS's threads spin. */
/*
 * The environment itself stays as it is, for the program and its children alike: who asks by this
 * function for that variable, and it is not set, is told, and that is OpenBLAS, when it is loaded
 * (src/host/spin.h says why).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/host/spin.h"

typedef char *environment_getenv(const char *name);

/* The one behind us: libc's, or that of another library that was preloaded. */
static _Atomic(environment_getenv *) next;

/* At load, because dlsym takes the dynamic linker's lock. */
__attribute__((constructor)) static void find_at_load(void)
{
    void *found = dlsym(RTLD_NEXT, "getenv");
    if (!found)
        (void)dlerror(); /* the program must not be told of it */
    atomic_store(&next, *(environment_getenv **)&found);
}

/*
 * The dynamic linker relocates us behind the libraries of the program, and a resolver of one of
 * their functions (STT_GNU_IFUNC) may ask by then. Nothing that is not on the stack can be reached:
 * this pointer is NULL until it can. libc's own getenv finds no environment that early either.
 */
static char ***const volatile relocated = &environ;

/* What libc does, for constructors that run before ours. */
static char *scan(const char *name)
{
    size_t length = strlen(name);
    for (char **entry = length ? environ : NULL; entry && *entry; entry++)
        if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

__attribute__((visibility("default"))) char *getenv(const char *name);
char *getenv(const char *name)
{
    if (!relocated)
        return NULL;
    environment_getenv *behind = atomic_load_explicit(&next, memory_order_acquire);
    char *value = behind ? behind(name) : scan(name);
    /* Nobody writes to what getenv returns: POSIX forbids it. */
    return strcmp(name, XG_SPIN_VARIABLE) ? value : (char *)(uintptr_t)xg_spin_answer(value);
}
