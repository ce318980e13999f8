/* SPDX-License-Identifier: MIT */
/* cuSOLVER: LAPACK's routines on matrices in device memory. Dlopened, never linked. */
#ifndef XG_SOLVER_H
#define XG_SOLVER_H

#include "base/routine.h"
#include "device/dev.h"

/* One handle of cuSOLVER on one stream, for one thread at a time. */
struct xg_solver;

/* A column-major matrix in device memory. */
struct xg_solver_matrix {
    CUdeviceptr at;
    int64_t ld;
};

enum { XG_SOLVER_STEPS = 3 };

/*
 * A routine on the device. The operands are those of the call, except that
 *
 * - SYEVD and SYGVD write their vectors over A, and U is not used;
 * - GEEV of a real A writes the imaginary parts behind the real ones, and WI is not used;
 * - GELSD and GELSS write R and the reflectors over A, as GELS does, and Qᴴ B over B. U and V are
 *   not used;
 * - GESDD has m >= n. It writes the right singular vectors as columns of V or, if it sets
 *   v_is_rows, as rows. A is undefined afterwards;
 * - GETRI's result is in A, whose address may have become that of spare;
 * - pivots are int64_t.
 */
struct xg_solver_call {
    const struct xg_routine *routine;
    int64_t m, n;
    struct xg_solver_matrix operand[XG_SLOT_COUNT];
    CUdeviceptr spare; /* xg_solver_spare_elems */
    CUdeviceptr info;  /* XG_SOLVER_STEPS ints */
    CUdeviceptr work;
    size_t work_bytes, host_bytes;
    void *host_work;
    struct xg_solver_block *block;
    bool by_qr; /* GESDD: Xgesvdp is not tried */
    /* GESDD: called after Xgesvdp, before gesvd (deflation.h). NULL: none. */
    enum xg_status (*deflate)(struct xg_dev *dev, struct xg_solver *solver, CUstream stream,
                              struct xg_solver_call *call);
    bool v_is_rows;
    const char *kernel; /* set: what computes, for reports */
};

/* Page-locked host memory that queued copies read and write; it must live as long as the stream.
 * GETRI of more than XG_SOLVER_ONES columns is declined. */
enum { XG_SOLVER_ONES = 1 << 17 };
struct xg_solver_block {
    int info[XG_SOLVER_STEPS];
    double perturbation;             /* Xgesvdp's */
    double ones[2 * XG_SOLVER_ONES]; /* of the call's type */
};

/* The number of elements of call->spare; 0: it is not used. The operands' leading dimensions must
 * be set. */
int64_t xg_solver_spare_elems(const struct xg_solver_call *call);

/*
 * Makes a handle (20 ms) on a stream of the device, whose context must be current, here and below.
 * *out is set only on XG_OK. Returns XG_OK; XG_ERR_NOTFOUND if there is no cuSOLVER; XG_ERR_NOMEM,
 * XG_ERR_DRIVER; XG_ERR_LOST once the driver has ended.
 */
enum xg_status xg_solver_create(struct xg_dev *dev, CUstream stream, struct xg_solver **out);
void xg_solver_destroy(struct xg_solver *solver);

/* The same if the context cannot be entered: it frees nothing that cuSOLVER holds. */
void xg_solver_forget(struct xg_solver *solver);

/*
 * Sets work_bytes and host_bytes, which the routine needs; the operands' leading dimensions must be
 * set, their addresses need not be. Returns XG_OK; XG_DECLINED for sizes or forms that cuSOLVER
 * does not take; XG_ERR_NOMEM, XG_ERR_DRIVER, XG_ERR_LOST.
 */
enum xg_status xg_solver_measure(struct xg_solver *solver, struct xg_solver_call *call);

/*
 * Computes the routine on the stream and waits for it. Returns XG_OK; XG_DECLINED if LAPACK's info
 * would not be 0 or cuSOLVER is not exact on this matrix: only device memory has changed; the
 * failures of xg_solver_measure.
 */
enum xg_status xg_solver_run(struct xg_dev *dev, struct xg_solver *solver,
                             struct xg_solver_call *call);

#endif
