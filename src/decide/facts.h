/* SPDX-License-Identifier: MIT */
/* The facts of a device that selection and the cost model use. */
#ifndef XG_FACTS_H
#define XG_FACTS_H

#include "base/problem.h"
#include "generation/generation.h"

struct xg_kernel;

struct xg_device_facts {
    int sm;                                 /* compute capability, 10 * major + minor: 90 */
    int sm_count;                           /* multiprocessors */
    const struct xg_generation *generation; /* NULL: found by sm */
    int smem_block_bytes; /* largest shared memory of one block, after opting in */
    int fp64_ratio;       /* FP32's rate over FP64's, from the driver; 0: unknown */
    bool clusters;        /* the driver launches blocks in clusters, which sm_90 and newer have */
    bool images;          /* this build contains device code */
    bool cublas;          /* cuBLAS is loaded; false until a product needs it */
    const struct xg_kernel *pieces;   /* the row that splits operands and multiplies their pieces
                                       * (split.h); NULL: none */
    const struct xg_kernel *residues; /* the row of DGEMM by residues (residue.h); NULL: none */
    /* Rates that decide a route. 0: the rate is unknown, or the same call must give the same bits
     * on every host; the reference's rate then stands for it. */
    double clock_hz;         /* maximum */
    double link_bytes_per_s; /* of one direction, from the bus's lanes */
};

/* The reference: PCIe 5.0 x16. */
static const double XG_REFERENCE_LINK_BYTES_PER_S = 63e9;

/* The share of a link's nominal rate that staged copies reach. */
static const double XG_LINK_STAGED_SHARE = 48.0 / 63.0;

/* The device's generation and its fitted figures. */
static inline const struct xg_generation *xg_facts_generation(const struct xg_device_facts *facts)
{
    return facts->generation ? facts->generation : xg_generation_find(facts->sm, NULL);
}

static inline const struct xg_fit *xg_facts_fit(const struct xg_device_facts *facts)
{
    return xg_facts_generation(facts)->fit;
}

/* The device's rate, or the reference's if it is unknown. */
static inline double xg_facts_clock_hz(const struct xg_device_facts *facts)
{
    return facts->clock_hz > 0 ? facts->clock_hz : xg_facts_fit(facts)->pipeline.clock_hz;
}

static inline double xg_facts_link_bytes_per_s(const struct xg_device_facts *facts)
{
    return facts->link_bytes_per_s > 0 ? facts->link_bytes_per_s : XG_REFERENCE_LINK_BYTES_PER_S;
}

/* Multiply-adds of the type per cycle of one multiprocessor, by FP64 tensor cores if it has them.
 * An efficiency of 1 in the kernel table means this rate. */
static inline double xg_facts_macs_per_cycle(const struct xg_device_facts *facts, enum xg_type type)
{
    const int usual_ratio = 64; /* of graphics devices, if the driver does not report it */
    const struct xg_generation *generation = xg_facts_generation(facts);
    if (!xg_type_is_double(type))
        return generation->rates.ffma;
    return generation->rates.ffma * generation->rates.dmma /
           (facts->fp64_ratio > 0 ? facts->fp64_ratio : usual_ratio);
}

#endif
