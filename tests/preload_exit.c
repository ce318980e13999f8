/* SPDX-License-Identifier: MIT */
/*
 * Ends while its threads multiply. Compiled by the preload tests and linked to a BLAS with the C
 * interface.
 * usage: preload_exit SIZE THREADS MICROSECONDS [join]
 * Multiplies matrices of SIZE in THREADS threads, without end, and exits with status 3 so many
 * microseconds after each has done its first product; with join, an exit handler first waits for
 * the threads, which end when they see that they are waited for. A wrong answer ends it with 1.
 */
#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "xt.h"

enum { THREADS_MAX = 16 };

static int exit_size, exit_threads;
static pthread_t exit_thread[THREADS_MAX];
static _Atomic int exit_begun;
static _Atomic bool exit_wanted;

static void *exit_multiply(void *first)
{
    const int n = exit_size;
    const size_t count = (size_t)n * (size_t)n;
    float *a = malloc(3 * count * sizeof *a), *b = a + count, *c = b + count;
    for (size_t i = 0; i < 2 * count; i++)
        a[i] = 1.0f;
    while (!exit_wanted) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, a, n, b, n, 0.0f, c,
                    n);
        for (size_t i = 0; i < count; i++)
            if (!(c[i] == (float)n))
                _exit(XT_FAIL);
        if (first)
            exit_begun++;
        first = NULL;
    }
    free(a);
    return NULL;
}

static void exit_join(void)
{
    exit_wanted = true;
    for (int i = 0; i < exit_threads; i++)
        pthread_join(exit_thread[i], NULL);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return XT_HARD;
    exit_size = atoi(argv[1]);
    exit_threads = atoi(argv[2]);
    if (argc > 4)
        atexit(exit_join);
    for (int i = 0; i < exit_threads; i++)
        if (pthread_create(&exit_thread[i], NULL, exit_multiply, &exit_begun))
            return XT_HARD;
    while (exit_begun < exit_threads)
        usleep(100);
    usleep((useconds_t)atoi(argv[3]));
    exit(3);
}
