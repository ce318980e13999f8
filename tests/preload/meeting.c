/* SPDX-License-Identifier: MIT */
/* Threads that meet at the program's first product, each of its own. Compiled by
 * threads.sh. */
#include <pthread.h>
#include <stdio.h>

#include "tests/support/threads.h"

enum { THREADS = 16, N = 8 };

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

static pthread_barrier_t together;
static int right[THREADS];

static void *multiply(void *arg)
{
    float a[N * N], b[N * N], c[N * N];
    int *is_right = arg;
    for (int i = 0; i < N * N; i++)
        a[i] = 1, b[i] = (float)i, c[i] = -1;
    pthread_barrier_wait(&together);
    cblas_sgemm(101, 111, 111, N, N, N, 1, a, N, b, N, 0, c, N);
    *is_right = 1;
    for (int i = 0; i < N * N; i++) /* a column's sum */
        *is_right &= c[i] == (float)(N * (N - 1) / 2 * N + N * (i % N));
    return NULL;
}

int main(void)
{
    int sum = 0;
    pthread_barrier_init(&together, NULL, THREADS);
    xt_threads_run(THREADS, multiply, right, sizeof right[0]);
    for (int i = 0; i < THREADS; i++)
        sum += right[i];
    printf("%d right\n", sum);
    return sum != THREADS;
}
