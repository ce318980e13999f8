/* SPDX-License-Identifier: MIT */
/* What earlier runs of this program have shown: looked up once, and kept up to date. */
/*
 * The ledger adds up what calls have saved and missed. A record is written when the sum first
 * exceeds half of what a start takes, each time it has doubled, and at the end. A process that
 * gains nothing and starts nothing writes nothing. Off with XGEMM_HISTORY=off, XGEMM_REPRODUCIBLE=1
 * and all modes but auto. The functions keep errno.
 */
#ifndef XG_REMEMBERED_H
#define XG_REMEMBERED_H

#include <stdbool.h>

#include "base/conf.h"
#include "machine/history.h"

/*
 * Looks the program up, once a process; later calls do nothing. at_load: its CPU library is being
 * loaded, so that settings which change until its first call are its own. Asks for no variable but
 * through lookup; of locks it takes that of the fork handlers. Returns true if the program may be
 * promised a gain.
 */
bool xg_remembered_find(bool at_load, xg_history_lookup *lookup);

/* Confirms what was found, once a process: the settings and the machine let it count. */
void xg_remembered_confirm(const struct xg_conf *conf);

/* The resources that pay, as earlier runs have shown, once that is confirmed: from any thread, a
 * load. The second notes that the promise is taken. */
unsigned xg_remembered_promise(void);
void xg_remembered_take(void);

/* The error of the model's times on the CPU in an earlier run of the program; 1: not known. */
double xg_remembered_cpu_ratio(void);

/* Whether the program's last start was in vain (past.h). */
bool xg_remembered_is_vain(void);

/* For the first call: finds, confirms, and looks whether settings have changed since the load. */
void xg_remembered_at_call(const struct xg_conf *conf);

/* Notes what calls have gained. One thread at a time; no lock, no system call. */
void xg_remembered_note(const struct xg_ledger *ledger, const double takes_s[XG_RESOURCE_COUNT]);

/* True if a record should be written now; then the caller, whom no signal may leave, calls the
 * second. device_bytes: memory in use there. */
bool xg_remembered_is_due(void);
void xg_remembered_write(size_t device_bytes);

/* Writes the last record of the process, if anything was started or promised. No lock. */
void xg_remembered_end(void);

/* True: a start of the GPU begins, which may outlast the program; false: it has failed. */
void xg_remembered_started(bool started);

/* The times of starts on this machine: sets those that are known; notes one. The second runs on the
 * thread of the start. */
void xg_remembered_starts(const struct xg_conf *conf, double takes_s[XG_RESOURCE_COUNT]);
void xg_remembered_start_took(const struct xg_conf *conf, enum xg_resource resource,
                              double seconds);

#endif
