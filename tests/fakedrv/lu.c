/* SPDX-License-Identifier: MIT */
/* The kernels of the LU factorization (kernels/lapack/lu_panel_sm90.cu, lu_apply_sm90.cu). */
#include "fake.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/lapack/lu_kabi.h"
#include "src/base/integers.h"

enum { ROWS_MOST = XG_PANEL_CLUSTER_MOST * XG_PANEL_TALL_ROWS };

static void swap(const struct fake_launch *launch, uint64_t at, int64_t i, int64_t j)
{
    double x = fake_get(launch, at, i);
    fake_set(launch, at, i, fake_get(launch, at, j));
    fake_set(launch, at, j, x);
}

/* --- A panel --------------------------------------------------------------------------------- */

/* Writes the moves of rows: row i was at origin[i]. */
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

/* Unblocked and by columns, like LAPACK's getf2. */
static void run_panel(const struct fake_launch *launch)
{
    const struct xg_lu_panel_args *p = (const void *)launch->parameter;
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
            if (fabs(fake_get(launch, p->a, i + j * p->ld)) >
                fabs(fake_get(launch, p->a, best + j * p->ld)))
                best = i;
        pivots[j] = p->first + best + 1;
        const double pivot = fake_get(launch, p->a, best + j * p->ld);
        if (pivot == 0 && *info == 0)
            *info = p->first + j + 1;
        for (int k = 0; k < p->columns; k++)
            swap(launch, p->a, j + k * p->ld, best + k * p->ld);
        const int from = origin[j], source = sources[p->before + j];
        origin[j] = origin[best];
        origin[best] = from;
        sources[p->before + j] = sources[p->before + best];
        sources[p->before + best] = source;
        for (int i = j + 1; i < p->rows && pivot != 0; i++) {
            const double l = fake_get(launch, p->a, i + j * p->ld) / pivot;
            fake_set(launch, p->a, i + j * p->ld, l);
            for (int k = j + 1; k < p->columns; k++)
                fake_set(launch, p->a, i + k * p->ld,
                         fake_get(launch, p->a, i + k * p->ld) -
                             l * fake_get(launch, p->a, j + k * p->ld));
        }
    }
    fake_result_flip((void *)(uintptr_t)p->a, p->columns, p->rows, p->ld,
                     xg_type_is_double(fake_type(launch)));
    write_list((struct xg_lu_move *)(uintptr_t)p->moves, XG_PANEL, origin, p->rows);
    if (p->block_moves)
        write_list((struct xg_lu_move *)(uintptr_t)p->block_moves, XG_PANEL_BLOCK, sources,
                   p->before + p->rows);
}

/* --- Other columns --------------------------------------------------------------------------- */

static void run_apply(const struct fake_launch *launch)
{
    const struct xg_lu_apply_args *p = (const void *)launch->parameter;
    const struct xg_lu_move *moves = (const struct xg_lu_move *)(uintptr_t)p->moves;
    const int count = 2 * (p->k > XG_PANEL ? XG_PANEL_BLOCK : XG_PANEL);
    const size_t bytes = xg_type_bytes(fake_type(launch));
    double old[2 * XG_PANEL_BLOCK];
    for (int column = 0; column < p->end; column++) {
        const uint64_t a = p->a + (size_t)(column * p->ld) * bytes;
        if (column >= p->moved && column < p->first)
            continue;
        for (int i = 0; i < count; i++)
            old[i] = moves[i].from < 0 ? 0 : fake_get(launch, a, moves[i].from);
        for (int i = 0; i < count; i++)
            if (moves[i].from >= 0)
                fake_set(launch, a, moves[i].to, old[i]);
        for (int k = 0; k < p->k && column >= p->first; k++)
            for (int i = k + 1; i < p->k; i++)
                fake_set(launch, a, i,
                         fake_get(launch, a, i) -
                             fake_get(launch, p->l, i + k * p->ld) * fake_get(launch, a, k));
    }
}

/* --- Launches -------------------------------------------------------------------------------- */

enum { MOVE = sizeof(struct xg_lu_move) };

static void resolve_panel(struct fake_launch *launch)
{
    struct xg_lu_panel_args *p = (void *)launch->parameter;
    const int64_t bytes = (int64_t)xg_type_bytes(fake_type(launch));
    fake_mem_resolve(&p->a, ((p->columns - 1) * p->ld + p->rows) * bytes, "the panel");
    fake_mem_resolve(&p->pivots,
                     (int64_t)sizeof(int64_t) * (p->columns < p->rows ? p->columns : p->rows),
                     "pivots");
    fake_mem_resolve(&p->info, sizeof(int32_t), "info");
    fake_mem_resolve(&p->moves, 2 * XG_PANEL * MOVE, "the panel's moves");
    fake_mem_resolve(&p->sources, (p->before + p->rows) * (int64_t)sizeof(int32_t), "sources");
    if (p->block_moves)
        fake_mem_resolve(&p->block_moves, 2 * XG_PANEL_BLOCK * MOVE, "the block's moves");
}

static void resolve_apply(struct fake_launch *launch)
{
    struct xg_lu_apply_args *p = (void *)launch->parameter;
    const int64_t bytes = (int64_t)xg_type_bytes(fake_type(launch));
    fake_mem_resolve(&p->a, ((p->end - 1) * p->ld + p->rows) * bytes, "other columns");
    fake_mem_resolve(&p->l, ((p->k - 1) * p->ld + p->k) * bytes, "L");
    fake_mem_resolve(&p->moves, 2 * (p->k > XG_PANEL ? XG_PANEL_BLOCK : XG_PANEL) * MOVE, "moves");
}

static bool allows_panel(const struct fake_launch *launch)
{
    const struct xg_lu_panel_args *p = (const void *)launch->parameter;
    return p->rows >= 1 && p->columns >= 1 && p->columns <= XG_PANEL &&
           p->ld >= p->first + p->rows && p->before % XG_PANEL == 0 &&
           p->before + p->columns <= XG_PANEL_BLOCK &&
           launch->threads == (unsigned)launch->kernel->extent &&
           launch->blocks == xg_ceil_div(p->rows, launch->threads) &&
           launch->blocks <= XG_PANEL_CLUSTER_MOST && launch->cluster == launch->blocks &&
           launch->smem_bytes == 0;
}

static bool allows_alone(const struct fake_launch *launch)
{
    return launch->blocks == 1 && allows_panel(launch);
}

static bool allows_apply(const struct fake_launch *launch)
{
    const struct xg_lu_apply_args *p = (const void *)launch->parameter;
    const int64_t strips =
        xg_ceil_div(p->moved, XG_LU_STRIP) + xg_ceil_div(p->end - p->first, XG_LU_STRIP);
    return p->k >= 1 && p->k <= launch->kernel->extent && p->rows >= p->k && p->ld >= p->rows &&
           p->moved >= 0 && p->moved <= p->first && p->first <= p->end && p->end > 0 &&
           launch->blocks == strips &&
           launch->smem_bytes == (unsigned)XG_LU_APPLY_BYTES(launch->kernel->extent);
}

/* alone: a panel that one block computes. */
static const struct fake_role alone = {sizeof(struct xg_lu_panel_args), 0, allows_alone,
                                       resolve_panel, run_panel},
                              panel = {sizeof(struct xg_lu_panel_args), 0, allows_panel,
                                       resolve_panel, run_panel},
                              apply = {sizeof(struct xg_lu_apply_args), XG_LU_APPLY_THREADS,
                                       allows_apply, resolve_apply, run_apply};

/* extent: the panel's threads, or the columns of L. */
const struct fake_kernel fake_lu_kernels[] = {
    {"xg_lu_panel_s1_sm90", &alone, XG_TYPE_S, XG_PANEL_ROWS},
    {"xg_lu_panel_s_sm90", &panel, XG_TYPE_S, XG_PANEL_ROWS},
    {"xg_lu_panel_s_tall_sm90", &panel, XG_TYPE_S, XG_PANEL_TALL_ROWS},
    {"xg_lu_panel_d1_sm90", &alone, XG_TYPE_D, XG_PANEL_ROWS},
    {"xg_lu_panel_d_sm90", &panel, XG_TYPE_D, XG_PANEL_ROWS},
    {"xg_lu_panel_d_tall_sm90", &panel, XG_TYPE_D, XG_PANEL_TALL_ROWS},
    {"xg_lu_apply_s_panel_sm90", &apply, XG_TYPE_S, XG_PANEL},
    {"xg_lu_apply_s_block_sm90", &apply, XG_TYPE_S, XG_PANEL_BLOCK},
    {"xg_lu_apply_d_panel_sm90", &apply, XG_TYPE_D, XG_PANEL},
    {"xg_lu_apply_d_block_sm90", &apply, XG_TYPE_D, XG_PANEL_BLOCK},
    {0},
};
