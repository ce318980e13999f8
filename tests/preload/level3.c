/* SPDX-License-Identifier: MIT */
/*
 * Calls GEMM and SYRK of every type with arguments of every kind, legal and not, and prints what
 * came of each, so that a run with the library preloaded can be compared with one without.
 * Compiled by the preload tests, with CALL_INT, WITH_FORTRAN=0 for a BLAS that has only the C
 * interface, and OWN_XERBLA for a program that has an error handler of its own. With WITH_GEMMT=1
 * the same of GEMMT alone, which not every BLAS has, with WITH_GEMMTR under that name.
 *   level3 legal            checks every answer, and prints a hash of each
 *   level3 illegal          what the BLAS says, how it leaves, and whether C was touched
 *   level3 illegal-sgemm    the same of SGEMM alone
 */
#include <complex.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handler.h"
#include "numbers.h"
#include "tests/support/xt.h"

#ifdef WITH_GEMMTR
#define WITH_GEMMT 1
#define GEMMT_NAME "gemmtr"
#define cblas_sgemmt cblas_sgemmtr
#define cblas_dgemmt cblas_dgemmtr
#define cblas_cgemmt cblas_cgemmtr
#define cblas_zgemmt cblas_zgemmtr
#define sgemmt_ sgemmtr_
#define dgemmt_ dgemmtr_
#define cgemmt_ cgemmtr_
#define zgemmt_ zgemmtr_
#else
#define GEMMT_NAME "gemmt"
#endif
#ifndef WITH_GEMMT
#define WITH_GEMMT 0
#endif
#ifndef WITH_FORTRAN
#define WITH_FORTRAN 1
#endif

/* t: the type's letter; scalar: how the C interface passes alpha. */
#define LEVEL3_TYPE(t, scalar)                                                                     \
    void cblas_##t##gemm(int order, int transa, int transb, CALL_INT m, CALL_INT n, CALL_INT k,    \
                         scalar alpha, const void *a, CALL_INT lda, const void *b, CALL_INT ldb,   \
                         scalar beta, void *c, CALL_INT ldc);                                      \
    void t##gemm_(const char *transa, const char *transb, const CALL_INT *m, const CALL_INT *n,    \
                  const CALL_INT *k, const void *alpha, const void *a, const CALL_INT *lda,        \
                  const void *b, const CALL_INT *ldb, const void *beta, void *c,                   \
                  const CALL_INT *ldc, size_t transa_length, size_t transb_length);                \
    void cblas_##t##syrk(int order, int uplo, int trans, CALL_INT n, CALL_INT k, scalar alpha,     \
                         const void *a, CALL_INT lda, scalar beta, void *c, CALL_INT ldc);         \
    void t##syrk_(const char *uplo, const char *trans, const CALL_INT *n, const CALL_INT *k,       \
                  const void *alpha, const void *a, const CALL_INT *lda, const void *beta,         \
                  void *c, const CALL_INT *ldc, size_t uplo_length, size_t trans_length);          \
    void cblas_##t##gemmt(int order, int uplo, int transa, int transb, CALL_INT n, CALL_INT k,     \
                          scalar alpha, const void *a, CALL_INT lda, const void *b, CALL_INT ldb,  \
                          scalar beta, void *c, CALL_INT ldc);                                     \
    void t##gemmt_(const char *uplo, const char *transa, const char *transb, const CALL_INT *n,    \
                   const CALL_INT *k, const void *alpha, const void *a, const CALL_INT *lda,       \
                   const void *b, const CALL_INT *ldb, const void *beta, void *c,                  \
                   const CALL_INT *ldc, size_t uplo_length, size_t transa_length,                  \
                   size_t transb_length);
LEVEL3_TYPE(s, float)
LEVEL3_TYPE(d, double)
LEVEL3_TYPE(c, const void *)
LEVEL3_TYPE(z, const void *)

#ifndef LEVEL3_SIDE
#define LEVEL3_SIDE 40
#endif
enum { SIDE = LEVEL3_SIDE, ELEMENTS = SIDE * SIDE };
/* Elements of the type that is tested, from the beginning. */
static double a_bytes[2 * ELEMENTS], b_bytes[2 * ELEMENTS], old_bytes[2 * ELEMENTS];
static double *c_bytes; /* shared with child processes */

enum { GEMM, SYRK, GEMMT };

static const char *const names[] = {"gemm", "syrk", GEMMT_NAME};

struct call {
    int op, type;
    int order;                              /* 101, 102; 0: Fortran, column-major */
    int uplo, transa, transb;               /* as the C interface counts */
    const char *letter, *lettera, *letterb; /* uplo and the others as Fortran spells them */
    int m, n, k, lda, ldb, ldc;
    double complex alpha, beta;
    int null; /* C, and A without rows or B without columns, are null pointers */
};

#define CALL_CBLAS(t, by, add)                                                                     \
    if (WITH_GEMMT)                                                                                \
        cblas_##t##gemmt(p->order, p->uplo, p->transa, p->transb, n, k, by, a, lda, b, ldb, add,   \
                         c, ldc);                                                                  \
    else if (p->op == SYRK)                                                                        \
        cblas_##t##syrk(p->order, p->uplo, p->transa, n, k, by, a, lda, add, c, ldc);              \
    else                                                                                           \
        cblas_##t##gemm(p->order, p->transa, p->transb, m, n, k, by, a, lda, b, ldb, add, c, ldc)

#define CALL_FORTRAN(t)                                                                            \
    if (!WITH_FORTRAN)                                                                             \
        exit(XT_HARD);                                                                             \
    else if (WITH_GEMMT)                                                                           \
        t##gemmt_(p->letter, p->lettera, p->letterb, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c,   \
                  &ldc, strlen(p->letter), strlen(p->lettera), strlen(p->letterb));                \
    else if (p->op == SYRK)                                                                        \
        t##syrk_(p->letter, p->lettera, &n, &k, &alpha, a, &lda, &beta, c, &ldc,                   \
                 strlen(p->letter), strlen(p->lettera));                                           \
    else                                                                                           \
        t##gemm_(p->lettera, p->letterb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc,     \
                 strlen(p->lettera), strlen(p->letterb))

static void call(const struct call *p)
{
    const union number alpha = number_of(p->type, p->alpha), beta = number_of(p->type, p->beta);
    const CALL_INT m = p->m, n = p->n, k = p->k, lda = p->lda, ldb = p->ldb, ldc = p->ldc;
    const void *a = p->null && !m ? NULL : a_bytes, *b = p->null && !n ? NULL : b_bytes;
    void *c = p->null ? NULL : c_bytes;
    switch (p->type + (p->order ? 0 : TYPES)) {
    case TYPE_S:
        CALL_CBLAS(s, alpha.s, beta.s);
        break;
    case TYPE_D:
        CALL_CBLAS(d, alpha.d, beta.d);
        break;
    case TYPE_C:
        CALL_CBLAS(c, &alpha, &beta);
        break;
    case TYPE_Z:
        CALL_CBLAS(z, &alpha, &beta);
        break;
    case TYPES + TYPE_S:
        CALL_FORTRAN(s);
        break;
    case TYPES + TYPE_D:
        CALL_FORTRAN(d);
        break;
    case TYPES + TYPE_C:
        CALL_FORTRAN(c);
        break;
    default:
        CALL_FORTRAN(z);
    }
}

/* c_value NaN: C holds nothing else. */
static void fill(const struct call *p, double c_value)
{
    uint64_t seed = 1;
    for (int i = 0; i < ELEMENTS; i++) {
        double re = (double)xt_random(&seed), im = (double)xt_random(&seed);
        set(p->type, a_bytes, i, CMPLX(re, im));
        set(p->type, b_bytes, i, CMPLX(im, (double)xt_random(&seed)));
        set(p->type, old_bytes, i, isnan(c_value) ? CMPLX(NAN, NAN) : CMPLX(re + im, re));
    }
    memcpy(c_bytes, old_bytes, sizeof old_bytes);
}

static unsigned hash(void)
{
    unsigned sum = 2166136261u;
    for (size_t i = 0; i < sizeof old_bytes; i++)
        sum = (sum ^ ((unsigned char *)c_bytes)[i]) * 16777619u;
    return sum;
}

static void print(const struct call *p)
{
    printf("%c%s ", "sdcz"[p->type], names[p->op]);
    if (p->order)
        printf("order %d uplo %d trans %d %d", p->order, p->uplo, p->transa, p->transb);
    else
        printf("Fortran uplo %s trans %s %s", p->letter, p->lettera, p->letterb);
    printf(" size %d %d %d ld %d %d %d", p->m, p->n, p->k, p->lda, p->ldb, p->ldc);
}

/* Element (i,j) of op(X), as the caller stores it. */
static double complex element(const struct call *p, const void *matrix, int trans, int i, int j,
                              int ld)
{
    int row = trans == 111 ? i : j, column = trans == 111 ? j : i;
    double complex x =
        get(p->type, matrix, p->order == 101 ? row * ld + column : column * ld + row);
    return trans == 113 ? conj(x) : x;
}

/* True when every element of C is right, and everything else is as it was. */
static int is_right(const struct call *p)
{
    const double unit = p->type == TYPE_S || p->type == TYPE_C ? 0x1p-22 : 0x1p-51;
    const size_t bytes = type_bytes[p->type];
    for (int at = 0; at < ELEMENTS; at++) {
        int i = p->order == 101 ? at / p->ldc : at % p->ldc;
        int j = p->order == 101 ? at % p->ldc : at / p->ldc;
        int outside = i >= p->m || j >= p->n || (p->op != GEMM && (p->uplo == 121 ? i > j : i < j));
        if (outside && memcmp((char *)c_bytes + (size_t)at * bytes,
                              (char *)old_bytes + (size_t)at * bytes, bytes))
            return 0;
        if (outside)
            continue;
        double complex sum = 0;
        double scale = 0;
        for (int l = 0; l < p->k && p->alpha != 0; l++) {
            double complex x = element(p, a_bytes, p->transa, i, l, p->lda);
            double complex y = p->op == SYRK ? element(p, a_bytes, p->transa, j, l, p->lda)
                                             : element(p, b_bytes, p->transb, l, j, p->ldb);
            sum += p->alpha * x * y;
            scale += magnitude(p->alpha * x * y);
        }
        if (p->beta != 0) {
            sum += p->beta * get(p->type, old_bytes, at);
            scale += cabs(p->beta * get(p->type, old_bytes, at));
        }
        if (!(cabs(get(p->type, c_bytes, at) - sum) <= (p->k + 4) * unit * scale))
            return 0;
    }
    return 1;
}

static void legal_one(const struct call *p, double c_value)
{
    fill(p, c_value);
    call(p);
    int right = is_right(p);
    print(p);
    printf(" alpha %g beta %g %s %08x\n", creal(p->alpha), creal(p->beta),
           right ? "right" : "WRONG", hash());
    XT_CHECK(right, "%c%s", "sdcz"[p->type], names[p->op]);
}

/* The least leading dimensions, and pad. */
static void set_lds(struct call *p, int pad)
{
    int row = p->order == 101, ta = p->transa != 111, tb = p->transb != 111;
    p->lda = (row != ta ? p->k : p->m) + pad;
    p->ldb = (row != tb ? p->n : p->k) + pad;
    p->ldc = (row ? p->n : p->m) + pad;
    p->lda += !p->lda, p->ldb += !p->ldb, p->ldc += !p->ldc;
}

static void legal_set(struct call p)
{
    static const int size[][3] = {{1, 1, 1},    {3, 5, 7}, {17, 1, 9}, {1, 19, 4},
                                  {31, 33, 29}, {4, 6, 0}, {0, 3, 4},  {3, 0, 4}};
    static const double scalar[][4] = {{1, 0, 0, 0},     {1, 0, 1, 0}, {-0.5, 0.25, 2, -1},
                                       {0, 0, 0.5, 0.5}, {0, 0, 0, 0}, {0, 0, 1, 0}};
    int is_complex = p.type == TYPE_C || p.type == TYPE_Z;
    for (size_t s = 0; s < sizeof size / sizeof size[0]; s++)
        for (size_t f = 0; f < sizeof scalar / sizeof scalar[0]; f++) {
            p.n = size[s][1], p.k = size[s][2];
            p.m = p.op == GEMM ? size[s][0] : p.n;
            p.alpha = CMPLX(scalar[f][0], is_complex ? scalar[f][1] : 0);
            p.beta = CMPLX(scalar[f][2], is_complex ? scalar[f][3] : 0);
            p.null = f % 2 && (!p.m || !p.n);
            set_lds(&p, (s + f) % 2 ? 5 : 0);
            legal_one(&p, p.beta == 0 ? NAN : 0);
        }
}

/* A triangle of which parts are rectangles, where it is made of GEMM; of LEVEL3_SIDE 160. */
static void large_set(struct call p)
{
    p.m = p.n = SIDE - 10, p.k = 5;
    p.alpha = 2, p.beta = 0.5;
    set_lds(&p, 3);
    legal_one(&p, 0);
}

static const char *const upper_letters[] = {"U", "u"}, *const lower_letters[] = {"L", "l"};
static const char *const trans_letters[][3] = {
    {"N", "n", "No"}, {"T", "t", "Transpose"}, {"C", "c", "Conjugate"}};

/* GEMMT, whose triangle no transpose goes with. */
static void each_triangle(struct call p, int cased, void (*run)(struct call p))
{
    p.op = GEMMT;
    run(p);
    p.uplo = 122, p.letter = lower_letters[cased];
    run(p);
}

/* Each operation of each type, order, triangle and transpose, through run. */
static void each(void (*run)(struct call p))
{
    for (int type = 0; type < TYPES; type++)
        for (int order = WITH_FORTRAN ? 100 : 101; order <= 102; order++)
            for (int what = 0; what < 9; what++) {
                struct call p = {.type = type, .order = order == 100 ? 0 : order};
                int ta = what % 3, tb = what / 3, cased = what % 2;
                p.transa = 111 + ta, p.lettera = trans_letters[ta][tb];
                p.transb = 111 + tb, p.letterb = trans_letters[tb][(ta + 1) % 3];
                p.uplo = 121, p.letter = upper_letters[cased];
                if (WITH_GEMMT) {
                    each_triangle(p, cased, run);
                    continue;
                }
                run(p);
                p.op = SYRK;
                p.uplo = tb ? 122 : 121;
                p.letter = tb ? lower_letters[cased] : upper_letters[cased];
                if (tb < 2 && (ta < 2 || type < TYPE_C))
                    run(p);
            }
}

/* In a child, because a BLAS may end the process over it. */
static void illegal_one(const struct call *p)
{
    int result;
    fill(p, 0);
    print(p);
    printf("\n");
    pid_t child = fork();
    if (child == 0) {
        call(p);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &result, 0) != child)
        exit(XT_HARD);
    int touched = memcmp(c_bytes, old_bytes, sizeof old_bytes) != 0;
    printf("C %s, wait status %d\n", touched ? "computed" : "untouched", result);
    xt_checks++;
}

/*
 * Of nine pairs of transposes each type takes three, others by rows than by columns: among them
 * each transpose of either operand, and among the types each pair. A call is a process, and often
 * one that starts the engine.
 */
static int is_in_turn(const struct call *p)
{
    return p->op == SYRK || (p->transa + p->transb + p->type + p->order) % 3 == 0;
}

/* One argument wrong, or several, of which the first one counts. */
static void illegal_set(struct call good)
{
    static const struct {
        int m, n, k, lda, ldb, ldc; /* added to what is right */
    } wrong[] = {{-20, 0, 0, 0, 0, 0},    {0, -20, 0, 0, 0, 0},    {0, 0, -20, 0, 0, 0},
                 {0, 0, 0, -1, 0, 0},     {0, 0, 0, 0, -1, 0},     {0, 0, 0, 0, 0, -1},
                 {0, 0, 0, -99, 0, 0},    {0, 0, 0, 0, -99, 0},    {0, 0, 0, 0, 0, -99},
                 {-20, -20, 0, -1, 0, 0}, {0, 0, 0, -1, -1, -1},   {-7, 0, 0, -99, 0, -99},
                 {0, -5, 0, 0, -99, -99}, {0, 0, -6, -99, -99, 0}, {0, -9, -9, -99, -99, -99}};
    good.m = 7, good.n = good.op == GEMM ? 5 : 7, good.k = 6;
    good.alpha = 1, good.beta = 0.5;
    set_lds(&good, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0] && is_in_turn(&good); i++) {
        struct call p = good;
        p.m += wrong[i].m, p.n += wrong[i].n, p.k += wrong[i].k;
        p.lda += wrong[i].lda, p.ldb += wrong[i].ldb, p.ldc += wrong[i].ldc;
        illegal_one(&p);
    }
    if (good.transa != 111 || good.transb != 111)
        return;
    static const int number[] = {0, 110, 113, 114, 115, 121, 'N', -1};
    for (size_t i = 0; i < sizeof number / sizeof number[0] && good.order; i++) {
        struct call p = good, q = good, r = good, s = good;
        p.transa = q.uplo = r.order = s.transb = number[i];
        illegal_one(&p);
        if (good.op != GEMM)
            illegal_one(&q);
        if (good.op != SYRK)
            illegal_one(&s);
        if (number[i])
            illegal_one(&r);
    }
    static const char *const letter[] = {"X", "", "C", "R", "r", "u", "1", " N"};
    for (size_t i = 0; i < sizeof letter / sizeof letter[0] && !good.order; i++) {
        struct call p = good, q = good, s = good;
        p.lettera = q.letter = s.letterb = letter[i];
        illegal_one(&p);
        if (good.op != GEMM)
            illegal_one(&q);
        if (good.op != SYRK)
            illegal_one(&s);
    }
}

static void illegal_sgemm(struct call p)
{
    if (p.type == TYPE_S && p.op == GEMM)
        illegal_set(p);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    c_bytes =
        mmap(NULL, sizeof old_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c_bytes == MAP_FAILED)
        return XT_HARD;
    if (argc > 1 && !strcmp(argv[1], "legal"))
        each(legal_set);
    else if (argc > 1 && !strcmp(argv[1], "large"))
        each(large_set);
    else if (argc > 1 && !strcmp(argv[1], "illegal"))
        each(illegal_set);
    else if (argc > 1 && !strcmp(argv[1], "illegal-sgemm"))
        each(illegal_sgemm);
    else
        return XT_HARD;
    return xt_done();
}
