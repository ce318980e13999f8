/* SPDX-License-Identifier: MIT */
/*
 * Calls GEMM and SYRK of every type with arguments of every kind, legal and not, and prints what
 * came of each, so that a run with the library preloaded can be compared with one without.
 * Compiled by the preload tests, with CALL_INT, WITH_FORTRAN=0 for a BLAS that has only the C
 * interface, and OWN_XERBLA for a program that has an error handler of its own. With
 * WITH_GEMMT=gemmt the same of GEMMT alone, which not every BLAS has, with =gemmtr under that name.
 *   level3 legal            checks every answer, and prints a hash of each
 *   level3 large            the same of a triangle of which parts are rectangles, where it is made
 *                           of GEMM; with LEVEL3_SIDE=160
 *   level3 illegal          what the BLAS says, how it leaves, and whether C was touched
 *   level3 illegal-sgemm    the same of SGEMM alone
 */
#ifndef WITH_GEMMT
#define WITH_PRODUCTS
#endif
#include "handler.h"
#include "operations.h"

#ifndef LEVEL3_SIDE
#define LEVEL3_SIDE 40
#endif
enum { SIDE = LEVEL3_SIDE, ELEMENTS = SIDE * SIDE };

/* --- Legal ---------------------------------------------------------------------------------- */

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

static void run_legal(struct call p)
{
    static const int sizes[][3] = {{1, 1, 1},    {3, 5, 7}, {17, 1, 9}, {1, 19, 4},
                                   {31, 33, 29}, {4, 6, 0}, {0, 3, 4},  {3, 0, 4}};
    static const double complex scalars[][2] = {
        {1, 0}, {1, 1}, {CMPLX(-0.5, 0.25), CMPLX(2, -1)}, {0, CMPLX(0.5, 0.5)}, {0, 0}, {0, 1}};
    for (int s = 0; s < 8; s++)
        for (int f = 0; f < 6; f++) {
            set_size(&p, sizes[s][0], sizes[s][1], sizes[s][2], (s + f) % 2 ? 5 : 0);
            set_scalars(&p, scalars[f][0], scalars[f][1]);
            fill(&p);
            call_with_null(&p, f % 2 && (!p.m || !p.n));
            judge_call(&p);
        }
}

static void run_large(struct call p)
{
    set_size(&p, SIDE - 10, SIDE - 10, 5, 3);
    set_scalars(&p, 2, 0.5);
    fill(&p);
    call(&p);
    judge_call(&p);
}

/* --- Illegal -------------------------------------------------------------------------------- */

/*
 * Of nine pairs of transposes each type takes three, others by rows than by columns: among them
 * each transpose of either operand, and among the types each pair. A call is a process, and often
 * one that starts the engine.
 */
static int is_in_turn(const struct call *p)
{
    return p->op == SYRK || (p->trans + p->transb + p->type + p->order) % 3 == 0;
}

/* One size or leading dimension wrong, or several, of which the first one counts. */
static void run_wrong_sizes(const struct call *good)
{
    static const struct {
        int m, n, k, lda, ldb, ldc; /* added to what is right */
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

/* A number that the C interface has not, or has for something else; of Fortran a letter. */
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

static void run_illegal(struct call p)
{
    set_size(&p, 7, p.op == GEMM ? 5 : 7, 6, 0);
    set_scalars(&p, 1, 0.5);
    fill(&p);
    if (is_in_turn(&p))
        run_wrong_sizes(&p);
    if (p.trans == 111 && p.transb == 111 && (p.op == GEMMT || p.uplo == 121))
        run_wrong_letters(&p);
}

static void run_illegal_sgemm(struct call p)
{
    if (p.type == TYPE_S && p.op == GEMM)
        run_illegal(p);
}

/* In small letters or large ones, and as a word, of which the first letter counts. */
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
        void (*run)(struct call p);
    } modes[] = {{"legal", run_legal},
                 {"large", run_large},
                 {"illegal", run_illegal},
                 {"illegal-sgemm", run_illegal_sgemm}};
    struct matrix *const matrices[] = {&matrix_a, &matrix_b, &matrix_c, &matrix_old};
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < 4; i++)
        *matrices[i] = (struct matrix){shared_memory(ELEMENTS * sizeof(union number)), ELEMENTS};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        for (int form = 0; argc > 1 && !strcmp(argv[1], modes[i].name) && form < FORMS; form++) {
            struct call p = form_of(form);
            if (is_called(&p) && is_call(&p)) {
                spell(&p);
                modes[i].run(p);
            }
        }
    return argc > 1 ? xt_done() : XT_HARD;
}
