/* SPDX-License-Identifier: MIT */
/* The process's account (account.h): under a lock, printed at exit, and kept in a file. */
#ifndef XG_STATS_H
#define XG_STATS_H

#include <stddef.h>
#include <stdio.h>

#include "report/record.h"

/*
 * Adds a call to the account when xg_conf_counts says so (conf.h), and to the file of
 * XGEMM_ACCOUNT (mapping.h). Writes the call's line when XGEMM_VERBOSE >= 1. A file that cannot be
 * created is reported once. Any thread may call it; it takes a short lock when the account is kept
 * or the line may be a repeat. May change errno.
 */
void xg_stats_add(const struct xg_call_record *record);

/* Adds a call of XGEMM_MODE=compare. Any thread may call it. */
struct xg_compare_record;
void xg_stats_add_compare(const struct xg_compare_record *record);

/*
 * Copies the account so far, a struct xg_account, at most `bytes` of it. Its pid is 0 before the
 * first call counted. Returns the size of the whole; 0, and nothing is copied, if no account is
 * kept, or if the process may take no lock (host/fork.h, base/sandbox.h). Any thread may call it,
 * but not a signal handler.
 */
size_t xg_stats_read(void *to, size_t bytes);

/* Writes the account so far (what the exit report prints) to out. */
void xg_stats_print(FILE *out);

#endif
