/* SPDX-License-Identifier: MIT */
/*
 * Reads, checks, writes and passes on the arguments of a call. The lists of arguments
 * (operations.h) say which letters, scalars and operands an operation has, and how they are
 * numbered; the table here has the extents of its operands. The functions are the same for all
 * operations.
 */
#include "gemm_batch.h"
#include "routine_read.h"
#include "terms.h"

/* A dimension by its argument. SIDE is the order of the square operand: m on the left, n on the
 * right. ROWS and COLUMNS are those of GEMV's op(A); ONE is that of a vector. */
enum dimension { SIDE, M, N, K, ROWS, COLUMNS, ONE };

/* An argument is named by the offset of its term. */
#define SHIM_AT(name) offsetof(struct shim_terms, name)
#define SHIM_ARGUMENT(role, name) SHIM_AT(name),
#define SHIM_ROW(OP, ...) [XG_OP_##OP] = {{SHIM_EACH(OP, SHIM_ARGUMENT)}, __VA_ARGS__}

static const struct operation {
    unsigned short arguments[20]; /* in the signature's order, ended by 0 */
    struct {
        enum dimension rows, columns;
    } a, b, c;              /* extents of op(A), op(B) and C; triangles count as whole matrices */
    const char *transposes; /* allowed for complex matrices; real ones may have all */
    char opposite; /* op(B) if one letter serves both operands and op(A) is not transposed */
    bool optional; /* some libraries lack it */
} operations[XG_OP_COUNT] = {
    SHIM_ROW(GEMM, {M, K}, {K, N}, {M, N}, "NTC", 0, false),
    SHIM_ROW(SYRK, {N, K}, {K, N}, {N, N}, "NT", 'T', false),
    SHIM_ROW(HERK, {N, K}, {K, N}, {N, N}, "NC", 'C', false),
    SHIM_ROW(SYMM, {SIDE, SIDE}, {M, N}, {M, N}, "", 0, false),
    SHIM_ROW(HEMM, {SIDE, SIDE}, {M, N}, {M, N}, "", 0, false),
    SHIM_ROW(SYR2K, {N, K}, {K, N}, {N, N}, "NT", 'T', false),
    SHIM_ROW(HER2K, {N, K}, {K, N}, {N, N}, "NC", 'C', false),
    SHIM_ROW(TRMM, {SIDE, SIDE}, {M, N}, {M, N}, "NTC", 0, false),
    SHIM_ROW(TRSM, {SIDE, SIDE}, {M, N}, {M, N}, "NTC", 0, false),
    SHIM_ROW(GEMMT, {N, K}, {K, N}, {N, N}, "NTC", 0, true),
    SHIM_ROW(GEMV, {ROWS, COLUMNS}, {COLUMNS, ONE}, {ROWS, ONE}, "NTC", 0, false),
    SHIM_ROW(GEMM_BATCH, {M, K}, {K, N}, {M, N}, "NTC", 0, true),
    SHIM_ROW(GEMM_BATCH_STRIDED, {M, K}, {K, N}, {M, N}, "NTC", 0, true),
};

static inline bool is_transposed(char letter)
{
    return letter == 'T' || letter == 'C';
}

static inline int64_t length(const struct shim_terms *t, enum dimension dimension)
{
    switch (dimension) {
    case M:
        return t->m;
    case N:
        return t->n;
    case K:
        return t->k;
    case ROWS:
        return is_transposed(t->trans) ? t->n : t->m;
    case COLUMNS:
        return is_transposed(t->trans) ? t->m : t->n;
    case ONE:
        return 1;
    default:
        return t->side == 'L' ? t->m : t->n;
    }
}

/* --- The check ----------------------------------------------------------------------------- */

/* The letter of op(B), which may follow from that of op(A). */
static char transb_of(const struct operation *op, const struct shim_terms *t)
{
    return !op->opposite ? t->transb : is_transposed(t->trans) ? 'N' : op->opposite;
}

/* For real numbers a conjugate is the matrix itself. */
static bool is_allowed(const struct operation *op, const struct shim_terms *t, char letter)
{
    return letter && strchr(xg_type_is_complex(t->type) ? op->transposes : "NTCR", letter);
}

/* True if ld covers a row (in column-major order a column) of the stored matrix whose op() has
 * these extents. A vector's is the step to its next element, backwards if it is negative. */
static bool is_enough(const struct shim_terms *t, int64_t ld, enum dimension rows,
                      enum dimension columns, char trans)
{
    bool by_rows = t->order == 101;
    if (columns == ONE)
        return ld != 0;
    return ld >= xg_max_i64(1, length(t, by_rows != is_transposed(trans) ? columns : rows));
}

static bool is_legal(const struct operation *op, const struct shim_terms *t, unsigned argument)
{
    switch (argument) {
    case SHIM_AT(side):
        return t->side == 'L' || t->side == 'R';
    case SHIM_AT(uplo):
        return t->uplo == 'U' || t->uplo == 'L';
    case SHIM_AT(diag):
        return t->diag == 'U' || t->diag == 'N';
    case SHIM_AT(transa):
    case SHIM_AT(transa_array):
        return is_allowed(op, t, t->transa);
    case SHIM_AT(transb):
    case SHIM_AT(transb_array):
        return is_allowed(op, t, t->transb);
    case SHIM_AT(m):
    case SHIM_AT(m_array):
        return t->m >= 0;
    case SHIM_AT(n):
    case SHIM_AT(n_array):
        return t->n >= 0;
    case SHIM_AT(k):
    case SHIM_AT(k_array):
        return t->k >= 0;
    case SHIM_AT(lda):
    case SHIM_AT(lda_array):
        return is_enough(t, t->lda, op->a.rows, op->a.columns, t->transa);
    case SHIM_AT(ldb):
    case SHIM_AT(ldb_array):
        return is_enough(t, t->ldb, op->b.rows, op->b.columns, transb_of(op, t));
    case SHIM_AT(ldc):
    case SHIM_AT(ldc_array):
        return is_enough(t, t->ldc, op->c.rows, op->c.columns, 'N');
    case SHIM_AT(batch_size):
    case SHIM_AT(group_size):
        return shim_terms_count_legal(t->batch_size, t->order == 101 ? t->m : t->n);
    default:
        return true;
    }
}

int shim_terms_position(const struct shim_terms *t, size_t argument)
{
    const unsigned short *arguments = operations[t->op].arguments;
    int number = t->cblas ? 2 : 1;
    while (*arguments++ != argument)
        number++;
    return number;
}

int shim_terms_illegal(const struct shim_terms *t)
{
    const struct operation *op = &operations[t->op];
    if (!shim_terms_order_legal(t))
        return 1;
    for (const unsigned short *argument = op->arguments; *argument; argument++)
        if (!is_legal(op, t, *argument))
            return shim_terms_position(t, *argument);
    return 0;
}

/* --- The normal form ----------------------------------------------------------------------- */

/* Exchanges the operands of the product, each with its transpose. */
static void exchange(struct xg_problem *problem)
{
    static const enum xg_operand other[] = {XG_NO_OPERAND, XG_OPERAND_B, XG_OPERAND_A};
    struct xg_problem from = *problem;
    problem->structured = other[from.structured];
    problem->transa = from.transb;
    problem->transb = from.transa;
    problem->a = from.b;
    problem->lda = from.ldb;
    problem->b = from.a;
    problem->ldb = from.lda;
}

/* A matrix stored by columns is its transpose stored by rows: C' = op(B)' op(A)'. An upper triangle
 * becomes a lower one and the reverse, also in a Hermitian matrix. Alpha is unchanged. */
static void transpose(struct xg_problem *problem)
{
    static const enum xg_uplo other[] = {XG_FULL, XG_LOWER, XG_UPPER};
    int64_t m = problem->m;
    exchange(problem);
    problem->m = problem->n;
    problem->n = m;
    problem->uplo = other[problem->uplo];
    problem->stored = other[problem->stored];
}

static enum xg_trans trans_of(const struct shim_terms *t, char letter)
{
    return !is_transposed(letter)                         ? XG_NO_TRANS
           : letter == 'C' && xg_type_is_complex(t->type) ? XG_CONJ_TRANS
                                                          : XG_TRANS;
}

static void read_scalar(const struct shim_scalar_at *scalar, double *re, double *im)
{
    const float *single = scalar->at;
    const double *twice = scalar->at;
    bool is_double = xg_type_is_double(scalar->type), is_complex = xg_type_is_complex(scalar->type);
    *re = is_double ? twice[0] : (double)single[0];
    *im = !is_complex ? 0 : is_double ? twice[1] : (double)single[1];
}

void shim_terms_problem(const struct shim_terms *t, struct xg_problem *problem)
{
    const struct operation *op = &operations[t->op];
    const enum xg_uplo uplo = t->uplo == 'U' ? XG_UPPER : t->uplo == 'L' ? XG_LOWER : XG_FULL;
    *problem = (struct xg_problem){.op = t->op,
                                   .type = t->type,
                                   .uplo = t->side ? XG_FULL : uplo,
                                   .structured = t->side ? XG_OPERAND_A : XG_NO_OPERAND,
                                   .stored = t->side ? uplo : XG_FULL,
                                   .unit = t->diag == 'U',
                                   .transa = trans_of(t, t->transa),
                                   .transb = trans_of(t, transb_of(op, t)),
                                   .m = length(t, op->c.rows),
                                   .n = length(t, op->c.columns),
                                   .k = length(t, op->a.columns),
                                   .a = t->a,
                                   .lda = t->lda,
                                   .b = t->b,
                                   .ldb = t->ldb,
                                   .c = t->result,
                                   .ldc = t->ldc};
    if (xg_problem_b_is_a(problem)) {
        problem->b = t->a;
        problem->ldb = t->lda;
    }
    read_scalar(&t->alpha, &problem->alpha, &problem->alpha_im);
    if (xg_problem_is_in_place(problem))
        problem->ldc = t->ldb;
    else
        read_scalar(&t->beta, &problem->beta, &problem->beta_im);
    if (t->side == 'R')
        exchange(problem);
    if (t->order != 101)
        transpose(problem);
}

/*
 * A GEMV with y as the row or the column of its product. As a row it moves in one piece, but needs
 * a step of 1; a vector with a step is a column. Neither form has a conjugate that is not
 * transposed: a row-major call with C is a column, and a column-major one, if y has a step, a
 * series of dot products, as a batch.
 */
static inline bool y_is_row(const struct shim_terms *t)
{
    const bool conjugate = t->trans == 'C' && xg_type_is_complex(t->type);
    return (t->ldc == 1 || length(t, ROWS) <= 1) && !(conjugate && t->order == 101);
}

/* Of a vector with a negative step, BLAS has the address of the last element, and a problem that of
 * the first one. way: 1 to the problem's, -1 to BLAS's. */
static const void *moved(const struct xg_problem *p, const void *vector, int64_t count,
                         int64_t step, int way)
{
    const bool reversed = step < 0 && count > 1;
    return xg_problem_at(p, vector, reversed ? xg_wrapped_mul(way * (1 - count), step) : 0);
}

static void gemv_problem(const struct shim_terms *t, struct shim_args *args)
{
    const bool row = y_is_row(t);
    const int64_t rows = length(t, ROWS), columns = length(t, COLUMNS);
    struct xg_problem *p = &args->problem;
    enum xg_trans trans = trans_of(t, t->trans);
    const bool dots = !row && columns > 0 && trans == XG_CONJ_TRANS && t->order != 101;
    if (row == (t->order == 101)) /* the matrix is stored as the transpose of what the form has */
        trans = trans == XG_NO_TRANS ? XG_TRANS : XG_NO_TRANS;
    *p = (struct xg_problem){.op = XG_OP_GEMV, .type = t->type, .m = 1, .n = 1, .k = columns};
    const void *x = moved(p, t->b, columns, t->ldb, 1);
    p->c = (void *)(uintptr_t)moved(p, t->result, rows, t->ldc, 1);
    if (row || dots) {
        const bool plain = t->ldb == 1 || columns <= 1;
        p->transa = plain ? XG_NO_TRANS : XG_TRANS;
        p->transb = dots ? XG_CONJ_TRANS : trans;
        p->n = rows;
        p->a = x, p->lda = plain ? xg_max_i64(1, columns) : t->ldb;
        p->b = t->a, p->ldb = t->lda;
        p->ldc = xg_max_i64(1, rows);
    } else {
        p->transa = trans;
        p->m = rows;
        p->a = t->a, p->lda = t->lda;
        p->b = x, p->ldb = t->ldb;
        p->ldc = t->ldc;
    }
    if (dots) {
        args->batch = (struct xg_batch){.count = rows, .stride_b = t->lda, .stride_c = t->ldc};
        p->batch = &args->batch;
        p->m = rows, p->n = 1, p->ldc = 1;
    }
    args->extension |= dots || t->ldb < 0 || t->ldc < 0;
    read_scalar(&t->alpha, &p->alpha, &p->alpha_im);
    read_scalar(&t->beta, &p->beta, &p->beta_im);
    if (columns == 0) /* BLAS then leaves y as it is */
        p->beta = 1, p->beta_im = 0;
}

/* --- Reading ------------------------------------------------------------------------------- */

/* gemm_size, gemm_read and so on: each reads the terms that it needs. */
#define SHIM_READ(op, OP, context)                                                                 \
    static void op##_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,     \
                          int64_t *k)                                                              \
    {                                                                                              \
        const struct operation *row = &operations[XG_OP_##OP];                                     \
        struct shim_terms t;                                                                       \
        shim_##op##_terms_read(call, int_bytes, &t);                                               \
        const bool as_is = XG_OP_##OP == XG_OP_GEMV ? !y_is_row(&t) : t.order == 101;              \
        *m = length(&t, as_is ? row->c.rows : row->c.columns);                                     \
        *n = length(&t, as_is ? row->c.columns : row->c.rows);                                     \
        *k = length(&t, row->a.columns);                                                           \
    }                                                                                              \
    static void op##_read(const struct shim_call *call, int int_bytes, struct shim_args *args)     \
    {                                                                                              \
        struct shim_terms t;                                                                       \
        shim_##op##_terms_read(call, int_bytes, &t);                                               \
        read_terms(&t, args);                                                                      \
    }

static void read_terms(const struct shim_terms *t, struct shim_args *args)
{
    args->extension = shim_terms_extended(t);
    args->illegal = shim_terms_illegal(t);
    if (args->illegal)
        return;
    if (t->op == XG_OP_GEMV)
        gemv_problem(t, args);
    else
        shim_terms_problem(t, &args->problem);
}

SHIM_SINGLE(SHIM_READ, )

void shim_args_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n, int64_t *k)
{
    static void (*const sizes[SHIM_OP_COUNT])(const struct shim_call *, int, int64_t *, int64_t *,
                                              int64_t *) = {
#define SHIM_SIZE_ROW(op, OP, context) [XG_OP_##OP] = op##_size,
        SHIM_SINGLE(SHIM_SIZE_ROW, )[XG_OP_GEMM_BATCH] = shim_batch_size,
        [XG_OP_GEMM_BATCH_STRIDED] = shim_strided_size,
#define SHIM_SIZE_LIST(list, ...) [SHIM_OP_##list] = shim_routine_size,
        SHIM_LISTS(SHIM_SIZE_LIST)};
    sizes[call->symbol->op](call, int_bytes, m, n, k);
}

void shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    static void (*const reads[SHIM_OP_COUNT])(const struct shim_call *, int, struct shim_args *) = {
#define SHIM_READ_ROW(op, OP, context) [XG_OP_##OP] = op##_read,
        SHIM_SINGLE(SHIM_READ_ROW, )[XG_OP_GEMM_BATCH] = shim_batch_read,
        [XG_OP_GEMM_BATCH_STRIDED] = shim_strided_read,
#define SHIM_READ_LIST(list, ...) [SHIM_OP_##list] = shim_routine_read,
        SHIM_LISTS(SHIM_READ_LIST)};
    args->extension = false;
    reads[call->symbol->op](call, int_bytes, args);
    if (!args->illegal && call->symbol->op < (int)XG_OP_COUNT)
        xg_problem_settle(&args->problem);
}

bool shim_args_optional(int op)
{
    return op < (int)XG_OP_COUNT && operations[op].optional;
}

/* --- Writing ------------------------------------------------------------------------------- */

/* A scalar as the C interface takes it: by value if it is real. */
static union shim_scalar pass(enum xg_type type, const void *at)
{
    switch (type) {
    case XG_TYPE_S:
        return (union shim_scalar){.s = *(const float *)at};
    case XG_TYPE_D:
        return (union shim_scalar){.d = *(const double *)at};
    default:
        return (union shim_scalar){.c = at};
    }
}

#define SHIM_WRITE(op, OP, context)                                                                \
    static void op##_write(const struct shim_terms *t, struct shim_call *call)                     \
    {                                                                                              \
        if (t->cblas) {                                                                            \
            struct shim_##op##_cblas *c = &call->op##_cblas;                                       \
            c->order = t->order;                                                                   \
            SHIM_EACH(OP, SHIM_WRITE_CBLAS)                                                        \
        } else {                                                                                   \
            struct shim_##op##_fortran *f = &call->op##_fortran;                                   \
            SHIM_EACH(OP, SHIM_WRITE_FORTRAN)                                                      \
        }                                                                                          \
    }

#define SHIM_WRITE_CBLAS(role, name) c->name = SHIM_TO_CBLAS_##role(name);
#define SHIM_TO_CBLAS_LETTER(name) shim_terms_number_of(t->name, SHIM_LETTERS_##name)
#define SHIM_TO_CBLAS_INTEGER(name) t->name
#define SHIM_TO_CBLAS_SCALAR(name) pass(t->type, t->name.at)
#define SHIM_TO_CBLAS_REAL(name) pass(xg_type_real(t->type), t->name.at)
#define SHIM_TO_CBLAS_MATRIX(name) t->name
#define SHIM_TO_CBLAS_RESULT(name) t->result

#define SHIM_WRITE_FORTRAN(role, name)                                                             \
    f->name = SHIM_TO_FORTRAN_##role(name);                                                        \
    SHIM_LENGTH_##role(f->name##_length = 1;)
#define SHIM_TO_FORTRAN_LETTER(name) &t->name
#define SHIM_TO_FORTRAN_INTEGER(name) &t->name
#define SHIM_TO_FORTRAN_SCALAR(name) t->name.at
#define SHIM_TO_FORTRAN_REAL(name) t->name.at
#define SHIM_TO_FORTRAN_MATRIX(name) t->name
#define SHIM_TO_FORTRAN_RESULT(name) t->result

SHIM_SINGLE(SHIM_WRITE, )

static void (*const writes[XG_OP_COUNT])(const struct shim_terms *, struct shim_call *) = {
#define SHIM_WRITE_ROW(op, OP, context) [XG_OP_##OP] = op##_write,
    SHIM_SINGLE(SHIM_WRITE_ROW, )};

bool shim_args_writable(int op)
{
    return op < (int)XG_OP_COUNT && writes[op] != NULL;
}

static bool is_row_gemv(const struct xg_problem *p)
{
    return p->m == 1 && p->transa != XG_CONJ_TRANS;
}

bool shim_args_can_write(const struct xg_problem *problem, const struct shim_symbol *symbol)
{
    return problem->op != XG_OP_GEMV ||
           (!problem->batch && (is_row_gemv(problem) || problem->transa != XG_CONJ_TRANS ||
                                symbol->interface == SHIM_CBLAS));
}

static void write_number(enum xg_type type, double re, double im, union shim_number *out)
{
    if (xg_type_is_double(type))
        out->z[0] = re, out->z[1] = im;
    else
        out->c[0] = (float)re, out->c[1] = (float)im;
}

/* Sets the terms that GEMV states otherwise; gemv_problem has the forms. */
static void state_gemv(const struct xg_problem *p, struct shim_terms *t)
{
    const bool row = is_row_gemv(p);
    const struct xg_extent stored = xg_problem_stored(p, row);
    const enum xg_trans trans = row ? p->transb : p->transa;
    const bool conjugate = trans == XG_CONJ_TRANS && !row;
    t->order = conjugate ? 101 : 102;
    t->trans = row || conjugate ? xg_trans_letter(trans) : trans ? 'N' : 'T';
    t->m = conjugate ? stored.rows : stored.columns;
    t->n = conjugate ? stored.columns : stored.rows;
    t->a = row ? p->b : p->a;
    t->lda = row ? p->ldb : p->lda;
    t->ldb = row ? (p->transa ? p->lda : 1) : p->transb ? 1 : p->ldb;
    t->ldc = row ? 1 : p->ldc;
    t->b = moved(p, row ? p->a : p->b, p->k, t->ldb, -1);
    t->result = (void *)(uintptr_t)moved(p, p->c, row ? p->n : p->m, t->ldc, -1);
}

/* The call is column-major in either interface: in row-major calls of GEMMT some releases of
 * OpenBLAS take the other triangle (OpenBLAS issue 4905). */
void shim_args_write(const struct xg_problem *problem, const struct shim_symbol *symbol,
                     struct shim_written *written, struct shim_call *call)
{
    struct xg_problem from = *problem;
    transpose(&from);
    const bool right = from.structured == XG_OPERAND_B;
    if (right)
        exchange(&from);
    write_number(from.type, from.alpha, from.alpha_im, &written->alpha);
    write_number(from.type, from.beta, from.beta_im, &written->beta);
    written->terms = (struct shim_terms){
        .op = from.op,
        .type = from.type,
        .cblas = symbol->interface == SHIM_CBLAS,
        .order = 102,
        .side = right ? 'R' : 'L',
        .uplo = (from.structured ? from.stored : from.uplo) == XG_UPPER ? 'U' : 'L',
        .diag = from.unit ? 'U' : 'N',
        .transa = xg_trans_letter(from.transa),
        .transb = xg_trans_letter(from.transb),
        .m = from.m,
        .n = from.n,
        .k = from.k,
        .lda = from.lda,
        .ldb = xg_problem_is_in_place(&from) ? from.ldc : from.ldb,
        .ldc = from.ldc,
        .alpha = {&written->alpha, from.type},
        .beta = {&written->beta, from.type},
        .a = from.a,
        .b = from.b,
        .result = from.c};
    if (from.op == XG_OP_GEMV)
        state_gemv(problem, &written->terms);
    call->symbol = symbol;
    writes[from.op](&written->terms, call);
}

/* --- Passing on ---------------------------------------------------------------------------- */

/* One function for each signature of each operation. */
#define SHIM_CBLAS_TYPE(op, LETTER) shim_##op##_cblas_##LETTER##_function
#define SHIM_FORTRAN_TYPE(op) shim_##op##_fortran_function

#define SHIM_FUNCTION_TYPE(letter, LETTER, op, OP, context)                                        \
    typedef void SHIM_CBLAS_TYPE(op, LETTER)(SHIM_CBLAS_PARAMETERS(OP, LETTER));
#define SHIM_FUNCTION_TYPES(op, OP, context)                                                       \
    SHIM_##OP##_TYPES(SHIM_FUNCTION_TYPE, op,                                                      \
                      OP, ) typedef void SHIM_FORTRAN_TYPE(op)(SHIM_FORTRAN_PARAMETERS(OP));
SHIM_OPERATIONS(SHIM_FUNCTION_TYPES, )

/* The arguments after the first one, from *c of the C interface or *f of Fortran's. */
#define SHIM_CBLAS_VALUES(OP, LETTER) SHIM_EACH(OP, SHIM_VALUE_##LETTER)
#define SHIM_VALUE_S(role, name) , c->name SHIM_SCALAR_##role(.s, .s)
#define SHIM_VALUE_D(role, name) , c->name SHIM_SCALAR_##role(.d, .d)
#define SHIM_VALUE_C(role, name) , c->name SHIM_SCALAR_##role(.c, .s)
#define SHIM_VALUE_Z(role, name) , c->name SHIM_SCALAR_##role(.z, .d)

#define SHIM_FORTRAN_VALUES(OP)                                                                    \
    SHIM_##OP##_ARGUMENTS(SHIM_VALUE_FIRST, SHIM_VALUE_NEXT) SHIM_EACH(OP, SHIM_VALUE_LENGTH)
#define SHIM_VALUE_FIRST(role, name) f->name
#define SHIM_VALUE_NEXT(role, name) , f->name
#define SHIM_VALUE_LENGTH(role, name) SHIM_LENGTH_##role(SHIM_LENGTH_VALUE(name))
#define SHIM_LENGTH_VALUE(name) , f->name##_length

#define SHIM_FORWARD_CBLAS(letter, LETTER, op, OP, context)                                        \
    static int op##_##LETTER(void (*function)(void), const struct shim_call *call)                 \
    {                                                                                              \
        const struct shim_##op##_cblas *c = &call->op##_cblas;                                     \
        ((SHIM_CBLAS_TYPE(op, LETTER) *)function)(c->order SHIM_CBLAS_VALUES(OP, LETTER));         \
        return 0;                                                                                  \
    }

#define SHIM_FORWARD(op, OP, context)                                                              \
    SHIM_##OP##_TYPES(SHIM_FORWARD_CBLAS, op, OP, ) static int op##_fortran(                       \
        void (*function)(void), const struct shim_call *call)                                      \
    {                                                                                              \
        const struct shim_##op##_fortran *f = &call->op##_fortran;                                 \
        ((SHIM_FORTRAN_TYPE(op) *)function)(SHIM_FORTRAN_VALUES(OP));                              \
        return 0;                                                                                  \
    }
SHIM_OPERATIONS(SHIM_FORWARD, )

#define SHIM_WORD_KEPT(i) call->words[i]
#define SHIM_FORWARD_LIST(list, count, ...)                                                        \
    static int list##_list(void (*function)(void), const struct shim_call *call)                   \
    {                                                                                              \
        return ((int (*)(SHIM_WORDS_##count(SHIM_WORD_PARAMETER)))function)(                       \
            SHIM_WORDS_##count(SHIM_WORD_KEPT));                                                   \
    }
SHIM_LISTS(SHIM_FORWARD_LIST)

shim_forward_function *const shim_forward[SHIM_OP_COUNT][XG_TYPE_COUNT + 1] = {
#define SHIM_WAY(letter, LETTER, op, OP, context) [XG_TYPE_##LETTER] = op##_##LETTER,
#define SHIM_FORWARD_ROW(op, OP, context)                                                          \
    [XG_OP_##OP] = {SHIM_##OP##_TYPES(SHIM_WAY, op, OP, )[XG_TYPE_COUNT] = op##_fortran},
#define SHIM_LIST_ROW(list, ...) [SHIM_OP_##list] = {[XG_TYPE_COUNT] = list##_list},
    SHIM_OPERATIONS(SHIM_FORWARD_ROW, ) SHIM_LISTS(SHIM_LIST_ROW)};
