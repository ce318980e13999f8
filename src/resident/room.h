/* SPDX-License-Identifier: MIT */
/* The process's tracker, table and credit, which one lock guards, and the copies' device memory. */
#ifndef XG_ROOM_H
#define XG_ROOM_H

#include <pthread.h>

#include "device/mem.h"
#include "resident/credit.h"
#include "resident/table.h"
#include "resident/uffd.h"

/* The device's part of a copy: xg_table_copy.held. */
struct xg_room_memory {
    struct xg_dev *dev;
    struct xg_mem_dev memory;
    struct xg_room_memory *next; /* of those that are to be freed */
};

struct xg_room {
    pthread_mutex_t lock;
    struct xg_uffd uffd;
    struct xg_pages pages;
    struct xg_table table;
    struct xg_credit credit;
    bool opened;                 /* the tracker was tried */
    const char *untold;          /* why nothing is kept, until it is logged */
    struct xg_room_memory *free; /* of copies that are gone, for a thread with the context */
};

extern struct xg_room xg_room;

/* --- The lock -------------------------------------------------------------------------------- */

/* Nothing is kept, or no longer. Needs no lock; the first call prepares the room. */
bool xg_room_is_off(void);

/* No call of the driver between the two, and no lock of another module: it is held around fork. */
void xg_room_enter(void);
void xg_room_leave(void);

/* --- With the lock --------------------------------------------------------------------------- */

/* Opens the tracker (5 ms), or turns the room off. */
void xg_room_open(void);

/* The entry is no longer tracked; a copy in use ends with its last user. */
void xg_room_drop(struct xg_table_entry *entry);
void xg_room_drop_meeting(struct xg_pages_range range);

/* The same for all entries, for ever. why: a constant. */
void xg_room_stop(const char *why);

/* Drops what a result of arming or fetching the entry's pages says. True: DONE. */
bool xg_room_accept(struct xg_table_entry *entry, enum xg_pages_result result);

/* NULL: the device was closed. */
const struct xg_dev *xg_room_device_of(const struct xg_table_copy *copy);
void xg_room_remove_copy(struct xg_table_entry *entry);

/* Drops copies that are worth less until a quarter of the device's budget holds `bytes` more. */
bool xg_room_make(const struct xg_dev *dev, double gain_s, size_t bytes);

/* --- Without it, with the device's context --------------------------------------------------- */

/* Frees the memory of copies that are gone. */
void xg_room_free(struct xg_dev *dev);

/* Memory of copies that no call uses, and its return for other purposes: true if there was any, or
 * may be. */
size_t xg_room_idle_bytes(const struct xg_dev *dev);
bool xg_room_yield(struct xg_dev *dev);

/* The device is about to be closed; no call has a lane of it. Makes the context current itself. */
void xg_room_leave_device(struct xg_dev *dev);

#endif
