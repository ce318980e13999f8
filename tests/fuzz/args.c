/* SPDX-License-Identifier: MIT */
/* Compares how the arguments of a call are read with a second statement of the rules: which
 * arguments the BLAS standard calls illegal, and where each element of A, B and C lies. */
#include "shim/args.h"
#include "call.h"

long fuzz_reached;

/* One of two letters in either case, or one of two numbers; sometimes any byte. */
static int take_letter(struct fuzz_bytes *bytes, bool cblas, int number, const char letters[4])
{
    uint8_t byte = fuzz_byte(bytes);
    if (cblas)
        return byte < 230 ? number + byte % 2 : (int8_t)fuzz_byte(bytes);
    return byte < 230 ? letters[byte % 4] : fuzz_byte(bytes);
}

static struct standard take_call(struct fuzz_bytes *bytes)
{
    uint8_t kind = fuzz_byte(bytes), what = fuzz_byte(bytes);
    int any = what % XG_KIND_GEMM_BATCH; /* batch.c tests the later kinds */
    struct standard call = {
        .op = xg_kind_op(any), .type = xg_kind_type(any), .int_bytes = kind & 1 ? 8 : 4};
    if (kind & 2)
        call.order = kind < 240 ? 101 + (kind >> 2 & 1) : 99 + fuzz_byte(bytes) % 6;
    call.side = take_letter(bytes, call.order != 0, 141, "LRlr");
    call.diag = take_letter(bytes, call.order != 0, 131, "NUnu");
    call.uplo = take_letter(bytes, call.order != 0, 121, "ULul");
    call.transa = take_trans(bytes, call.order != 0);
    call.transb = take_trans(bytes, call.order != 0);
    int64_t *const numbers[] = {&call.m, &call.n, &call.k, &call.lda, &call.ldb, &call.ldc};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *numbers[i] = take_int(bytes, call.int_bytes);
    if (standard_has_triangle(&call))
        call.m = call.n;
    if (standard_is_symm(&call) || standard_is_trmm(&call))
        call.k = standard_side(&call) == 'L' ? call.m : call.n;
    return call;
}

static const double alpha[2] = {1.5, 0.25}, beta[2] = {-2.0, 3.0};
static const float alpha_s[2] = {1.5f, 0.25f}, beta_s[2] = {-2.0f, 3.0f};

/* HERK has real scalars, and HER2K a real beta. */
static enum xg_type standard_alpha(const struct standard *call)
{
    if (call->op == XG_OP_HERK)
        return call->type == XG_TYPE_Z ? XG_TYPE_D : XG_TYPE_S;
    return call->type;
}

static enum xg_type standard_beta(const struct standard *call)
{
    if (call->op == XG_OP_HER2K)
        return call->type == XG_TYPE_Z ? XG_TYPE_D : XG_TYPE_S;
    return standard_alpha(call);
}

/* The arguments of every operation by name, with the types of each interface. */
struct cblas_arguments {
    int order, side, uplo, trans, transa, transb, diag;
    int64_t m, n, k, lda, ldb, ldc;
    union shim_scalar alpha, beta;
    float *a, *b, *c;
};

struct fortran_arguments {
    const char *side, *uplo, *trans, *transa, *transb, *diag;
    const int64_t *m, *n, *k, *lda, *ldb, *ldc;
    const void *alpha, *beta;
    float *a, *b, *c;
};

#define FIELD(role, name) .name = from->name,
#define PASS_CBLAS(op, OP, context)                                                                \
    case XG_OP_##OP:                                                                               \
        to->op##_cblas = (struct shim_##op##_cblas){.order = from->order, SHIM_EACH(OP, FIELD)};   \
        break;
#define PASS_FORTRAN(op, OP, context)                                                              \
    case XG_OP_##OP:                                                                               \
        to->op##_fortran = (struct shim_##op##_fortran){SHIM_EACH(OP, FIELD)};                     \
        break;

static void pass_cblas(enum xg_op op, const struct cblas_arguments *from, struct shim_call *to)
{
    switch (op) {
        SHIM_SINGLE(PASS_CBLAS, )
    default:
        abort();
    }
}

static void pass_fortran(enum xg_op op, const struct fortran_arguments *from, struct shim_call *to)
{
    switch (op) {
        SHIM_SINGLE(PASS_FORTRAN, )
    default:
        abort();
    }
}

/* TRMM and TRSM have no beta. */
static double standard_beta_value(const struct standard *call, int part)
{
    return standard_is_trmm(call) ? 0 : beta[part];
}

static void check_scalars(const struct standard *call, const struct xg_problem *p)
{
    FUZZ_CHECK(p->op == call->op && p->type == call->type, "which operation");
    if (call->op == XG_OP_GEMV && !p->k) {
        FUZZ_CHECK(p->beta == 1 && p->beta_im == 0, "y would be scaled");
        return;
    }
    FUZZ_CHECK(p->alpha == alpha[0] && p->beta == standard_beta_value(call, 0), "scalars");
    FUZZ_CHECK(p->alpha_im == (xg_type_is_complex(standard_alpha(call)) ? alpha[1] : 0) &&
                   p->beta_im ==
                       (xg_type_is_complex(standard_beta(call)) ? standard_beta_value(call, 1) : 0),
               "imaginary parts");
}

/* The call as a program passes it. */
static void read_call(const struct standard *call, void *const operands[3], uint64_t garbage,
                      struct shim_args *args)
{
    const bool is_double = xg_type_is_double(call->type);
    const char side = (char)call->side, uplo = (char)call->uplo, transa = (char)call->transa,
               transb = (char)call->transb, diag = (char)call->diag;
    struct shim_call passed = {.symbol = shim_symbol_spellings(xg_kind(call->op, call->type)) +
                                         (call->order ? 0 : 1)};
    const struct cblas_arguments cblas = {
        .order = call->order,
        .side = call->side,
        .uplo = call->uplo,
        .trans = call->transa,
        .transa = call->transa,
        .transb = call->transb,
        .diag = call->diag,
        .m = fuzz_slot(call, call->m, garbage),
        .n = fuzz_slot(call, call->n, garbage),
        .k = fuzz_slot(call, call->k, garbage),
        .lda = fuzz_slot(call, call->lda, garbage),
        .ldb = fuzz_slot(call, call->ldb, garbage),
        .ldc = fuzz_slot(call, call->ldc, garbage),
        .alpha = fuzz_scalar(standard_alpha(call), is_double ? (const void *)alpha : alpha_s),
        .beta = fuzz_scalar(standard_beta(call), is_double ? (const void *)beta : beta_s),
        .a = operands[0],
        .b = operands[1],
        .c = operands[2]};
    const struct fortran_arguments fortran = {.side = &side,
                                              .uplo = &uplo,
                                              .trans = &transa,
                                              .transa = &transa,
                                              .transb = &transb,
                                              .diag = &diag,
                                              .m = &cblas.m,
                                              .n = &cblas.n,
                                              .k = &cblas.k,
                                              .lda = &cblas.lda,
                                              .ldb = &cblas.ldb,
                                              .ldc = &cblas.ldc,
                                              .alpha = is_double ? (const void *)alpha : alpha_s,
                                              .beta = is_double ? (const void *)beta : beta_s,
                                              .a = operands[0],
                                              .b = operands[1],
                                              .c = operands[2]};
    if (call->order)
        pass_cblas(call->op, &cblas, &passed);
    else
        pass_fortran(call->op, &fortran, &passed);
    shim_args_read(&passed, call->int_bytes, args);
    if (args->illegal)
        return;
    check_scalars(call, &args->problem);
    int64_t m, n, k;
    shim_args_size(&passed, call->int_bytes, &m, &n, &k);
    FUZZ_CHECK(m == args->problem.m && n == args->problem.n && k == args->problem.k,
               "the size alone is another");
}

/* Checks a GEMM's elements, and that the element's triangle is right. */
static void check_gemmt(const struct standard *call, const struct xg_problem *p,
                        void *const operands[3], int64_t i, int64_t j, int64_t l)
{
    bool there = standard_uplo(call) == 'U' ? i <= j : i >= j;
    int64_t row = call->order != 101 ? j : i, col = call->order != 101 ? i : j;
    fuzz_check_gemm(call, p, operands, i, j, l);
    FUZZ_CHECK(there == (p->uplo == XG_UPPER ? row <= col : p->uplo == XG_LOWER && row >= col),
               "the triangle");
}

/* Checks the elements of SYRK and its relatives. An element of the other triangle is checked at
 * (j,i). */
static void check_syrk(const struct standard *call, const struct xg_problem *p,
                       void *const operands[3], int64_t i, int64_t j, int64_t l)
{
    char trans = standard_trans(call, call->transa);
    bool upper = standard_uplo(call) == 'U', swapped = call->order != 101;
    if (upper ? i > j : i < j)
        check_syrk(call, p, operands, j, i, l);
    else {
        uint64_t c = standard_offset(call, 'N', i, j, call->ldc);
        int64_t row = swapped ? j : i, col = swapped ? i : j;
        bool one = standard_has_one_operand(call); /* for SYR2K the operands are swapped too */
        int64_t ld_a = one || !swapped ? call->lda : call->ldb;
        int64_t ld_b = one || swapped ? call->lda : call->ldb;
        FUZZ_CHECK(p->a == operands[!one && swapped] && p->b == operands[!one && !swapped],
                   "operands");
        FUZZ_CHECK(problem_offset(p->transa, row, l, p->lda) ==
                           standard_offset(call, trans, row, l, ld_a) &&
                       problem_offset(p->transb, l, col, p->ldb) ==
                           standard_offset(call, trans, col, l, ld_b),
                   "the operand's elements");
        FUZZ_CHECK(
            p->transa + p->transb ==
                (call->op == XG_OP_HERK || call->op == XG_OP_HER2K ? XG_CONJ_TRANS : XG_TRANS),
            "a conjugate");
        FUZZ_CHECK(p->c == operands[2] && problem_offset(false, row, col, p->ldc) == c, "C");
        FUZZ_CHECK(p->uplo == XG_UPPER ? row <= col : p->uplo == XG_LOWER && row >= col,
                   "the triangle");
    }
}

/* The elements of the symmetric operand and of the other one lie where the standard says, in the
 * same stored triangle. */
static void check_symm(const struct standard *call, const struct xg_problem *p,
                       void *const operands[3], int64_t i, int64_t j, int64_t l)
{
    bool swapped = call->order != 101, left = standard_side(call) == 'L';
    bool first = left != swapped; /* of the row-major product */
    int64_t row = swapped ? j : i, col = swapped ? i : j;
    int64_t r = left ? i : l, c = left ? l : j; /* of the symmetric operand */
    bool upper = standard_uplo(call) == 'U';
    if (upper ? r > c : r < c) { /* the stored mirror image is read */
        int64_t swap = r;
        r = c, c = swap;
    }
    int64_t pr = swapped ? c : r, pc = swapped ? r : c;
    FUZZ_CHECK(p->structured == (first ? XG_OPERAND_A : XG_OPERAND_B), "which is structured");
    FUZZ_CHECK((first ? p->a : p->b) == operands[0] && (first ? p->b : p->a) == operands[1],
               "operands");
    FUZZ_CHECK(p->stored == XG_UPPER ? pr <= pc : p->stored == XG_LOWER && pr >= pc, "stored");
    FUZZ_CHECK(problem_offset(false, pr, pc, first ? p->lda : p->ldb) ==
                   standard_offset(call, 'N', r, c, call->lda),
               "the stored element");
    FUZZ_CHECK(problem_offset(false, first ? l : row, first ? col : l, first ? p->ldb : p->lda) ==
                   standard_offset(call, 'N', left ? l : i, left ? j : l, call->ldb),
               "the other operand's");
    FUZZ_CHECK(!p->transa && !p->transb && p->uplo == XG_FULL, "a transpose");
    FUZZ_CHECK(p->c == operands[2] && problem_offset(false, row, col, p->ldc) ==
                                          standard_offset(call, 'N', i, j, call->ldc),
               "C");
}

/* The elements of the triangular operand and of B lie where the standard says. */
static void check_trmm(const struct standard *call, const struct xg_problem *p,
                       void *const operands[3], int64_t i, int64_t j, int64_t l)
{
    char trans = standard_trans(call, call->transa);
    bool swapped = call->order != 101, left = standard_side(call) == 'L';
    bool first = left != swapped; /* of the row-major product */
    int64_t row = swapped ? j : i, col = swapped ? i : j;
    int64_t r = left ? i : l, c = left ? l : j;                   /* of op(A) */
    int64_t ar = trans == 'N' ? r : c, ac = trans == 'N' ? c : r; /* of the stored A */
    bool stored = standard_uplo(call) == 'U' ? ar <= ac : ar >= ac;
    int64_t pr = swapped ? ac : ar, pc = swapped ? ar : ac;
    FUZZ_CHECK(p->structured == (first ? XG_OPERAND_A : XG_OPERAND_B), "which is structured");
    FUZZ_CHECK((first ? p->a : p->b) == operands[0] && (first ? p->b : p->a) == operands[1] &&
                   p->c == operands[1] && (first ? p->ldb : p->lda) == p->ldc,
               "operands");
    FUZZ_CHECK(stored == (p->stored == XG_UPPER ? pr <= pc : pr >= pc), "stored");
    FUZZ_CHECK(p->unit == (standard_diag(call) == 'U'), "the diagonal");
    FUZZ_CHECK(problem_offset(first ? p->transa : p->transb, first ? row : l, first ? l : col,
                              first ? p->lda : p->ldb) ==
                   standard_offset(call, trans, r, c, call->lda),
               "the triangle's element");
    FUZZ_CHECK(((first ? p->transa : p->transb) == XG_CONJ_TRANS) == (trans == 'C') &&
                   !(first ? p->transb : p->transa),
               "transposes");
    FUZZ_CHECK(problem_offset(false, row, col, p->ldc) ==
                   standard_offset(call, 'N', i, j, call->ldb),
               "B");
}

/* Where element i of a vector lies in the standard: from its end if the step is negative. */
static uint64_t vector_offset(int64_t count, int64_t step, int64_t i)
{
    return (uint64_t)(step < 0 ? i - (count - 1) : i) * (uint64_t)step;
}

/* y has the extent rows, x columns. If only a series of dot products states it, each has an element
 * of y. */
static void check_gemv(const struct standard *call, const struct xg_problem *all,
                       void *const operands[3], int64_t rows, int64_t columns, int64_t i, int64_t l)
{
    const char trans = standard_trans(call, call->transa);
    const int64_t bytes = (int64_t)xg_problem_elem_bytes(all);
    const struct xg_problem one = xg_problem_instance(all, i), *p = all->batch ? &one : all;
    const bool is_row = p->m == 1 && (p->n == rows || all->batch) && p->transa != XG_CONJ_TRANS;
    const int64_t at = all->batch ? 0 : i; /* of y */
    const uint64_t a = is_row ? problem_offset(p->transb, l, at, p->ldb)
                              : problem_offset(p->transa, at, l, p->lda);
    const uint64_t x =
        is_row ? problem_offset(p->transa, 0, l, p->lda) : problem_offset(p->transb, l, 0, p->ldb);
    const uint64_t y = is_row ? (uint64_t)at : problem_offset(false, at, 0, p->ldc);
#define LIES(pointer, offset, operand, wanted)                                                     \
    ((uint64_t)(uintptr_t)(pointer) + (offset) * (uint64_t)bytes ==                                \
     (uint64_t)(uintptr_t)operands[operand] + (wanted) * (uint64_t)bytes)
    FUZZ_CHECK(LIES(is_row ? p->b : p->a, a, 0, standard_offset(call, trans, i, l, call->lda)),
               "the matrix");
    FUZZ_CHECK(LIES(is_row ? p->a : p->b, x, 1, vector_offset(columns, call->ldb, l)), "x");
    FUZZ_CHECK(LIES(p->c, y, 2, vector_offset(rows, call->ldc, i)), "y");
    FUZZ_CHECK(((is_row ? p->transb : p->transa) == XG_CONJ_TRANS) == (trans == 'C') &&
                   (is_row ? p->transa : p->transb) != XG_CONJ_TRANS,
               "a conjugate");
}

static bool is_same(const struct xg_problem *p, const struct xg_problem *q)
{
    return p->op == q->op && p->type == q->type && p->uplo == q->uplo &&
           p->structured == q->structured && p->stored == q->stored && p->unit == q->unit &&
           p->transa == q->transa && p->transb == q->transb && p->m == q->m && p->n == q->n &&
           p->k == q->k && p->a == q->a && p->lda == q->lda && p->b == q->b && p->ldb == q->ldb &&
           p->c == q->c && p->ldc == q->ldc && p->alpha == q->alpha && p->alpha_im == q->alpha_im &&
           p->beta == q->beta && p->beta_im == q->beta_im && p->batch == q->batch;
}

/* A problem that is written as a call, in either interface, is read as the same problem. */
static void check_written(const struct xg_problem *p)
{
    for (int interface = 0; interface < 2; interface++) {
        struct shim_written written;
        struct shim_call call;
        struct shim_args args;
        const struct shim_symbol *symbol = shim_symbol_spellings(xg_problem_kind(p)) + interface;
        if (!shim_args_can_write(p, symbol))
            continue;
        shim_args_write(p, symbol, &written, &call);
        shim_args_read(&call, 8, &args);
        FUZZ_CHECK(!args.illegal && is_same(&args.problem, p), "the call of a problem is another");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static float memory[3];
    void *const operands[3] = {&memory[0], &memory[1], &memory[2]};
    struct fuzz_bytes bytes = {data, size};
    struct standard call = take_call(&bytes);
    struct shim_args args;
    read_call(&call, operands, fuzz_word(&bytes, 4), &args);
    int info = standard_info(&call);
    FUZZ_CHECK(args.illegal == info, "argument %d, and by the standard %d", args.illegal, info);
    if (info)
        return 0;
    bool extension = call.order
                         ? call.transa == 114 || call.transb == 114
                         : strchr("Rr", call.transa) != NULL || strchr("Rr", call.transb) != NULL;
    if ((standard_has_triangle(&call) && call.op != XG_OP_GEMMT) || standard_is_trmm(&call))
        extension = call.order ? call.transa == 114 : strchr("Rr", call.transa) != NULL;
    if (standard_is_symm(&call))
        extension = false;
    const bool transposed = standard_trans(&call, call.transa) != 'N';
    const int64_t rows = transposed ? call.n : call.m, columns = transposed ? call.m : call.n;
    if (call.op == XG_OP_GEMV) {
        extension = call.order ? call.transa == 114 : strchr("Rr", call.transa) != NULL;
        extension |= call.ldb < 0 || call.ldc < 0 || args.problem.batch;
        FUZZ_CHECK(!args.problem.batch == (standard_trans(&call, call.transa) != 'C' ||
                                           call.order == 101 || call.ldc == 1 || rows < 2 ||
                                           columns == 0),
                   "a series of dot products");
    }
    FUZZ_CHECK(args.extension == extension, "whether all libraries take it");
    bool swapped = call.order != 101;
    if (call.op == XG_OP_GEMV) {
        const struct xg_problem *p = &args.problem;
        FUZZ_CHECK(p->m * p->n == rows && (p->m == 1 || p->n == 1) && p->k == columns, "the size");
        if (rows && columns) {
            check_written(p);
            fuzz_reached++;
            check_gemv(&call, p, operands, rows, columns,
                       (int64_t)(fuzz_word(&bytes, 4) % (uint64_t)rows),
                       (int64_t)(fuzz_word(&bytes, 4) % (uint64_t)columns));
        }
        return 0;
    }
    FUZZ_CHECK(args.problem.m == (swapped ? call.n : call.m) &&
                   args.problem.n == (swapped ? call.m : call.n) && args.problem.k == call.k,
               "the size");
    check_written(&args.problem);
    if (call.m && call.n && call.k) {
        int64_t i = (int64_t)(fuzz_word(&bytes, 4) % call.m);
        int64_t j = (int64_t)(fuzz_word(&bytes, 4) % call.n);
        int64_t l = (int64_t)(fuzz_word(&bytes, 4) % call.k);
        fuzz_reached++;
        if (call.op == XG_OP_GEMMT)
            check_gemmt(&call, &args.problem, operands, i, j, l);
        else if (standard_has_triangle(&call))
            check_syrk(&call, &args.problem, operands, i, j, l);
        else if (standard_is_trmm(&call))
            check_trmm(&call, &args.problem, operands, i, j, l);
        else if (standard_is_symm(&call))
            check_symm(&call, &args.problem, operands, i, j, l);
        else {
            FUZZ_CHECK(args.problem.uplo == XG_FULL, "a triangle");
            fuzz_check_gemm(&call, &args.problem, operands, i, j, l);
        }
    }
    return 0;
}
