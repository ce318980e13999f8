/* SPDX-License-Identifier: MIT */
/* Reads OpenBLAS's count of threads from a second thread, while the first one multiplies for 0.7 s.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/clock.h"

int openblas_get_num_threads(void);
void openblas_set_num_threads(int count);
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                 float *, int);

static _Atomic int ends;

static void *watch(void *wanted)
{
    static const struct timespec nap = {.tv_nsec = 100000};
    int count = *(int *)wanted;
    while (!ends && count == *(int *)wanted) {
        nanosleep(&nap, NULL);
        count = openblas_get_num_threads();
    }
    *(int *)wanted = count;
    return NULL;
}

int main(int argc, char **argv)
{
    enum { N = 1000 };
    static float a[N * N], c[N * N];
    const int wanted = argc > 1 ? atoi(argv[1]) : 0;
    int read = wanted;
    pthread_t watcher;
    openblas_set_num_threads(wanted);
    if (pthread_create(&watcher, NULL, watch, &read))
        return 99;
    for (double end_s = xg_clock_s() + 0.7; xg_clock_s() < end_s;)
        cblas_sgemm(101, 111, 111, N, N, N, 1, a, N, a, N, 0, c, N);
    ends = 1;
    pthread_join(watcher, NULL);
    if (read != wanted || openblas_get_num_threads() != wanted)
        return printf("read %d, now %d, set %d\n", read, openblas_get_num_threads(), wanted), 1;
    return puts("right") < 0;
}
