/* SPDX-License-Identifier: MIT */
/*
 * Multiplies (a), or factors (b), and checks the result. Compiled by library.sh. usage: library
 * a|b: once. library a|b stay: then stays for a second. library a|b FILE: on another thread, while
 * the main thread opens the library FILE, which must take less than half a second, and calls exit.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

enum { SIDE = 200 };

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int multiply(void)
{
    static float a[SIDE * SIDE], c[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        a[i] = 1;
    cblas_sgemm(101, 111, 111, SIDE, SIDE, SIDE, 1.0f, a, SIDE, a, SIDE, 0.0f, c, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        if (c[i] != SIDE)
            return 0;
    return 1;
}

static int factor(void)
{
    static double a[SIDE * SIDE];
    int side = SIDE, info = 1;
    for (int i = 0; i < SIDE; i++)
        a[i * SIDE + i] = 4;
    dpotrf_("L", &side, a, &side, &info);
    for (int i = 0; i < SIDE; i++)
        if (a[i * SIDE + i] != 2)
            return 0;
    return !info;
}

static void *compute(void *what)
{
    int right = *(const char *)what == 'a' ? multiply() : factor();
    puts(right ? "right" : "WRONG");
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 3 || !strcmp(argv[2], "stay")) {
        compute(argv[1]);
        sleep(argc > 2);
        return 0;
    }
    pthread_create(&thread, NULL, compute, argv[1]);
    usleep(300000);
    double begin_s = now_s();
    void *library = dlopen(argv[2], RTLD_NOW);
    int found = library && dlsym(library, "xt_module");
    double took_s = now_s() - begin_s;
    if (!found || !(took_s < 0.5))
        printf("WRONG: dlopen and dlsym: %d, %.3f s\n", found, took_s);
    exit(0);
}
