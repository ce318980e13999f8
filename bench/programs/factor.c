/* SPDX-License-Identifier: MIT */
/* Reference LAPACK's sgetrf and spotrf, whose products call sgemm_ of the BLAS. */
/*
 * usage: factor [--scale X] [--answer FILE]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void sgetrf_(const int *m, const int *n, float *a, const int *lda, int *ipiv, int *info);
void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info, size_t uplo_len);

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Fills a symmetric matrix, with n added to its diagonal: positive definite. */
static void fill(float *a, int n)
{
    unsigned state = 1;

    for (int j = 0; j < n; j++) {
        for (int i = 0; i <= j; i++) {
            state = state * 1664525u + 1013904223u;
            float x = (float)(state >> 8) * 0x1p-24f - 0.5f;

            a[(size_t)j * (size_t)n + (size_t)i] = a[(size_t)i * (size_t)n + (size_t)j] = x;
        }
        a[(size_t)j * (size_t)n + (size_t)j] += (float)n / 16.0f;
    }
}

/* Writes the first entries of the factor's diagonal, and the sum of the logarithms of all. */
static void write_diagonal(FILE *file, const char *name, const float *a, int n)
{
    double sum = 0.0;

    fprintf(file, "%s 1e-4", name);
    for (int i = 0; i < n; i++) {
        double x = (double)a[(size_t)i * (size_t)n + (size_t)i];

        sum += log(fabs(x));
        if (i < 16)
            fprintf(file, " %.9g", x);
    }
    fprintf(file, "\n%s_log_determinant 1e-4 %.9g\n", name, sum);
}

int main(int argc, char **argv)
{
    double scale = 1.0, work_s = 0.0;
    const char *answer = NULL;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--scale"))
            scale = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--answer"))
            answer = argv[i + 1];
    }
    int n = (int)fmax(64.0, 4096.0 * fmin(scale, 1.0)), lu_info = 1, cholesky_info = 1;
    size_t elems = (size_t)n * (size_t)n;
    float *lu = malloc(elems * sizeof *lu), *cholesky = malloc(elems * sizeof *cholesky);
    int *pivots = malloc((size_t)n * sizeof *pivots);

    if (!lu || !cholesky || !pivots)
        return 1;
    for (int repeat = 0; repeat < (int)fmax(1.0, scale); repeat++) {
        fill(lu, n);
        memcpy(cholesky, lu, elems * sizeof *lu);
        double begin = now_s();

        sgetrf_(&n, &n, lu, &n, pivots, &lu_info);
        spotrf_("L", &n, cholesky, &n, &cholesky_info, 1);
        work_s += now_s() - begin;
    }
    printf("work_s %.6f\n", work_s);
    FILE *file = answer ? fopen(answer, "w") : NULL;
    if (file) {
        write_diagonal(file, "lu", lu, n);
        write_diagonal(file, "cholesky", cholesky, n);
        fclose(file);
    }
    free(lu);
    free(cholesky);
    free(pivots);
    return lu_info || cholesky_info || (answer && !file);
}
