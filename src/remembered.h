/* SPDX-License-Identifier: MIT */
/* What earlier runs of this program have shown: looked up once, and kept up to date. */
/*
 * A program that gained is started for as soon as its BLAS is loaded, beside its imports. What it
 * gains is added up by the ledger; a record is written when that first exceeds the price of a
 * start, each time it has doubled, and at the end. A process that gains nothing and starts nothing
 * writes nothing. Off with XGEMM_HISTORY=off, XGEMM_REPRODUCIBLE=1 and all modes but auto.
 */
#ifndef XG_REMEMBERED_H
#define XG_REMEMBERED_H

#include <stdbool.h>

#include "decide/decision.h"

/*
 * Call it when a CPU library has been loaded and asks for its settings, with the dynamic linker's
 * count of objects at this library's own load. Looks the program up; if its record promises a gain,
 * starts the GPU and the libraries that it needed on threads of their own. Returns at once; takes
 * no lock that the dynamic linker's lock may be held behind. Keeps errno. Once a process; later
 * calls do nothing.
 */
void xg_remembered_at_load(unsigned long long objects_at_load);

/* Looks the program up at its first call, unless that was done. */
void xg_remembered_at_call(const struct xg_conf *conf);

/* The times of starts on this machine: sets those that are known; notes one. The second runs on the
 * thread of the start. */
void xg_remembered_starts(const struct xg_conf *conf, double takes_s[XG_RESOURCE_COUNT]);
void xg_remembered_start_took(const struct xg_conf *conf, enum xg_resource resource,
                              double seconds);

/* Fills what is remembered into a situation. From any thread; loads. */
void xg_remembered_see(struct xg_situation *now);

/* Notes what calls have gained. One thread at a time; no lock, no system call. */
void xg_remembered_note(const struct xg_ledger *ledger, const double takes_s[XG_RESOURCE_COUNT]);

/* True if a record should be written now; then the caller, whom no signal may leave, calls the
 * second. */
bool xg_remembered_is_due(void);
void xg_remembered_write(void);

/* Writes the last record of the process, if anything was started or promised. */
void xg_remembered_end(void);

#endif
