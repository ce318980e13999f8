/* SPDX-License-Identifier: MIT */
/* The figures of the GPU generations, a file each: sm90.c and so on. Pure. */
#ifndef XG_GENERATION_H
#define XG_GENERATION_H

#include <stdbool.h>

/*
 * Figures that were fitted to measurements of one device, in cycles unless the name has a unit. The
 * efficiencies of the kernel table belong to them. select.c, tensor.c, route.c and model.c have the
 * formulas.
 */
struct xg_fit {
    /* Kernels of the table. */
    double sms;           /* multiprocessors of the device that was measured */
    double launch;        /* until the first block runs, and after the last */
    double block;         /* a block's first loads and last stores, of floats */
    double lone;          /* the same for a block alone on an SM, where nothing hides them */
    double step;          /* the least time of a step along k */
    double warps_full;    /* warps of an SM that reach a kernel's full rate */
    double warps_half;    /* the rise of the rate: rate_share in select.c */
    double warps_held;    /* that an SM holds if a row does not state it */
    double group;         /* the warps of a block add their sums */
    double cluster;       /* blocks of a cluster meet */
    double cluster_tile;  /* blocks of a cluster add their sums: for each further block and
                           * 128 x 128 floats */
    double cluster_share; /* of the SMs that clusters of more than 2 use: a cluster lies within a
                           * group of SMs and seldom fills it */
    double scratch;       /* the second launch of a split by scratch */
    double scratch_slice; /* for each slice: the sums are read in turns */
    double rows;          /* a block's stores to C of any alignment */
    double copy;          /* the launch that repacks operands */
    double scratch_bytes_per_cycle;
    double memory_bytes_per_cycle; /* operands and C, once each */
    double cache_bytes_per_cycle;  /* operands, once for each tile that needs them */
    double copy_bytes_per_cycle;   /* read and written */
    double turn;            /* per element of an operand that is transposed while it is copied, 4
                             * bytes at a time instead of 16; the table's efficiencies include
                             * this for an A that is not transposed */
    double unaligned_share; /* the remaining rate of rows for any alignment if nothing is aligned */
    double line_floats;     /* a step of k for a few adjacent results costs so many floats,
                             * because memory lines are read only in part */
    double library_efficiency; /* of a library that is not in the table */

    /* Emulated products on tensor cores. */
    double column;                /* of a tile by wgmma, per element of k */
    double store;                 /* a column's store */
    int width_fixed;              /* the start and the end of a tile cost as many columns */
    double split_launch;          /* the launches of split and product */
    double split_bytes_per_cycle; /* of each multiprocessor */
    double residue_bytes; /* an element of an operand is read twice as a double and written as
                           * residues, and an element of C takes as many; the arithmetic takes as
                           * long as a third more bytes */

    /* When pieces and residues pay. Pieces: FP32 arithmetic takes longer than this share of the
     * busier direction of the link plus this time, and pieces are predicted faster by this factor.
     * Residues: their rate is at least so many times that of the FP64 units. */
    double pieces_link_share, pieces_launches_s, pieces_margin, residues_gain;
    int pieces_depth_min, residues_depth_min; /* the smallest k */

    /* The pipeline from host to host. */
    double clock_hz;      /* under these kernels; it stands for an unknown clock */
    double clock_most_hz; /* the device's maximum */
    double call_s;        /* driver calls, waking the staging team, waiting for the end */
    double fill_s;        /* stages do not overlap if the longest one is shorter than this */
    double instance_s;    /* the launch for an instance of a batch */
};

extern const struct xg_fit xg_fit_sm90; /* in sm90.c: no other device has been measured */

/* Rates are dense multiply-adds of a multiprocessor per cycle: the peak of a data sheet divided by
 * multiprocessors, boost clock and two. */
struct xg_generation {
    int sm;             /* lowest compute capability, 10 * major + minor */
    double ffma;        /* FP32 units */
    double dmma;        /* FP64 tensor cores' rate over that of the FP64 units; 1: there are none */
    double fp16;        /* FP16 tensor cores with FP32 sums, by mma.sync; 0: unknown or none */
    double int8;        /* INT8 tensor cores, by mma.sync; 0: unknown or none */
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
