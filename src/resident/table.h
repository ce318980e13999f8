/* SPDX-License-Identifier: MIT */
/* The operands that were seen, what is known of each, and which pages their copies lack. */
/*
 * An entry is one matrix as stored: address, shape, leading dimension and type. The same bytes with
 * another shape have another entry; a page that was written is marked in every copy of it. The
 * table owns its entries and their copies; a copy's memory on the device is the caller's, and
 * opaque here. Not locked: the caller holds one lock over a fetch (pages.h) and the
 * marks that it makes.
 *
 * The life of an entry, by its credit (credit.h) and copies:
 *   seen -> candidate -> scouted -> armed (a copy is being filled) -> kept -> dirty -> kept;
 *   from any of them to seen, when it is dropped.
 */
#ifndef XG_RESIDENT_TABLE_H
#define XG_RESIDENT_TABLE_H

#include "base/problem.h"
#include "resident/credit.h"
#include "resident/pages.h"

enum { XG_TABLE_ENTRIES = 256 };

/* Without padding: two keys are equal if their bytes are. */
struct xg_table_key {
    const void *at;
    int64_t rows, columns, ld; /* row-major; ld in elements */
    uint32_t type;             /* enum xg_type */
    uint16_t stored, unit; /* enum xg_uplo: the elements that are read; 1: the diagonal is ones */
};

/* What a device has of an entry. */
struct xg_table_copy {
    int users;            /* calls that compute with it: it may not be freed or overwritten */
    bool filling, doomed; /* by one of the users; its last user removes it */
    void *held;           /* its memory, the caller's */
    size_t stale_pages;
    uint64_t *stale; /* a bit for each of the entry's pages: written since it was sent */
};

struct xg_table_entry {
    struct xg_table_key key; /* at == NULL: a free place */
    struct xg_credit_item credit;
    struct xg_pages_range pages; /* wholly inside it; the bytes before and after are always sent */
    bool huge;                   /* most of them lie in huge pages; the caller's */
    uint64_t fingerprint;        /* at the last sight; the caller's */
    int64_t seen;                /* the number of that sight */
    size_t written_pages; /* armed pages that were written; set to 0 by the caller at each use, and
                           * after arming, which reports all pages */
    struct xg_table_copy *copy; /* NULL: none */
};

struct xg_table {
    size_t page_bytes;
    int64_t sights;
    uint64_t hashes[XG_TABLE_ENTRIES];              /* of the keys; 0: free */
    struct xg_pages_range ranges[XG_TABLE_ENTRIES]; /* the entries' pages once more, side by side */
    struct xg_table_entry entries[XG_TABLE_ENTRIES];
};

/* 44 KiB: static, or allocated. */
void xg_table_init(struct xg_table *table, size_t page_bytes);

/* --- Entries --------------------------------------------------------------------------------- */

/* The key's entry, or NULL. */
struct xg_table_entry *xg_table_find(struct xg_table *table, const struct xg_table_key *key);

/* Finds the key's entry, or adds it, and counts it as seen now. NULL: the table is full. */
struct xg_table_entry *xg_table_see(struct xg_table *table, const struct xg_table_key *key);

/* Finds an entry that the caller may empty and remove: the least recently seen of those without a
 * copy or not seen lately; if there is none, the least recently seen of the others. An entry whose
 * copy a call uses is never taken. NULL: there is none. So new views of a matrix do not displace
 * copies that are used, and old copies do not stay for ever. */
struct xg_table_entry *xg_table_oldest(struct xg_table *table);

/* Removes an entry without copies, whose pages are not armed. */
void xg_table_remove(struct xg_table *table, struct xg_table_entry *entry);

/* The next entry after `after` (NULL: the first) whose bytes or edge pages meet the range, or
 * NULL. */
struct xg_table_entry *xg_table_meeting(struct xg_table *table, struct xg_pages_range range,
                                        const struct xg_table_entry *after);

/* Bytes from the first to the last element. */
size_t xg_table_bytes(const struct xg_table_key *key);

/*
 * A hash of 64 elements, spread over the stored ones, the first and the last among them, without
 * those outside the pages. Equal data has equal hashes; a change of all elements shows, one of a
 * few may not.
 */
uint64_t xg_table_fingerprint(const struct xg_table_key *key, struct xg_pages_range pages);

/* --- Pages ----------------------------------------------------------------------------------- */

/* A struct xg_pages_mark whose `of` is a struct xg_table: in each copy that has some of these pages
 * they are stale, and they are counted in written_pages of each armed or scouted entry. */
void xg_table_mark(void *table, struct xg_pages_range pages);

/* The share of the entry's armed pages that is in written_pages, at most 1, for the credit. */
double xg_table_written_share(const struct xg_table *table, const struct xg_table_entry *entry);

/* The pages that are armed in this state: block 0, 1, ... False: there are no more. Those of a
 * scout, in blocks of up to 2 MiB, are together at most XG_CREDIT_SHARE of the entry's pages, but
 * at least one page. */
bool xg_table_armed(const struct xg_table *table, const struct xg_table_entry *entry,
                    enum xg_credit_state state, int block, struct xg_pages_range *pages);

/* --- Copies ---------------------------------------------------------------------------------- */

/* Adds a copy for an entry that has none; all its pages are stale. NULL: there is no memory. */
struct xg_table_copy *xg_table_copy_add(const struct xg_table *table, struct xg_table_entry *entry);
void xg_table_copy_remove(struct xg_table_entry *entry);

/* Marks no page of its copy as stale. Called after the pages were armed or fetched, in the same
 * lock, and before the rows are read that were stale: what is written while they are read is then
 * marked again. */
void xg_table_copy_clean(const struct xg_table *table, const struct xg_table_entry *entry);

/* Marks all of them. */
void xg_table_copy_stale(const struct xg_table *table, const struct xg_table_entry *entry);

struct xg_table_rows {
    int64_t first, count;
};

/* The next rows after *rows ({0, 0}: from the first on) that the copy lacks: rows with a byte in a
 * stale page or outside the entry's pages. False: there are no more. */
bool xg_table_stale_rows(const struct xg_table *table, const struct xg_table_entry *entry,
                         struct xg_table_rows *rows);

#endif
