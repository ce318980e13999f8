/* SPDX-License-Identifier: MIT */
/* The tables of DGEMM by residues, and its guard. Contract 2.1 (doc/contract.md). */
#include <math.h>

#include "kernels/emulated/residue.h"

#include "tests/support/xt.h"

enum { WORDS = 4 };

static const int moduli[] = {
#define MODULUS(modulus) modulus,
    XG_RESIDUE_MODULI(MODULUS)
#undef MODULUS
};
static const uint32_t p[WORDS] = XG_RESIDUE_P;
static const uint32_t basis[XG_RESIDUE_MODULI_COUNT][WORDS] = XG_RESIDUE_BASIS;

static int rest(const uint32_t *words, int modulus)
{
    uint64_t value = 0;
    for (int w = WORDS; w-- > 0;)
        value = (value << 32 | words[w]) % (uint64_t)modulus;
    return (int)value;
}

static int divisor(int x, int y)
{
    return y ? divisor(y, x % y) : x;
}

static void test_tables(void)
{
    double bits = 0, p_bits = 0;
    XT_CHECK(sizeof moduli / sizeof moduli[0] == XG_RESIDUE_MODULI_COUNT);
    for (int i = 0; i < XG_RESIDUE_MODULI_COUNT; i++) {
        XT_CHECK(moduli[i] >= 2 && moduli[i] <= 256, "%d", moduli[i]);
        XT_CHECK(rest(p, moduli[i]) == 0, "P is no multiple of %d", moduli[i]);
        for (int j = 0; j < XG_RESIDUE_MODULI_COUNT; j++) {
            XT_CHECK(i == j || divisor(moduli[i], moduli[j]) == 1, "%d, %d", moduli[i], moduli[j]);
            XT_CHECK(rest(basis[i], moduli[j]) == (i == j), "basis %d modulo %d", i, moduli[j]);
        }
        XT_CHECK(basis[i][WORDS - 1] <= p[WORDS - 1], "basis %d", i);
        bits += log2(moduli[i]);
    }
    for (int w = 0; w < WORDS; w++)
        p_bits += ldexp(p[w], 32 * w);
    p_bits = log2(p_bits);
    XT_CHECK(fabs(bits - p_bits) < 1e-6, "P has %g bits, not %g", p_bits, bits);
    /* The margin of the norms: residue_split_sm80.cu. */
    XT_CHECK(2 * XG_RESIDUE_BITS + 1 < p_bits - 0.02, "integers of %g bits", XG_RESIDUE_BITS);
    XT_CHECK(XG_RESIDUE_BITS < 63, "an integer of 64 bits");
    /* A sum of products of residues: 2^7 2^7 k. */
    XT_CHECK(ldexp(XG_RESIDUE_DEPTH_MAX, 14) < 0x1p31);
}

static void test_guard(void)
{
    const struct xg_residue_stats none = {0, {0, 0, 0}}, dense = {0, {400, 200, 50}};
    const struct xg_residue_stats sparse = {0, {800, 790, 760}}, few = {0, {999, 999, 999}};
    const struct xg_residue_stats nan = {1, {0, 0, 0}};
    const struct xg_residue_stats panels[] = {none, dense, sparse},
                                  with_nan[] = {dense, nan, dense};
    XT_CHECK(xg_residue_serves(&none, &none, 1) && xg_residue_serves(&none, &none, 65536));
    XT_CHECK(xg_residue_serves(&dense, &dense, 1000));
    XT_CHECK(xg_residue_serves(&sparse, &dense, 1000) && xg_residue_serves(&dense, &sparse, 1000));
    XT_CHECK(!xg_residue_serves(&sparse, &sparse, 1000), "they may not meet");
    XT_CHECK(!xg_residue_serves(&few, &dense, 1000), "one large number may meet a small one");
    XT_CHECK(!xg_residue_serves(&nan, &none, 10) && !xg_residue_serves(&none, &nan, 10));
    /* 2^(1 + 1) of RHO. */
    const int64_t k = 1280, least = k * 4 / XG_RESIDUE_RHO;
    const uint32_t at = (uint32_t)(k - least), below = at + 1;
    const struct xg_residue_stats just = {0, {at, at, at}}, short_of = {0, {below, below, below}};
    XT_CHECK(least == 10 && xg_residue_serves(&just, &none, k) &&
                 xg_residue_serves(&none, &just, k),
             "%d of %d", (int)least, (int)k);
    XT_CHECK(!xg_residue_serves(&short_of, &none, k) && !xg_residue_serves(&none, &short_of, k));
    struct xg_residue_stats worst = xg_residue_worst(panels, 3);
    XT_CHECK(worst.small_max[0] == 800 && worst.small_max[2] == 760 && !worst.not_finite);
    worst = xg_residue_worst(with_nan, 3);
    XT_CHECK(worst.not_finite);
}

int main(void)
{
    test_tables();
    test_guard();
    return xt_done();
}
