/* SPDX-License-Identifier: MIT */
#include "reference/cpu.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* A block of op(B), (BLOCK_K, BLOCK_N) floats, stays in the L2 cache over all rows of A. */
enum { BLOCK_K = 128, BLOCK_N = 512 };

/* Real products skip the imaginary parts: zero times infinity would be NaN. */
static void add_product(struct xg_cpu_exact *sum, long double xr, long double xi, long double yr,
                        long double yi, bool is_complex)
{
    sum->re += xr * yr;
    sum->magnitude += (fabsl(xr) + fabsl(xi)) * (fabsl(yr) + fabsl(yi));
    if (!is_complex)
        return;
    sum->re -= xi * yi;
    sum->im += xr * yi + xi * yr;
}

static void scale_exact(const struct xg_problem *p, struct xg_cpu_exact *sum)
{
    struct xg_cpu_exact scaled = {0, 0, 0};
    if (xg_problem_alpha_zero(p))
        return;
    add_product(&scaled, p->alpha, p->alpha_im, sum->re, sum->im, xg_type_is_complex(p->type));
    scaled.magnitude =
        sum->magnitude * (fabsl((long double)p->alpha) + fabsl((long double)p->alpha_im));
    *sum = scaled;
}

#define NUMBER float
#define NAME(x) x##_s
#define SCALAR(re, im) (float)(re)
#define CONJ(x) (x)
#define RE(x) (x)
#define IM(x) 0
#include "reference/cpu_loops.h"

#define NUMBER double
#define NAME(x) x##_d
#define SCALAR(re, im) (re)
#define CONJ(x) (x)
#define RE(x) (x)
#define IM(x) 0
#include "reference/cpu_loops.h"

#define NUMBER float _Complex
#define NAME(x) x##_c
#define SCALAR(re, im) CMPLXF((float)(re), (float)(im))
#define CONJ(x) conjf(x)
#define RE(x) crealf(x)
#define IM(x) cimagf(x)
#include "reference/cpu_loops.h"

#define NUMBER double _Complex
#define NAME(x) x##_z
#define SCALAR(re, im) CMPLX(re, im)
#define CONJ(x) conj(x)
#define RE(x) creal(x)
#define IM(x) cimag(x)
#include "reference/cpu_loops.h"

static const struct {
    void (*compute)(const struct xg_problem *p);
    void (*exact)(const struct xg_problem *p, int64_t i, int64_t j, const void *c0,
                  struct xg_cpu_exact *sum);
} loops[XG_TYPE_COUNT] = {
    [XG_TYPE_S] = {compute_s, exact_s},
    [XG_TYPE_D] = {compute_d, exact_d},
    [XG_TYPE_C] = {compute_c, exact_c},
    [XG_TYPE_Z] = {compute_z, exact_z},
};

void xg_cpu_compute(const struct xg_problem *p)
{
    for (int64_t i = 0; i < xg_problem_instances(p); i++) {
        const struct xg_problem instance = xg_problem_instance(p, i);
        loops[p->type].compute(&instance);
    }
}

struct xg_cpu_exact xg_cpu_exact(const struct xg_problem *p, int64_t i, int64_t j, const void *c0)
{
    const int64_t each = xg_problem_instance_rows(p);
    const struct xg_problem instance = xg_problem_instance(p, i / each);
    struct xg_cpu_exact sum = {0, 0, 0};
    loops[p->type].exact(&instance, i % each, j, c0, &sum);
    return sum;
}
