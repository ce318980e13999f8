/* SPDX-License-Identifier: MIT */
/* The table of operands: entries, fingerprints, marks, scouts and the rows that a copy lacks. */
#include "src/resident/table.h"

#include "tests/support/xt.h"

enum { PAGE = 4096 };

static struct xg_table table;
static uint64_t seed = 1;

static size_t draw(size_t below)
{
    return (size_t)(((double)xt_random(&seed) + 1.0) / 2.0 * (double)below) % below;
}

static struct xg_table_key key_at(uintptr_t at, int64_t rows, int64_t columns, int64_t ld)
{
    /* NOLINT: an address that is never read */
    return (struct xg_table_key){(void *)at, rows, columns, ld, .type = XG_TYPE_S};
}

static struct xg_table_entry *add(const struct xg_table_key *key)
{
    struct xg_table_entry *entry = xg_table_see(&table, key);
    if (!entry)
        exit(XT_HARD);
    return entry;
}

/* --- Entries ------------------------------------------------------------------------------------
 */

static void test_entries(void)
{
    const uintptr_t base = (uintptr_t)1 << 40;
    xg_table_init(&table, PAGE);
    for (int i = 0; i < XG_TABLE_ENTRIES; i++) {
        const struct xg_table_key key = key_at(base + (uintptr_t)i * 64, 10 + i % 3, 20, 20);
        XT_CHECK(!xg_table_find(&table, &key));
        struct xg_table_entry *entry = add(&key);
        XT_CHECK(xg_table_find(&table, &key) == entry);
    }
    struct xg_table_key key = key_at(base, 10, 20, 20);
    struct xg_table_entry *first = xg_table_see(&table, &key);
    XT_CHECK(first);
    XT_CHECK(!xg_table_see(&table, &(struct xg_table_key){.at = &key, .rows = 1}), "it is full");
    /* Each field tells operands apart. */
    struct xg_table_key others[] = {key, key, key, key, key, key, key};
    others[0].at = (char *)key.at + 4;
    others[1].rows++;
    others[2].columns--;
    others[3].ld++;
    others[4].type = XG_TYPE_C;
    others[5].stored = XG_UPPER;
    others[6].unit = 1;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        XT_CHECK(!xg_table_find(&table, &others[i]), "field %zu", i);
    /* The first was just seen; the second is the oldest, unless it is in use. */
    key = key_at(base + 64, 11, 20, 20);
    struct xg_table_entry *oldest = xg_table_oldest(&table);
    XT_CHECK(oldest && oldest->key.at == key.at);
    XT_CHECK(xg_table_find(&table, &key) == oldest && xg_table_oldest(&table) == oldest,
             "to find it is no sight");
    struct xg_table_copy *copy = xg_table_copy_add(&table, oldest);
    copy->users = 1;
    XT_CHECK(xg_table_oldest(&table) != oldest);
    copy->users = 0;
    XT_CHECK(xg_table_oldest(&table) != oldest, "others have no copy");
    xg_table_copy_remove(oldest);
    XT_CHECK(xg_table_oldest(&table) == oldest);
    xg_table_remove(&table, oldest);
    XT_CHECK(!xg_table_find(&table, &key) && add(&others[0]) == oldest);
    for (int i = 0; i < XG_TABLE_ENTRIES; i++)
        if (table.hashes[i] && &table.entries[i] != oldest)
            xg_table_remove(&table, &table.entries[i]);
    copy = xg_table_copy_add(&table, oldest);
    XT_CHECK(xg_table_oldest(&table) == oldest);
    key.rows++;
    struct xg_table_entry *other = add(&key);
    XT_CHECK(xg_table_oldest(&table) == other, "a copy that was used recently stays");
    for (int i = 0; i < 100 * XG_TABLE_ENTRIES; i++)
        xg_table_see(&table, &key);
    XT_CHECK(xg_table_oldest(&table) == oldest, "but not for ever");
    xg_table_remove(&table, other);
    copy->users = 1;
    XT_CHECK(!xg_table_oldest(&table));
    xg_table_copy_remove(oldest);
    xg_table_remove(&table, oldest);
    XT_CHECK(!xg_table_oldest(&table));
}

/* --- Fingerprints -------------------------------------------------------------------------------
 */

static void test_fingerprints(void)
{
    enum { ROWS = 300, LD = 310 };
    static double data[ROWS * LD];
    struct xg_table_key key = {data, ROWS, ROWS, LD, .type = XG_TYPE_D};
    for (int i = 0; i < ROWS * LD; i++)
        data[i] = (double)xt_random(&seed);
    const struct xg_pages_range all_memory = {0, UINTPTR_MAX};
    const uint64_t before = xg_table_fingerprint(&key, all_memory);
    XT_CHECK(xg_table_fingerprint(&key, all_memory) == before);
    /* Padding is not read; the first and the last element are. */
    for (int row = 0; row < ROWS; row++)
        for (int i = ROWS; i < LD; i++)
            data[row * LD + i] += 1;
    XT_CHECK(xg_table_fingerprint(&key, all_memory) == before);
    for (int end = 0; end < 2; end++) {
        data[end ? (ROWS - 1) * LD + ROWS - 1 : 0] += 1;
        XT_CHECK(xg_table_fingerprint(&key, all_memory) != before, "element %d", end);
        data[end ? (ROWS - 1) * LD + ROWS - 1 : 0] -= 1;
    }
    /* Only the stored triangle; with a unit diagonal, without it. */
    for (int stored = XG_UPPER; stored <= XG_LOWER; stored++)
        for (int unit = 0; unit < 2; unit++) {
            key.stored = (unsigned char)stored;
            key.unit = (unsigned char)unit;
            const uint64_t all = xg_table_fingerprint(&key, all_memory);
            for (int row = 0; row < ROWS; row++)
                for (int i = 0; i < ROWS; i++)
                    data[row * LD + i] +=
                        (stored == XG_UPPER ? i < row : i > row) || (unit && i == row);
            XT_CHECK(xg_table_fingerprint(&key, all_memory) == all, "triangle %d, unit %d", stored,
                     unit);
            for (int row = 0; row < ROWS; row++)
                for (int i = 0; i < ROWS; i++)
                    data[row * LD + i] += 1;
            XT_CHECK(xg_table_fingerprint(&key, all_memory) != all);
        }
    /* Shapes of one element, row and column; all types. */
    for (int type = 0; type < XG_TYPE_COUNT; type++) {
        static const int64_t shapes[][2] = {{1, 1}, {1, 100}, {100, 1}, {2, 2}};
        for (int i = 0; i < 4; i++) {
            double copy[2 * 100 * 100] = {0};
            struct xg_table_key small = {copy, shapes[i][0], shapes[i][1], 100,
                                         .type = (unsigned char)type};
            const uint64_t zeros = xg_table_fingerprint(&small, all_memory);
            memset(copy, 1, sizeof copy);
            XT_CHECK(xg_table_fingerprint(&small, all_memory) != zeros, "type %d, shape %d", type,
                     i);
        }
    }
}

/* --- Marks and rows -----------------------------------------------------------------------------
 */

/* Against the definition, byte by byte: which rows meet a stale page or an edge. */
static void check_rows(const struct xg_table_entry *entry)
{
    const struct xg_table_key *key = &entry->key;
    const uintptr_t begin = (uintptr_t)key->at, ld_bytes = (uintptr_t)key->ld * 4,
                    row_bytes = (uintptr_t)key->columns * 4;
    struct xg_table_rows rows = {0, 0};
    bool more = xg_table_stale_rows(&table, entry, &rows);
    for (int64_t row = 0; row < key->rows; row++) {
        bool lacks = false;
        for (uintptr_t at = begin + (uintptr_t)row * ld_bytes;
             at < begin + (uintptr_t)row * ld_bytes + row_bytes; at += 4) {
            const size_t page = (at - entry->pages.begin) / PAGE;
            lacks = lacks || at < entry->pages.begin || at >= entry->pages.end ||
                    (entry->copy->stale[page / 64] >> page % 64 & 1);
        }
        if (more && row == rows.first + rows.count)
            more = xg_table_stale_rows(&table, entry, &rows);
        bool said = more && row >= rows.first && row < rows.first + rows.count;
        XT_CHECK(said == lacks, "row %ld of %ld, ld %ld: %d", (long)row, (long)key->rows,
                 (long)key->ld, said);
    }
    if (more)
        XT_CHECK(!xg_table_stale_rows(&table, entry, &rows));
}

static void test_rows(void)
{
    for (int trial = 0; trial < 3000; trial++) {
        const int64_t columns = 1 + (int64_t)draw(trial % 3 ? 3000 : 100);
        const struct xg_table_key key =
            key_at(((uintptr_t)1 << 30) + 4 * draw(3000), 1 + (int64_t)draw(60), columns,
                   columns + (int64_t)draw(trial % 2 ? 20 : 4000));
        xg_table_init(&table, PAGE);
        struct xg_table_entry *entry = add(&key);
        struct xg_table_copy *copy = xg_table_copy_add(&table, entry);
        const size_t pages = (entry->pages.end - entry->pages.begin) / PAGE;
        XT_CHECK(copy->stale_pages == pages);
        check_rows(entry);
        xg_table_copy_clean(&table, entry);
        check_rows(entry);
        for (int marks = 0; marks < 4; marks++) {
            const uintptr_t at = ((uintptr_t)1 << 30) + draw(200) * PAGE;
            xg_table_mark(&table, (struct xg_pages_range){at, at + PAGE * (1 + draw(5))});
            size_t count = 0;
            for (size_t i = 0; i < pages; i++)
                count += copy->stale[i / 64] >> i % 64 & 1;
            XT_CHECK(count == copy->stale_pages, "%zu bits, not %zu", count, copy->stale_pages);
            check_rows(entry);
        }
        xg_table_copy_remove(entry);
    }
}

/* Marks reach every copy of every entry that has the page, and no other page. */
static void test_marks(void)
{
    const uintptr_t base = (uintptr_t)1 << 30;
    const struct xg_table_key keys[] = {
        key_at(base, 64, 1024, 1024), key_at(base + 8 * PAGE, 64, 1024, 1024),
        key_at(base, 32, 2048, 2048), key_at(base + 1000 * PAGE, 64, 1024, 1024)};
    xg_table_init(&table, PAGE);
    struct xg_table_entry *entries[4];
    for (int i = 0; i < 4; i++) {
        entries[i] = add(&keys[i]);
        entries[i]->credit.state = i != 1 ? XG_CREDIT_ARMED : XG_CREDIT_SEEN;
        XT_CHECK(xg_table_copy_add(&table, entries[i]));
        xg_table_copy_clean(&table, entries[i]);
    }
    xg_table_mark(&table, (struct xg_pages_range){base + 6 * PAGE, base + 11 * PAGE});
    static const size_t stale[] = {5, 3, 5, 0}, written[] = {5, 0, 5, 0};
    for (int i = 0; i < 4; i++) {
        XT_CHECK(entries[i]->written_pages == written[i], "entry %d: %zu", i,
                 entries[i]->written_pages);
        XT_CHECK(entries[i]->copy->stale_pages == stale[i], "entry %d: %zu", i,
                 entries[i]->copy->stale_pages);
    }
    /* What meets a range. */
    int met = 0;
    struct xg_table_entry *entry = NULL;
    while ((entry = xg_table_meeting(
                &table, (struct xg_pages_range){base + 3 * PAGE, base + 4 * PAGE}, entry)))
        met += entry == entries[0] || entry == entries[2] ? 1 : 100;
    XT_CHECK(met == 2, "%d", met);
    for (int i = 0; i < 4; i++)
        xg_table_copy_remove(entries[i]);
}

static void test_scouts(void)
{
    static const size_t sizes[] = {1, 5, 31, 32, 100, 1000, 16384, 16385, 40000, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct xg_table_key key =
            key_at(((uintptr_t)1 << 32) + 5 * PAGE, (int64_t)sizes[i], PAGE / 4, PAGE / 4);
        struct xg_pages_range block;
        uintptr_t last = 0;
        size_t pages = 0;
        xg_table_init(&table, PAGE);
        struct xg_table_entry *entry = add(&key);
        entry->credit.state = XG_CREDIT_SCOUTED;
        for (int b = 0; xg_table_armed(&table, entry, XG_CREDIT_SCOUTED, b, &block); b++) {
            XT_CHECK(block.begin % PAGE == 0 && block.begin >= last &&
                     block.begin >= entry->pages.begin && block.end <= entry->pages.end &&
                     block.begin < block.end);
            XT_CHECK(block.end - block.begin < (2 << 20) || block.begin % (2 << 20) == 0,
                     "whole huge pages");
            last = block.end;
            pages += (block.end - block.begin) / PAGE;
        }
        XT_CHECK(pages >= 1 && (pages == 1 || pages <= sizes[i] / 32), "%zu of %zu pages", pages,
                 sizes[i]);
        XT_CHECK(pages >= sizes[i] / 80, "%zu of %zu pages", pages, sizes[i]);
        /* Only the scout's pages count as written. */
        XT_CHECK(xg_table_written_share(&table, entry) == 0.0);
        xg_table_armed(&table, entry, XG_CREDIT_SCOUTED, 0, &block);
        xg_table_mark(&table, (struct xg_pages_range){block.begin, block.begin + PAGE});
        XT_CHECK(xg_table_written_share(&table, entry) == 1.0 / (double)pages);
        entry->written_pages = 0;
        xg_table_mark(&table, entry->pages);
        XT_CHECK(entry->written_pages == pages, "%zu of %zu", entry->written_pages, pages);
        xg_table_mark(&table, entry->pages);
        XT_CHECK(xg_table_written_share(&table, entry) == 1.0, "each page was written twice");
    }
}

int main(void)
{
    test_entries();
    test_fingerprints();
    test_rows();
    test_marks();
    test_scouts();
    return xt_done();
}
