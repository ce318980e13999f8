/* SPDX-License-Identifier: MIT */
/* The kernels of the LU factorization (kernels/lapack/lu_panel_sm90.cu, lu_apply_sm90.cu). */
#include "fake.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/lapack/lu_kabi.h"
#include "src/base/integers.h"
#include "tests/support/typed.h"

/* ALONE: a panel of one block. */
enum role { ALONE, PANEL, APPLY };
enum { ROWS_MOST = XG_PANEL_CLUSTER_MOST * XG_PANEL_TALL_ROWS };

struct work {
    enum role role;
    enum xg_type type;
    struct xg_lu_panel_args panel;
    struct xg_lu_apply_args apply;
};

/* extent: the panel's threads, or the columns of L. */
const struct fake_kernel fake_lu_kernels[] = {
    {"xg_lu_panel_s1_sm90", ALONE, XG_TYPE_S, XG_PANEL_ROWS},
    {"xg_lu_panel_s_sm90", PANEL, XG_TYPE_S, XG_PANEL_ROWS},
    {"xg_lu_panel_s_tall_sm90", PANEL, XG_TYPE_S, XG_PANEL_TALL_ROWS},
    {"xg_lu_panel_d1_sm90", ALONE, XG_TYPE_D, XG_PANEL_ROWS},
    {"xg_lu_panel_d_sm90", PANEL, XG_TYPE_D, XG_PANEL_ROWS},
    {"xg_lu_panel_d_tall_sm90", PANEL, XG_TYPE_D, XG_PANEL_TALL_ROWS},
    {"xg_lu_apply_s_panel_sm90", APPLY, XG_TYPE_S, XG_PANEL},
    {"xg_lu_apply_s_block_sm90", APPLY, XG_TYPE_S, XG_PANEL_BLOCK},
    {"xg_lu_apply_d_panel_sm90", APPLY, XG_TYPE_D, XG_PANEL},
    {"xg_lu_apply_d_block_sm90", APPLY, XG_TYPE_D, XG_PANEL_BLOCK},
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

static void swap(const struct work *work, uint64_t at, int64_t i, int64_t j)
{
    double x = get(work, at, i);
    set(work, at, i, get(work, at, j));
    set(work, at, j, x);
}

/* --- A panel --------------------------------------------------------------------------------- */

/* Writes where the rows went: [i] of origin is where row i was. */
static void write_list(struct xg_lu_move *list, int top, const int *origin, int rows)
{
    for (int i = 0; i < 2 * top; i++)
        list[i] = (struct xg_lu_move){-1, -1};
    for (int to = 0; to < rows; to++) {
        if (to < top)
            list[to] = (struct xg_lu_move){origin[to], to};
        else if (origin[to] < top)
            list[top + origin[to]] = (struct xg_lu_move){origin[to], to};
    }
}

/* Unblocked, by columns, as LAPACK's getf2. */
static void run_panel(const struct work *work)
{
    const struct xg_lu_panel_args *p = &work->panel;
    int64_t *pivots = (int64_t *)(uintptr_t)p->pivots;
    int32_t *info = (int32_t *)(uintptr_t)p->info, *sources = (int32_t *)(uintptr_t)p->sources;
    static int origin[ROWS_MOST]; /* streams run one after the other */
    for (int i = 0; i < p->rows; i++)
        origin[i] = i;
    if (!p->before)
        for (int i = 0; i < p->rows; i++)
            sources[i] = i;
    for (int j = 0; j < p->columns && j < p->rows; j++) {
        int best = j;
        for (int i = j; i < p->rows; i++)
            if (fabs(get(work, p->a, i + j * p->ld)) > fabs(get(work, p->a, best + j * p->ld)))
                best = i;
        pivots[j] = p->first + best + 1;
        const double pivot = get(work, p->a, best + j * p->ld);
        if (pivot == 0 && *info == 0)
            *info = p->first + j + 1;
        for (int k = 0; k < p->columns; k++)
            swap(work, p->a, j + k * p->ld, best + k * p->ld);
        const int from = origin[j], source = sources[p->before + j];
        origin[j] = origin[best];
        origin[best] = from;
        sources[p->before + j] = sources[p->before + best];
        sources[p->before + best] = source;
        for (int i = j + 1; i < p->rows && pivot != 0; i++) {
            const double l = get(work, p->a, i + j * p->ld) / pivot;
            set(work, p->a, i + j * p->ld, l);
            for (int k = j + 1; k < p->columns; k++)
                set(work, p->a, i + k * p->ld,
                    get(work, p->a, i + k * p->ld) - l * get(work, p->a, j + k * p->ld));
        }
    }
    fake_result_flip((void *)(uintptr_t)p->a, p->columns, p->rows, p->ld,
                     xg_type_is_double(work->type));
    write_list((struct xg_lu_move *)(uintptr_t)p->moves, XG_PANEL, origin, p->rows);
    if (p->block_moves)
        write_list((struct xg_lu_move *)(uintptr_t)p->block_moves, XG_PANEL_BLOCK, sources,
                   p->before + p->rows);
}

/* --- Other columns --------------------------------------------------------------------------- */

static void run_apply(const struct work *work)
{
    const struct xg_lu_apply_args *p = &work->apply;
    const struct xg_lu_move *moves = (const struct xg_lu_move *)(uintptr_t)p->moves;
    const int count = 2 * (p->k > XG_PANEL ? XG_PANEL_BLOCK : XG_PANEL);
    const size_t bytes = xg_type_bytes(work->type);
    double old[2 * XG_PANEL_BLOCK];
    for (int column = 0; column < p->end; column++) {
        const uint64_t a = p->a + (size_t)(column * p->ld) * bytes;
        if (column >= p->moved && column < p->first)
            continue;
        for (int i = 0; i < count; i++)
            old[i] = moves[i].from < 0 ? 0 : get(work, a, moves[i].from);
        for (int i = 0; i < count; i++)
            if (moves[i].from >= 0)
                set(work, a, moves[i].to, old[i]);
        for (int k = 0; k < p->k && column >= p->first; k++)
            for (int i = k + 1; i < p->k; i++)
                set(work, a, i, get(work, a, i) - get(work, p->l, i + k * p->ld) * get(work, a, k));
    }
}

/* --- Queued ---------------------------------------------------------------------------------- */

static void resolve(void *queued)
{
    struct work *work = queued;
    struct xg_lu_panel_args *p = &work->panel;
    struct xg_lu_apply_args *q = &work->apply;
    const int64_t bytes = (int64_t)xg_type_bytes(work->type);
    const int64_t move = (int64_t)sizeof(struct xg_lu_move);
    if (work->role != APPLY) {
        fake_mem_resolve(&p->a, ((p->columns - 1) * p->ld + p->rows) * bytes, "the panel");
        fake_mem_resolve(&p->pivots,
                         (int64_t)sizeof(int64_t) * (p->columns < p->rows ? p->columns : p->rows),
                         "pivots");
        fake_mem_resolve(&p->info, sizeof(int32_t), "info");
        fake_mem_resolve(&p->moves, 2 * XG_PANEL * move, "the panel's moves");
        fake_mem_resolve(&p->sources, (p->before + p->rows) * (int64_t)sizeof(int32_t), "sources");
        if (p->block_moves)
            fake_mem_resolve(&p->block_moves, 2 * XG_PANEL_BLOCK * move, "the block's moves");
    } else {
        fake_mem_resolve(&q->a, ((q->end - 1) * q->ld + q->rows) * bytes, "other columns");
        fake_mem_resolve(&q->l, ((q->k - 1) * q->ld + q->k) * bytes, "L");
        fake_mem_resolve(&q->moves, 2 * (q->k > XG_PANEL ? XG_PANEL_BLOCK : XG_PANEL) * move,
                         "moves");
    }
}

static void run(void *queued)
{
    const struct work *work = queued;
    if (work->role != APPLY)
        run_panel(work);
    else
        run_apply(work);
}

static bool is_panel(const struct fake_kernel *kernel, const struct xg_lu_panel_args *p,
                     const struct fake_launch *launch)
{
    return p->rows >= 1 && p->columns >= 1 && p->columns <= XG_PANEL &&
           p->ld >= p->first + p->rows && p->before % XG_PANEL == 0 &&
           p->before + p->columns <= XG_PANEL_BLOCK &&
           launch->threads == (unsigned)kernel->extent &&
           launch->blocks == xg_ceil_div(p->rows, launch->threads) &&
           launch->blocks <= XG_PANEL_CLUSTER_MOST && launch->cluster == launch->blocks &&
           (kernel->role == PANEL || launch->blocks == 1) && launch->smem_bytes == 0;
}

static bool is_apply(const struct fake_kernel *kernel, const struct xg_lu_apply_args *p,
                     const struct fake_launch *launch)
{
    const int64_t strips =
        xg_ceil_div(p->moved, XG_LU_STRIP) + xg_ceil_div(p->end - p->first, XG_LU_STRIP);
    return p->k >= 1 && p->k <= kernel->extent && p->rows >= p->k && p->ld >= p->rows &&
           p->moved >= 0 && p->moved <= p->first && p->first <= p->end && p->end > 0 &&
           launch->blocks == strips && launch->threads == XG_LU_APPLY_THREADS &&
           launch->smem_bytes == (unsigned)XG_LU_APPLY_BYTES(kernel->extent);
}

CUresult fake_lu_queue(const struct fake_kernel *kernel, const void *parameter,
                       const struct fake_launch *launch, CUstream stream)
{
    struct work work = {.role = (enum role)kernel->role, .type = (enum xg_type)kernel->kind};
    if (work.role != APPLY)
        work.panel = *(const struct xg_lu_panel_args *)parameter;
    else
        work.apply = *(const struct xg_lu_apply_args *)parameter;
    if (!(work.role != APPLY ? is_panel(kernel, &work.panel, launch)
                             : is_apply(kernel, &work.apply, launch)))
        fake_abort("%s: %u blocks of %u threads, or its parameter", kernel->name, launch->blocks,
                   launch->threads);
    return fakecuda_call(&work, sizeof work, resolve, run, false, stream);
}
