/* SPDX-License-Identifier: MIT */
#include "resident/resident.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decide/plan.h"
#include "device/mem.h"
#include "resident/room.h"

/* --- Look ------------------------------------------------------------------------------------ */

/* A symmetric operand is completed as it is packed, so that a row that was written changes others:
 * it is sent. The triangle of TRMM and TRSM is kept as it was packed. The first and the last row
 * always travel, because they share pages with others. A single column would be padded there to
 * four times its size. */
static struct xg_table_key key_of(const struct xg_problem *problem, bool b)
{
    const struct xg_extent stored = xg_problem_stored(problem, b);
    const bool in_place = xg_problem_is_in_place(problem);
    const bool structured = problem->structured == (b ? XG_OPERAND_B : XG_OPERAND_A);
    struct xg_table_key key = {.at = b ? problem->b : problem->a,
                               .rows = stored.rows,
                               .columns = stored.columns,
                               .ld = b ? problem->ldb : problem->lda,
                               .type = problem->type};
    if (structured) {
        key.stored = (uint16_t)problem->stored;
        key.unit = problem->unit;
    }
    if (problem->batch || structured != in_place || (b && xg_problem_b_is_a(problem)) ||
        xg_table_bytes(&key) < XG_RESIDENT_FLOOR_BYTES || key.ld < key.columns || key.rows < 3 ||
        key.columns < 2)
        key.at = NULL;
    return key;
}

static struct xg_table_entry *entry_of_locked(const struct xg_table_key *key)
{
    struct xg_table_entry *entry = xg_table_see(&xg_room.table, key), *oldest;
    if (entry || !(oldest = xg_table_oldest(&xg_room.table)))
        return entry;
    xg_room_drop(oldest);
    xg_table_remove(&xg_room.table, oldest);
    return xg_table_see(&xg_room.table, key);
}

/* Of the pages wholly inside it: the bytes before and after them may change at any time. */
static uint64_t fingerprint(const struct xg_table_key *key)
{
    const size_t page_bytes = xg_room.table.page_bytes;
    return xg_table_fingerprint(key, xg_pages_inside(key->at, xg_table_bytes(key), page_bytes));
}

static void list_rows(const struct xg_table_entry *entry, struct xg_resident_operand *operand)
{
    struct xg_table_rows rows = {0, 0};
    int64_t left = entry->key.rows;
    operand->row_count = 0;
    while (xg_table_stale_rows(&xg_room.table, entry, &rows)) {
        if (operand->row_count == XG_RESIDENT_ROWS) { /* the last range takes all that follow */
            struct xg_table_rows *last = &operand->rows[XG_RESIDENT_ROWS - 1];
            left += last->count - (entry->key.rows - last->first);
            last->count = entry->key.rows - last->first;
            break;
        }
        operand->rows[operand->row_count++] = rows;
        left -= rows.count;
    }
    operand->held_elems = (double)left * (double)entry->key.columns;
}

/* Takes the entry's copy for this call if it is proved and, if rows are to be sent, unused. */
static void take_copy_locked(struct xg_table_entry *entry, struct xg_resident_operand *operand)
{
    struct xg_table_copy *copy = entry->copy;
    if (!copy || copy->doomed || copy->filling || (copy->stale_pages && copy->users))
        return;
    operand->copy = copy;
    operand->claimed = copy->stale_pages > 0;
    list_rows(entry, operand);
    copy->users++;
    copy->filling = operand->claimed;
    if (operand->claimed)
        xg_table_copy_clean(&xg_room.table, entry);
}

/* True if the copy was proved but some of its bytes are others: no kernel that we know does this.
 */
static bool is_disproved(const struct xg_table_entry *entry, const struct xg_credit_sight *sight)
{
    return entry->credit.state == XG_CREDIT_ARMED && sight->changed && entry->copy &&
           !entry->copy->stale_pages;
}

typedef enum xg_pages_result pages_step(struct xg_pages *, struct xg_pages_range, xg_pages_mark *,
                                        void *);

/* Arms the pages of this state, or fetches which were written. False: the entry was dropped. */
static bool each_locked(struct xg_table_entry *entry, enum xg_credit_state state, pages_step *step)
{
    struct xg_pages_range part;
    for (int i = 0; xg_table_armed(&xg_room.table, entry, state, i, &part); i++)
        if (!xg_room_accept(entry, step(&xg_room.pages, part, xg_table_mark, &xg_room.table)))
            return false;
    return true;
}

static void look_at_locked(struct xg_problem *problem, int b, uint64_t now)
{
    struct xg_resident_operand *operand = &problem->resident->operand[b];
    struct xg_table_entry *entry = entry_of_locked(&operand->key);
    if (!entry) {
        operand->key.at = NULL;
        return;
    }
    const bool lost = !each_locked(entry, entry->credit.state, xg_pages_fetch);
    operand->sight.written = xg_table_written_share(&xg_room.table, entry);
    entry->written_pages = 0;
    operand->sight.changed = entry->fingerprint && now != entry->fingerprint;
    if (!lost && is_disproved(entry, &operand->sight))
        xg_room_stop("an operand changed without notice of the kernel");
    else if (!lost)
        take_copy_locked(entry, operand);
    entry->fingerprint = now;
    problem->held[b] = operand->held_elems;
    problem->unchanged[b] = xg_credit_unchanged(&entry->credit, &operand->sight);
    problem->spare_s[b] = xg_credit_spare_s(&xg_room.credit, &entry->credit, &operand->sight);
}

/* C is about to be written: pages that are tracked would fault, one by one. */
static void drop_result_locked(const struct xg_problem *problem)
{
    const uintptr_t begin = (uintptr_t)problem->c;
    const size_t elems = (size_t)((problem->m - 1) * problem->ldc + problem->n);
    const struct xg_pages_range c = {begin, begin + elems * xg_problem_elem_bytes(problem)};
    xg_room_drop_meeting(c);
}

void xg_resident_look(struct xg_resident_call *call, struct xg_problem *problem, bool trusted)
{
    const int saved_errno = errno;
    *call = (struct xg_resident_call){0};
    if (xg_room_is_off())
        return;
    problem->resident = call;
    uint64_t now[2] = {0};
    for (int b = 0; b < 2; b++) {
        call->operand[b].key = key_of(problem, b);
        /* Without the lock: a handler of the program may fill these pages, or leave the call. */
        if (call->operand[b].key.at)
            now[b] = fingerprint(&call->operand[b].key);
    }
    call->shared =
        !memcmp(&call->operand[0].key, &call->operand[1].key, sizeof call->operand[0].key);
    if (call->shared)
        call->operand[1].key.at = NULL;
    xg_room_enter();
    if (trusted)
        xg_credit_trust(&xg_room.credit);
    drop_result_locked(problem);
    for (int b = 0; b < 2 && !xg_room_is_off(); b++)
        if (call->operand[b].key.at)
            look_at_locked(problem, b, now[b]);
    problem->loan_s = xg_credit_loan_s(&xg_room.credit);
    xg_room_leave();
    if (call->shared) {
        problem->held[1] = problem->held[0];
        problem->unchanged[1] = problem->unchanged[0];
        problem->spare_s[1] = problem->spare_s[0];
    }
    errno = saved_errno;
}

/* --- Settle ---------------------------------------------------------------------------------- */

/* The call no longer uses its copy. sent: all rows that the copy lacked are on the device. */
static void let_go_locked(struct xg_resident_operand *operand, bool sent)
{
    struct xg_table_copy *copy = operand->copy;
    if (!copy)
        return;
    struct xg_table_entry *entry = xg_table_find(&xg_room.table, &operand->key);
    if (operand->claimed)
        copy->filling = false;
    if (operand->claimed && !sent)
        xg_table_copy_stale(&xg_room.table, entry);
    copy->users--;
    if (copy->doomed && !copy->users)
        xg_room_remove_copy(entry);
    operand->copy = NULL;
    operand->claimed = false;
}

/* The costs depend on whether the pages are huge, which they may become later. Finding out takes a
 * scan, so it is done after 1, 2, 4, 8 ... uses without a change, and while no cost is known. */
static void set_costs_locked(struct xg_table_entry *entry)
{
    const struct xg_credit_item *item = &entry->credit;
    const bool again = (item->run & (item->run - 1)) == 0 || !(item->miss_s > 0.0);
    if (!xg_room.opened || item->state == XG_CREDIT_ARMED || item->need == XG_CREDIT_NEVER ||
        item->run + 1 < XG_CREDIT_NEED || !again)
        return;
    entry->huge = xg_pages_are_huge(&xg_room.pages, entry->pages);
    const struct xg_pages_costs *costs = &xg_room.pages.costs[entry->huge];
    const double pages =
        (double)((entry->pages.end - entry->pages.begin) / xg_room.table.page_bytes);
    xg_credit_set_costs(&xg_room.credit, &entry->credit, pages * costs->arm_s,
                        pages * costs->disarm_s, pages * costs->write_s);
}

static bool arm_locked(struct xg_table_entry *entry, enum xg_credit_state state)
{
    if (!each_locked(entry, state, xg_pages_arm))
        return false;
    entry->written_pages = 0;
    xg_credit_armed(&xg_room.credit, &entry->credit, state);
    return true;
}

static void scout_locked(struct xg_table_entry *entry)
{
    if (arm_locked(entry, XG_CREDIT_SCOUTED))
        return;
    xg_credit_postpone(&entry->credit);
    xg_pages_disarm(&xg_room.pages, entry->pages);
}

/* A call on the CPU also opens the tracker and scouts, so that a start is paid for, and a call
 * leaves the CPU, only for an operand that can be tracked. */
static void settle_locked(struct xg_resident_operand *operand, bool on_gpu)
{
    struct xg_table_entry *entry = xg_table_find(&xg_room.table, &operand->key);
    const double elems = (double)operand->key.rows * (double)operand->key.columns;
    if (!entry)
        return;
    operand->sight.gain_s = operand->gain_s;
    if (operand->copy) /* rows that travel save nothing */
        operand->sight.gain_s *= operand->held_elems / elems;
    if (entry->credit.state == XG_CREDIT_ARMED && !on_gpu)
        operand->sight.gain_s = 0.0;
    set_costs_locked(entry);
    const bool tracked = entry->credit.state != XG_CREDIT_SEEN;
    const enum xg_credit_advice advice =
        xg_credit_use(&xg_room.credit, &entry->credit, &operand->sight);
    if (tracked && entry->credit.state == XG_CREDIT_SEEN)
        xg_pages_disarm(&xg_room.pages, entry->pages); /* the look has armed them again */
    const bool gains = operand->gain_s > 0.0;
    if (advice == XG_CREDIT_DROP || !on_gpu)
        let_go_locked(operand, false);
    if (advice == XG_CREDIT_DROP)
        xg_room_drop(entry);
    else if (advice == XG_CREDIT_SCOUT && gains && xg_room.opened)
        scout_locked(entry);
    else if (advice == XG_CREDIT_SCOUT && gains)
        xg_room_open();
    else if (advice == XG_CREDIT_ARM && gains && on_gpu && !entry->copy)
        operand->keep = true;
}

void xg_resident_settle(struct xg_resident_call *call, const double gain_s[2], bool on_gpu)
{
    const int saved_errno = errno;
    xg_room_enter();
    for (int b = 0; b < 2; b++) {
        struct xg_resident_operand *operand = &call->operand[b];
        operand->gain_s = fmax(0.0, gain_s[b]);
        if (operand->key.at && !xg_room_is_off())
            settle_locked(operand, on_gpu);
    }
    xg_room_leave();
    errno = saved_errno;
}

/* --- Begin ----------------------------------------------------------------------------------- */

/* Devices write to memory that CUDA knows. Registered parts are looked for at steps. */
static bool is_known(const struct xg_dev *dev, const struct xg_table_key *key)
{
    enum { STEPS = 64 };
    const size_t bytes = xg_table_bytes(key);
    for (int i = 0; i <= STEPS; i++)
        if (xg_mem_is_known(dev, (const char *)key->at + (bytes - 1) / STEPS * (size_t)i))
            return true;
    return xg_mem_is_known(dev, (const char *)key->at + bytes - 1);
}

/* Arms the operand and gives it the memory. False: it is sent as ever. */
static bool fill_locked(struct xg_resident_operand *operand, struct xg_room_memory *memory)
{
    struct xg_table_entry *entry = xg_table_find(&xg_room.table, &operand->key);
    struct xg_table_copy *copy;
    if (!entry || entry->copy || entry->credit.state == XG_CREDIT_ARMED || xg_room_is_off() ||
        !(copy = xg_table_copy_add(&xg_room.table, entry)))
        return false;
    if (!arm_locked(entry, XG_CREDIT_ARMED)) {
        xg_table_copy_remove(entry);
        return false;
    }
    copy->held = memory;
    xg_table_copy_clean(&xg_room.table, entry);
    copy->users = 1;
    copy->filling = true;
    operand->copy = copy;
    operand->claimed = true;
    operand->rows[0] = (struct xg_table_rows){0, entry->key.rows};
    operand->row_count = 1;
    return true;
}

static bool fill(struct xg_dev *dev, struct xg_resident_operand *operand)
{
    const struct xg_table_key *key = &operand->key;
    const size_t elems = xg_plan_matrix_elems(key->rows, xg_plan_ld(key->columns));
    const size_t bytes = elems * xg_type_bytes(key->type);
    xg_room_enter();
    bool filled = xg_room_make(dev, operand->gain_s, bytes);
    xg_room_leave();
    xg_room_free(dev);
    struct xg_room_memory *memory = filled ? calloc(1, sizeof *memory) : NULL;
    if (!memory || xg_mem_dev_reserve(dev, &memory->memory, bytes) != XG_OK) {
        free(memory);
        return false;
    }
    memory->dev = dev;
    xg_room_enter();
    filled = fill_locked(operand, memory);
    xg_room_leave();
    if (!filled) {
        xg_mem_dev_release(dev, &memory->memory);
        free(memory);
    }
    return filled;
}

/* Devices may write to it. */
static void refuse(struct xg_resident_operand *operand)
{
    xg_room_enter();
    struct xg_table_entry *entry = xg_table_find(&xg_room.table, &operand->key);
    if (entry) {
        entry->credit.need = XG_CREDIT_NEVER;
        xg_room_drop(entry);
    }
    let_go_locked(operand, false);
    xg_room_leave();
}

/* There is no memory for it, or it could not be armed. */
static void postpone(const struct xg_resident_operand *operand)
{
    xg_room_enter();
    struct xg_table_entry *entry = xg_table_find(&xg_room.table, &operand->key);
    if (entry && !entry->copy)
        xg_credit_postpone(&entry->credit);
    xg_room_leave();
}

static void let_go_elsewhere(const struct xg_dev *dev, struct xg_resident_operand *operand)
{
    xg_room_enter();
    if (xg_room_device_of(operand->copy) != dev)
        let_go_locked(operand, false);
    xg_room_leave();
}

static void begin(struct xg_dev *dev, struct xg_resident_operand *operand)
{
    if (operand->copy)
        let_go_elsewhere(dev, operand);
    const bool keep = operand->keep;
    operand->keep = false;
    if (!keep && !operand->claimed) /* the kernel writes to pages that the driver registers */
        return;
    if (is_known(dev, &operand->key))
        refuse(operand);
    else if (keep && !fill(dev, operand))
        postpone(operand);
}

void xg_resident_begin(struct xg_dev *dev, struct xg_resident_call *call)
{
    for (int b = 0; b < 2; b++)
        begin(dev, &call->operand[b]);
}

const struct xg_resident_operand *xg_resident_stays(const struct xg_resident_call *call, bool b)
{
    const struct xg_resident_operand *operand = &call->operand[call->shared ? 0 : b];
    return operand->copy ? operand : NULL;
}

CUdeviceptr xg_resident_at(const struct xg_resident_operand *operand)
{
    return ((const struct xg_room_memory *)operand->copy->held)->memory.ptr;
}

/* --- End ------------------------------------------------------------------------------------- */

void xg_resident_give_up(struct xg_resident_call *call)
{
    xg_room_enter();
    for (int b = 0; b < 2; b++) {
        struct xg_resident_operand *operand = &call->operand[b];
        struct xg_table_entry *entry = xg_table_find(&xg_room.table, &operand->key);
        if (entry && entry->copy)
            xg_credit_postpone(&entry->credit);
        if (entry)
            xg_room_drop(entry);
        let_go_locked(operand, false);
    }
    xg_room_leave();
}

void xg_resident_release(struct xg_resident_call *call, bool sent)
{
    xg_room_enter();
    for (int b = 0; b < 2; b++)
        let_go_locked(&call->operand[b], sent);
    xg_room_leave();
}

void xg_resident_end(struct xg_resident_call *call, double took_s, double saved_s, double lost_s)
{
    const int saved_errno = errno;
    xg_room_enter();
    for (int b = 0; b < 2; b++)
        let_go_locked(&call->operand[b], false);
    xg_credit_call(&xg_room.credit, took_s, saved_s, lost_s);
    xg_room_leave();
    errno = saved_errno;
}
