/* SPDX-License-Identifier: MIT */
/*
 * Measures the additional cost of a call that stays on the CPU under the preload, with a library
 * that does nothing.
 *
 * usage: overhead [LIBRARY]    the library to preload; XG_SO, or .libs/libxgemm_shim.so
 *
 * It runs itself without and with the preload. Each figure is the minimum of many batches: the cost
 * of the code, without disturbances by the machine.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* In bench/nothing.c, which ignores all arguments. */
void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc, size_t transa_length,
            size_t transb_length);
void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c,
                 int ldc);
void ssyrk_(const char *uplo, const char *trans, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *beta, float *c, const int *ldc,
            size_t uplo_length, size_t trans_length);

void sgemv_(const char *trans, const int *m, const int *n, const float *alpha, const float *a,
            const int *lda, const float *x, const int *incx, const float *beta, float *y,
            const int *incy, size_t trans_length);

enum { BATCH = 4000, BATCHES = 100 };

static float a[2], b[2], c[2]; /* never read */

static void call_c(int size)
{
    cblas_sgemm(101, 111, 111, size, size, size, 1, a, size, b, size, 0, c, size);
}

static void call_fortran(int size)
{
    const float one = 1, zero = 0;
    sgemm_("N", "N", &size, &size, &size, &one, a, &size, b, &size, &zero, c, &size, 1, 1);
}

static void call_double(int size)
{
    cblas_dgemm(101, 111, 111, size, size, size, 1, (double *)a, size, (double *)b, size, 0,
                (double *)c, size);
}

static void call_syrk(int size)
{
    const float one = 1, zero = 0;
    ssyrk_("U", "N", &size, &size, &one, a, &size, &zero, c, &size, 1, 1);
}

static void call_vector(int size)
{
    const float one = 1, zero = 0;
    const int step = 1;
    sgemv_("N", &size, &size, &one, a, &size, b, &step, &zero, c, &step, 1);
}

static const struct way {
    const char *name;
    void (*call)(int size);
    int first, sizes; /* the sizes alternate */
} ways[] = {
    {"cblas_sgemm, 8^3: below the floor", call_c, 8, 1},
    {"sgemm_, 8^3: below the floor", call_fortran, 8, 1},
    {"cblas_sgemm, 100^3: kept on the CPU by the model", call_c, 100, 1},
    {"sgemm_, 100^3: kept on the CPU by the model", call_fortran, 100, 1},
    {"cblas_dgemm, 8^3: below the floor", call_double, 8, 1},
    {"cblas_dgemm, 100^3: kept on the CPU by the model", call_double, 100, 1},
    {"ssyrk_, 100^3: kept on the CPU by the model", call_syrk, 100, 1},
    {"sgemv_, 1000^2: below its floor", call_vector, 1000, 1},
    {"cblas_sgemm, 8 alternating sizes from 100^3", call_c, 100, 8},
    {"cblas_sgemm, 100 alternating sizes from 70^3", call_c, 70, 100},
};

enum { WAYS = sizeof ways / sizeof ways[0] };

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static double measure(const struct way *way)
{
    double least = INFINITY;
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = now_ns();
        for (int i = 0, at = 0; i < BATCH; i++) {
            way->call(way->first + at);
            at = at + 1 < way->sizes ? at + 1 : 0;
        }
        least = fmin(least, (now_ns() - begin) / BATCH);
    }
    return least;
}

/* Runs this program with the library preloaded; NULL: without. Fills ns. */
static void run(const char *library, double ns[WAYS])
{
    int ends[2];
    if (pipe(ends)) {
        perror("pipe");
        exit(EXIT_FAILURE);
    }
    pid_t pid = fork();
    if (pid == 0) {
        char descriptor[16];
        snprintf(descriptor, sizeof descriptor, "%d", ends[1]);
        if (library)
            setenv("LD_PRELOAD", library, 1);
        else
            unsetenv("LD_PRELOAD");
        execl("/proc/self/exe", "overhead", "--measure", descriptor, (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    for (int i = 0; i < WAYS; i++)
        if (!in || fread(&ns[i], sizeof ns[i], 1, in) != 1) {
            fprintf(stderr, "the run %s a preload printed nothing\n", library ? "with" : "without");
            exit(EXIT_FAILURE);
        }
    fclose(in);
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    double alone[WAYS], preloaded[WAYS];
    if (argc == 3 && !strcmp(argv[1], "--measure")) {
        for (int i = 0; i < WAYS; i++)
            alone[i] = measure(&ways[i]);
        return write(atoi(argv[2]), alone, sizeof alone) == sizeof alone ? EXIT_SUCCESS
                                                                         : EXIT_FAILURE;
    }
    const char *library = argc > 1 ? argv[1] : getenv("XG_SO");
    run(NULL, alone);
    run(library ? library : ".libs/libxgemm_shim.so", preloaded);
    printf("%-48s %10s %10s %10s\n", "ns per call", "alone", "preloaded", "more");
    for (int i = 0; i < WAYS; i++)
        printf("%-48s %10.1f %10.1f %10.1f\n", ways[i].name, alone[i], preloaded[i],
               preloaded[i] - alone[i]);
    return EXIT_SUCCESS;
}
