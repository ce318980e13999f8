/* SPDX-License-Identifier: MIT */
/*
 * GEMV of every type in every form: both interfaces and orders, transposes, increments of either
 * sign, empty and small sizes. All that a call must not read is NaN, and all that it must not write
 * stays. Each call is printed that is wrong.
 * Compiled by gemv.sh, with CALL_INT, and CBLAS_NAME(name) and FORTRAN_NAME(name) where names are
 * spelled otherwise. Contract 2.3, 3.1, 3.2 (doc/contract.md).
 */
#include "numbers.h"
#include "tests/support/xt.h"

typedef CALL_INT integer;

#ifndef CBLAS_NAME
#define CBLAS_NAME(name) cblas_##name
#define FORTRAN_NAME(name) name##_
#endif

#define DECLARE(name, scalar)                                                                      \
    void CBLAS_NAME(name)(int order, int trans, integer m, integer n, scalar alpha, const void *a, \
                          integer lda, const void *x, integer incx, scalar beta, void *y,          \
                          integer incy);                                                           \
    void FORTRAN_NAME(name)(const char *trans, const integer *m, const integer *n,                 \
                            const void *alpha, const void *a, const integer *lda, const void *x,   \
                            const integer *incx, const void *beta, void *y, const integer *incy,   \
                            size_t trans_length);
DECLARE(sgemv, float)
DECLARE(dgemv, double)
DECLARE(cgemv, const void *)
DECLARE(zgemv, const void *)

struct call {
    int type, order, trans; /* order 0: Fortran */
    integer m, n, lda, incx, incy;
    double complex alpha, beta;
};

enum { MOST = 1 << 16 };
static char a[MOST * 16], x[MOST * 16], y[MOST * 16], old[MOST * 16];

#define CALL(name, alpha, beta)                                                                    \
    do {                                                                                           \
        if (p->order)                                                                              \
            CBLAS_NAME(name)                                                                       \
        (p->order, p->trans, p->m, p->n, alpha, a, p->lda, x, p->incx, beta, y, p->incy);          \
        else FORTRAN_NAME(name)(&"NtC"[p->trans - 111], &p -> m, &p -> n, &by, a, &p -> lda, x,    \
                                &p -> incx, &add, y, &p -> incy, 1);                               \
    } while (0)

static void call(const struct call *p)
{
    const union number by = number_of(p->type, p->alpha), add = number_of(p->type, p->beta);
    if (p->type == TYPE_S)
        CALL(sgemv, by.s, add.s);
    else if (p->type == TYPE_D)
        CALL(dgemv, by.d, add.d);
    else if (p->type == TYPE_C)
        CALL(cgemv, &by, &add);
    else
        CALL(zgemv, &by, &add);
}

/* Where element i of a vector lies. */
static int place(integer count, integer step, integer i)
{
    return (int)(step < 0 ? (i - count + 1) * step : i * step);
}

static double complex draw(uint64_t *seed)
{
    const double re = (double)xt_random(seed);
    return CMPLX(re, (double)xt_random(seed));
}

static void fill(const struct call *p, integer rows, integer columns)
{
    uint64_t seed = 1;
    const integer lines = p->order == 101 ? p->m : p->n, length = p->order == 101 ? p->n : p->m;
    for (int i = 0; i < (int)(lines * p->lda); i++)
        set(p->type, a, i, p->alpha != 0 && i % p->lda < length ? draw(&seed) : CMPLX(NAN, NAN));
    for (int i = 0; i < 4 * columns; i++)
        set(p->type, x, i, CMPLX(NAN, NAN));
    for (int i = 0; i < 4 * rows; i++)
        set(p->type, old, i, CMPLX(NAN, NAN));
    for (integer i = 0; i < columns && p->alpha != 0; i++)
        set(p->type, x, place(columns, p->incx, i), draw(&seed));
    for (integer i = 0; i < rows && p->beta != 0; i++)
        set(p->type, old, place(rows, p->incy, i), draw(&seed));
    memcpy(y, old, (size_t)(4 * rows + 4) * type_bytes[p->type]);
}

/* Whether the element of y is right; without elements of x, BLAS leaves y as it is. */
static int is_right(const struct call *p, integer rows, integer columns, integer i)
{
    const int at = place(rows, p->incy, i);
    const double unit = p->type == TYPE_S || p->type == TYPE_C ? 0x1p-22 : 0x1p-51;
    double complex sum = 0;
    double size = 0;
    for (integer l = 0; l < columns && p->alpha != 0; l++) {
        const integer row = p->trans == 111 ? i : l, column = p->trans == 111 ? l : i;
        double complex e =
            get(p->type, a, (int)(p->order == 101 ? row * p->lda + column : column * p->lda + row));
        const double complex term = p->alpha * (p->trans == 113 ? conj(e) : e) *
                                    get(p->type, x, place(columns, p->incx, l));
        sum += term;
        size += magnitude(term);
    }
    if (p->beta != 0) {
        sum += p->beta * get(p->type, old, at);
        size += magnitude(p->beta * get(p->type, old, at));
    }
    const size_t bytes = type_bytes[p->type];
    if (!columns)
        return !memcmp(y + (size_t)at * bytes, old + (size_t)at * bytes, bytes);
    return cabs(get(p->type, y, at) - sum) <= (double)(columns + 4) * 2 * unit * size;
}

static void check(const struct call *p)
{
    const integer rows = p->trans == 111 ? p->m : p->n, columns = p->trans == 111 ? p->n : p->m;
    const size_t bytes = type_bytes[p->type];
    int right = 1;
    fill(p, rows, columns);
    call(p);
    for (integer i = 0; i < rows; i++) {
        const size_t at = (size_t)place(rows, p->incy, i) * bytes;
        right &= is_right(p, rows, columns, i);
        memcpy(y + at, old + at, bytes);
    }
    XT_CHECK(right && !memcmp(y, old, (size_t)(4 * rows + 4) * bytes),
             "%cgemv order %d trans %d size %d %d ld %d steps %d %d", "sdcz"[p->type], p -> order,
             p -> trans, (int)p -> m, (int)p -> n, (int)p -> lda, (int)p -> incx, (int)p -> incy);
}

/* gemv [STEP]: of all calls each, or each fifth or so: 5 divides none of the counts of the loop. */
int main(int argc, char **argv)
{
    const int step = argc > 1 ? atoi(argv[1]) : 1;
    static const integer sizes[][2] = {{7, 5}, {1, 6}, {5, 1}, {1, 1}, {0, 4}, {4, 0}, {70, 90}};
    static const integer steps[] = {1, 3, -1, -2};
    static const double complex scalars[][2] = {
        {1, 0}, {CMPLX(-2, 0.5), 1}, {0, 2}, {0.5, CMPLX(-1, 2)}, {0, 0}, {0, 1}};
    static const int orders[] = {0, 101, 102};
    for (int i = 0; i < TYPES * 3 * 3 * 7 * 6 * 4 * 4; i += step) {
        const integer *size = sizes[i / 36 % 7];
        const double complex *scalar = scalars[i / 252 % 6];
        const int is_complex = i % TYPES >= TYPE_C;
        struct call p = {.type = i % TYPES,
                         .order = orders[i / 4 % 3],
                         .trans = 111 + i / 12 % 3,
                         .m = size[0],
                         .n = size[1],
                         .incx = steps[i / 1512 % 4],
                         .incy = steps[i / 6048],
                         .alpha = is_complex ? scalar[0] : creal(scalar[0]),
                         .beta = is_complex ? scalar[1] : creal(scalar[1])};
        p.lda = (p.order == 101 ? p.n : p.m) + i / 36 % 3;
        p.lda += !p.lda;
        /* The reference's cblas_cgemv 3.11 does not end for an empty x. */
        if (p.m > 0 || p.order != 101 || p.trans != 113)
            check(&p);
    }
    return xt_done();
}
