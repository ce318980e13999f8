/* SPDX-License-Identifier: MIT */
/*
 * Matrices with one row in memory, and matrices that are not read: their leading dimension
 * separates no rows, so any number that is large enough is legal, even one whose bytes come to
 * 2^64. Covers every operation, type, order, triangle and transpose. Each call is repeated with C
 * in the place of an operand; the caller's BLAS computes that as without the library, and a hash of
 * these results is printed. Compiled by the preload tests, with CALL_INT. Contract 3.3 and 4.2
 * (doc/contract.md).
 *   row       the operations that every BLAS has
 *   row all   also those that this library alone may have: GEMMT and batches
 */
#include <dlfcn.h>
#include <stdint.h>

/* The dynamic linker finds the operations, since a library may lack some. */
#define WITH_STRUCTURED
#define WITH_PRODUCTS
#define WITH_GEMMT gemmt
#define CALLED(name) FOUND(name)
#define FOUND(name) ((__typeof__(name) *)find(#name))

static void *find(const char *name);

#include "operations.h"

static void *find(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    if (!function)
        exit(XT_HARD);
    return function;
}

enum { SIDE = 4, EACH = SIDE * SIDE, COUNT = 3, ELEMENTS = COUNT * EACH };

/* A, B, C, and C before the call. */
static double memory[4][2 * ELEMENTS];

static void place_matrices(int type, int first, int elements)
{
    struct matrix *const matrices[] = {&matrix_a, &matrix_b, &matrix_c, &matrix_old};
    for (int i = 0; i < 4; i++)
        *matrices[i] =
            (struct matrix){(char *)memory[i] + (size_t)first * type_bytes[type], elements};
}

/* Leading dimensions: one whose bytes come to 2^64, and the largest. */
enum { STEPS = 2 };

static integer step_of(int type, int step)
{
    const int64_t wide = step ? INT64_MAX : INT64_MAX / (int64_t)type_bytes[type] * 2 + 2;
    return (integer)(sizeof(integer) == 8 ? wide : wide >> 32);
}

/* Enlarges the leading dimensions that separate no rows: of C with one row, of the others also
 * where they are not read. */
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

/* --- Batches --------------------------------------------------------------------------------- */

/* A call alone, or GEMM as a batch of `count` matrices, EACH elements apart. */
enum kind { ALONE, STRIDED, BATCH, KINDS };

static const char *const kind_names[] = {"", "_batch_strided", "_batch"};

#define CALL_STRIDED(name, by, add)                                                                \
    CALL_EITHER(name,                                                                              \
                (p->order, p->trans, p->transb, p->m, p->n, p->k, by, a, p->lda, stride, b,        \
                 p->ldb, stride, add, c, p->ldc, stride, count),                                   \
                (trans, transb, &p->m, &p->n, &p->k, &alpha, a, &p->lda, &stride, b, &p->ldb,      \
                 &stride, &beta, c, &p->ldc, &stride, &count, 1, 1))
#define CALL_BATCH(name, by, add)                                                                  \
    CALL_EITHER(name,                                                                              \
                (p->order, &p->trans, &p->transb, &p->m, &p->n, &p->k, &alpha, as, &p->lda, bs,    \
                 &p->ldb, &beta, cs, &p->ldc, 1, &count),                                          \
                (trans, transb, &p->m, &p->n, &p->k, &alpha, as, &p->lda, bs, &p->ldb, &beta, cs,  \
                 &p->ldc, &one, &count, 1, 1))

static void call_batch(const struct call *p, enum kind kind, integer count, integer stride)
{
    const union number alpha = number_of(p->type, p->alpha), beta = number_of(p->type, p->beta);
    const char *trans = letter(p->trans), *transb = letter(p->transb);
    const integer one = 1;
    const void *a = matrix_a.at, *b = matrix_b.at, *as[COUNT], *bs[COUNT];
    void *c = matrix_c.at, *cs[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        as[i] = matrix_a.at + i * EACH * type_bytes[p->type];
        bs[i] = matrix_b.at + i * EACH * type_bytes[p->type];
        cs[i] = matrix_c.at + i * EACH * type_bytes[p->type];
    }
    if (kind == STRIDED)
        CALL_TYPE(gemm_batch_strided, CALL_STRIDED);
    else
        CALL_TYPE(gemm_batch, CALL_BATCH);
}

static void call_kind(const struct call *p, enum kind kind, int count, int step)
{
    if (kind == ALONE)
        call(p);
    else /* a batch of one may have any stride */
        call_batch(p, kind, count, count > 1 ? EACH : step_of(p->type, step));
}

/* --- Forms ----------------------------------------------------------------------------------- */

/* A hash of the results of all calls whose C overlaps. */
static unsigned overlaps_hash = 2166136261u;

static void add_to_hash(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        overlaps_hash = (overlaps_hash ^ ((const unsigned char *)bytes)[i]) * 16777619u;
}

/* The operand that C overlaps holds numbers, because results from NaN differ between libraries. */
static void overlap(const struct call *wide, int n, enum kind kind, int count, int step)
{
    const int is_rank_k = wide->op == HERK || wide->op == SYRK;
    uint64_t seed = 2;
    place_matrices(wide->type, 0, ELEMENTS);
    for (int i = 0; i < ELEMENTS; i++)
        for (int x = 0; x < 3; x++)
            set(wide->type, memory[x], i,
                CMPLX(2 + (double)xt_random(&seed), wide->op == HERK ? 0 : 1));
    matrix_c.at = is_rank_k || n % 2 ? matrix_a.at : matrix_b.at;
    call_kind(wide, kind, count, step);
    if (kind == ALONE && wide->op != GEMMT) { /* the CPU library may lack the others */
        add_to_hash(memory[0], ELEMENTS * type_bytes[wide->type]);
        add_to_hash(memory[1], ELEMENTS * type_bytes[wide->type]);
    }
}

/* Runs a form in sizes for which matrices have one row. */
static void run_form(struct call plain, enum kind kind)
{
    static const int sizes[][3] = {{1, 1, 1}, {1, 4, 1}, {4, 1, 1}, {1, 1, 4}, {1, 3, 4},
                                   {3, 1, 4}, {4, 3, 1}, {3, 4, 2}, {4, 3, 0}};
    for (int variant = 0; variant < 9 * STEPS * 2 * (kind == ALONE ? 1 : 2); variant++) {
        const int *size = sizes[variant % 9], step = variant / 9 % STEPS;
        const int nothing = variant / 9 / STEPS % 2, count = variant / 9 / STEPS / 2 ? COUNT : 1;
        int right = 1;
        set_size(&plain, size[0], size[1], size[2], 0);
        set_scalars(&plain, nothing ? 0 : CMPLX(0.5, 0.25), CMPLX(2, 1));
        struct call wide = plain;
        if (!enlarge(&wide, step))
            continue;
        place_matrices(plain.type, 0, ELEMENTS);
        fill(&plain);
        call_kind(&wide, kind, count, step);
        for (int i = 0; i < count; i++) { /* the last one with the memory behind it */
            place_matrices(plain.type, i * EACH, (i < count - 1 ? 1 : COUNT - i) * EACH);
            right = right && is_right(&plain);
        }
        XT_CHECK(right, "contract 3.3: %c%s%s order %d uplo %d trans %d %d size %d %d %d step %d",
                 "sdcz"[plain.type], names[plain.op], kind_names[kind], plain.order, plain.uplo,
                 plain.trans, plain.transb, (int)plain.m, (int)plain.n, (int)plain.k, step);
        if (!is_triangular(&plain) && !nothing && plain.k)
            overlap(&wide, (int)plain.n, kind, count, step);
    }
}

/* Operands larger than any memory, which the call does not read. */
static void run_empty(void)
{
    if (sizeof(integer) < 8)
        return;
    for (int step = 0; step < STEPS; step++) {
        const integer wide = step_of(TYPE_D, step);
        struct call p = {.op = GEMM, .type = TYPE_D, .trans = 111, .transb = 111, .beta = 2};
        double *c = memory[2];
        place_matrices(TYPE_D, 0, ELEMENTS);
        p.m = 2, p.n = 1, p.k = p.lda = p.ldb = p.ldc = wide;
        c[0] = 3, c[1] = 5;
        call(&p);
        XT_CHECK(c[0] == 6 && c[1] == 10, "contract 3.3: step %d: %g %g", step, c[0], c[1]);
        p.n = 0, p.m = wide, p.alpha = 1;
        call(&p);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    for (int form = 0; form < FORMS; form++) {
        struct call p = form_of(form);
        if (is_call(&p) && (argc > 1 || p.op != GEMMT))
            run_form(p, ALONE);
        for (int kind = STRIDED; kind < KINDS && argc > 1; kind++)
            if (is_call(&p) && p.op == GEMM)
                run_form(p, (enum kind)kind);
    }
    run_empty();
    printf("overlaps %08x\n", overlaps_hash);
    return xt_done();
}
