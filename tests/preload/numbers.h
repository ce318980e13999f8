/* SPDX-License-Identifier: MIT */
/* Elements of matrices of any BLAS type, for programs that call every one of them. */
#ifndef PRELOAD_NUMBERS_H
#define PRELOAD_NUMBERS_H

#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { TYPE_S, TYPE_D, TYPE_C, TYPE_Z, TYPES };

static const size_t type_bytes[TYPES] = {4, 8, 8, 16};

union number {
    float s, c[2];
    double d, z[2];
};

static union number number_of(int type, double complex value)
{
    union number out;
    memset(&out, 0, sizeof out);
    if (type == TYPE_D || type == TYPE_Z)
        out.z[0] = creal(value), out.z[1] = cimag(value);
    else
        out.c[0] = (float)creal(value), out.c[1] = (float)cimag(value);
    return out;
}

static void set(int type, void *matrix, int at, double complex value)
{
    union number number = number_of(type, value);
    memcpy((char *)matrix + (size_t)at * type_bytes[type], &number, type_bytes[type]);
}

static double complex get(int type, const void *matrix, int at)
{
    union number number;
    memset(&number, 0, sizeof number);
    memcpy(&number, (const char *)matrix + (size_t)at * type_bytes[type], type_bytes[type]);
    switch (type) {
    case TYPE_S:
        return (double)number.s;
    case TYPE_D:
        return number.d;
    case TYPE_C:
        return CMPLX((double)number.c[0], (double)number.c[1]);
    default:
        return CMPLX(number.z[0], number.z[1]);
    }
}

/* cabs without its checks for overflow, which would take a third of a test's time. */
static inline double magnitude(double complex x)
{
    return sqrt(creal(x) * creal(x) + cimag(x) * cimag(x));
}

#endif
