/* SPDX-License-Identifier: MIT */
/* Keeps copies of operands as the library would, in host memory, and compares each one that was
 * proved equal. */
#ifndef KEPT_H
#define KEPT_H

#include "src/resident/pages.h"
#include "src/resident/table.h"

struct kept {
    struct xg_pages pages;
    struct xg_table table;
    long uses, armed, clean, sent_rows; /* clean: uses of a copy without stale pages */
    long results[XG_PAGES_GONE + 1];
    long stale;      /* rows of a copy that differ, although no fetch reported them: must be 0 */
    bool copy_first; /* the mistake of reading an operand before its pages are armed */
};

/* False: the tracker is off. */
bool kept_open(struct kept *kept, const struct xg_pages_system *system, void *self);

/* Drops all copies and closes the tracker. */
void kept_close(struct kept *kept);

/* One call reads the operand, which nothing writes meanwhile: proves its copy, sends what it lacks
 * and compares all of it; or arms the operand and copies it. */
void kept_use(struct kept *kept, const struct xg_table_key *key);

/* The two halves of a use, between which others may write: what is read and sent, and the
 * comparison. */
void kept_send(struct kept *kept, const struct xg_table_key *key);
long kept_compare(struct kept *kept, const struct xg_table_key *key);

/* The library itself is about to write a matrix. */
void kept_written(struct kept *kept, const struct xg_table_key *key);

void kept_drop_all(struct kept *kept);

#endif
