/* SPDX-License-Identifier: MIT */
#include "verify/residual.h"

#include <errno.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "verify/block.h"

enum { VECTORS = XG_BLOCK_VECTORS, BLOCKS = 5 };

typedef struct xg_block_row row;

struct check {
    const struct xg_routine *before, *after;
    struct xg_team *team;
    int workers;
    int64_t extent; /* rows of each block; rows beyond a vector's length are 0 */
    row *x, *y, *z, *w, *room;
    uint64_t random;
    double root; /* the square root of n */
    struct xg_residual worst;
};

/* --- Matrices -------------------------------------------------------------------------------- */

static struct xg_block_matrix matrix_of(const struct xg_routine *call, enum xg_slot slot,
                                        enum xg_uplo part, enum xg_diagonal diagonal)
{
    return (struct xg_block_matrix){.matrix = call->operand[slot],
                                    .type = xg_routine_slot_type(call, slot),
                                    .part = part,
                                    .diagonal = diagonal};
}

static struct xg_block_matrix full(const struct xg_routine *call, enum xg_slot slot)
{
    return matrix_of(call, slot, XG_FULL, XG_DIAGONAL_STORED);
}

/* The triangle of a Hermitian matrix, or of Cholesky's factor. */
static struct xg_block_matrix triangle(const struct xg_routine *call, enum xg_slot slot)
{
    return matrix_of(call, slot, call->uplo, XG_DIAGONAL_REAL);
}

static struct xg_block_matrix unit_lower(const struct xg_routine *call)
{
    struct xg_block_matrix l = matrix_of(call, XG_SLOT_A, XG_LOWER, XG_DIAGONAL_ONE);
    l.matrix.columns = xg_min_i64(l.matrix.rows, l.matrix.columns);
    return l;
}

static struct xg_block_matrix upper(const struct xg_routine *call)
{
    return matrix_of(call, XG_SLOT_A, XG_UPPER, XG_DIAGONAL_STORED);
}

static double norm(const struct check *c, const struct xg_block_matrix *a)
{
    return xg_block_measure(a, c->room, c->team, c->workers).norm;
}

/* The norm of the Hermitian matrix whose triangle is stored. */
static double hermitian_norm(const struct check *c, const struct xg_block_matrix *a)
{
    struct xg_block_matrix off = *a;
    off.diagonal = XG_DIAGONAL_ZERO;
    return hypot(norm(c, a), norm(c, &off));
}

/* --- Blocks ---------------------------------------------------------------------------------- */

static void clear(const struct check *c, row *block)
{
    memset(block, 0, (size_t)c->extent * sizeof *block);
}

/* Random signs. */
static void draw(struct check *c, row *block, int64_t rows)
{
    clear(c, block);
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t bits = xg_random_next(&c->random);
        for (int v = 0; v < VECTORS; v++)
            block[i].re[v] = bits >> (32 + v) & 1 ? 1 : -1;
    }
}

static void multiply(const struct check *c, const struct xg_block_matrix *a, bool conjugate,
                     const row *in, row *out)
{
    clear(c, out);
    xg_block_multiply(a, conjugate, in, out, c->team, c->workers);
}

static void multiply_hermitian(const struct check *c, const struct xg_block_matrix *a,
                               const row *in, row *out)
{
    struct xg_block_matrix off = *a;
    off.diagonal = XG_DIAGONAL_ZERO;
    multiply(c, a, false, in, out);
    xg_block_multiply(&off, true, in, out, c->team, c->workers);
}

/* out = F Fᴴ in, or Fᴴ F in if the upper triangle is stored. */
static void multiply_cholesky(const struct check *c, const struct xg_block_matrix *factor,
                              const row *in, row *middle, row *out)
{
    multiply(c, factor, factor->part == XG_LOWER, in, middle);
    multiply(c, factor, factor->part == XG_UPPER, middle, out);
}

/* Applies getrf's row exchanges or, if backward, their inverse. */
static void permute(const struct xg_routine *call, row *block, bool backward)
{
    const struct xg_matrix *pivots = &call->operand[XG_SLOT_PIVOTS];
    for (int64_t l = 0; l < pivots->rows; l++) {
        int64_t i = backward ? pivots->rows - 1 - l : l;
        int64_t j = call->pivot_bytes == 8 ? ((const int64_t *)pivots->at)[i]
                                           : ((const int32_t *)pivots->at)[i];
        const row kept = block[i];
        if (j < 1 || j > call->m)
            continue; /* the residual shows such a pivot */
        block[i] = block[j - 1];
        block[j - 1] = kept;
    }
}

/* out = op(P L U) in; in is overwritten. */
static void multiply_lu(const struct check *c, const struct xg_routine *call, enum xg_trans trans,
                        row *in, row *middle, row *out)
{
    const struct xg_block_matrix l = unit_lower(call), u = upper(call);
    const double sign = trans == XG_TRANS ? -1 : 1; /* Aᵀ x is the conjugate of Aᴴ x's */
    if (trans == XG_NO_TRANS) {
        multiply(c, &u, false, in, middle);
        multiply(c, &l, false, middle, out);
        permute(call, out, true);
        return;
    }
    for (int64_t i = 0; i < c->extent; i++)
        for (int v = 0; v < VECTORS; v++)
            in[i].im[v] *= sign;
    permute(call, in, false);
    multiply(c, &l, true, in, middle);
    multiply(c, &u, true, middle, out);
    for (int64_t i = 0; i < c->extent; i++)
        for (int v = 0; v < VECTORS; v++)
            out[i].im[v] *= sign;
}

/* block = Q block or Qᴴ block, by the reflectors 1 - tau v vᴴ in A's columns. */
static void reflect(const struct xg_routine *call, int64_t count, bool conjugate, row *block)
{
    const struct xg_block_matrix a = full(call, XG_SLOT_A), tau = full(call, XG_SLOT_TAU);
    for (int64_t l = 0; l < count; l++) {
        const int64_t j = conjugate ? l : count - 1 - l;
        row dot = block[j];
        double re, im, tau_re, tau_im;
        for (int64_t i = j + 1; i < a.matrix.rows; i++) {
            xg_block_get(&a, i, j, &re, &im);
            for (int v = 0; v < VECTORS; v++) {
                dot.re[v] += re * block[i].re[v] + im * block[i].im[v];
                dot.im[v] += re * block[i].im[v] - im * block[i].re[v];
            }
        }
        xg_block_get(&tau, j, 0, &tau_re, &tau_im);
        tau_im = conjugate ? -tau_im : tau_im;
        for (int v = 0; v < VECTORS; v++) {
            const double dot_re = dot.re[v], dot_im = dot.im[v];
            dot.re[v] = tau_re * dot_re - tau_im * dot_im;
            dot.im[v] = tau_re * dot_im + tau_im * dot_re;
            block[j].re[v] -= dot.re[v];
            block[j].im[v] -= dot.im[v];
        }
        for (int64_t i = j + 1; i < a.matrix.rows; i++) {
            xg_block_get(&a, i, j, &re, &im);
            for (int v = 0; v < VECTORS; v++) {
                block[i].re[v] -= re * dot.re[v] - im * dot.im[v];
                block[i].im[v] -= re * dot.im[v] + im * dot.re[v];
            }
        }
    }
}

/* block = W block; rows beyond W's length become 0. */
static void scale(const struct check *c, row *block)
{
    const struct xg_block_matrix w = full(c->after, XG_SLOT_W);
    for (int64_t i = 0; i < c->extent; i++) {
        double value = 0, im;
        if (i < w.matrix.rows)
            xg_block_get(&w, i, 0, &value, &im);
        for (int v = 0; v < VECTORS; v++) {
            block[i].re[v] *= value;
            block[i].im[v] *= value;
        }
    }
}

/* --- Judgement ------------------------------------------------------------------------------- */

static void note(struct check *c, const char *what, double difference, double magnitude)
{
    const double eps = xg_type_is_double(c->before->type) ? DBL_EPSILON : (double)FLT_EPSILON;
    double units = difference == 0 ? 0 : difference / (c->root * eps * magnitude);
    if (!(units <= c->worst.units) && !isnan(c->worst.units))
        c->worst = (struct xg_residual){units, what};
}

/* The norm of the difference that is largest among the vectors. */
static double difference_of(const struct check *c, const row *one, const row *two)
{
    double squares[VECTORS] = {0}, worst = 0;
    for (int64_t i = 0; i < c->extent; i++)
        for (int v = 0; v < VECTORS; v++) {
            double re = one[i].re[v] - two[i].re[v], im = one[i].im[v] - two[i].im[v];
            squares[v] += re * re + im * im;
        }
    for (int v = 0; v < VECTORS; v++)
        if (!isnan(worst) && !(squares[v] <= worst))
            worst = squares[v];
    return sqrt(worst);
}

static void compare(struct check *c, const char *what, const row *one, const row *two,
                    double magnitude)
{
    note(c, what, difference_of(c, one, two), magnitude);
}

/* Checks that the columns are orthonormal or, if `rows`, that the rows are. */
static void compare_orthonormal(struct check *c, const char *what, const struct xg_block_matrix *q,
                                bool rows)
{
    draw(c, c->x, rows ? q->matrix.rows : q->matrix.columns);
    multiply(c, q, rows, c->x, c->y);
    multiply(c, q, !rows, c->y, c->z);
    compare(c, what, c->z, c->x, c->root);
}

/* --- Systems --------------------------------------------------------------------------------- */

static void check_cholesky(struct check *c, enum xg_slot slot)
{
    const struct xg_block_matrix a = triangle(c->before, slot), factor = triangle(c->after, slot);
    draw(c, c->x, a.matrix.rows);
    multiply_hermitian(c, &a, c->x, c->y);
    multiply_cholesky(c, &factor, c->x, c->w, c->z);
    compare(c, "the factor", c->y, c->z, hermitian_norm(c, &a));
}

static void check_potrf(struct check *c)
{
    check_cholesky(c, XG_SLOT_A);
}

/* Sets y to B y and x to X y. Returns |X|. */
static double begin_solution(struct check *c)
{
    const struct xg_block_matrix b = full(c->before, XG_SLOT_B), x = full(c->after, XG_SLOT_B);
    draw(c, c->w, b.matrix.columns);
    multiply(c, &b, false, c->w, c->y);
    multiply(c, &x, false, c->w, c->x);
    return norm(c, &x);
}

static void check_posv(struct check *c)
{
    const struct xg_block_matrix a = triangle(c->before, XG_SLOT_A);
    check_cholesky(c, XG_SLOT_A);
    double solution = begin_solution(c);
    multiply_hermitian(c, &a, c->x, c->z);
    compare(c, "the solution", c->y, c->z, hermitian_norm(c, &a) * solution);
}

static double cholesky_norm(const struct check *c, const struct xg_block_matrix *factor)
{
    const double size = norm(c, factor);
    return size * size / c->root;
}

/* The factor may be any triangle, and all of its diagonal counts. */
static void check_potrs(struct check *c)
{
    const struct xg_block_matrix factor =
        matrix_of(c->before, XG_SLOT_A, c->before->uplo, XG_DIAGONAL_STORED);
    double solution = begin_solution(c);
    multiply_cholesky(c, &factor, c->x, c->w, c->z);
    compare(c, "the solution", c->y, c->z, cholesky_norm(c, &factor) * solution);
}

static void check_potri(struct check *c)
{
    const struct xg_block_matrix factor = triangle(c->before, XG_SLOT_A);
    const struct xg_block_matrix inverse = triangle(c->after, XG_SLOT_A);
    draw(c, c->x, factor.matrix.rows);
    multiply_hermitian(c, &inverse, c->x, c->y);
    multiply_cholesky(c, &factor, c->y, c->w, c->z);
    compare(c, "the inverse", c->x, c->z, cholesky_norm(c, &factor) * hermitian_norm(c, &inverse));
}

static void check_getrf(struct check *c)
{
    const struct xg_block_matrix a = full(c->before, XG_SLOT_A), u = upper(c->after);
    draw(c, c->x, a.matrix.columns);
    multiply(c, &a, false, c->x, c->y);
    multiply_lu(c, c->after, XG_NO_TRANS, c->x, c->w, c->z);
    compare(c, "the factors", c->y, c->z, norm(c, &a) + norm(c, &u));
}

static void check_gesv(struct check *c)
{
    const struct xg_block_matrix a = full(c->before, XG_SLOT_A), u = upper(c->after);
    check_getrf(c);
    double solution = begin_solution(c);
    multiply(c, &a, false, c->x, c->z);
    compare(c, "the solution", c->y, c->z, (norm(c, &a) + norm(c, &u)) * solution);
}

static double lu_norm(const struct check *c)
{
    const struct xg_block_matrix l = unit_lower(c->before), u = upper(c->before);
    return norm(c, &l) * norm(c, &u) / c->root;
}

static void check_getrs(struct check *c)
{
    double solution = begin_solution(c);
    multiply_lu(c, c->before, c->before->trans, c->x, c->w, c->z);
    compare(c, "the solution", c->y, c->z, lu_norm(c) * solution);
}

/* The inverse may be right from either side: LAPACK's algorithm is exact on one side, cuSOLVER's on
 * the other. */
static void check_getri(struct check *c)
{
    const struct xg_block_matrix inverse = full(c->after, XG_SLOT_A);
    const double magnitude = lu_norm(c) * norm(c, &inverse);
    draw(c, c->x, inverse.matrix.rows);
    multiply(c, &inverse, false, c->x, c->y);
    multiply_lu(c, c->before, XG_NO_TRANS, c->y, c->w, c->z);
    double right = difference_of(c, c->x, c->z);
    memcpy(c->y, c->x, (size_t)c->extent * sizeof *c->y);
    multiply_lu(c, c->before, XG_NO_TRANS, c->y, c->w, c->z);
    multiply(c, &inverse, false, c->z, c->y);
    double left = difference_of(c, c->x, c->y);
    note(c, "the inverse", left < right ? left : right, magnitude);
}

/* --- Orthogonal factors ---------------------------------------------------------------------- */

static void check_geqrf(struct check *c)
{
    const struct xg_block_matrix a = full(c->before, XG_SLOT_A), r = upper(c->after);
    draw(c, c->x, a.matrix.columns);
    multiply(c, &a, false, c->x, c->y);
    multiply(c, &r, false, c->x, c->z);
    reflect(c->after, c->after->operand[XG_SLOT_TAU].rows, false, c->z);
    compare(c, "the factors", c->y, c->z, norm(c, &a));
}

static void check_orgqr(struct check *c)
{
    const struct xg_block_matrix q = full(c->after, XG_SLOT_A);
    draw(c, c->x, q.matrix.columns);
    multiply(c, &q, false, c->x, c->y);
    reflect(c->before, c->before->k, false, c->x);
    compare(c, "Q", c->x, c->y, c->root);
}

static void check_ormqr(struct check *c)
{
    const struct xg_block_matrix b = full(c->before, XG_SLOT_B),
                                 product = full(c->after, XG_SLOT_B);
    const bool conjugate = c->before->trans != XG_NO_TRANS, right = c->before->right;
    draw(c, c->x, b.matrix.columns);
    multiply(c, &product, false, c->x, c->z);
    if (right)
        reflect(c->before, c->before->k, conjugate, c->x);
    multiply(c, &b, false, c->x, c->y);
    if (!right)
        reflect(c->before, c->before->k, conjugate, c->y);
    compare(c, "the product", c->y, c->z, norm(c, &b));
}

/* --- Spectra --------------------------------------------------------------------------------- */

static void check_values(struct check *c, double magnitude)
{
    const struct xg_block_matrix w = full(c->after, XG_SLOT_W);
    note(c, "the values", fabs(norm(c, &w) - magnitude), magnitude * c->root);
}

static void check_trace(struct check *c, const struct xg_block_matrix *a, double magnitude)
{
    const struct xg_block_matrix w = full(c->after, XG_SLOT_W);
    double trace = 0, re, im;
    for (int64_t i = 0; i < w.matrix.rows; i++) {
        xg_block_get(a, i, i, &re, &im);
        trace += re;
        xg_block_get(&w, i, 0, &re, &im);
        trace -= re;
    }
    note(c, "the values", fabs(trace), magnitude * c->root);
}

static void check_syevd(struct check *c)
{
    const struct xg_block_matrix a = triangle(c->before, XG_SLOT_A), v = full(c->after, XG_SLOT_U);
    const double magnitude = hermitian_norm(c, &a);
    if (!c->before->vectors) {
        check_values(c, magnitude);
        check_trace(c, &a, magnitude);
        return;
    }
    compare_orthonormal(c, "the vectors", &v, false);
    draw(c, c->x, v.matrix.columns);
    multiply(c, &v, false, c->x, c->w);
    multiply_hermitian(c, &a, c->w, c->y);
    scale(c, c->x);
    multiply(c, &v, false, c->x, c->z);
    compare(c, "the vectors", c->y, c->z, magnitude * c->root);
}

/* Checks that Lᴴ V is orthonormal, where L is Cholesky's factor of B; for A B x = w x and A x = w B
 * x. */
static void check_norms(struct check *c, const struct xg_block_matrix *l,
                        const struct xg_block_matrix *v, double condition)
{
    const bool lower = l->part == XG_LOWER;
    draw(c, c->x, l->matrix.rows);
    multiply(c, v, false, c->x, c->w);
    multiply(c, l, lower, c->w, c->y);
    multiply(c, l, !lower, c->y, c->w);
    multiply(c, v, true, c->w, c->y);
    compare(c, "the vectors' norms", c->y, c->x, condition * c->root);
}

/* Checks V Vᴴ = B; for B A x = w x. */
static void check_square(struct check *c, const struct xg_block_matrix *b,
                         const struct xg_block_matrix *v)
{
    draw(c, c->x, b->matrix.rows);
    multiply(c, v, true, c->x, c->w);
    multiply(c, v, false, c->w, c->y);
    multiply_hermitian(c, b, c->x, c->z);
    compare(c, "the vectors' norms", c->y, c->z, hermitian_norm(c, b) * c->root);
}

/* Checks the equation multiplied by Vᴴ, which rounding affects least if B is ill-conditioned: Vᴴ A
 * V = W, or (B V)ᴴ A (B V) = W for A B x = w x. */
static void check_sygvd(struct check *c)
{
    const struct xg_block_matrix a = triangle(c->before, XG_SLOT_A),
                                 b = triangle(c->before, XG_SLOT_B);
    const struct xg_block_matrix l = triangle(c->after, XG_SLOT_B), v = full(c->after, XG_SLOT_U);
    const bool product = c->before->itype == 2;
    check_cholesky(c, XG_SLOT_B);
    const double vectors = norm(c, &v), n = (double)c->before->n;
    const double condition = fmax(1, vectors * norm(c, &l) / n);
    const double left = hermitian_norm(c, &a);
    if (c->before->itype == 3)
        check_square(c, &b, &v);
    else
        check_norms(c, &l, &v, condition);
    draw(c, c->x, a.matrix.rows);
    multiply(c, &v, false, c->x, c->w);
    if (product) {
        multiply_cholesky(c, &l, c->w, c->z, c->y);
        multiply_hermitian(c, &a, c->y, c->w);
        multiply_cholesky(c, &l, c->w, c->z, c->y);
    } else {
        multiply_hermitian(c, &a, c->w, c->y);
    }
    multiply(c, &v, true, c->y, c->z);
    scale(c, c->x);
    compare(c, "the vectors", c->z, c->x,
            product ? left * hermitian_norm(c, &b) * condition * c->root
                    : left * vectors * vectors);
}

static void check_gesdd(struct check *c)
{
    const int64_t least = xg_min_i64(c->before->m, c->before->n);
    const struct xg_block_matrix a = full(c->before, XG_SLOT_A);
    struct xg_block_matrix u = full(c->after, XG_SLOT_U), v = full(c->after, XG_SLOT_V);
    const double magnitude = norm(c, &a);
    if (!c->before->vectors) {
        check_values(c, magnitude);
        return;
    }
    compare_orthonormal(c, "the left vectors", &u, false);
    compare_orthonormal(c, "the right vectors", &v, true);
    u.matrix.columns = v.matrix.rows = least;
    draw(c, c->x, a.matrix.columns);
    multiply(c, &a, false, c->x, c->y);
    multiply(c, &v, false, c->x, c->w);
    scale(c, c->w);
    multiply(c, &u, false, c->w, c->z);
    compare(c, "the vectors", c->y, c->z, magnitude * c->root);
}

/* --- All routines ---------------------------------------------------------------------------- */

static void (*const checks[XG_ROUTINE_COUNT])(struct check *) = {
    [XG_ROUTINE_POTRF] = check_potrf, [XG_ROUTINE_POTRS] = check_potrs,
    [XG_ROUTINE_POSV] = check_posv,   [XG_ROUTINE_POTRI] = check_potri,
    [XG_ROUTINE_GETRF] = check_getrf, [XG_ROUTINE_GETRS] = check_getrs,
    [XG_ROUTINE_GESV] = check_gesv,   [XG_ROUTINE_GETRI] = check_getri,
    [XG_ROUTINE_GEQRF] = check_geqrf, [XG_ROUTINE_ORGQR] = check_orgqr,
    [XG_ROUTINE_ORMQR] = check_ormqr, [XG_ROUTINE_SYEVD] = check_syevd,
    [XG_ROUTINE_SYGVD] = check_sygvd, [XG_ROUTINE_GESDD] = check_gesdd,
};

bool xg_residual_covers(const struct xg_routine *call)
{
    const enum xg_proof proof = xg_routine_rows[call->name].proof;
    const bool all = call->operand[XG_SLOT_W].rows == call->n;
    return checks[call->name] &&
           (call->vectors || proof == XG_PROOF_ALWAYS || (proof == XG_PROOF_ALL_VALUES && all));
}

/* False if squares of the solution or inverse may overflow: getrf has left a very small pivot. */
static bool has_moderate_pivots(const struct check *c)
{
    const bool reads = xg_routine_use(c->before->name, XG_SLOT_PIVOTS)->in;
    const struct xg_block_matrix u = upper(c->before);
    return !reads || xg_block_least_pivot(&u) >= 1e-40;
}

/* False if squares or results may leave the type's range. */
static bool is_in_range(const struct check *c)
{
    const double most = xg_type_is_double(c->before->type) ? 1e40 : 1e12;
    for (int slot = XG_SLOT_A; slot <= XG_SLOT_B; slot++) {
        const struct xg_use *use = xg_routine_use(c->before->name, (enum xg_slot)slot);
        struct xg_block_matrix operand = full(c->before, (enum xg_slot)slot);
        if (!operand.matrix.at || !use->in)
            continue;
        operand.part = use->triangle ? c->before->uplo : XG_FULL;
        double largest = xg_block_measure(&operand, c->room, c->team, c->workers).largest;
        if (largest != 0 && !(largest >= 1 / most && largest <= most))
            return false;
    }
    return has_moderate_pivots(c);
}

static int64_t extent_of(const struct xg_routine *call)
{
    int64_t extent = 1;
    for (int slot = 0; slot < XG_SLOT_COUNT; slot++) {
        const struct xg_matrix *matrix = &call->operand[slot];
        if (matrix->at)
            extent = xg_max_i64(extent, xg_max_i64(matrix->rows, matrix->columns));
    }
    return extent;
}

enum xg_status xg_residual_measure(const struct xg_routine *before, const struct xg_routine *after,
                                   uint64_t seed, struct xg_team *team, int workers,
                                   struct xg_residual *out)
{
    int saved_errno = errno;
    struct check c = {.before = before,
                      .after = after,
                      .team = team,
                      .workers = workers,
                      .random = seed,
                      .root = sqrt((double)xg_max_i64(before->m, before->n)),
                      .worst = {0, "nothing"}};
    if (!xg_residual_covers(before))
        return XG_DECLINED;
    c.extent = extent_of(before);
    row *memory = calloc((size_t)c.extent, BLOCKS * sizeof *memory);
    errno = saved_errno;
    if (!memory)
        return XG_ERR_NOMEM;
    row **const blocks[BLOCKS] = {&c.x, &c.y, &c.z, &c.w, &c.room};
    for (int i = 0; i < BLOCKS; i++)
        *blocks[i] = memory + i * c.extent;
    fenv_t environment;
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    bool able = is_in_range(&c);
    if (able)
        checks[before->name](&c);
    fesetenv(&environment);
    free(memory);
    if (able)
        *out = c.worst;
    return able ? XG_OK : XG_DECLINED;
}
