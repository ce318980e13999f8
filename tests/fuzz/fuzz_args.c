/* SPDX-License-Identifier: MIT */
/*
 * Arguments of a call against a second statement of the rules: the BLAS standard's own words for
 * what is illegal, and where each element of A, B and C lies.
 */
#include "../../shim/args.h"
#include "fuzz.h"

long fuzz_reached;

/* A call as the standard has it; order 101 or 102 of the C interface, 0: Fortran. Of a SYRK transa
 * is the transpose, and m is n. */
struct standard {
    enum xg_op op;
    enum xg_type type;
    int order, int_bytes;
    int uplo, transa, transb; /* as they were passed: a number, or a letter */
    int64_t m, n, k, lda, ldb, ldc;
};

/* 'N', 'T', 'C' (which of real numbers is a transpose), or 0: not a transpose. */
static char standard_trans(const struct standard *call, int trans)
{
    static const char letters[] = "NnTtCcRr", real[] = "NNTTTTNN", complex[] = "NNTTCC";
    if (call->order)
        trans = trans == 111   ? 'N'
                : trans == 112 ? 'T'
                : trans == 113 ? 'C'
                : trans == 114 ? 'R'
                               : '\0';
    const char *found = trans ? strchr(letters, trans) : NULL;
    char meaning = !found                                               ? '\0'
                   : call->type == XG_TYPE_S || call->type == XG_TYPE_D ? real[found - letters]
                   : found - letters < 6                                ? complex[found - letters]
                                                                        : '\0';
    return meaning == 'C' && call->op == XG_OP_SYRK ? '\0' : meaning;
}

/* 'U', 'L', or 0. */
static char standard_uplo(const struct standard *call)
{
    if (call->order)
        return call->uplo == 121 ? 'U' : call->uplo == 122 ? 'L' : '\0';
    return call->uplo == 'U' || call->uplo == 'u'   ? 'U'
           : call->uplo == 'L' || call->uplo == 'l' ? 'L'
                                                    : '\0';
}

/* Rows of a matrix as the caller stores it, (rows,cols) as the operation names them. */
static bool standard_ld_legal(const struct standard *call, int64_t rows, int64_t cols, int64_t ld)
{
    int64_t stride = call->order == 101 ? cols : rows;
    return ld >= stride && ld >= 1;
}

/* INFO of xSYRK's own text, one by one. */
static int standard_info_syrk(const struct standard *call)
{
    char trans = standard_trans(call, call->transa);
    int info = 0;
    if (!standard_uplo(call))
        info = 1;
    else if (!trans)
        info = 2;
    else if (call->n < 0)
        info = 3;
    else if (call->k < 0)
        info = 4;
    else if (!standard_ld_legal(call, trans == 'N' ? call->n : call->k,
                                trans == 'N' ? call->k : call->n, call->lda))
        info = 7;
    else if (!standard_ld_legal(call, call->n, call->n, call->ldc))
        info = 10;
    return info;
}

/* INFO of xGEMM's. */
static int standard_info_gemm(const struct standard *call)
{
    char ta = standard_trans(call, call->transa), tb = standard_trans(call, call->transb);
    int info = 0;
    if (!ta)
        info = 1;
    else if (!tb)
        info = 2;
    else if (call->m < 0)
        info = 3;
    else if (call->n < 0)
        info = 4;
    else if (call->k < 0)
        info = 5;
    else if (!standard_ld_legal(call, ta == 'N' ? call->m : call->k, ta == 'N' ? call->k : call->m,
                                call->lda))
        info = 8;
    else if (!standard_ld_legal(call, tb == 'N' ? call->k : call->n, tb == 'N' ? call->n : call->k,
                                call->ldb))
        info = 10;
    else if (!standard_ld_legal(call, call->m, call->n, call->ldc))
        info = 13;
    return info;
}

/* The C interface counts the order as its first. */
static int standard_info(const struct standard *call)
{
    if (call->order && call->order != 101 && call->order != 102)
        return 1;
    int info = call->op == XG_OP_SYRK ? standard_info_syrk(call) : standard_info_gemm(call);
    return info && call->order ? info + 1 : info;
}

/* Elements from the first to (row,col) of a matrix that the caller stores so, transposed or not. */
static uint64_t standard_offset(const struct standard *call, char trans, int64_t row, int64_t col,
                                int64_t ld)
{
    uint64_t r = (uint64_t)(trans != 'N' ? col : row), c = (uint64_t)(trans != 'N' ? row : col);
    return call->order == 101 ? r * (uint64_t)ld + c : c * (uint64_t)ld + r;
}

/* The same of the normalised problem: row-major, op(X)(row,col). */
static uint64_t problem_offset(bool trans, int64_t row, int64_t col, int64_t ld)
{
    return trans ? (uint64_t)col * (uint64_t)ld + (uint64_t)row
                 : (uint64_t)row * (uint64_t)ld + (uint64_t)col;
}

/* Mostly small, now and then at the ends of what the integers hold. */
static int64_t take_int(struct fuzz_bytes *bytes, int int_bytes)
{
    uint8_t kind = fuzz_byte(bytes);
    if (kind < 160)
        return kind % 24;
    if (kind < 200)
        return -(int64_t)(kind % 5);
    if (kind < 230)
        return int_bytes == 8 ? (int64_t)fuzz_word(bytes, 8) : (int32_t)fuzz_word(bytes, 4);
    return (int_bytes == 8 ? INT64_MAX : INT32_MAX) - kind % 3;
}

static int take_trans(struct fuzz_bytes *bytes, bool cblas)
{
    uint8_t byte = fuzz_byte(bytes);
    if (cblas)
        return byte < 230 ? 111 + byte % 4 : (int8_t)fuzz_byte(bytes);
    return byte < 230 ? "NTCntcRr"[byte % 8] : fuzz_byte(bytes);
}

static int take_uplo(struct fuzz_bytes *bytes, bool cblas)
{
    uint8_t byte = fuzz_byte(bytes);
    if (cblas)
        return byte < 230 ? 121 + byte % 2 : (int8_t)fuzz_byte(bytes);
    return byte < 230 ? "ULul"[byte % 4] : fuzz_byte(bytes);
}

static struct standard take_call(struct fuzz_bytes *bytes)
{
    uint8_t kind = fuzz_byte(bytes), what = fuzz_byte(bytes);
    struct standard call = {.op = what & 4 ? XG_OP_SYRK : XG_OP_GEMM,
                            .type = (enum xg_type)(what & 3),
                            .int_bytes = kind & 1 ? 8 : 4};
    if (kind & 2)
        call.order = kind < 240 ? 101 + (kind >> 2 & 1) : 99 + fuzz_byte(bytes) % 6;
    call.uplo = take_uplo(bytes, call.order != 0);
    call.transa = take_trans(bytes, call.order != 0);
    call.transb = take_trans(bytes, call.order != 0);
    int64_t *const numbers[] = {&call.m, &call.n, &call.k, &call.lda, &call.ldb, &call.ldc};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *numbers[i] = take_int(bytes, call.int_bytes);
    if (call.op == XG_OP_SYRK)
        call.m = call.n;
    return call;
}

static const double alpha[2] = {1.5, 0.25}, beta[2] = {-2.0, 3.0};
static const float alpha_s[2] = {1.5f, 0.25f}, beta_s[2] = {-2.0f, 3.0f};

/* A scalar as the C interface takes it. */
static union shim_scalar scalar_of(enum xg_type type, const float *single, const double *twice)
{
    switch (type) {
    case XG_TYPE_S:
        return (union shim_scalar){.s = *single};
    case XG_TYPE_D:
        return (union shim_scalar){.d = *twice};
    case XG_TYPE_C:
        return (union shim_scalar){.c = single};
    default:
        return (union shim_scalar){.z = twice};
    }
}

enum { M, N, K, LDA, LDB, LDC, NUMBERS };

static void pass_cblas(const struct standard *call, float *operands[3],
                       const int64_t numbers[NUMBERS], struct shim_call *passed)
{
    union shim_scalar by = scalar_of(call->type, alpha_s, alpha);
    union shim_scalar add = scalar_of(call->type, beta_s, beta);
    if (call->op == XG_OP_SYRK)
        passed->syrk_cblas = (struct shim_syrk_cblas){.order = call->order,
                                                      .uplo = call->uplo,
                                                      .trans = call->transa,
                                                      .n = numbers[N],
                                                      .k = numbers[K],
                                                      .alpha = by,
                                                      .a = operands[0],
                                                      .lda = numbers[LDA],
                                                      .beta = add,
                                                      .c = operands[2],
                                                      .ldc = numbers[LDC]};
    else
        passed->gemm_cblas = (struct shim_gemm_cblas){.order = call->order,
                                                      .transa = call->transa,
                                                      .transb = call->transb,
                                                      .m = numbers[M],
                                                      .n = numbers[N],
                                                      .k = numbers[K],
                                                      .alpha = by,
                                                      .a = operands[0],
                                                      .lda = numbers[LDA],
                                                      .b = operands[1],
                                                      .ldb = numbers[LDB],
                                                      .beta = add,
                                                      .c = operands[2],
                                                      .ldc = numbers[LDC]};
}

static void pass_fortran(const struct standard *call, float *operands[3],
                         const int64_t numbers[NUMBERS], const char letters[3],
                         struct shim_call *passed)
{
    bool is_double = call->type == XG_TYPE_D || call->type == XG_TYPE_Z;
    const void *by = is_double ? (const void *)alpha : alpha_s;
    const void *add = is_double ? (const void *)beta : beta_s;
    if (call->op == XG_OP_SYRK)
        passed->syrk_fortran = (struct shim_syrk_fortran){.uplo = &letters[0],
                                                          .trans = &letters[1],
                                                          .n = &numbers[N],
                                                          .k = &numbers[K],
                                                          .alpha = by,
                                                          .a = operands[0],
                                                          .lda = &numbers[LDA],
                                                          .beta = add,
                                                          .c = operands[2],
                                                          .ldc = &numbers[LDC]};
    else
        passed->gemm_fortran = (struct shim_gemm_fortran){.transa = &letters[1],
                                                          .transb = &letters[2],
                                                          .m = &numbers[M],
                                                          .n = &numbers[N],
                                                          .k = &numbers[K],
                                                          .alpha = by,
                                                          .a = operands[0],
                                                          .lda = &numbers[LDA],
                                                          .b = operands[1],
                                                          .ldb = &numbers[LDB],
                                                          .beta = add,
                                                          .c = operands[2],
                                                          .ldc = &numbers[LDC]};
}

static void check_scalars(const struct standard *call, const struct xg_problem *p)
{
    bool is_complex = call->type == XG_TYPE_C || call->type == XG_TYPE_Z;
    FUZZ_CHECK(p->op == call->op && p->type == call->type, "which operation");
    FUZZ_CHECK(p->alpha == alpha[0] && p->beta == beta[0], "scalars");
    FUZZ_CHECK(p->alpha_im == (is_complex ? alpha[1] : 0) &&
                   p->beta_im == (is_complex ? beta[1] : 0),
               "imaginary parts");
}

/* The call as a program passes it; above an int of the C interface there may be anything. */
static void read_call(const struct standard *call, float *operands[3], uint64_t garbage,
                      struct shim_args *args)
{
    int64_t numbers[NUMBERS] = {call->m, call->n, call->k, call->lda, call->ldb, call->ldc};
    const char letters[] = {(char)call->uplo, (char)call->transa, (char)call->transb};
    struct shim_call passed;
    passed.symbol = shim_symbol_spellings(xg_kind(call->op, call->type)) + (call->order ? 0 : 1);
    if (call->int_bytes == 4)
        for (size_t i = 0; i < NUMBERS; i++)
            numbers[i] = (int64_t)((uint64_t)(uint32_t)numbers[i] | garbage << 32);
    if (call->order)
        pass_cblas(call, operands, numbers, &passed);
    else
        pass_fortran(call, operands, numbers, letters, &passed);
    shim_args_read(&passed, call->int_bytes, args);
    if (args->illegal)
        return;
    check_scalars(call, &args->problem);
    int64_t m, n, k;
    shim_args_size(&passed, call->int_bytes, &m, &n, &k);
    FUZZ_CHECK(m == args->problem.m && n == args->problem.n && k == args->problem.k,
               "the size alone is another");
}

/* Element (i,j) of C and l of the sum lie where the standard says. */
static void check_gemm(const struct standard *call, const struct xg_problem *p, float *operands[3],
                       int64_t i, int64_t j, int64_t l)
{
    char ta = standard_trans(call, call->transa), tb = standard_trans(call, call->transb);
    uint64_t a = standard_offset(call, ta, i, l, call->lda);
    uint64_t b = standard_offset(call, tb, l, j, call->ldb);
    uint64_t c = standard_offset(call, 'N', i, j, call->ldc);
    bool swapped = call->order != 101;
    int64_t row = swapped ? j : i, col = swapped ? i : j;
    uint64_t first = problem_offset(p->transa, row, l, p->lda);
    uint64_t second = problem_offset(p->transb, l, col, p->ldb);
    FUZZ_CHECK(p->uplo == XG_FULL, "a triangle");
    FUZZ_CHECK(p->a == operands[swapped] && first == (swapped ? b : a), "the first operand");
    FUZZ_CHECK(p->b == operands[!swapped] && second == (swapped ? a : b), "the second operand");
    FUZZ_CHECK((p->transa == XG_CONJ_TRANS) == ((swapped ? tb : ta) == 'C') &&
                   (p->transb == XG_CONJ_TRANS) == ((swapped ? ta : tb) == 'C'),
               "conjugates");
    FUZZ_CHECK(p->c == operands[2] && problem_offset(false, row, col, p->ldc) == c, "C");
}

/* The same of a triangle's element, which is at (j,i) where (i,j) is in the other one. */
static void check_syrk(const struct standard *call, const struct xg_problem *p, float *operands[3],
                       int64_t i, int64_t j, int64_t l)
{
    char trans = standard_trans(call, call->transa);
    bool upper = standard_uplo(call) == 'U', swapped = call->order != 101;
    if (upper ? i > j : i < j)
        check_syrk(call, p, operands, j, i, l);
    else {
        uint64_t c = standard_offset(call, 'N', i, j, call->ldc);
        int64_t row = swapped ? j : i, col = swapped ? i : j;
        FUZZ_CHECK(p->a == operands[0] && p->b == operands[0], "operands");
        FUZZ_CHECK(problem_offset(p->transa, row, l, p->lda) ==
                           standard_offset(call, trans, row, l, call->lda) &&
                       problem_offset(p->transb, l, col, p->ldb) ==
                           standard_offset(call, trans, col, l, call->lda),
                   "the operand's elements");
        FUZZ_CHECK(p->transa != XG_CONJ_TRANS && p->transb != XG_CONJ_TRANS, "a conjugate");
        FUZZ_CHECK(p->c == operands[2] && problem_offset(false, row, col, p->ldc) == c, "C");
        FUZZ_CHECK(p->uplo == XG_UPPER ? row <= col : p->uplo == XG_LOWER && row >= col,
                   "the triangle");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static float memory[3];
    float *operands[3] = {&memory[0], &memory[1], &memory[2]};
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
    if (call.op == XG_OP_SYRK)
        extension = call.order ? call.transa == 114 : strchr("Rr", call.transa) != NULL;
    FUZZ_CHECK(args.extension == extension, "whether all libraries take it");
    bool swapped = call.order != 101;
    FUZZ_CHECK(args.problem.m == (swapped ? call.n : call.m) &&
                   args.problem.n == (swapped ? call.m : call.n) && args.problem.k == call.k,
               "the size");
    if (call.m && call.n && call.k) {
        int64_t i = (int64_t)(fuzz_word(&bytes, 4) % call.m);
        int64_t j = (int64_t)(fuzz_word(&bytes, 4) % call.n);
        int64_t l = (int64_t)(fuzz_word(&bytes, 4) % call.k);
        fuzz_reached++;
        if (call.op == XG_OP_SYRK)
            check_syrk(&call, &args.problem, operands, i, j, l);
        else
            check_gemm(&call, &args.problem, operands, i, j, l);
    }
    return 0;
}
