/* SPDX-License-Identifier: MIT */
/* A process's calls as data, in a mapped file, from which xgemm-run estimate predicts other GPUs.
 */
#ifndef XG_TAPE_H
#define XG_TAPE_H

#include "base/call.h"
#include "decide/decision.h"

/* The file holds so many calls; the process counts the others. Smaller products are not put there,
 * because no GPU gains by them. */
enum { XG_TAPE_CALLS = 1 << 16 };
#define XG_TAPE_LEAST_MNK 262144.0

#define XG_TAPE_MAGIC "xgtape2"

/* A call that ended on the CPU. Its addresses tell operands apart, and must not be followed. */
struct xg_tape_call {
    double begin_s, seconds; /* begin_s: of the machine's monotonic clock */
    double spin_s;           /* these as in struct xg_situation */
    int32_t cpu_threads, under_way, cores_left;
    int32_t thread; /* of the program, from 0 */
    bool pool_is_shared, is_routine;
    union {
        struct xg_problem problem; /* without its batch */
        struct xg_routine routine;
    };
    struct xg_batch batch; /* without its addresses; count 0: no batch */
};

struct xg_tape {
    char magic[8];
    uint32_t call_bytes;         /* of struct xg_tape_call: another release's differ */
    int32_t cores;               /* that the process may use */
    uint64_t count;              /* of calls, also of those for which there was no room */
    struct xg_tape_call calls[]; /* XG_TAPE_CALLS */
};

/*
 * Adds a call that has ended to the process's file in the folder that XGEMM_TAPE names; does
 * nothing if it is unset, or inside a LAPACK routine, whose own call contains it. A file that
 * cannot be made is reported once. From any thread; takes a lock only for the first call of a
 * process. May change errno.
 */
void xg_tape_add(const struct xg_call *call, const struct xg_situation *now, double seconds);

#endif
