/* SPDX-License-Identifier: MIT */
/*
 * Calls a BLAS with arguments of every kind, legal and not, and prints what came of each, so that a
 * run with the library preloaded can be compared with one without. Compiled by the preload tests,
 * with CALL_INT, CALL_NO_FORTRAN for a BLAS that has only the C interface, and OWN_XERBLA for a
 * program that has an error handler of its own.
 *   args legal      checks every answer; with "bits" prints a hash of each, too
 *   args illegal    what the BLAS says, how it leaves, and whether C was touched
 */
#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handler.h"
#include "tests/support/xt.h"

void cblas_sgemm(int order, int transa, int transb, CALL_INT m, CALL_INT n, CALL_INT k, float alpha,
                 const float *a, CALL_INT lda, const float *b, CALL_INT ldb, float beta, float *c,
                 CALL_INT ldc);
#ifndef CALL_NO_FORTRAN
void sgemm_(const char *transa, const char *transb, const CALL_INT *m, const CALL_INT *n,
            const CALL_INT *k, const float *alpha, const float *a, const CALL_INT *lda,
            const float *b, const CALL_INT *ldb, const float *beta, float *c, const CALL_INT *ldc,
            size_t transa_length, size_t transb_length);
#endif

enum { SIDE = 48, ELEMENTS = SIDE * SIDE };

static float args_a[ELEMENTS], args_b[ELEMENTS], args_old[ELEMENTS];
static float *args_c; /* (ELEMENTS), shared with child processes */

struct args_call {
    int order;                     /* 101, 102; 0: Fortran, column-major */
    int transa, transb;            /* as the C interface counts */
    const char *lettera, *letterb; /* as the Fortran interface spells */
    int m, n, k, lda, ldb, ldc;
    float alpha, beta;
    int null; /* C, and A without rows or B without columns, are null pointers */
};

static void args_do(const struct args_call *p)
{
    const float *a = p->null && !p->m ? NULL : args_a, *b = p->null && !p->n ? NULL : args_b;
    float *c = p->null ? NULL : args_c;
    if (p->order) {
        cblas_sgemm(p->order, p->transa, p->transb, p->m, p->n, p->k, p->alpha, a, p->lda, b,
                    p->ldb, p->beta, c, p->ldc);
#ifndef CALL_NO_FORTRAN
    } else {
        CALL_INT m = p->m, n = p->n, k = p->k, lda = p->lda, ldb = p->ldb, ldc = p->ldc;
        sgemm_(p->lettera, p->letterb, &m, &n, &k, &p->alpha, a, &lda, b, &ldb, &p->beta, c, &ldc,
               strlen(p->lettera), strlen(p->letterb));
#endif
    }
}

static void args_fill(float c_value)
{
    uint64_t seed = 1;
    for (int i = 0; i < ELEMENTS; i++) {
        args_a[i] = xt_random(&seed);
        args_b[i] = xt_random(&seed);
        args_old[i] = args_c[i] = isnan(c_value) ? c_value : xt_random(&seed);
    }
}

static unsigned args_hash(void)
{
    unsigned hash = 2166136261u;
    for (size_t i = 0; i < ELEMENTS * sizeof *args_c; i++)
        hash = (hash ^ ((unsigned char *)args_c)[i]) * 16777619u;
    return hash;
}

static void args_print(const struct args_call *p)
{
    if (p->order)
        printf("order %d trans %d %d", p->order, p->transa, p->transb);
    else
        printf("Fortran trans %s %s", p->lettera, p->letterb);
    printf(" size %d %d %d ld %d %d %d alpha %g beta %g", p->m, p->n, p->k, p->lda, p->ldb, p->ldc,
           (double)p->alpha, (double)p->beta);
}

/* True when every element of C is right, and everything outside of C is as it was. */
static int args_right(const struct args_call *p)
{
    int row = p->order == 101, ta = p->transa != 111, tb = p->transb != 111, good = 1;
    for (int i = 0; i < ELEMENTS; i++) {
        int r = row ? i / p->ldc : i % p->ldc, s = row ? i % p->ldc : i / p->ldc;
        if (r >= p->m || s >= p->n) {
            good = good && !memcmp(&args_c[i], &args_old[i], sizeof(float));
            continue;
        }
        double sum = p->beta == 0 ? 0 : (double)p->beta * (double)args_old[i], scale = fabs(sum);
        for (int l = 0; l < p->k && p->alpha != 0; l++) {
            double a = (double)args_a[row != ta ? r * p->lda + l : l * p->lda + r];
            double b = (double)args_b[row != tb ? l * p->ldb + s : s * p->ldb + l];
            sum += (double)p->alpha * a * b;
            scale += fabs((double)p->alpha * a * b);
        }
        good = good && fabs((double)args_c[i] - sum) <= (p->k + 3) * 0x1p-23 * scale;
    }
    return good;
}

static void args_legal_one(const struct args_call *p, float c_value, int bits)
{
    args_fill(c_value);
    args_do(p);
    int right = args_right(p);
    XT_CHECK(right, "order %d trans %d %d size %d %d %d alpha %g beta %g", p->order, p->transa,
             p->transb, p->m, p->n, p->k, (double)p->alpha, (double)p->beta);
    args_print(p);
    printf(right ? " right" : " WRONG");
    if (bits)
        printf(" %08x", args_hash());
    printf("\n");
}

/* Every size, alpha, beta and padding for one order and one pair of transposes. */
static void args_legal_set(struct args_call p, int bits)
{
    static const int size[][3] = {{1, 1, 1},    {3, 5, 7}, {17, 1, 9}, {1, 19, 4},
                                  {33, 31, 29}, {4, 6, 0}, {0, 3, 4},  {3, 0, 4}};
    static const float scalar[][2] = {{1, 0}, {1, 1}, {-0.5f, 2}, {0, 0.5f}, {0, 0}, {0, 1}};
    int row = p.order == 101, ta = p.transa != 111, tb = p.transb != 111;

    for (size_t s = 0; s < sizeof size / sizeof size[0]; s++) {
        for (int pad = 0; pad < 6; pad += 5) {
            p.m = size[s][0], p.n = size[s][1], p.k = size[s][2];
            p.lda = (row != ta ? p.k : p.m) + pad;
            p.ldb = (row != tb ? p.n : p.k) + pad;
            p.ldc = (row ? p.n : p.m) + pad;
            p.lda += !p.lda, p.ldb += !p.ldb, p.ldc += !p.ldc;
            for (size_t f = 0; f < sizeof scalar / sizeof scalar[0]; f++) {
                p.alpha = scalar[f][0], p.beta = scalar[f][1];
                args_legal_one(&p, 0, bits);
                if (p.beta == 0)
                    args_legal_one(&p, NAN, bits);
            }
            p.null = p.m == 0 || p.n == 0;
            if (p.null)
                args_legal_one(&p, 0, bits);
            p.null = 0;
        }
    }
}

static void args_legal(int bits)
{
    static const char *const letter[] = {"N", "n", "T", "t", "C", "c", "No", "Transpose"};
    static const int meaning[] = {111, 111, 112, 112, 113, 113, 111, 112};
    for (int order = 101; order <= 102; order++)
        for (int ta = 111; ta <= 113; ta++)
            for (int tb = 111; tb <= 113; tb++)
                args_legal_set((struct args_call){.order = order, .transa = ta, .transb = tb},
                               bits);
#ifndef CALL_NO_FORTRAN
    for (int ta = 0; ta < 8; ta++)
        for (int tb = ta % 2; tb < 8; tb += 2)
            args_legal_set((struct args_call){.transa = meaning[ta],
                                              .transb = meaning[tb],
                                              .lettera = letter[ta],
                                              .letterb = letter[tb]},
                           bits);
#else
    (void)letter;
    (void)meaning;
#endif
}

/* In a child, because a BLAS may end the process over it. */
static void args_illegal_one(const struct args_call *p)
{
    int result;
    args_fill(0);
    args_print(p);
    printf("\n");
    pid_t child = fork();
    if (child == 0) {
        args_do(p);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &result, 0) != child)
        exit(XT_HARD);
    int touched = memcmp(args_c, args_old, sizeof args_old) != 0;
    printf("C %s, wait status %d\n", touched ? "computed" : "untouched", result);
    xt_checks++;
}

static void args_illegal_set(struct args_call good)
{
    static const struct {
        int m, n, k, lda, ldb, ldc; /* added to what is right */
    } wrong[] = {{-20, 0, 0, 0, 0, 0},    {0, -20, 0, 0, 0, 0},   {0, 0, -20, 0, 0, 0},
                 {0, 0, 0, -1, 0, 0},     {0, 0, 0, 0, -1, 0},    {0, 0, 0, 0, 0, -1},
                 {0, 0, 0, -99, 0, 0},    {0, 0, 0, 0, -99, 0},   {0, 0, 0, 0, 0, -99},
                 {-20, -20, 0, -1, 0, 0}, {0, 0, 0, -1, -1, -1},  {-7, 0, 0, -99, 0, -99},
                 {0, -5, 0, 0, -99, -99}, {0, 0, -6, -99, -99, 0}};
    int row = good.order == 101, ta = good.transa != 111, tb = good.transb != 111;

    good.m = 7, good.n = 5, good.k = 6;
    good.lda = row != ta ? good.k : good.m;
    good.ldb = row != tb ? good.n : good.k;
    good.ldc = row ? good.n : good.m;
    good.alpha = 1, good.beta = 0.5f;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct args_call p = good;
        p.m += wrong[i].m, p.n += wrong[i].n, p.k += wrong[i].k;
        p.lda += wrong[i].lda, p.ldb += wrong[i].ldb, p.ldc += wrong[i].ldc;
        args_illegal_one(&p);
    }
    /* Names of transposes and orders that no standard has, or only some libraries. */
    static const int number[] = {0, 110, 114, 115, 'N', -1};
    for (size_t i = 0; i < sizeof number / sizeof number[0] && good.order; i++) {
        struct args_call p = good, q = good, r = good;
        p.transa = q.transb = r.order = number[i];
        args_illegal_one(&p);
        args_illegal_one(&q);
        if (number[i])
            args_illegal_one(&r);
    }
    static const char *const letter[] = {"X", "", "R", "r", "1", " N"};
    for (size_t i = 0; i < sizeof letter / sizeof letter[0] && !good.order; i++) {
        struct args_call p = good, q = good;
        p.lettera = q.letterb = letter[i];
        args_illegal_one(&p);
        args_illegal_one(&q);
    }
}

static void args_illegal(void)
{
    for (int order = 101; order <= 102; order++)
        for (int t = 0; t < 4; t++)
            args_illegal_set((struct args_call){
                .order = order, .transa = 111 + (t & 1), .transb = 111 + (t >> 1)});
#ifndef CALL_NO_FORTRAN
    for (int t = 0; t < 4; t++)
        args_illegal_set((struct args_call){.transa = 111 + (t & 1),
                                            .transb = 111 + (t >> 1),
                                            .lettera = t & 1 ? "T" : "N",
                                            .letterb = t >> 1 ? "T" : "N"});
#endif
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    args_c = mmap(NULL, ELEMENTS * sizeof *args_c, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (args_c == MAP_FAILED)
        return XT_HARD;
    if (argc > 1 && !strcmp(argv[1], "legal"))
        args_legal(argc > 2 && !strcmp(argv[2], "bits"));
    else if (argc > 1 && !strcmp(argv[1], "illegal"))
        args_illegal();
    else
        return XT_HARD;
    return xt_done();
}
