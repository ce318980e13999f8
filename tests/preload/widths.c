/* SPDX-License-Identifier: MIT */
/*
 * BLAS and LAPACK with integers of one width, by a library with the other. Compiled by the preload
 * tests, with
 *   WIDTHS_OF      the file of that library
 *   WIDTHS_WIDE    the names that it exports end in 64_ and have 64-bit integers; otherwise it
 *                  exports the plain names
 *   WIDTHS_GEMMT   it has GEMMT and GEMMTR
 */
#define _GNU_SOURCE
#include <complex.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/routines.h"
#include "shim/signature.h"

#ifdef WIDTHS_WIDE
typedef int64_t outer;
typedef int32_t inner;
#define OUTER(name) name##64_
#define INNER(name) #name
#else
typedef int32_t outer;
typedef int64_t inner;
#define OUTER(name) name
#define INNER(name) #name "64_"
#endif

static void *behind(const char *name)
{
    static void *handle;
    if (!handle)
        handle = dlopen(WIDTHS_OF, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND); /* as lbt_forward */
    void *function = handle ? dlsym(handle, name) : NULL;
    if (!function) {
        printf("WRONG: no %s in %s\n", name, WIDTHS_OF);
        exit(99);
    }
    return function;
}

/* --- Fortran: all arguments are addresses ---------------------------------------------------- */

enum { WORDS = 26 };
typedef int words_function(uintptr_t, ...);

struct list {
    const char *names;
    uintptr_t *words;
    inner scalars[WORDS];
    int count;
};

static int is_among(const char *name, const char *names)
{
    char text[24];
    snprintf(text, sizeof text, " %s ", name);
    return strstr(names, text) != NULL;
}

/* The position of an argument; -1: the routine has none of this name. */
static int place_of(const struct list *list, const char *name)
{
    char text[192], *rest;
    int at = 0;
    snprintf(text, sizeof text, "%s", list->names);
    for (char *next = strtok_r(text, ", ", &rest); next; next = strtok_r(NULL, ", ", &rest), at++)
        if (!strcmp(next, name))
            return at;
    return -1;
}

static int64_t value_of(const struct list *list, const char *name)
{
    int at = place_of(list, name);
    return at < 0 ? 0 : (int64_t)list->scalars[at];
}

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How many elements of an array the call may read or write. */
static int64_t length_of(const struct list *list, const char *name)
{
    const int64_t n = value_of(list, "n"), m = largest(value_of(list, "m"), n);
    if (!strcmp(name, "iwork"))
        return place_of(list, "liwork") < 0 ? 64 * (m + 64) : largest(value_of(list, "liwork"), 1);
    return !strcmp(name, "isuppz") ? 2 * n : n;
}

/* Calls the function behind with integers of its width, and writes back what it changed. */
static int convert(const char *names, words_function *function, uintptr_t *w)
{
    struct list list = {.names = names, .words = w};
    void *outside[WORDS] = {0}, *inside[WORDS] = {0};
    int64_t lengths[WORDS] = {0};
    char text[192], *rest;
    snprintf(text, sizeof text, "%s", names);
    for (char *name = strtok_r(text, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest)) {
        const int at = list.count++;
        if (!is_among(name, " m n k nrhs lda ldb ldc ldu ldvt ldvl ldvr ldz lwork lrwork liwork "
                            "itype il iu rank info "))
            continue;
        outside[at] = (void *)w[at];
        list.scalars[at] = (inner) * (outer *)outside[at];
        w[at] = (uintptr_t)&list.scalars[at];
    }
    snprintf(text, sizeof text, "%s", names);
    list.count = 0;
    for (char *name = strtok_r(text, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest)) {
        const int at = list.count++;
        if (!is_among(name, " ipiv iwork isuppz ") || !w[at])
            continue;
        lengths[at] = length_of(&list, name);
        outside[at] = (void *)w[at];
        inside[at] = calloc((size_t)lengths[at] + 1, sizeof(inner));
        for (int64_t i = 0; !strcmp(name, "ipiv") && i < lengths[at]; i++)
            ((inner *)inside[at])[i] = (inner)((outer *)outside[at])[i];
        if (!strcmp(name, "iwork")) /* only the first is an answer */
            lengths[at] = 1, *(inner *)inside[at] = (inner) * (outer *)outside[at];
        w[at] = (uintptr_t)inside[at];
    }
    int returned = function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10],
                            w[11], w[12], w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20],
                            w[21], w[22], w[23], w[24], w[25]);
    for (int at = 0; at < list.count; at++) {
        const inner *now = inside[at] ? inside[at] : &list.scalars[at];
        for (int64_t i = 0; i < (inside[at] ? lengths[at] : outside[at] != NULL); i++)
            if (((outer *)outside[at])[i] != (outer)now[i]) /* others may be constants */
                ((outer *)outside[at])[i] = (outer)now[i];
        free(inside[at]);
    }
    return returned;
}

#define WORD_PASSED(i) w##i
#define CONVERTED(name, names, words)                                                              \
    int OUTER(name)(SHIM_WORDS_##words(SHIM_WORD_PARAMETER));                                      \
    int OUTER(name)(SHIM_WORDS_##words(SHIM_WORD_PARAMETER))                                       \
    {                                                                                              \
        static words_function *function;                                                           \
        uintptr_t passed[WORDS] = {SHIM_WORDS_##words(WORD_PASSED)};                               \
        if (!function)                                                                             \
            function = (words_function *)behind(INNER(name));                                      \
        return convert(names, function, passed);                                                   \
    }

#define NAMES(list, words, letters, ...) static const char names_##list[] = #__VA_ARGS__;
SHIM_LISTS(NAMES)
#define ROUTINE(context, letter, LETTER, name, ROUTINE, list, words)                               \
    CONVERTED(letter##name##_, names_##list, words)
SHIM_ROUTINES(ROUTINE, )

/* --- Products: Fortran's, and those of the C interface, whose integers are values ------------- */

#define ARGUMENT(role, name) #name ", "
#define VALUE(role, name) , VALUE_##role(name)
#define VALUE_LETTER(name) name
#define VALUE_INTEGER(name) (int64_t)(outer) name
#define VALUE_SCALAR(name) name
#define VALUE_REAL(name) name
#define VALUE_MATRIX(name) name
#define VALUE_RESULT(name) name
#define PRODUCT(letter, LETTER, name, OP)                                                          \
    CONVERTED(letter##name##_, SHIM_EACH(OP, ARGUMENT), 17)                                        \
    void OUTER(cblas_##letter##name)(SHIM_CBLAS_PARAMETERS(OP, LETTER));                           \
    void OUTER(cblas_##letter##name)(SHIM_CBLAS_PARAMETERS(OP, LETTER))                            \
    {                                                                                              \
        typedef void function(SHIM_CBLAS_PARAMETERS(OP, LETTER));                                  \
        ((function *)behind(INNER(cblas_##letter##name)))(order SHIM_EACH(OP, VALUE));             \
    }
#define TYPES(op, OP, context) SHIM_##OP##_TYPES(TYPE_OF, op, OP, )
#define TYPE_OF(letter, LETTER, name, OP, context) PRODUCT_##OP(letter, LETTER, name)
#define PRODUCT_GEMM(letter, LETTER, name) PRODUCT(letter, LETTER, name, GEMM)
#define PRODUCT_SYRK(letter, LETTER, name) PRODUCT(letter, LETTER, name, SYRK)
#define PRODUCT_HERK(letter, LETTER, name) PRODUCT(letter, LETTER, name, HERK)
#define PRODUCT_SYMM(letter, LETTER, name) PRODUCT(letter, LETTER, name, SYMM)
#define PRODUCT_HEMM(letter, LETTER, name) PRODUCT(letter, LETTER, name, HEMM)
#define PRODUCT_SYR2K(letter, LETTER, name) PRODUCT(letter, LETTER, name, SYR2K)
#define PRODUCT_HER2K(letter, LETTER, name) PRODUCT(letter, LETTER, name, HER2K)
#define PRODUCT_TRMM(letter, LETTER, name) PRODUCT(letter, LETTER, name, TRMM)
#define PRODUCT_TRSM(letter, LETTER, name) PRODUCT(letter, LETTER, name, TRSM)
#define PRODUCT_GEMV(letter, LETTER, name) PRODUCT(letter, LETTER, name, GEMV)
#ifdef WIDTHS_GEMMT
#define PRODUCT_GEMMT(letter, LETTER, name) PRODUCT(letter, LETTER, name, GEMMT)
#define SYNONYM_TYPES(name, op, OP, context) SHIM_##OP##_TYPES(TYPE_OF, name, OP, )
SHIM_SYNONYMS(SYNONYM_TYPES, )
#else
#define PRODUCT_GEMMT(letter, LETTER, name)
#endif
SHIM_SINGLE(TYPES, )

#ifdef WIDTHS_WIDE
/* By these lbt_forward recognises a library; it calls the complex ones with no elements. */
int64_t isamax_64_(const int64_t *n, const float *x, const int64_t *stride);
int64_t isamax_64_(const int64_t *n, const float *x, const int64_t *stride)
{
    int64_t best = *n > 0;
    for (int64_t i = 1; i < *n; i++)
        best = x[i * *stride] > x[(best - 1) * *stride] ? i + 1 : best;
    return best;
}

float sdot_64_(const int64_t *n, const float *x, const int64_t *xs, const float *y,
               const int64_t *ys);
float sdot_64_(const int64_t *n, const float *x, const int64_t *xs, const float *y,
               const int64_t *ys)
{
    float sum = 0;
    for (int64_t i = 0; i < *n; i++)
        sum += x[i * *xs] * y[i * *ys];
    return sum;
}

float complex cdotc_64_(void);
float complex cdotc_64_(void)
{
    return 0;
}

double complex zdotc_64_(void);
double complex zdotc_64_(void)
{
    return 0;
}
#endif
