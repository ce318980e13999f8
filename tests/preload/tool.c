/* SPDX-License-Identifier: MIT */
/*
 * Multiplies in processes that end in every way. Compiled by the launcher's tests and linked to a
 * BLAS with the C interface. usage: tool WAY..., each in a child of its own, with one product:
 *   exit, _exit, kill  how the child ends
 *   exec               it runs this program again, which multiplies and ends by _exit
 *   spin               it multiplies for 2.5 s
 * Without a WAY the program multiplies itself and ends by _exit. Exit status: 3.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"

enum { SIDE = 100, STATUS = 3 };

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

static float a[SIDE * SIDE], c[SIDE * SIDE];

static void multiply(void)
{
    cblas_sgemm(101, 111, 111, SIDE, SIDE, SIDE, 1.0f, a, SIDE, a, SIDE, 0.0f, c, SIDE);
}

static void child(const char *way)
{
    double end_s = xg_clock_s() + 2.5;

    multiply();
    while (!strcmp(way, "spin") && xg_clock_s() < end_s)
        multiply();
    if (!strcmp(way, "exec"))
        execl("/proc/self/exe", "again", (char *)NULL);
    if (!strcmp(way, "kill"))
        raise(SIGKILL);
    if (!strcmp(way, "_exit"))
        _exit(0);
    exit(0);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        multiply();
        _exit(STATUS);
    }
    for (int i = 1; i < argc; i++)
        if (fork() == 0)
            child(argv[i]);
    while (wait(NULL) > 0)
        ;
    return STATUS;
}
