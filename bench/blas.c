/* SPDX-License-Identifier: MIT */
#include "blas.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char op_letters[] = "ntc", uplo_letters[] = "lu", side_letters[] = "lr",
                  diag_letters[] = "nu";

static const struct blas_routine routines[] = {
    {"gemm", "sdcz", BLAS_GEMM, "nn", op_letters, op_letters, "", ""},
    {"syrk", "sdcz", BLAS_SYRK, "un", uplo_letters, op_letters, "", ""},
    {"herk", "cz", BLAS_SYRK, "un", uplo_letters, op_letters, "", ""},
    {"syr2k", "sdcz", BLAS_SYR2K, "un", uplo_letters, op_letters, "", ""},
    {"her2k", "cz", BLAS_SYR2K, "un", uplo_letters, op_letters, "", ""},
    {"symm", "sdcz", BLAS_SYMM, "lu", side_letters, uplo_letters, "", ""},
    {"hemm", "cz", BLAS_SYMM, "lu", side_letters, uplo_letters, "", ""},
    {"trmm", "sdcz", BLAS_TRMM, "lunn", side_letters, uplo_letters, op_letters, diag_letters},
    {"trsm", "sdcz", BLAS_TRSM, "lunn", side_letters, uplo_letters, op_letters, diag_letters},
};

/* --- What a call is ------------------------------------------------------------------------ */

static const struct blas_routine *find_routine(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof routines / sizeof routines[0]; i++)
        if (strlen(routines[i].name) == length && !strncmp(routines[i].name, name, length))
            return &routines[i];
    return NULL;
}

/* Sets the letters' cuBLAS values, which are their indices among the allowed letters. False: a
 * letter is invalid. */
static bool letter_values(const struct blas_routine *routine, const char *letters, int *values)
{
    const char *const choices[] = {routine->first, routine->second, routine->third,
                                   routine->fourth};
    if (strlen(letters) != strlen(routine->letters))
        return false;
    for (size_t i = 0; letters[i]; i++) {
        const char *at = strchr(choices[i], letters[i]);
        if (!at)
            return false;
        values[i] = (int)(at - choices[i]);
    }
    return true;
}

bool blas_parse(struct blas_call *call, const char *text)
{
    int values[4], consumed = 0;
    size_t length = strcspn(text, ":");
    *call = (struct blas_call){.type = text[0]};
    call->routine = length ? find_routine(text + 1, length - 1) : NULL;
    if (!call->routine || !strchr(call->routine->types, call->type) || text[length] != ':')
        return false;
    text += length + 1;
    int sizes = sscanf(text, "%dx%dx%d%n", &call->m, &call->n, &call->k, &consumed);
    if (sizes < 3) {
        consumed = (int)strcspn(text, ":");
        bool of_rank = call->routine->family == BLAS_SYRK || call->routine->family == BLAS_SYR2K;
        int first = call->m, second = sizes == 2 ? call->n : call->m;
        call->n = of_rank ? first : second;
        call->k = second;
    }
    bool gemm = call->routine->family == BLAS_GEMM;
    if (sizes < 1 || (sizes == 2 && gemm) || (sizes == 3 && !gemm))
        return false;
    text += consumed;
    if (*text && *text != ':')
        return false;
    snprintf(call->letters, sizeof call->letters, "%s", *text ? text + 1 : call->routine->letters);
    return call->m > 0 && call->n > 0 && call->k > 0 &&
           letter_values(call->routine, call->letters, values);
}

size_t blas_elem_bytes(char type)
{
    return type == 's' ? 4 : type == 'z' ? 16 : 8;
}

static struct blas_extent turned(bool transposed, int rows, int columns)
{
    return transposed ? (struct blas_extent){columns, rows} : (struct blas_extent){rows, columns};
}

struct blas_extent blas_a(const struct blas_call *call)
{
    switch (call->routine->family) {
    case BLAS_GEMM:
        return turned(call->letters[0] != 'n', call->m, call->k);
    case BLAS_SYRK:
    case BLAS_SYR2K:
        return turned(call->letters[1] != 'n', call->n, call->k);
    default: {
        int order = call->letters[0] == 'l' ? call->m : call->n;
        return (struct blas_extent){order, order};
    }
    }
}

struct blas_extent blas_b(const struct blas_call *call)
{
    switch (call->routine->family) {
    case BLAS_GEMM:
        return turned(call->letters[1] != 'n', call->k, call->n);
    case BLAS_SYR2K:
        return blas_a(call);
    case BLAS_SYMM:
        return (struct blas_extent){call->m, call->n};
    default:
        return (struct blas_extent){0, 0};
    }
}

static bool has_triangle(const struct blas_call *call)
{
    return call->routine->family == BLAS_SYRK || call->routine->family == BLAS_SYR2K;
}

struct blas_extent blas_c(const struct blas_call *call)
{
    return (struct blas_extent){has_triangle(call) ? call->n : call->m, call->n};
}

bool blas_computes(const struct blas_call *call, int row, int column)
{
    return !has_triangle(call) || (call->letters[0] == 'u' ? row <= column : row >= column);
}

double blas_flops(const struct blas_call *call)
{
    double m = call->m, n = call->n, k = call->k, order = blas_a(call).rows;
    double complex_times = call->type == 'c' || call->type == 'z' ? 4 : 1;
    switch (call->routine->family) {
    case BLAS_GEMM:
        return complex_times * 2 * m * n * k;
    case BLAS_SYRK:
        return complex_times * n * (n + 1) * k;
    case BLAS_SYR2K:
        return complex_times * 2 * n * (n + 1) * k;
    case BLAS_SYMM:
        return complex_times * 2 * m * n * order;
    default:
        return complex_times * m * n * order;
    }
}

static double extent_elems(struct blas_extent extent)
{
    return (double)extent.rows * extent.columns;
}

double blas_bytes_up(const struct blas_call *call)
{
    double a = extent_elems(blas_a(call)), b = extent_elems(blas_b(call));
    enum blas_family family = call->routine->family;
    if (family == BLAS_SYMM || family == BLAS_TRMM || family == BLAS_TRSM)
        a /= 2;
    if (family == BLAS_TRMM || family == BLAS_TRSM)
        b = extent_elems(blas_c(call));
    return (a + b) * (double)blas_elem_bytes(call->type);
}

double blas_bytes_down(const struct blas_call *call)
{
    return extent_elems(blas_c(call)) * (has_triangle(call) ? 0.5 : 1) *
           (double)blas_elem_bytes(call->type);
}

/* --- Making it ----------------------------------------------------------------------------- */

void blas_name(const struct blas_call *call, enum blas_spelling spelling, char *name, size_t size)
{
    static const struct {
        const char *before, *after;
        bool upper;
    } spellings[BLAS_SPELLINGS] = {
        [BLAS_FORTRAN] = {"", "_", false},
        [BLAS_CUBLASXT] = {"cublasXt", "", true},
        [BLAS_CUBLAS] = {"cublas", "_v2", true},
    };
    snprintf(name, size, "%s%c%s%s", spellings[spelling].before,
             spellings[spelling].upper ? toupper(call->type) : call->type, call->routine->name,
             spellings[spelling].after);
}

/* 1 and 0 of every type; the real part comes first. The scalars of herk and her2k's beta are
 * real. */
static const void *scalar(char type, int value)
{
    static const float single[2][2] = {{0, 0}, {1, 0}};
    static const double wide[2][2] = {{0, 0}, {1, 0}};
    return type == 's' || type == 'c' ? (const void *)single[value] : (const void *)wide[value];
}

static void run_fortran(const struct blas_call *call, void *function)
{
    const char *l = call->letters;
    int lda = blas_a(call).rows, ldb = blas_b(call).rows, ldc = blas_c(call).rows;
    const void *one = scalar(call->type, 1), *zero = scalar(call->type, 0);
    typedef void gemm(const char *, const char *, const int *, const int *, const int *,
                      const void *, const void *, const int *, const void *, const int *,
                      const void *, void *, const int *);
    typedef void syrk(const char *, const char *, const int *, const int *, const void *,
                      const void *, const int *, const void *, void *, const int *);
    typedef void two(const char *, const char *, const int *, const int *, const void *,
                     const void *, const int *, const void *, const int *, const void *, void *,
                     const int *);
    typedef void triangular(const char *, const char *, const char *, const char *, const int *,
                            const int *, const void *, const void *, const int *, void *,
                            const int *);
    switch (call->routine->family) {
    case BLAS_GEMM:
        ((gemm *)function)(l, l + 1, &call->m, &call->n, &call->k, one, call->a, &lda, call->b,
                           &ldb, zero, call->c, &ldc);
        break;
    case BLAS_SYRK:
        ((syrk *)function)(l, l + 1, &call->n, &call->k, one, call->a, &lda, zero, call->c, &ldc);
        break;
    case BLAS_SYR2K:
        ((two *)function)(l, l + 1, &call->n, &call->k, one, call->a, &lda, call->b, &ldb, zero,
                          call->c, &ldc);
        break;
    case BLAS_SYMM:
        ((two *)function)(l, l + 1, &call->m, &call->n, one, call->a, &lda, call->b, &ldb, zero,
                          call->c, &ldc);
        break;
    case BLAS_TRMM:
    case BLAS_TRSM:
        ((triangular *)function)(l, l + 1, l + 2, l + 3, &call->m, &call->n, one, call->a, &lda,
                                 call->c, &ldc);
        break;
    }
}

/* cuBLAS has sizes of type int, and cuBLASXt of type size_t: one body makes two functions. */
#define DEFINE_RUN_HANDLED(name, size)                                                             \
    static int name(const struct blas_call *call, void *function, void *handle)                    \
    {                                                                                              \
        typedef int gemm(void *, int, int, size, size, size, const void *, const void *, size,     \
                         const void *, size, const void *, void *, size);                          \
        typedef int syrk(void *, int, int, size, size, const void *, const void *, size,           \
                         const void *, void *, size);                                              \
        typedef int two(void *, int, int, size, size, const void *, const void *, size,            \
                        const void *, size, const void *, void *, size);                           \
        typedef int trmm(void *, int, int, int, int, size, size, const void *, const void *, size, \
                         const void *, size, void *, size);                                        \
        typedef int trsm(void *, int, int, int, int, size, size, const void *, const void *, size, \
                         void *, size);                                                            \
        const void *one = scalar(call->type, 1), *zero = scalar(call->type, 0);                    \
        size m = (size)call->m, n = (size)call->n, k = (size)call->k;                              \
        size lda = (size)blas_a(call).rows, ldb = (size)blas_b(call).rows;                         \
        size ldc = (size)blas_c(call).rows;                                                        \
        int v[4] = {0};                                                                            \
        letter_values(call->routine, call->letters, v);                                            \
        switch (call->routine->family) {                                                           \
        case BLAS_GEMM:                                                                            \
            return ((gemm *)function)(handle, v[0], v[1], m, n, k, one, call->a, lda, call->b,     \
                                      ldb, zero, call->c, ldc);                                    \
        case BLAS_SYRK:                                                                            \
            return ((syrk *)function)(handle, v[0], v[1], n, k, one, call->a, lda, zero, call->c,  \
                                      ldc);                                                        \
        case BLAS_SYR2K:                                                                           \
            return ((two *)function)(handle, v[0], v[1], n, k, one, call->a, lda, call->b, ldb,    \
                                     zero, call->c, ldc);                                          \
        case BLAS_SYMM:                                                                            \
            return ((two *)function)(handle, v[0], v[1], m, n, one, call->a, lda, call->b, ldb,    \
                                     zero, call->c, ldc);                                          \
        case BLAS_TRMM:                                                                            \
            return ((trmm *)function)(handle, v[0], v[1], v[2], v[3], m, n, one, call->a, lda,     \
                                      call->c, ldc, call->c, ldc);                                 \
        case BLAS_TRSM:                                                                            \
            return ((trsm *)function)(handle, v[0], v[1], v[2], v[3], m, n, one, call->a, lda,     \
                                      call->c, ldc);                                               \
        }                                                                                          \
        return -1;                                                                                 \
    }
DEFINE_RUN_HANDLED(run_cublas, int)
DEFINE_RUN_HANDLED(run_cublasxt, size_t)

int blas_run(const struct blas_call *call, enum blas_spelling spelling, void *function,
             void *handle)
{
    switch (spelling) {
    case BLAS_CUBLAS:
        return run_cublas(call, function, handle);
    case BLAS_CUBLASXT:
        return run_cublasxt(call, function, handle);
    default:
        run_fortran(call, function);
        return 0;
    }
}
