/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for libblastrampoline: functions that jump to addresses in a table, in both widths of
 * integers, and the functions by which a program sets the table. It has the names that this library
 * intercepts and those by which lbt_forward recognises a BLAS. XG_LBT_SOURCE=FOLDER names a source
 * of the real one (its folder src has the Makefile), which the test then builds and uses instead.
 *
 * Checked by hand beside the real one, version 5.15.0, on x86-64: the code of each function has the
 * same bytes, except for its number and its slot's offset; all answers of lbt_get_forward are the
 * same at the start, after lbt_forward of OpenBLAS, of a library of the other width, of BLIS, of
 * this library and of libm, with and without `clear`, and after lbt_set_forward of an address, of
 * NULL, of an unknown name and of an unknown width; this library is refused with the same message,
 * after the same call of dpotrf_. The whole test passes with the stand-in and with the real
 * versions 5.1.1, 5.8.0 and 5.15.0, the last also with LBT_STRICT=1.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trampolines.h"

void lbt_default_func_print_error(void);
const void *lbt_get_default_func(void);
int32_t lbt_get_num_threads(void);

/* --- The functions --------------------------------------------------------------------------- */

/* The assembler counts the functions; the number is for the message of a missing one. */
#if defined __x86_64__
#define JUMP(slot) "mov $lbt_number, %r10\nmov " slot "(%rip), %r11\njmp *%r11\n"
#elif defined __aarch64__
#define JUMP(slot)                                                                                 \
    "mov x17, lbt_number\nadrp x16, " slot "\nldr x16, [x16, :lo12:" slot "]\nbr x16\n"
#endif

#define TRAMPOLINE(function, slot)                                                                 \
    extern const void *slot __attribute__((visibility("hidden")));                                 \
    const void *slot;                                                                              \
    __asm__(".pushsection .text\n.globl " #function "\n.type " #function ", @function\n" #function \
            ":\n" JUMP(#slot) ".size " #function ", . - " #function "\n.popsection");

__asm__(".set lbt_number, 0");
#define FUNCTION(name)                                                                             \
    TRAMPOLINE(name, slot_##name)                                                                  \
    TRAMPOLINE(name##64_, slot_##name##64_)                                                        \
    __asm__(".set lbt_number, lbt_number + 1");
LBT_NAMES(FUNCTION)
#undef FUNCTION

/* As in the real one, data has the addresses of its functions, which the dynamic linker resolves.
 */
#define FUNCTION(name) extern const char name[], name##64_ [];
LBT_NAMES(FUNCTION)
#undef FUNCTION
#define FUNCTION(name) name, name##64_,
__attribute__((used)) static const char *const exported[] = {LBT_NAMES(FUNCTION)};
#undef FUNCTION

static struct row {
    const char *name;
    const void **slot, **slot64;
} rows[] = {
#define FUNCTION(name) {#name, &slot_##name, &slot_##name##64_},
    LBT_NAMES(FUNCTION)};

enum { ROWS = sizeof rows / sizeof rows[0] };

void lbt_default_func_print_error(void)
{
    uintptr_t number = ROWS;
#if defined __x86_64__
    __asm__ volatile("movq %%r10, %0" : "=r"(number));
#endif
    fprintf(stderr, "Error: no BLAS/LAPACK library loaded for %s\n",
            number < ROWS ? rows[number].name : "(unknown function)");
}

/* --- The table ------------------------------------------------------------------------------- */

static const void **slot_of(const char *name, int32_t width)
{
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, name))
            return width == LP64 ? rows[i].slot : rows[i].slot64;
    return NULL;
}

const void *lbt_get_forward(const char *name, int32_t width, int32_t f2c)
{
    const void **slot = slot_of(name, width);
    (void)f2c;
    return slot ? *slot : (const void *)-1;
}

int32_t lbt_set_forward(const char *name, const void *address, int32_t width, int32_t style,
                        int32_t f2c, int32_t verbose)
{
    const void **slot = slot_of(name, width);
    (void)style, (void)f2c, (void)verbose;
    if (!slot || (width != LP64 && width != ILP64))
        return -1;
    *slot = address ? address : (const void *)lbt_default_func_print_error;
    return 0;
}

const void *lbt_get_default_func(void)
{
    return (const void *)lbt_default_func_print_error;
}

int32_t lbt_get_num_threads(void)
{
    return 1;
}

/* --- Whole libraries ------------------------------------------------------------------------- */

static void *find(void *handle, const char *name, const char *suffix)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", name, suffix);
    return dlsym(handle, text);
}

/* By functions that read or write 64 bits, or the lower half of them. */
static int32_t width_of(void *handle, const char *suffix)
{
    void *isamax = find(handle, "isamax_", suffix), *dpotrf = find(handle, "dpotrf_", suffix);
    int64_t n = (int64_t)0xffffffff00000003, one = 1, two = 2, zero = 0, info = 0;
    float x[3] = {1, 2, 1};
    double a[4] = {0};
    if (isamax)
        return ((int (*)(void *, void *, void *))isamax)(&n, x, &one) ? LP64 : ILP64;
    if (!dpotrf)
        return 0;
    ((void (*)(char *, void *, void *, void *, void *))dpotrf)("U", &two, a, &zero, &info);
    return info == -4 ? ILP64 : info == (int64_t)0xfffffffc ? LP64 : 0;
}

int32_t lbt_forward(const char *file, int32_t clear, int32_t verbose, const char *suffix_hint)
{
    const char *suffixes[] = {suffix_hint, "", "64_"}, *suffix = NULL;
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    int32_t count = 0;
    (void)verbose;
    for (int i = 0; handle && i < 3 && !suffix; i++)
        if (suffixes[i] &&
            (find(handle, "isamax_", suffixes[i]) || find(handle, "dpotrf_", suffixes[i])))
            suffix = suffixes[i];
    const int32_t width = suffix ? width_of(handle, suffix) : 0;
    if (!width) {
        fprintf(stderr, "Unable to load \"%s\", or to autodetect its interface\n", file);
        return 0;
    }
    if (!find(handle, "zdotc_", suffix) || !find(handle, "cdotc_", suffix)) {
        fprintf(stderr, "Unable to autodetect complex return style of \"%s\"\n", file);
        return 0;
    }
    if (!find(handle, "sdot_", suffix)) {
        fprintf(stderr, "Unable to autodetect f2c calling convention of \"%s\"\n", file);
        return 0;
    }
    for (int i = 0; i < ROWS; i++) {
        void *address = find(handle, rows[i].name, suffix);
        const void **slot = width == LP64 ? rows[i].slot : rows[i].slot64;
        if (clear)
            *rows[i].slot = *rows[i].slot64 = (const void *)lbt_default_func_print_error;
        if (address)
            *slot = address;
        count += address != NULL;
    }
    return count;
}
