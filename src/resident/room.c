/* SPDX-License-Identifier: MIT */
#include "resident/room.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sandbox.h"
#include "device/mem.h"
#include "host/fork.h"
#include "resident/selftest.h"
#include "resident/uffd.h"

/* Copies may take this part of the device's budget. */
enum { BUDGET_SHARE = 4 };

static const struct xg_pages_range all_memory = {0, UINTPTR_MAX};

struct xg_room xg_room = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Nothing is kept any more, or ever was; may be read without the lock. */
static _Atomic bool off;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void close_in_child(void)
{
    if (xg_room.opened) /* its mappings are not tracked */
        atomic_store(&off, true);
    xg_pages_close_in_child(&xg_room.pages);
}

static void init(void)
{
    const struct xg_fork_watch watch = {.lock = &xg_room.lock, .in_child = close_in_child};
    xg_table_init(&xg_room.table, (size_t)sysconf(_SC_PAGESIZE));
    xg_credit_init(&xg_room.credit);
    if (!xg_fork_register(&watch))
        atomic_store(&off, true);
}

void xg_room_enter(void)
{
    pthread_mutex_lock(&xg_room.lock);
}

/* The log has a lock that is held around fork too. Two such locks must not be nested, so the reason
 * is logged when this one is free. */
void xg_room_leave(void)
{
    const char *why = xg_room.untold;
    xg_room.untold = NULL;
    pthread_mutex_unlock(&xg_room.lock);
    if (why)
        xg_log(XG_LOG_INFO, "no operand stays on the device: %s", why);
}

bool xg_room_is_off(void)
{
    pthread_once(&once, init);
    return atomic_load_explicit(&off, memory_order_relaxed) || xg_sandbox_closed();
}

/* --- Copies ---------------------------------------------------------------------------------- */

const struct xg_dev *xg_room_device_of(const struct xg_table_copy *copy)
{
    return copy->held ? ((const struct xg_room_memory *)copy->held)->dev : NULL;
}

static void give_back(struct xg_table_copy *copy)
{
    struct xg_room_memory *memory = copy->held;
    copy->held = NULL;
    if (!memory)
        return;
    memory->next = xg_room.free;
    xg_room.free = memory;
}

void xg_room_remove_copy(struct xg_table_entry *entry)
{
    give_back(entry->copy);
    xg_table_copy_remove(entry);
}

void xg_room_drop(struct xg_table_entry *entry)
{
    if (entry->credit.state != XG_CREDIT_SEEN) {
        xg_credit_dropped(&xg_room.credit, &entry->credit);
        xg_pages_disarm(&xg_room.pages, entry->pages);
    }
    entry->credit.run = 0;
    if (entry->copy && !entry->copy->users)
        xg_room_remove_copy(entry);
    else if (entry->copy)
        entry->copy->doomed = true;
}

void xg_room_drop_meeting(struct xg_pages_range range)
{
    for (struct xg_table_entry *entry = NULL;
         (entry = xg_table_meeting(&xg_room.table, range, entry));)
        xg_room_drop(entry);
}

void xg_room_stop(const char *why)
{
    xg_room_drop_meeting(all_memory);
    xg_pages_close(&xg_room.pages, why);
    atomic_store(&off, true);
    xg_room.untold = why;
}

bool xg_room_accept(struct xg_table_entry *entry, enum xg_pages_result result)
{
    if (result == XG_PAGES_FOREIGN)
        entry->credit.need = XG_CREDIT_NEVER;
    if (result == XG_PAGES_FOREIGN || result == XG_PAGES_CHANGED)
        xg_room_drop_meeting(entry->pages);
    else if (result == XG_PAGES_PINNED)
        xg_room_drop_meeting(all_memory);
    else if (result == XG_PAGES_GONE)
        xg_room_stop(xg_pages_result_text(result));
    return result == XG_PAGES_DONE;
}

void xg_room_open(void)
{
    xg_room.opened = true;
    if (xg_selftest_open(&xg_room.pages, &xg_uffd_system, &xg_room.uffd))
        return;
    atomic_store(&off, true);
    xg_room.untold = xg_room.pages.why;
}

/* --- Memory on the device ----------------------------------------------------------------------
 */

/* able: its context is current. Otherwise the memory ends with the context. */
static void free_gone(struct xg_dev *dev, bool able)
{
    struct xg_room_memory *mine = NULL;
    xg_room_enter();
    for (struct xg_room_memory **link = &xg_room.free; *link;) {
        struct xg_room_memory *memory = *link;
        if (memory->dev != dev) {
            link = &memory->next;
            continue;
        }
        *link = memory->next;
        memory->next = mine;
        mine = memory;
    }
    xg_room_leave();
    while (mine) {
        struct xg_room_memory *next = mine->next;
        if (able)
            xg_mem_dev_release(dev, &mine->memory);
        free(mine);
        mine = next;
    }
}

void xg_room_free(struct xg_dev *dev)
{
    free_gone(dev, true);
}

/* The next entry after `after` (NULL: the first) that the device has. */
static struct xg_table_entry *next_kept(const struct xg_dev *dev, struct xg_table_entry *after)
{
    while (xg_room.opened && (after = xg_table_meeting(&xg_room.table, all_memory, after)))
        if (after->copy && xg_room_device_of(after->copy) == dev)
            return after;
    return NULL;
}

/* The one that is worth least, of those that no call uses. */
static struct xg_table_entry *find_least(const struct xg_dev *dev, double *worth)
{
    struct xg_table_entry *least = NULL;
    for (struct xg_table_entry *entry = NULL; (entry = next_kept(dev, entry));) {
        const double its =
            xg_credit_worth(&xg_room.credit, &entry->credit, (double)xg_table_bytes(&entry->key));
        if (!entry->copy->users && (!least || its < *worth)) {
            least = entry;
            *worth = its;
        }
    }
    return least;
}

static size_t kept_bytes(const struct xg_dev *dev, bool idle)
{
    size_t bytes = 0;
    for (struct xg_table_entry *entry = NULL; (entry = next_kept(dev, entry));)
        if (!idle || !entry->copy->users)
            bytes += ((struct xg_room_memory *)entry->copy->held)->memory.bytes;
    return bytes;
}

bool xg_room_make(const struct xg_dev *dev, double gain_s, size_t bytes)
{
    const size_t share = dev->budget_bytes / BUDGET_SHARE;
    if (bytes > share)
        return false;
    while (kept_bytes(dev, false) + bytes > share) {
        double worth = 0.0;
        struct xg_table_entry *least = find_least(dev, &worth);
        if (!least || !xg_credit_displaces(gain_s, (double)bytes, worth))
            return false;
        xg_room_drop(least);
    }
    return true;
}

size_t xg_room_idle_bytes(const struct xg_dev *dev)
{
    xg_room_enter();
    const size_t bytes = kept_bytes(dev, true);
    xg_room_leave();
    return bytes;
}

bool xg_room_yield(struct xg_dev *dev)
{
    double worth = 0.0;
    xg_room_enter();
    for (struct xg_table_entry *entry; (entry = find_least(dev, &worth));)
        xg_room_drop(entry);
    const bool any = xg_room.free != NULL;
    xg_room_leave();
    xg_room_free(dev);
    return any;
}

void xg_room_leave_device(struct xg_dev *dev)
{
    int before;
    const bool able = !atomic_load(&dev->hung) && xg_dev_begin(dev, &before) == XG_OK;
    xg_room_enter();
    for (struct xg_table_entry *entry = NULL; (entry = next_kept(dev, entry));) {
        xg_room_drop(entry);
        if (entry->copy) /* of a call that waits for a lane, and gets none of this device */
            give_back(entry->copy);
    }
    xg_room_leave();
    free_gone(dev, able);
    if (able)
        xg_dev_end(dev, before);
}
