/* SPDX-License-Identifier: MIT */
/* What selection and the cost model know of a device. */
#ifndef XG_FACTS_H
#define XG_FACTS_H

#include "base/problem.h"

struct xg_device_facts {
    int sm;               /* compute capability, 10 * major + minor: 90 */
    int sm_count;         /* multiprocessors */
    int smem_block_bytes; /* largest shared memory of one block, after opting in */
    int fp64_ratio;       /* FP32's rate over FP64's, as the driver says it; 0: it does not */
    bool clusters;        /* the driver launches blocks in clusters, which sm_90 and newer have */
    bool images;          /* this build carries device code */
    bool cublas;          /* cuBLAS could be loaded; false until it is asked for */
    bool pieces;          /* operands can be split, and their pieces multiplied (split.h) */
    size_t scratch_bytes; /* that slices and copies may ask of a launch (kabi.h); 0: none */
    bool unaligned;       /* operands are not as XG_KERNEL_VEC4 asks: the pipeline's always are */
    bool transa, transb;  /* of the operands: what a repacked row must copy */
    enum xg_type type;    /* of the product's numbers */
};

/* An SM multiplies and adds this many FP32 numbers a cycle, from sm_80 on (64 on sm_75: all rows
 * alike, so the ranking does not change). An efficiency of 1 in the table is this. */
static const double XG_SELECT_MACS_PER_CYCLE = 128.0;

/* The same for a type: FP64 tensor cores, which the driver's ratio leaves out, double FP64's rate
 * on the devices that have FP64 in full. */
double xg_facts_macs_per_cycle(const struct xg_device_facts *facts, enum xg_type type);

#endif
