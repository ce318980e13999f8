/* SPDX-License-Identifier: MIT */
/* Operands that are hard to multiply accurately, each for a reason of its own. */
#include "distribution.h"

#include <float.h>
#include <math.h>

/* The draw-th random number of this element: uniform in (0, 1), 24 bits. */
static float unit(const struct distribution_place *p, uint64_t draw)
{
    uint64_t z = p->seed ^ ((uint64_t)p->which << 56) ^ draw << 48;
    const uint64_t words[] = {(uint64_t)p->outer, (uint64_t)p->l};
    for (int i = 0; i < 2; i++) {
        z = (z + words[i] + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
    }
    return ((float)(z >> 41) + 0.5f) * 0x1p-23f;
}

static float sign(const struct distribution_place *p, uint64_t draw)
{
    return unit(p, draw) < 0.5f ? -1.0f : 1.0f;
}

static float gauss(const struct distribution_place *p, uint64_t draw)
{
    return sqrtf(-2.0f * logf(unit(p, draw))) * cosf(6.2831853f * unit(p, draw + 1));
}

/* A significand of 24 bits, its last one set: 1 to 2. */
static float full_width(const struct distribution_place *p, uint64_t draw)
{
    return 1.0f + ((float)(int32_t)(unit(p, draw) * 0x1p22f) * 2.0f + 1.0f) * 0x1p-23f;
}

static bool in_a(const struct distribution_place *p)
{
    return p->which == 'a';
}

/* --- Judged beside cuBLAS ------------------------------------------------------------------ */

static float normal(const struct distribution_place *p)
{
    return gauss(p, 0);
}

static float uniform(const struct distribution_place *p)
{
    return 2.0f * unit(p, 0) - 1.0f;
}

/* Nothing cancels: what truncates while it sums shows here. */
static float positive(const struct distribution_place *p)
{
    return unit(p, 0);
}

/* (U - 1/2) exp(parameter N). */
static float spread(const struct distribution_place *p)
{
    return (unit(p, 0) - 0.5f) * expf((float)p->parameter * gauss(p, 1));
}

/* +-2^e, e uniform in +-parameter. */
static float log_uniform(const struct distribution_place *p)
{
    return sign(p, 0) * exp2f((float)p->parameter * (2.0f * unit(p, 1) - 1.0f));
}

/* Rows of A and columns of B of very different size, each even in itself. */
static float graded_outer(const struct distribution_place *p)
{
    return ldexpf(gauss(p, 0), (int)(p->outer % 41) - 20);
}

/* Columns of A fall as rows of B rise: each row is uneven, and each product of even size. */
static float graded_inner(const struct distribution_place *p)
{
    int grade = (int)(2.0 * p->parameter * (double)p->l / (double)p->k - p->parameter);
    return ldexpf(gauss(p, 0), in_a(p) ? -grade : grade);
}

/* One element of each row of A and column of B is 2^parameter times the others. */
static float outlier(const struct distribution_place *p)
{
    float value = 2.0f * unit(p, 0) - 1.0f;
    return p->l == p->outer * 31 % p->k ? ldexpf(value, (int)p->parameter) : value;
}

/* The second half of k repeats the first with the sign changed, but for one part in 4096. */
static float cancelling(const struct distribution_place *p)
{
    struct distribution_place first = *p;
    int64_t half = p->k / 2;
    if (p->l < half || p->l >= 2 * half)
        return gauss(p, 0);
    first.l -= half;
    float value = gauss(&first, 0);
    return in_a(p) ? value : -value * (1.0f + 0x1p-12f * unit(p, 2));
}

/*
 * Demmel and others' scaled circulant: each row of A is the one above turned by a place, its
 * exponents sweep from -parameter to parameter, and B undoes the scaling.
 */
static float circulant(const struct distribution_place *p)
{
    int64_t turned = (p->l - p->outer % p->k + p->k) % p->k;
    int sweep = (int)(2.0 * p->parameter * (double)turned / (double)p->k - p->parameter);
    return ldexpf(2.0f * unit(p, 0) - 1.0f, in_a(p) ? sweep : -sweep);
}

/* Few products add up: parameter % of A are not zero. */
static float sparse_a(const struct distribution_place *p)
{
    return in_a(p) && unit(p, 2) >= (float)p->parameter / 100.0f ? 0.0f : gauss(p, 0);
}

static float sparse(const struct distribution_place *p)
{
    return unit(p, 2) >= (float)p->parameter / 100.0f ? 0.0f : gauss(p, 0);
}

/* A diagonal matrix, repeated where m > k: one product an element. */
static float diagonal_a(const struct distribution_place *p)
{
    return in_a(p) && p->l != p->outer % p->k ? 0.0f : gauss(p, 0);
}

/* Two products an element, at distant places of k. */
static float two_apart(const struct distribution_place *p, bool here)
{
    int64_t turned = (p->l - p->outer % p->k + p->k) % p->k;
    return here && turned != 0 && turned != p->k / 2 ? 0.0f : gauss(p, 0);
}

static float two_a_row(const struct distribution_place *p)
{
    return two_apart(p, in_a(p));
}

static float two_a_column(const struct distribution_place *p)
{
    return two_apart(p, !in_a(p));
}

/* One row of A in four has a single number, at the end of k; the others are full. */
static float sparse_rows(const struct distribution_place *p)
{
    return in_a(p) && p->outer % 4 == 1 && p->l != p->k - 1 ? 0.0f : gauss(p, 0);
}

static float triangular(const struct distribution_place *p)
{
    return in_a(p) && p->l > p->outer % p->k ? 0.0f : gauss(p, 0);
}

/* Blocks of 32 x 32, one in `parameter` of them not zeros: products at neighbouring places of k. */
static float block_sparse(const struct distribution_place *p)
{
    bool there = (p->l / 32 + p->outer / 32) % (int64_t)p->parameter == 0;
    return in_a(p) && !there ? 0.0f : gauss(p, 0);
}

/* A below the normal numbers, B large enough for results among them. */
static float subnormal_a(const struct distribution_place *p)
{
    return ldexpf(2.0f * unit(p, 0) - 1.0f, in_a(p) ? -127 : 100);
}

/* --- Exact --------------------------------------------------------------------------------- */

/* Integers of equal size in both; no sum reaches 2^24. */
static float integers(const struct distribution_place *p)
{
    float most = floorf(sqrtf(0x1p24f / (float)p->k));
    return roundf((2.0f * unit(p, 0) - 1.0f) * fminf(most, 4096.0f));
}

/* As many bits as fit in A, -1, 0 or 1 in B. */
static float integers_wide(const struct distribution_place *p)
{
    float most = in_a(p) ? floorf(0x1p24f / (float)p->k) - 1.0f : 1.0f;
    return roundf((2.0f * unit(p, 0) - 1.0f) * most);
}

/* A of significands of 24 bits; B the identity, repeated where n > k. */
static float identity_b(const struct distribution_place *p)
{
    return in_a(p) ? sign(p, 0) * full_width(p, 1) : (float)(p->l == p->outer % p->k);
}

static float identity_a(const struct distribution_place *p)
{
    return in_a(p) ? (float)(p->l == p->outer % p->k) : sign(p, 0) * full_width(p, 1);
}

static float permutation(const struct distribution_place *p)
{
    return in_a(p) ? sign(p, 0) * full_width(p, 1) : (float)(p->l == (p->outer * 7 + 3) % p->k);
}

static float diagonal(const struct distribution_place *p)
{
    float there = p->l == p->outer % p->k ? ldexpf(1.0f, (int)(p->outer % 41) - 20) : 0.0f;
    return in_a(p) ? sign(p, 0) * full_width(p, 1) : there;
}

static float largest(const struct distribution_place *p)
{
    return in_a(p) ? sign(p, 0) * FLT_MAX : (float)(p->l == p->outer % p->k);
}

/* Where A is not zero B is: every product and every sum is zero. */
static float complementary(const struct distribution_place *p)
{
    return p->l % 2 == in_a(p) ? ldexpf(gauss(p, 0), (int)(p->l % 61) - 30) : 0.0f;
}

static float zero_a(const struct distribution_place *p)
{
    return in_a(p) ? 0.0f * sign(p, 0) : gauss(p, 0);
}

/* --- Special ------------------------------------------------------------------------------- */

/* One a row in every fourth row of A, one a column in every eighth column of B. */
static bool struck(const struct distribution_place *p)
{
    return in_a(p) ? p->outer % 4 == 1 && p->l == p->outer * 13 % p->k
                   : p->outer % 8 == 3 && p->l == p->outer * 29 % p->k;
}

static float with_nan(const struct distribution_place *p)
{
    return struck(p) ? NAN : gauss(p, 0);
}

static float with_infinity(const struct distribution_place *p)
{
    return struck(p) ? sign(p, 3) * INFINITY : gauss(p, 0);
}

/* An infinity of A meets a zero of B in some columns. */
static float infinity_by_zero(const struct distribution_place *p)
{
    if (in_a(p))
        return struck(p) ? INFINITY : gauss(p, 0);
    return (p->outer + p->l) % 16 ? gauss(p, 0) : 0.0f;
}

/* Positive, so that sums only grow; the rows' results lie on both sides of FLT_MAX. */
static float overflowing(const struct distribution_place *p)
{
    int scale = (int)(128 - log2((double)p->k) - 70 + (double)(p->outer % 16) - 8);
    return ldexpf(0.5f + unit(p, 0), in_a(p) ? scale : 70);
}

/* Elements of A up to FLT_MAX; the results stay below. */
static float large(const struct distribution_place *p)
{
    float value = 2.0f * unit(p, 0) - 1.0f;
    return in_a(p) ? value * FLT_MAX : value / (float)(4 * p->k);
}

static float all_subnormal(const struct distribution_place *p)
{
    return ldexpf(2.0f * unit(p, 0) - 1.0f, -127);
}

/* Normal operands, results below the normal numbers. */
static float subnormal_results(const struct distribution_place *p)
{
    return ldexpf(2.0f * unit(p, 0) - 1.0f, -70);
}

static float zero_rows(const struct distribution_place *p)
{
    return p->outer % 3 ? gauss(p, 0) : 0.0f;
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
    {"graded rows, cols", RULE_CUBLAS, graded_outer, 0},
    {"graded along k 6", RULE_CUBLAS, graded_inner, 6},
    {"graded along k 30", RULE_CUBLAS, graded_inner, 30},
    {"outlier 2^10", RULE_CUBLAS, outlier, 10},
    {"outlier 2^30", RULE_CUBLAS, outlier, 30},
    {"cancellation", RULE_CUBLAS, cancelling, 0},
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
    {"24 bits, B identity", RULE_EXACT, identity_b, 0},
    {"24 bits, A identity", RULE_EXACT, identity_a, 0},
    {"permutation", RULE_EXACT, permutation, 0},
    {"diagonal of 2^i", RULE_EXACT, diagonal, 0},
    {"FLT_MAX, identity", RULE_EXACT, largest, 0},
    {"complementary zeros", RULE_EXACT, complementary, 0},
    {"A of +-0", RULE_EXACT, zero_a, 0},
    {"NaN", RULE_SPECIAL, with_nan, 0},
    {"infinities", RULE_SPECIAL, with_infinity, 0},
    {"infinity by zero", RULE_SPECIAL, infinity_by_zero, 0},
    {"overflow", RULE_SPECIAL, overflowing, 0},
    {"near FLT_MAX", RULE_SPECIAL, large, 0},
    {"all subnormal", RULE_SPECIAL, all_subnormal, 0},
    {"subnormal results", RULE_SPECIAL, subnormal_results, 0},
    {"zero rows, cols", RULE_SPECIAL, zero_rows, 0},
};
const int distribution_count = sizeof distribution_table / sizeof distribution_table[0];

/* --- Doubles ------------------------------------------------------------------------------- */

/* x with the bits below those of a float, as random as these. */
static double lengthened(const struct distribution_place *p, double x)
{
    return x * (1.0 + (unit(p, 8) - 0.5) * 0x1p-23 + (unit(p, 9) - 0.5) * 0x1p-46);
}

double distribution_widened(const struct distribution *distribution,
                            const struct distribution_place *place)
{
    const double x = (double)distribution->element(place);
    return distribution->rule == RULE_EXACT ? x : lengthened(place, x);
}

/* +-x 2^e, e uniform in +-parameter. */
static double log_uniform_d(const struct distribution_place *p)
{
    return lengthened(p,
                      (double)sign(p, 0) * exp2(p->parameter * (2.0 * (double)unit(p, 1) - 1.0)));
}

static double graded_outer_d(const struct distribution_place *p)
{
    return ldexp(lengthened(p, (double)gauss(p, 0)), (int)(p->outer % 41 - 20) * (int)p->parameter);
}

static double graded_inner_d(const struct distribution_place *p)
{
    int grade = (int)(2.0 * p->parameter * (double)p->l / (double)p->k - p->parameter);
    return ldexp(lengthened(p, (double)gauss(p, 0)), in_a(p) ? -grade : grade);
}

/* The second half of k repeats the first with the sign changed, but for the last `parameter`. */
static double cancelling_d(const struct distribution_place *p)
{
    struct distribution_place first = *p;
    int64_t half = p->k / 2;
    if (p->l < half || p->l >= 2 * half)
        return lengthened(p, (double)gauss(p, 0));
    first.l -= half;
    double value = lengthened(&first, (double)gauss(&first, 0));
    return in_a(p) ? value : -value * (1.0 + p->parameter * (double)unit(p, 2));
}

static double subnormal_a_d(const struct distribution_place *p)
{
    return ldexp(lengthened(p, 2.0 * (double)unit(p, 0) - 1.0), in_a(p) ? -1060 : 900);
}

/* Integers of equal size in both; no sum reaches 2^53. */
static double integers_d(const struct distribution_place *p)
{
    double most = floor(sqrt(0x1p53 / (double)p->k));
    return rint(lengthened(p, 2.0 * (double)unit(p, 0) - 1.0) * (most - 1.0));
}

static double integers_wide_d(const struct distribution_place *p)
{
    double most = in_a(p) ? floor(0x1p53 / (double)p->k) - 1.0 : 1.0;
    return rint(lengthened(p, 2.0 * (double)unit(p, 0) - 1.0) * (most - 1.0));
}

/* A significand of 53 bits, its last one set. */
static double full_width_d(const struct distribution_place *p)
{
    return (double)sign(p, 0) * (1.0 + (floor((double)unit(p, 1) * 0x1p23) * 0x1p29 +
                                        floor((double)unit(p, 2) * 0x1p23) * 64.0 + 1.0) *
                                           0x1p-52);
}

/* B the identity, repeated where n > k; times 2^parameter. */
static double identity_b_d(const struct distribution_place *p)
{
    return in_a(p) ? ldexp(full_width_d(p), (int)p->parameter) : (double)(p->l == p->outer % p->k);
}

static double permutation_d(const struct distribution_place *p)
{
    return in_a(p) ? full_width_d(p) : (double)(p->l == (p->outer * 7 + 3) % p->k);
}

/* Of all rows A's results lie on both sides of DBL_MAX. */
static double overflowing_d(const struct distribution_place *p)
{
    int scale = (int)(1024 - log2((double)p->k) - 500 + (double)(p->outer % 16) - 8);
    return ldexp(lengthened(p, 0.5 + (double)unit(p, 0)), in_a(p) ? scale : 500);
}

static double large_d(const struct distribution_place *p)
{
    double value = lengthened(p, 2.0 * (double)unit(p, 0) - 1.0);
    return in_a(p) ? value * (DBL_MAX / 2.0) : value / (double)(4 * p->k);
}

/* All of them times 2^parameter. */
static double small_d(const struct distribution_place *p)
{
    return ldexp(lengthened(p, 2.0 * (double)unit(p, 0) - 1.0), (int)p->parameter);
}

const struct distribution_double distribution_doubles[] = {
    {"exponents +-100", RULE_CUBLAS, log_uniform_d, 100},
    {"exponents +-400", RULE_CUBLAS, log_uniform_d, 400},
    {"graded to 2^+-400", RULE_CUBLAS, graded_outer_d, 20},
    {"graded along k 200", RULE_CUBLAS, graded_inner_d, 200},
    {"cancellation 2^-30", RULE_CUBLAS, cancelling_d, 0x1p-30},
    {"cancellation 2^-48", RULE_CUBLAS, cancelling_d, 0x1p-48},
    {"A of 2^-1060", RULE_CUBLAS, subnormal_a_d, 0},
    {"integers to 2^53", RULE_EXACT, integers_d, 0},
    {"2^53 by -1 0 1", RULE_EXACT, integers_wide_d, 0},
    {"53 bits, B identity", RULE_EXACT, identity_b_d, 0},
    {"2^1023, B identity", RULE_EXACT, identity_b_d, 1023},
    {"53 bits permuted", RULE_EXACT, permutation_d, 0},
    {"beyond DBL_MAX", RULE_SPECIAL, overflowing_d, 0},
    {"near DBL_MAX", RULE_SPECIAL, large_d, 0},
    {"all of 2^-1060", RULE_SPECIAL, small_d, -1060},
    {"results of 2^-1060", RULE_SPECIAL, small_d, -530},
};
const int distribution_doubles_count = sizeof distribution_doubles / sizeof distribution_doubles[0];

/* --- Filling ------------------------------------------------------------------------------- */

struct fill {
    const struct distribution *distribution;
    struct distribution_place place;
    int64_t rows, cols, ld;
    bool k_along_rows;
    float *matrix;
    int workers;
};

static void fill_rows(void *arg, int worker)
{
    const struct fill *fill = arg;
    struct distribution_place place = fill->place;
    for (int64_t i = worker; i < fill->rows; i += fill->workers) {
        float *row = fill->matrix + i * fill->ld;
        for (int64_t j = 0; j < fill->cols; j++) {
            place.outer = fill->k_along_rows ? i : j;
            place.l = fill->k_along_rows ? j : i;
            row[j] = fill->distribution->element(&place);
        }
        for (int64_t j = fill->cols; j < fill->ld; j++)
            row[j] = 0.0f;
    }
}

void distribution_fill(const struct distribution *distribution, struct xg_team *team, uint64_t seed,
                       char which, int64_t outer, int64_t k, bool k_along_rows, float *matrix,
                       int64_t ld)
{
    struct fill fill = {
        .distribution = distribution,
        .place = {.seed = seed, .which = which, .k = k, .parameter = distribution->parameter},
        .rows = k_along_rows ? outer : k,
        .cols = k_along_rows ? k : outer,
        .ld = ld,
        .k_along_rows = k_along_rows,
        .matrix = matrix,
        .workers = xg_team_size(team)};
    xg_team_run(team, fill.workers, fill_rows, &fill);
}
