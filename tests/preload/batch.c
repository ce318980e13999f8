/* SPDX-License-Identifier: MIT */
/*
 * Calls GEMM_BATCH and GEMM_BATCH_STRIDED of every type with arguments of every kind, and prints
 * each result, so that a run with the library preloaded can be compared with one without.
 * Compiled by the preload tests, with CALL_INT.
 *   batch legal      checks every element by the definition, and prints a hash of all
 *   batch illegal    prints the BLAS's errors, and whether C changed
 *   batch mixed      makes one call of a small group, a large one, and two small ones
 */
#include "operations.h"

enum { GROUPS = 4, PRODUCTS = 16, ELEMENTS = 8192 };
/* Elements of the type that is tested, from the beginning. */
static double a_bytes[2 * ELEMENTS], b_bytes[2 * ELEMENTS], first_bytes[2 * ELEMENTS],
    old_bytes[2 * ELEMENTS], c_bytes[2 * ELEMENTS];

struct batch {
    int type;
    int order;   /* 101, 102; 0: Fortran, column-major */
    int strided; /* a strided call of the first group */
    int same_a;  /* one A for all products of a group */
    int groups;
    struct call group[GROUPS];
    int size[GROUPS];
    int a[PRODUCTS], b[PRODUCTS], c[PRODUCTS]; /* where matrices begin, in elements */
    int stridea, strideb, stridec;
};

/* Places the matrices one behind the other, with gaps. In a batch by address the order within a
 * group is reversed; C's is kept where the group shares A. */
static void place_all(struct batch *p)
{
    int at_a = 3, at_b = 1, at_c = 2, product = 0;
    for (int g = 0; g < p->groups; g++) {
        const struct call *s = &p->group[g];
        int first = product;
        for (int i = 0; i < p->size[g]; i++, product++) {
            int to = p->strided ? product : first + p->size[g] - 1 - i;
            p->a[to] = at_a;
            p->b[to] = at_b;
            p->c[p->same_a ? product : to] = at_c;
            p->stridea = p->same_a ? 0 : (int)(extent_a(s).rows * s->lda + 3);
            p->strideb = (int)(extent_b(s).rows * s->ldb + 2);
            p->stridec = (int)(extent_c(s).rows * s->ldc + 5);
            at_a += p->stridea + (p->strided ? 0 : i % 3);
            at_b += p->strideb + (p->strided ? 0 : i % 2);
            at_c += p->stridec + (p->strided ? 0 : i % 2);
        }
        at_a += p->size[g] && p->same_a ? (int)((s->m + s->k) * s->lda) : 0;
    }
    if (at_a >= ELEMENTS || at_b >= ELEMENTS || at_c >= ELEMENTS || product > PRODUCTS)
        exit(XT_HARD);
}

/* The arguments as arrays; a strided call takes the first element of each. */
struct arrays {
    int transa[GROUPS], transb[GROUPS];
    char lettera[GROUPS], letterb[GROUPS];
    integer m[GROUPS], n[GROUPS], k[GROUPS], lda[GROUPS], ldb[GROUPS], ldc[GROUPS], size[GROUPS];
    double alpha[2 * GROUPS], beta[2 * GROUPS];
    const void *a[PRODUCTS], *b[PRODUCTS];
    void *c[PRODUCTS];
    integer stridea, strideb, stridec, groups;
    const void *const *as, *const *bs; /* NULL where all matrices are empty */
    void *const *cs;
};

static char letter_of(int trans)
{
    return trans >= 111 && trans <= 114 ? "NtCr"[trans - 111] : 'X';
}

static void fill_arrays(const struct batch *p, struct arrays *v)
{
    size_t bytes = type_bytes[p->type];
    for (int g = 0; g < GROUPS; g++) {
        const struct call *s = &p->group[g];
        v->transa[g] = s->trans, v->lettera[g] = letter_of(s->trans);
        v->transb[g] = s->transb, v->letterb[g] = letter_of(s->transb);
        v->m[g] = s->m, v->n[g] = s->n, v->k[g] = s->k;
        v->lda[g] = s->lda, v->ldb[g] = s->ldb, v->ldc[g] = s->ldc, v->size[g] = p->size[g];
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
        some |= p->group[g].m && p->group[g].n && p->size[g];
    v->as = some ? v->a : NULL, v->bs = some ? v->b : NULL, v->cs = some ? v->c : NULL;
    v->stridea = p->stridea, v->strideb = p->strideb, v->stridec = p->stridec;
    v->groups = p->groups;
}

#define CALL_STRIDED(name, by, add)                                                                \
    CALL_EITHER(name,                                                                              \
                (p->order, *v.transa, *v.transb, *v.m, *v.n, *v.k, by, *v.a, *v.lda, v.stridea,    \
                 *v.b, *v.ldb, v.strideb, add, *v.c, *v.ldc, v.stridec, *v.size),                  \
                (v.lettera, v.letterb, v.m, v.n, v.k, v.alpha, *v.a, v.lda, &v.stridea, *v.b,      \
                 v.ldb, &v.strideb, v.beta, *v.c, v.ldc, &v.stridec, v.size, 1, 1))

/* A call without groups passes no arrays. */
#define CALL_WITHOUT_GROUPS(name, by, add)                                                         \
    CALL_EITHER(name,                                                                              \
                (p->order, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
                 NULL, 0, NULL),                                                                   \
                (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,     \
                 &v.groups, NULL, 1, 1))
#define CALL_BATCH(name, by, add)                                                                  \
    CALL_EITHER(name,                                                                              \
                (p->order, v.transa, v.transb, v.m, v.n, v.k, v.alpha, v.as, v.lda, v.bs, v.ldb,   \
                 v.beta, v.cs, v.ldc, v.groups, v.size),                                           \
                (v.lettera, v.letterb, v.m, v.n, v.k, v.alpha, v.as, v.lda, v.bs, v.ldb, v.beta,   \
                 v.cs, v.ldc, &v.groups, v.size, 1, 1))

static void call_batch(const struct batch *p)
{
    const union number alpha = number_of(p->type, p->group[0].alpha);
    const union number beta = number_of(p->type, p->group[0].beta);
    struct arrays v;
    fill_arrays(p, &v);
    if (p->strided)
        CALL_TYPE(gemm_batch_strided, CALL_STRIDED);
    else if (p->groups)
        CALL_TYPE(gemm_batch, CALL_BATCH);
    else
        CALL_TYPE(gemm_batch, CALL_WITHOUT_GROUPS);
}

/* Draws A, B and C of a type. */
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

/* Fills C with NaN where a group's beta is 0. */
static void fill_batch(const struct batch *p)
{
    int product = 0;
    memcpy(old_bytes, first_bytes, sizeof old_bytes);
    for (int g = 0; g < p->groups; g++)
        for (int i = 0; i < p->size[g]; i++, product++) {
            const struct call *s = &p->group[g];
            int elements = (int)(extent_c(s).rows * s->ldc);
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

/* True when every element of every C is right, and everything else is unchanged. */
static int are_right(const struct batch *p)
{
    const size_t bytes = type_bytes[p->type];
    int product = 0, right = 1;
    for (int g = 0; g < p->groups; g++)
        for (int i = 0; i < p->size[g]; i++, product++) {
            const struct call *s = &p->group[g];
            const int elements = elements_of(extent_c(s), s->ldc);
            matrix_a.at = (char *)a_bytes + (size_t)p->a[product] * bytes;
            matrix_b.at = (char *)b_bytes + (size_t)p->b[product] * bytes;
            matrix_c.at = (char *)c_bytes + (size_t)p->c[product] * bytes;
            matrix_old.at = (char *)old_bytes + (size_t)p->c[product] * bytes;
            matrix_c.elements = elements;
            right = right && is_right(s);
            memcpy(matrix_old.at, matrix_c.at, (size_t)elements * bytes);
        }
    return right && !memcmp(c_bytes, old_bytes, sizeof c_bytes);
}

static void print(const struct batch *p)
{
    printf("%cgemm_batch%s order %d same %d groups %d:", "sdcz"[p->type],
           p -> strided ? "_strided" : "", p->order, p->same_a, p->groups);
    for (int g = 0; g < p->groups; g++) {
        const struct call *s = &p->group[g];
        printf(" %d of %d %d %d trans %d %d ld %d %d %d alpha %g beta %g", p->size[g], (int)s->m,
               (int)s->n, (int)s->k, s->trans, s->transb, (int)s->lda, (int)s->ldb, (int)s->ldc,
               creal(s->alpha), creal(s->beta));
    }
}

static void legal_one(struct batch p)
{
    place_all(&p);
    fill_batch(&p);
    call_batch(&p);
    int right = are_right(&p);
    print(&p);
    printf(" %s %08x\n", right ? "right" : "WRONG", hash());
    XT_CHECK(right, "%cgemm_batch", "sdcz"[p.type]);
}

static void set_group(struct batch *p, int g, int what, int size, const int mnk[3], int scalars)
{
    static const double complex values[][2] = {
        {1, 0}, {1, 1}, {CMPLX(-0.5, 0.25), CMPLX(2, -1)}, {0, CMPLX(0.5, 0.5)}, {0, 0}};
    p->group[g] = (struct call){.op = GEMM,
                                .type = p->type,
                                .order = p->order,
                                .trans = 111 + what % 3,
                                .transb = 111 + what / 3 % 3};
    set_size(&p->group[g], mnk[0], mnk[1], mnk[2], scalars % 2 ? 4 : 0);
    set_scalars(&p->group[g], values[scalars % 5][0], values[scalars % 5][1]);
    p->size[g] = size;
}

static const int tiny[3] = {1, 1, 1}, small[3] = {3, 5, 7}, medium[3] = {17, 9, 12},
                 large[3] = {40, 36, 30}, without_k[3] = {4, 6, 0}, without_m[3] = {0, 3, 4};

static void legal_strided(struct batch p, int what)
{
    static const int *const size[] = {tiny, small, medium, without_k, without_m};
    static const int count[] = {4, 1, 3, 0, 5};
    p.strided = 1;
    p.groups = 1;
    for (int s = 0; s < 5; s++)
        for (int f = 0; f < 5; f++) {
            p.same_a = f == 1;
            set_group(&p, 0, what, count[(s + f) % 5], size[s], f);
            legal_one(p);
        }
}

/* Groups of sizes that are large enough for a device, mixed with smaller ones. */
static void legal_batch(struct batch p, int what)
{
    legal_one(p);
    for (int f = 0; f < 5; f++) {
        p.groups = 1;
        p.same_a = f == 1;
        set_group(&p, 0, what, 3, medium, f);
        legal_one(p);
        set_group(&p, 0, what, 2, without_m, f);
        legal_one(p);
        p.groups = 4;
        set_group(&p, 0, what + 1, 2, f % 2 ? tiny : large, f);
        set_group(&p, 1, what, f % 3, small, f + 1);
        set_group(&p, 2, what + 5, 3, f % 2 ? large : without_k, f + 2);
        set_group(&p, 3, what + 7, 4, f == 4 ? without_m : medium, f + 3);
        legal_one(p);
    }
}

static void illegal_one(const struct batch *good, const struct batch *wrong)
{
    fill_batch(good);
    print(wrong);
    printf("\n");
    call_batch(wrong);
    printf("C %s\n", memcmp(c_bytes, old_bytes, sizeof old_bytes) ? "computed" : "untouched");
    fflush(stdout);
    xt_checks++;
}

/* Makes one argument of one group wrong, or several, of which the first one is reported. */
static void illegal(struct batch p)
{
    enum { WRONG = 11 };
    struct batch wrong[WRONG], other;
    place_all(&p);
    for (int at = 0; at < p.groups; at++) {
        struct call *one[WRONG];
        for (int i = 0; i < WRONG; i++)
            wrong[i] = p, one[i] = &wrong[i].group[at];
        one[0]->trans = 110, one[0]->m = -1;
        one[1]->transb = 115, one[1]->lda = 0;
        one[2]->m = -3;
        one[3]->n = -3;
        one[4]->k = -2, wrong[4].size[at] = -2;
        one[5]->lda--, one[5]->ldb--;
        one[6]->ldb--, one[6]->ldc--;
        one[7]->ldc--, wrong[7].size[at] = -1;
        wrong[8].size[at] = -4;
        one[9]->trans = 114;
        one[10]->transb = 114;
        for (int i = 0; i < WRONG; i++)
            illegal_one(&p, &wrong[i]);
    }
    other = p, other.order = 103;
    if (p.order)
        illegal_one(&p, &other);
    other = p, other.groups = -1;
    if (!p.strided)
        illegal_one(&p, &other);
}

/* A is ones and B twos, so that C is twice k in any order of addition. */
static void mixed(void)
{
    enum { LARGE = 512, MIXED = 4 };
    static double a[LARGE * LARGE], b[LARGE * LARGE], c[MIXED][LARGE * LARGE];
    const integer n[MIXED] = {5, LARGE, 17, 9}, one[MIXED] = {1, 1, 1, 1};
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
            struct batch p = {.type = type, .order = order == 100 ? 0 : order};
            for (int what = 0; what < 9 && legal; what++) {
                legal_strided(p, what);
                legal_batch(p, what);
            }
            if (legal)
                continue;
            p.groups = 3;
            set_group(&p, 0, 0, 2, large, 2);
            set_group(&p, 1, 3, 1, small, 2);
            set_group(&p, 2, 1, 2, medium, 2);
            illegal(p);
            p.strided = p.groups = 1;
            illegal(p);
        }
    return xt_done();
}
