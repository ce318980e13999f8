/* SPDX-License-Identifier: MIT */
/*
 * Makes children while its threads multiply, each of which multiplies and ends. Compiled by the
 * preload tests and linked to a BLAS with the C interface that takes no locks.
 * usage: child WAY COUNT WAY: fork, _Fork or clone, how many times, and how each of those
 * makes a child that multiplies as well
 * _Fork and clone call no handlers of pthread_atfork. Every other child ends by exit. Prints
 * "right", or that a child failed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/xt.h"

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

#pragma weak _Fork
extern pid_t _Fork(void);

enum { SIDE = 72, THREADS = 3, CHILD_S = 60 };

static float ones[SIDE * SIDE];
static atomic_bool ended;

/* No allocation: the child of such a process may find the lock of malloc taken. */
static bool multiplies(float *c)
{
    bool right = true;
    cblas_sgemm(101, 111, 111, SIDE, SIDE, SIDE, 1.0f, ones, SIDE, ones, SIDE, 0.0f, c, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        right = right && c[i] == (float)SIDE;
    return right;
}

static void *multiply_on(void *arg)
{
    float *c = arg;
    while (!ended)
        if (!multiplies(c))
            _exit(XT_FAIL);
    return NULL;
}

static bool ends_well(pid_t child)
{
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static pid_t make(const char *way)
{
    if (!strcmp(way, "fork"))
        return fork();
    if (!strcmp(way, "_Fork") && _Fork)
        return _Fork();
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void child(bool leaves, const char *way)
{
    static float c[SIDE * SIDE];
    alarm(CHILD_S); /* which ends it, and tells that it hung */
    bool right = multiplies(c) && multiplies(c);
    pid_t grandchild = make(way);
    if (grandchild == 0)
        _exit(multiplies(c) ? XT_PASS : XT_FAIL);
    right = ends_well(grandchild) && right;
    if (leaves)
        _exit(right ? XT_PASS : XT_FAIL);
    exit(right ? XT_PASS : XT_FAIL);
}

int main(int argc, char **argv)
{
    static float c[1 + THREADS][SIDE * SIDE];
    pthread_t thread[THREADS];
    if (argc < 4)
        return XT_HARD;
    for (int i = 0; i < SIDE * SIDE; i++)
        ones[i] = 1.0f;
    bool right = multiplies(c[THREADS]);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, multiply_on, c[i]))
            return XT_HARD;
    for (int i = 0; i < atoi(argv[2]) && right; i++) {
        pid_t pid = make(argv[1]);
        if (pid == 0)
            child(i % 2, argv[3]);
        right = ends_well(pid);
        usleep(1000);
    }
    ended = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    printf(right ? "right\n" : "a child failed\n");
    return !right;
}
