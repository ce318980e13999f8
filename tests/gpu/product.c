/* SPDX-License-Identifier: MIT */
/* Products for tests of kernels: numbers, sums in long double, storage with guards, the judge. */
#include "product.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>

#include "src/base/integers.h"
#include "tests/support/distribution.h"

enum { GUARD = 64 };

/* --- Numbers --------------------------------------------------------------------------------- */

double product_rounded(const struct product *p, double x)
{
    return p->type == XG_TYPE_D ? x : (double)(float)x;
}

void product_sum(struct product *p)
{
    for (int64_t i = 0; i < p->m * p->n; i++)
        p->sum[i] = p->absolute[i] = 0.0L;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t l = 0; l < p->k; l++)
            for (int64_t j = 0; j < p->n; j++) {
                long double term =
                    (long double)p->a[i * p->k + l] * (long double)p->b[l * p->n + j];
                p->sum[i * p->n + j] += term;
                p->absolute[i * p->n + j] += fabsl(term);
            }
}

static void draw(const struct product *p, const char *name, char which, int64_t outer,
                 int64_t length, double *to, int64_t outer_stride, int64_t stride)
{
    const struct distribution *numbers = distribution_named(name);
    struct distribution_place place = {.seed = p->seed, .which = which, .k = length};
    place.digits = p->type == XG_TYPE_D ? DBL_MANT_DIG : FLT_MANT_DIG;
    if (!numbers)
        exit(XT_HARD);
    for (place.outer = 0; place.outer < outer; place.outer++)
        for (place.l = 0; place.l < length; place.l++)
            to[place.outer * outer_stride + place.l * stride] =
                product_rounded(p, distribution_element(numbers, place));
}

void product_draw(struct product *p, const struct product_kind *kind, int64_t m, int64_t n,
                  int64_t k)
{
    p->m = m;
    p->n = n;
    p->k = k;
    p->seed++;
    draw(p, kind->a, 'a', m, k, p->a, k, 1);
    draw(p, kind->b, 'b', n, k, p->b, 1, n);
    draw(p, "U(-1,1)", 'c', m, n, p->c, n, 1);
    product_sum(p);
}

/* --- Storage --------------------------------------------------------------------------------- */

size_t product_bytes(const struct product *p)
{
    return xg_type_bytes(p->type);
}

double product_get(const struct product *p, const char *memory, int64_t at)
{
    return p->type == XG_TYPE_D ? ((const double *)(const void *)memory)[at]
                                : (double)((const float *)(const void *)memory)[at];
}

void product_set(const struct product *p, char *memory, int64_t at, double x)
{
    if (p->type == XG_TYPE_D)
        ((double *)(void *)memory)[at] = x;
    else
        ((float *)(void *)memory)[at] = (float)x;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        exit(XT_HARD);
    return memory;
}

void product_open(struct product *p, struct xg_dev *dev, size_t numbers, size_t stored)
{
    double **const values[] = {&p->a, &p->b, &p->c};
    struct product_matrix *const matrices[] = {&p->on_a, &p->on_b, &p->on_c};
    p->dev = dev;
    must(xg_dev_enter(dev), "context");
    must(XG_DRV(&dev->drv, cuStreamCreate, &p->stream, CU_STREAM_NON_BLOCKING), "stream");
    for (int i = 0; i < 3; i++) {
        *values[i] = allocate(numbers, sizeof(double));
        matrices[i]->host = allocate(stored, sizeof(double));
        must(xg_mem_dev_reserve(dev, &matrices[i]->dev, stored * sizeof(double)), "device memory");
    }
    p->sum = allocate(numbers, sizeof *p->sum);
    p->absolute = allocate(numbers, sizeof *p->absolute);
    p->result = allocate(stored, sizeof(double));
    p->bits = allocate(numbers, sizeof(double));
}

void product_close(struct product *p)
{
    struct product_matrix *const matrices[] = {&p->on_a, &p->on_b, &p->on_c};
    for (int i = 0; i < 3; i++) {
        free(matrices[i]->host);
        xg_mem_dev_release(p->dev, &matrices[i]->dev);
    }
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->sum);
    free(p->absolute);
    free(p->result);
    free(p->bits);
    must(XG_DRV(&p->dev->drv, cuStreamDestroy, p->stream), "stream");
    xg_dev_leave(p->dev);
}

/* Lays out a matrix (rows,cols) of these values, which are (cols,rows) when trans; NULL: poison. */
static void fill(const struct product *p, struct product_matrix *matrix, const double *values,
                 int64_t rows, int64_t cols, bool trans, int pad, bool aligned, bool zeros)
{
    const uint32_t poison = PRODUCT_POISON;
    int64_t padded = xg_round_up(cols, 4);
    matrix->ld = aligned ? padded + xg_round_up(pad, 4) : cols + pad;
    matrix->first = GUARD + (aligned ? 0 : pad % 4);
    matrix->used = matrix->first + rows * matrix->ld + GUARD;
    assert((size_t)matrix->used * product_bytes(p) <= matrix->dev.bytes);
    for (size_t at = 0; at < (size_t)matrix->used * product_bytes(p); at += sizeof poison)
        memcpy(matrix->host + at, &poison, sizeof poison);
    for (int64_t i = 0; i < rows; i++) {
        int64_t row = matrix->first + i * matrix->ld;
        for (int64_t j = 0; values && j < cols; j++)
            product_set(p, matrix->host, row + j, values[trans ? j * rows + i : i * cols + j]);
        for (int64_t j = cols; zeros && j < padded; j++)
            product_set(p, matrix->host, row + j, 0.0);
    }
}

void product_store_factors(struct product *p, bool transa, bool transb, int pad_a, int pad_b,
                           bool aligned)
{
    fill(p, &p->on_a, p->a, transa ? p->k : p->m, transa ? p->m : p->k, transa, pad_a, aligned,
         aligned);
    fill(p, &p->on_b, p->b, transb ? p->n : p->k, transb ? p->k : p->n, transb, pad_b, aligned,
         aligned);
    product_up(p, &p->on_a);
    product_up(p, &p->on_b);
}

void product_store_c(struct product *p, double beta, int pad, bool aligned)
{
    fill(p, &p->on_c, beta == 0 ? NULL : p->c, p->m, p->n, false, pad, aligned, false);
}

void product_up(struct product *p, const struct product_matrix *matrix)
{
    must(XG_DRV(&p->dev->drv, cuMemcpyHtoDAsync, matrix->dev.ptr, matrix->host,
                (size_t)matrix->used * product_bytes(p), p->stream),
         "copy to the device");
    must(XG_DRV(&p->dev->drv, cuStreamSynchronize, p->stream), "copy to the device");
}

void product_down(struct product *p)
{
    must(XG_DRV(&p->dev->drv, cuMemcpyDtoHAsync, p->result, p->on_c.dev.ptr,
                (size_t)p->on_c.used * product_bytes(p), p->stream),
         "copy from the device");
    must(XG_DRV(&p->dev->drv, cuStreamSynchronize, p->stream), "kernel or copy from the device");
}

CUdeviceptr product_address(const struct product *p, const struct product_matrix *matrix)
{
    return matrix->dev.ptr + (CUdeviceptr)matrix->first * product_bytes(p);
}

struct xg_gemm_args product_args(const struct product *p, bool transa, bool transb, double alpha,
                                 double beta)
{
    return (struct xg_gemm_args){.type = p->type,
                                 .transa = transa ? XG_TRANS : XG_NO_TRANS,
                                 .transb = transb ? XG_TRANS : XG_NO_TRANS,
                                 .m = p->m,
                                 .n = p->n,
                                 .k = p->k,
                                 .alpha = alpha,
                                 .beta = beta,
                                 .a = product_address(p, &p->on_a),
                                 .lda = p->on_a.ld,
                                 .b = product_address(p, &p->on_b),
                                 .ldb = p->on_b.ld,
                                 .c = product_address(p, &p->on_c),
                                 .ldc = p->on_c.ld,
                                 .wanted = p->wanted};
}

struct xg_gemm_args product_store_form(struct product *p, int turn, int trans, double alpha,
                                       double beta)
{
    static const int pads[] = {0, 1, 4, 7};
    const bool transa = trans >> 1, transb = trans & 1;
    product_store_factors(p, transa, transb, pads[(turn + trans) % 4], pads[(turn / 4 + trans) % 4],
                          false);
    product_store_c(p, beta, pads[(turn + 3 * trans) % 4], false);
    product_up(p, &p->on_c);
    return product_args(p, transa, transb, alpha, beta);
}

/* --- The judge ------------------------------------------------------------------------------- */

/* |value - exact| / bound. If exact is not finite: 0 if value equals it, else NaN. */
static double error_of(double value, long double exact, long double bound)
{
    if (!isfinite((double)exact))
        return (isnan(exact) ? isnan(value) : value == (double)exact) ? 0.0 : (double)NAN;
    long double off = fabsl((long double)value - exact);
    return off == 0 ? 0.0 : (double)(off / bound);
}

double product_accuracy(const struct product *p, double alpha, double beta, long *strays)
{
    const struct product_matrix *matrix = &p->on_c;
    double worst = 0.0;
    *strays = 0;
    for (int64_t at = 0; at < matrix->used; at++) {
        int64_t i = (at - matrix->first) / matrix->ld, j = (at - matrix->first) % matrix->ld;
        size_t byte = (size_t)at * product_bytes(p);
        bool changed = memcmp(p->result + byte, matrix->host + byte, product_bytes(p)) != 0;
        if (at < matrix->first || i >= p->m || j >= p->n) {
            *strays += changed;
            continue;
        }
        if (!xg_triangle_wants(&p->wanted, i, j) && (!changed || p->rest == REST_ANY))
            continue;
        if (!xg_triangle_wants(&p->wanted, i, j) && p->rest == REST_KEPT)
            worst = NAN;
        int64_t e = i * p->n + j;
        long double c0 = beta == 0.0 ? 0.0L : (long double)beta * (long double)p->c[e];
        long double exact = (long double)alpha * p->sum[e] + c0;
        long double scale = fabsl((long double)alpha) * p->absolute[e] + fabsl(c0);
        double error = error_of(product_get(p, p->result, at), exact,
                                (long double)p->bound * scale + (long double)p->least);
        worst = isnan(error) || error > worst ? error : worst;
    }
    return worst;
}

double product_check(const struct product *p, double alpha, double beta, const char *format, ...)
{
    char text[128];
    long strays;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const double worst = product_accuracy(p, alpha, beta, &strays);
    XT_CHECK_LE(worst, 1.0, "%s, %ld,%ld,%ld: error %.3g of the bound", text, (long)p->m,
                (long)p->n, (long)p->k, worst);
    XT_CHECK(strays == 0, "%s, %ld,%ld,%ld: %ld numbers changed outside C", text, (long)p->m,
             (long)p->n, (long)p->k, strays);
    return worst;
}

struct xg_triangle product_draw_wanted(const struct product *p, int64_t bm, int64_t bn, int turn)
{
    const int64_t i = turn / 6 % xg_ceil_div(p->m, bm) * bm;
    const int64_t j = turn / 2 % xg_ceil_div(p->n, bn) * bn;
    return gpu_triangle(turn / 3 % 3, i, j, bm, bn, turn / 9 % 3 - 1);
}

long product_other_bits(struct product *p, bool keep)
{
    const size_t row_bytes = (size_t)p->n * product_bytes(p);
    long other = 0;
    for (int64_t i = 0; i < p->m; i++) {
        char *kept = p->bits + (size_t)i * row_bytes;
        const char *row = p->result + (size_t)(p->on_c.first + i * p->on_c.ld) * product_bytes(p);
        other += memcmp(kept, row, row_bytes) != 0;
        if (keep)
            memcpy(kept, row, row_bytes);
    }
    return other;
}
