/* SPDX-License-Identifier: MIT */
/* Derives rates from a device's facts. */
#include "decide/facts.h"

/* The ratio of graphics devices, if the driver does not report it. */
enum { FP64_RATIO_USUAL = 64 };

const struct xg_generation *xg_facts_generation(const struct xg_device_facts *facts)
{
    return facts->generation ? facts->generation : xg_generation_find(facts->sm, NULL);
}

double xg_facts_macs_per_cycle(const struct xg_device_facts *facts, enum xg_type type)
{
    const struct xg_generation *generation = xg_facts_generation(facts);
    if (!xg_type_is_double(type))
        return generation->ffma;
    return generation->ffma * generation->dmma /
           (facts->fp64_ratio > 0 ? facts->fp64_ratio : FP64_RATIO_USUAL);
}

double xg_facts_clock_hz(const struct xg_device_facts *facts)
{
    return facts->clock_hz > 0 ? facts->clock_hz : XG_REFERENCE_CLOCK_HZ;
}

double xg_facts_link_bytes_per_s(const struct xg_device_facts *facts)
{
    return facts->link_bytes_per_s > 0 ? facts->link_bytes_per_s : XG_REFERENCE_LINK_BYTES_PER_S;
}
