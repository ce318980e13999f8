/* SPDX-License-Identifier: MIT */
/* The steps of LAPACK's routines: each is one function of cuSOLVER. Only solver.c uses them. */
#ifndef XG_SOLVER_STEPS_H
#define XG_SOLVER_STEPS_H

#include "compute/lu.h"
#include "compute/qr.h"
#include "compute/solver_call.h"
#include "compute/solver_library.h"

struct xg_solver {
    xg_solver_handle handle;
    xg_solver_params params;
    CUstream stream;
    CUevent done;                      /* behind the work of xg_solver_wait */
    CUfunction mirrors[XG_TYPE_COUNT]; /* NULL: cuSOLVER factorizes an upper triangle itself */
    struct xg_lu lus[XG_TYPE_COUNT];
    struct xg_qr qrs[XG_TYPE_COUNT];
};

/* A step returns a result of cuSOLVER. The library distinguishes these. */
enum {
    XG_SOLVER_SUCCESS = 0,
    XG_SOLVER_ALLOC_FAILED = 2,
    XG_SOLVER_INVALID_VALUE = 3,
    XG_SOLVER_NOT_SUPPORTED = 9
};

/* The arguments of a step; info: where its info goes. */
struct xg_solver_step {
    const struct xg_solver *solver;
    struct xg_solver_call *call;
    size_t *device_bytes, *host_bytes; /* set by a step that is measured; NULL: it runs */
    void *info;
};

typedef int xg_solver_function(const struct xg_solver_step *);

/* The extra matrix that a step needs, which solver.c fills before the step (solver_spare.h). */
enum xg_spare { XG_SPARE_NONE, XG_SPARE_COPY, XG_SPARE_UNIT, XG_SPARE_TRIANGLE };

/* Our kernels, which solver.c tries before cuSOLVER's function. */
enum xg_ours { XG_OURS_NONE, XG_OURS_LU, XG_OURS_QR };

/* A step. */
struct xg_solver_row {
    xg_solver_function *function;
    bool ints; /* of cuSOLVER's older interface, whose sizes are int */
    enum xg_spare spare;
    enum xg_ours ours;
    bool mirrored; /* computes an upper triangle by way of the lower one (mirror.h) */
};
extern const struct xg_solver_row xg_solver_rows[XG_STEP_COUNT];

/* Whether potrf factorizes the lower triangle instead of the upper one (mirror_sm75.cu). */
bool xg_solver_is_mirrored(const struct xg_solver *solver, const struct xg_solver_call *call);

#endif
