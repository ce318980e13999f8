/* SPDX-License-Identifier: MIT */
#include "compute/solver_steps.h"

#include <limits.h>

/* The values of cuSOLVER's enumerations. */
enum { FILL_LOWER = 0, FILL_UPPER = 1 };
enum { SIDE_LEFT = 0, SIDE_RIGHT = 1 };
enum { DIAG_GIVEN = 0, DIAG_UNIT = 1 };
enum { OP_N = 0, OP_T = 1, OP_C = 2 };
enum { NO_VECTORS = 0, VECTORS = 1 };

/* cudaDataType of a type's elements. */
static const int data_types[XG_TYPE_COUNT] = {
    [XG_TYPE_S] = 0, [XG_TYPE_D] = 1, [XG_TYPE_C] = 4, [XG_TYPE_Z] = 5};

/* --- Arguments ------------------------------------------------------------------------------- */

static void *at(const struct xg_solver_step *step, enum xg_slot slot)
{
    return (void *)(uintptr_t)step->call->operand[slot].at;
}

static int64_t ld(const struct xg_solver_step *step, enum xg_slot slot)
{
    return step->call->operand[slot].ld;
}

static void *work(const struct xg_solver_step *step)
{
    return (void *)(uintptr_t)step->call->work;
}

static int data_type(const struct xg_solver_step *step)
{
    return data_types[step->call->routine->type];
}

static int real_type(const struct xg_solver_step *step)
{
    return data_types[xg_type_real(step->call->routine->type)];
}

static int fill(const struct xg_solver_step *step)
{
    return step->call->routine->uplo == XG_LOWER ? FILL_LOWER : FILL_UPPER;
}

static int mode(const struct xg_solver_step *step)
{
    return step->call->routine->vectors == XG_VECTORS_NONE ? NO_VECTORS : VECTORS;
}

/* The older interface counts in elements, and in int. */
static int work_elems(const struct xg_solver_step *step)
{
    size_t elems = step->call->work_bytes / xg_type_bytes(step->call->routine->type);
    return elems < INT_MAX ? (int)elems : INT_MAX;
}

static int take_elems(const struct xg_solver_step *step, int result, int elems)
{
    *step->device_bytes = (size_t)elems * xg_type_bytes(step->call->routine->type);
    return result;
}

/* Raises the workspace to what our kernels need. */
static void at_least(const struct xg_solver_step *step, size_t bytes)
{
    if (*step->device_bytes < bytes)
        *step->device_bytes = bytes;
}

bool xg_solver_is_mirrored(const struct xg_solver *solver, const struct xg_solver_call *call)
{
    return call->routine->uplo == XG_UPPER && solver->mirrors[call->routine->type];
}

/* The older interface's functions of a triangle. */
typedef int triangle_size(xg_solver_handle, int, int, xg_solver_in, int, int *);
typedef int triangle_function(xg_solver_handle, int, int, xg_solver_inout, int, xg_solver_inout,
                              int, xg_solver_inout);

static int on_triangle(const struct xg_solver_step *s, int triangle, triangle_size *size,
                       triangle_function *function)
{
    xg_solver_handle handle = s->solver->handle;
    int n = (int)s->call->n, lda = (int)ld(s, XG_SLOT_A), elems = 0;
    if (!s->device_bytes)
        return function(handle, triangle, n, at(s, XG_SLOT_A), lda, work(s), work_elems(s),
                        s->info);
    int result = size(handle, triangle, n, at(s, XG_SLOT_A), lda, &elems);
    return take_elems(s, result, elems);
}

/* At 4096, in double precision, cuSOLVER 12's Xpotrf takes 2.5 times the time of this function. */
static int potrf(const struct xg_solver_step *s)
{
    enum xg_type type = s->call->routine->type;
    return on_triangle(s, xg_solver_is_mirrored(s->solver, s->call) ? FILL_LOWER : fill(s),
                       xg_solver_functions.potrf_size[type], xg_solver_functions.potrf[type]);
}

static int potrs(const struct xg_solver_step *s)
{
    const struct xg_solver *v = s->solver;
    int type = data_type(s);
    if (s->device_bytes)
        return XG_SOLVER_SUCCESS;
    return xg_solver_functions.potrs(v->handle, v->params, fill(s), s->call->n, s->call->routine->k,
                                     type, at(s, XG_SLOT_A), ld(s, XG_SLOT_A), type,
                                     at(s, XG_SLOT_B), ld(s, XG_SLOT_B), s->info);
}

static int potri(const struct xg_solver_step *s)
{
    enum xg_type type = s->call->routine->type;
    return on_triangle(s, fill(s), xg_solver_functions.potri_size[type],
                       xg_solver_functions.potri[type]);
}

static int trtri(const struct xg_solver_step *s)
{
    xg_solver_handle handle = s->solver->handle;
    int diag = s->call->routine->unit ? DIAG_UNIT : DIAG_GIVEN;
    if (!xg_solver_functions.trtri_size || !xg_solver_functions.trtri)
        return XG_SOLVER_NOT_SUPPORTED;
    if (s->device_bytes)
        return xg_solver_functions.trtri_size(handle, fill(s), diag, s->call->n, data_type(s),
                                              at(s, XG_SLOT_A), ld(s, XG_SLOT_A), s->device_bytes,
                                              s->host_bytes);
    return xg_solver_functions.trtri(
        handle, fill(s), diag, s->call->n, data_type(s), at(s, XG_SLOT_A), ld(s, XG_SLOT_A),
        work(s), s->call->work_bytes, s->call->host_work, s->call->host_bytes, s->info);
}

static int getrf(const struct xg_solver_step *s)
{
    const struct xg_solver *v = s->solver;
    int type = data_type(s);
    if (s->device_bytes) {
        int result = xg_solver_functions.getrf_size(v->handle, v->params, s->call->m, s->call->n,
                                                    type, at(s, XG_SLOT_A), ld(s, XG_SLOT_A), type,
                                                    s->device_bytes, s->host_bytes);
        at_least(s, XG_LU_WORK_BYTES);
        return result;
    }
    return xg_solver_functions.getrf(v->handle, v->params, s->call->m, s->call->n, type,
                                     at(s, XG_SLOT_A), ld(s, XG_SLOT_A), at(s, XG_SLOT_PIVOTS),
                                     type, work(s), s->call->work_bytes, s->call->host_work,
                                     s->call->host_bytes, s->info);
}

static int operation_of(enum xg_trans trans)
{
    return trans == XG_CONJ_TRANS ? OP_C : trans == XG_TRANS ? OP_T : OP_N;
}

static int getrs(const struct xg_solver_step *s)
{
    const struct xg_solver *v = s->solver;
    int type = data_type(s);
    if (s->device_bytes)
        return XG_SOLVER_SUCCESS;
    return xg_solver_functions.getrs(v->handle, v->params, operation_of(s->call->routine->trans),
                                     s->call->n, s->call->routine->k, type, at(s, XG_SLOT_A),
                                     ld(s, XG_SLOT_A), at(s, XG_SLOT_PIVOTS), type,
                                     at(s, XG_SLOT_B), ld(s, XG_SLOT_B), s->info);
}

/* Solves A X = 1, which prepare has put into spare. */
static int getri(const struct xg_solver_step *s)
{
    const struct xg_solver *v = s->solver;
    struct xg_solver_call *call = s->call;
    int type = data_type(s);
    if (s->device_bytes)
        return XG_SOLVER_SUCCESS;
    int result = xg_solver_functions.getrs(
        v->handle, v->params, OP_N, call->n, call->n, type, at(s, XG_SLOT_A), ld(s, XG_SLOT_A),
        at(s, XG_SLOT_PIVOTS), type, (void *)(uintptr_t)call->spare, ld(s, XG_SLOT_A), s->info);
    CUdeviceptr factors = call->operand[XG_SLOT_A].at;
    call->operand[XG_SLOT_A].at = call->spare;
    call->spare = factors;
    return result;
}

static int geqrf(const struct xg_solver_step *s)
{
    const struct xg_solver *v = s->solver;
    int type = data_type(s);
    if (s->device_bytes) {
        int result = xg_solver_functions.geqrf_size(
            v->handle, v->params, s->call->m, s->call->n, type, at(s, XG_SLOT_A), ld(s, XG_SLOT_A),
            type, at(s, XG_SLOT_TAU), type, s->device_bytes, s->host_bytes);
        at_least(s, xg_qr_work_bytes(s->call->routine->type, s->call->m, s->call->n));
        return result;
    }
    return xg_solver_functions.geqrf(v->handle, v->params, s->call->m, s->call->n, type,
                                     at(s, XG_SLOT_A), ld(s, XG_SLOT_A), type, at(s, XG_SLOT_TAU),
                                     type, work(s), s->call->work_bytes, s->call->host_work,
                                     s->call->host_bytes, s->info);
}

static int orgqr(const struct xg_solver_step *s)
{
    xg_solver_handle handle = s->solver->handle;
    enum xg_type type = s->call->routine->type;
    int m = (int)s->call->m, n = (int)s->call->n, k = (int)s->call->routine->k, elems = 0;
    int lda = (int)ld(s, XG_SLOT_A);
    if (s->device_bytes) {
        int result = xg_solver_functions.orgqr_size[type](handle, m, n, k, at(s, XG_SLOT_A), lda,
                                                          at(s, XG_SLOT_TAU), &elems);
        return take_elems(s, result, elems);
    }
    return xg_solver_functions.orgqr[type](handle, m, n, k, at(s, XG_SLOT_A), lda,
                                           at(s, XG_SLOT_TAU), work(s), work_elems(s), s->info);
}

/* B becomes op(Q) B or B op(Q), for a B of m rows and n columns, and a Q of k reflectors. */
static int multiply(const struct xg_solver_step *s, int side, int trans, int m, int n, int k)
{
    xg_solver_handle handle = s->solver->handle;
    enum xg_type type = s->call->routine->type;
    int elems = 0;
    int lda = (int)ld(s, XG_SLOT_A), ldb = (int)ld(s, XG_SLOT_B);
    if (s->device_bytes) {
        int result = xg_solver_functions.ormqr_size[type](handle, side, trans, m, n, k,
                                                          at(s, XG_SLOT_A), lda, at(s, XG_SLOT_TAU),
                                                          at(s, XG_SLOT_B), ldb, &elems);
        return take_elems(s, result, elems);
    }
    return xg_solver_functions.ormqr[type](handle, side, trans, m, n, k, at(s, XG_SLOT_A), lda,
                                           at(s, XG_SLOT_TAU), at(s, XG_SLOT_B), ldb, work(s),
                                           work_elems(s), s->info);
}

static int ormqr(const struct xg_solver_step *s)
{
    const struct xg_routine *routine = s->call->routine;
    return multiply(s, routine->right ? SIDE_RIGHT : SIDE_LEFT, operation_of(routine->trans),
                    (int)s->call->m, (int)s->call->n, (int)routine->k);
}

/* Least squares: computes Qᴴ B. */
static int rotate(const struct xg_solver_step *s)
{
    const struct xg_routine *routine = s->call->routine;
    return multiply(s, SIDE_LEFT, xg_type_is_complex(routine->type) ? OP_C : OP_T, (int)s->call->m,
                    (int)routine->k, (int)s->call->n);
}

/* Solves R X = B. cuSOLVER has no function for a triangle, but one for L and U without pivots: in
 * the matrix that xg_solver_spare_triangle has put into spare, L is the unit matrix and U is R. */
static int solve_triangle(const struct xg_solver_step *s)
{
    const struct xg_solver *v = s->solver;
    struct xg_solver_call *call = s->call;
    int type = data_type(s);
    if (s->device_bytes)
        return XG_SOLVER_SUCCESS;
    return xg_solver_functions.getrs(v->handle, v->params, OP_N, call->n, call->routine->k, type,
                                     (void *)(uintptr_t)call->spare, 2 * call->n, NULL, type,
                                     at(s, XG_SLOT_B), ld(s, XG_SLOT_B), s->info);
}

static int syevd(const struct xg_solver_step *s)
{
    const struct xg_solver *v = s->solver;
    int type = data_type(s), real = real_type(s);
    if (s->device_bytes)
        return xg_solver_functions.syevd_size(
            v->handle, v->params, mode(s), fill(s), s->call->n, type, at(s, XG_SLOT_A),
            ld(s, XG_SLOT_A), real, at(s, XG_SLOT_W), type, s->device_bytes, s->host_bytes);
    return xg_solver_functions.syevd(v->handle, v->params, mode(s), fill(s), s->call->n, type,
                                     at(s, XG_SLOT_A), ld(s, XG_SLOT_A), real, at(s, XG_SLOT_W),
                                     type, work(s), s->call->work_bytes, s->call->host_work,
                                     s->call->host_bytes, s->info);
}

static int sygvd(const struct xg_solver_step *s)
{
    xg_solver_handle handle = s->solver->handle;
    const struct xg_routine *routine = s->call->routine;
    enum xg_type type = routine->type;
    int n = (int)s->call->n, lda = (int)ld(s, XG_SLOT_A), ldb = (int)ld(s, XG_SLOT_B), elems = 0;
    if (s->device_bytes) {
        int result = xg_solver_functions.sygvd_size[type](
            handle, routine->itype, mode(s), fill(s), n, at(s, XG_SLOT_A), lda, at(s, XG_SLOT_B),
            ldb, at(s, XG_SLOT_W), &elems);
        return take_elems(s, result, elems);
    }
    return xg_solver_functions.sygvd[type](handle, routine->itype, mode(s), fill(s), n,
                                           at(s, XG_SLOT_A), lda, at(s, XG_SLOT_B), ldb,
                                           at(s, XG_SLOT_W), work(s), work_elems(s), s->info);
}

/* For a real matrix W has the real parts, and behind them the imaginary parts. */
static int geev(const struct xg_solver_step *s)
{
    const struct xg_solver *v = s->solver;
    struct xg_solver_call *call = s->call;
    int type = data_type(s);
    if (!xg_solver_functions.geev_size || !xg_solver_functions.geev)
        return XG_SOLVER_NOT_SUPPORTED;
    if (s->device_bytes)
        return xg_solver_functions.geev_size(
            v->handle, v->params, NO_VECTORS, mode(s), call->n, type, at(s, XG_SLOT_A),
            ld(s, XG_SLOT_A), type, at(s, XG_SLOT_W), type, NULL, call->n, type, at(s, XG_SLOT_V),
            ld(s, XG_SLOT_V), type, s->device_bytes, s->host_bytes);
    return xg_solver_functions.geev(v->handle, v->params, NO_VECTORS, mode(s), call->n, type,
                                    at(s, XG_SLOT_A), ld(s, XG_SLOT_A), type, at(s, XG_SLOT_W),
                                    type, NULL, call->n, type, at(s, XG_SLOT_V), ld(s, XG_SLOT_V),
                                    type, work(s), call->work_bytes, call->host_work,
                                    call->host_bytes, s->info);
}

/* --- Singular values ------------------------------------------------------------------------- */

/*
 * Xgesvdp (polar decomposition) takes a sixth of gesvd's time, and perturbs matrices that are
 * graded or rank-deficient. It reports by how much: by 0 if it is exact. For the other matrices
 * there is deflation.h, and then gesvd.
 */
static int gesvdp(const struct xg_solver_step *s, double *perturbation)
{
    const struct xg_solver *v = s->solver;
    struct xg_solver_call *call = s->call;
    int type = data_type(s), real = real_type(s);
    int thin = call->routine->vectors != XG_VECTORS_ALL;
    if (s->device_bytes)
        return xg_solver_functions.gesvdp_size(
            v->handle, v->params, mode(s), thin, call->m, call->n, type, at(s, XG_SLOT_A),
            ld(s, XG_SLOT_A), real, at(s, XG_SLOT_W), type, at(s, XG_SLOT_U), ld(s, XG_SLOT_U),
            type, at(s, XG_SLOT_V), ld(s, XG_SLOT_V), type, s->device_bytes, s->host_bytes);
    return xg_solver_functions.gesvdp(
        v->handle, v->params, mode(s), thin, call->m, call->n, type, at(s, XG_SLOT_A),
        ld(s, XG_SLOT_A), real, at(s, XG_SLOT_W), type, at(s, XG_SLOT_U), ld(s, XG_SLOT_U), type,
        at(s, XG_SLOT_V), ld(s, XG_SLOT_V), type, work(s), call->work_bytes, call->host_work,
        call->host_bytes, s->info, perturbation);
}

static int gesvd(const struct xg_solver_step *s)
{
    const struct xg_solver *v = s->solver;
    struct xg_solver_call *call = s->call;
    int type = data_type(s), real = real_type(s);
    signed char job = (signed char)"NSA"[call->routine->vectors];
    if (s->device_bytes)
        return xg_solver_functions.gesvd_size(
            v->handle, v->params, job, job, call->m, call->n, type, at(s, XG_SLOT_A),
            ld(s, XG_SLOT_A), real, at(s, XG_SLOT_W), type, at(s, XG_SLOT_U), ld(s, XG_SLOT_U),
            type, at(s, XG_SLOT_V), ld(s, XG_SLOT_V), type, s->device_bytes, s->host_bytes);
    return xg_solver_functions.gesvd(v->handle, v->params, job, job, call->m, call->n, type,
                                     at(s, XG_SLOT_A), ld(s, XG_SLOT_A), real, at(s, XG_SLOT_W),
                                     type, at(s, XG_SLOT_U), ld(s, XG_SLOT_U), type,
                                     at(s, XG_SLOT_V), ld(s, XG_SLOT_V), type, work(s),
                                     call->work_bytes, call->host_work, call->host_bytes, s->info);
}

static int gesdd_by_polar(const struct xg_solver_step *s)
{
    if (s->device_bytes)
        return gesvdp(s, NULL);
    double *perturbation = &s->call->block->perturbation;
    *perturbation = 0;
    int result = s->call->by_qr ? XG_SOLVER_NOT_SUPPORTED : gesvdp(s, perturbation);
    /* Also true for NaN. The second step starts again from the copy in spare. */
    s->call->v_is_rows = result != XG_SOLVER_SUCCESS || !(*perturbation == 0);
    return s->call->v_is_rows && s->call->routine->polar ? XG_SOLVER_NOT_SUPPORTED
                                                         : XG_SOLVER_SUCCESS;
}

static int gesdd_by_qr(const struct xg_solver_step *s)
{
    struct xg_solver_call *call = s->call;
    if (s->device_bytes)
        return gesvd(s);
    if (!call->v_is_rows)
        return XG_SOLVER_SUCCESS;
    call->operand[XG_SLOT_A].at = call->spare;
    return gesvd(s);
}

/* --- All steps ------------------------------------------------------------------------------- */

const struct xg_solver_row xg_solver_rows[XG_STEP_COUNT] = {
    [XG_STEP_POTRF] = {potrf, .ints = true, .mirrored = true},
    [XG_STEP_POTRS] = {potrs},
    [XG_STEP_POTRI] = {potri, .ints = true},
    [XG_STEP_GETRF] = {getrf, .ours = XG_OURS_LU},
    [XG_STEP_GETRS] = {getrs},
    [XG_STEP_GETRI] = {getri, .spare = XG_SPARE_UNIT},
    [XG_STEP_TRTRI] = {trtri},
    [XG_STEP_GEQRF] = {geqrf, .ours = XG_OURS_QR},
    [XG_STEP_ORGQR] = {orgqr, .ints = true},
    [XG_STEP_ORMQR] = {ormqr, .ints = true},
    [XG_STEP_ROTATE] = {rotate, .ints = true},
    [XG_STEP_SOLVE_TRIANGLE] = {solve_triangle, .spare = XG_SPARE_TRIANGLE},
    [XG_STEP_SYEVD] = {syevd},
    [XG_STEP_SYGVD] = {sygvd, .ints = true},
    [XG_STEP_GEEV] = {geev},
    [XG_STEP_GESVDP] = {gesdd_by_polar, .spare = XG_SPARE_COPY},
    [XG_STEP_GESVD] = {gesdd_by_qr},
};
