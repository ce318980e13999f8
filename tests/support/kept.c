/* SPDX-License-Identifier: MIT */
#include "kept.h"

#include "src/resident/selftest.h"

#include "xt.h"

static size_t row_bytes(const struct xg_table_key *key)
{
    return (size_t)key->columns * xg_type_bytes(key->type);
}

static const char *row_at(const struct xg_table_key *key, int64_t row)
{
    return (const char *)key->at + (size_t)(row * key->ld) * xg_type_bytes(key->type);
}

static void drop(struct kept *kept, struct xg_table_entry *entry)
{
    if (entry->credit.state == XG_CREDIT_ARMED)
        xg_pages_disarm(&kept->pages, entry->pages);
    entry->credit.state = XG_CREDIT_SEEN;
    if (entry->copy)
        free(entry->copy->held);
    xg_table_copy_remove(entry);
}

static void drop_meeting(struct kept *kept, struct xg_pages_range range)
{
    for (struct xg_table_entry *entry = NULL;
         (entry = xg_table_meeting(&kept->table, range, entry));)
        drop(kept, entry);
}

void kept_drop_all(struct kept *kept)
{
    drop_meeting(kept, (struct xg_pages_range){0, UINTPTR_MAX});
}

bool kept_open(struct kept *kept, const struct xg_pages_system *system, void *self)
{
    memset(kept, 0, sizeof *kept);
    bool good = xg_selftest_open(&kept->pages, system, self);
    xg_table_init(&kept->table, kept->pages.page_bytes);
    return good;
}

void kept_close(struct kept *kept)
{
    kept_drop_all(kept);
    xg_pages_close(&kept->pages, "the test is over");
}

static struct xg_table_entry *entry_of(struct kept *kept, const struct xg_table_key *key)
{
    struct xg_table_entry *entry = xg_table_see(&kept->table, key);
    if (!entry) {
        struct xg_table_entry *oldest = xg_table_oldest(&kept->table);
        drop(kept, oldest);
        xg_table_remove(&kept->table, oldest);
        entry = xg_table_see(&kept->table, key);
    }
    return entry;
}

/* Counts the result, and drops what it says. True: DONE. */
static bool accept(struct kept *kept, struct xg_table_entry *entry, enum xg_pages_result result)
{
    kept->results[result]++;
    if (result == XG_PAGES_FOREIGN || result == XG_PAGES_CHANGED)
        drop_meeting(kept, entry->pages);
    else if (result != XG_PAGES_DONE)
        kept_drop_all(kept);
    return result == XG_PAGES_DONE;
}

static void send_row(const struct xg_table_entry *entry, int64_t row)
{
    const size_t bytes = row_bytes(&entry->key);
    memcpy((char *)entry->copy->held + (size_t)row * bytes, row_at(&entry->key, row), bytes);
}

static void send_all(const struct xg_table_entry *entry)
{
    for (int64_t row = 0; row < entry->key.rows; row++)
        send_row(entry, row);
}

static void begin_copy(struct kept *kept, struct xg_table_entry *entry)
{
    struct xg_table_copy *copy = xg_table_copy_add(&kept->table, entry);
    if (!copy)
        exit(XT_HARD);
    copy->held = xt_alloc((size_t)entry->key.rows, row_bytes(&entry->key));
    if (kept->copy_first)
        send_all(entry);
    if (!accept(kept, entry, xg_pages_arm(&kept->pages, entry->pages, xg_table_mark, &kept->table)))
        return;
    kept->armed++;
    entry->credit.state = XG_CREDIT_ARMED;
    entry->written_pages = 0;
    xg_table_copy_clean(&kept->table, entry);
    if (!kept->copy_first)
        send_all(entry);
}

static void update_copy(struct kept *kept, struct xg_table_entry *entry)
{
    struct xg_table_rows rows = {0, 0}, lacking[64];
    int count = 0;
    if (!accept(kept, entry,
                xg_pages_fetch(&kept->pages, entry->pages, xg_table_mark, &kept->table)))
        return;
    kept->clean += entry->copy->stale_pages == 0;
    while (count < 64 && xg_table_stale_rows(&kept->table, entry, &rows))
        lacking[count++] = rows;
    xg_table_copy_clean(&kept->table, entry);
    if (count == 64)
        lacking[63].count = entry->key.rows - lacking[63].first;
    for (int i = 0; i < count; i++)
        for (int64_t row = 0; row < lacking[i].count; row++, kept->sent_rows++)
            send_row(entry, lacking[i].first + row);
}

void kept_send(struct kept *kept, const struct xg_table_key *key)
{
    struct xg_table_entry *entry = entry_of(kept, key);
    kept->uses++;
    if (entry->copy)
        update_copy(kept, entry);
    else if (entry->pages.begin < entry->pages.end)
        begin_copy(kept, entry);
}

long kept_compare(struct kept *kept, const struct xg_table_key *key)
{
    const struct xg_table_entry *entry = entry_of(kept, key);
    const size_t bytes = row_bytes(key);
    long stale = 0;
    for (int64_t row = 0; entry->copy && row < key->rows; row++)
        stale +=
            memcmp((char *)entry->copy->held + (size_t)row * bytes, row_at(key, row), bytes) != 0;
    kept->stale += stale;
    return stale;
}

void kept_use(struct kept *kept, const struct xg_table_key *key)
{
    kept_send(kept, key);
    kept_compare(kept, key);
}

void kept_written(struct kept *kept, const struct xg_table_key *key)
{
    const uintptr_t page = kept->pages.page_bytes, begin = (uintptr_t)key->at;
    xg_table_mark(&kept->table,
                  (struct xg_pages_range){begin / page * page,
                                          (begin + xg_table_bytes(key) + page - 1) / page * page});
}
