/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for a BLAS: right answers, and a line on standard error for each call, so that a test
 * can tell which of several libraries a call reached. Compiled by the preload tests, with
 *   STUB          its name in these lines
 *   STUB_CBLAS    name of its C entry, if it has one
 *   STUB_FORTRAN  name of its Fortran entry, if it has one
 *   STUB_INT      its integers: int32_t or int64_t
 *   STUB_VIA_PLT  the C entry calls the Fortran one by its name, as reference BLAS does
 *   STUB_ISAMAX   has isamax_
 *   STUB_QUIET    prints nothing
 *   STUB_COUNT    name of the function that returns its number of threads, 4 or
 *                 the last argument of stub_set_threads
 *   STUB_PARALLEL name of the function that returns how it was built, STUB_BUILT;
 *                 with STUB_ASKED_MS it takes so long, and prints that it was asked
 */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

struct stub_product {
    int transa, transb;
    int64_t m, n, k, lda, ldb, ldc;
    float alpha, beta;
    const float *a, *b;
    float *c;
};

static void stub_report(const char *text, int64_t m, int64_t n, int64_t k)
{
#ifndef STUB_QUIET
    fprintf(stderr, "%s: %s %lld %lld %lld\n", STUB, text, (long long)m, (long long)n,
            (long long)k);
#else
    (void)text, (void)m, (void)n, (void)k;
#endif
}

/* Column-major. */
static void stub_product(const struct stub_product *p)
{
    for (int64_t j = 0; j < p->n; j++) {
        for (int64_t i = 0; i < p->m; i++) {
            double sum = 0;
            for (int64_t l = 0; l < p->k; l++)
                sum += (double)p->a[p->transa ? l + i * p->lda : i + l * p->lda] *
                       (double)p->b[p->transb ? j + l * p->ldb : l + j * p->ldb];
            float *c = &p->c[i + j * p->ldc];
            double old = p->beta == 0 ? 0 : (double)p->beta * (double)*c;
            *c = (float)(old + (double)p->alpha * sum);
        }
    }
}

#ifdef STUB_FORTRAN
void STUB_FORTRAN(const char *transa, const char *transb, const STUB_INT *m, const STUB_INT *n,
                  const STUB_INT *k, const float *alpha, const float *a, const STUB_INT *lda,
                  const float *b, const STUB_INT *ldb, const float *beta, float *c,
                  const STUB_INT *ldc)
{
    struct stub_product p = {*transa != 'N', *transb != 'N', *m,    *n, *k, *lda, *ldb,
                             *ldc,           *alpha,         *beta, a,  b,  c};
    stub_report("Fortran", *m, *n, *k);
    if (*m < 0)
        stub_report("illegal", 3, 0, 0);
    else
        stub_product(&p);
}
#endif

#ifdef STUB_CBLAS
void STUB_CBLAS(int order, int transa, int transb, STUB_INT m, STUB_INT n, STUB_INT k, float alpha,
                const float *a, STUB_INT lda, const float *b, STUB_INT ldb, float beta, float *c,
                STUB_INT ldc)
{
    stub_report("C", m, n, k);
    if (m < 0) {
        stub_report("illegal", 4, 0, 0);
        return;
    }
    struct stub_product p = {transa != 111, transb != 111, m,    n, k, lda, ldb,
                             ldc,           alpha,         beta, a, b, c};
    if (order == 101)
        p = (struct stub_product){transb != 111, transa != 111, n,    m, k, ldb, lda,
                                  ldc,           alpha,         beta, b, a, c};
#ifdef STUB_VIA_PLT
    STUB_INT pm = (STUB_INT)p.m, pn = (STUB_INT)p.n, plda = (STUB_INT)p.lda, pldb = (STUB_INT)p.ldb;
    STUB_FORTRAN(p.transa ? "T" : "N", p.transb ? "T" : "N", &pm, &pn, &k, &alpha, p.a, &plda, p.b,
                 &pldb, &beta, c, &ldc);
#else
    stub_product(&p);
#endif
}
#endif

#ifdef STUB_ISAMAX
STUB_INT isamax_(const STUB_INT *n, const float *x, const STUB_INT *stride)
{
    STUB_INT best = *n > 0;
    for (STUB_INT i = 1; i < *n; i++)
        if (x[i * *stride] > x[(best - 1) * *stride])
            best = i + 1;
    return best;
}
#endif

#ifdef STUB_COUNT
static int stub_threads = 4;

int STUB_COUNT(void)
{
    return stub_threads;
}

void stub_set_threads(int threads)
{
    stub_threads = threads;
}
#endif

#ifdef STUB_PARALLEL
int STUB_PARALLEL(void)
{
#ifdef STUB_ASKED_MS
    usleep(1000 * STUB_ASKED_MS);
    stub_report("asked", 0, 0, 0);
#endif
    return STUB_BUILT;
}
#endif
