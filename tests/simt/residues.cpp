/* SPDX-License-Identifier: MIT */
/* DGEMM by residues, compared with sums in long double. */
#include "simt.h"

#include "emulated/dgemm_residue_sm80.cu"
#include "emulated/residue_split_sm80.cu"

extern "C" {
#include "distribution.h"
}

namespace expansion
{
#include "emulated/residue_expand_sm80.cu"
}

/* The form of an operand that the kernels read. */
struct operand {
    std::vector<int8_t> residues;
    std::vector<int32_t> exponents;
    struct xg_residue_stats stats;
};

static operand split(const std::vector<double> &data, int rows, int k, int64_t row_stride,
                     int64_t k_stride)
{
    const int64_t plane_bytes = rows * xg_residue_padded_k(k);
    operand made = {std::vector<int8_t>((size_t)(XG_RESIDUE_MODULI_COUNT * plane_bytes), 0x77),
                    std::vector<int32_t>((size_t)rows),
                    {}};
    const struct xg_residue_split_args args = {(uintptr_t)data.data(),
                                               (uintptr_t)made.residues.data(),
                                               (uintptr_t)made.exponents.data(),
                                               (uintptr_t)&made.stats,
                                               row_stride,
                                               k_stride,
                                               rows,
                                               k,
                                               plane_bytes};
    simt_launch((unsigned)((rows + ROWS - 1) / ROWS), THREADS,
                [&] { xg_residue_split_sm80(args); });
    return made;
}

static const int moduli[] = {
#define MODULUS(modulus) modulus,
    XG_RESIDUE_MODULI(MODULUS)
#undef MODULUS
};

/* Each row has the largest scale that its norm allows, and the residues of its rounded numbers. */
static void judge_split(const operand &made, const std::vector<double> &numbers, int rows, int k)
{
    const int h[XG_RESIDUE_COUNTS] = {XG_RESIDUE_H0, XG_RESIDUE_H1, XG_RESIDUE_H2};
    const int padded = (int)xg_residue_padded_k(k);
    uint32_t least[XG_RESIDUE_COUNTS] = {}, most[XG_RESIDUE_COUNTS] = {};
    for (int row = 0; row < rows; row++) {
        const double *x = &numbers[(size_t)row * (size_t)k];
        const int scale = made.exponents[(size_t)row];
        long double squares = 0;
        for (int l = 0; l < k; l++)
            squares += ldexpl(x[l], scale) * ldexpl(x[l], scale);
        if (!std::isfinite(squares)) {
            SIMT_CHECK(made.stats.not_finite, "row %d is not finite", row);
            return;
        }
        const long double bits = log2l(squares) / 2;
        SIMT_CHECK(squares == 0 ||
                       (bits < XG_RESIDUE_BITS + 1e-6 && bits > XG_RESIDUE_BITS - 1.001),
                   "row %d: a norm of %Lg bits", row, bits);
        for (int i = 0; i < XG_RESIDUE_COUNTS; i++) {
            const long double threshold = ldexpl(sqrtl(squares / k), -h[i]);
            uint32_t surely = 0, maybe = 0;
            for (int l = 0; l < k && squares > 0; l++) {
                surely += fabsl(ldexpl(x[l], scale)) < threshold * 0.9999L;
                maybe += fabsl(ldexpl(x[l], scale)) < threshold * 1.0001L;
            }
            least[i] = std::max(least[i], surely);
            most[i] = std::max(most[i], maybe);
        }
        for (int index = 0; index < XG_RESIDUE_MODULI_COUNT; index++)
            for (int l = 0; l < padded; l++) {
                const int64_t integer = l < k ? llroundl(ldexpl(x[l], scale)) : 0;
                const int residue = made.residues[(size_t)((index * rows + row) * padded + l)];
                SIMT_CHECK((integer - residue) % moduli[index] == 0, "row %d, %d: %d modulo %d",
                           row, l, residue, moduli[index]);
            }
    }
    for (int i = 0; i < XG_RESIDUE_COUNTS; i++)
        SIMT_CHECK(made.stats.small_max[i] >= least[i] && made.stats.small_max[i] <= most[i],
                   "%u small numbers, not %u", made.stats.small_max[i], least[i]);
    SIMT_CHECK(!made.stats.not_finite, "all are finite");
}

/* Every fourth number is small: its integer ends in any bits, those of the others in zeros. */
static double mixed(int, int l)
{
    return l % 4 ? simt_normal() : simt_normal() * 0x1p-12;
}

static double ones(int, int)
{
    return 1.0;
}

/* If both operands have these numbers, the sums are small numbers, or 0. */
static double cancelling(int row, int l)
{
    return row % 2 && l % 2 ? -1.0 - l / 2 : 1.0 + l / 2;
}

/* Numbers that the table of distributions does not have. */
static const struct {
    const char *name;
    double (*element)(int row, int l);
} own[] = {{"mixed", mixed}, {"ones", ones}, {"cancelling", cancelling}};

/* An element of op(A) (which 'a') or op(B), by the name of its distribution. */
static double element(const char *name, char which, int row, int l, int k)
{
    for (const auto &kind : own)
        if (!strcmp(kind.name, name))
            return kind.element(row, l);
    struct distribution_place place = {};
    place.seed = 1;
    place.digits = 53;
    place.which = which;
    place.outer = row;
    place.l = l;
    place.k = k;
    return distribution_element(distribution_named(name), place);
}

struct form {
    int m, n, k;
    bool transa, transb;
    const char *a, *b; /* distributions */
    double alpha, beta;
    int triangle;
    bool served;
};

static void judge(const form &f, const std::vector<double> &a, const std::vector<double> &b,
                  const std::vector<double> &c, const std::vector<double> &old, int ldc)
{
    const struct xg_triangle wanted = {0, f.triangle};
    const double bound = f.served ? 2.5 : f.k + 4;
    double worst = 0;
    for (int i = 0; i < f.m; i++)
        for (int j = 0; j < ldc; j++) {
            const double got = c[(size_t)(i * ldc + j)], before = old[(size_t)(i * ldc + j)];
            if (j >= f.n || !xg_triangle_wants(&wanted, i, j)) {
                SIMT_CHECK(!memcmp(&got, &before, sizeof got), "%d,%d is not of C", i, j);
                continue;
            }
            long double magnitude;
            const long double sum =
                simt_exact(f.k, f.alpha, &a[(size_t)(i * f.k)], 1, &b[(size_t)(j * f.k)], 1, f.beta,
                           before, &magnitude);
            if (!std::isfinite(sum)) {
                SIMT_CHECK(std::isnan(sum) ? std::isnan(got) : got == sum, "%d,%d: %g", i, j, got);
                continue;
            }
            const bool integers = !strcmp(f.a, "integers") || !strcmp(f.a, "cancelling");
            SIMT_CHECK(!integers || got == (double)sum, "%d,%d is not the integer", i, j);
            if (f.k == 1 && f.beta == 0) /* long double may round twice */
                SIMT_CHECK(got == a[(size_t)i] * b[(size_t)j], "%d,%d is not rounded", i, j);
            const double error =
                (double)(fabsl(got - sum) / (magnitude * 0x1p-53L + 0x1p-1074L / 2));
            worst = !(error <= worst) ? error : worst;
        }
    SIMT_CHECK(worst <= bound, "%d,%d,%d: %g units", f.m, f.n, f.k, worst);
}

static void test(const form &f)
{
    const int lda = (f.transa ? f.m : f.k) + 1, ldb = (f.transb ? f.k : f.n) + 2, ldc = f.n + 1;
    std::vector<double> a((size_t)(f.m * f.k)), b((size_t)(f.n * f.k)); /* row by row along k */
    std::vector<double> stored_a((size_t)((f.transa ? f.k : f.m) * lda), NAN);
    std::vector<double> stored_b((size_t)((f.transb ? f.n : f.k) * ldb), NAN);
    std::vector<double> c((size_t)(f.m * ldc)), old;
    for (int i = 0; i < f.m; i++)
        for (int l = 0; l < f.k; l++)
            stored_a[(size_t)(f.transa ? l * lda + i : i * lda + l)] = a[(size_t)(i * f.k + l)] =
                element(f.a, 'a', i, l, f.k);
    for (int j = 0; j < f.n; j++)
        for (int l = 0; l < f.k; l++)
            stored_b[(size_t)(f.transb ? j * ldb + l : l * ldb + j)] = b[(size_t)(j * f.k + l)] =
                element(f.b, 'b', j, l, f.k);
    for (double &x : c)
        x = f.beta == 0 ? NAN : simt_normal(); /* not read */
    old = c;
    const operand left = split(stored_a, f.m, f.k, f.transa ? 1 : lda, f.transa ? lda : 1);
    const operand right = split(stored_b, f.n, f.k, f.transb ? ldb : 1, f.transb ? 1 : ldb);
    SIMT_CHECK(xg_residue_serves(&left.stats, &right.stats, f.k) == f.served, "%d,%d,%d", f.m, f.n,
               f.k);
    judge_split(left, a, f.m, f.k);
    judge_split(right, b, f.n, f.k);
    /* The second panel decides. */
    const struct xg_residue_stats left_stats[2] = {{}, left.stats},
                                  right_stats[2] = {{}, right.stats};
    const struct xg_split_pair pair = {(uintptr_t)left_stats, (uintptr_t)right_stats, 2, 2, f.k};
    const struct xg_triangle wanted = {0, f.triangle};
    const int64_t padded_n = xg_residue_padded_n(f.n);
    std::vector<uint8_t> results((size_t)(XG_RESIDUE_MODULI_COUNT * f.m * padded_n), 0xee);
    const struct xg_residue_product_args product = {{},
                                                    {},
                                                    (uintptr_t)left.residues.data(),
                                                    (uintptr_t)right.residues.data(),
                                                    (uintptr_t)results.data(),
                                                    f.m * xg_residue_padded_k(f.k),
                                                    f.n * xg_residue_padded_k(f.k),
                                                    pair,
                                                    f.m,
                                                    f.n,
                                                    f.k,
                                                    wanted};
    const struct xg_residue_combine_args combine = {(uintptr_t)results.data(),
                                                    (uintptr_t)c.data(),
                                                    (uintptr_t)left.exponents.data(),
                                                    (uintptr_t)right.exponents.data(),
                                                    pair,
                                                    ldc,
                                                    f.m,
                                                    f.n,
                                                    f.alpha,
                                                    f.beta,
                                                    wanted};
    const struct xg_residue_native_args native = {
        {(uintptr_t)stored_a.data(), (uintptr_t)stored_b.data(), (uintptr_t)c.data(), lda, ldb, ldc,
         f.m, f.n, f.k, f.alpha, f.beta, wanted, f.transa, f.transb, 1},
        pair};
    const int tiles = ((f.m + TILE_M - 1) / TILE_M) * ((f.n + TILE_N - 1) / TILE_N);
    simt_launch((unsigned)(XG_RESIDUE_MODULI_COUNT * tiles), PRODUCT_THREADS,
                [&] { xg_residue_product_sm80_128x256x64(product); });
    simt_launch(
        (unsigned)((f.m * padded_n / XG_RESIDUE_QUAD + COMBINE_THREADS - 1) / COMBINE_THREADS),
        COMBINE_THREADS, [&] { xg_residue_combine_sm80(combine); });
    simt_launch((unsigned)(((f.m + NATIVE - 1) / NATIVE) * ((f.n + NATIVE - 1) / NATIVE)),
                NATIVE_THREADS, [&] { xg_residue_native_sm80(native); });
    judge(f, a, b, c, old, ldc);
}

/* Checks the real operand that residue_kabi.h describes; the kernel must not write behind it. */
static void test_expansion(int rows, int k, bool along_k, bool of_b, bool conjugate)
{
    const int ld = along_k ? k + 1 : rows + 2, parts = of_b ? 2 : 1;
    const int to_ld = XG_RESIDUE_EXPANDED_LD(2 * k);
    std::vector<double2> from((size_t)((along_k ? rows : k) * ld));
    std::vector<double> to((size_t)(parts * rows * to_ld + 1), 7.0);
    for (double2 &x : from)
        x = {simt_normal(), simt_normal()};
    const struct xg_residue_expand_args args = {(uintptr_t)from.data(),
                                                (uintptr_t)to.data(),
                                                along_k ? ld : 1,
                                                along_k ? 1 : ld,
                                                rows,
                                                k,
                                                of_b,
                                                conjugate};
    const int side = XG_RESIDUE_EXPAND_SIDE;
    simt_launch((unsigned)((rows + side - 1) / side * ((to_ld / 2 + side - 1) / side)),
                expansion::THREADS, [&] { expansion::xg_residue_expand_sm80(args); });
    for (int row = 0; row < rows; row++)
        for (int l = 0; l < to_ld / 2; l++) {
            const double2 x =
                l < k ? from[(size_t)(along_k ? row * ld + l : l * ld + row)] : double2{0, 0};
            const double y = conjugate ? -x.y : x.y;
            const double *pair = &to[(size_t)(parts * row * to_ld + 2 * l)];
            SIMT_CHECK(pair[0] == x.x && pair[1] == (of_b ? -y : y), "%d,%d", row, l);
            SIMT_CHECK(!of_b || (pair[to_ld] == y && pair[to_ld + 1] == x.x), "%d,%d", row, l);
        }
    SIMT_CHECK(to.back() == 7.0, "%d,%d: written behind the operand", rows, k);
}

int main()
{
    for (int form = 0; form < 8; form++)
        for (const int k : {1, 31, 32, 65})
            test_expansion(k % 7 + 30, k, form & 1, form & 2, form & 4);
    const char *const r = "N(0,1)", *const few = "30 % by 30 %", *const large = "near the largest";
    const int all = XG_TRIANGLE_ALL;
    static const form forms[] = {
        {130, 260, 140, false, false, r, r, 1, 0, all, true},
        {70, 37, 400, true, false, r, r, -1.5, 0.5, all, true},
        {33, 300, 129, false, true, "U(0,1)", "U(0,1)", 1, 0, all, true},
        {140, 140, 64, true, true, r, r, 1, 1, XG_TRIANGLE_UPPER, true},
        {140, 140, 64, true, true, r, r, 1, 1, XG_TRIANGLE_LOWER, true},
        {20, 20, 100, false, false, "integers", "integers", 1, 0, all, true},
        {130, 260, 1, false, false, r, r, 1, 0, all, true},
        {20, 20, 64, false, true, "cancelling", "cancelling", 1, 0, all, true},
        {20, 20, 200, false, false, "graded to 2^+-400", "graded to 2^+-400", 1, 0, all, true},
        {20, 20, 200, false, false, "mixed", "mixed", 1, 0, all, true},
        {20, 20, 200, false, false, "subnormal A", r, 1, 0, all, true},
        {20, 20, 200, false, false, large, large, 0.5, 0, all, true},
        {20, 20, 200, false, false, few, r, 1, 0, all, true},
        {20, 20, 200, false, false, few, few, 1, 0.5, all, false},
        {40, 70, 90, true, true, few, few, 1, 0, all, false},
        {20, 20, 200, false, false, "NaN", r, 1, 0, all, false},
        {20, 20, 200, false, false, r, "infinities", 1, 0, all, false},
        {20, 20, 1000, false, false, "ones", "ones", 1, 0, all, true},
    };
    for (const form &f : forms)
        test(f);
    return simt_failures != 0;
}
