/* SPDX-License-Identifier: MIT */
/*
 * Calls from every moment of a process's life: constructors, many threads at once, a forked child,
 * its child, exit handlers and destructors, and with errno set. Compiled by the preload tests and
 * linked to a BLAS with the C interface. Prints "right" if every answer is right, else
 * how many are.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/threads.h"
#include "tests/support/xt.h"

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

enum { LIFE_THREADS = 8, LIFE_CALLS = 40 };

static _Atomic int life_right, life_wrong;

/*
 * Operands are small integers, so the sums are exact on either side. Inlined, so that each use is a
 * call site of its own, which all threads reach for the first time together.
 */
__attribute__((always_inline)) static inline void life_call(int size)
{
    float *a = malloc((size_t)(3 * size * size) * sizeof *a), *b = a + size * size,
          *c = b + size * size;
    int right = 1;
    for (int i = 0; i < size * size; i++) {
        a[i] = (float)(i % 7 - 3);
        b[i] = (float)(i % 5 - 2);
        c[i] = NAN;
    }
    errno = ERANGE;
    cblas_sgemm(101, 111, 112, size, size, size, 1.0f, a, size, b, size, 0.0f, c, size);
    right = errno == ERANGE;
    for (int i = 0; i < size; i++) {
        for (int j = 0; j < size; j++) {
            double sum = 0;
            for (int l = 0; l < size; l++)
                sum += (double)a[i * size + l] * (double)b[j * size + l];
            right = right && (double)c[i * size + j] == sum;
        }
    }
    free(a);
    life_right += right;
    life_wrong += !right;
}

static void *life_thread(void *start)
{
    pthread_barrier_wait(start);
    for (int i = 0; i < LIFE_CALLS; i++)
        life_call(3 + i);
    return NULL;
}

static void life_threads(void)
{
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, LIFE_THREADS);
    xt_threads_run(LIFE_THREADS, life_thread, &start, 0);
    pthread_barrier_destroy(&start);
}

/* A child computes, alone and in threads, and has a child itself, in `depth` generations. */
static void life_fork(int depth)
{
    int result = -1;
    pid_t child = fork();
    if (child == 0) {
        int wrong = life_wrong;
        life_call(20);
        if (depth > 1)
            life_fork(depth - 1);
#ifndef LIFE_CHILD_ALONE
        life_threads();
#endif
        _exit(life_wrong > wrong);
    }
    waitpid(child, &result, 0);
    life_right += result == 0;
    life_wrong += result != 0;
}

static void life_at_exit(void)
{
    life_call(17);
}

__attribute__((constructor)) static void life_begin(void)
{
    life_call(11);
}

static int life_expected;

__attribute__((destructor)) static void life_end(void)
{
    life_call(13);
    if (life_right == life_expected && !life_wrong)
        printf("right\n");
    else
        printf("%d right, %d wrong, %d expected\n", life_right, life_wrong, life_expected);
    fflush(stdout);
    if (life_wrong || life_right != life_expected)
        _exit(XT_FAIL);
}

int main(void)
{
    /* begin, first, two rounds of threads, two forks, at exit, end */
    life_expected = 1 + 1 + 2 * LIFE_THREADS * LIFE_CALLS + 2 + 1 + 1;
    atexit(life_at_exit);
    life_fork(1);
    life_call(19);
    life_threads();
    life_fork(2);
    life_threads();
    return 0;
}
