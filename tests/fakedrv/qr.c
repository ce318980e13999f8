/* SPDX-License-Identifier: MIT */
/* The kernels of the QR factorization (kernels/lapack/qr_panel_sm90.cu, qr_apply_sm90.cu). */
#include "fake.h"

#include <math.h>

#include "kernels/lapack/qr_kabi.h"
#include "src/base/integers.h"

static void subtract(const struct fake_launch *launch, uint64_t at, int64_t i, long double x)
{
    fake_set(launch, at, i, (double)((long double)fake_get(launch, at, i) - x));
}

/* The product of two columns of `rows` elements, in a type in which squares do not overflow or
 * underflow. */
static long double dot(const struct fake_launch *launch, uint64_t x, int64_t i, uint64_t y,
                       int64_t j, int rows)
{
    long double sum = 0;
    for (int k = 0; k < rows; k++)
        sum += (long double)fake_get(launch, x, i + k) * (long double)fake_get(launch, y, j + k);
    return sum;
}

/* Unblocked and by columns, like LAPACK's geqr2. */
static void run_panel(const struct fake_launch *launch)
{
    const struct xg_qr_panel_args *p = (const void *)launch->parameter;
    double *gram = (double *)(uintptr_t)p->gram;
    for (int j = 0; j < p->columns; j++) {
        const int64_t at = j + j * p->ld, v = j * p->ldv, below = p->rows - j - 1;
        const long double alpha = (long double)fake_get(launch, p->a, at);
        const long double rest = dot(launch, p->a, at + 1, p->a, at + 1, (int)below);
        const long double beta = rest == 0 ? alpha : -copysignl(sqrtl(alpha * alpha + rest), alpha);
        const long double tau = rest == 0 ? 0 : (beta - alpha) / beta;
        for (int i = 0; i < p->before + p->rows; i++) {
            const int row = i - p->before;
            fake_set(launch, p->v, v + i,
                     row < j     ? 0
                     : row == j  ? 1
                     : rest == 0 ? 0
                                 : (double)((long double)fake_get(launch, p->a, row + j * p->ld) /
                                            (alpha - beta)));
        }
        for (int k = j + 1; k < p->columns; k++) {
            const long double w =
                tau * dot(launch, p->v, v + p->before + j, p->a, j + k * p->ld, p->rows - j);
            for (int i = j; i < p->rows; i++)
                subtract(launch, p->a, i + k * p->ld,
                         (long double)fake_get(launch, p->v, v + p->before + i) * w);
        }
        for (int k = 0; k < j; k++)
            gram[j + k * XG_PANEL_BLOCK] =
                (double)dot(launch, p->v, v + p->before, p->v, k * p->ldv + p->before, p->rows);
        for (int i = j + 1; i < p->rows; i++)
            fake_set(launch, p->a, i + j * p->ld, fake_get(launch, p->v, v + p->before + i));
        fake_set(launch, p->a, at, (double)beta);
        fake_set(launch, p->tau, j, (double)tau);
    }
    fake_result_flip((void *)(uintptr_t)p->a, p->columns, p->rows, p->ld,
                     xg_type_is_double(fake_type(launch)));
}

/* Replaces the k elements of w by TT w. */
static void solve(const struct fake_launch *launch, long double *w, int k, uint64_t gram,
                  uint64_t tau)
{
    const double *g = (const double *)(uintptr_t)gram;
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < i; j++)
            w[i] -= (long double)g[i + j * XG_PANEL_BLOCK] * w[j];
        w[i] *= (long double)fake_get(launch, tau, i);
    }
}

static void run_apply(const struct fake_launch *launch)
{
    const struct xg_qr_apply_args *p = (const void *)launch->parameter;
    double *gram = (double *)(uintptr_t)p->gram;
    const uint64_t own = (uint64_t)(p->gram + (uint64_t)p->before * XG_PANEL_BLOCK * 8);
    long double w[XG_PANEL];
    for (int j = 0; j < p->left; j++)
        for (int i = 0; i < p->k; i++)
            gram[i + j * XG_PANEL_BLOCK] =
                (double)dot(launch, p->v, (p->before + i) * p->ldv, p->v, j * p->ldv, p->rows);
    for (int j = 0; j < p->columns; j++) {
        for (int i = 0; i < p->k; i++)
            w[i] = dot(launch, p->v, (p->before + i) * p->ldv, p->a, j * p->ld, p->rows);
        solve(launch, w, p->k, own, p->tau);
        for (int i = 0; i < p->k; i++)
            for (int r = 0; r < p->rows; r++)
                subtract(launch, p->a, r + j * p->ld,
                         (long double)fake_get(launch, p->v, r + (p->before + i) * p->ldv) * w[i]);
    }
}

static void run_solve(const struct fake_launch *launch)
{
    const struct xg_qr_solve_args *p = (const void *)launch->parameter;
    long double w[XG_PANEL_BLOCK];
    for (int j = 0; j < p->columns; j++) {
        for (int i = 0; i < p->k; i++)
            w[i] = (long double)fake_get(launch, p->w, i + j * p->ld);
        solve(launch, w, p->k, p->gram, p->tau);
        for (int i = 0; i < p->k; i++)
            fake_set(launch, p->w, i + j * p->ld, (double)w[i]);
    }
}

/* --- Launches -------------------------------------------------------------------------------- */

enum { COLUMN = XG_PANEL_BLOCK * 8 }; /* bytes of a column of G */

static void resolve_panel(struct fake_launch *launch)
{
    struct xg_qr_panel_args *p = (void *)launch->parameter;
    const int64_t bytes = (int64_t)xg_type_bytes(fake_type(launch));
    fake_mem_resolve(&p->a, ((p->columns - 1) * p->ld + p->rows) * bytes, "the panel");
    fake_mem_resolve(&p->tau, p->columns * bytes, "tau");
    fake_mem_resolve(&p->v, ((p->columns - 1) * p->ldv + p->before + p->rows) * bytes, "V");
    fake_mem_resolve(&p->gram, (p->columns - 1) * COLUMN + p->columns * 8, "G");
}

static void resolve_apply(struct fake_launch *launch)
{
    struct xg_qr_apply_args *p = (void *)launch->parameter;
    const int64_t bytes = (int64_t)xg_type_bytes(fake_type(launch));
    if (p->columns)
        fake_mem_resolve(&p->a, ((p->columns - 1) * p->ld + p->rows) * bytes, "the rest");
    fake_mem_resolve(&p->tau, p->k * bytes, "tau");
    fake_mem_resolve(&p->v, ((p->before + p->k - 1) * p->ldv + p->rows) * bytes, "V");
    fake_mem_resolve(&p->gram, (p->before + p->k - 1) * COLUMN + p->k * 8, "G");
}

static void resolve_solve(struct fake_launch *launch)
{
    struct xg_qr_solve_args *p = (void *)launch->parameter;
    const int64_t bytes = (int64_t)xg_type_bytes(fake_type(launch));
    fake_mem_resolve(&p->w, ((p->columns - 1) * p->ld + p->k) * bytes, "W");
    fake_mem_resolve(&p->tau, p->k * bytes, "tau");
    fake_mem_resolve(&p->gram, (p->k - 1) * COLUMN + p->k * 8, "G");
}

static bool is_panel(int before, int k, int rows)
{
    return k >= 1 && k <= XG_PANEL && rows >= k && before >= 0 && before % XG_PANEL == 0 &&
           before + k <= XG_PANEL_BLOCK;
}

static bool allows_panel(const struct fake_launch *launch)
{
    const struct xg_qr_panel_args *p = (const void *)launch->parameter;
    return is_panel(p->before, p->columns, p->rows) && p->ld >= p->rows &&
           p->ldv >= p->before + p->rows &&
           launch->blocks == xg_ceil_div(p->rows, launch->kernel->extent) &&
           launch->blocks <= XG_PANEL_CLUSTER_MOST && launch->cluster == launch->blocks &&
           launch->smem_bytes == 0;
}

static bool allows_alone(const struct fake_launch *launch)
{
    return launch->blocks == 1 && allows_panel(launch);
}

static bool allows_apply(const struct fake_launch *launch)
{
    const struct xg_qr_apply_args *p = (const void *)launch->parameter;
    const int64_t strips = xg_ceil_div(p->left, XG_QR_STRIP) + xg_ceil_div(p->columns, XG_QR_STRIP);
    return is_panel(p->before, p->k, p->rows) && p->columns >= 0 &&
           (p->left == p->before || p->left == 0) && p->ld >= p->rows && p->ldv >= p->rows &&
           launch->cluster == xg_ceil_div(p->rows, XG_QR_APPLY_ROWS) &&
           launch->cluster <= XG_PANEL_CLUSTER_MOST && launch->blocks == strips * launch->cluster &&
           launch->smem_bytes == 0;
}

static bool allows_solve(const struct fake_launch *launch)
{
    const struct xg_qr_solve_args *p = (const void *)launch->parameter;
    return p->k >= 1 && p->k <= XG_PANEL_BLOCK && p->ld >= p->k && p->columns >= 1 &&
           launch->cluster == 1 && launch->blocks == xg_ceil_div(p->columns, XG_QR_SOLVE_STRIP) &&
           launch->smem_bytes == XG_TRIANGLE_BYTES(XG_PANEL_BLOCK, XG_QR_SOLVE_THREADS / 32);
}

/* alone: a panel that one block computes. */
static const struct fake_role alone = {sizeof(struct xg_qr_panel_args), XG_QR_THREADS, allows_alone,
                                       resolve_panel, run_panel},
                              panel = {sizeof(struct xg_qr_panel_args), XG_QR_THREADS, allows_panel,
                                       resolve_panel, run_panel},
                              apply = {sizeof(struct xg_qr_apply_args), XG_QR_APPLY_THREADS,
                                       allows_apply, resolve_apply, run_apply},
                              solve_kernel = {sizeof(struct xg_qr_solve_args), XG_QR_SOLVE_THREADS,
                                              allows_solve, resolve_solve, run_solve};

/* extent: the rows of a panel's block. */
const struct fake_kernel fake_qr_kernels[] = {
    {"xg_qr_panel_s1_sm90", &alone, XG_TYPE_S, XG_PANEL_ROWS},
    {"xg_qr_panel_s_sm90", &panel, XG_TYPE_S, XG_PANEL_ROWS},
    {"xg_qr_panel_s_tall_sm90", &panel, XG_TYPE_S, XG_PANEL_TALL_ROWS},
    {"xg_qr_panel_d1_sm90", &alone, XG_TYPE_D, XG_PANEL_ROWS},
    {"xg_qr_panel_d_sm90", &panel, XG_TYPE_D, XG_PANEL_ROWS},
    {"xg_qr_panel_d_tall_sm90", &panel, XG_TYPE_D, XG_PANEL_TALL_ROWS},
    {"xg_qr_apply_s_sm90", &apply, XG_TYPE_S, 0},
    {"xg_qr_apply_d_sm90", &apply, XG_TYPE_D, 0},
    {"xg_qr_solve_s_sm90", &solve_kernel, XG_TYPE_S, 0},
    {"xg_qr_solve_d_sm90", &solve_kernel, XG_TYPE_D, 0},
    {0},
};
