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

struct xg_room xg_room = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Nothing is kept any more, or ever was; may be read without the lock. */
static _Atomic bool off;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void close_in_child(void)
{
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

/* The log has a lock of its own that is held around fork, so nothing is told under this one. */
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
    return ((const struct xg_room_memory *)copy->held)->dev;
}

void xg_room_remove_copy(struct xg_table_entry *entry, struct xg_table_copy *copy)
{
    struct xg_room_memory *memory = copy->held;
    memory->next = xg_room.free;
    xg_room.free = memory;
    xg_table_copy_remove(entry, copy);
}

/* The entry is no longer tracked; copies in use end with their last user. */
void xg_room_drop(struct xg_table_entry *entry)
{
    if (entry->credit.armed || entry->credit.scouted) {
        xg_credit_dropped(&xg_room.credit, &entry->credit);
        xg_pages_disarm(&xg_room.pages, entry->pages);
    }
    entry->credit.run = 0;
    for (struct xg_table_copy *copy = entry->copies, *next; copy; copy = next) {
        next = copy->next;
        copy->doomed = true;
        if (!copy->users)
            xg_room_remove_copy(entry, copy);
    }
}

static void drop_meeting(struct xg_pages_range range)
{
    for (struct xg_table_entry *entry = NULL;
         (entry = xg_table_meeting(&xg_room.table, range, entry));)
        xg_room_drop(entry);
}

/* For ever. */
void xg_room_stop(const char *why)
{
    drop_meeting((struct xg_pages_range){0, UINTPTR_MAX});
    xg_pages_close(&xg_room.pages, why);
    atomic_store(&off, true);
    xg_room.untold = why;
}

/* Drops what a result of arming or fetching says. True: DONE. */
bool xg_room_accept(struct xg_table_entry *entry, enum xg_pages_result result)
{
    if (result == XG_PAGES_FOREIGN)
        entry->credit.need = XG_CREDIT_NEVER;
    if (result == XG_PAGES_FOREIGN || result == XG_PAGES_CHANGED)
        drop_meeting(entry->pages);
    else if (result == XG_PAGES_PINNED)
        drop_meeting((struct xg_pages_range){0, UINTPTR_MAX});
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

/* Frees the memory of the device's copies that are gone. */
void xg_room_free(struct xg_dev *dev)
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
        xg_mem_dev_release(dev, &mine->memory);
        free(mine);
        mine = next;
    }
}

/* The kept copy of the device that is worth least and that no call uses. */
static struct xg_table_entry *find_least(const struct xg_dev *dev, double *worth)
{
    struct xg_table_entry *least = NULL;
    if (!xg_room.opened)
        return NULL;
    for (struct xg_table_entry *entry = NULL;
         (entry =
              xg_table_meeting(&xg_room.table, (struct xg_pages_range){0, UINTPTR_MAX}, entry));) {
        const struct xg_table_copy *copy = entry->copies;
        if (!copy || copy->users || copy->filling || xg_room_device_of(copy) != dev)
            continue;
        const double its =
            xg_credit_worth(&xg_room.credit, &entry->credit, (double)xg_table_bytes(&entry->key));
        if (!least || its < *worth) {
            least = entry;
            *worth = its;
        }
    }
    return least;
}

static size_t kept_bytes(const struct xg_dev *dev, bool idle)
{
    size_t bytes = 0;
    if (!xg_room.opened)
        return 0;
    for (struct xg_table_entry *entry = NULL;
         (entry =
              xg_table_meeting(&xg_room.table, (struct xg_pages_range){0, UINTPTR_MAX}, entry));)
        for (struct xg_table_copy *copy = entry->copies; copy; copy = copy->next)
            if (xg_room_device_of(copy) == dev && !(idle && (copy->users || copy->filling)))
                bytes += ((struct xg_room_memory *)copy->held)->memory.bytes;
    return bytes;
}

/* Displaces copies that are worth less until the device's share holds `bytes` more. */
bool xg_room_make(const struct xg_dev *dev, double gain_s, size_t bytes)
{
    while (kept_bytes(dev, false) + bytes > dev->budget_bytes / BUDGET_SHARE) {
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

/* True if there is memory to free. */
static bool drop_idle(struct xg_dev *dev)
{
    double worth = 0.0;
    xg_room_enter();
    for (struct xg_table_entry *entry; (entry = find_least(dev, &worth));)
        xg_room_drop(entry);
    const bool any = xg_room.free != NULL;
    xg_room_leave();
    return any;
}

bool xg_room_yield(struct xg_dev *dev)
{
    const bool any = drop_idle(dev);
    xg_room_free(dev);
    return any;
}

void xg_room_leave_device(struct xg_dev *dev)
{
    int before;
    if (atomic_load(&dev->hung) || xg_dev_begin(dev, &before) != XG_OK) {
        drop_idle(dev); /* its memory is lost */
        return;
    }
    xg_room_yield(dev);
    xg_dev_end(dev, before);
}

const char *xg_room_why_not(void)
{
    if (!atomic_load(&off))
        return NULL;
    return xg_room.pages.why ? xg_room.pages.why : "this process cannot track its memory";
}
