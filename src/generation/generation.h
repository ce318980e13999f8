/* SPDX-License-Identifier: MIT */
/* The figures of the GPU generations, a file each: sm90.c and so on. Pure. */
#ifndef XG_GENERATION_H
#define XG_GENERATION_H

#include <stdbool.h>

/*
 * Figures that were fitted to measurements of one device, in cycles unless the name has a unit. The
 * efficiencies of the kernel table belong to them.
 *
 * Of Hopper's figures unit/generation fails if ffma, dmma, int8 or a clock is doubled or halved,
 * unit/model if a clock, call_s or fill_s is, and unit/select if sms, block, full or half is;
 * unit/golden compares the decisions of all generations.
 */
struct xg_fit {
    /* The device has `sms` multiprocessors (SMs). launch: until the first block runs, and after the
     * last; block: a block's first loads and last stores, of floats; lone: the same for a block
     * alone on an SM, where nothing hides them; step: the least time of a step along k; turn: for
     * each element of an operand that is transposed while it is copied, 4 bytes at a time instead
     * of 16 (the table's efficiencies include it for an A that is not transposed). */
    struct {
        double sms, launch, block, lone, step, turn;
    } kernel;
    /* full: warps of an SM that reach a kernel's full rate; half: the rise of the rate (rate_share
     * in select.c); held: warps that an SM holds if a row does not state it; add: the warps of a
     * block add their sums. */
    struct {
        double full, half, held, add;
    } warps;
    /* meet: the blocks of a cluster meet; tile: they add their sums, for each further block and
     * 128 x 128 floats; share: the share of the SMs that clusters of more than 2 use, because a
     * cluster lies within a group of SMs and seldom fills it. */
    struct {
        double meet, tile, share;
    } cluster;
    /* bytes_per_cycle: operands and C, once each; cache_bytes_per_cycle: operands, once for each
     * tile that needs them; line_floats: the cost in floats of a step of k for a few adjacent
     * results, because memory lines are read only in part; unaligned_share: the remaining rate of
     * rows for any alignment if nothing is aligned. */
    struct {
        double bytes_per_cycle, cache_bytes_per_cycle, line_floats, unaligned_share;
    } memory;
    double library_efficiency; /* of a library that is not in the table */

    /* Products of pieces or residues. column: of a tile by wgmma, for each element of k; store: a
     * column's store; width_fixed: the columns that cost as much as the start and the end of a
     * tile; launch: all launches; split_bytes_per_cycle: of each SM that splits operands. */
    struct {
        double column, store, launch, split_bytes_per_cycle;
        int width_fixed;
    } tensor;
    /* Pieces pay from k = depth_min on, if FP32 arithmetic takes longer than link_share of the
     * busier direction of the link plus launches_s, and pieces are predicted faster by the factor
     * margin. */
    struct {
        double depth_min, link_share, launches_s, margin;
    } pieces;
    /* Residues pay from k = depth_min on, if their rate is at least `gain` times that of the FP64
     * units. element_bytes: an element of an operand is read twice as a double and written as
     * residues, and an element of C takes as many bytes; the arithmetic takes as long as a third
     * more bytes. */
    struct {
        double depth_min, gain, element_bytes;
    } residues;

    /* From host to host. clock_hz: under these kernels, which stands for an unknown clock;
     * clock_most_hz: the device's maximum; call_s: driver calls, waking the staging team, waiting
     * for the end; fill_s: stages do not overlap if the longest one is shorter; instance_s: the
     * launch for an instance of a batch. */
    struct {
        double clock_hz, clock_most_hz, call_s, fill_s, instance_s;
    } pipeline;
};

extern const struct xg_fit xg_fit_sm90; /* in sm90.c: no other device has been measured */

/* Rates are dense multiply-adds of a multiprocessor per cycle: the peak of a data sheet divided by
 * multiprocessors, boost clock and two. */
struct xg_generation {
    int sm; /* lowest compute capability, 10 * major + minor */
    struct {
        double ffma; /* FP32 units */
        double dmma; /* FP64 tensor cores' rate over that of the FP64 units; 1: there are none */
        double fp16; /* FP16 tensor cores with FP32 sums, by mma.sync; 0: unknown or none */
        double int8; /* INT8 tensor cores, by mma.sync; 0: unknown or none */
    } rates;
    const char *source; /* of the rates */

    int cluster_blocks;  /* that every device can run in one cluster; 0: there are no clusters */
    bool wgmma;          /* runs code of sm_90a */
    bool panels;         /* our kernels compute LU and QR (compute/panel.h) */
    bool cublas_at_once; /* none of our kernels runs there */

    const struct xg_fit *fit; /* of the device itself, or of the nearest one that was measured */
    const struct xg_generation *geforce; /* GeForce devices, which add FP32 sums at half the rate of
                                          * the professional devices; NULL: not different */
};

/* The generation of a device: the newest that is not newer than the device, or the oldest. Never
 * NULL. device_name: NULL if it is unknown. */
const struct xg_generation *xg_generation_find(int sm, const char *device_name);

#endif
