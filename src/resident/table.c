/* SPDX-License-Identifier: MIT */
/* Entries in a fixed table, found by their key's hash or by address; bits of stale pages. */
#include "resident/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };
_Static_assert(sizeof(struct xg_table_key) == 5 * sizeof(uint64_t), "a key has no padding");
enum { SCOUT_BYTES = 2 << 20, SCOUT_APART = XG_CREDIT_PART * SCOUT_BYTES };

/* --- Hashes ---------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Never 0. */
static uint64_t hash_of(const struct xg_table_key *key)
{
    uint64_t words[sizeof *key / sizeof(uint64_t)], hash = 1;
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        hash = mixed(hash, words[i]);
    return hash | 1;
}

uint64_t xg_table_fingerprint(const struct xg_table_key *key, struct xg_pages_range pages)
{
    enum { WORDS = 64 };
    const size_t elem_bytes = xg_type_bytes(key->type);
    const char *at[WORDS];
    uint64_t hash = 1, spread = 0;
    for (int i = 0; i < WORDS; i++, spread += 0x9e3779b97f4a7c15u) {
        /* Rows from the first to the last; columns are scattered, and the last one is the last. */
        const int64_t row = (int64_t)((double)(key->rows - 1) * i / (WORDS - 1));
        int64_t column = (int64_t)(spread % (uint64_t)key->columns);
        if (i == WORDS - 1)
            column = key->columns - 1;
        /* Not in the other triangle, nor on a diagonal of ones: the program may write there. */
        const bool other = key->stored == XG_UPPER ? row > column : row < column;
        const int64_t place =
            key->stored != XG_FULL && other ? column * key->ld + row : row * key->ld + column;
        at[i] = (const char *)key->at + (size_t)place * elem_bytes;
        const uintptr_t first = (uintptr_t)at[i];
        if ((key->unit && row == column) || first < pages.begin || first + elem_bytes > pages.end)
            at[i] = NULL;
        else
            __builtin_prefetch(at[i]); /* all of them at once: they may be anywhere in memory */
    }
    for (int i = 0; i < WORDS; i++) {
        uint64_t element[2] = {0};
        if (at[i])
            memcpy(element, at[i], elem_bytes);
        hash = mixed(mixed(hash, element[0]), element[1]);
    }
    return hash;
}

/* --- Entries --------------------------------------------------------------------------------- */

void xg_table_init(struct xg_table *table, size_t page_bytes)
{
    memset(table, 0, sizeof *table);
    table->page_bytes = page_bytes;
}

size_t xg_table_bytes(const struct xg_table_key *key)
{
    return (size_t)((key->rows - 1) * key->ld + key->columns) * xg_type_bytes(key->type);
}

struct xg_table_entry *xg_table_find(struct xg_table *table, const struct xg_table_key *key)
{
    const uint64_t hash = hash_of(key);
    for (uint64_t i = 0; i < XG_TABLE_ENTRIES; i++) {
        const size_t place = ((hash >> 32) + i) % XG_TABLE_ENTRIES; /* mostly the first */
        struct xg_table_entry *entry = &table->entries[place];
        if (table->hashes[place] == hash && !memcmp(&entry->key, key, sizeof *key))
            return entry;
    }
    return NULL;
}

struct xg_table_entry *xg_table_see(struct xg_table *table, const struct xg_table_key *key)
{
    struct xg_table_entry *entry = xg_table_find(table, key);
    const uint64_t hash = hash_of(key);
    for (uint64_t i = 0; !entry && i < XG_TABLE_ENTRIES; i++) {
        const size_t place = ((hash >> 32) + i) % XG_TABLE_ENTRIES;
        if (table->hashes[place])
            continue;
        entry = &table->entries[place];
        *entry = (struct xg_table_entry){.key = *key};
        entry->pages = xg_pages_inside(key->at, xg_table_bytes(key), table->page_bytes);
        table->hashes[place] = hash;
        table->ranges[place] = entry->pages;
    }
    if (entry)
        entry->seen = ++table->sights;
    return entry;
}

/* Sights: a copy that was used in the last of them stays. */
enum { LATELY = 4 * XG_TABLE_ENTRIES };

struct xg_table_entry *xg_table_oldest(struct xg_table *table)
{
    struct xg_table_entry *oldest[2] = {NULL, NULL}; /* [1]: with a copy that was used recently */
    for (int i = 0; i < XG_TABLE_ENTRIES; i++) {
        struct xg_table_entry *entry = &table->entries[i];
        const bool stays = entry->copy && table->sights - entry->seen < LATELY;
        struct xg_table_entry **of = &oldest[stays];
        if (table->hashes[i] && !(entry->copy && entry->copy->users) &&
            (!*of || entry->seen < (*of)->seen))
            *of = entry;
    }
    return oldest[0] ? oldest[0] : oldest[1];
}

void xg_table_remove(struct xg_table *table, struct xg_table_entry *entry)
{
    assert(!entry->copy);
    table->hashes[entry - table->entries] = 0;
    table->ranges[entry - table->entries] = (struct xg_pages_range){0, 0};
    entry->key = (struct xg_table_key){0};
}

struct xg_table_entry *xg_table_meeting(struct xg_table *table, struct xg_pages_range range,
                                        const struct xg_table_entry *after)
{
    const uintptr_t page = table->page_bytes;
    for (ptrdiff_t i = after ? after - table->entries + 1 : 0; i < XG_TABLE_ENTRIES; i++) {
        struct xg_table_entry *entry = &table->entries[i];
        const uintptr_t begin = (uintptr_t)entry->key.at / page * page;
        if (table->hashes[i] && begin < range.end &&
            (uintptr_t)entry->key.at + xg_table_bytes(&entry->key) > range.begin)
            return entry;
    }
    return NULL;
}

/* --- Pages ----------------------------------------------------------------------------------- */

static struct xg_pages_range common(struct xg_pages_range a, struct xg_pages_range b)
{
    struct xg_pages_range range = {a.begin > b.begin ? a.begin : b.begin,
                                   a.end < b.end ? a.end : b.end};
    if (range.end < range.begin)
        range.end = range.begin;
    return range;
}

static void mark_copy(const struct xg_table *table, const struct xg_table_entry *entry,
                      struct xg_pages_range pages)
{
    struct xg_table_copy *copy = entry->copy;
    const size_t page = table->page_bytes, end = (pages.end - entry->pages.begin) / page;
    for (size_t i = (pages.begin - entry->pages.begin) / page; i < end; i++) {
        const uint64_t bit = (uint64_t)1 << i % WORD_BITS;
        copy->stale_pages += !(copy->stale[i / WORD_BITS] & bit);
        copy->stale[i / WORD_BITS] |= bit;
    }
}

bool xg_table_armed(const struct xg_table *table, const struct xg_table_entry *entry,
                    enum xg_credit_state state, int block, struct xg_pages_range *pages)
{
    if (state == XG_CREDIT_ARMED)
        *pages = entry->pages;
    if (state != XG_CREDIT_SCOUTED)
        return state == XG_CREDIT_ARMED && block == 0;
    const uintptr_t page = table->page_bytes, bytes = entry->pages.end - entry->pages.begin;
    const uintptr_t blocks = bytes / SCOUT_APART;
    if (!bytes || (uintptr_t)block >= (blocks ? blocks : 1))
        return false;
    if (!blocks) {
        const uintptr_t part = bytes / page / XG_CREDIT_PART * page;
        pages->begin = entry->pages.begin + bytes / page / 2 * page;
        pages->end = pages->begin + (part ? part : page);
        return true;
    }
    /* A huge page that is written becomes ordinary pages, so a block holds whole ones. */
    const uintptr_t middle = entry->pages.begin + (uintptr_t)block * SCOUT_APART + SCOUT_APART / 2;
    pages->begin = middle / SCOUT_BYTES * SCOUT_BYTES;
    pages->end = pages->begin + SCOUT_BYTES;
    return true;
}

/* How many of these pages are armed. */
static size_t count_armed(const struct xg_table *table, const struct xg_table_entry *entry,
                          struct xg_pages_range pages)
{
    struct xg_pages_range part;
    size_t bytes = 0;
    for (int i = 0; xg_table_armed(table, entry, entry->credit.state, i, &part); i++) {
        part = common(part, pages);
        bytes += part.end - part.begin;
    }
    return bytes / table->page_bytes;
}

double xg_table_written_share(const struct xg_table *table, const struct xg_table_entry *entry)
{
    const size_t armed = count_armed(table, entry, entry->pages);
    return entry->written_pages < armed ? (double)entry->written_pages / (double)armed : armed > 0;
}

void xg_table_mark(void *of, struct xg_pages_range pages)
{
    struct xg_table *table = of;
    for (int i = 0; i < XG_TABLE_ENTRIES; i++) {
        struct xg_table_entry *entry = &table->entries[i];
        if (table->ranges[i].begin >= pages.end || table->ranges[i].end <= pages.begin)
            continue;
        entry->written_pages += count_armed(table, entry, pages);
        if (entry->copy)
            mark_copy(table, entry, common(entry->pages, pages));
    }
}

/* --- Copies ---------------------------------------------------------------------------------- */

static size_t word_count(const struct xg_table *table, const struct xg_table_entry *entry)
{
    return (entry->pages.end - entry->pages.begin) / table->page_bytes / WORD_BITS + 1;
}

void xg_table_copy_stale(const struct xg_table *table, const struct xg_table_entry *entry)
{
    mark_copy(table, entry, entry->pages);
}

struct xg_table_copy *xg_table_copy_add(const struct xg_table *table, struct xg_table_entry *entry)
{
    const size_t words = word_count(table, entry);
    struct xg_table_copy *copy = calloc(1, sizeof *copy + words * sizeof *copy->stale);
    if (!copy)
        return NULL;
    copy->stale = (uint64_t *)(copy + 1);
    entry->copy = copy;
    xg_table_copy_stale(table, entry);
    return copy;
}

void xg_table_copy_remove(struct xg_table_entry *entry)
{
    free(entry->copy);
    entry->copy = NULL;
}

void xg_table_copy_clean(const struct xg_table *table, const struct xg_table_entry *entry)
{
    memset(entry->copy->stale, 0, word_count(table, entry) * sizeof *entry->copy->stale);
    entry->copy->stale_pages = 0;
}

/* A row with a byte outside the pages, or in a stale one. */
static bool lacks(const struct xg_table *table, const struct xg_table_entry *entry, uintptr_t begin,
                  uintptr_t end)
{
    const struct xg_table_copy *copy = entry->copy;
    const uintptr_t page = table->page_bytes, first = entry->pages.begin;
    if (begin < first || end > entry->pages.end)
        return true;
    for (size_t i = (begin - first) / page; copy->stale_pages && i <= (end - 1 - first) / page; i++)
        if (copy->stale[i / WORD_BITS] >> i % WORD_BITS & 1)
            return true;
    return false;
}

bool xg_table_stale_rows(const struct xg_table *table, const struct xg_table_entry *entry,
                         struct xg_table_rows *rows)
{
    const struct xg_table_key *key = &entry->key;
    const uintptr_t elem_bytes = xg_type_bytes(key->type), begin = (uintptr_t)key->at;
    const uintptr_t ld_bytes = (uintptr_t)key->ld * elem_bytes;
    const uintptr_t row_bytes = (uintptr_t)key->columns * elem_bytes;
    int64_t row = rows->first + rows->count;
    *rows = (struct xg_table_rows){row, 0};
    for (; row < key->rows; row++) {
        const uintptr_t at = begin + (uintptr_t)row * ld_bytes;
        if (lacks(table, entry, at, at + row_bytes)) {
            rows->first = rows->count ? rows->first : row;
            rows->count++;
        } else if (rows->count) {
            break;
        } else if (!entry->copy->stale_pages && at + 2 * ld_bytes < entry->pages.end) {
            /* No page is stale: goes on just before the rows that reach beyond the last page. */
            row = (int64_t)((entry->pages.end - begin) / ld_bytes) - 2;
        }
    }
    return rows->count > 0;
}
