/* SPDX-License-Identifier: MIT */
/* Sums in long double, product by product. */
#include "product.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/xt.h"

bool product_allocate(struct product *p, size_t numbers)
{
    p->a = calloc(numbers, sizeof *p->a);
    p->b = calloc(numbers, sizeof *p->b);
    p->c = calloc(numbers, sizeof *p->c);
    p->sum = calloc(numbers, sizeof *p->sum);
    p->absolute = calloc(numbers, sizeof *p->absolute);
    return p->a && p->b && p->c && p->sum && p->absolute;
}

void product_free(struct product *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->sum);
    free(p->absolute);
}

static double draw(struct product *p)
{
    double x = (double)xt_random(&p->random_state);
    return p->type == XG_TYPE_D ? x + (double)xt_random(&p->random_state) * 0x1p-24 : x;
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

void product_draw(struct product *p, int64_t m, int64_t n, int64_t k)
{
    p->m = m;
    p->n = n;
    p->k = k;
    for (int64_t i = 0; i < m * k; i++)
        p->a[i] = draw(p);
    for (int64_t i = 0; i < k * n; i++)
        p->b[i] = draw(p);
    for (int64_t i = 0; i < m * n; i++)
        p->c[i] = draw(p);
    product_sum(p);
}
