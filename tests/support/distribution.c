/* SPDX-License-Identifier: MIT */
/* Operands that are hard to multiply accurately, each for its own reason, in either precision. */
#include "distribution.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "src/base/problem.h"
#include "src/host/team.h"

/* The draw-th random number of this element: uniform in (0, 1), of all digits. */
static double unit(const struct distribution_place *p, uint64_t draw)
{
    uint64_t z = p->seed ^ ((uint64_t)p->which << 56) ^ draw << 48;
    const uint64_t words[] = {(uint64_t)p->outer, (uint64_t)p->l};
    for (int i = 0; i < 2; i++) {
        z = (z + words[i] + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
    }
    return ldexp((double)(z >> (65 - p->digits)) + 0.5, 1 - p->digits);
}

static double sign(const struct distribution_place *p, uint64_t draw)
{
    return unit(p, draw) < 0.5 ? -1.0 : 1.0;
}

/* Uniform in (-1, 1). */
static double signed_unit(const struct distribution_place *p)
{
    return 2.0 * unit(p, 0) - 1.0;
}

static double gauss(const struct distribution_place *p, uint64_t draw)
{
    return sqrt(-2.0 * log(unit(p, draw))) * cos(6.283185307179586 * unit(p, draw + 1));
}

/* Of either sign; a significand of all digits, the last of which is 1. */
static double full_width(const struct distribution_place *p)
{
    const double odd = floor(ldexp(unit(p, 1), p->digits - 2)) * 2.0 + 1.0;
    return sign(p, 0) * (1.0 + ldexp(odd, 1 - p->digits));
}

static bool in_a(const struct distribution_place *p)
{
    return p->which == 'a';
}

static bool is_float(const struct distribution_place *p)
{
    return p->digits == FLT_MANT_DIG;
}

static double largest_number(const struct distribution_place *p)
{
    return is_float(p) ? (double)FLT_MAX : DBL_MAX;
}

/* Whether the element lies on the diagonal, which is repeated along the longer side. */
static bool on_diagonal(const struct distribution_place *p)
{
    return p->l == p->outer % p->k;
}

/* The place along k, counted from the diagonal. */
static int64_t turned(const struct distribution_place *p)
{
    return (p->l - p->outer % p->k + p->k) % p->k;
}

/* From -parameter to parameter while `at` goes from 0 to k. */
static int sweep(const struct distribution_place *p, int64_t at)
{
    return (int)(2.0 * p->parameter * (double)at / (double)p->k - p->parameter);
}

/* --- Judged beside cuBLAS ------------------------------------------------------------------ */

static double normal(const struct distribution_place *p)
{
    return gauss(p, 0);
}

static double uniform(const struct distribution_place *p)
{
    return signed_unit(p);
}

/* Sums that never cancel: they show where a kernel truncates. */
static double positive(const struct distribution_place *p)
{
    return unit(p, 0);
}

/* (U - 1/2) exp(parameter N). */
static double spread(const struct distribution_place *p)
{
    return (unit(p, 0) - 0.5) * exp(p->parameter * gauss(p, 1));
}

/* +-2^e, e uniform in +-parameter. */
static double log_uniform(const struct distribution_place *p)
{
    return sign(p, 0) * exp2(p->parameter * (2.0 * unit(p, 1) - 1.0));
}

/* The rows of A, and the columns of B, differ in size by up to 2^(40 parameter). */
static double graded_outer(const struct distribution_place *p)
{
    return ldexp(gauss(p, 0), (int)(p->outer % 41 - 20) * (int)p->parameter);
}

/* A's columns decrease along k and B's rows increase: all products have the same size. */
static double graded_inner(const struct distribution_place *p)
{
    const int grade = sweep(p, p->l);
    return ldexp(gauss(p, 0), in_a(p) ? -grade : grade);
}

/* One element of each row of A and column of B is 2^parameter times the others. */
static double outlier(const struct distribution_place *p)
{
    return ldexp(signed_unit(p), p->l == p->outer * 31 % p->k ? (int)p->parameter : 0);
}

/* The second half of k repeats the first with the opposite sign, except for the share `parameter`.
 */
static double cancelling(const struct distribution_place *p)
{
    struct distribution_place first = *p;
    const int64_t half = p->k / 2;
    if (p->l < half || p->l >= 2 * half)
        return gauss(p, 0);
    first.l -= half;
    const double value = gauss(&first, 0);
    return in_a(p) ? value : -value * (1.0 + p->parameter * unit(p, 2));
}

/*
 * The scaled circulant of Demmel and others: each row of A is the row above, turned by one place;
 * its exponents go from -parameter to parameter, and B has the inverse scaling.
 */
static double circulant(const struct distribution_place *p)
{
    const int exponent = sweep(p, turned(p));
    return ldexp(signed_unit(p), in_a(p) ? exponent : -exponent);
}

/* `parameter` % of the numbers differ from zero, so that few products are added. */
static double sparse(const struct distribution_place *p)
{
    return unit(p, 2) >= p->parameter / 100.0 ? 0.0 : gauss(p, 0);
}

static double sparse_a(const struct distribution_place *p)
{
    return in_a(p) ? sparse(p) : gauss(p, 0);
}

/* One product for each element of C. */
static double diagonal_a(const struct distribution_place *p)
{
    return in_a(p) && !on_diagonal(p) ? 0.0 : gauss(p, 0);
}

/* Two products for each element of C, at distant places of k. */
static double two_apart(const struct distribution_place *p, bool here)
{
    return here && turned(p) != 0 && turned(p) != p->k / 2 ? 0.0 : gauss(p, 0);
}

static double two_a_row(const struct distribution_place *p)
{
    return two_apart(p, in_a(p));
}

static double two_a_column(const struct distribution_place *p)
{
    return two_apart(p, !in_a(p));
}

/* Every fourth row of A has a single number, at the end of k; the others are full. */
static double sparse_rows(const struct distribution_place *p)
{
    return in_a(p) && p->outer % 4 == 1 && p->l != p->k - 1 ? 0.0 : gauss(p, 0);
}

static double triangular(const struct distribution_place *p)
{
    return in_a(p) && p->l > p->outer % p->k ? 0.0 : gauss(p, 0);
}

/* A has blocks of 32 x 32; one of `parameter` blocks differs from zero: products at neighbouring
 * places of k. */
static double block_sparse(const struct distribution_place *p)
{
    const bool there = (p->l / 32 + p->outer / 32) % (int64_t)p->parameter == 0;
    return in_a(p) && !there ? 0.0 : gauss(p, 0);
}

/* A is below the normal numbers; B is so large that the results are normal. */
static double subnormal_a(const struct distribution_place *p)
{
    const int a = is_float(p) ? -127 : -1060, b = is_float(p) ? 100 : 900;
    return ldexp(signed_unit(p), in_a(p) ? a : b);
}

/* --- Exact --------------------------------------------------------------------------------- */

/* Whole numbers of equal size in A and B; every sum has at most all digits. */
static double integers(const struct distribution_place *p)
{
    return rint(signed_unit(p) * floor(sqrt(ldexp(1.0, p->digits) / (double)p->k)));
}

/* Numbers as long as such sums allow in A; -1, 0 and 1 in B. */
static double integers_wide(const struct distribution_place *p)
{
    const double most = floor(ldexp(1.0, p->digits) / (double)p->k) - 1.0;
    return rint(signed_unit(p) * (in_a(p) ? most : 1.0));
}

/* A times 2^parameter. */
static double identity_b(const struct distribution_place *p)
{
    return in_a(p) ? ldexp(full_width(p), (int)p->parameter) : (double)on_diagonal(p);
}

static double identity_a(const struct distribution_place *p)
{
    return in_a(p) ? (double)on_diagonal(p) : full_width(p);
}

static double permutation(const struct distribution_place *p)
{
    return in_a(p) ? full_width(p) : (double)(p->l == (p->outer * 7 + 3) % p->k);
}

static double diagonal(const struct distribution_place *p)
{
    if (in_a(p))
        return full_width(p);
    return on_diagonal(p) ? ldexp(1.0, (int)(p->outer % 41) - 20) : 0.0;
}

static double largest(const struct distribution_place *p)
{
    return in_a(p) ? sign(p, 0) * largest_number(p) : (double)on_diagonal(p);
}

/* Where A is not zero B is: every product and every sum is zero. */
static double complementary(const struct distribution_place *p)
{
    return p->l % 2 == in_a(p) ? ldexp(gauss(p, 0), (int)(p->l % 61) - 30) : 0.0;
}

static double zero_a(const struct distribution_place *p)
{
    return in_a(p) ? 0.0 * sign(p, 0) : gauss(p, 0);
}

/* --- Special ------------------------------------------------------------------------------- */

/* One element of every fourth row of A and of every eighth column of B. */
static bool struck(const struct distribution_place *p)
{
    return in_a(p) ? p->outer % 4 == 1 && p->l == p->outer * 13 % p->k
                   : p->outer % 8 == 3 && p->l == p->outer * 29 % p->k;
}

static double with_nan(const struct distribution_place *p)
{
    return struck(p) ? (double)NAN : gauss(p, 0);
}

static double with_infinity(const struct distribution_place *p)
{
    return struck(p) ? sign(p, 3) * (double)INFINITY : gauss(p, 0);
}

/* In some columns an infinity of A meets a zero of B. */
static double infinity_by_zero(const struct distribution_place *p)
{
    if (in_a(p))
        return struck(p) ? (double)INFINITY : gauss(p, 0);
    return (p->outer + p->l) % 16 ? gauss(p, 0) : 0.0;
}

/* Positive numbers, so that sums only grow; the largest number lies between the rows' results. */
static double overflowing(const struct distribution_place *p)
{
    const int end = is_float(p) ? FLT_MAX_EXP : DBL_MAX_EXP, b = is_float(p) ? 70 : 500;
    const int a = (int)(end - log2((double)p->k) - b + (double)(p->outer % 16) - 8);
    return ldexp(0.5 + unit(p, 0), in_a(p) ? a : b);
}

/* Elements of A up to the largest number; the results are smaller. */
static double large(const struct distribution_place *p)
{
    return signed_unit(p) * (in_a(p) ? largest_number(p) : 0.25 / (double)p->k);
}

static double all_subnormal(const struct distribution_place *p)
{
    return ldexp(signed_unit(p), is_float(p) ? -127 : -1060);
}

/* Normal operands, results below the normal numbers. */
static double subnormal_results(const struct distribution_place *p)
{
    return ldexp(signed_unit(p), is_float(p) ? -70 : -530);
}

static double zero_rows(const struct distribution_place *p)
{
    return p->outer % 3 ? gauss(p, 0) : 0.0;
}

const struct distribution distribution_table[] = {
    {"N(0,1)", RULE_CUBLAS, normal, 0},
    {"U(-1,1)", RULE_CUBLAS, uniform, 0},
    {"U(0,1)", RULE_CUBLAS, positive, 0},
    {"(U-1/2) exp N", RULE_CUBLAS, spread, 1},
    {"(U-1/2) exp 2N", RULE_CUBLAS, spread, 2},
    {"(U-1/2) exp 3N", RULE_CUBLAS, spread, 3},
    {"(U-1/2) exp 4N", RULE_CUBLAS, spread, 4},
    {"exponents +-10", RULE_CUBLAS, log_uniform, 10},
    {"exponents +-30", RULE_CUBLAS, log_uniform, 30},
    {"graded rows, cols", RULE_CUBLAS, graded_outer, 1},
    {"graded along k 6", RULE_CUBLAS, graded_inner, 6},
    {"graded along k 30", RULE_CUBLAS, graded_inner, 30},
    {"outlier 2^10", RULE_CUBLAS, outlier, 10},
    {"outlier 2^30", RULE_CUBLAS, outlier, 30},
    {"cancellation", RULE_CUBLAS, cancelling, 0x1p-12},
    {"circulant 2^6", RULE_CUBLAS, circulant, 6},
    {"circulant 2^12", RULE_CUBLAS, circulant, 12},
    {"circulant 2^24", RULE_CUBLAS, circulant, 24},
    {"circulant 2^40", RULE_CUBLAS, circulant, 40},
    {"subnormal A", RULE_CUBLAS, subnormal_a, 0},
    {"1 % by dense", RULE_CUBLAS, sparse_a, 1},
    {"10 % by dense", RULE_CUBLAS, sparse_a, 10},
    {"1 % by 1 %", RULE_CUBLAS, sparse, 1},
    {"30 % by 30 %", RULE_CUBLAS, sparse, 30},
    {"diagonal by dense", RULE_CUBLAS, diagonal_a, 0},
    {"two a row by dense", RULE_CUBLAS, two_a_row, 0},
    {"dense by two a col", RULE_CUBLAS, two_a_column, 0},
    {"sparse rows in dense", RULE_CUBLAS, sparse_rows, 0},
    {"triangular by dense", RULE_CUBLAS, triangular, 0},
    {"blocks, 1 in 8", RULE_CUBLAS, block_sparse, 8},
    {"integers", RULE_EXACT, integers, 0},
    {"integers by -1 0 1", RULE_EXACT, integers_wide, 0},
    {"all bits, B identity", RULE_EXACT, identity_b, 0},
    {"all bits, A identity", RULE_EXACT, identity_a, 0},
    {"permutation", RULE_EXACT, permutation, 0},
    {"diagonal of 2^i", RULE_EXACT, diagonal, 0},
    {"largest, identity", RULE_EXACT, largest, 0},
    {"complementary zeros", RULE_EXACT, complementary, 0},
    {"A of +-0", RULE_EXACT, zero_a, 0},
    {"NaN", RULE_SPECIAL, with_nan, 0},
    {"infinities", RULE_SPECIAL, with_infinity, 0},
    {"infinity by zero", RULE_SPECIAL, infinity_by_zero, 0},
    {"overflow", RULE_SPECIAL, overflowing, 0},
    {"near the largest", RULE_SPECIAL, large, 0},
    {"all subnormal", RULE_SPECIAL, all_subnormal, 0},
    {"subnormal results", RULE_SPECIAL, subnormal_results, 0},
    {"zero rows, cols", RULE_SPECIAL, zero_rows, 0},
    {"exponents +-100", RULE_CUBLAS, log_uniform, 100},
    {"exponents +-400", RULE_CUBLAS, log_uniform, 400},
    {"graded to 2^+-400", RULE_CUBLAS, graded_outer, 20},
    {"graded along k 200", RULE_CUBLAS, graded_inner, 200},
    {"cancellation 2^-30", RULE_CUBLAS, cancelling, 0x1p-30},
    {"cancellation 2^-48", RULE_CUBLAS, cancelling, 0x1p-48},
    {"2^1023, B identity", RULE_EXACT, identity_b, 1023},
};
enum { DOUBLES_ALONE = 7 };
const int distribution_doubles_count = sizeof distribution_table / sizeof distribution_table[0];
const int distribution_count =
    sizeof distribution_table / sizeof distribution_table[0] - DOUBLES_ALONE;

const struct distribution *distribution_named(const char *name)
{
    for (int d = 0; d < distribution_doubles_count; d++)
        if (!strcmp(distribution_table[d].name, name))
            return &distribution_table[d];
    return NULL;
}

double distribution_element(const struct distribution *distribution,
                            struct distribution_place place)
{
    place.parameter = distribution->parameter;
    return distribution->element(&place);
}

/* --- Filling ------------------------------------------------------------------------------- */

struct fill {
    const struct distribution *distribution;
    struct distribution_place place;
    int64_t rows, cols, ld;
    bool along_k;
    void *matrix;
    int workers;
};

static void fill_rows(void *arg, int worker)
{
    const struct fill *fill = arg;
    struct distribution_place place = fill->place;
    for (int64_t i = worker; i < fill->rows; i += fill->workers)
        for (int64_t j = 0; j < fill->ld; j++) {
            place.outer = fill->along_k ? i : j;
            place.l = fill->along_k ? j : i;
            const double x = j < fill->cols ? distribution_element(fill->distribution, place) : 0.0;
            if (is_float(&place))
                ((float *)fill->matrix)[i * fill->ld + j] = (float)x;
            else
                ((double *)fill->matrix)[i * fill->ld + j] = x;
        }
}

static void fill_operand(struct fill *fill, struct xg_team *team, char which, int64_t outer,
                         bool along_k, const void *matrix, int64_t ld)
{
    const int64_t k = fill->place.k;
    fill->place.which = which;
    fill->rows = along_k ? outer : k;
    fill->cols = along_k ? k : outer;
    fill->along_k = along_k;
    fill->matrix = (void *)(uintptr_t)matrix;
    fill->ld = ld;
    xg_team_run(team, fill->workers, fill_rows, fill);
}

void distribution_fill(const struct distribution *distribution, struct xg_team *team, uint64_t seed,
                       const struct xg_problem *call)
{
    struct fill fill = {.distribution = distribution,
                        .place = {.seed = seed,
                                  .digits = call->type == XG_TYPE_D ? DBL_MANT_DIG : FLT_MANT_DIG,
                                  .k = call->k},
                        .workers = xg_team_size(team)};
    fill_operand(&fill, team, 'a', call->m, !call->transa, call->a, call->lda);
    fill_operand(&fill, team, 'b', call->n, call->transb, call->b, call->ldb);
}
