/* SPDX-License-Identifier: MIT */
/*
 * Calls GEMM_BATCH and GEMM_BATCH_STRIDED of every type with arguments of every kind, and prints
 * what came of each, so that a run with the library preloaded can be compared with one without.
 * Compiled by the preload tests, with CALL_INT.
 *   batch legal      checks every element by the definition, and prints a hash of all
 *   batch illegal    what the BLAS says, and whether C was touched
 *   batch mixed      one call of a small group, a large one, and two small ones
 */
#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "numbers.h"
#include "tests/support/xt.h"

#define STRIDED_OF(t, scalar)                                                                      \
    void cblas_##t##gemm_batch_strided(                                                            \
        int order, int transa, int transb, CALL_INT m, CALL_INT n, CALL_INT k, scalar alpha,       \
        const void *a, CALL_INT lda, CALL_INT stridea, const void *b, CALL_INT ldb,                \
        CALL_INT strideb, scalar beta, void *c, CALL_INT ldc, CALL_INT stridec, CALL_INT count);   \
    void t##gemm_batch_strided_(                                                                   \
        const char *transa, const char *transb, const CALL_INT *m, const CALL_INT *n,              \
        const CALL_INT *k, const void *alpha, const void *a, const CALL_INT *lda,                  \
        const CALL_INT *stridea, const void *b, const CALL_INT *ldb, const CALL_INT *strideb,      \
        const void *beta, void *c, const CALL_INT *ldc, const CALL_INT *stridec,                   \
        const CALL_INT *count, size_t transa_length, size_t transb_length);
#define BATCH_OF(t)                                                                                \
    void cblas_##t##gemm_batch(int order, const int *transa, const int *transb, const CALL_INT *m, \
                               const CALL_INT *n, const CALL_INT *k, const void *alpha,            \
                               const void *const *a, const CALL_INT *lda, const void *const *b,    \
                               const CALL_INT *ldb, const void *beta, void *const *c,              \
                               const CALL_INT *ldc, CALL_INT groups, const CALL_INT *size);        \
    void t##gemm_batch_(const char *transa, const char *transb, const CALL_INT *m,                 \
                        const CALL_INT *n, const CALL_INT *k, const void *alpha,                   \
                        const void *const *a, const CALL_INT *lda, const void *const *b,           \
                        const CALL_INT *ldb, const void *beta, void *const *c,                     \
                        const CALL_INT *ldc, const CALL_INT *groups, const CALL_INT *size,         \
                        size_t transa_length, size_t transb_length);
STRIDED_OF(s, float)
STRIDED_OF(d, double)
STRIDED_OF(c, const void *)
STRIDED_OF(z, const void *)
BATCH_OF(s)
BATCH_OF(d)
BATCH_OF(c)
BATCH_OF(z)

enum { GROUPS = 4, PRODUCTS = 16, ELEMENTS = 8192 };
/* Elements of the type that is tested, from the beginning. */
static double a_bytes[2 * ELEMENTS], b_bytes[2 * ELEMENTS], first_bytes[2 * ELEMENTS],
    old_bytes[2 * ELEMENTS], c_bytes[2 * ELEMENTS];

struct group {
    int transa, transb; /* as the C interface counts */
    int m, n, k, lda, ldb, ldc, size;
    double complex alpha, beta;
};

struct call {
    int type;
    int order;   /* 101, 102; 0: Fortran, column-major */
    int strided; /* the first group, at distances */
    int same_a;  /* one A for all products of a group */
    int groups;
    struct group group[GROUPS];
    int a[PRODUCTS], b[PRODUCTS], c[PRODUCTS]; /* where matrices begin, in elements */
    int stridea, strideb, stridec;
};

/* Matrices one behind the other with room between, of a batch by address in another order, C's too
 * where A is not shared. */
static void place(struct call *p)
{
    int at_a = 3, at_b = 1, at_c = 2, product = 0;
    for (int g = 0; g < p->groups; g++) {
        const struct group *s = &p->group[g];
        int first = product;
        for (int i = 0; i < s->size; i++, product++) {
            int to = p->strided ? product : first + s->size - 1 - i;
            int rows_a = (p->order == 101) == (s->transa == 111) ? s->m : s->k;
            int rows_b = (p->order == 101) == (s->transb == 111) ? s->k : s->n;
            p->a[to] = at_a;
            p->b[to] = at_b;
            p->c[p->same_a ? product : to] = at_c;
            p->stridea = p->same_a ? 0 : rows_a * s->lda + 3;
            p->strideb = rows_b * s->ldb + 2;
            p->stridec = (p->order == 101 ? s->m : s->n) * s->ldc + 5;
            at_a += p->stridea + (p->strided ? 0 : i % 3);
            at_b += p->strideb + (p->strided ? 0 : i % 2);
            at_c += p->stridec + (p->strided ? 0 : i % 2);
        }
        at_a += s->size && p->same_a ? (s->m + s->k) * s->lda : 0;
    }
    if (at_a >= ELEMENTS || at_b >= ELEMENTS || at_c >= ELEMENTS || product > PRODUCTS)
        exit(XT_HARD);
}

/* The arguments as arrays, of which a strided call takes the first of each. */
struct arrays {
    int transa[GROUPS], transb[GROUPS];
    char lettera[GROUPS], letterb[GROUPS];
    CALL_INT m[GROUPS], n[GROUPS], k[GROUPS], lda[GROUPS], ldb[GROUPS], ldc[GROUPS], size[GROUPS];
    double alpha[2 * GROUPS], beta[2 * GROUPS];
    const void *a[PRODUCTS], *b[PRODUCTS];
    void *c[PRODUCTS];
    CALL_INT stridea, strideb, stridec, groups;
    const void *const *as, *const *bs; /* NULL where all matrices are empty */
    void *const *cs;
};

static char letter_of(int trans)
{
    return trans >= 111 && trans <= 114 ? "NtCr"[trans - 111] : 'X';
}

static void fill_arrays(const struct call *p, struct arrays *v)
{
    size_t bytes = type_bytes[p->type];
    for (int g = 0; g < GROUPS; g++) {
        const struct group *s = &p->group[g];
        v->transa[g] = s->transa, v->lettera[g] = letter_of(s->transa);
        v->transb[g] = s->transb, v->letterb[g] = letter_of(s->transb);
        v->m[g] = s->m, v->n[g] = s->n, v->k[g] = s->k;
        v->lda[g] = s->lda, v->ldb[g] = s->ldb, v->ldc[g] = s->ldc, v->size[g] = s->size;
        set(p->type, v->alpha, g, s->alpha);
        set(p->type, v->beta, g, s->beta);
    }
    for (int i = 0; i < PRODUCTS; i++) {
        v->a[i] = (char *)a_bytes + (size_t)p->a[i] * bytes;
        v->b[i] = (char *)b_bytes + (size_t)p->b[i] * bytes;
        v->c[i] = (char *)c_bytes + (size_t)p->c[i] * bytes;
    }
    int some = 0;
    for (int g = 0; g < p->groups && g < GROUPS; g++)
        some |= p->group[g].m && p->group[g].n && p->group[g].size;
    v->as = some ? v->a : NULL, v->bs = some ? v->b : NULL, v->cs = some ? v->c : NULL;
    v->stridea = p->stridea, v->strideb = p->strideb, v->stridec = p->stridec;
    v->groups = p->groups;
}

#define CALL_STRIDED(t, by, add)                                                                   \
    if (p->order)                                                                                  \
        cblas_##t##gemm_batch_strided(p->order, *v.transa, *v.transb, *v.m, *v.n, *v.k, by, *v.a,  \
                                      *v.lda, v.stridea, *v.b, *v.ldb, v.strideb, add, *v.c,       \
                                      *v.ldc, v.stridec, *v.size);                                 \
    else                                                                                           \
        t##gemm_batch_strided_(v.lettera, v.letterb, v.m, v.n, v.k, v.alpha, *v.a, v.lda,          \
                               &v.stridea, *v.b, v.ldb, &v.strideb, v.beta, *v.c, v.ldc,           \
                               &v.stridec, v.size, 1, 1);

/* A call without groups has no arrays either, and one of empty matrices need not have any. */
#define CALL_BATCH(t)                                                                              \
    if (p->groups == 0 && p->order)                                                                \
        cblas_##t##gemm_batch(p->order, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,      \
                              NULL, NULL, NULL, NULL, 0, NULL);                                    \
    else if (p->groups == 0)                                                                       \
        t##gemm_batch_(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,     \
                       NULL, &v.groups, NULL, 1, 1);                                               \
    else if (p->order)                                                                             \
        cblas_##t##gemm_batch(p->order, v.transa, v.transb, v.m, v.n, v.k, v.alpha, v.as, v.lda,   \
                              v.bs, v.ldb, v.beta, v.cs, v.ldc, v.groups, v.size);                 \
    else                                                                                           \
        t##gemm_batch_(v.lettera, v.letterb, v.m, v.n, v.k, v.alpha, v.as, v.lda, v.bs, v.ldb,     \
                       v.beta, v.cs, v.ldc, &v.groups, v.size, 1, 1);

static void call(const struct call *p)
{
    struct arrays v;
    fill_arrays(p, &v);
    const union number alpha = number_of(p->type, p->group[0].alpha);
    const union number beta = number_of(p->type, p->group[0].beta);
    switch (p->type + (p->strided ? TYPES : 0)) {
    case TYPE_S:
        CALL_BATCH(s)
        break;
    case TYPE_D:
        CALL_BATCH(d)
        break;
    case TYPE_C:
        CALL_BATCH(c)
        break;
    case TYPE_Z:
        CALL_BATCH(z)
        break;
    case TYPES + TYPE_S:
        CALL_STRIDED(s, alpha.s, beta.s)
        break;
    case TYPES + TYPE_D:
        CALL_STRIDED(d, alpha.d, beta.d)
        break;
    case TYPES + TYPE_C:
        CALL_STRIDED(c, &alpha, &beta)
        break;
    default:
        CALL_STRIDED(z, &alpha, &beta)
    }
}

/* What A, B and C are of each type. */
static void fill_type(int type)
{
    uint64_t seed = 1;
    for (int i = 0; i < ELEMENTS; i++) {
        double re = (double)xt_random(&seed), im = (double)xt_random(&seed);
        set(type, a_bytes, i, CMPLX(re, im));
        set(type, b_bytes, i, CMPLX(im, (double)xt_random(&seed)));
        set(type, first_bytes, i, CMPLX(re + im, re));
    }
}

/* Of a group whose beta is 0 C holds nothing but NaN. */
static void fill(const struct call *p)
{
    int product = 0;
    memcpy(old_bytes, first_bytes, sizeof old_bytes);
    for (int g = 0; g < p->groups; g++)
        for (int i = 0; i < p->group[g].size; i++, product++) {
            const struct group *s = &p->group[g];
            int elements = (p->order == 101 ? s->m : s->n) * s->ldc;
            for (int at = 0; at < elements && s->beta == 0; at++)
                set(p->type, old_bytes, p->c[product] + at, CMPLX(NAN, NAN));
        }
    memcpy(c_bytes, old_bytes, sizeof old_bytes);
}

static unsigned hash(void)
{
    unsigned sum = 2166136261u, word;
    for (size_t i = 0; i < sizeof c_bytes; i += sizeof word) {
        memcpy(&word, (char *)c_bytes + i, sizeof word);
        sum = (sum ^ word) * 16777619u;
    }
    return sum;
}

static double complex element(const struct call *p, const void *matrix, int first, int trans, int i,
                              int j, int ld)
{
    int row = trans == 111 ? i : j, column = trans == 111 ? j : i;
    double complex x =
        get(p->type, matrix, first + (p->order == 101 ? row * ld + column : column * ld + row));
    return trans == 113 ? conj(x) : x;
}

/* Whether element (i,j) of a product is right; if so it is what was expected there. */
static int is_element_right(const struct call *p, const struct group *s, int product, int i, int j)
{
    const double unit = p->type == TYPE_S || p->type == TYPE_C ? 0x1p-22 : 0x1p-51;
    int at = p->c[product] + (p->order == 101 ? i * s->ldc + j : j * s->ldc + i);
    double complex sum = 0, found = get(p->type, c_bytes, at);
    double scale = 0;
    for (int l = 0; l < s->k && s->alpha != 0; l++) {
        double complex x = s->alpha * element(p, a_bytes, p->a[product], s->transa, i, l, s->lda) *
                           element(p, b_bytes, p->b[product], s->transb, l, j, s->ldb);
        sum += x;
        scale += cabs(x);
    }
    if (s->beta != 0) {
        sum += s->beta * get(p->type, old_bytes, at);
        scale += cabs(s->beta * get(p->type, old_bytes, at));
    }
    set(p->type, old_bytes, at, found);
    return cabs(found - sum) <= (s->k + 4) * unit * scale;
}

/* True when every element of every C is right, and everything else is as it was. */
static int is_right(const struct call *p)
{
    int product = 0, wrong = 0;
    for (int g = 0; g < p->groups; g++)
        for (int n = 0; n < p->group[g].size; n++, product++)
            for (int i = 0; i < p->group[g].m; i++)
                for (int j = 0; j < p->group[g].n; j++)
                    wrong += !is_element_right(p, &p->group[g], product, i, j);
    return !wrong && !memcmp(c_bytes, old_bytes, sizeof c_bytes);
}

static void print(const struct call *p)
{
    printf("%cgemm_batch%s order %d same %d groups %d:", "sdcz"[p->type],
           p -> strided ? "_strided" : "", p->order, p->same_a, p->groups);
    for (int g = 0; g < p->groups; g++)
        printf(" %d of %d %d %d trans %d %d ld %d %d %d alpha %g beta %g", p->group[g].size,
               p->group[g].m, p->group[g].n, p->group[g].k, p->group[g].transa, p->group[g].transb,
               p->group[g].lda, p->group[g].ldb, p->group[g].ldc, creal(p->group[g].alpha),
               creal(p->group[g].beta));
}

static void legal_one(struct call p)
{
    place(&p);
    fill(&p);
    call(&p);
    int right = is_right(&p);
    print(&p);
    printf(" %s %08x\n", right ? "right" : "WRONG", hash());
    XT_CHECK(right, "%cgemm_batch", "sdcz"[p.type]);
}

static struct group group_of(const struct call *p, int what, int size, const int mnk[3],
                             int scalars)
{
    static const double values[][4] = {
        {1, 0, 0, 0}, {1, 0, 1, 0}, {-0.5, 0.25, 2, -1}, {0, 0, 0.5, 0.5}, {0, 0, 0, 0}};
    int row = p->order == 101, pad = scalars % 2 ? 4 : 0;
    int is_complex = p->type == TYPE_C || p->type == TYPE_Z;
    const double *value = values[scalars % 5];
    struct group s = {.transa = 111 + what % 3,
                      .transb = 111 + what / 3 % 3,
                      .m = mnk[0],
                      .n = mnk[1],
                      .k = mnk[2],
                      .size = size,
                      .alpha = CMPLX(value[0], is_complex ? value[1] : 0),
                      .beta = CMPLX(value[2], is_complex ? value[3] : 0)};
    s.lda = (row != (s.transa > 111) ? s.k : s.m) + pad;
    s.ldb = (row != (s.transb > 111) ? s.n : s.k) + pad;
    s.ldc = (row ? s.n : s.m) + pad;
    s.lda += !s.lda, s.ldb += !s.ldb, s.ldc += !s.ldc;
    return s;
}

static const int tiny[3] = {1, 1, 1}, small[3] = {3, 5, 7}, medium[3] = {17, 9, 12},
                 large[3] = {40, 36, 30}, without_k[3] = {4, 6, 0}, without_m[3] = {0, 3, 4};

static void legal_strided(struct call p, int what)
{
    static const int *const size[] = {tiny, small, medium, without_k, without_m};
    static const int count[] = {4, 1, 3, 0, 5};
    p.strided = 1;
    p.groups = 1;
    for (int s = 0; s < 5; s++)
        for (int f = 0; f < 5; f++) {
            p.same_a = f == 1;
            p.group[0] = group_of(&p, what, count[(s + f) % 5], size[s], f);
            legal_one(p);
        }
}

/* Groups of which some are large enough for a device, and others are not. */
static void legal_batch(struct call p, int what)
{
    legal_one(p);
    for (int f = 0; f < 5; f++) {
        p.groups = 1;
        p.same_a = f == 1;
        p.group[0] = group_of(&p, what, 3, medium, f);
        legal_one(p);
        p.group[0] = group_of(&p, what, 2, without_m, f);
        legal_one(p);
        p.groups = 4;
        p.group[0] = group_of(&p, what + 1, 2, f % 2 ? tiny : large, f);
        p.group[1] = group_of(&p, what, f % 3, small, f + 1);
        p.group[2] = group_of(&p, what + 5, 3, f % 2 ? large : without_k, f + 2);
        p.group[3] = group_of(&p, what + 7, 4, f == 4 ? without_m : medium, f + 3);
        legal_one(p);
    }
}

static void illegal_one(struct call p, const struct group *wrong, int at, int order)
{
    place(&p);
    fill(&p);
    p.group[at] = *wrong;
    p.order = order;
    print(&p);
    printf("\n");
    call(&p);
    printf("C %s\n", memcmp(c_bytes, old_bytes, sizeof old_bytes) ? "computed" : "untouched");
    fflush(stdout);
    xt_checks++;
}

/* One argument of one group wrong, or several, of which the first one counts. */
static void illegal(struct call p)
{
    struct group wrong[12];
    int groups = p.groups;
    for (int at = 0; at < groups; at++) {
        for (int i = 0; i < 12; i++)
            wrong[i] = p.group[at];
        wrong[0].transa = 110, wrong[0].m = -1;
        wrong[1].transb = 115, wrong[1].lda = 0;
        wrong[2].m = -3;
        wrong[3].n = -3;
        wrong[4].k = -2, wrong[4].size = -2;
        wrong[5].lda--, wrong[5].ldb--;
        wrong[6].ldb--, wrong[6].ldc--;
        wrong[7].ldc--, wrong[7].size = -1;
        wrong[8].size = -4;
        wrong[9].transa = 114;
        wrong[10].transb = 114;
        for (int i = 0; i < 11; i++)
            illegal_one(p, &wrong[i], at, p.order);
    }
    if (p.order)
        illegal_one(p, &p.group[0], 0, 103);
}

static void illegal_groups(struct call p)
{
    struct call q = p;
    q.groups = -1;
    illegal_one(q, &p.group[0], 0, p.order);
}

/* A is ones and B twos, so that C is twice k, whoever adds it up. */
static void mixed(void)
{
    enum { LARGE = 512, MIXED = 4 };
    static double a[LARGE * LARGE], b[LARGE * LARGE], c[MIXED][LARGE * LARGE];
    const CALL_INT n[MIXED] = {5, LARGE, 17, 9}, one[MIXED] = {1, 1, 1, 1};
    const int trans[MIXED] = {111, 111, 111, 111};
    const double alpha[MIXED] = {1, 1, 1, 1}, beta[MIXED] = {0, 0, 0, 0};
    const void *const as[MIXED] = {a, a, a, a}, *const bs[MIXED] = {b, b, b, b};
    void *const cs[MIXED] = {c[0], c[1], c[2], c[3]};
    for (int i = 0; i < LARGE * LARGE; i++)
        a[i] = 1, b[i] = 2;
    cblas_dgemm_batch(101, trans, trans, n, n, n, alpha, as, n, bs, n, beta, cs, n, MIXED, one);
    for (int g = 0; g < MIXED; g++)
        for (int i = 0; i < LARGE * LARGE; i++)
            XT_CHECK(c[g][i] == (i < n[g] * n[g] ? 2 * (double)n[g] : 0), "group %d, %d", g, i);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && !strcmp(argv[1], "mixed")) {
        mixed();
        return xt_done();
    }
    int legal = argc > 1 && !strcmp(argv[1], "legal");
    for (int type = 0; type < TYPES; type++)
        for (int order = 100; order <= 102; order++) {
            fill_type(type);
            struct call p = {.type = type, .order = order == 100 ? 0 : order};
            for (int what = 0; what < 9 && legal; what++) {
                legal_strided(p, what);
                legal_batch(p, what);
            }
            if (legal)
                continue;
            p.groups = 3;
            p.group[0] = group_of(&p, 0, 2, large, 2);
            p.group[1] = group_of(&p, 3, 1, small, 2);
            p.group[2] = group_of(&p, 1, 2, medium, 2);
            illegal(p);
            illegal_groups(p);
            p.strided = p.groups = 1;
            illegal(p);
        }
    return xt_done();
}
