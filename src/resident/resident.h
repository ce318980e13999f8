/* SPDX-License-Identifier: MIT */
/* The operands that stay on a device: what a call finds there, and what it leaves there. */
/*
 * A call of BLAS goes through look, settle, begin, release and end, in this order and on one
 * thread; one that stays on the CPU through look, settle and end. dispatch.c calls look, settle and
 * end; pipeline/pipeline.c calls begin and release, or give_up. Between look and release its
 * copies on the device can neither be freed nor overwritten by others. An operand is kept as a
 * whole matrix, laid out as a resident plan has it (xg_plan_ld), whatever its role, the other
 * operand, and the transposes. A copy is used only if its pages are proved unchanged, and only by
 * the device that has it; rows that were written are sent again. After any trouble the operand
 * travels as ever: nothing here can fail a call.
 *
 * XGEMM_RESIDENT=off turns it off. It opens at the first operand that is seen unchanged (5 ms) and
 * stays off where pages cannot be tracked; doc/explanation/residency.md says where.
 *
 * From any thread. One lock is held over a fetch or arming and the marks that it makes; no call of
 * the driver is made under it.
 */
#ifndef XG_RESIDENT_H
#define XG_RESIDENT_H

#include "base/problem.h"
#include "device/dev.h"
#include "resident/credit.h"
#include "resident/table.h"

/* An operand below this is always sent: its call is short, and it shares its pages with others. A
 * GEMV has a higher floor, XG_TUNING_FLOOR_BYTES (decide/tuning.h). */
enum { XG_RESIDENT_FLOOR_BYTES = 1 << 20 };

/* Before the GPU has started, calls with operands below this in all are not looked at: hundreds
 * would have to be before their way paid for a start, and each look takes microseconds. */
enum { XG_RESIDENT_BEFORE_BYTES = 16 << 20 };

/* More ranges of rows than this are sent as one. */
enum { XG_RESIDENT_ROWS = 32 };

/* The operands A and B of one call. */
struct xg_resident_call {
    struct xg_resident_operand {
        struct xg_table_key key;    /* at == NULL: it is never kept */
        bool keep;                  /* from settle to begin, which then makes a copy */
        struct xg_table_copy *copy; /* this call's, from look on; NULL: all of it is sent */
        bool claimed;               /* no other call uses the copy until these rows were sent */
        struct xg_table_rows rows[XG_RESIDENT_ROWS]; /* that the copy lacks, ascending */
        int row_count;
        double held_elems; /* of the others */
        double gain_s;     /* saved if all of it is held */
        struct xg_credit_sight sight;
    } operand[2];
    bool shared; /* B is the same matrix as A and takes A's place; of B nothing else is set */
};

/* Finds the call's operands, proves the copies and sets problem->resident and loan_s, and of the
 * operands that it looks at held, unchanged and spare_s, which are 0 before. Pages of a copy that C
 * overwrites are no longer tracked. trusted: earlier runs of the program promise a gain. */
void xg_resident_look(struct xg_resident_call *call, struct xg_problem *problem, bool trusted);

/* The call was decided. gain_s: what each operand would save if the device held all of it, or
 * saves now. If the call stays on the CPU, it needs its copies no longer. */
void xg_resident_settle(struct xg_resident_call *call, const double gain_s[2], bool on_gpu);

/* The device was chosen: arms and reserves what is to be kept there. The device's context is
 * current. */
void xg_resident_begin(struct xg_dev *dev, struct xg_resident_call *call);

/* The operand, if it has a copy, and where that is; NULL: it is sent into the plan's memory.
 * After begin. */
const struct xg_resident_operand *xg_resident_stays(const struct xg_resident_call *call, bool b);
CUdeviceptr xg_resident_at(const struct xg_resident_operand *operand);

/* The call no longer uses the copies; sent: all rows that they lacked are on the device. Nothing
 * between begin and this may leave the call. */
void xg_resident_release(struct xg_resident_call *call, bool sent);

/* The same for a call that cannot use the copies, or whose result was wrong: they go. */
void xg_resident_give_up(struct xg_resident_call *call);

/* The call has ended. took_s: its time; saved_s: what the GPU saved of the CPU's; lost_s: by how
 * much a call was slower that went there only to leave an operand. */
void xg_resident_end(struct xg_resident_call *call, double took_s, double saved_s, double lost_s);

#endif
