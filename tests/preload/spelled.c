/* SPDX-License-Identifier: MIT */
/*
 * A library that has operations.h's operations under another spelling only, and passes each call
 * unchanged to the library SPELLED_OF, which has the plain names. Compiled by the preload tests,
 * with CBLAS_NAME(name) and FORTRAN_NAME(name), for x86-64.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#define REAL_NAMES(X, t) X(t##symm) X(t##syr2k) X(t##trmm) X(t##trsm)
#define COMPLEX_NAMES(X, t) REAL_NAMES(X, t) X(t##herk) X(t##hemm) X(t##her2k)
#define ALL_NAMES(X) REAL_NAMES(X, s) REAL_NAMES(X, d) COMPLEX_NAMES(X, c) COMPLEX_NAMES(X, z)

/* Jumps to where `to` points. */
#define PASS(theirs, to) PASS_AS(theirs, to)
#define PASS_AS(theirs, to)                                                                        \
    __attribute__((visibility("hidden"))) void *to;                                                \
    __asm__(".text\n.globl " #theirs "\n.type " #theirs ", @function\n" #theirs ":\n\tjmp *" #to   \
            "(%rip)\n");
#define PASS_BOTH(name)                                                                            \
    PASS(CBLAS_NAME(name), to_cblas_##name) PASS(FORTRAN_NAME(name), to_fortran_##name)
ALL_NAMES(PASS_BOTH)

__attribute__((constructor)) static void find(void)
{
#define ROW(name) {&to_cblas_##name, "cblas_" #name}, {&to_fortran_##name, #name "_"},
    static const struct {
        void **to;
        const char *name;
    } rows[] = {ALL_NAMES(ROW)};
    void *library = dlopen(SPELLED_OF, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!library || !(*rows[i].to = dlsym(library, rows[i].name)))
            abort();
}
