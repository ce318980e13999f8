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
    /* What a route is decided by. 0: the device does not say, or the same call must give the same
     * bits on every host: then the reference's. */
    double clock_hz;         /* at most */
    double link_bytes_per_s; /* of one direction, as the bus is wired */
};

/* An SM multiplies and adds this many FP32 numbers a cycle, from sm_80 on (64 on sm_75: all rows
 * alike, so the ranking does not change). An efficiency of 1 in the table is this. */
static const double XG_SELECT_MACS_PER_CYCLE = 128.0;

/* The reference: an H200, its clock under these kernels, and PCIe 5.0 x16. */
static const double XG_REFERENCE_CLOCK_HZ = 1.9e9, XG_REFERENCE_LINK_BYTES_PER_S = 63e9;

/* What copies that are staged reach of a link's wired rate. */
static const double XG_LINK_STAGED_SHARE = 48.0 / 63.0;

/* The device's, or where it does not say the reference's. */
double xg_facts_clock_hz(const struct xg_device_facts *facts);
double xg_facts_link_bytes_per_s(const struct xg_device_facts *facts);

/* Multiplications and additions of a type: FP64 tensor cores, which the driver's ratio leaves out,
 * double FP64's rate on the devices that have FP64 in full. */
double xg_facts_macs_per_cycle(const struct xg_device_facts *facts, enum xg_type type);

#endif
