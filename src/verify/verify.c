/* SPDX-License-Identifier: MIT */
/* Checks a product by Freivalds' method, and then single elements in the rows that exceed their
 * threshold. */
#include "verify/verify.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "decide/overlap.h"
#include "verify/matvec.h"

_Static_assert((int)XG_VERIFY_VECTORS == (int)XG_MATVEC_VECTORS &&
                   (int)XG_VERIFY_ROWS == (int)XG_MATVEC_VECTORS,
               "a pass over a matrix has room for them");

enum { VECTORS = XG_VERIFY_VECTORS, PLANES = XG_MATVEC_PLANES };

/* Half a step at 1, the least normal number, the least number, and the largest sum that cannot
 * overflow; combined: the error of beta C0 and of its sum with the rest, in any rounding mode, and
 * that of the row that is computed again. */
static const struct format {
    double u, normal, least, most, combined;
} formats[] = {[XG_TYPE_S] = {0x1p-24, 0x1p-126, 0x1p-149, 0x1p127, 4 * 0x1p-24},
               [XG_TYPE_D] = {0x1p-53, 0x1p-1022, 0x1p-1074, 0x1p1023, 8 * 0x1p-53}};

/* Deviations are reported up to this: thresholds of the least numbers are tiny. */
static const double DEVIATION_MOST = 1e9;

/* In units of |op(A)||op(B)|: the error that ordinary numbers reach, and the error that no numbers
 * exceed. */
struct errors {
    double ordinary, bound;
};

struct xg_verify {
    struct xg_problem call;
    struct xg_team *team;
    int workers;
    uint64_t random;
    enum xg_sums sums; /* xg_verify_check sets this and the errors */
    struct errors errors;
    void *before; /* C, with contiguous rows; NULL if beta is 0 */
    double *memory;
    double *signs;                   /* planes of n */
    double *b_signs;                 /* of k: op(B) x, and the norm of each row of op(B) */
    double *ab_signs;                /* of m: op(A) (op(B) x), and |op(A)| by those norms */
    double *c_signs, *before_signs;  /* of m: C x, C0 x and the norm of each row of C0 */
    double *row_a, *exact, *largest; /* rows computed again: op(A)'s, planes of k; sums, of n */
};

static const struct format *format_of(const struct xg_problem *call)
{
    return &formats[call->type];
}

bool xg_verify_samples(uint64_t number, double fraction)
{
    return (double)(xg_random_mix((number + 1) * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53 < fraction;
}

/* --- Before the product -------------------------------------------------------------------- */

static bool can_be_verified(const struct xg_problem *p)
{
    double bytes = (double)p->m * (double)p->n * (double)xg_type_bytes(p->type);
    return (p->op == XG_OP_GEMM || p->op == XG_OP_GEMV) && !xg_type_is_complex(p->type) &&
           isfinite(p->alpha) && isfinite(p->beta) && !xg_overlap_find(p) &&
           (p->beta == 0 || bytes <= (double)XG_VERIFY_COPY_BYTES);
}

static bool allocate(struct xg_verify *verify)
{
    const struct xg_problem *call = &verify->call;
    const struct {
        double **plane;
        int64_t extent;
        int planes;
    } parts[] = {{&verify->signs, call->n, VECTORS},   {&verify->b_signs, call->k, PLANES},
                 {&verify->ab_signs, call->m, PLANES}, {&verify->c_signs, call->m, PLANES},
                 {&verify->row_a, call->k, PLANES},    {&verify->exact, call->n, PLANES},
                 {&verify->largest, call->n, PLANES},  {&verify->before_signs, call->m, PLANES}};
    enum { PARTS = sizeof parts / sizeof parts[0] };
    size_t count = 0, taken = 0;
    int used = call->beta != 0 ? PARTS : PARTS - 1;
    for (int i = 0; i < used; i++)
        count += (size_t)(parts[i].planes * parts[i].extent);
    verify->memory = malloc(count * sizeof(double));
    for (int i = 0; verify->memory && i < used; i++) {
        *parts[i].plane = verify->memory + taken;
        taken += (size_t)(parts[i].planes * parts[i].extent);
    }
    if (call->beta != 0)
        verify->before = malloc((size_t)call->m * (size_t)call->n * xg_type_bytes(call->type));
    return verify->memory && (call->beta == 0 || verify->before);
}

static void draw_signs(struct xg_verify *verify)
{
    int64_t count = VECTORS * verify->call.n;
    for (int64_t i = 0; i < count; i += 64) {
        uint64_t bits = xg_random_next(&verify->random);
        for (int64_t j = i; j < xg_min_i64(i + 64, count); j++, bits >>= 1)
            verify->signs[j] = bits & 1 ? 1.0 : -1.0;
    }
}

static void multiply(const struct xg_verify *verify, const struct xg_matvec *job)
{
    xg_matvec_run(job, verify->team, verify->workers);
}

/* The form that bounds a row's norm: squares of doubles could overflow or vanish. */
static enum xg_matvec_form norms_form(const struct xg_problem *call)
{
    return call->type == XG_TYPE_D ? XG_MATVEC_LARGEST : XG_MATVEC_SQUARES;
}

/* An upper bound of the norm of a row of n elements. */
static double norm_of(const struct xg_problem *call, double found)
{
    return call->type == XG_TYPE_D ? found * sqrt((double)call->n) : sqrt(found);
}

/* Multiplies the present C by the signs; copy: NULL, or memory that gets a copy of C. */
static void multiply_c(const struct xg_verify *verify, double *out, void *copy)
{
    const struct xg_problem *call = &verify->call;
    multiply(verify, &(struct xg_matvec){.type = call->type,
                                         .matrix = call->c,
                                         .rows = call->m,
                                         .columns = call->n,
                                         .ld = call->ldc,
                                         .form = norms_form(call),
                                         .in = verify->signs,
                                         .out = out,
                                         .copy = copy});
}

enum xg_status xg_verify_create(const struct xg_problem *call, uint64_t seed, struct xg_team *team,
                                int workers, struct xg_verify **out)
{
    if (!can_be_verified(call))
        return XG_DECLINED;
    struct xg_verify *verify = calloc(1, sizeof *verify);
    if (!verify)
        return XG_ERR_NOMEM;
    verify->call = *call;
    verify->team = team;
    verify->workers = workers;
    verify->random = seed;
    if (!allocate(verify)) {
        xg_verify_destroy(verify);
        return XG_ERR_NOMEM;
    }
    fenv_t environment;
    fegetenv(&environment);
    draw_signs(verify);
    if (verify->before)
        multiply_c(verify, verify->before_signs, verify->before);
    fesetenv(&environment); /* the team reads a clock, which leaves flags */
    *out = verify;
    return XG_OK;
}

void xg_verify_restore(const struct xg_verify *verify)
{
    const struct xg_problem *call = &verify->call;
    const size_t elem_bytes = xg_type_bytes(call->type), row_bytes = (size_t)call->n * elem_bytes;
    for (int64_t i = 0; verify->before && i < call->m; i++)
        memcpy((char *)call->c + (size_t)(i * call->ldc) * elem_bytes,
               (const char *)verify->before + (size_t)i * row_bytes, row_bytes);
}

void xg_verify_destroy(struct xg_verify *verify)
{
    if (!verify)
        return;
    free(verify->before);
    free(verify->memory);
    free(verify);
}

/* --- How far a result may be off ------------------------------------------------------------ */

static struct errors errors_of(const struct xg_problem *call, enum xg_sums sums)
{
    const double u = format_of(call)->u, k = (double)call->k;
    /* A row of doubles that is computed again may be off by as much as the result. */
    const double sides = call->type == XG_TYPE_D ? 2 : 1;
    switch (sums) {
    case XG_SUMS_PIECES:
        return (struct errors){(sqrt(k) / 8 + 4) * u, 1.001 * (k / 16 + 140) * u};
    case XG_SUMS_TF32:
        return (struct errors){0x1p-10 + sqrt(k) * u, 0x1p-9 + 1.001 * (2 * k + 16) * u};
    case XG_SUMS_FP32:
        break;
    }
    return (struct errors){(sqrt(k) / 2 + 4) * u, 1.001 * sides * (k + 12) * u};
}

/* TF32 cuts a number below 2^-126 at the same place as 2^-126 itself. */
static const double TF32_LEAST = 0x1p-126, TF32_CUT = 0x1p-136;

/* The absolute part of an element's bound, without the part that C0 adds. */
static double least_of(const struct xg_problem *call)
{
    const struct format *format = format_of(call);
    double beta = fabs(call->beta);
    double steps = (double)(call->k + 4) * fmax(1.0, fabs(call->alpha)) * format->least;
    return beta == 0 ? steps : steps + format->normal * (2 + beta);
}

/* --- The screen ----------------------------------------------------------------------------- */

/* Rows to compute again: the rows most above their thresholds, and some whose r is not finite. */
struct doubts {
    struct doubt {
        int64_t row;
        double deviation;
    } rows[XG_VERIFY_ROWS];
    int count;
    int64_t odd[XG_VERIFY_ROWS];
    int64_t odd_count; /* number of all such rows */
};

/* The largest error of row i in units of its threshold; NaN if one is not finite. own: the screen's
 * own rounding errors, in sums of n and of k doubles. */
static double deviation_of(const struct xg_verify *verify, int64_t i)
{
    const struct xg_problem *call = &verify->call;
    const struct format *format = format_of(call);
    double m_n = sqrt((double)call->n), spread = fmin(8.0, m_n), worst = 0;
    double scale = fabs(call->alpha) * verify->ab_signs[VECTORS * call->m + i], old = 0;
    if (verify->before)
        old = (fabs(call->beta) + format->normal) *
              norm_of(call, verify->before_signs[VECTORS * call->m + i]);
    double own = (m_n + 2 * sqrt((double)call->k) + 8) * formats[XG_TYPE_D].u;
    double threshold = spread * (scale * (verify->errors.ordinary + own) +
                                 old * (format->combined + own) + m_n * least_of(call));
    for (int v = 0; v < VECTORS; v++) {
        int64_t row = v * call->m + i;
        double r = verify->c_signs[row] - call->alpha * verify->ab_signs[row];
        if (verify->before)
            r -= call->beta * verify->before_signs[row];
        if (!isfinite(r) || !isfinite(threshold))
            return NAN;
        worst = fmax(worst, fabs(r) / threshold);
    }
    return worst;
}

/* Keeps the list in order, the largest deviation first. */
static void doubt(struct doubts *doubts, int64_t row, double deviation)
{
    int place = doubts->count < XG_VERIFY_ROWS ? doubts->count++ : XG_VERIFY_ROWS - 1;
    if (place == XG_VERIFY_ROWS - 1 && doubts->count == XG_VERIFY_ROWS &&
        doubts->rows[place].deviation >= deviation)
        return;
    for (; place > 0 && doubts->rows[place - 1].deviation < deviation; place--)
        doubts->rows[place] = doubts->rows[place - 1];
    doubts->rows[place] = (struct doubt){row, deviation};
}

/* Keeps a random sample of the rows: each row is as likely as any other. */
static void doubt_odd(struct doubts *doubts, int64_t row, uint64_t *random)
{
    int64_t place = doubts->odd_count++;
    if (place >= XG_VERIFY_ROWS)
        place = (int64_t)(xg_random_next(random) % (uint64_t)doubts->odd_count);
    if (place < XG_VERIFY_ROWS)
        doubts->odd[place] = row;
}

static void screen(struct xg_verify *verify, struct doubts *doubts, struct xg_verify_report *report)
{
    const struct xg_problem *call = &verify->call;
    multiply(verify, &(struct xg_matvec){.type = call->type,
                                         .matrix = call->b,
                                         .rows = call->k,
                                         .columns = call->n,
                                         .ld = call->ldb,
                                         .trans = call->transb,
                                         .form = norms_form(call),
                                         .in = verify->signs,
                                         .out = verify->b_signs});
    double *norms = verify->b_signs + VECTORS * call->k;
    for (int64_t l = 0; l < call->k; l++)
        norms[l] = norm_of(call, norms[l]);
    multiply(verify, &(struct xg_matvec){.type = call->type,
                                         .matrix = call->a,
                                         .rows = call->m,
                                         .columns = call->k,
                                         .ld = call->lda,
                                         .trans = call->transa,
                                         .form = XG_MATVEC_WEIGHTED,
                                         .in = verify->b_signs,
                                         .out = verify->ab_signs});
    multiply_c(verify, verify->c_signs, NULL);
    for (int64_t i = 0; i < call->m; i++) {
        double deviation = deviation_of(verify, i);
        if (isnan(deviation)) {
            doubt_odd(doubts, i, &verify->random);
            continue;
        }
        report->deviation = fmax(report->deviation, fmin(deviation, DEVIATION_MOST));
        if (deviation > 1)
            doubt(doubts, i, deviation);
    }
}

/* --- Rows computed again -------------------------------------------------------------------- */

/* Element (i,l) of op(A). */
static double a_at(const struct xg_problem *call, int64_t i, int64_t l)
{
    return xg_matvec_element(call->a, call->transa ? l * call->lda + i : i * call->lda + l,
                             call->type);
}

/* Doubles are summed in double precision, which gives no exact value if sums overflow; then only
 * the operands decide. */
enum operands {
    ORDINARY,
    OVERFLOWING, /* the operands are finite, but the sums are not: any value may be right */
    INFINITE,    /* there are infinities and no NaN: the value is not finite */
    NOT_NUMBERS, /* there is a NaN: so is the value */
};

/* The exact value of an element, and how far a result may be off. */
struct element {
    double exact, bound;
    double largest; /* the largest possible partial sum */
    enum operands operands;
};

static bool agrees(double value, const struct element *element, enum xg_sums sums,
                   const struct format *format)
{
    switch (element->operands) {
    case OVERFLOWING:
        return true;
    case INFINITE:
        return !isfinite(value);
    case NOT_NUMBERS:
        return isnan(value);
    case ORDINARY:
        break;
    }
    if (isnan(element->exact))
        return isnan(value);
    if (isinf(element->exact))
        return isnan(value) || value == element->exact;
    if (!isfinite(value))
        return element->largest >= format->most || sums == XG_SUMS_TF32;
    return fabs(value - element->exact) <= element->bound;
}

/* The operands of an element of doubles whose sums or magnitudes are not finite. */
static enum operands operands_of(const struct xg_verify *verify, int64_t i, int64_t j)
{
    const struct xg_problem *call = &verify->call;
    double old =
        verify->before ? xg_matvec_element(verify->before, i * call->n + j, call->type) : 0;
    bool finite = isfinite(old), numbers = !isnan(old);
    for (int64_t l = 0; l < call->k && numbers; l++) {
        double a = a_at(call, i, l);
        double b = xg_matvec_element(call->b, call->transb ? j * call->ldb + l : l * call->ldb + j,
                                     call->type);
        finite = finite && isfinite(a) && isfinite(b);
        numbers = !isnan(a) && !isnan(b);
    }
    return !numbers ? NOT_NUMBERS : finite ? OVERFLOWING : INFINITE;
}

/* The largest change of an element of the row by cutting op(B)'s subnormal numbers. */
static double lost_to_cuts(const struct xg_verify *verify, int plane)
{
    const struct xg_problem *call = &verify->call;
    double sum = 0;
    for (int64_t l = 0; verify->sums == XG_SUMS_TF32 && l < call->k; l++)
        sum += verify->row_a[plane * call->k + l];
    return fabs(call->alpha) * sum * TF32_CUT;
}

/* plane: plane of the row's sums; least: an absolute part of the bound. */
static struct element element_of(const struct xg_verify *verify, int64_t i, int64_t j, int plane,
                                 double least)
{
    const struct xg_problem *call = &verify->call;
    const struct format *format = format_of(call);
    double alpha = call->alpha, sum = verify->exact[plane * call->n + j];
    double largest = verify->largest[plane * call->n + j];
    struct element element = {.exact = alpha * sum,
                              .bound = fabs(alpha) * largest * verify->errors.bound + least,
                              .largest = fmax(1.0, fabs(alpha)) * largest};
    if (verify->before) {
        double old = xg_matvec_element(verify->before, i * call->n + j, call->type);
        double scaled = (fabs(call->beta) + format->normal) * fabs(old);
        element.exact += call->beta * old;
        element.bound += format->combined * scaled + format->normal * fabs(old);
        element.largest += scaled;
    }
    element.largest *= 1 + verify->errors.bound;
    if (call->type == XG_TYPE_D && !(isfinite(element.exact) && isfinite(element.largest)))
        element.operands = operands_of(verify, i, j);
    return element;
}

static void judge_row(const struct xg_verify *verify, int64_t i, int plane,
                      struct xg_verify_report *report)
{
    const struct xg_problem *call = &verify->call;
    double most = 0, least = least_of(call) + lost_to_cuts(verify, plane);
    if (report->wrong)
        most = fabs(report->value - report->exact) / report->bound;
    for (int64_t j = 0; j < call->n; j++) {
        struct element element = element_of(verify, i, j, plane, least);
        double value = xg_matvec_element(call->c, i * call->ldc + j, call->type);
        if (agrees(value, &element, verify->sums, format_of(call)))
            continue;
        double off = fabs(value - element.exact) / element.bound;
        if (report->wrong && !(off > most))
            continue;
        most = off;
        report->wrong = true;
        report->row = i;
        report->column = j;
        report->value = value;
        report->exact = element.exact;
        report->bound = element.bound;
    }
}

/* Computes up to XG_VERIFY_ROWS rows at once: B is read as often for one row as for all. */
static void compute_rows(struct xg_verify *verify, const int64_t *rows, int count,
                         struct xg_verify_report *report)
{
    const struct xg_problem *call = &verify->call;
    memset(verify->row_a, 0, (size_t)(PLANES * call->k) * sizeof(double));
    for (int r = 0; r < count; r++)
        for (int64_t l = 0; l < call->k; l++)
            verify->row_a[r * call->k + l] = a_at(call, rows[r], l);
    struct xg_matvec job = {.type = call->type,
                            .matrix = call->b,
                            .rows = call->n,
                            .columns = call->k,
                            .ld = call->ldb,
                            .trans = !call->transb,
                            .form = XG_MATVEC_SQUARES,
                            .in = verify->row_a,
                            .out = verify->exact};
    multiply(verify, &job);
    double least = verify->sums == XG_SUMS_TF32 ? TF32_LEAST : 0;
    for (int64_t e = 0; e < PLANES * call->k; e++)
        verify->row_a[e] = fmax(fabs(verify->row_a[e]), least);
    job.form = XG_MATVEC_ABSOLUTE;
    job.out = verify->largest;
    multiply(verify, &job);
    for (int r = 0; r < count; r++)
        judge_row(verify, rows[r], r, report);
    report->rows_computed += count;
}

void xg_verify_check(struct xg_verify *verify, enum xg_sums sums, struct xg_verify_report *report)
{
    struct doubts doubts = {.count = 0};
    int64_t rows[XG_VERIFY_ROWS];
    fenv_t environment;
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);
    verify->sums = sums;
    verify->errors = errors_of(&verify->call, sums);
    *report = (struct xg_verify_report){.rows = verify->call.m};
    screen(verify, &doubts, report);
    for (int i = 0; i < doubts.count; i++)
        rows[i] = doubts.rows[i].row;
    if (doubts.count)
        compute_rows(verify, rows, doubts.count, report);
    int odd = (int)xg_min_i64(doubts.odd_count, XG_VERIFY_ROWS);
    if (odd)
        compute_rows(verify, doubts.odd, odd, report);
    report->rows_skipped = doubts.odd_count - odd;
    fesetenv(&environment);
}
