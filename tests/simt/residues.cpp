/* SPDX-License-Identifier: MIT */
/* DGEMM by residues, against sums in long double. */
#include "simt.h"

#include "emulated/dgemm_residue_sm80.cu"
#include "emulated/residue_split_sm80.cu"

typedef double (*element)(int row, int l);

/* An operand as the kernels have it. */
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

static double random_number(int, int)
{
    return simt_normal();
}

static double positive(int, int)
{
    return simt_uniform();
}

static double integer(int, int)
{
    return floor(simt_uniform() * 0x1p20) - 0x1p19;
}

static double graded(int row, int)
{
    return ldexp(simt_normal(), row * 7 % 121 * 8 - 480);
}

static double least(int, int)
{
    return ldexp(simt_normal(), -1060);
}

static double huge(int, int)
{
    return ldexp(simt_normal(), 1010);
}

static double sparse(int, int)
{
    return simt_uniform() < 0.75 ? 0.0 : simt_normal();
}

/* The integers of the smaller numbers end in any bits; those of numbers near the norm in zeros. */
static double mixed(int, int l)
{
    return l % 4 ? simt_normal() : simt_normal() * 0x1p-12;
}

static double ones(int, int)
{
    return 1.0;
}

static double with_nan(int row, int l)
{
    return row == 3 && l == 7 ? NAN : simt_normal();
}

struct form {
    int m, n, k;
    bool transa, transb;
    element a, b;
    double alpha, beta;
    int triangle;
    bool served;
};

static void judge(const form &f, const std::vector<double> &a, const std::vector<double> &b,
                  const std::vector<double> &c, const std::vector<double> &old, int ldc)
{
    const double bound = f.served ? 2.5 : f.k + 4;
    double worst = 0;
    for (int i = 0; i < f.m; i++)
        for (int j = 0; j < ldc; j++) {
            const double got = c[(size_t)(i * ldc + j)], before = old[(size_t)(i * ldc + j)];
            if (j >= f.n || (f.triangle == XG_TRIANGLE_UPPER && j < i) ||
                (f.triangle == XG_TRIANGLE_LOWER && j > i)) {
                SIMT_CHECK(got == before, "%d,%d is not of C", i, j);
                continue;
            }
            long double sum = f.beta == 0 ? 0 : (long double)f.beta * before;
            long double magnitude = fabsl(sum);
            for (int l = 0; l < f.k; l++) {
                const long double term =
                    (long double)f.alpha * a[(size_t)(i * f.k + l)] * b[(size_t)(j * f.k + l)];
                sum += term;
                magnitude += fabsl(term);
            }
            if (std::isnan(sum)) {
                SIMT_CHECK(std::isnan(got), "%d,%d: %g", i, j, got);
                continue;
            }
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
                f.a(i, l);
    for (int j = 0; j < f.n; j++)
        for (int l = 0; l < f.k; l++)
            stored_b[(size_t)(f.transb ? j * ldb + l : l * ldb + j)] = b[(size_t)(j * f.k + l)] =
                f.b(j, l);
    for (double &x : c)
        x = simt_normal();
    old = c;
    const operand left = split(stored_a, f.m, f.k, f.transa ? 1 : lda, f.transa ? lda : 1);
    const operand right = split(stored_b, f.n, f.k, f.transb ? ldb : 1, f.transb ? 1 : ldb);
    SIMT_CHECK(xg_residue_serves(&left.stats, &right.stats, f.k) == f.served, "%d,%d,%d", f.m, f.n,
               f.k);
    const struct xg_split_pair pair = {(uintptr_t)&left.stats, (uintptr_t)&right.stats, 1, 1, f.k};
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

int main()
{
    const element r = random_number;
    const int all = XG_TRIANGLE_ALL;
    static const form forms[] = {
        {130, 260, 140, false, false, r, r, 1, 0, all, true},
        {70, 37, 400, true, false, r, r, -1.5, 0.5, all, true},
        {33, 300, 129, false, true, positive, positive, 1, 0, all, true},
        {140, 140, 64, true, true, r, r, 1, 1, XG_TRIANGLE_UPPER, true},
        {140, 140, 64, true, true, r, r, 1, 1, XG_TRIANGLE_LOWER, true},
        {20, 20, 100, false, false, integer, integer, 1, 0, all, true},
        {20, 20, 1, false, false, r, r, 1, 0, all, true},
        {20, 20, 200, false, false, graded, graded, 1, 0, all, true},
        {20, 20, 200, false, false, mixed, mixed, 1, 0, all, true},
        {20, 20, 200, false, false, least, r, 1, 0, all, true},
        {20, 20, 200, false, false, huge, r, 0.5, 0, all, true},
        {20, 20, 200, false, false, sparse, r, 1, 0, all, true},
        {20, 20, 200, false, false, sparse, sparse, 1, 0.5, all, false},
        {40, 70, 90, true, true, sparse, sparse, 1, 0, all, false},
        {20, 20, 200, false, false, with_nan, r, 1, 0, all, false},
        {20, 20, 1000, false, false, ones, ones, 1, 0, all, true},
    };
    for (const form &f : forms)
        test(f);
    return simt_failures != 0;
}
