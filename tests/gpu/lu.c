/* SPDX-License-Identifier: MIT */
/* LU by our panels on a device: pivots, factors and info against elimination on the host. Contract
 * 1.3 (doc/contract.md). */

/*
 * usage: lu [--short]
 *
 * Pivots must be largest elements, within rounding, of what the factors leave of A, and the first
 * of equal ones. Row by row, |P A - L U| <= n eps |L| |U|. Memory beside the matrix must not
 * change.
 */
#include <float.h>
#include <math.h>

#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "src/compute/lu.h"
#include "src/device/mem.h"
#include "tests/support/typed.h"
#include "util.h"

enum { PAD = 3, MOST = 8192 * 64 };

enum kind { RANDOM, TIES, HADAMARD, TINY, HUGE_NUMBERS, LARGEST, GRADED, GROWTH, SINGULAR, KINDS };

static struct xg_dev *dev;
static struct xg_lu lus[XG_TYPE_COUNT];
static CUstream stream;
static CUdeviceptr device;
static uint64_t random_state = 20;

static double element(enum xg_type type, enum kind kind, int64_t i, int64_t j, int64_t n)
{
    const bool wide = type == XG_TYPE_D;
    const double x = (double)xt_random(&random_state);
    switch (kind) {
    case TIES:
        return rint(x * 1.4);
    case HADAMARD: /* powers of two, exactly, and ever more of the same */
        return __builtin_popcountll((uint64_t)(i & j)) % 2 ? -1 : 1;
    case TINY: /* the smallest have few bits */
        return x * (wide ? 1e-312 : 1e-42);
    case HUGE_NUMBERS:
        return x * (wide ? 1e306 : 1e36);
    case LARGEST: /* pivots whose reciprocals underflow */
        return (i == j ? 0.95 : x * 1e-3) * (wide ? DBL_MAX : (double)FLT_MAX);
    case GRADED:
        return x * pow(10, -(double)(j % (wide ? 40 : 8)));
    case GROWTH: /* |U| doubles with each row; beyond 40 rows it would say nothing */
        return j == n - 1 || i == j ? 1 : i > j && j < 40 ? -1 : 0;
    case SINGULAR:
        return j == 1 || j == 3 ? 0 : x;
    default:
        return x;
    }
}

/* PA - LU of a column, and the bound; rows in their order at the end. */
static double column_error(enum xg_type type, const void *lu, const double *a, const int *rows,
                           int64_t m, int64_t n, int64_t j)
{
    const int64_t ld = m + PAD, steps = m < n ? m : n;
    double worst = 0;
    for (int64_t i = 0; i < m; i++) {
        long double sum = 0, absolute = 0;
        for (int64_t k = 0; k <= i && k <= j && k < steps; k++) {
            const long double l = i == k ? 1 : (long double)xt_get(type, lu, i + k * ld);
            const long double term = l * (long double)xt_get(type, lu, k + j * ld);
            sum += term;
            absolute += fabsl(term);
        }
        const double error = (double)fabsl(sum - (long double)a[rows[i] + j * m]);
        /* The smallest numbers of the type round by a unit of their own. */
        const double least = type == XG_TYPE_D ? DBL_TRUE_MIN : (double)FLT_TRUE_MIN;
        const double bound = (double)absolute + (double)steps * least /
                                                    (type == XG_TYPE_D ? DBL_EPSILON : FLT_EPSILON);
        worst = fmax(worst, error / bound);
        if (!(error <= DBL_MAX))
            return INFINITY;
    }
    return worst;
}

/* Eliminates as LAPACK's getf2. Returns the number of columns until which all is exact in any
 * precision: integers, and pivots that are powers of two. */
static int64_t eliminate(double *a, int64_t m, int64_t n, int64_t *pivots)
{
    const int64_t steps = m < n ? m : n;
    for (int64_t j = 0; j < steps; j++) {
        int64_t best = j;
        int exponent;
        for (int64_t i = j; i < m; i++)
            if (fabs(a[i + j * m]) > fabs(a[best + j * m]))
                best = i;
        pivots[j] = best + 1;
        if (frexp(fabs(a[best + j * m]), &exponent) != 0.5 || exponent < 1)
            return j;
        for (int64_t k = 0; k < n; k++) {
            const double x = a[j + k * m];
            a[j + k * m] = a[best + k * m];
            a[best + k * m] = x;
        }
        for (int64_t i = j + 1; i < m; i++) {
            const double l = a[i + j * m] / a[j + j * m];
            for (int64_t k = j + 1; k < n && l != 0; k++)
                a[i + k * m] -= l * a[j + k * m];
        }
    }
    return steps;
}

static void check_ties(const char *text, const double *a, int64_t m, int64_t n,
                       const int64_t *pivots)
{
    const int64_t steps = m < n ? m : n;
    double *copy = malloc((size_t)(m * n) * sizeof *copy);
    int64_t *wanted = malloc((size_t)steps * sizeof *wanted);
    if (!copy || !wanted)
        exit(XT_FAIL);
    memcpy(copy, a, (size_t)(m * n) * sizeof *copy);
    const int64_t exact = eliminate(copy, m, n, wanted);
    XT_CHECK(exact == steps || exact >= 32 || m % 64, "%s: exact until column %lld", text,
             (long long)exact);
    for (int64_t j = 0; j < exact; j++)
        XT_CHECK(pivots[j] == wanted[j], "%s: pivot %lld of column %lld, not %lld", text,
                 (long long)pivots[j], (long long)j, (long long)wanted[j]);
    free(copy);
    free(wanted);
}

static void check(enum xg_type type, enum kind kind, int64_t m, int64_t n)
{
    const int64_t ld = m + PAD, steps = m < n ? m : n;
    const size_t bytes = xg_type_bytes(type), size = (size_t)(ld * n) * bytes;
    const double eps = type == XG_TYPE_D ? DBL_EPSILON : (double)FLT_EPSILON;
    double *a = malloc((size_t)(m * n) * sizeof *a);
    void *lu = malloc(size);
    int64_t *pivots = malloc((size_t)steps * sizeof *pivots);
    int *rows = malloc((size_t)m * sizeof *rows), info = 0;
    if (!a || !lu || !pivots || !rows)
        exit(XT_FAIL);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < ld; i++) {
            xt_set(type, lu, i + j * ld, i < m ? element(type, kind, i, j, n) : 77);
            if (i < m)
                a[i + j * m] = xt_get(type, lu, i + j * ld);
        }
    const struct xg_lu_matrix matrix = {
        .type = type,
        .m = m,
        .n = n,
        .ld = ld,
        .a = device,
        .pivots = device + size + 256,
        .info = device + size + 256 + (size_t)steps * sizeof *pivots,
        .work = device + (size + (size_t)steps * sizeof *pivots) / 256 * 256 + 1024,
    };
    must(XG_DRV(&dev->drv, cuMemcpyHtoDAsync, device, lu, size, stream), "up");
    must(XG_DRV(&dev->drv, cuMemsetD32Async, matrix.info, 0, 1, stream), "info");
    must(xg_lu_run(dev, &lus[type], &matrix, stream), "LU");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, lu, device, size, stream), "down");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, pivots, matrix.pivots, (size_t)steps * sizeof *pivots,
                stream),
         "pivots");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, &info, matrix.info, sizeof info, stream), "info");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "LU");

    char text[96];
    snprintf(text, sizeof text, "%c, kind %d, %lldx%lld", "sdcz"[type], (int)kind, (long long)m,
             (long long)n);
    for (int64_t i = 0; i < m; i++)
        rows[i] = (int)i;
    for (int64_t k = 0; k < steps; k++) {
        const int64_t place = pivots[k] - 1;
        XT_CHECK(place >= k && place < m, "%s: pivot %lld", text, (long long)pivots[k]);
        if (place < k || place >= m)
            goto free_all;
        const int row = rows[k];
        rows[k] = rows[place];
        rows[place] = row;
    }
    int zero = 0;
    for (int64_t k = 0; k < steps && !zero; k++)
        zero = xt_get(type, lu, k + k * ld) == 0 ? (int)k + 1 : 0;
    XT_CHECK(info == zero && (kind != SINGULAR || n < 2 || m < 2 || info == 2),
             "%s: info %d, not %d", text, info, zero);
    double largest = 0, worst = 0;
    for (int64_t k = 0; k < steps; k++)
        for (int64_t i = k + 1; i < m; i++)
            largest = fmax(largest, fabs(xt_get(type, lu, i + k * ld)));
    /* A reciprocal and a product round; the smallest pivots have few bits. */
    XT_CHECK_LE(largest, 1 + 4 * eps, "%s: |l| %.17g", text, largest);
    if (kind == HADAMARD)
        check_ties(text, a, m, n, pivots);
    for (int64_t j = 0; j < n; j += 1 + n / 40)
        worst = fmax(worst, column_error(type, lu, a, rows, m, n, j));
    XT_CHECK_LE(worst, (double)(steps + 8) * eps, "%s: %.3g units", text, worst / eps);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = m; i < ld; i++)
            XT_CHECK(xt_get(type, lu, i + j * ld) == 77, "%s: below column %lld", text,
                     (long long)j);
free_all:
    free(a);
    free(lu);
    free(pivots);
    free(rows);
}

int main(int argc, char **argv)
{
    static const int shapes[][2] = {{1, 1},     {5, 3},     {3, 5},     {31, 33},   {33, 31},
                                    {100, 100}, {128, 128}, {129, 130}, {130, 500}, {500, 130},
                                    {257, 257}, {700, 700}, {512, 512}, {4096, 64}, {4097, 60},
                                    {8192, 40}, {60, 8192}};
    const bool quick = argc > 1 && !strcmp(argv[1], "--short");
    xg_cublas_load();
    if (xg_backend_open(xg_conf_get(), &dev) != XG_OK)
        return xt_skip("no device");
    if (gpu_is_fake(dev))
        return xt_skip("the fake driver computes with its own loop");
    must(xg_dev_enter(dev), "context");
    must(XG_DRV(&dev->drv, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING), "stream");
    must(XG_DRV(&dev->drv, cuMemAlloc, &device, (size_t)MOST * sizeof(double) * 2), "memory");
    for (int type = XG_TYPE_S; type <= XG_TYPE_D; type++) {
        xg_lu_open(dev, (enum xg_type)type, &lus[type]);
        if (lus[type].panel.rows_most == 0)
            return xt_skip("no Hopper");
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
            for (int kind = 0; kind < KINDS; kind++)
                if (!quick || (shapes[i][0] % 32 && shapes[i][1] > 32 && kind < TINY))
                    check((enum xg_type)type, (enum kind)kind, shapes[i][0], shapes[i][1]);
    }
    return xt_done();
}
