/* SPDX-License-Identifier: MIT */
/* An ordinary CBLAS program: multiplies matrices of many shapes, and checks each result in FP64. */
/*
 * usage: products [--csv] [--rounds N] [--seconds S] [--max-gflop G]
 *
 * Computes the list of products repeatedly, for at least N rounds (3) and S seconds (3), without
 * products above G GFLOP. Prints for each its best time, the largest error of the sampled elements,
 * in units of 2^-24 of |alpha||A||B| + |beta||C|, and the sum of all elements.
 */
#include <cblas.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 64 };

struct shape {
    const char *name;
    CBLAS_ORDER order;
    CBLAS_TRANSPOSE transa, transb;
    int m, n, k;
    float alpha, beta;
};

/* One product with its matrices and its results. */
struct product {
    struct shape shape;
    float *a, *b, *c, *c0; /* c0: C before the product, if beta is not 0 */
    int lda, ldb, ldc;
    double best_s, worst_error, sum;
};

#define ROW CblasRowMajor
#define COL CblasColMajor
#define N CblasNoTrans
#define T CblasTrans

static const struct shape shapes[] = {
    {"square 4096", ROW, N, N, 4096, 4096, 4096, 1, 0},
    {"square 2048", ROW, N, N, 2048, 2048, 2048, 1, 0},
    {"square 1024", ROW, N, N, 1024, 1024, 1024, 1, 0},
    {"square 512", ROW, N, N, 512, 512, 512, 1, 0},
    {"square 256", ROW, N, N, 256, 256, 256, 1, 0},
    {"square 64", ROW, N, N, 64, 64, 64, 1, 0},
    {"2048, A transposed, beta 1", ROW, T, N, 2048, 2048, 2048, 1, 1},
    {"2048, B transposed, columns", COL, N, T, 2048, 2048, 2048, 1, 0},
    {"odd 2047 x 2049 x 1999", ROW, N, N, 2047, 2049, 1999, 0.5f, 0},
    {"3000 x 777 x 1533", ROW, N, T, 3000, 777, 1533, 1, 0},
    {"update, k = 64", ROW, N, N, 8192, 4096, 64, -1, 1},
    {"tall 100000 x 64 x 64", ROW, N, N, 100000, 64, 64, 1, 0},
    {"inner 128 x 128 x 100000", ROW, T, N, 128, 128, 100000, 1, 0},
    {"one row", ROW, N, N, 1, 4096, 4096, 1, 0},
};

#undef N
#undef T

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static uint64_t random_state = 20240229;

/* Returns a number uniform in (-1, 1). */
static float random_float(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return ((float)(random_state >> 40) + 0.5f) * 0x1p-23f - 1.0f;
}

static float *random_matrix(size_t count)
{
    float *x = malloc(count * sizeof *x);

    if (!x) {
        fprintf(stderr, "products: out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i < count; i++)
        x[i] = random_float();
    return x;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t at(const struct shape *s, int trans, int row, int column, int ld)
{
    int by_columns = (s->order == CblasColMajor) != trans;

    return by_columns ? (size_t)column * (size_t)ld + (size_t)row
                      : (size_t)row * (size_t)ld + (size_t)column;
}

static int leading(const struct shape *s, int trans, int rows, int columns)
{
    return (s->order == CblasColMajor) != trans ? rows : columns;
}

static void prepare(struct product *p, const struct shape *s)
{
    size_t elements_c = (size_t)s->m * (size_t)s->n;

    p->shape = *s;
    p->a = random_matrix((size_t)s->m * (size_t)s->k);
    p->b = random_matrix((size_t)s->k * (size_t)s->n);
    p->c = random_matrix(elements_c);
    p->lda = leading(s, s->transa == CblasTrans, s->m, s->k);
    p->ldb = leading(s, s->transb == CblasTrans, s->k, s->n);
    p->ldc = leading(s, 0, s->m, s->n);
    p->best_s = INFINITY;
    if (s->beta != 0)
        p->c0 = random_matrix(elements_c);
}

/* The error of one element compared with a sum in double precision; NaN and infinity are errors. */
static double element_error(const struct product *p, int i, int j)
{
    const struct shape *s = &p->shape;
    size_t at_c = at(s, 0, i, j, p->ldc);
    double sum = 0, scale = 0, error;

    for (int l = 0; l < s->k; l++) {
        double product = (double)p->a[at(s, s->transa == CblasTrans, i, l, p->lda)] *
                         (double)p->b[at(s, s->transb == CblasTrans, l, j, p->ldb)];
        sum += product;
        scale += fabs(product);
    }
    sum *= (double)s->alpha;
    scale *= fabs((double)s->alpha);
    if (s->beta != 0) {
        sum += (double)s->beta * (double)p->c0[at_c];
        scale += fabs((double)s->beta * (double)p->c0[at_c]);
    }
    error = fabs((double)p->c[at_c] - sum) / scale * 0x1p24;
    return isfinite(error) ? error : INFINITY;
}

static void accuracy(struct product *p)
{
    int m = p->shape.m, n = p->shape.n;
    double error = fmax(element_error(p, 0, 0), element_error(p, m - 1, n - 1));

    for (int sample = 0; sample < SAMPLES; sample++) {
        int i = (int)(((double)random_float() + 1) / 2 * m);
        int j = (int)(((double)random_float() + 1) / 2 * n);

        error = fmax(error, element_error(p, i, j));
    }
    p->worst_error = fmax(p->worst_error, error);
    p->sum = 0;
    for (size_t i = 0; i < (size_t)m * (size_t)n; i++)
        p->sum += (double)p->c[i];
}

static void run(struct product *p)
{
    const struct shape *s = &p->shape;
    size_t bytes_c = (size_t)s->m * (size_t)s->n * sizeof *p->c;
    double begin;

    if (p->c0)
        memcpy(p->c, p->c0, bytes_c);
    else
        memset(p->c, 0xff, bytes_c); /* NaN, none of which may remain because beta is 0 */
    begin = now_s();
    cblas_sgemm(s->order, s->transa, s->transb, s->m, s->n, s->k, s->alpha, p->a, p->lda, p->b,
                p->ldb, s->beta, p->c, p->ldc);
    p->best_s = fmin(p->best_s, now_s() - begin);
}

static double gflop(const struct shape *s)
{
    return 2e-9 * s->m * s->n * s->k;
}

static void print_header(int csv)
{
    if (csv)
        printf("name;m;n;k;milliseconds;gflops;error;sum\n");
    else
        printf("%-28s %7s %7s %7s %10s %9s %7s %13s\n", "product", "m", "n", "k", "ms", "GFLOP/s",
               "error", "sum");
}

static void print(const struct product *p, int csv)
{
    const struct shape *s = &p->shape;

    printf(
        csv ? "%s;%d;%d;%d;%.6f;%.3f;%.4f;%.9g\n" : "%-28s %7d %7d %7d %10.4f %9.1f %7.3f %13.6g\n",
        s->name, s->m, s->n, s->k, p->best_s * 1e3, gflop(s) / p->best_s, p->worst_error, p->sum);
}

int main(int argc, char **argv)
{
    static struct product products[SHAPES];
    double seconds = 3, max_gflop = INFINITY, begin;
    int csv = 0, count = 0, rounds = 3, status = 0;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--csv")) {
            csv = 1;
        } else if (!strcmp(argv[i], "--rounds") && i + 1 < argc) {
            rounds = atoi(argv[++i]);
        } else if (!strcmp(argv[i], "--seconds") && i + 1 < argc) {
            seconds = atof(argv[++i]);
        } else if (!strcmp(argv[i], "--max-gflop") && i + 1 < argc) {
            max_gflop = atof(argv[++i]);
        } else {
            fprintf(stderr, "usage: %s [--csv] [--rounds N] [--seconds S] [--max-gflop G]\n",
                    argv[0]);
            return 2;
        }
    }
    for (int i = 0; i < SHAPES; i++)
        if (gflop(&shapes[i]) <= max_gflop)
            prepare(&products[count++], &shapes[i]);
    begin = now_s();
    for (int round = 0; round < rounds || now_s() - begin < seconds; round++) {
        for (struct product *p = products; p < products + count; p++) {
            run(p);
            accuracy(p);
        }
    }
    print_header(csv);
    for (struct product *p = products; p < products + count; p++) {
        print(p, csv);
        /* The error of a sum of k rounded products is at most k units; that of a wrong sum is much
         * larger. */
        if (!(p->worst_error <= p->shape.k + 3))
            status = 1;
        free(p->a);
        free(p->b);
        free(p->c);
        free(p->c0);
    }
    return status;
}
