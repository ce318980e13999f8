/* SPDX-License-Identifier: MIT */
/*
 * Calls Level 3 operations of every type in every form, with legal and illegal arguments, and
 * prints each result, so that a run with the library preloaded can be compared with one without.
 * Numbers that a call must not read are NaN, or lie on inaccessible pages. Compiled by the preload
 * tests; calls.h says how to choose the operations, and OWN_XERBLA gives the program its own error
 * handler.
 *   level3 legal          checks every answer, and prints a hash of each
 *   level3 large          the same for triangles with rectangular parts, where GEMM computes them;
 *                         with LEVEL3_SIDE=160
 *   level3 edges          each operand begins behind an inaccessible page, or ends before one
 *   level3 triangles      the triangle that is not stored has inaccessible pages
 *   level3 empty          operands that a call must not read are inaccessible
 *   level3 unread         how a child ends that may not read A and B, in SGEMM and DGEMM
 *   level3 illegal        prints the BLAS's errors, how a child ends, and whether C changed
 *   level3 illegal-sgemm  the same for SGEMM alone
 * Contract 2.3, 3.1, 3.2 and 5.1 (doc/contract.md).
 */
#include "operations.h"

#ifndef LEVEL3_SIDE
#define LEVEL3_SIDE 40
#endif
enum { SIDE = LEVEL3_SIDE, ELEMENTS = SIDE * SIDE, ROOM_BYTES = 10 << 20 };

#ifdef OWN_XERBLA
/* An error handler that returns. */
void xerbla_(const char *name, const integer *argument, size_t name_length)
{
    (void)name_length; /* a BLAS written in C may not pass it */
    printf("the program's xerbla_: %.6s, argument %ld\n", name, (long)*argument);
}
#endif

/* The operands, each between inaccessible pages; the last one is C before the call. */
static char *rooms[4];
static struct matrix *const matrices[] = {&matrix_a, &matrix_b, &matrix_c, &matrix_old};

static size_t page_bytes;

static void protect(void *memory, size_t bytes, int protection)
{
    if (bytes && mprotect(memory, bytes, protection))
        exit(XT_HARD);
}

static void make_rooms(void)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < 4; i++) {
        char *memory = shared_memory(ROOM_BYTES + 2 * page_bytes);
        protect(memory, page_bytes, PROT_NONE);
        protect(memory + page_bytes + ROOM_BYTES, page_bytes, PROT_NONE);
        rooms[i] = memory + page_bytes;
    }
}

/* Places each operand at the beginning of its room, or at its end, with no bytes to spare. */
static void place_operands(const struct call *p, int at_end)
{
    const int elements[] = {elements_of(extent_a(p), p->lda), elements_of(extent_b(p), p->ldb),
                            elements_of(extent_c(p), p->ldc), elements_of(extent_c(p), p->ldc)};
    for (int i = 0; i < 4; i++) {
        size_t bytes = (size_t)elements[i] * type_bytes[p->type];
        *matrices[i] = (struct matrix){rooms[i] + (at_end ? ROOM_BYTES - bytes : 0), elements[i]};
    }
}

/* Places each operand with room for any of the smaller sizes. */
static void place_loosely(void)
{
    for (int i = 0; i < 4; i++)
        *matrices[i] = (struct matrix){rooms[i], ELEMENTS};
}

/* Takes one call of 7, or of 23, of each operation, so that types and orders, which follow each
 * other, take turns. */
static int is_sampled(const struct call *p)
{
    static int calls[OPERATIONS];
    return calls[p->op]++ % (is_triangular(p) ? 23 : 7) == 0;
}

/* --- Legal ---------------------------------------------------------------------------------- */

static const double complex scalars[][2] = {
    {1, 0}, {CMPLX(-0.5, 0.25), CMPLX(2, -1)}, {1, 1}, {0, CMPLX(0.5, 0.5)}, {0, 0}, {0, 1}};
static const int sizes[][3] = {{1, 1, 1},  {3, 5, 7}, {31, 33, 29}, {17, 1, 9},
                               {1, 19, 4}, {4, 6, 0}, {0, 3, 4},    {3, 0, 4}};

/* null: C is a null pointer, and so are A without rows and B without columns. */
static void call_with_null(const struct call *p, int null)
{
    const struct matrix a = matrix_a, b = matrix_b, c = matrix_c;
    if (null) {
        matrix_a.at = p->m ? a.at : NULL;
        matrix_b.at = p->n ? b.at : NULL;
        matrix_c.at = NULL;
    }
    call(p);
    matrix_a = a, matrix_b = b, matrix_c = c;
}

/* Structured operations have more forms, so each is called with fewer sizes and scalars. */
static void run_legal(struct call p, int turn)
{
    const int is_structured = p.op < GEMM;
    (void)turn;
    place_loosely();
    for (int s = 0; s < (is_structured ? 3 : 8); s++)
        for (int f = 0; f < (is_structured ? 4 : 6); f++) {
            set_size(&p, sizes[s][0], sizes[s][1], sizes[s][2], (s + f) % 2 ? 5 : 0);
            set_scalars(&p, scalars[f][0], scalars[f][1]);
            fill(&p);
            call_with_null(&p, !is_structured && f % 2 && (!p.m || !p.n));
            judge_call(&p);
        }
}

static void run_large(struct call p, int turn)
{
    (void)turn;
    place_loosely();
    set_size(&p, SIDE - 10, SIDE - 10, 5, 3);
    set_scalars(&p, 2, 0.5);
    fill(&p);
    call(&p);
    judge_call(&p);
}

static void run_edges(struct call p, int turn)
{
    for (int s = 0; s < 3; s++) {
        set_size(&p, sizes[s][0], sizes[s][1], sizes[s][2], (s + turn) % 3);
        set_scalars(&p, scalars[s][0], scalars[s][1]);
        place_operands(&p, (s + turn) % 2);
        fill(&p);
        call(&p);
        judge_call(&p);
    }
}

/* --- Triangles ------------------------------------------------------------------------------ */

/* Protects the pages that lie only in the triangle that is not stored, with rows ld apart. */
static void protect_triangle(const struct call *p, const struct matrix *matrix, integer n,
                             integer ld, int protection)
{
    const size_t bytes = type_bytes[p->type], row_bytes = (size_t)ld * bytes;
    const int upper = by_rows(p) == (p->uplo == 121);
    for (integer i = 0; i < n; i++) {
        size_t begin = upper ? 0 : (size_t)(i + 1) * bytes + page_bytes - 1;
        size_t end = upper ? (size_t)i * bytes : row_bytes;
        begin -= begin % page_bytes, end -= end % page_bytes;
        if (begin < end)
            protect(matrix->at + (size_t)i * row_bytes + begin, end - begin, protection);
    }
}

static void run_triangles(struct call p, int turn)
{
    const integer page = (integer)(page_bytes / type_bytes[p.type]), n = page + 100;
    const struct matrix *matrix = has_side(&p) ? &matrix_a : &matrix_c;
    if (p.op == GEMM || !is_sampled(&p))
        return;
    set_size(&p, p.side == 141 ? n : 6, p.side == 141 && has_side(&p) ? 6 : n, 6, 0);
    *(has_side(&p) ? &p.lda : &p.ldc) = 2 * page;
    set_scalars(&p, scalars[turn % 2 + 1][0], scalars[turn % 2 + 1][1]);
    place_operands(&p, 0);
    fill(&p);
    protect_triangle(&p, matrix, n, 2 * page, PROT_NONE);
    call(&p);
    protect_triangle(&p, matrix, n, 2 * page, PROT_READ | PROT_WRITE);
    judge_call(&p);
}

/* --- Nothing to read ------------------------------------------------------------------------ */

/* Protects the rooms of A, B and C, or the first `count` of them. */
static void protect_rooms(int count, int protection)
{
    for (int i = 0; i < count; i++)
        protect(rooms[i], ROOM_BYTES, protection);
}

/* Calls in which m, n, k or alpha is 0. */
static void run_empty(struct call p, int turn)
{
    static const int empty[][3] = {{0, 5, 3}, {5, 0, 3}, {0, 0, 3}, {6, 5, 0}, {6, 5, 4}};
    for (size_t s = 0; s < sizeof empty / sizeof empty[0]; s++) {
        const int *size = empty[s];
        int nothing = !size[1] || (has_side(&p) && !size[0]);
        if (!size[2] && has_side(&p))
            continue;
        set_size(&p, size[0], size[1], size[2], turn % 2);
        set_scalars(&p, nothing || !size[2] ? 1 : 0, turn % 3);
        place_operands(&p, 1);
        fill(&p);
        protect_rooms(nothing ? 3 : 2, PROT_NONE);
        call(&p);
        protect_rooms(3, PROT_READ | PROT_WRITE);
        judge_call(&p);
    }
}

/* Sizes around those of OpenBLAS's kernels for small products, which read more than they need. */
static void run_unread(struct call p, int turn)
{
    static const int sides[] = {20, 96, 100, 130};
    (void)turn;
    if (p.op != GEMM || is_complex(&p) || p.order != 101 || p.trans != 111 || p.transb != 111)
        return;
    for (int i = 0; i < 8; i++) {
        const int side = sides[i / 2], by_alpha = i % 2;
        set_size(&p, side, side, by_alpha ? side : 0, 0);
        set_scalars(&p, by_alpha ? 0 : 2, 0.5);
        place_operands(&p, 0);
        fill(&p);
        protect_rooms(2, PROT_NONE);
        call_in_child(&p);
        protect_rooms(2, PROT_READ | PROT_WRITE);
    }
}

/* --- Illegal -------------------------------------------------------------------------------- */

/*
 * Each type takes three of nine pairs of transposes, by rows other ones than by columns. Together
 * they cover each transpose of either operand, and over all types each pair. Each call runs in a
 * process of its own, which often starts the engine.
 */
static int is_in_turn(const struct call *p)
{
    return p->op == SYRK || (p->trans + p->transb + p->type + p->order) % 3 == 0;
}

/* Makes one size or leading dimension wrong, or several, of which the first one is reported. */
static void run_wrong_sizes(const struct call *good)
{
    static const struct {
        int m, n, k, lda, ldb, ldc; /* added to the right values */
    } wrong[] = {{-20, 0, 0, 0, 0, 0},    {0, -20, 0, 0, 0, 0},    {0, 0, -20, 0, 0, 0},
                 {0, 0, 0, -1, 0, 0},     {0, 0, 0, 0, -1, 0},     {0, 0, 0, 0, 0, -1},
                 {0, 0, 0, -99, 0, 0},    {0, 0, 0, 0, -99, 0},    {0, 0, 0, 0, 0, -99},
                 {-20, -20, 0, -1, 0, 0}, {0, 0, 0, -1, -1, -1},   {-7, 0, 0, -99, 0, -99},
                 {0, -5, 0, 0, -99, -99}, {0, 0, -6, -99, -99, 0}, {0, -9, -9, -99, -99, -99}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct call p = *good;
        p.m += wrong[i].m, p.n += wrong[i].n, p.k += wrong[i].k;
        p.lda += wrong[i].lda, p.ldb += wrong[i].ldb, p.ldc += wrong[i].ldc;
        call_in_child(&p);
    }
}

/* Numbers that the C interface lacks, or has for something else; for Fortran, such letters. */
static void run_wrong_letters(const struct call *good)
{
    static const int numbers[] = {0, 110, 113, 114, 115, 121, 'N', -1};
    static const char *const letters[] = {"X", "", "C", "R", "r", "u", "1", " N"};
    for (int i = 0; i < 8; i++) {
        struct call trans = *good, uplo = *good, transb = *good, order = *good;
        trans.trans = uplo.uplo = transb.transb = numbers[i];
        trans.spelled_trans = uplo.spelled = transb.spelled_transb = letters[i];
        call_in_child(&trans);
        if (good->op != GEMM)
            call_in_child(&uplo);
        if (good->op != SYRK)
            call_in_child(&transb);
        order.order = numbers[i];
        if (good->order && numbers[i])
            call_in_child(&order);
    }
}

/* Structured operations with one wrong argument, or several, of which the first is reported. */
static void run_wrong_arguments(struct call p)
{
    static const struct {
        int order, side, uplo, trans, diag, m, n, k, lda, ldb, ldc; /* added to the right values */
    } wrong[] = {{.order = 8},
                 {.side = -20},
                 {.uplo = 2},
                 {.trans = 3},
                 {.trans = 10},
                 {.diag = 2},
                 {.m = -20},
                 {.n = -20},
                 {.k = -20},
                 {.lda = -1},
                 {.ldb = -1},
                 {.ldc = -1},
                 {.lda = -50, .ldb = -50, .ldc = -50},
                 {.uplo = 30, .n = -9, .ldc = -9}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct call q = p;
        q.order += p.order ? wrong[i].order : 0;
        q.side += wrong[i].side, q.uplo += wrong[i].uplo;
        q.trans += wrong[i].trans, q.diag += wrong[i].diag;
        q.m += wrong[i].m, q.n += wrong[i].n, q.k += wrong[i].k;
        q.lda += wrong[i].lda, q.ldb += wrong[i].ldb, q.ldc += wrong[i].ldc;
        call_in_child(&q);
    }
    /* The transpose that the operation's complex types do not have. */
    p.trans = is_hermitian(&p) ? 112 : 113;
    call_in_child(&p);
}

static void run_illegal(struct call p, int turn)
{
    const int is_structured = p.op < GEMM;
    (void)turn;
    if (is_structured && !is_sampled(&p))
        return;
    set_size(&p, 7, is_structured || p.op == GEMM ? 5 : 7, 6, 0);
    set_scalars(&p, 1, 0.5);
    place_operands(&p, 0);
    fill(&p);
    static int forms;
    if (p.op == GEMMT && forms++) {
        struct call none = p; /* loads a library that lacks GEMMT once, not in every child */
        none.n = 0;
        call(&none);
    }
    if (is_structured)
        run_wrong_arguments(p);
    else if (is_in_turn(&p))
        run_wrong_sizes(&p);
    if (!is_structured && p.trans == 111 && p.transb == 111 && (p.op == GEMMT || p.uplo == 121))
        run_wrong_letters(&p);
}

static void run_illegal_sgemm(struct call p, int turn)
{
    if (p.type == TYPE_S && p.op == GEMM)
        run_illegal(p, turn);
}

/* Spells letters small or large, or as a word, of which the first letter counts. */
static void spell(struct call *p)
{
    static const char *const uplos[][2] = {{"U", "u"}, {"L", "l"}};
    static const char *const words[][3] = {
        {"N", "n", "No"}, {"T", "t", "Transpose"}, {"C", "c", "Conjugate"}};
    const int a = p->trans - 111, b = p->transb - 111;
    p->spelled = uplos[p->uplo - 121][(a + b) % 2];
    p->spelled_trans = words[a][(b + p->uplo - 121) % 3];
    p->spelled_transb = words[b][(a + 1) % 3];
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(struct call p, int turn);
    } modes[] = {{"legal", run_legal},     {"large", run_large},
                 {"edges", run_edges},     {"triangles", run_triangles},
                 {"empty", run_empty},     {"unread", run_unread},
                 {"illegal", run_illegal}, {"illegal-sgemm", run_illegal_sgemm}};
    setvbuf(stdout, NULL, _IOLBF, 0);
    make_rooms();
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        for (int form = 0; argc > 1 && !strcmp(argv[1], modes[i].name) && form < FORMS; form++) {
            struct call p = form_of(form);
            if (!is_called(&p) || !is_call(&p))
                continue;
            if (p.op >= GEMM)
                spell(&p);
            modes[i].run(p, form / OPERATIONS + p.op);
        }
    return argc > 1 ? xt_done() : XT_HARD;
}
