/* SPDX-License-Identifier: MIT */
/*
 * A module that multiplies, as a plug-in or as part of a program. Compiled by the preload tests,
 * with
 *   CALL_CBLAS or CALL_FORTRAN  the name that it calls
 *   CALL_INT                    its integers: int32_t or int64_t
 *   CALL_NAMELESS               it refers to no SGEMM; the test passes one to it
 *   CALL_SMALL                  it passes no number beyond 32 bits
 *   CALL_BESIDE                 another name that it refers to
 *   CALL_DIRECT                 it calls by name, and ignores what it is given
 *   CALL_R11                    it calls what it is given through register r11
 *   CALL_TABLE                  it calls what it is given through a table on the heap
 *   CALL_JOINS                  its constructor and destructor wait for a thread that multiplies
 *   CALL_ITSELF                 its constructor and destructor multiply
 */
#include <math.h>

#include "tests/support/xt.h"

typedef void caller_cblas(int order, int transa, int transb, CALL_INT m, CALL_INT n, CALL_INT k,
                          float alpha, const float *a, CALL_INT lda, const float *b, CALL_INT ldb,
                          float beta, float *c, CALL_INT ldc);
typedef void caller_fortran(const char *transa, const char *transb, const CALL_INT *m,
                            const CALL_INT *n, const CALL_INT *k, const float *alpha,
                            const float *a, const CALL_INT *lda, const float *b,
                            const CALL_INT *ldb, const float *beta, float *c, const CALL_INT *ldc,
                            size_t transa_length, size_t transb_length);

#ifdef CALL_CBLAS
#define CALL_NAME CALL_CBLAS
typedef caller_cblas caller_function;
#else
#define CALL_NAME CALL_FORTRAN
typedef caller_fortran caller_function;
#endif
#ifndef CALL_NAMELESS
extern caller_function CALL_NAME;
#endif

#ifdef CALL_BESIDE
void CALL_BESIDE(void);
extern void (*const volatile caller_beside)(void);
void (*const volatile caller_beside)(void) = CALL_BESIDE;
#endif

int caller_run_with(caller_function *function, int size);
int caller_run(int size);
caller_function *caller_function_get(void);

/* C = 2 A B - C for row-major A (m,k), B (k,n); true when it is right. */
static int caller_product(caller_function *function, CALL_INT m, CALL_INT n, CALL_INT k,
                          CALL_INT lda)
{
    uint64_t seed = (uint64_t)(m + n + k);
#ifdef CALL_DIRECT
    (void)function;
#define function CALL_NAME
#elif defined(CALL_TABLE)
    struct table {
        void *before[3];
        caller_function *function;
    } *volatile table = malloc(sizeof *table);
    table->function = function;
#define function table->function
#endif
    float *a = malloc((size_t)(m * k) * sizeof *a), *b = malloc((size_t)(k * n) * sizeof *b);
    float *c = malloc((size_t)(m * n) * sizeof *c), *old = malloc((size_t)(m * n) * sizeof *old);
    int right = 1;

    for (CALL_INT i = 0; i < m * k; i++)
        a[i] = xt_random(&seed);
    for (CALL_INT i = 0; i < k * n; i++)
        b[i] = xt_random(&seed);
    for (CALL_INT i = 0; i < m * n; i++)
        c[i] = old[i] = xt_random(&seed);
#ifdef CALL_CBLAS
    function(101, 111, 111, m, n, k, 2.0f, a, lda, b, n, -1.0f, c, n);
#else
    float alpha = 2.0f, beta = -1.0f;
#ifdef CALL_R11
    register caller_function *r11 __asm__("r11") = function;
    __asm__ volatile("" : "+r"(r11));
#define function r11
#endif
    function("N", "N", &n, &m, &k, &alpha, b, &n, a, &lda, &beta, c, &n, 1, 1);
#endif
#ifdef CALL_TABLE
    free(table);
#endif
#undef function
    for (CALL_INT i = 0; i < m; i++) {
        for (CALL_INT j = 0; j < n; j++) {
            double sum = -(double)old[i * n + j], scale = fabs(sum);
            for (CALL_INT l = 0; l < k; l++) {
                sum += 2.0 * (double)a[i * k + l] * (double)b[l * n + j];
                scale += 2.0 * fabs((double)a[i * k + l] * (double)b[l * n + j]);
            }
            double error = fabs((double)c[i * n + j] - sum);
            if (!(error <= (double)(k + 2) * 0x1p-23 * scale))
                right = 0;
        }
    }
    free(a);
    free(b);
    free(c);
    free(old);
    return right;
}

/* Three different sizes; then one row of A, with a leading dimension beyond 32 bits. */
int caller_run_with(caller_function *function, int size)
{
    CALL_INT m = size, n = size + 1, k = size + 2;
    int right = caller_product(function, m, n, k, k);
#ifndef CALL_SMALL
    if (sizeof(CALL_INT) == 8)
        right = caller_product(function, 1, n, k, (CALL_INT)(INT64_C(1) << 32)) && right;
#endif
    return right;
}

#ifndef CALL_NAMELESS
/* volatile, so that the address is taken: in a program at a fixed address it is the program's. */
static caller_function *volatile caller_named = CALL_NAME;

caller_function *caller_function_get(void)
{
    return caller_named;
}

int caller_run(int size)
{
    return caller_run_with(CALL_NAME, size);
}
#endif

#ifdef CALL_JOINS
#include <pthread.h>

static void *caller_thread(void *size)
{
    printf("thread %s\n", caller_run(*(int *)size) ? "right" : "WRONG");
    return NULL;
}

static void caller_join(int size)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, caller_thread, &size) == 0)
        pthread_join(thread, NULL);
}

#elif defined(CALL_ITSELF)
static void caller_join(int size)
{
    printf("itself %s\n", caller_run(size) ? "right" : "WRONG");
}
#endif

#if defined(CALL_JOINS) || defined(CALL_ITSELF)
__attribute__((constructor)) static void caller_begin(void)
{
    caller_join(3);
}

__attribute__((destructor)) static void caller_end(void)
{
    caller_join(4);
}
#endif
