/* SPDX-License-Identifier: MIT */
/*
 * Multiplies in threads with little stack, each with one product, the first one of the process
 * included. Prints "right" if all are right; a stack that overflows ends the process. Compiled by
 * the preload tests and linked to a BLAS with the C interface that needs little stack itself.
 * usage: stack KIBIBYTES COUNT
 */
#include <pthread.h>
#include <stdbool.h>

#include "tests/support/xt.h"

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

enum { SIDE = 200 };

static float ones[SIDE * SIDE], c[SIDE * SIDE];

static void *multiply(void *arg)
{
    cblas_sgemm(101, 111, 111, SIDE, SIDE, SIDE, 1.0f, ones, SIDE, ones, SIDE, 0.0f, c, SIDE);
    return arg;
}

int main(int argc, char **argv)
{
    bool right = argc > 2;
    for (int i = 0; i < SIDE * SIDE; i++)
        ones[i] = 1.0f;
    for (int count = argc > 2 ? atoi(argv[2]) : 0; count > 0; count--) {
        pthread_t thread;
        pthread_attr_t little;
        pthread_attr_init(&little);
        if (pthread_attr_setstacksize(&little, (size_t)atol(argv[1]) << 10) ||
            pthread_create(&thread, &little, multiply, NULL))
            return XT_HARD;
        pthread_join(thread, NULL);
        pthread_attr_destroy(&little);
        for (int i = 0; i < SIDE * SIDE; i++)
            right = right && c[i] == (float)SIDE;
        memset(c, 0xff, sizeof c);
    }
    printf(right ? "right\n" : "wrong\n");
    return !right;
}
