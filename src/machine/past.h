/* SPDX-License-Identifier: MIT */
/* What is remembered of a program's runs, and what it promises for the next one. Pure. */
#ifndef XG_PAST_H
#define XG_PAST_H

#include <stdbool.h>
#include <stdint.h>

#include "decide/ledger.h"

/* Why a program must not start the GPU before its first call. */
enum {
    XG_PAST_FORKS = 1,   /* it forked while the GPU was not in use: its children may want the GPU */
    XG_PAST_SETTINGS = 2 /* its settings changed between the load of its BLAS and its first call */
};

/* One program's record, as a file has it. Milliseconds. */
struct xg_past {
    uint64_t id;       /* keyed hash of the program's text; 0: free */
    uint64_t machine;  /* keyed hash of the GPU, its driver and this library's version */
    int64_t time_s;    /* of the last run, since 1970 */
    uint32_t gain_ms;  /* believed: what a GPU that is ready at once would save */
    uint32_t price_ms; /* what the starts of what it needs take */
    uint32_t wall_ms;  /* of the last run: its time, */
    uint32_t saved_ms; /* what the GPU saved, */
    uint32_t first_ms; /* and when the first call came that gains */
    uint32_t runs;
    uint32_t device_mib; /* of the last run: device memory */
    uint8_t needs;       /* a set of resources (ledger.h); empty: the last start was in vain */
    uint8_t bars;        /* a set of the reasons above */
    uint8_t unproved;    /* promises that were taken since a run last showed a gain */
    int8_t cpu_eighths;  /* of an octave: its calls' time on the CPU to the model's */
    uint64_t seal;       /* keyed hash of all above */
};

/* What one run has shown so far. */
struct xg_past_run {
    /* Saved, by what the calls needed; of a run that was promised nothing, also missed. */
    double gain_s[XG_RESOURCE_SETS];
    double takes_s[XG_RESOURCE_COUNT]; /* of starts on this machine */
    double cpu_s, cpu_model_s;         /* of calls that missed, and what the model says */
    double saved_s, wall_s, first_s;
    unsigned bars;
    bool promised, started, ended; /* it started early; at any time; it ends now */
    uint32_t device_mib;
};

_Static_assert(sizeof(struct xg_past) == 64, "a file's record has no padding");

/* Of the starts' time: what a gain must reach, because most of an early start passes beside
 * imports; and what a run that started early must have saved for the next one to do so too. With
 * one figure a program whose gain is near it would start early in every second run. */
#define XG_PAST_NEEDED 0.5
#define XG_PAST_PROVED 0.25

/* A record is believed for so many days after its last run. */
enum { XG_PAST_DAYS = 180, XG_PAST_DAY_S = 86400 };

/* Whether a record counts now and on this machine. */
bool xg_past_holds(const struct xg_past *past, uint64_t machine, int64_t now_s);

/*
 * The resources that should start before the first call: the record's, if the believed gain is at
 * least half of the time of their starts and nothing bars it. Runs that take it and do not tell how
 * they ended end the belief too; those of one minute count once, because ranks start together.
 */
unsigned xg_past_promise(const struct xg_past *past);

/* The time of its calls on the CPU to the model's, in its last run without a promise; 1/4 to 4.
 * Each run with one believes a quarter less of it. */
double xg_past_cpu_ratio(const struct xg_past *past);

/* Notes that a run takes the promise. */
void xg_past_take(struct xg_past *past, int64_t now_s);

/* Whether the last run without a promise started the GPU and gained too little: the next one starts
 * it once it has missed all that a start takes. */
bool xg_past_is_vain(const struct xg_past *past);

/*
 * Learns from a run, when it has shown a gain or ends. The gain is kept up to twice the
 * starts' time and halved by each run that took the promise and saved less than a
 * quarter of that time, so a program that no longer gains is believed three times more at most.
 * Until a run has gained, or started in vain, the record is empty: its price is 0.
 */
void xg_past_learn(struct xg_past *past, const struct xg_past_run *run, int64_t now_s);

#endif
