/* SPDX-License-Identifier: MIT */
/* The kernels of the QR factorization (kernels/lapack/qr_panel_sm90.cu, qr_apply_sm90.cu). */
#include "fake.h"

#include <math.h>

#include "kernels/lapack/qr_kabi.h"
#include "src/base/integers.h"
#include "tests/support/typed.h"

/* ALONE: a panel of one block. */
enum role { ALONE, PANEL, APPLY, SOLVE };

struct work {
    enum role role;
    enum xg_type type;
    struct xg_qr_panel_args panel;
    struct xg_qr_apply_args apply;
    struct xg_qr_solve_args solve;
};

/* extent: the rows of a panel's block. */
const struct fake_kernel fake_qr_kernels[] = {
    {"xg_qr_panel_s1_sm90", ALONE, XG_TYPE_S, XG_PANEL_ROWS},
    {"xg_qr_panel_s_sm90", PANEL, XG_TYPE_S, XG_PANEL_ROWS},
    {"xg_qr_panel_s_tall_sm90", PANEL, XG_TYPE_S, XG_PANEL_TALL_ROWS},
    {"xg_qr_panel_d1_sm90", ALONE, XG_TYPE_D, XG_PANEL_ROWS},
    {"xg_qr_panel_d_sm90", PANEL, XG_TYPE_D, XG_PANEL_ROWS},
    {"xg_qr_panel_d_tall_sm90", PANEL, XG_TYPE_D, XG_PANEL_TALL_ROWS},
    {"xg_qr_apply_s_sm90", APPLY, XG_TYPE_S, 0},
    {"xg_qr_apply_d_sm90", APPLY, XG_TYPE_D, 0},
    {"xg_qr_solve_s_sm90", SOLVE, XG_TYPE_S, 0},
    {"xg_qr_solve_d_sm90", SOLVE, XG_TYPE_D, 0},
    {0},
};

static double get(const struct work *work, uint64_t at, int64_t i)
{
    return xt_get(work->type, (const void *)(uintptr_t)at, i);
}

static void set(const struct work *work, uint64_t at, int64_t i, double x)
{
    xt_set(work->type, (void *)(uintptr_t)at, i, x);
}

static void subtract(const struct work *work, uint64_t at, int64_t i, long double x)
{
    set(work, at, i, (double)((long double)get(work, at, i) - x));
}

/* The product of two columns of `rows` rows. Squares do not overflow or underflow. */
static long double dot(const struct work *work, uint64_t x, int64_t i, uint64_t y, int64_t j,
                       int rows)
{
    long double sum = 0;
    for (int k = 0; k < rows; k++)
        sum += (long double)get(work, x, i + k) * (long double)get(work, y, j + k);
    return sum;
}

/* Unblocked, by columns, as LAPACK's geqr2. */
static void run_panel(const struct work *work)
{
    const struct xg_qr_panel_args *p = &work->panel;
    double *gram = (double *)(uintptr_t)p->gram;
    for (int j = 0; j < p->columns; j++) {
        const int64_t at = j + j * p->ld, v = j * p->ldv, below = p->rows - j - 1;
        const long double alpha = (long double)get(work, p->a, at);
        const long double rest = dot(work, p->a, at + 1, p->a, at + 1, (int)below);
        const long double beta = rest == 0 ? alpha : -copysignl(sqrtl(alpha * alpha + rest), alpha);
        const long double tau = rest == 0 ? 0 : (beta - alpha) / beta;
        for (int i = 0; i < p->before + p->rows; i++) {
            const int row = i - p->before;
            set(work, p->v, v + i,
                row < j    ? 0
                : row == j ? 1
                : rest == 0
                    ? 0
                    : (double)((long double)get(work, p->a, row + j * p->ld) / (alpha - beta)));
        }
        for (int k = j + 1; k < p->columns; k++) {
            const long double w =
                tau * dot(work, p->v, v + p->before + j, p->a, j + k * p->ld, p->rows - j);
            for (int i = j; i < p->rows; i++)
                subtract(work, p->a, i + k * p->ld,
                         (long double)get(work, p->v, v + p->before + i) * w);
        }
        for (int k = 0; k < j; k++)
            gram[j + k * XG_PANEL_BLOCK] =
                (double)dot(work, p->v, v + p->before, p->v, k * p->ldv + p->before, p->rows);
        for (int i = j + 1; i < p->rows; i++)
            set(work, p->a, i + j * p->ld, get(work, p->v, v + p->before + i));
        set(work, p->a, at, (double)beta);
        set(work, p->tau, j, (double)tau);
    }
    fake_result_flip((void *)(uintptr_t)p->a, p->columns, p->rows, p->ld,
                     xg_type_is_double(work->type));
}

/* Turns the k elements of w into TT w. */
static void solve(const struct work *work, long double *w, int k, uint64_t gram, uint64_t tau)
{
    const double *g = (const double *)(uintptr_t)gram;
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < i; j++)
            w[i] -= (long double)g[i + j * XG_PANEL_BLOCK] * w[j];
        w[i] *= (long double)get(work, tau, i);
    }
}

static void run_apply(const struct work *work)
{
    const struct xg_qr_apply_args *p = &work->apply;
    double *gram = (double *)(uintptr_t)p->gram;
    const uint64_t own = (uint64_t)(p->gram + (uint64_t)p->before * XG_PANEL_BLOCK * 8);
    long double w[XG_PANEL];
    for (int j = 0; j < p->left; j++)
        for (int i = 0; i < p->k; i++)
            gram[i + j * XG_PANEL_BLOCK] =
                (double)dot(work, p->v, (p->before + i) * p->ldv, p->v, j * p->ldv, p->rows);
    for (int j = 0; j < p->columns; j++) {
        for (int i = 0; i < p->k; i++)
            w[i] = dot(work, p->v, (p->before + i) * p->ldv, p->a, j * p->ld, p->rows);
        solve(work, w, p->k, own, p->tau);
        for (int i = 0; i < p->k; i++)
            for (int r = 0; r < p->rows; r++)
                subtract(work, p->a, r + j * p->ld,
                         (long double)get(work, p->v, r + (p->before + i) * p->ldv) * w[i]);
    }
}

static void run_solve(const struct work *work)
{
    const struct xg_qr_solve_args *p = &work->solve;
    long double w[XG_PANEL_BLOCK];
    for (int j = 0; j < p->columns; j++) {
        for (int i = 0; i < p->k; i++)
            w[i] = (long double)get(work, p->w, i + j * p->ld);
        solve(work, w, p->k, p->gram, p->tau);
        for (int i = 0; i < p->k; i++)
            set(work, p->w, i + j * p->ld, (double)w[i]);
    }
}

/* --- Queued ---------------------------------------------------------------------------------- */

static void resolve(void *queued)
{
    struct work *work = queued;
    struct xg_qr_panel_args *p = &work->panel;
    struct xg_qr_apply_args *q = &work->apply;
    struct xg_qr_solve_args *r = &work->solve;
    const int64_t bytes = (int64_t)xg_type_bytes(work->type), column = XG_PANEL_BLOCK * 8;
    switch (work->role) {
    case ALONE:
    case PANEL:
        fake_mem_resolve(&p->a, ((p->columns - 1) * p->ld + p->rows) * bytes, "the panel");
        fake_mem_resolve(&p->tau, p->columns * bytes, "tau");
        fake_mem_resolve(&p->v, ((p->columns - 1) * p->ldv + p->before + p->rows) * bytes, "V");
        fake_mem_resolve(&p->gram, (p->columns - 1) * column + p->columns * 8, "G");
        break;
    case APPLY:
        if (q->columns)
            fake_mem_resolve(&q->a, ((q->columns - 1) * q->ld + q->rows) * bytes, "the rest");
        fake_mem_resolve(&q->tau, q->k * bytes, "tau");
        fake_mem_resolve(&q->v, ((q->before + q->k - 1) * q->ldv + q->rows) * bytes, "V");
        fake_mem_resolve(&q->gram, (q->before + q->k - 1) * column + q->k * 8, "G");
        break;
    default:
        fake_mem_resolve(&r->w, ((r->columns - 1) * r->ld + r->k) * bytes, "W");
        fake_mem_resolve(&r->tau, r->k * bytes, "tau");
        fake_mem_resolve(&r->gram, (r->k - 1) * column + r->k * 8, "G");
    }
}

static void run(void *queued)
{
    const struct work *work = queued;
    if (work->role <= PANEL)
        run_panel(work);
    else if (work->role == APPLY)
        run_apply(work);
    else
        run_solve(work);
}

static bool is_panel(int before, int k, int rows)
{
    return k >= 1 && k <= XG_PANEL && rows >= k && before >= 0 && before % XG_PANEL == 0 &&
           before + k <= XG_PANEL_BLOCK;
}

static bool allows_panel(const struct fake_kernel *kernel, const struct xg_qr_panel_args *p,
                         const struct fake_launch *launch)
{
    return is_panel(p->before, p->columns, p->rows) && p->ld >= p->rows &&
           p->ldv >= p->before + p->rows && launch->threads == XG_QR_THREADS &&
           launch->blocks == xg_ceil_div(p->rows, kernel->extent) &&
           launch->blocks <= XG_PANEL_CLUSTER_MOST && launch->cluster == launch->blocks &&
           (kernel->role == PANEL || launch->blocks == 1) && launch->smem_bytes == 0;
}

static bool allows_apply(const struct xg_qr_apply_args *p, const struct fake_launch *launch)
{
    const int64_t strips = xg_ceil_div(p->left, XG_QR_STRIP) + xg_ceil_div(p->columns, XG_QR_STRIP);
    return is_panel(p->before, p->k, p->rows) && p->columns >= 0 &&
           (p->left == p->before || p->left == 0) && p->ld >= p->rows && p->ldv >= p->rows &&
           launch->threads == XG_QR_APPLY_THREADS &&
           launch->cluster == xg_ceil_div(p->rows, XG_QR_APPLY_ROWS) &&
           launch->cluster <= XG_PANEL_CLUSTER_MOST && launch->blocks == strips * launch->cluster &&
           launch->smem_bytes == 0;
}

static bool allows_solve(const struct xg_qr_solve_args *p, const struct fake_launch *launch)
{
    return p->k >= 1 && p->k <= XG_PANEL_BLOCK && p->ld >= p->k && p->columns >= 1 &&
           launch->threads == XG_QR_SOLVE_THREADS && launch->cluster == 1 &&
           launch->blocks == xg_ceil_div(p->columns, XG_QR_SOLVE_STRIP) &&
           launch->smem_bytes == XG_TRIANGLE_BYTES(XG_PANEL_BLOCK, XG_QR_SOLVE_THREADS / 32);
}

CUresult fake_qr_queue(const struct fake_kernel *kernel, const void *parameter,
                       const struct fake_launch *launch, CUstream stream)
{
    struct work work = {.role = (enum role)kernel->role, .type = (enum xg_type)kernel->kind};
    bool allowed;
    switch (work.role) {
    case ALONE:
    case PANEL:
        work.panel = *(const struct xg_qr_panel_args *)parameter;
        allowed = allows_panel(kernel, &work.panel, launch);
        break;
    case APPLY:
        work.apply = *(const struct xg_qr_apply_args *)parameter;
        allowed = allows_apply(&work.apply, launch);
        break;
    default:
        work.solve = *(const struct xg_qr_solve_args *)parameter;
        allowed = allows_solve(&work.solve, launch);
    }
    if (!allowed)
        fake_abort("%s: %u blocks of %u threads, or its parameter", kernel->name, launch->blocks,
                   launch->threads);
    return fakecuda_call(&work, sizeof work, resolve, run, false, stream);
}
