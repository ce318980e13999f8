/* SPDX-License-Identifier: MIT */
/* Which real SGEMM a call belongs to: what the caller would have reached had this library not been
 * there. */
#ifndef SHIM_NEXT_H
#define SHIM_NEXT_H

#include "blas.h"

struct shim_next {
    struct shim_blas blas;
    int int_bytes; /* of the caller's integers */
    bool forwards; /* the call can be passed on as it is; otherwise it is translated */
};

/*
 * The library for a call of symbol `id` that returns to the address `caller`. The answer is
 * remembered by call site: the first call of each site takes up to some milliseconds, the others a
 * few nanoseconds. Always succeeds: blas.function is NULL when the process has no SGEMM and the
 * configured library cannot be loaded either, which is said once in the log. Returns what is
 * remembered, for good, or *space where it cannot be.
 *
 * From any thread, takes no lock of its own, keeps errno. Allocates once a call site.
 */
const struct shim_next *shim_next_find(enum shim_id id, const void *caller,
                                       struct shim_next *space);

#endif
