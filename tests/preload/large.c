/* SPDX-License-Identifier: MIT */
/*
 * Products whose operands span more than 2^31 elements: rows that lie gigabytes apart, and
 * only pages that hold an element may be touched. Compiled by the preload tests, with CALL_INT
 * (int32_t or int64_t), and linked to a BLAS with the C interface. Labels are doc/contract.md's.
 * usage: large ELEMENTS, which rows lie apart at most
 */
#include <math.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/support/xt.h"

void cblas_sgemm(int order, int transa, int transb, CALL_INT m, CALL_INT n, CALL_INT k, float alpha,
                 const float *a, CALL_INT lda, const float *b, CALL_INT ldb, float beta, float *c,
                 CALL_INT ldc);

/* Address space without memory: a page appears when it is written to. */
static float *large_map(int64_t elems)
{
    void *p = mmap(NULL, (size_t)elems * sizeof(float), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        printf("no address space\n");
        exit(XT_SKIP);
    }
    return p;
}

struct large_matrix {
    float *data;
    int64_t rows, columns, ld;
};

static struct large_matrix large_create(int64_t rows, int64_t columns, int64_t ld, uint64_t *seed)
{
    struct large_matrix x = {large_map(rows * ld), rows, columns, ld};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            x.data[i * ld + j] = xt_random(seed);
    return x;
}

static void large_destroy(struct large_matrix *x)
{
    munmap(x->data, (size_t)(x->rows * x->ld) * sizeof(float));
}

static void large_product(int ta, int tb, int64_t m, int64_t n, int64_t k, int64_t ld, float beta)
{
    uint64_t seed = (uint64_t)(m + n + k);
    struct large_matrix a = large_create(ta ? k : m, ta ? m : k, ld, &seed);
    struct large_matrix b = large_create(tb ? n : k, tb ? k : n, ld, &seed);
    struct large_matrix c = large_create(m, n, ld, &seed);
    double *expected = malloc((size_t)(m * n) * sizeof *expected);
    int bad = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = (double)beta * (double)c.data[i * ld + j];
            for (int64_t l = 0; l < k; l++)
                sum += (double)a.data[ta ? l * ld + i : i * ld + l] *
                       (double)b.data[tb ? j * ld + l : l * ld + j];
            expected[i * n + j] = sum;
        }
    cblas_sgemm(101, ta ? 112 : 111, tb ? 112 : 111, (CALL_INT)m, (CALL_INT)n, (CALL_INT)k, 1.0f,
                a.data, (CALL_INT)ld, b.data, (CALL_INT)ld, beta, c.data, (CALL_INT)ld);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            bad += !(fabs((double)c.data[i * ld + j] - expected[i * n + j]) <=
                     (double)(k + 3) * 0x1p-23 * (double)(k + 1));
    XT_CHECK(bad == 0, "contract 3.3: trans %d %d, %ld,%ld,%ld, rows %ld elements apart: %d wrong",
             ta, tb, (long)m, (long)n, (long)k, (long)ld, bad);
    free(expected);
    large_destroy(&a);
    large_destroy(&b);
    large_destroy(&c);
}

/* Products with dimensions beyond 32 bits, but without an element or a term. */
static void large_empty(void)
{
    if (sizeof(CALL_INT) < 8)
        return;
    const CALL_INT huge = (CALL_INT)(INT64_C(1) << 32) + 5;
    float c[2] = {3.0f, 5.0f};
    cblas_sgemm(101, 111, 111, huge, 0, huge, 1.0f, NULL, huge, NULL, huge, 0.0f, NULL, 1);
    cblas_sgemm(101, 111, 111, 0, huge, huge, 1.0f, NULL, huge, NULL, huge, 0.0f, NULL, huge);
    cblas_sgemm(101, 111, 111, 1, 2, huge, 0.0f, NULL, huge, NULL, huge, 2.0f, c, huge);
    XT_CHECK(c[0] == 6.0f && c[1] == 10.0f, "contract 3.3: %g, %g", (double)c[0], (double)c[1]);
}

int main(int argc, char **argv)
{
    const int64_t most = argc > 1 ? atoll(argv[1]) : 0;
    struct rusage used;
    if (most < 1000)
        return XT_HARD;
    for (int t = 0; t < 4; t++) {
        large_product(t & 1, t >> 1, 7, 5, 6, most, 0.5f);
        large_product(t & 1, t >> 1, 90, 70, 80, 70000001, 0.0f);
        large_product(t & 1, t >> 1, 300, 64, 64, most, -1.0f);
    }
    large_empty();
    getrusage(RUSAGE_SELF, &used);
    XT_CHECK(used.ru_maxrss < 512 << 10, "contract 3.3: %ld KiB were touched", used.ru_maxrss);
    return xt_done();
}
