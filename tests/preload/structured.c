/* SPDX-License-Identifier: MIT */
/*
 * Calls HERK, SYMM, HEMM, SYR2K, HER2K, TRMM and TRSM of every type in every form, checks each
 * answer by the operation's definition and prints a hash of it, so that a run with the library
 * preloaded can be compared with one without. What may not be read is NaN, or on pages that nobody
 * may touch. Compiled by the preload tests, with CALL_INT.
 *   structured forms      every form, small
 *   structured edges      each operand begins behind such a page, or ends before one
 *   structured triangles  such pages in the triangle that is not there
 *   structured empty      such operands where nothing of them is to be read
 *   structured illegal    what the BLAS says, how it leaves, and whether C was touched
 * Contract 2.3, 3.1, 3.2 and 5.1 (doc/contract.md).
 */
#include "handler.h"
#include "operations.h"

enum { SIDE = 40, ELEMENTS = SIDE * SIDE, ROOM_BYTES = 10 << 20 };

/* Where each operand lies, between pages that nobody may touch; the last one is C as it was. */
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

/* Every operand at the beginning of its room, or up to its end, and no larger than it is. */
static void place_operands(const struct call *p, int at_end)
{
    const int elements[] = {elements_of(extent_a(p), p->lda), elements_of(extent_b(p), p->ldb),
                            elements_of(extent_c(p), p->ldc), elements_of(extent_c(p), p->ldc)};
    for (int i = 0; i < 4; i++) {
        size_t bytes = (size_t)elements[i] * type_bytes[p->type];
        *matrices[i] = (struct matrix){rooms[i] + (at_end ? ROOM_BYTES - bytes : 0), elements[i]};
    }
}

/* Where there is room for any of the smaller sizes. */
static void place_loosely(void)
{
    for (int i = 0; i < 4; i++)
        *matrices[i] = (struct matrix){rooms[i], ELEMENTS};
}

/* One call in so many of each operation, in which types and orders, that follow each other, take
 * turns. */
static int is_sampled(const struct call *p)
{
    static int calls[OPERATIONS];
    return calls[p->op]++ % (is_triangular(p) ? 23 : 7) == 0;
}

static const double complex scalars[][2] = {
    {1, 0}, {CMPLX(-0.5, 0.25), CMPLX(2, -1)}, {1, 1}, {0, CMPLX(0.5, 0)}};
static const int sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {31, 33, 29}};

static void run_form(struct call p, int turn)
{
    (void)turn;
    place_loosely();
    for (int s = 0; s < 12; s++) {
        set_size(&p, sizes[s / 4][0], sizes[s / 4][1], sizes[s / 4][2], s % 2 * 3);
        set_scalars(&p, scalars[s % 4][0], scalars[s % 4][1]);
        fill(&p);
        call(&p);
        judge_call(&p);
    }
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

/* Protects the pages of the operand, rows apart by ld, that lie in the triangle that is not there
 * alone. */
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
    if (!is_sampled(&p))
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

/* m, n, k or alpha is 0. */
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
        for (int i = 0; i < 3; i++)
            if (i < 2 || nothing)
                protect(rooms[i], ROOM_BYTES, PROT_NONE);
        call(&p);
        for (int i = 0; i < 3; i++)
            protect(rooms[i], ROOM_BYTES, PROT_READ | PROT_WRITE);
        judge_call(&p);
    }
}

/* --- Illegal -------------------------------------------------------------------------------- */

/* One argument wrong, or several, of which the first one counts. */
static void run_illegal(struct call p, int turn)
{
    static const struct {
        int order, side, uplo, trans, diag, m, n, k, lda, ldb, ldc; /* added to what is right */
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
    (void)turn;
    if (!is_sampled(&p))
        return;
    set_size(&p, 7, 5, 6, 0);
    set_scalars(&p, 1, 0.5);
    place_operands(&p, 0);
    fill(&p);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct call q = p;
        q.order += p.order ? wrong[i].order : 0;
        q.side += wrong[i].side, q.uplo += wrong[i].uplo;
        q.trans += wrong[i].trans, q.diag += wrong[i].diag;
        q.m += wrong[i].m, q.n += wrong[i].n, q.k += wrong[i].k;
        q.lda += wrong[i].lda, q.ldb += wrong[i].ldb, q.ldc += wrong[i].ldc;
        call_in_child(&q);
    }
    /* The transpose that complex types of the operation have not. */
    p.trans = is_hermitian(&p) ? 112 : 113;
    call_in_child(&p);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(struct call p, int turn);
    } modes[] = {{"forms", run_form},
                 {"edges", run_edges},
                 {"triangles", run_triangles},
                 {"empty", run_empty},
                 {"illegal", run_illegal}};
    setvbuf(stdout, NULL, _IOLBF, 0);
    make_rooms();
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        for (int form = 0; argc > 1 && !strcmp(argv[1], modes[i].name) && form < FORMS; form++) {
            struct call p = form_of(form);
            if (is_called(&p) && is_call(&p))
                modes[i].run(p, form / OPERATIONS + p.op);
        }
    return argc > 1 ? xt_done() : XT_HARD;
}
