/* SPDX-License-Identifier: MIT */
/*
 * Ends while its threads multiply. Compiled by the preload tests and linked to a BLAS with the C
 * interface.
 * usage: exit SIZE THREADS MICROSECONDS [join | fork]
 * Multiplies matrices of SIZE in THREADS threads, without end, and exits with status 3 so many
 * microseconds after each has done its first product; with join, an exit handler first waits for
 * the threads, which end when they see that they are waited for; with fork, all of that happens in
 * a child of a process that has multiplied. A wrong answer ends it with 1.
 */
#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/xt.h"

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

static int exit_status;

/* True in the parent, once the child has ended. */
static bool exit_fork(void)
{
    int status = -1;
    float one[64 * 64], c[64 * 64];
    for (int i = 0; i < 64 * 64; i++)
        one[i] = 1.0f;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 64, 64, 64, 1.0f, one, 64, one, 64, 0.0f,
                c, 64);
    pid_t child = fork();
    if (child == 0)
        return false;
    waitpid(child, &status, 0);
    exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : XT_HARD;
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return XT_HARD;
    exit_size = atoi(argv[1]);
    exit_threads = atoi(argv[2]);
    bool forks = argc > 4 && argv[4][0] == 'f';
    if (argc > 4 && !forks)
        atexit(exit_join);
    if (forks && exit_fork())
        return exit_status;
    for (int i = 0; i < exit_threads; i++)
        if (pthread_create(&exit_thread[i], NULL, exit_multiply, &exit_begun))
            return XT_HARD;
    while (exit_begun < exit_threads)
        usleep(100);
    usleep((useconds_t)atoi(argv[3]));
    exit(3);
}
