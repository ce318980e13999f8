/* SPDX-License-Identifier: MIT */
/* Locates a plan's panels in their operands. */
#include "decide/plan.h"

#include <stdlib.h>

double xg_plan_bytes(const struct xg_plan *plan)
{
    double elems = (double)plan->a_elems + (double)plan->b_elems +
                   (double)plan->c_slots * (double)plan->tile_elems;
    return elems * (double)plan->elem_bytes;
}

void xg_plan_fini(struct xg_plan *plan)
{
    free(plan->loads);
    free(plan->runs);
    free(plan->tiles);
    *plan = (struct xg_plan){0};
}

int64_t xg_plan_rows(const struct xg_plan *plan, const struct xg_problem *call, int64_t i)
{
    return xg_min_i64(plan->tm, call->m - i * plan->tm);
}

int64_t xg_plan_columns(const struct xg_plan *plan, const struct xg_problem *call, int64_t j)
{
    return xg_min_i64(plan->tn, call->n - j * plan->tn);
}

int64_t xg_plan_depth(const struct xg_plan *plan, const struct xg_problem *call, int64_t l)
{
    return xg_min_i64(plan->tk, call->k - l * plan->tk);
}

struct xg_plan_panel xg_plan_panel(const struct xg_plan *plan, const struct xg_problem *call,
                                   const struct xg_plan_load *load)
{
    bool b = load->b, trans = b ? call->transb : call->transa;
    if (call->batch) {
        const struct xg_extent stored = xg_problem_stored(call, b);
        const int64_t first = load->index * plan->instances;
        const int64_t count = xg_min_i64(plan->instances, xg_problem_instances(call) - first);
        return (struct xg_plan_panel){first * stored.rows, count * stored.rows, 0, stored.columns};
    }
    const struct xg_plan_panel panel = {
        .row = load->index * (b ? plan->tn : plan->tm),
        .rows =
            b ? xg_plan_columns(plan, call, load->index) : xg_plan_rows(plan, call, load->index),
        .column = load->l * plan->tk,
        .columns = xg_plan_depth(plan, call, load->l),
    };
    /* A is (m,k), or (k,m) transposed; B is (k,n), or (n,k) transposed. */
    if (b == trans)
        return panel;
    return (struct xg_plan_panel){panel.column, panel.columns, panel.row, panel.rows};
}
