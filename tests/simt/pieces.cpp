/* SPDX-License-Identifier: MIT */
/* The products of pieces by mma.sync, compared with sums of the pieces in long double. */
#include "simt.h"

#include "emulated/split_mma.cuh"

static uint16_t rounded(bool bf16, float x)
{
    uint32_t bits;
    if (!bf16)
        return (uint16_t)_cvtss_sh(x, 0);
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Rows of numbers, their pieces and their scales. */
struct operand {
    std::vector<uint16_t> pieces;
    std::vector<int32_t> scale;
    std::vector<double> numbers;
};

template <bool BF16>
static operand draw(int rows, int k)
{
    constexpr int PIECES = split_order<BF16>::PIECES;
    const int blocks = (k + XG_SPLIT_BLOCK - 1) / XG_SPLIT_BLOCK, padded = blocks * XG_SPLIT_BLOCK;
    operand made = {std::vector<uint16_t>((size_t)(rows * padded * PIECES)),
                    std::vector<int32_t>((size_t)rows), std::vector<double>((size_t)(rows * k))};
    for (int row = 0; row < rows; row++) {
        const int scale = row % 7 - 3, target = split_order<BF16>::TARGET;
        made.scale[(size_t)row] = scale;
        for (int l = 0; l < padded; l++) {
            float rest = l < k ? (float)ldexp(simt_uniform() - 0.5, target + 1) : 0.0f;
            double sum = 0;
            for (int p = 0; p < PIECES; p++) {
                const uint16_t piece = rounded(BF16, rest);
                made.pieces[(size_t)(((row * blocks + l / 32) * PIECES + p) * 32 + l % 32)] = piece;
                sum += simt_half(BF16, piece);
                rest -= (float)simt_half(BF16, piece);
            }
            if (l < k)
                made.numbers[(size_t)(row * k + l)] =
                    ldexp(sum, -scale - (target - XG_SPLIT_FP16_TARGET));
        }
    }
    return made;
}

/* zeros: the number of zeros in a row, from which the guard chooses how BF16 pieces are summed. */
template <bool BF16, int TILE_N>
static void test(int m, int n, int k, int triangle, float beta, int zeros)
{
    const operand a = draw<BF16>(m, k), b = draw<BF16>(n, k);
    const int ldc = n + 3;
    std::vector<float> c((size_t)(m * ldc)), old;
    for (float &x : c)
        x = (float)simt_normal();
    old = c;
    struct xg_split_stats stats[2] = {{0x3f800000, 0, 0, 0, 0}, {0x3f800000, 0, 0, 0, 0}};
    if (BF16) { /* too few large numbers for FP16 */
        stats[0].lack_max = (uint32_t)k;
        stats[0].zero_max = (uint32_t)zeros;
    }
    uint32_t refused = 0;
    struct xg_split_product_args args = {};
    args.a_pieces = (uintptr_t)a.pieces.data();
    args.b_pieces = (uintptr_t)b.pieces.data();
    args.a_scale = (uintptr_t)a.scale.data();
    args.b_scale = (uintptr_t)b.scale.data();
    args.c = (uintptr_t)c.data();
    args.pair = {(uintptr_t)&stats[0], (uintptr_t)&stats[1], 1, 1, k};
    args.refused = (uintptr_t)&refused;
    args.ldc = ldc;
    args.m = m, args.n = n, args.k = k;
    args.alpha = 1.5f, args.beta = beta;
    args.wanted.kind = triangle;
    simt_launch(2, PRODUCT_THREADS, [&] { split_product<BF16, TILE_N>(args); });
    SIMT_CHECK(refused == 0, "%d,%d,%d", m, n, k);
    double worst = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < ldc; j++) {
            const float got = c[(size_t)(i * ldc + j)], before = old[(size_t)(i * ldc + j)];
            if (got == before && (j >= n || !xg_triangle_wants(&args.wanted, i, j)))
                continue;
            SIMT_CHECK(j < n, "%d,%d is not of C", i, j);
            if (j >= n)
                continue;
            long double magnitude;
            const long double sum =
                simt_exact(k, 1.5, &a.numbers[(size_t)(i * k)], 1, &b.numbers[(size_t)(j * k)], 1,
                           (double)beta, (double)before, &magnitude);
            const double error = (double)(fabsl((long double)got - sum) / magnitude * 0x1p24L);
            worst = !(error <= worst) ? error : worst;
        }
    SIMT_CHECK(worst < 2, "%s, %d,%d,%d: %g units", BF16 ? "BF16" : "FP16", m, n, k, worst);
}

int main()
{
    test<false, 192>(130, 193, 200, XG_TRIANGLE_ALL, 0, 0);
    test<false, 192>(257, 150, 64, XG_TRIANGLE_UPPER, 0, 0);
    test<false, 128>(130, 129, 200, XG_TRIANGLE_ALL, 0, 0);
    test<false, 128>(3, 300, 97, XG_TRIANGLE_ALL, -0.5f, 0);
    test<false, 128>(257, 128, 64, XG_TRIANGLE_UPPER, 0, 0);
    test<true, 128>(130, 70, 100, XG_TRIANGLE_ALL, -0.5f, 97); /* few products */
    test<true, 128>(64, 140, 100, XG_TRIANGLE_ALL, 0, 0);      /* some */
    test<true, 128>(64, 40, 1100, XG_TRIANGLE_LOWER, 0, 0);    /* many */
    return simt_failures != 0;
}
