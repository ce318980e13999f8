/* SPDX-License-Identifier: MIT */
/* A call of a LAPACK routine whose operands are in device memory. */
#ifndef XG_SOLVER_CALL_H
#define XG_SOLVER_CALL_H

#include "base/routine.h"
#include "device/dev.h"

/* One handle of cuSOLVER on one stream, for one thread at a time. */
struct xg_solver;

/* A column-major matrix in device memory. */
struct xg_solver_matrix {
    CUdeviceptr at;
    int64_t ld;
};

/*
 * A routine on the device. The operands lie as the routine's row says (enum xg_lies); those that
 * lie over or behind another one are not used. Also
 *
 * - GESDD has m >= n. It writes the right singular vectors as columns of V or, if it sets
 *   v_is_rows, as rows. A is undefined afterwards;
 * - GETRI's result is in A, whose address may have become that of spare;
 * - pivots are int64_t.
 */
struct xg_solver_call {
    const struct xg_routine *routine;
    int64_t m, n;
    struct xg_solver_matrix operand[XG_SLOT_COUNT];
    CUdeviceptr spare; /* xg_solver_spare_elems, or xg_gram_bytes */
    CUdeviceptr info;  /* XG_ROUTINE_STEPS ints */
    CUdeviceptr work;
    size_t work_bytes, host_bytes;
    void *host_work;
    struct xg_solver_block *block;
    double limit_s; /* of each wait; longer than the device takes, unless it hangs */
    bool by_qr;     /* GESDD: Xgesvdp is not tried */
    /* GESDD: called after Xgesvdp, before gesvd (deflation.h). NULL: none. */
    enum xg_status (*deflate)(struct xg_dev *dev, struct xg_solver *solver, CUstream stream,
                              struct xg_solver_call *call);
    bool v_is_rows;
    const char *kernel; /* set: what computes, for reports */
};

/* GESDD: the columns of U. */
static inline int64_t xg_solver_u_columns(const struct xg_solver_call *call)
{
    return call->routine->vectors == XG_VECTORS_ALL ? call->m : call->n;
}

/* Page-locked host memory that queued copies read and write; it must live as long as the stream.
 * GETRI of more than XG_SOLVER_ONES columns is declined. */
enum { XG_SOLVER_ONES = 1 << 17 };
struct xg_solver_block {
    int info[XG_ROUTINE_STEPS];
    double perturbation;             /* Xgesvdp's */
    double ones[2 * XG_SOLVER_ONES]; /* of the call's type */
};

#endif
