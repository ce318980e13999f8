/* SPDX-License-Identifier: MIT */
/* Splits, tensor cores and sums of the kernels of pieces, in doubles and integers. */
#include "emulation.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 16, FFMA_DEPTH = 16, BF16_BITS = 8, FP16_BITS = 11, FP16_LEAST = -24 };
enum { BF16_LEAST = -500, CUT_BITS = 25, SUM_BITS = 24 };

/* floor(log2 |x|); 0 < |x|, normal in double precision. */
static int exponent_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int)(bits >> 52 & 0x7ff) - 1023;
}

/* 2^exponent, a normal number in double precision. */
static double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

float emulation_step(float sum, const float *a, const float *b)
{
    double product[STEP], largest = fabs((double)sum);
    for (int i = 0; i < STEP; i++) {
        product[i] = (double)a[i] * (double)b[i];
        largest = fabs(product[i]) > largest ? fabs(product[i]) : largest;
    }
    if (largest == 0.0)
        return 0.0f;
    const int last = exponent_of(largest) - CUT_BITS;
    const double scale = power_of_two(-last);
    int64_t total = (int64_t)((double)sum * scale); /* conversions round towards zero */
    for (int i = 0; i < STEP; i++)
        total += (int64_t)(product[i] * scale);
    int64_t size = llabs(total);
    int over = 0;
    while (size >> over >> SUM_BITS)
        over++;
    double tiling = (double)(size >> over << over) * power_of_two(last);
    return (float)(total < 0 ? -tiling : tiling);
}

/* x to so many bits, to the nearest and then to even; no bit below 2^least. */
static float rounded(float x, int bits, int least)
{
    if (x == 0.0f)
        return x;
    int last = exponent_of((double)x) - bits + 1;
    double scale = power_of_two(last < least ? least : last);
    return (float)(rint((double)x / scale) * scale);
}

int emulation_scale(const struct emulation_row *row, int target)
{
    float largest = 0.0f;
    for (int64_t l = 0; l < row->k; l++)
        largest = fabsf(row->number[l]) > largest ? fabsf(row->number[l]) : largest;
    return largest > 0.0f ? target - exponent_of((double)largest) : 0;
}

static void split(float *const *piece, int count, const struct emulation_row *row, int scale,
                  int bits, int least)
{
    for (int64_t l = 0; l < row->k; l++) {
        float rest = ldexpf(row->number[l], scale);
        for (int p = 0; p < count; p++) {
            piece[p][l] = rounded(rest, bits, least);
            rest -= piece[p][l];
        }
    }
}

bool emulation_row_create(struct emulation_row *row, const float *number, int64_t k)
{
    enum { ARRAYS = 1 + XG_SPLIT_FP16_PIECES + XG_SPLIT_BF16_PIECES };
    *row = (struct emulation_row){.k = k};
    row->padded_k = (k + XG_SPLIT_BLOCK - 1) / XG_SPLIT_BLOCK * XG_SPLIT_BLOCK;
    row->number = calloc((size_t)(ARRAYS * row->padded_k), sizeof *row->number);
    if (!row->number)
        return false;
    memcpy(row->number, number, (size_t)k * sizeof *number);
    for (int p = 0; p < XG_SPLIT_FP16_PIECES; p++)
        row->fp16[p] = row->number + (1 + p) * row->padded_k;
    for (int p = 0; p < XG_SPLIT_BF16_PIECES; p++)
        row->bf16[p] = row->number + (1 + XG_SPLIT_FP16_PIECES + p) * row->padded_k;
    row->fp16_scale = emulation_scale(row, XG_SPLIT_FP16_TARGET);
    row->bf16_scale = emulation_scale(row, XG_SPLIT_BF16_TARGET);
    split(row->fp16, XG_SPLIT_FP16_PIECES, row, row->fp16_scale, FP16_BITS, FP16_LEAST);
    split(row->bf16, XG_SPLIT_BF16_PIECES, row, row->bf16_scale, BF16_BITS, BF16_LEAST);
    return true;
}

void emulation_row_destroy(struct emulation_row *row)
{
    free(row->number);
}

/* --- Sums ------------------------------------------------------------------------------------ */

static float ffma_sum(const float *a, const float *b, int64_t k, int64_t depth)
{
    float sum = 0.0f;
    for (int64_t first = 0; first < k; first += depth) {
        float part = 0.0f;
        for (int64_t l = first; l < k && l < first + depth; l++)
            part = fmaf(a[l], b[l], part);
        sum += part;
    }
    return sum;
}

/* Products of pieces, the smallest first, as kernels/emulated/split_product.cuh has them. */
struct order {
    int a, b;
};
static const struct order fp16_order[] = {{1, 0}, {0, 1}, {0, 0}};
static const struct order bf16_order[] = {{1, 2}, {2, 1}, {2, 0}, {0, 2},
                                          {1, 1}, {1, 0}, {0, 1}, {0, 0}};
enum { FP16_PRODUCTS = 3, BF16_PRODUCTS = 8, BF16_SIX = 2 };

/* total + the products [first, last) of each block, a sum of its own for a block. */
static float pass(float total, const struct order *order, int first, int last, float *const *a,
                  float *const *b, int64_t padded_k)
{
    for (int64_t block = 0; block < padded_k; block += XG_SPLIT_BLOCK) {
        float part = 0.0f;
        for (int i = first; i < last; i++)
            for (int64_t l = block; l < block + XG_SPLIT_BLOCK; l += STEP)
                part = emulation_step(part, &a[order[i].a][l], &b[order[i].b][l]);
        total += part;
    }
    return total;
}

double emulation_element(enum emulation how, const struct emulation_row *a,
                         const struct emulation_row *b)
{
    enum { LARGEST = BF16_PRODUCTS - 1 };
    float sum;
    if (how == EMULATION_FFMA_ONE || how == EMULATION_FFMA)
        return (double)ffma_sum(a->number, b->number, a->k,
                                how == EMULATION_FFMA ? FFMA_DEPTH : a->k);
    if (how == EMULATION_FP16) {
        sum = pass(0.0f, fp16_order, 0, FP16_PRODUCTS, a->fp16, b->fp16, a->padded_k);
        return ldexp((double)sum, -a->fp16_scale - b->fp16_scale);
    }
    if (how == EMULATION_BF16) {
        sum = pass(0.0f, bf16_order, BF16_SIX, BF16_PRODUCTS, a->bf16, b->bf16, a->padded_k);
    } else {
        int first = how == EMULATION_BF16_SIX ? BF16_SIX : 0;
        sum = pass(0.0f, bf16_order, first, LARGEST, a->bf16, b->bf16, a->padded_k);
        sum = pass(sum, bf16_order, LARGEST, BF16_PRODUCTS, a->bf16, b->bf16, a->padded_k);
    }
    return ldexp((double)sum, -a->bf16_scale - b->bf16_scale);
}

/* --- The guard ---------------------------------------------------------------------------------
 */

static void raise_to(uint32_t *most, int64_t x)
{
    *most = x > (int64_t)*most ? (uint32_t)x : *most;
}

void emulation_count(struct xg_split_stats *stats, const struct emulation_row *row)
{
    float largest = 0.0f, least = HUGE_VALF;
    int64_t good = 0, small = 0, there = 0;
    bool finite = true;
    uint32_t bits;
    const double scale = power_of_two(row->fp16_scale);
    for (int64_t l = 0; l < row->k; l++) {
        float x = fabsf(row->number[l]), scaled = (float)((double)x * scale);
        finite &= isfinite(x);
        largest = x > largest ? x : largest;
        least = x != 0.0f && x < least ? x : least;
        good += scaled >= 64.0f;
        small += scaled != 0.0f && scaled < 0.25f;
        there += scaled != 0.0f;
    }
    if (!finite) /* no pieces serve */
        largest = INFINITY;
    if (largest == 0.0f)
        return;
    memcpy(&bits, &largest, sizeof bits);
    raise_to(&stats->max_bits, bits);
    raise_to(&stats->lack_max, row->k - good);
    raise_to(&stats->small_max, small);
    raise_to(&stats->zero_max, row->k - there);
    raise_to(&stats->spread_max, exponent_of((double)largest) - exponent_of((double)least));
}

enum emulation emulation_of(struct xg_split_verdict verdict)
{
    static const enum emulation sums[][3] = {
        [XG_SPLIT_FP16] = {EMULATION_FP16, EMULATION_FP16, EMULATION_FP16},
        [XG_SPLIT_BF16] = {EMULATION_BF16, EMULATION_BF16_SIX, EMULATION_BF16_EIGHT},
        [XG_SPLIT_FFMA] = {EMULATION_FFMA, EMULATION_FFMA, EMULATION_FFMA_ONE}};
    return sums[verdict.kind][verdict.products];
}
