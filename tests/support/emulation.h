/* SPDX-License-Identifier: MIT */
/* Computes one element of a product on the CPU, with the same bits as the kernels of pieces. */
#ifndef EMULATION_H
#define EMULATION_H

#include <stdbool.h>

#include "kernels/emulated/split_verdict.h"

/* How it is summed. */
enum emulation {
    EMULATION_FFMA_ONE, /* one sum in order of k: `strict`, and most of cuBLAS */
    EMULATION_FFMA, /* sums of 16 places of k, which are added: kernels/emulated/split_ffma_sm80.cu
                     */
    EMULATION_FP16, /* three products of pieces, 32 places of k at a time */
    EMULATION_BF16, /* six, likewise */
    EMULATION_BF16_SIX,   /* six, the largest one on top of the sum of the others */
    EMULATION_BF16_EIGHT, /* eight, likewise */
    EMULATIONS
};

/*
 * One step of a tensor core, 16 places of k (kernels/NOTES.md, "How Hopper's tensor cores add"): 17
 * numbers, the sum so far and the products, each cut 25 bits below the leading bit of the largest,
 * and their sum cut to 24 bits.
 */
float emulation_step(float sum, const float *a, const float *b);

/* A row of op(A) or a column of op(B), and the pieces that a split makes of it. */
struct emulation_row {
    int64_t k, padded_k;
    int fp16_scale, bf16_scale; /* binary exponents */
    float *number, *fp16[XG_SPLIT_FP16_PIECES], *bf16[XG_SPLIT_BF16_PIECES];
};

/* number: finite numbers. False without memory; the row is then not destroyed. */
bool emulation_row_create(struct emulation_row *row, const float *number, int64_t k);
void emulation_row_destroy(struct emulation_row *row);

/* The exponent that scales the largest number into [2^target, 2^(target+1)); 0 if all are 0. */
int emulation_scale(const struct emulation_row *row, int target);

/* An element of C, in FP32's range but not rounded to it where it is below the normal numbers. */
double emulation_element(enum emulation how, const struct emulation_row *a,
                         const struct emulation_row *b);

/* Raises the statistics to a split's counts of this row, whose numbers may be infinite or NaN.
 * Reads number, k and fp16_scale. */
void emulation_count(struct xg_split_stats *stats, const struct emulation_row *row);

/* What the kernels do upon a verdict. */
enum emulation emulation_of(struct xg_split_verdict verdict);

#endif
