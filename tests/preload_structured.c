/* SPDX-License-Identifier: MIT */
/*
 * Calls HERK, SYMM, HEMM, SYR2K, HER2K, TRMM and TRSM of every type in every form, checks each
 * answer by the operation's definition and prints a hash of it, so that a run with the library
 * preloaded can be compared with one without. What may not be read is NaN. Compiled by the preload
 * tests, with CALL_INT.
 */
#include <math.h>

#include "preload_numbers.h"
#include "xt.h"

typedef CALL_INT integer;

/* t: the type's letter; scalar: how the C interface passes alpha. */
#define DECLARE_PRODUCT(name, scalar, real)                                                        \
    void cblas_##name(int order, int side, int uplo, integer m, integer n, scalar alpha,           \
                      const void *a, integer lda, const void *b, integer ldb, real beta, void *c,  \
                      integer ldc);                                                                \
    void name##_(const char *side, const char *uplo, const integer *m, const integer *n,           \
                 const void *alpha, const void *a, const integer *lda, const void *b,              \
                 const integer *ldb, const void *beta, void *c, const integer *ldc,                \
                 size_t side_length, size_t uplo_length);
#define DECLARE_TRIANGULAR(name, scalar)                                                           \
    void cblas_##name(int order, int side, int uplo, int trans, int diag, integer m, integer n,    \
                      scalar alpha, const void *a, integer lda, void *b, integer ldb);             \
    void name##_(const char *side, const char *uplo, const char *trans, const char *diag,          \
                 const integer *m, const integer *n, const void *alpha, const void *a,             \
                 const integer *lda, void *b, const integer *ldb, size_t side_length,              \
                 size_t uplo_length, size_t trans_length, size_t diag_length);
#define DECLARE_RANK_K(name, real)                                                                 \
    void cblas_##name(int order, int uplo, int trans, integer n, integer k, real alpha,            \
                      const void *a, integer lda, real beta, void *c, integer ldc);                \
    void name##_(const char *uplo, const char *trans, const integer *n, const integer *k,          \
                 const void *alpha, const void *a, const integer *lda, const void *beta, void *c,  \
                 const integer *ldc, size_t uplo_length, size_t trans_length);
/* SYR2K's arguments are of SYMM's types: uplo and trans for side and uplo, n and k for m and n. */
#define DECLARE_ALL(t, scalar)                                                                     \
    DECLARE_PRODUCT(t##symm, scalar, scalar)                                                       \
    DECLARE_PRODUCT(t##syr2k, scalar, scalar)                                                      \
    DECLARE_TRIANGULAR(t##trmm, scalar)                                                            \
    DECLARE_TRIANGULAR(t##trsm, scalar)
#define DECLARE_HERMITIAN(t, real)                                                                 \
    DECLARE_PRODUCT(t##hemm, const void *, const void *)                                           \
    DECLARE_PRODUCT(t##her2k, const void *, real)                                                  \
    DECLARE_RANK_K(t##herk, real)
DECLARE_ALL(s, float)
DECLARE_ALL(d, double)
DECLARE_ALL(c, const void *)
DECLARE_ALL(z, const void *)
DECLARE_HERMITIAN(c, float)
DECLARE_HERMITIAN(z, double)

enum { SIDE = 40, ELEMENTS = SIDE * SIDE };
enum { HERK, SYMM, HEMM, SYR2K, HER2K, TRMM, TRSM, OPERATIONS };

static const char *const names[] = {"herk", "symm", "hemm", "syr2k", "her2k", "trmm", "trsm"};

static double a_bytes[2 * ELEMENTS], b_bytes[2 * ELEMENTS], c_bytes[2 * ELEMENTS];
static double old_bytes[2 * ELEMENTS];

struct call {
    int op, type;
    int order;                   /* 101, 102; 0: Fortran, column-major */
    int side, uplo, trans, diag; /* as the C interface counts */
    integer m, n, k, lda, ldb, ldc;
    double complex alpha, beta;
};

static int is_hermitian(const struct call *p)
{
    return p->op == HERK || p->op == HEMM || p->op == HER2K;
}

static int is_triangular(const struct call *p)
{
    return p->op == TRMM || p->op == TRSM;
}

static int has_side(const struct call *p)
{
    return p->op == SYMM || p->op == HEMM || is_triangular(p);
}

static const char *letter(int number)
{
    static const char *const letters[][3] = {
        {"N", "t", "C"}, {"U", "l", ""}, {"N", "u", ""}, {"L", "r", ""}};
    return letters[(number - 111) / 10][(number - 111) % 10];
}

#define CBLAS_PRODUCT(name, first, second, rows, columns, by, add)                                 \
    cblas_##name(p->order, first, second, rows, columns, by, a_bytes, p->lda, b_bytes, p->ldb,     \
                 add, c_bytes, p->ldc)
#define FORTRAN_PRODUCT(name, first, second, rows, columns)                                        \
    name##_(letter(first), letter(second), &rows, &columns, &alpha, a_bytes, &p->lda, b_bytes,     \
            &p->ldb, &beta, c_bytes, &p->ldc, 1, 1)
#define TRIANGULAR(name, by)                                                                       \
    if (p->order)                                                                                  \
        cblas_##name(p->order, p->side, p->uplo, p->trans, p->diag, p->m, p->n, by, a_bytes,       \
                     p->lda, c_bytes, p->ldc);                                                     \
    else                                                                                           \
        name##_(letter(p->side), letter(p->uplo), letter(p->trans), letter(p->diag), &p->m, &p->n, \
                &alpha, a_bytes, &p->lda, c_bytes, &p->ldc, 1, 1, 1, 1)

#define CALL_ALL(t, by, add)                                                                       \
    do {                                                                                           \
        if (p->op == TRMM) {                                                                       \
            TRIANGULAR(t##trmm, by);                                                               \
        } else if (p->op == TRSM) {                                                                \
            TRIANGULAR(t##trsm, by);                                                               \
        } else if (p->op == SYMM) {                                                                \
            if (p->order)                                                                          \
                CBLAS_PRODUCT(t##symm, p->side, p->uplo, p->m, p->n, by, add);                     \
            else                                                                                   \
                FORTRAN_PRODUCT(t##symm, p->side, p->uplo, p->m, p->n);                            \
        } else if (p->order) {                                                                     \
            CBLAS_PRODUCT(t##syr2k, p->uplo, p->trans, p->n, p->k, by, add);                       \
        } else {                                                                                   \
            FORTRAN_PRODUCT(t##syr2k, p->uplo, p->trans, p->n, p->k);                              \
        }                                                                                          \
    } while (0)

#define CALL_HERMITIAN(t, real)                                                                    \
    do {                                                                                           \
        if (p->op == HERK) {                                                                       \
            if (p->order)                                                                          \
                cblas_##t##herk(p->order, p->uplo, p->trans, p->n, p->k, alpha.real, a_bytes,      \
                                p->lda, beta.real, c_bytes, p->ldc);                               \
            else                                                                                   \
                t##herk_(letter(p->uplo), letter(p->trans), &p->n, &p->k, &alpha, a_bytes,         \
                         &p->lda, &beta, c_bytes, &p->ldc, 1, 1);                                  \
        } else if (p->op == HEMM) {                                                                \
            if (p->order)                                                                          \
                CBLAS_PRODUCT(t##hemm, p->side, p->uplo, p->m, p->n, &alpha, &beta);               \
            else                                                                                   \
                FORTRAN_PRODUCT(t##hemm, p->side, p->uplo, p->m, p->n);                            \
        } else if (p->order) {                                                                     \
            CBLAS_PRODUCT(t##her2k, p->uplo, p->trans, p->n, p->k, &alpha, beta.real);             \
        } else {                                                                                   \
            FORTRAN_PRODUCT(t##her2k, p->uplo, p->trans, p->n, p->k);                              \
        }                                                                                          \
    } while (0)

static void call(const struct call *p)
{
    const union number alpha = number_of(p->type, p->alpha), beta = number_of(p->type, p->beta);
    switch (p->type + (is_hermitian(p) ? TYPES : 0)) {
    case TYPE_S:
        CALL_ALL(s, alpha.s, beta.s);
        break;
    case TYPE_D:
        CALL_ALL(d, alpha.d, beta.d);
        break;
    case TYPE_C:
        CALL_ALL(c, &alpha, &beta);
        break;
    case TYPE_Z:
        CALL_ALL(z, &alpha, &beta);
        break;
    case TYPES + TYPE_C:
        CALL_HERMITIAN(c, s);
        break;
    default:
        CALL_HERMITIAN(z, d);
    }
}

/* Where element (i,j) of a matrix lies. */
static int place(const struct call *p, int i, int j, integer ld)
{
    return (int)(p->order == 101 ? i * ld + j : j * ld + i);
}

static int is_stored(const struct call *p, int i, int j)
{
    return p->uplo == 121 ? i <= j : i >= j;
}

/* The triangle that is not stored, and a diagonal of ones, are NaN; one that is real in its
 * imaginary part. */
static void fill(const struct call *p)
{
    uint64_t seed = 1;
    for (int i = 0; i < ELEMENTS; i++) {
        double re = (double)xt_random(&seed), im = (double)xt_random(&seed);
        set(p->type, a_bytes, i, CMPLX(re, im));
        set(p->type, b_bytes, i, CMPLX(im, (double)xt_random(&seed)));
        int reads = p->beta != 0 || is_triangular(p);
        set(p->type, old_bytes, i, reads ? CMPLX(re + im, re) : CMPLX(NAN, NAN));
    }
    for (int i = 0; i < p->k && has_side(p); i++)
        for (int j = 0; j < p->k; j++) {
            int at = place(p, i, j, p->lda);
            if (!is_stored(p, i, j) || (i == j && is_triangular(p) && p->diag == 132))
                set(p->type, a_bytes, at, CMPLX(NAN, NAN));
            else if (i == j && is_triangular(p))
                set(p->type, a_bytes, at, CMPLX(4 + 0.5 * (double)p->k, 1));
            else if (i == j && p->op == HEMM)
                set(p->type, a_bytes, at, CMPLX(creal(get(p->type, a_bytes, at)), NAN));
        }
    memcpy(c_bytes, old_bytes, sizeof old_bytes);
}

/* --- The definition -------------------------------------------------------------------------- */

/* Of the operand that has a structure, (k,k), element (i,j) of op(A). */
static double complex structured(const struct call *p, int i, int j)
{
    int row = is_triangular(p) && p->trans != 111 ? j : i, column = row == i ? j : i;
    int stored = is_stored(p, row, column);
    if (is_triangular(p) && row == column && p->diag == 132)
        return 1;
    if (is_triangular(p) && !stored)
        return 0;
    double complex x = stored ? get(p->type, a_bytes, place(p, row, column, p->lda))
                              : get(p->type, a_bytes, place(p, column, row, p->lda));
    if (p->op == HEMM)
        return row == column ? creal(x) : stored ? x : conj(x);
    return is_triangular(p) && p->trans == 113 ? conj(x) : x;
}

/* Element (i,l) of op(X), of an operand that has none. */
static double complex plain(const struct call *p, const void *matrix, integer ld, int i, int l)
{
    double complex x =
        get(p->type, matrix, p->trans == 111 ? place(p, i, l, ld) : place(p, l, i, ld));
    return p->trans == 113 ? conj(x) : x;
}

struct sum {
    double complex value;
    double size;
};

static void add(struct sum *sum, double complex x, double complex y)
{
    sum->value += x * y;
    sum->size += cabs(x) * cabs(y);
}

static double complex conj_if(int yes, double complex x)
{
    return yes ? conj(x) : x;
}

/* What C[i,j] is to be; of TRSM, what is to be 0. */
static struct sum exact(const struct call *p, int i, int j)
{
    struct sum sum = {0, 0};
    const double *other = p->op == TRSM ? c_bytes : p->op == TRMM ? old_bytes : b_bytes;
    integer ld = is_triangular(p) ? p->ldc : p->ldb;
    double complex alpha = p->op == TRSM ? 1 : p->alpha;
    for (int l = 0; l < p->k && has_side(p); l++)
        if (p->side == 141)
            add(&sum, alpha * structured(p, i, l), get(p->type, other, place(p, l, j, ld)));
        else
            add(&sum, alpha * get(p->type, other, place(p, i, l, ld)), structured(p, l, j));
    int hermitian = is_hermitian(p);
    for (int l = 0; l < p->k && !has_side(p); l++) {
        const double *second = p->op == HERK ? a_bytes : b_bytes;
        integer ld2 = p->op == HERK ? p->lda : p->ldb;
        add(&sum, alpha * plain(p, a_bytes, p->lda, i, l),
            conj_if(hermitian, plain(p, second, ld2, j, l)));
        if (p->op != HERK)
            add(&sum, conj_if(hermitian, alpha) * plain(p, b_bytes, p->ldb, i, l),
                conj_if(hermitian, plain(p, a_bytes, p->lda, j, l)));
    }
    double complex old = get(p->type, old_bytes, place(p, i, j, p->ldc));
    if (p->op == TRSM)
        add(&sum, -p->alpha, old);
    else if (p->beta != 0)
        add(&sum, p->beta, i == j && hermitian && !has_side(p) ? creal(old) : old);
    return sum;
}

/* True when every element of C is right, and everything else is as it was. */
static int is_right(const struct call *p)
{
    const double unit = p->type == TYPE_S || p->type == TYPE_C ? 0x1p-22 : 0x1p-51;
    const size_t bytes = type_bytes[p->type];
    for (int at = 0; at < ELEMENTS; at++) {
        int i = (int)(p->order == 101 ? at / p->ldc : at % p->ldc);
        int j = (int)(p->order == 101 ? at % p->ldc : at / p->ldc);
        if (i >= p->m || j >= p->n || (!has_side(p) && !is_stored(p, i, j))) {
            if (memcmp((char *)c_bytes + (size_t)at * bytes, (char *)old_bytes + (size_t)at * bytes,
                       bytes))
                return 0;
            continue;
        }
        struct sum sum = exact(p, i, j);
        double complex got = get(p->type, c_bytes, at);
        double off = cabs(p->op == TRSM ? sum.value : got - sum.value);
        if (!(off <= (double)(2 * p->k + 4) * unit * sum.size))
            return 0;
        if (i == j && is_hermitian(p) && !has_side(p) && cimag(got) != 0)
            return 0;
    }
    return 1;
}

static void run_one(const struct call *p)
{
    fill(p);
    call(p);
    int right = is_right(p);
    unsigned hash = 2166136261u;
    for (size_t i = 0; i < sizeof c_bytes; i++)
        hash = (hash ^ ((unsigned char *)c_bytes)[i]) * 16777619u;
    printf(
        "%c%s order %d side %d uplo %d trans %d diag %d size %d %d %d alpha %g beta %g %s %08x\n",
        "sdcz"[p->type], names[p->op], p -> order, p -> side, p -> uplo, p -> trans, p -> diag,
        (int)p -> m, (int)p -> n, (int)p -> k, creal(p->alpha), creal(p->beta),
        right ? "right" : "WRONG", hash);
    XT_CHECK(right, "%c%s", "sdcz"[p->type], names[p->op]);
}

/* Sizes and scalars of one form. */
static void run_form(struct call p)
{
    static const int sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {31, 33, 29}};
    static const double scalars[][4] = {
        {1, 0, 0, 0}, {-0.5, 0.25, 2, -1}, {1, 0, 1, 0}, {0, 0, 0.5, 0}};
    int is_complex = p.type == TYPE_C || p.type == TYPE_Z;
    for (int s = 0; s < 12; s++) {
        const double *scalar = scalars[s % 4];
        p.m = sizes[s / 4][0], p.n = sizes[s / 4][1], p.k = sizes[s / 4][2];
        p.alpha = CMPLX(scalar[0], is_complex && p.op != HERK ? scalar[1] : 0);
        p.beta =
            CMPLX(scalar[2], is_complex && (!is_hermitian(&p) || has_side(&p)) ? scalar[3] : 0);
        if (is_triangular(&p))
            p.beta = 0;
        if (has_side(&p))
            p.k = p.side == 141 ? p.m : p.n;
        else
            p.m = p.n;
        integer row = p.order == 101 ? p.n : p.m, pad = s % 2 * 3;
        integer rank = (p.order == 101) == (p.trans == 111) ? p.k : p.n;
        p.lda = (has_side(&p) ? p.k : rank) + pad;
        p.ldb = (has_side(&p) ? row : rank) + pad;
        p.ldc = row + pad;
        run_one(&p);
    }
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int form = 0; form < OPERATIONS * TYPES * 3 * 24; form++) {
        struct call p = {.op = form % OPERATIONS,
                         .type = form / OPERATIONS % TYPES,
                         .order = form / OPERATIONS / TYPES % 3,
                         .side = 141 + form / OPERATIONS / TYPES / 3 % 2,
                         .uplo = 121 + form / OPERATIONS / TYPES / 6 % 2,
                         .trans = 111 + form / OPERATIONS / TYPES / 12 % 3,
                         .diag = 131 + form / OPERATIONS / TYPES / 36};
        int is_complex = p.type == TYPE_C || p.type == TYPE_Z;
        p.order += p.order ? 100 : 0;
        /* What the operation has not, and what would come twice. */
        if ((is_hermitian(&p) && !is_complex) || (!is_triangular(&p) && p.diag != 131) ||
            (has_side(&p) && !is_triangular(&p) && p.trans != 111) ||
            (!has_side(&p) && p.side != 141))
            continue;
        if (!has_side(&p) && is_complex && p.trans == (is_hermitian(&p) ? 112 : 113))
            continue;
        run_form(p);
    }
    return xt_done();
}
