/* SPDX-License-Identifier: MIT */
/*
 * Built three times. HISTORY_LIBRARY: a CPU library that asks for its settings when it is loaded,
 * as OpenBLAS does, and whose DSYEVD sleeps. HISTORY_RECORD, with the engine: prints or plants the
 * record of a program. Otherwise the program itself.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined HISTORY_LIBRARY || defined HISTORY_RECORD
/* With two cores the expected times are the same on every machine. */
static void use_two_cores(void)
{
    cpu_set_t mask;
    int count = 0;
    sched_getaffinity(0, sizeof mask, &mask);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &mask) && count++ >= 2)
            CPU_CLR(i, &mask);
    sched_setaffinity(0, sizeof mask, &mask);
}
#endif

#ifdef HISTORY_LIBRARY
__attribute__((constructor)) static void ask(void)
{
    use_two_cores();
    (void)getenv("OPENBLAS_THREAD_TIMEOUT");
}

void dsyevd_(void), dgemm_(void);
void dsyevd_(void)
{
    usleep(700000);
}

void dgemm_(void)
{
    usleep(50000);
}

#elif defined HISTORY_RECORD
#include <time.h>

#include "src/base/conf.h"
#include "src/machine/history.h"
#include "src/machine/program.h"

/* record GAIN_MS DAYS MACHINE EXECUTABLE: plants; record SECONDS EXECUTABLE: a start took so long;
 * record EXECUTABLE: prints. */
int main(int argc, char **argv)
{
    static struct xg_program program;
    static struct xg_history history;
    const char *words[] = {"program"};
    struct xg_past past = {.runs = 1, .needs = 1 << XG_RESOURCE_GPU, .price_ms = 400};
    use_two_cores();
    size_t length = xg_program_write(&program, argv[argc - 1], 1, words);
    if (!length || !xg_history_open(&history, argc > 2, xg_conf_environment))
        return puts("none") < 0;
    uint64_t id = xg_history_hash(&history, program.text, length);
    if (argc == 2) {
        if (xg_history_find(&history, id, &past))
            printf("gain %u needs %u bars %u runs %u\n", past.gain_ms, past.needs, past.bars,
                   past.runs);
        else
            puts("none");
        return 0;
    }
    const uint64_t machine = xg_history_machine(&history);
    if (argc == 3)
        return !xg_history_start_took(&history, machine, XG_RESOURCE_GPU, atof(argv[1]),
                                      atof(argv[1]));
    past.id = id;
    past.gain_ms = (uint32_t)atol(argv[1]);
    past.time_s = time(NULL) + 86400 * atol(argv[2]);
    past.machine = machine + (uint64_t)atol(argv[3]);
    return !xg_history_store(&history, &past);
}

#else
void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w,
             double *work, const int *lwork, int *iwork, const int *liwork, int *info);
void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);

/* program CALLS [fork|set|_exit|product]: waits for a start, then calls. */
int main(int argc, char **argv)
{
    enum { N = 1600 };
    const double one = 1;
    const int edge = N / 2, n = N, lwork = 1 + 6 * N + 2 * N * N, liwork = 3 + 5 * N;
    double *a = calloc(N * N, sizeof *a), *w = calloc(N, sizeof *w);
    double *work = calloc((size_t)lwork, sizeof *work);
    int *iwork = calloc((size_t)liwork, sizeof *iwork), info = 0;
    const char *how = argc > 2 ? argv[2] : "";
    if (!a || !w || !work || !iwork)
        return 99;
    usleep(300000);
    if (!strcmp(how, "fork") && fork() == 0)
        _exit(0);
    if (!strcmp(how, "set"))
        setenv("XGEMM_DEVICES", "0", 1);
    for (int i = atoi(argv[1]); i > 0 && !strcmp(how, "product"); i--)
        dgemm_("N", "N", &edge, &edge, &edge, &one, a, &edge, a, &edge, &one, work, &edge);
    for (int i = atoi(argv[1]); i > 0 && strcmp(how, "product") != 0; i--)
        dsyevd_("V", "L", &n, a, &n, w, work, &lwork, iwork, &liwork, &info);
    puts("right");
    fflush(stdout);
    if (!strcmp(how, "_exit"))
        _exit(0);
    return 0;
}
#endif
