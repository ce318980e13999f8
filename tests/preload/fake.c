/* SPDX-License-Identifier: MIT */
/*
 * A program that multiplies matrices of small whole numbers again and again in the same memory,
 * through both interfaces and from threads. Every sum is exact, so the program prints the same
 * hashes of C, and of the padding between its rows, whether the CPU or the GPU computes.
 * usage: fake EXIT-STATUS [THREADS [SIDE]], SIDE: no matrix has more rows or columns
 */
#include <cblas.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/threads.h"

void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc);

enum { PAD = 3 };

static const int sizes[][3] = {{200, 310, 150}, {1, 1, 1},     {33, 65, 17},  {256, 256, 256},
                               {5, 700, 90},    {401, 3, 210}, {129, 130, 1}, {900, 700, 40}};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static int side_most = 900;

static size_t matrix_elements(void)
{
    return (size_t)(side_most + PAD) * (size_t)side_most;
}

/* Draws whole numbers from -4 to 4. */
static void draw_whole_numbers(float *x, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)((int)(seed >> 24) % 9 - 4);
    }
}

/* FNV-1a over the bits of C, its padding included. */
static uint64_t hash(const float *x, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)x;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count * sizeof(*x); i++)
        h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* One product in a thread's memory. `which` chooses the shape, transposes, order and interface. */
static uint64_t multiply(float *memory, unsigned which)
{
    const int m = least(sizes[which % SIZES][0], side_most);
    const int n = least(sizes[which % SIZES][1], side_most);
    const int k = least(sizes[which % SIZES][2], side_most);
    const int transa = which & 1, transb = which >> 1 & 1, row = which >> 2 & 1;
    const float alpha = which % 3 ? 1.0f : 2.0f, beta = (float)(which % 4) - 1.0f;
    const int side = (m > n ? m : n) > k ? (m > n ? m : n) : k, ld = side + PAD;
    const size_t count = (size_t)ld * (size_t)side;
    const char letters[] = {"NtTc"[transa * (which / 5 % 4)], "nTCc"[transb * (which / 5 % 4)]};
    float *a = memory, *b = a + matrix_elements(), *c = b + matrix_elements();
    draw_whole_numbers(a, count, which);
    draw_whole_numbers(b, count, which + 1);
    draw_whole_numbers(c, count, which + 2);
    if (which % 5 == 4)
        sgemm_(&letters[0], &letters[1], &m, &n, &k, &alpha, a, &ld, b, &ld, &beta, c, &ld);
    else
        cblas_sgemm(row ? CblasRowMajor : CblasColMajor, transa ? CblasTrans : CblasNoTrans,
                    transb ? CblasTrans : CblasNoTrans, m, n, k, alpha, a, ld, b, ld, beta, c, ld);
    return hash(c, count);
}

enum { PRODUCTS = 24, THREADS_MAX = 12 };

static void *run(void *hashes)
{
    float *memory = malloc(3 * matrix_elements() * sizeof *memory);
    if (!memory)
        exit(99);
    for (unsigned which = 0; which < PRODUCTS; which++)
        ((uint64_t *)hashes)[which] = multiply(memory, which);
    free(memory);
    return NULL;
}

int main(int argc, char **argv)
{
    static uint64_t hashes[THREADS_MAX][PRODUCTS];
    int count = argc > 2 ? atoi(argv[2]) : 1;
    side_most = argc > 3 ? atoi(argv[3]) : side_most;
    xt_threads_run(count, run, hashes, sizeof hashes[0]);
    for (int i = 0; i < count; i++)
        for (int which = 0; which < PRODUCTS; which++)
            printf("%d %d %016llx\n", i, which, (unsigned long long)hashes[i][which]);
    return argc > 1 ? atoi(argv[1]) : 0;
}
