/* SPDX-License-Identifier: MIT */
/*
 * Each LAPACK routine is a row of steps, and a step is one function of cuSOLVER: it says what
 * workspace it needs, or runs.
 */
#include "compute/solver.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "compute/mirror.h"
#include "compute/solver_library.h"
#include "compute/solver_spare.h"

/* The values of cuSOLVER's enumerations. */
enum { SUCCESS = 0, ALLOC_FAILED = 2, INVALID_VALUE = 3, NOT_SUPPORTED = 9 };
enum { FILL_LOWER = 0, FILL_UPPER = 1 };
enum { SIDE_LEFT = 0, SIDE_RIGHT = 1 };
enum { DIAG_GIVEN = 0, DIAG_UNIT = 1 };
enum { OP_N = 0, OP_T = 1, OP_C = 2 };
enum { NO_VECTORS = 0, VECTORS = 1 };

/* cudaDataType of a type's elements. */
static const int data_types[XG_TYPE_COUNT] = {
    [XG_TYPE_S] = 0, [XG_TYPE_D] = 1, [XG_TYPE_C] = 4, [XG_TYPE_Z] = 5};

struct xg_solver {
    xg_solver_handle handle;
    xg_solver_params params;
    CUstream stream;
    CUfunction mirrors[XG_TYPE_COUNT]; /* NULL: cuSOLVER factorizes an upper triangle itself */
};

static enum xg_status status_of(int result, const char *call)
{
    if (result == SUCCESS)
        return XG_OK;
    xg_log(XG_LOG_INFO, "%s: %d", call, result);
    return result == ALLOC_FAILED                               ? XG_ERR_NOMEM
           : result == INVALID_VALUE || result == NOT_SUPPORTED ? XG_DECLINED
                                                                : XG_ERR_DRIVER;
}

/* --- Handles --------------------------------------------------------------------------------- */

enum xg_status xg_solver_create(struct xg_dev *dev, CUstream stream, struct xg_solver **out)
{
    if (!xg_solver_load())
        return XG_ERR_NOTFOUND;
    struct xg_solver *solver = calloc(1, sizeof *solver);
    if (!solver)
        return XG_ERR_NOMEM;
    solver->stream = stream;
    enum xg_status status = XG_ERR_LOST;
    xg_drv_register_exit();
    if (xg_drv_ended())
        goto free_solver;
    status = status_of(xg_solver_functions.create(&solver->handle), "cusolverDnCreate");
    if (status != XG_OK)
        goto free_solver;
    status =
        status_of(xg_solver_functions.set_stream(solver->handle, stream), "cusolverDnSetStream");
    if (status == XG_OK)
        status =
            status_of(xg_solver_functions.create_params(&solver->params), "cusolverDnCreateParams");
    if (status != XG_OK)
        goto destroy_handle;
    for (int type = 0; type < XG_TYPE_COUNT; type++)
        (void)xg_mirror_open(dev, (enum xg_type)type, &solver->mirrors[type]);
    *out = solver;
    return XG_OK;

destroy_handle:
    xg_solver_functions.destroy(solver->handle);
free_solver:
    free(solver);
    return status == XG_DECLINED ? XG_ERR_DRIVER : status;
}

void xg_solver_destroy(struct xg_solver *solver)
{
    if (!solver)
        return;
    if (!xg_drv_ended()) {
        xg_solver_functions.destroy_params(solver->params);
        xg_solver_functions.destroy(solver->handle);
    }
    free(solver);
}

void xg_solver_forget(struct xg_solver *solver)
{
    free(solver);
}

/* --- Steps ----------------------------------------------------------------------------------- */

/* The arguments of a step; info: where its info goes. */
struct step {
    const struct xg_solver *solver;
    struct xg_solver_call *call;
    size_t *device_bytes, *host_bytes; /* set by a step that is measured; NULL: it runs */
    void *info;
};

static void *at(const struct step *step, enum xg_slot slot)
{
    return (void *)(uintptr_t)step->call->operand[slot].at;
}

static int64_t ld(const struct step *step, enum xg_slot slot)
{
    return step->call->operand[slot].ld;
}

static void *work(const struct step *step)
{
    return (void *)(uintptr_t)step->call->work;
}

static int data_type(const struct step *step)
{
    return data_types[step->call->routine->type];
}

static int real_type(const struct step *step)
{
    return data_types[xg_type_real(step->call->routine->type)];
}

static int fill(const struct step *step)
{
    return step->call->routine->uplo == XG_LOWER ? FILL_LOWER : FILL_UPPER;
}

static int mode(const struct step *step)
{
    return step->call->routine->vectors == XG_VECTORS_NONE ? NO_VECTORS : VECTORS;
}

/* The older interface counts in elements, and in int. */
static int work_elems(const struct step *step)
{
    size_t elems = step->call->work_bytes / xg_type_bytes(step->call->routine->type);
    return elems < INT_MAX ? (int)elems : INT_MAX;
}

static int take_elems(const struct step *step, int result, int elems)
{
    *step->device_bytes = (size_t)elems * xg_type_bytes(step->call->routine->type);
    return result;
}

/* Whether the lower triangle is factorized instead of the upper one (mirror_sm75.cu). */
static bool is_mirrored(const struct xg_solver *solver, const struct xg_solver_call *call)
{
    return call->routine->uplo == XG_UPPER && solver->mirrors[call->routine->type];
}

/* At 4096, in double precision, cuSOLVER 12's Xpotrf takes 2.5 times the time of this function. */
static int potrf(const struct step *s)
{
    xg_solver_handle handle = s->solver->handle;
    enum xg_type type = s->call->routine->type;
    int n = (int)s->call->n, lda = (int)ld(s, XG_SLOT_A), elems = 0;
    int triangle = is_mirrored(s->solver, s->call) ? FILL_LOWER : fill(s);
    if (s->device_bytes) {
        int result = xg_solver_functions.potrf_size[type](handle, triangle, n, at(s, XG_SLOT_A),
                                                          lda, &elems);
        return take_elems(s, result, elems);
    }
    return xg_solver_functions.potrf[type](handle, triangle, n, at(s, XG_SLOT_A), lda, work(s),
                                           work_elems(s), s->info);
}

static int potrs(const struct step *s)
{
    const struct xg_solver *v = s->solver;
    int type = data_type(s);
    if (s->device_bytes)
        return SUCCESS;
    return xg_solver_functions.potrs(v->handle, v->params, fill(s), s->call->n, s->call->routine->k,
                                     type, at(s, XG_SLOT_A), ld(s, XG_SLOT_A), type,
                                     at(s, XG_SLOT_B), ld(s, XG_SLOT_B), s->info);
}

static int potri(const struct step *s)
{
    xg_solver_handle handle = s->solver->handle;
    enum xg_type type = s->call->routine->type;
    int n = (int)s->call->n, lda = (int)ld(s, XG_SLOT_A), elems = 0;
    if (s->device_bytes) {
        int result =
            xg_solver_functions.potri_size[type](handle, fill(s), n, at(s, XG_SLOT_A), lda, &elems);
        return take_elems(s, result, elems);
    }
    return xg_solver_functions.potri[type](handle, fill(s), n, at(s, XG_SLOT_A), lda, work(s),
                                           work_elems(s), s->info);
}

static int trtri(const struct step *s)
{
    xg_solver_handle handle = s->solver->handle;
    int diag = s->call->routine->unit ? DIAG_UNIT : DIAG_GIVEN;
    if (!xg_solver_functions.trtri_size || !xg_solver_functions.trtri)
        return NOT_SUPPORTED;
    if (s->device_bytes)
        return xg_solver_functions.trtri_size(handle, fill(s), diag, s->call->n, data_type(s),
                                              at(s, XG_SLOT_A), ld(s, XG_SLOT_A), s->device_bytes,
                                              s->host_bytes);
    return xg_solver_functions.trtri(
        handle, fill(s), diag, s->call->n, data_type(s), at(s, XG_SLOT_A), ld(s, XG_SLOT_A),
        work(s), s->call->work_bytes, s->call->host_work, s->call->host_bytes, s->info);
}

static int getrf(const struct step *s)
{
    const struct xg_solver *v = s->solver;
    int type = data_type(s);
    if (s->device_bytes)
        return xg_solver_functions.getrf_size(v->handle, v->params, s->call->m, s->call->n, type,
                                              at(s, XG_SLOT_A), ld(s, XG_SLOT_A), type,
                                              s->device_bytes, s->host_bytes);
    return xg_solver_functions.getrf(v->handle, v->params, s->call->m, s->call->n, type,
                                     at(s, XG_SLOT_A), ld(s, XG_SLOT_A), at(s, XG_SLOT_PIVOTS),
                                     type, work(s), s->call->work_bytes, s->call->host_work,
                                     s->call->host_bytes, s->info);
}

static int operation_of(enum xg_trans trans)
{
    return trans == XG_CONJ_TRANS ? OP_C : trans == XG_TRANS ? OP_T : OP_N;
}

static int getrs(const struct step *s)
{
    const struct xg_solver *v = s->solver;
    int type = data_type(s);
    if (s->device_bytes)
        return SUCCESS;
    return xg_solver_functions.getrs(v->handle, v->params, operation_of(s->call->routine->trans),
                                     s->call->n, s->call->routine->k, type, at(s, XG_SLOT_A),
                                     ld(s, XG_SLOT_A), at(s, XG_SLOT_PIVOTS), type,
                                     at(s, XG_SLOT_B), ld(s, XG_SLOT_B), s->info);
}

/* Solves A X = 1, which prepare has put into spare. */
static int getri(const struct step *s)
{
    const struct xg_solver *v = s->solver;
    struct xg_solver_call *call = s->call;
    int type = data_type(s);
    if (s->device_bytes)
        return SUCCESS;
    int result = xg_solver_functions.getrs(
        v->handle, v->params, OP_N, call->n, call->n, type, at(s, XG_SLOT_A), ld(s, XG_SLOT_A),
        at(s, XG_SLOT_PIVOTS), type, (void *)(uintptr_t)call->spare, ld(s, XG_SLOT_A), s->info);
    CUdeviceptr factors = call->operand[XG_SLOT_A].at;
    call->operand[XG_SLOT_A].at = call->spare;
    call->spare = factors;
    return result;
}

static int geqrf(const struct step *s)
{
    const struct xg_solver *v = s->solver;
    int type = data_type(s);
    if (s->device_bytes)
        return xg_solver_functions.geqrf_size(
            v->handle, v->params, s->call->m, s->call->n, type, at(s, XG_SLOT_A), ld(s, XG_SLOT_A),
            type, at(s, XG_SLOT_TAU), type, s->device_bytes, s->host_bytes);
    return xg_solver_functions.geqrf(v->handle, v->params, s->call->m, s->call->n, type,
                                     at(s, XG_SLOT_A), ld(s, XG_SLOT_A), type, at(s, XG_SLOT_TAU),
                                     type, work(s), s->call->work_bytes, s->call->host_work,
                                     s->call->host_bytes, s->info);
}

static int orgqr(const struct step *s)
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
static int multiply(const struct step *s, int side, int trans, int m, int n, int k)
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

static int ormqr(const struct step *s)
{
    const struct xg_routine *routine = s->call->routine;
    return multiply(s, routine->right ? SIDE_RIGHT : SIDE_LEFT, operation_of(routine->trans),
                    (int)s->call->m, (int)s->call->n, (int)routine->k);
}

/* Least squares: computes Qᴴ B. */
static int rotate(const struct step *s)
{
    const struct xg_routine *routine = s->call->routine;
    return multiply(s, SIDE_LEFT, xg_type_is_complex(routine->type) ? OP_C : OP_T, (int)s->call->m,
                    (int)routine->k, (int)s->call->n);
}

/* Solves R X = B. cuSOLVER has no function for a triangle, but one for L and U without pivots: in
 * the matrix that xg_solver_spare_triangle has put into spare, L is the unit matrix and U is R. */
static int solve_triangle(const struct step *s)
{
    const struct xg_solver *v = s->solver;
    struct xg_solver_call *call = s->call;
    int type = data_type(s);
    if (s->device_bytes)
        return SUCCESS;
    return xg_solver_functions.getrs(v->handle, v->params, OP_N, call->n, call->routine->k, type,
                                     (void *)(uintptr_t)call->spare, 2 * call->n, NULL, type,
                                     at(s, XG_SLOT_B), ld(s, XG_SLOT_B), s->info);
}

static int syevd(const struct step *s)
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

static int sygvd(const struct step *s)
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
static int geev(const struct step *s)
{
    const struct xg_solver *v = s->solver;
    struct xg_solver_call *call = s->call;
    int type = data_type(s);
    if (!xg_solver_functions.geev_size || !xg_solver_functions.geev)
        return NOT_SUPPORTED;
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
static int gesvdp(const struct step *s, double *perturbation)
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

static int gesvd(const struct step *s)
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

static int gesdd_by_polar(const struct step *s)
{
    if (s->device_bytes)
        return gesvdp(s, NULL);
    double *perturbation = &s->call->block->perturbation;
    *perturbation = 0;
    int result = s->call->by_qr ? NOT_SUPPORTED : gesvdp(s, perturbation);
    /* Also true for NaN. The second step starts again from the copy in spare. */
    s->call->v_is_rows = result != SUCCESS || !(*perturbation == 0);
    return s->call->v_is_rows && s->call->routine->polar ? NOT_SUPPORTED : SUCCESS;
}

static int gesdd_by_qr(const struct step *s)
{
    struct xg_solver_call *call = s->call;
    if (s->device_bytes)
        return gesvd(s);
    if (!call->v_is_rows)
        return SUCCESS;
    call->operand[XG_SLOT_A].at = call->spare;
    return gesvd(s);
}

/* --- Routines -------------------------------------------------------------------------------- */

static const struct {
    int (*steps[XG_SOLVER_STEPS])(const struct step *);
    bool ints; /* the older interface: sizes are int */
    enum { NO_SPARE, LIKE_A, TRIANGLE } spare;
} rows[XG_ROUTINE_COUNT] = {
    [XG_ROUTINE_POTRF] = {{potrf}, true, NO_SPARE},
    [XG_ROUTINE_POTRS] = {{potrs}, false, NO_SPARE},
    [XG_ROUTINE_POSV] = {{potrf, potrs}, true, NO_SPARE},
    [XG_ROUTINE_POTRI] = {{potri}, true, NO_SPARE},
    [XG_ROUTINE_GETRF] = {{getrf}, false, NO_SPARE},
    [XG_ROUTINE_GETRS] = {{getrs}, false, NO_SPARE},
    [XG_ROUTINE_GESV] = {{getrf, getrs}, false, NO_SPARE},
    [XG_ROUTINE_GETRI] = {{getri}, false, LIKE_A},
    [XG_ROUTINE_TRTRI] = {{trtri}, false, NO_SPARE},
    [XG_ROUTINE_GEQRF] = {{geqrf}, false, NO_SPARE},
    [XG_ROUTINE_ORGQR] = {{orgqr}, true, NO_SPARE},
    [XG_ROUTINE_ORMQR] = {{ormqr}, true, NO_SPARE},
    [XG_ROUTINE_GELS] = {{geqrf, rotate, solve_triangle}, true, TRIANGLE},
    [XG_ROUTINE_GELSD] = {{geqrf, rotate}, true, NO_SPARE},
    [XG_ROUTINE_GELSS] = {{geqrf, rotate}, true, NO_SPARE},
    [XG_ROUTINE_SYEVD] = {{syevd}, false, NO_SPARE},
    [XG_ROUTINE_SYGVD] = {{sygvd}, true, NO_SPARE},
    [XG_ROUTINE_GEEV] = {{geev}, false, NO_SPARE},
    [XG_ROUTINE_GESDD] = {{gesdd_by_polar, gesdd_by_qr}, false, LIKE_A},
};

int64_t xg_solver_spare_elems(const struct xg_solver_call *call)
{
    const int64_t n = call->n;
    switch (rows[call->routine->name].spare) {
    case LIKE_A:
        return call->routine->polar ? 0 : call->operand[XG_SLOT_A].ld * n;
    case TRIANGLE:
        return 3 * n * n;
    default:
        return 0;
    }
}

static bool fits_int(const struct xg_solver_call *call)
{
    bool fits = call->m <= INT_MAX && call->n <= INT_MAX && call->routine->k <= INT_MAX;
    for (int slot = 0; slot < XG_SLOT_COUNT; slot++)
        fits = fits && call->operand[slot].ld <= INT_MAX;
    return fits;
}

enum xg_status xg_solver_measure(struct xg_solver *solver, struct xg_solver_call *call)
{
    enum xg_routine_name name = call->routine->name;
    if ((rows[name].ints && !fits_int(call)) ||
        (name == XG_ROUTINE_GETRI && call->n > XG_SOLVER_ONES))
        return XG_DECLINED;
    call->work_bytes = call->host_bytes = 0;
    for (int i = 0; i < XG_SOLVER_STEPS && rows[name].steps[i]; i++) {
        size_t device_bytes = 0, host_bytes = 0;
        const struct step step = {solver, call, &device_bytes, &host_bytes, NULL};
        if (xg_drv_ended())
            return XG_ERR_LOST;
        enum xg_status status =
            status_of(rows[name].steps[i](&step), xg_routine_text(name, call->routine->type));
        if (status != XG_OK)
            return status;
        if (device_bytes > call->work_bytes)
            call->work_bytes = device_bytes;
        if (host_bytes > call->host_bytes)
            call->host_bytes = host_bytes;
    }
    return XG_OK;
}

/* Mirrors A before the Cholesky factorization of an upper triangle, or back after it. */
static enum xg_status mirror(const struct xg_dev *dev, const struct xg_solver *solver,
                             const struct xg_solver_call *call, int step, bool back)
{
    const struct xg_solver_matrix *a = &call->operand[XG_SLOT_A];
    const struct xg_mirror_args args = {a->at, a->ld, call->n, !back};
    if (rows[call->routine->name].steps[step] != potrf || !is_mirrored(solver, call))
        return XG_OK;
    return xg_mirror_run(dev, solver->mirrors[call->routine->type], args, solver->stream);
}

/* Writes to A, spare and info what a step expects there. */
static enum xg_status prepare(const struct xg_dev *dev, const struct xg_solver *solver,
                              const struct xg_solver_call *call, int step)
{
    const enum xg_routine_name name = call->routine->name;
    const struct xg_solver_matrix *a = &call->operand[XG_SLOT_A];
    const struct xg_solver_spare spare = {call->spare,         a->at,         a->ld, call->n,
                                          call->routine->type, solver->stream};
    if (rows[name].steps[step] == solve_triangle)
        return xg_solver_spare_triangle(dev, &spare);
    if (step > 0)
        return XG_OK;
    enum xg_status status =
        XG_DRV(&dev->drv, cuMemsetD32Async, call->info, 0, XG_SOLVER_STEPS, solver->stream);
    if (status == XG_OK && name == XG_ROUTINE_GESDD && !call->routine->polar)
        status = xg_solver_spare_copy(dev, &spare);
    if (status == XG_OK && name == XG_ROUTINE_GETRI)
        status = xg_solver_spare_unit(dev, &spare, call->block->ones);
    return status == XG_OK ? mirror(dev, solver, call, step, false) : status;
}

enum xg_status xg_solver_run(struct xg_dev *dev, struct xg_solver *solver,
                             struct xg_solver_call *call)
{
    enum xg_routine_name name = call->routine->name;
    int *info = call->block->info;
    enum xg_status status = XG_OK;
    for (int i = 0; i < XG_SOLVER_STEPS && rows[name].steps[i] && status == XG_OK; i++) {
        status = prepare(dev, solver, call, i);
        if (status != XG_OK)
            break;
        const struct step step = {solver, call, NULL, NULL,
                                  (void *)(uintptr_t)(call->info + (unsigned)i * sizeof(int))};
        status = xg_drv_ended() ? XG_ERR_LOST
                                : status_of(rows[name].steps[i](&step),
                                            xg_routine_text(name, call->routine->type));
        if (status == XG_OK)
            status = mirror(dev, solver, call, i, true);
        if (status == XG_OK && call->deflate && rows[name].steps[i] == gesdd_by_polar)
            status = call->deflate(dev, solver, solver->stream, call);
    }
    if (status == XG_OK)
        status = XG_DRV(&dev->drv, cuMemcpyDtoHAsync, info, call->info,
                        XG_SOLVER_STEPS * sizeof *info, solver->stream);
    if (status == XG_OK)
        status = XG_DRV(&dev->drv, cuStreamSynchronize, solver->stream);
    if (status == XG_OK && name == XG_ROUTINE_GESDD && call->v_is_rows)
        info[0] = 0; /* the first step's answer is not used */
    for (int i = 0; i < XG_SOLVER_STEPS; i++)
        if (status == XG_OK && info[i] != 0)
            status = XG_DECLINED;
    return status;
}
