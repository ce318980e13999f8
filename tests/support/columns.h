/* SPDX-License-Identifier: MIT */
/* Matrices by columns for tests of the fake cuSOLVER: complex numbers in double precision here, the
 * type under test on the device, where each column has padding behind it. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <complex.h>
#include <math.h>

#include "src/base/problem.h"
#include "src/device/drv.h"
#include "tests/support/xt.h"

enum { COLUMNS_PAD = 3, COLUMNS_MOST = 2048 };

struct columns {
    enum xg_type type;
    int m, n;
    double _Complex *x; /* m by n */
    int64_t ld;         /* of what is on the device */
    CUdeviceptr dev;    /* 0 until columns_up */
};

/* The device; and all that a case has allocated there and here, until columns_forget. */
static struct {
    const struct xg_drv *drv;
    CUstream stream;
    void *here[COLUMNS_MOST];
    CUdeviceptr there[COLUMNS_MOST];
    int here_count, there_count;
} columns_all;

#define COLUMNS_MUST(function, ...) XT_CHECK(columns_all.drv->function(__VA_ARGS__) == CUDA_SUCCESS)

#define AT(a, i, j) ((a)->x[(i) + (int64_t)(j) * (a)->m])

static inline double columns_eps(enum xg_type type)
{
    return xg_type_is_double(type) ? 0x1p-53 : 0x1p-24;
}

static inline void *columns_here(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory || columns_all.here_count == COLUMNS_MOST)
        exit(XT_HARD);
    return columns_all.here[columns_all.here_count++] = memory;
}

static inline CUdeviceptr columns_there(size_t bytes)
{
    CUdeviceptr memory = 0;
    COLUMNS_MUST(cuMemAlloc, &memory, bytes);
    if (columns_all.there_count == COLUMNS_MOST)
        exit(XT_HARD);
    return columns_all.there[columns_all.there_count++] = memory;
}

static inline void columns_forget(void)
{
    COLUMNS_MUST(cuStreamSynchronize, columns_all.stream);
    while (columns_all.here_count)
        free(columns_all.here[--columns_all.here_count]);
    while (columns_all.there_count)
        COLUMNS_MUST(cuMemFree, columns_all.there[--columns_all.there_count]);
}

static inline struct columns columns_zero(enum xg_type type, int m, int n)
{
    struct columns a = {.type = type, .m = m, .n = n, .ld = m + COLUMNS_PAD};
    a.x = columns_here((size_t)m * (size_t)n * sizeof(*a.x));
    return a;
}

static inline struct columns columns_copy(const struct columns *a)
{
    struct columns copy = columns_zero(a->type, a->m, a->n);
    memcpy(copy.x, a->x, (size_t)a->m * (size_t)a->n * sizeof(*a->x));
    return copy;
}

static inline struct columns columns_random(enum xg_type type, int m, int n, uint64_t *seed)
{
    struct columns a = columns_zero(type, m, n);
    for (int64_t i = 0; i < (int64_t)m * n; i++) {
        double re = (double)xt_random(seed), im = (double)xt_random(seed);
        a.x[i] = CMPLX(re, xg_type_is_complex(type) ? im : 0.0);
    }
    return a;
}

/* As the device has it, with its padding. */
static inline void *columns_packed(const struct columns *a)
{
    const int parts = xg_type_is_complex(a->type) ? 2 : 1;
    const size_t count = (size_t)(a->ld * a->n * parts);
    double *d = columns_here(count * sizeof(*d));
    float *f = (float *)d;
    for (int64_t i = 0; i < (int64_t)count; i++) {
        int64_t row = i / parts % a->ld, column = i / parts / a->ld;
        double _Complex x = row < a->m ? AT(a, row, column) : 77.0;
        double part = parts == 2 && i % 2 ? cimag(x) : creal(x);
        if (xg_type_is_double(a->type))
            d[i] = part;
        else
            f[i] = (float)part;
    }
    return d;
}

static inline void columns_up(struct columns *a)
{
    const size_t bytes = (size_t)(a->ld * a->n) * xg_type_bytes(a->type);
    if (!a->dev)
        a->dev = columns_there(bytes);
    COLUMNS_MUST(cuMemcpyHtoDAsync, a->dev, columns_packed(a), bytes, columns_all.stream);
}

/* Waits, fetches what the device has, and checks that the padding is as it was sent. */
static inline void columns_down(struct columns *a)
{
    const int parts = xg_type_is_complex(a->type) ? 2 : 1;
    double *d = columns_packed(a);
    const float *f = (const float *)d;
    COLUMNS_MUST(cuMemcpyDtoHAsync, d, a->dev, (size_t)(a->ld * a->n) * xg_type_bytes(a->type),
                 columns_all.stream);
    COLUMNS_MUST(cuStreamSynchronize, columns_all.stream);
    for (int64_t i = 0; i < a->ld * a->n; i++) {
        double part[2] = {0.0, 0.0};
        for (int p = 0; p < parts; p++)
            part[p] = xg_type_is_double(a->type) ? d[i * parts + p] : (double)f[i * parts + p];
        if (i % a->ld < a->m)
            AT(a, i % a->ld, i / a->ld) = CMPLX(part[0], part[1]);
        else
            XT_CHECK(part[0] == 77.0, "the padding behind column %d", (int)(i / a->ld));
    }
}

/* --- Arithmetic ------------------------------------------------------------------------------ */

static inline struct columns columns_adjoint(const struct columns *a)
{
    struct columns t = columns_zero(a->type, a->n, a->m);
    for (int j = 0; j < a->n; j++)
        for (int i = 0; i < a->m; i++)
            AT(&t, j, i) = conj(AT(a, i, j));
    return t;
}

static inline struct columns columns_product(const struct columns *a, const struct columns *b)
{
    struct columns c = columns_zero(a->type, a->m, b->n);
    for (int j = 0; j < b->n; j++)
        for (int k = 0; k < a->n; k++)
            for (int i = 0; i < a->m; i++)
                AT(&c, i, j) += AT(a, i, k) * AT(b, k, j);
    return c;
}

static inline double columns_norm(const struct columns *a)
{
    double sum = 0.0;
    for (int64_t i = 0; i < (int64_t)a->m * a->n; i++)
        sum += creal(a->x[i] * conj(a->x[i]));
    return sqrt(sum);
}

/* |A - B| in units of n eps `scale`; LAPACK's own testers call it good below 30. */
static inline double columns_ratio(const struct columns *a, const struct columns *b, double scale)
{
    struct columns difference = columns_copy(a);
    for (int64_t i = 0; i < (int64_t)a->m * a->n; i++)
        difference.x[i] -= b->x[i];
    return columns_norm(&difference) /
           ((double)(a->m > a->n ? a->m : a->n) * columns_eps(a->type) * scale);
}

/* |A B - C| in the same units. */
static inline double columns_residual(const struct columns *a, const struct columns *b,
                                      const struct columns *c, double scale)
{
    struct columns product = columns_product(a, b);
    return columns_ratio(&product, c, scale);
}

static inline struct columns columns_unit(enum xg_type type, int n)
{
    struct columns a = columns_zero(type, n, n);
    for (int i = 0; i < n; i++)
        AT(&a, i, i) = 1.0;
    return a;
}

/* How far the columns are from orthonormal, in the same units. */
static inline double columns_orthogonality(const struct columns *q)
{
    struct columns adjoint = columns_adjoint(q), unit = columns_unit(q->type, q->n);
    return columns_residual(&adjoint, q, &unit, 1.0);
}

/* Each column times its factor, of which the values are the first column. */
static inline struct columns columns_scaled(const struct columns *a, const struct columns *values)
{
    struct columns scaled = columns_copy(a);
    for (int j = 0; j < a->n; j++)
        for (int i = 0; i < a->m; i++)
            AT(&scaled, i, j) *= values->x[j];
    return scaled;
}

/* The first columns. */
static inline struct columns columns_first(const struct columns *a, int n)
{
    struct columns first = *a;
    first.n = n;
    first.dev = 0;
    return first;
}

/* Keeps one triangle; the other is zero, and with `unit` the diagonal one. */
static inline struct columns columns_triangle(const struct columns *a, bool lower, bool unit)
{
    const int least = a->m < a->n ? a->m : a->n;
    struct columns t = columns_zero(a->type, lower ? a->m : least, lower ? least : a->n);
    for (int j = 0; j < t.n; j++)
        for (int i = 0; i < t.m; i++)
            if (lower ? i >= j : i <= j)
                AT(&t, i, j) = i == j && unit ? 1.0 : AT(a, i, j);
    return t;
}

/* With 5 in the other triangle, which a routine is to leave alone. */
static inline struct columns columns_hidden(const struct columns *a, bool lower)
{
    struct columns hidden = columns_copy(a);
    for (int j = 0; j < a->n; j++)
        for (int i = 0; i < a->m; i++)
            if (lower ? i < j : i > j)
                AT(&hidden, i, j) = 5.0;
    return hidden;
}

static inline bool columns_is_hidden(const struct columns *a, bool lower)
{
    struct columns hidden = columns_hidden(a, lower);
    return columns_ratio(&hidden, a, 1.0) == 0.0;
}

#endif
