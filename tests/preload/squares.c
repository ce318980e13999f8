/* SPDX-License-Identifier: MIT */
/*
 * A program that solves least squares by the machine's LAPACK, by its Fortran names. It passes
 * without the library too. It prints its failures and returns 1.
 * With SQUARES_STUB it is a LAPACK whose DGELSD fails to converge on square matrices, and
 * overwrites its operands first.
 */
#ifdef SQUARES_STUB
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>

typedef void gelsd(int32_t *m, int32_t *n, int32_t *k, double *a, int32_t *lda, double *b,
                   int32_t *ldb, double *s, double *rcond, int32_t *rank, double *work,
                   int32_t *lwork, int32_t *iwork, int32_t *info);
gelsd dgelsd_;

void dgelsd_(int32_t *m, int32_t *n, int32_t *k, double *a, int32_t *lda, double *b, int32_t *ldb,
             double *s, double *rcond, int32_t *rank, double *work, int32_t *lwork, int32_t *iwork,
             int32_t *info)
{
    gelsd *next = (gelsd *)dlsym(RTLD_NEXT, "dgelsd_");
    if (*m != *n || *lwork == -1) {
        next(m, n, k, a, lda, b, ldb, s, rcond, rank, work, lwork, iwork, info);
        return;
    }
    a[0] = b[0] = s[0] = NAN;
    *rank = -5;
    *info = 7;
}

#else

#include <math.h>
#include <stdlib.h>

#include "tests/support/dense.h"
#include "tests/support/xt.h"

#define DECLARE(name)                                                                              \
    void s##name(void *, ...);                                                                     \
    void d##name(void *, ...);                                                                     \
    void c##name(void *, ...);                                                                     \
    void z##name(void *, ...);
DECLARE(gels_)
DECLARE(gelsd_)
DECLARE(gelss_)

typedef void routine(void *, ...);
enum { GELS, GELSD, GELSS, NAMES };
static routine *const functions[NAMES][XG_TYPE_COUNT] = {
    [GELS] = {sgels_, dgels_, cgels_, zgels_},
    [GELSD] = {sgelsd_, dgelsd_, cgelsd_, zgelsd_},
    [GELSS] = {sgelss_, dgelss_, cgelss_, zgelss_}};
static const char *const names[NAMES] = {"gels", "gelsd", "gelss"};

/* Replaces LAPACK's, which would print and may stop the program. */
void xerbla_(void *name, void *info)
{
    (void)name, (void)info;
}

/* --- A call ---------------------------------------------------------------------------------- */

/* Fortran's integers have 32 bits here. */
struct call {
    int name;
    enum xg_type type;
    char trans; /* of GELS */
    int32_t m, n, k, lda, ldb, lwork, rank, info;
    double rcond; /* 0: 1000 eps */
    void *a, *b, *s;
};

static void call_with(struct call *c, void *work, void *rwork, void *iwork)
{
    if (c->name == GELS) {
        c->trans = c->trans ? c->trans : 'n';
        functions[GELS][c->type](&c->trans, &c->m, &c->n, &c->k, c->a, &c->lda, c->b, &c->ldb, work,
                                 &c->lwork, &c->info, (size_t)1);
        c->rank = c->n;
        return;
    }
    double rcond_double = c->rcond != 0 ? c->rcond : 1e3 * judge_eps(c->type);
    float rcond_single = (float)rcond_double;
    void *rcond = xg_type_is_double(c->type) ? (void *)&rcond_double : &rcond_single;
    void *end[4];
    int count = 0;
    if (xg_type_is_complex(c->type))
        end[count++] = rwork;
    if (c->name == GELSD)
        end[count++] = iwork;
    end[count++] = &c->info;
    while (count < 4)
        end[count++] = NULL;
    functions[c->name][c->type](&c->m, &c->n, &c->k, c->a, &c->lda, c->b, &c->ldb, c->s, rcond,
                                &c->rank, work, &c->lwork, end[0], end[1], end[2], end[3]);
}

static int32_t first_of(const struct call *c, const void *work)
{
    return xg_type_is_double(c->type) ? (int32_t) * (const double *)work
                                      : (int32_t) * (const float *)work;
}

/* A call with one right-hand side, in double precision. */
static struct call call_of(int name, int32_t m, int32_t n, double *a, double *b, double *s)
{
    return (struct call){.name = name,
                         .type = XG_TYPE_D,
                         .m = m,
                         .n = n,
                         .k = 1,
                         .lda = m,
                         .ldb = m,
                         .a = a,
                         .b = b,
                         .s = s};
}

/* Solves with the workspace that LAPACK asks for, which then holds its size, or with lwork. */
static void solve(struct call *c, int32_t lwork)
{
    double asked[2] = {0}, asked_real[2] = {0};
    int32_t asked_int = 0;
    if (!lwork) {
        c->lwork = -1;
        call_with(c, asked, asked_real, &asked_int);
        XT_CHECK(c->info == 0, "%s asked: info %d", names[c->name], c->info);
    }
    c->lwork = lwork ? lwork : first_of(c, asked);
    void *work = calloc((size_t)c->lwork + 1, xg_type_bytes(c->type));
    void *rwork = calloc((size_t)(200 * c->n + 100 * c->k * c->n + 2000), sizeof(double));
    int32_t *iwork = calloc((size_t)(100 * c->n + 100), sizeof *iwork);
    c->info = c->rank = -99;
    call_with(c, work, rwork, iwork);
    XT_CHECK(c->info || lwork || first_of(c, work) == first_of(c, asked),
             "%s: the workspace holds %d, not %d", names[c->name], first_of(c, work),
             first_of(c, asked));
    free(work);
    free(rwork);
    free(iwork);
}

/* --- Right ----------------------------------------------------------------------------------- */

/* Random numbers times scale; in a deficient matrix the last column equals the first one. */
static void fill(struct matrix *a, double scale, bool deficient)
{
    const int64_t last = a->view.columns - 1;
    matrix_fill(a);
    for (int64_t j = 0; j <= last; j++)
        for (int64_t i = 0; i < a->view.rows; i++)
            matrix_set(a, i, j,
                       matrix_get(a, i, deficient && j == last ? 0 : j) *
                           (deficient && j == last ? 1 : scale));
    memcpy(a->before, a->view.at, a->bytes);
}

/* Divides by scale, so that squares do not underflow; the solution stays the same. */
static void unscale(struct dense *x, double scale)
{
    for (int64_t i = 0; i < x->rows * x->columns; i++)
        x->at[i] /= scale;
}

struct given {
    int64_t m, n, k, pad;
    double scale;
    bool deficient;
};

static void test_one(int name, enum xg_type type, const struct given *g)
{
    dense_release();
    struct matrix a = matrix_create(type, g->m, g->n, g->pad);
    struct matrix b = matrix_create(type, g->m, g->k, g->pad);
    struct matrix s = matrix_create(xg_type_real(type), g->n, 1, 0);
    fill(&a, g->scale, g->deficient);
    fill(&b, g->scale, false);
    struct dense left = dense_of(&a), right = dense_of(&b);
    unscale(&left, g->scale);
    unscale(&right, g->scale);
    struct call call = {.name = name,
                        .type = type,
                        .m = (int32_t)g->m,
                        .n = (int32_t)g->n,
                        .k = (int32_t)g->k,
                        .lda = (int32_t)a.view.ld,
                        .ldb = (int32_t)b.view.ld,
                        .a = a.view.at,
                        .b = b.view.at,
                        .s = s.view.at};
    solve(&call, 0);
    XT_CHECK(call.info == 0, "%s: info %d", names[name], call.info);
    XT_CHECK(call.rank == g->n - g->deficient, "%s of %lld by %lld: rank %d", names[name],
             (long long)g->m, (long long)g->n, call.rank);
    struct dense solved = dense_of(&b);
    judge_squares(type, &left, &right, &solved, !g->deficient && g->scale == 1, names[name]);
    for (int64_t j = 0; j < g->k && g->deficient; j++)
        XT_CHECK_LE(cabs(solved.at[j] - solved.at[(g->n - 1) * g->k + j]),
                    1e3 * judge_eps(type) * (double)g->m * dense_norm(&solved),
                    "%s: not the shortest solution", names[name]);
    if (name != GELS && !g->deficient && g->scale == 1)
        judge_values(&left, name == GELSS ? &a : NULL, &s, names[name]);
    judge_rest(&a, XG_FULL, names[name]);
    judge_rest(&b, XG_FULL, names[name]);
}

static void test_right(int name, enum xg_type type)
{
    const double tiny = xg_type_is_double(type) ? 1e-300 : 1e-36;
    const struct given all[] = {{120, 60, 5, 0, 1, false},  {1500, 40, 1, 3, 1, false},
                                {99, 66, 40, 1, 1, false},  {99, 66, 70, 1, 1, false},
                                {150, 50, 3, 2, 1, true},   {63, 60, 2, 0, 1, false},
                                {90, 30, 2, 1, tiny, false}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (name != GELS || !all[i].deficient)
            test_one(name, type, &all[i]);
}

/* The bound is a singular value itself, or as small as rounding errors: LAPACK chooses the rank. */
static void test_bound(int name)
{
    enum { M = 90, N = 30 };
    double a[M * N], b[M], s[N];
    const double bounds[] = {0.1, 0, -1};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        double rcond = bounds[i] != 0 ? bounds[i] : s[N - 1] / s[0];
        struct call call = call_of(name, M, N, a, b, s);
        call.rcond = rcond;
        for (int j = 0; j < M * N; j++)
            a[j] = cos(3.0 * j * j);
        for (int j = 0; j < M; j++)
            b[j] = j + 1;
        solve(&call, 0);
        int32_t rank = 0;
        for (int j = 0; j < N; j++)
            rank += s[j] > fmax(rcond, judge_eps(XG_TYPE_D)) * s[0];
        XT_CHECK(call.info == 0 && abs(call.rank - rank) <= (bounds[i] == 0),
                 "%s with rcond %g: info %d, rank %d, not %d", names[name], rcond, call.info,
                 call.rank, rank);
    }
}

/* --- What LAPACK reports --------------------------------------------------------------------- */

/* info is the first illegal argument's number, negative; operands stay unchanged. */
static void test_illegal(int name)
{
    enum { M = 100, N = 30 };
    static double a[M * N], b[M], s[N];
    for (int i = 0; i < M * N; i++)
        a[i] = 1 + i % 7;
    static const struct {
        int32_t m, n, k, lda, ldb, lwork, info;
    } calls[] = {{-1, N, 1, M, M, 9999, -1},    {M, -1, 1, M, M, 9999, -2},
                 {M, N, -1, M, M, 9999, -3},    {M, N, 1, M - 1, M, 9999, -5},
                 {M, N, 1, M, M - 1, 9999, -7}, {M, N, 1, M, M, 10, -12}};
    const int shift = name == GELS;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct call call = {.name = name,
                            .type = XG_TYPE_D,
                            .m = calls[i].m,
                            .n = calls[i].n,
                            .k = calls[i].k,
                            .lda = calls[i].lda,
                            .ldb = calls[i].ldb,
                            .a = a,
                            .b = b,
                            .s = s};
        solve(&call, calls[i].lwork);
        int32_t number = calls[i].lwork == 10 && shift ? -10 : calls[i].info - shift;
        XT_CHECK(call.info == number, "%s: info %d, not %d", names[name], call.info, number);
        XT_CHECK(a[0] == 1 && a[1] == 2, "%s: A was written", names[name]);
    }
}

/* A = 0 has rank 0, and all of B becomes 0. */
static void test_zero(int name)
{
    enum { M = 100, N = 30 };
    static double a[M * N], b[M], s[N];
    struct call call = call_of(name, M, N, a, b, s);
    for (int i = 0; i < M; i++)
        b[i] = i;
    solve(&call, 0);
    XT_CHECK(call.info == 0 && (call.rank == 0 || name == GELS), "%s of 0: info %d, rank %d",
             names[name], call.info, call.rank);
    for (int i = 0; i < M; i++)
        XT_CHECK(b[i] == 0, "%s of 0: B has %g", names[name], b[i]);
}

/* Other forms of GELS, and a matrix of lower rank. */
static void test_forms(void)
{
    double a[8], b[4], s[1];
    struct call call = call_of(GELS, 4, 2, a, b, s);
    for (int consistent = 0; consistent < 2; consistent++) {
        const double rank_1[8] = {2};
        memcpy(a, rank_1, sizeof a);
        b[0] = 6, b[1] = consistent ? 0 : 5, b[2] = b[3] = 0;
        solve(&call, 0);
        XT_CHECK(call.info == 2, "dgels_ of rank 1 with B = 6, %d: info %d", consistent ? 0 : 5,
                 call.info);
    }
    const double whole[8] = {2, 0, 0, 0, 0, 5, 0, 0};
    memcpy(a, whole, sizeof a);
    b[0] = 6, b[1] = 5, b[2] = b[3] = 0;
    call.trans = 'T';
    solve(&call, 0);
    XT_CHECK(call.info == 0 && fabs(b[0] - 3) < 1e-12 && fabs(b[1] - 1) < 1e-12 && b[2] == 0,
             "dgels_ of the transpose: %g, %g", b[0], b[1]);
    memcpy(a, whole, sizeof a);
    call.trans = 'N';
    call.m = call.lda = 2, call.n = 4;
    solve(&call, 0);
    XT_CHECK(call.info == 0, "dgels_ of a wide matrix: info %d", call.info);
}

int main(void)
{
    for (int name = 0; name < NAMES; name++) {
        for (int type = XG_TYPE_S; type < XG_TYPE_COUNT; type++)
            test_right(name, (enum xg_type)type);
        if (name != GELS)
            test_bound(name);
        test_illegal(name);
        test_zero(name);
    }
    test_forms();
    return xt_done();
}

#endif
