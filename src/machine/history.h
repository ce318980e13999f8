/* SPDX-License-Identifier: MIT */
/* The files in which programs' records are kept, in the user's cache folder. */
/*
 * ${XDG_CACHE_HOME:-$HOME/.cache}/xgemm/history has a key of this user and 62 files of 16 records;
 * a program's keyed hash chooses its file, and the record that was used least recently goes. A file
 * is replaced as a whole, by a new one that is made exclusively: its name is the lock, which holds
 * on network file systems too. What concurrent runs lose is a record, never a file. Records that
 * are damaged, or another user's, fail their seal and are ignored. Nothing here takes a lock;
 * errno is kept. The hash is SipHash-2-4 (Aumasson and Bernstein, 2012).
 */
#ifndef XG_HISTORY_H
#define XG_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/past.h"

/* Short paths, because the program's thread may have little stack. */
enum { XG_HISTORY_FILES = 62, XG_HISTORY_RECORDS = 16, XG_HISTORY_PATH_BYTES = 1024 };

struct xg_history {
    char folder[XG_HISTORY_PATH_BYTES - 16];
    uint64_t key[2];
};

/* Finds the folder, below XDG_CACHE_HOME or HOME/.cache, which lookup(NULL, name) returns
 * (getenv-like; NULL: unset), and reads the key. make: makes both if they are missing. Returns
 * false if there is no home, or no key. */
typedef const char *xg_history_lookup(void *ctx, const char *name);
bool xg_history_open(struct xg_history *history, bool make, xg_history_lookup *lookup);

/* A hash of the bytes with the user's key; never 0. Pure. */
uint64_t xg_history_hash(const struct xg_history *history, const void *bytes, size_t count);

/* A hash of what records depend on besides the program: the GPU, its driver and this library's
 * version. Reads the system's files; allocates. */
uint64_t xg_history_machine(const struct xg_history *history);

/* Finds the program's record. Returns false if there is none. */
bool xg_history_find(const struct xg_history *history, uint64_t id, struct xg_past *past);

/* Seals the record and stores it, with the bars of the one that is there. Returns false if the file
 * could not be replaced. */
bool xg_history_store(const struct xg_history *history, struct xg_past *past);

/* Forgets one program. Returns false if it is not remembered or the file could not be replaced. */
bool xg_history_forget(const struct xg_history *history, uint64_t id);

/* Reads all records of one file, sound ones first; returns their number. */
int xg_history_read(const struct xg_history *history, int file,
                    struct xg_past records[XG_HISTORY_RECORDS]);

/* Sets the times of starts that were measured on the machine; others stay. */
void xg_history_starts(const struct xg_history *history, uint64_t machine,
                       double takes_s[XG_RESOURCE_COUNT]);

/* Notes the time of a start; expected_s: if none was kept. Returns false if it was not kept. */
bool xg_history_start_took(const struct xg_history *history, uint64_t machine,
                           enum xg_resource resource, double expected_s, double seconds);

#endif
