/* SPDX-License-Identifier: MIT */
/*
 * Preloaded beside the library: XT_FILES says which files dlopen, access and open find. It lists
 * pairs of a number and a pattern, such as "13 /dev/nvidia* 0 /dev/dxg": a file whose name matches
 * a pattern exists if the number is 0; otherwise calls for it fail, and errno is the number.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The number of the first pattern that the name matches; -1: it matches none. */
static int listed(const char *name)
{
    const char *at = getenv("XT_FILES");
    char pattern[128];
    int number, length;
    for (; name && at && sscanf(at, "%d %127s%n", &number, pattern, &length) == 2; at += length)
        if (fnmatch(pattern, name, 0) == 0)
            return number;
    return -1;
}

void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(listed(name) > 0 ? "/nonexistent" : name, flags);
}

int access(const char *name, int mode)
{
    int (*next)(const char *, int) = (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");
    int number = listed(name);
    if (number > 0)
        errno = number;
    return number < 0 ? next(name, mode) : number ? -1 : 0;
}

int open(const char *name, int flags, ...)
{
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    int number = listed(name);
    va_list arguments;
    va_start(arguments, flags);
    int mode = va_arg(arguments, int);
    va_end(arguments);
    if (number > 0)
        errno = number;
    return number > 0 ? -1 : next(name, flags, mode);
}
