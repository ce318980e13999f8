/* SPDX-License-Identifier: MIT */
/*
 * Matrices of one row, as they lie in memory, and matrices that are not read: their leading
 * dimension separates no two rows, and any number that is large enough is legal, such as one whose
 * bytes come to 2^64. Of every operation, type, order, triangle and transpose. Each call is made
 * once more with C in the place of an operand, which the caller's BLAS computes as it does alone: a
 * hash of what came of these is printed. Compiled by the preload tests, with CALL_INT. Contract 3.3
 * and 4.2 (doc/contract.md).
 *   row       the operations that every BLAS has
 *   row all   those too that this library alone may have: GEMMT and batches
 */
#include <dlfcn.h>

#include "operations.h"

enum { SIDE = 4, COUNT = 3, ELEMENTS = COUNT * SIDE * SIDE };

static double memory_a[2 * ELEMENTS], memory_b[2 * ELEMENTS], memory_c[2 * ELEMENTS],
    memory_old[2 * ELEMENTS];

static void *place_of_c = memory_c; /* or an operand's */

/* One whose bytes come to 2^64, and the largest of all. */
enum { STEPS = 2 };

static integer step_of(int type, int step)
{
    const int64_t wide = step ? INT64_MAX : INT64_MAX / (int64_t)type_bytes[type] * 2 + 2;
    return (integer)(sizeof(integer) == 8 ? wide : wide >> 32);
}

/* Of all that came of calls whose C overlaps. */
static unsigned overlaps_hash = 2166136261u;

static void add_to_hash(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        overlaps_hash = (overlaps_hash ^ ((const unsigned char *)bytes)[i]) * 16777619u;
}

/* --- The operations of operations.h ---------------------------------------------------------- */

/* Which leading dimensions lead nowhere: of C where it has one row, of the others also where
 * nothing of them is read. */
static int enlarge(struct call *p, int step)
{
    const int unread = p->alpha == 0 || p->k == 0;
    int enlarged = 0;
    if (extent_a(p).rows == 1 || unread)
        p->lda = step_of(p->type, step), enlarged++;
    if (!is_triangular(p) && (extent_b(p).rows == 1 || unread))
        p->ldb = step_of(p->type, step), enlarged++;
    if (extent_c(p).rows == 1)
        p->ldc = step_of(p->type, step), enlarged++;
    return enlarged;
}

static void place_matrices(const struct call *p)
{
    matrix_a = (struct matrix){(char *)memory_a, elements_of(extent_a(p), p->lda)};
    matrix_b = (struct matrix){(char *)memory_b, elements_of(extent_b(p), p->ldb)};
    matrix_c = (struct matrix){(char *)memory_c, elements_of(extent_c(p), p->ldc)};
    matrix_old = (struct matrix){(char *)memory_old, matrix_c.elements};
}

/* What lies where C then is must be numbers: what comes of NaN is no two libraries' alike. */
static void overlap_form(const struct call *plain, const struct call *wide)
{
    uint64_t seed = 2;
    for (int i = 0; i < ELEMENTS; i++)
        for (int x = 0; x < 3; x++)
            set(plain->type, x ? x == 1 ? memory_a : memory_b : memory_c, i,
                CMPLX(2 + (double)xt_random(&seed), plain->op == HERK ? 0 : 1));
    matrix_c.at = plain->op == HERK || plain->n % 2 ? matrix_a.at : matrix_b.at;
    call(wide);
    add_to_hash(memory_a, sizeof memory_a);
    add_to_hash(memory_b, sizeof memory_b);
}

static void run_form(struct call p)
{
    static const int sizes[][3] = {{1, 1, 1}, {1, 4, 1}, {4, 1, 1}, {1, 1, 4}, {1, 3, 4},
                                   {3, 1, 4}, {4, 3, 1}, {3, 4, 2}, {4, 3, 0}};
    for (int variant = 0; variant < 9 * STEPS * 2; variant++) {
        const int *size = sizes[variant % 9], step = variant / 9 % STEPS;
        const int nothing = variant / 9 / STEPS;
        struct call plain = p;
        set_size(&plain, size[0], size[1], size[2], 0);
        set_scalars(&plain, nothing ? 0 : CMPLX(0.5, 0.25), CMPLX(2, 1));
        struct call wide = plain;
        if (!enlarge(&wide, step))
            continue;
        place_matrices(&plain);
        fill(&plain);
        call(&wide);
        XT_CHECK(is_right(&plain), "contract 3.3: %c%s order %d size %d %d %d step %d",
                 "sdcz"[p.type], names[p.op], p.order, (int)plain.m, (int)plain.n, (int)plain.k,
                 step);
        if (!is_triangular(&plain) && !nothing && plain.k)
            overlap_form(&plain, &wide);
    }
}

/* --- GEMM, SYRK, GEMMT, and batches ---------------------------------------------------------- */

enum { GEMM, SYRK, GEMMT, STRIDED, BATCH, PRODUCTS };

static const char *const product_names[] = {"gemm", "syrk", "gemmt", "gemm_batch_strided",
                                            "gemm_batch"};

struct product {
    int op, type;
    int order;                /* 101, 102; 0: Fortran, column-major */
    int uplo, transa, transb; /* as the C interface counts */
    integer m, n, k, lda, ldb, ldc, stride[3], count;
    double complex alpha, beta;
};

typedef void function(void);

/* The function of the product's operation, of the interface that it is called by; NULL: none. */
static function *function_of(const struct product *p)
{
    char name[64];
    union {
        void *object;
        function *code;
    } found;
    snprintf(name, sizeof name, p->order ? "cblas_%c%s" : "%c%s_", "sdcz"[p->type],
             product_names[p->op]);
    found.object = dlsym(RTLD_DEFAULT, name);
    return found.code;
}

/* What a batch by address has of each. */
struct arrays {
    const void *a[COUNT], *b[COUNT];
    void *c[COUNT];
};

static void call_fortran(const struct product *p, function *f, const struct arrays *v)
{
    const union number alpha = number_of(p->type, p->alpha), beta = number_of(p->type, p->beta);
    const char *u = letter(p->uplo), *ta = letter(p->transa), *tb = letter(p->transb);
    const integer one = 1;
    typedef const integer *i;
    typedef const void *x;
    if (p->op == GEMM)
        ((void (*)(x, x, i, i, i, x, x, i, x, i, x, void *, i, size_t, size_t))f)(
            ta, tb, &p->m, &p->n, &p->k, &alpha, memory_a, &p->lda, memory_b, &p->ldb, &beta,
            place_of_c, &p->ldc, 1, 1);
    else if (p->op == SYRK)
        ((void (*)(x, x, i, i, x, x, i, x, void *, i, size_t, size_t))f)(
            u, ta, &p->n, &p->k, &alpha, memory_a, &p->lda, &beta, place_of_c, &p->ldc, 1, 1);
    else if (p->op == GEMMT)
        ((void (*)(x, x, x, i, i, x, x, i, x, i, x, void *, i, size_t, size_t, size_t))f)(
            u, ta, tb, &p->n, &p->k, &alpha, memory_a, &p->lda, memory_b, &p->ldb, &beta,
            place_of_c, &p->ldc, 1, 1, 1);
    else if (p->op == STRIDED)
        ((void (*)(x, x, i, i, i, x, x, i, i, x, i, i, x, void *, i, i, i, size_t, size_t))f)(
            ta, tb, &p->m, &p->n, &p->k, &alpha, memory_a, &p->lda, &p->stride[0], memory_b,
            &p->ldb, &p->stride[1], &beta, place_of_c, &p->ldc, &p->stride[2], &p->count, 1, 1);
    else
        ((void (*)(x, x, i, i, i, x, x, i, x, i, x, x, i, i, i, size_t, size_t))f)(
            ta, tb, &p->m, &p->n, &p->k, &alpha, v->a, &p->lda, v->b, &p->ldb, &beta, v->c, &p->ldc,
            &one, &p->count, 1, 1);
}

/* By how the C interface takes a scalar. */
#define CALL_CBLAS(scalar, by, add)                                                                \
    if (p->op == GEMM)                                                                             \
        ((void (*)(int, int, int, integer, integer, integer, scalar, x, integer, x, integer,       \
                   scalar, void *, integer))f)(p->order, p->transa, p->transb, p->m, p->n, p->k,   \
                                               by, memory_a, p->lda, memory_b, p->ldb, add,        \
                                               place_of_c, p->ldc);                                \
    else if (p->op == SYRK)                                                                        \
        ((void (*)(int, int, int, integer, integer, scalar, x, integer, scalar, void *,            \
                   integer))f)(p->order, p->uplo, p->transa, p->n, p->k, by, memory_a, p->lda,     \
                               add, place_of_c, p->ldc);                                           \
    else if (p->op == GEMMT)                                                                       \
        ((void (*)(int, int, int, int, integer, integer, scalar, x, integer, x, integer, scalar,   \
                   void *, integer))f)(p->order, p->uplo, p->transa, p->transb, p->n, p->k, by,    \
                                       memory_a, p->lda, memory_b, p->ldb, add, place_of_c,        \
                                       p->ldc);                                                    \
    else                                                                                           \
        ((void (*)(int, int, int, integer, integer, integer, scalar, x, integer, integer, x,       \
                   integer, integer, scalar, void *, integer, integer, integer))f)(                \
            p->order, p->transa, p->transb, p->m, p->n, p->k, by, memory_a, p->lda, p->stride[0],  \
            memory_b, p->ldb, p->stride[1], add, place_of_c, p->ldc, p->stride[2], p->count)

static void call_cblas(const struct product *p, function *f, const struct arrays *v)
{
    const union number alpha = number_of(p->type, p->alpha), beta = number_of(p->type, p->beta);
    typedef const integer *i;
    typedef const void *x;
    if (p->op == BATCH)
        ((void (*)(int, const int *, const int *, i, i, i, x, x, i, x, i, x, x, i, integer, i))f)(
            p->order, &p->transa, &p->transb, &p->m, &p->n, &p->k, &alpha, v->a, &p->lda, v->b,
            &p->ldb, &beta, v->c, &p->ldc, 1, &p->count);
    else if (p->type == TYPE_S)
        CALL_CBLAS(float, alpha.s, beta.s);
    else if (p->type == TYPE_D)
        CALL_CBLAS(double, alpha.d, beta.d);
    else
        CALL_CBLAS(x, &alpha, &beta);
}

/* Rows, as they lie in memory, and their length, of A, B and C. */
static void extents_of(const struct product *p, struct extent extents[3])
{
    const int by_row = p->order == 101;
    const struct extent a = {p->m, p->k}, b = {p->k, p->n}, c = {p->m, p->n};
    const struct extent all[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        int trans = i < 2 && (i ? p->transb : p->transa) != 111;
        extents[i] = by_row != trans ? all[i] : (struct extent){all[i].columns, all[i].rows};
    }
}

/* Element (i,j) of op() of the matrix that begins at `first`; rows lie behind each other. */
static double complex element(const struct product *p, const void *matrix, int first, int trans,
                              struct extent extent, int i, int j)
{
    const int straight = (p->order == 101) == (trans == 111);
    const int row = straight ? i : j, column = straight ? j : i;
    double complex x = get(p->type, matrix, first + row * (int)extent.columns + column);
    return trans == 113 ? conj(x) : x;
}

/* How many elements of C are not what they must be, those between and behind its rows too. */
static int wrong_in(const struct product *p, const struct extent extents[3], const int apart[3])
{
    const double unit = p->type == TYPE_S || p->type == TYPE_C ? 0x1p-22 : 0x1p-51;
    int wrong = 0;
    for (int at = 0; at < COUNT * SIDE * SIDE; at++) {
        const int each = apart[2] ? at / apart[2] : 0, in = at - each * apart[2];
        const int row = in / (int)extents[2].columns, column = in % (int)extents[2].columns;
        const int i = p->order == 101 ? row : column, j = p->order == 101 ? column : row;
        const double complex old = get(p->type, memory_old, at);
        const int triangle = p->op == SYRK || p->op == GEMMT;
        if (each >= p->count || row >= extents[2].rows ||
            (triangle && (p->uplo == 121 ? i > j : i < j))) {
            wrong += !(get(p->type, memory_c, at) == old);
            continue;
        }
        double complex sum = p->beta * old;
        for (int l = 0; l < p->k && p->alpha != 0; l++)
            sum += p->alpha * element(p, memory_a, each * apart[0], p->transa, extents[0], i, l) *
                   (p->op == SYRK
                        ? element(p, memory_a, 0, p->transa, extents[0], j, l)
                        : element(p, memory_b, each * apart[1], p->transb, extents[1], l, j));
        wrong += !(cabs(get(p->type, memory_c, at) - sum) <= 64 * unit);
    }
    return wrong;
}

/* Leading dimensions, and strides; false: all of the former separate rows. */
static int set_distances(struct product *p, const struct extent extents[3], int step, int apart[3])
{
    const int unread = p->alpha == 0 || p->k == 0;
    integer *const lds[] = {&p->lda, &p->ldb, &p->ldc};
    int enlarged = 0;
    for (int i = 0; i < 3; i++) {
        const int nowhere = extents[i].rows == 1 || (unread && i < 2);
        *lds[i] = nowhere ? step_of(p->type, step) : extents[i].columns + !extents[i].columns;
        enlarged += nowhere && (i != 1 || p->op != SYRK);
        apart[i] = p->op >= STRIDED ? SIDE * SIDE : 0;
        p->stride[i] = p->count > 1 ? apart[i] : step_of(p->type, step); /* there is no second */
    }
    return enlarged;
}

static void call_product(const struct product *p, function *f)
{
    struct arrays arrays;
    for (int i = 0; i < COUNT; i++) {
        const size_t at = (size_t)(i * SIDE * SIDE) * type_bytes[p->type];
        arrays.a[i] = (char *)memory_a + at;
        arrays.b[i] = (char *)memory_b + at;
        arrays.c[i] = (char *)place_of_c + at;
    }
    (p->order ? call_cblas : call_fortran)(p, f, &arrays);
}

static void run_product(struct product p, int step)
{
    function *const f = function_of(&p);
    struct extent extents[3];
    uint64_t seed = 1;
    int apart[3];
    extents_of(&p, extents);
    if (!f || !set_distances(&p, extents, step, apart))
        return;
    for (int i = 0; i < ELEMENTS; i++) {
        set(p.type, memory_a, i, CMPLX((double)xt_random(&seed), (double)xt_random(&seed)));
        set(p.type, memory_b, i, CMPLX((double)xt_random(&seed), (double)xt_random(&seed)));
        set(p.type, memory_old, i, CMPLX((double)xt_random(&seed), (double)xt_random(&seed)));
    }
    memcpy(memory_c, memory_old, sizeof memory_c);
    call_product(&p, f);
    int wrong = wrong_in(&p, extents, apart);
    XT_CHECK(wrong == 0,
             "contract 3.3: %c%s order %d uplo %d trans %d %d size %d %d %d step %d: %d wrong",
             "sdcz"[p.type], product_names[p.op], p.order, p.uplo, p.transa, p.transb, (int)p.m,
             (int)p.n, (int)p.k, step, wrong);
    if (p.alpha == 0 || p.k == 0)
        return;
    place_of_c = p.op == SYRK || p.n % 2 ? memory_a : memory_b;
    call_product(&p, f);
    place_of_c = memory_c;
    if (p.op < GEMMT) { /* the others have no library to be alone with */
        add_to_hash(memory_a, sizeof memory_a);
        add_to_hash(memory_b, sizeof memory_b);
    }
}

/* Of each type, order, triangle and transposes, in sizes with rows that are alone. */
static void run_products(int op)
{
    static const int sizes[][3] = {{1, 1, 1}, {1, 4, 3}, {3, 1, 4}, {4, 3, 1},
                                   {1, 1, 4}, {1, 4, 1}, {3, 4, 2}, {2, 4, 0}};
    for (int form = 0; form < TYPES * 3 * 2 * 9; form++)
        for (int variant = 0; variant < 8 * STEPS * 2 * 2; variant++) {
            const int *size = sizes[variant % 8], nothing = variant / 8 / STEPS % 2;
            struct product p = {.op = op,
                                .type = form % TYPES,
                                .order = form / TYPES % 3 ? 100 + form / TYPES % 3 : 0,
                                .uplo = 121 + form / TYPES / 3 % 2,
                                .transa = 111 + form / TYPES / 6 % 3,
                                .transb = 111 + form / TYPES / 18,
                                .count = variant / 8 / STEPS / 2 && op >= STRIDED ? COUNT : 1};
            int two = p.type == TYPE_C || p.type == TYPE_Z;
            p.n = size[1], p.k = size[2];
            p.m = op == SYRK || op == GEMMT ? p.n : size[0];
            p.alpha = nothing ? 0 : CMPLX(0.5, two ? 0.25 : 0);
            p.beta = CMPLX(2, two ? 1 : 0);
            if (op == SYRK && (p.transb != 111 || (two && p.transa == 113)))
                continue;
            if (op != SYRK && op != GEMMT && p.uplo != 121)
                continue;
            run_product(p, variant / 8 % STEPS);
        }
}

/* Sizes beyond any memory, of operands that are not read. */
static void run_empty(void)
{
    if (sizeof(integer) < 8)
        return;
    for (int step = 0; step < STEPS; step++) {
        struct product p = {.op = GEMM, .type = TYPE_D, .transa = 111, .transb = 111, .count = 1};
        function *const f = function_of(&p);
        p.m = 2, p.n = 1, p.k = step_of(TYPE_D, step), p.beta = 2;
        p.lda = p.ldb = p.ldc = step_of(TYPE_D, step);
        memory_c[0] = 3, memory_c[1] = 5;
        call_product(&p, f);
        XT_CHECK(memory_c[0] == 6 && memory_c[1] == 10, "contract 3.3: step %d: %g %g", step,
                 memory_c[0], memory_c[1]);
        p.n = 0, p.m = step_of(TYPE_D, step), p.alpha = 1;
        call_product(&p, f);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    for (int form = 0; form < FORMS; form++) {
        struct call p = form_of(form);
        if (is_call(&p))
            run_form(p);
    }
    for (int op = 0; op < (argc > 1 ? PRODUCTS : GEMMT); op++)
        run_products(op);
    run_empty();
    printf("overlaps %08x\n", overlaps_hash);
    return xt_done();
}
