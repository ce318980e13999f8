/* SPDX-License-Identifier: MIT */
/*
 * Functions that newer glibc headers call and glibc 2.28 has under another name
 * (python/glibc_stubs). They are linked as hidden symbols into the library and each program of the
 * wheel.
 */
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

/* Before 2.33 each calling object contained these; they call functions that libc still has. */
#ifdef __x86_64__
#define STAT_VERSION 1 /* bits/stat.h: the layout of struct stat */
#else
#define STAT_VERSION 0
#endif

int __xstat(int version, const char *path, struct stat *status);
int __lxstat(int version, const char *path, struct stat *status);
int __fxstat(int version, int fd, struct stat *status);

int stat(const char *path, struct stat *status)
{
    return __xstat(STAT_VERSION, path, status);
}

int lstat(const char *path, struct stat *status)
{
    return __lxstat(STAT_VERSION, path, status);
}

int fstat(int fd, struct stat *status)
{
    return __fxstat(STAT_VERSION, fd, status);
}

#if __GLIBC_PREREQ(2, 38)
/* Since 2.38 a header maps the old names to these, which also read binary numbers (0b101). */
long old_strtol(const char *text, char **end, int base) __asm__("strtol");
unsigned long long old_strtoull(const char *text, char **end, int base) __asm__("strtoull");
int old_vfscanf(FILE *file, const char *format, va_list list) __asm__("__isoc99_vfscanf");
int old_vsscanf(const char *text, const char *format, va_list list) __asm__("__isoc99_vsscanf");
long __isoc23_strtol(const char *text, char **end, int base);
unsigned long long __isoc23_strtoull(const char *text, char **end, int base);
int __isoc23_fscanf(FILE *file, const char *format, ...);
int __isoc23_sscanf(const char *text, const char *format, ...);

long __isoc23_strtol(const char *text, char **end, int base)
{
    return old_strtol(text, end, base);
}

unsigned long long __isoc23_strtoull(const char *text, char **end, int base)
{
    return old_strtoull(text, end, base);
}

int __isoc23_fscanf(FILE *file, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int count = old_vfscanf(file, format, list);
    va_end(list);
    return count;
}

int __isoc23_sscanf(const char *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int count = old_vsscanf(text, format, list);
    va_end(list);
    return count;
}
#endif
