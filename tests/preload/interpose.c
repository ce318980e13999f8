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

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

/* Returns the number of the first pattern that the name matches, which also becomes errno unless it
 * is 0; -1: the name matches none. */
static int listed(const char *name)
{
    const char *at = getenv("XT_FILES");
    char pattern[128];
    int number, length;
    for (; name && at && sscanf(at, "%d %127s%n", &number, pattern, &length) == 2; at += length)
        if (fnmatch(pattern, name, 0) == 0)
            return number ? errno = number : 0;
    return -1;
}

void *dlopen(const char *name, int flags)
{
    return NEXT(dlopen)(listed(name) > 0 ? "/nonexistent" : name, flags);
}

int access(const char *name, int mode)
{
    int number = listed(name);
    return number < 0 ? NEXT(access)(name, mode) : number ? -1 : 0;
}

int open(const char *name, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = va_arg(arguments, int);
    va_end(arguments);
    return listed(name) > 0 ? -1 : NEXT(open)(name, flags, mode);
}
