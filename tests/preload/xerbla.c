/* SPDX-License-Identifier: MIT */
/*
 * A program with its own handler of illegal arguments, as the BLAS standard allows. The handler
 * gets the name and the number, runs in the program's floating-point environment, and need not
 * return. Compiled by the preload tests, with CALL_INT, -rdynamic, and linked to a BLAS. usage:
 * xerbla returns|jumps
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>

#include "tests/support/xt.h"

void cblas_sgemm(int order, int transa, int transb, CALL_INT m, CALL_INT n, CALL_INT k, float alpha,
                 const float *a, CALL_INT lda, const float *b, CALL_INT ldb, float beta, float *c,
                 CALL_INT ldc);
void sgemm_(const char *transa, const char *transb, const CALL_INT *m, const CALL_INT *n,
            const CALL_INT *k, const float *alpha, const float *a, const CALL_INT *lda,
            const float *b, const CALL_INT *ldb, const float *beta, float *c, const CALL_INT *ldc,
            size_t transa_length, size_t transb_length);

enum { SIDE = 100, TURNS = 500 };

static float xerbla_a[SIDE * SIDE], xerbla_b[SIDE * SIDE], xerbla_c[SIDE * SIDE];
static jmp_buf xerbla_back;
static int xerbla_jumps, xerbla_quiet, xerbla_told;

/* Rounding upward, one raised flag, and traps for the others. */
enum { FLAGS = FE_UNDERFLOW, TRAPS = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW };

static void xerbla_enter_environment(void)
{
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FLAGS);
    fesetround(FE_UPWARD);
    feenableexcept(TRAPS);
}

static void xerbla_check_environment(const char *where)
{
    int flags = fetestexcept(FE_ALL_EXCEPT), traps = fegetexcept(), rounding = fegetround();
    XT_CHECK(flags == FLAGS && traps == TRAPS && rounding == FE_UPWARD,
             "contract 7.2: %s: flags %#x, traps %#x, rounding %#x", where, (unsigned)flags,
             (unsigned)traps, (unsigned)rounding);
}

static void xerbla_leave_environment(const char *where)
{
    xerbla_check_environment(where);
    fesetenv(FE_DFL_ENV);
}

static void xerbla_tell(const char *handler, const char *name, int length, long info)
{
    xerbla_told++;
    xerbla_check_environment(handler);
    if (!xerbla_quiet)
        printf("contract 5.1: %s: %.*s, argument %ld\n", handler, length, name, info);
    if (xerbla_jumps)
        longjmp(xerbla_back, 1);
}

int xerbla_(const char *name, const CALL_INT *info, size_t length)
{
    xerbla_tell("xerbla_", name, length < 12 ? (int)length : 12, (long)*info);
    return 0;
}

void cblas_xerbla(CALL_INT info, const char *name, const char *format, ...)
{
    (void)format;
    xerbla_tell("cblas_xerbla", name, (int)strlen(name), (long)info);
}

static void xerbla_call(int order, CALL_INT m, CALL_INT n, CALL_INT k, CALL_INT lda, CALL_INT ldb,
                        CALL_INT ldc)
{
    float one = 1.0f, zero = 0.0f;
    if (setjmp(xerbla_back)) {
        xerbla_leave_environment("after the jump");
        return;
    }
    xerbla_enter_environment();
    if (order)
        cblas_sgemm(order, 111, 111, m, n, k, one, xerbla_a, lda, xerbla_b, ldb, zero, xerbla_c,
                    ldc);
    else
        sgemm_("N", "N", &m, &n, &k, &one, xerbla_a, &lda, xerbla_b, &ldb, &zero, xerbla_c, &ldc, 1,
               1);
    xerbla_leave_environment("after the call");
}

static void xerbla_untouched(const char *what)
{
    int touched = 0;
    for (int i = 0; i < SIDE * SIDE; i++)
        touched += xerbla_c[i] != 7.0f;
    XT_CHECK(touched == 0, "contract 5.1: %s: %d elements of C", what, touched);
}

/* A legal product of ones, so that C is k; called before, between and after the illegal ones. */
static void xerbla_legal(void)
{
    int wrong = 0;
    xerbla_call(101, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++) {
        wrong += !(xerbla_c[i] == (float)SIDE);
        xerbla_c[i] = 7.0f;
    }
    XT_CHECK(wrong == 0, "contract 5.2: %d elements", wrong);
}

int main(int argc, char **argv)
{
    static const int orders[] = {101, 102, 0};
    xerbla_jumps = argc > 1 && !strcmp(argv[1], "jumps");
    for (int i = 0; i < SIDE * SIDE; i++)
        xerbla_a[i] = xerbla_b[i] = 1.0f;
    xerbla_legal();
    for (int o = 0; o < 3; o++) {
        xerbla_call(orders[o], -1, SIDE, SIDE, SIDE, SIDE, SIDE);
        xerbla_call(orders[o], SIDE, -1, SIDE, SIDE, SIDE, SIDE);
        xerbla_call(orders[o], SIDE, SIDE, -1, SIDE, SIDE, SIDE);
        xerbla_call(orders[o], SIDE, SIDE, SIDE, SIDE - 1, SIDE, SIDE);
        xerbla_call(orders[o], SIDE, SIDE, SIDE, SIDE, SIDE - 1, SIDE);
        xerbla_call(orders[o], SIDE, SIDE, SIDE, SIDE, SIDE, SIDE - 1);
        xerbla_untouched("illegal");
        xerbla_legal();
    }
    xerbla_quiet = 1;
    for (int i = 0; i < TURNS; i++)
        xerbla_call(orders[i % 3], SIDE, SIDE, SIDE, 1, SIDE, SIDE);
    printf("told %d times\n", xerbla_told);
    xerbla_untouched("many");
    xerbla_legal();
    XT_CHECK(xerbla_told > 0, "contract 5.1: no handler was called");
    return xt_done();
}
