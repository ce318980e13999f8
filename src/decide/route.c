/* SPDX-License-Identifier: MIT */
/* Selects the kernel for the whole problem, and compares the link with the arithmetic. */
#include "decide/route.h"

#include <math.h>

#include "decide/plan.h"
#include "decide/tensor.h"
#include "kernels/table.h"

/* An instance of a batch that moves this many bytes keeps the pipeline busy alone. */
static const double ALONE_BYTES = 24 << 20;

static bool is_of_pieces(const struct xg_kernel *row)
{
    return row && row->flags & (XG_KERNEL_PIECES | XG_KERNEL_RESIDUES);
}

/* The named row if it works on pieces or residues, else NULL. Such a name applies to the types that
 * it computes; the others, and runs without pieces, then use the chosen kernel. */
static const struct xg_kernel *named_pieces(const char *name)
{
    const struct xg_kernel *row = name ? xg_select_find(name) : NULL;
    return is_of_pieces(row) ? row : NULL;
}

/* Whether pieces or residues may compute the problem: cuBLAS computes problems in place and with a
 * complex alpha, and SYR2K and batches of small instances use other kernels. */
static bool may_emulate(const struct xg_problem *call)
{
    return !xg_problem_is_in_place(call) && call->alpha_im == 0 && !xg_problem_is_rank_2k(call) &&
           (!call->batch || xg_route_is_one_by_one(call));
}

/* The two ways to compute a shape. */
struct ways {
    struct xg_choice kernel; /* of the table */
    struct xg_choice pieces; /* or residues; no row: neither named nor expected to be clearly
                              * faster */
    bool named;              /* pieces by name */
};

static struct ways ways_of(struct xg_recent *recent, const struct xg_device_facts *facts,
                           enum xg_math math, const char *kernel_name, const struct xg_shape *shape)
{
    const struct xg_kernel *row = named_pieces(kernel_name);
    struct ways ways = {.named = row && xg_select_is_of(row, shape->type)};
    if (row)
        kernel_name = NULL;
    if (!ways.named)
        row = kernel_name ? NULL : xg_type_is_double(shape->type) ? facts->residues : facts->pieces;
    if (row && math != XG_MATH_STRICT)
        ways.pieces = xg_select_row(row, facts, shape);
    ways.kernel = xg_recent_select(recent, facts, math, kernel_name, shape);
    double cycles = ways.kernel.cycles;
    if (!ways.kernel.row && xg_type_is_complex(shape->type)) /* cuBLAS may not be loaded yet */
        cycles = xg_select_library_cycles(facts, shape);
    if (!ways.named && cycles != 0 &&
        xg_facts_fit(facts)->pieces.margin * ways.pieces.cycles >= cycles)
        ways.pieces.row = NULL;
    return ways;
}

struct xg_choice xg_route_resident(const struct xg_device_facts *facts, enum xg_math math,
                                   const char *kernel_name, const struct xg_shape *shape)
{
    const struct ways ways = ways_of(NULL, facts, math, kernel_name, shape);
    return ways.pieces.row ? ways.pieces : ways.kernel;
}

/* Whether an FP32 kernel takes long compared with the link, so that pieces pay. */
static bool arithmetic_binds(const struct xg_device_facts *facts, struct xg_choice kernel,
                             const struct xg_problem *call)
{
    const struct xg_fit *fit = xg_facts_fit(facts);
    double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    double up = k * (m + n) - call->held[0] - call->held[1];
    double bytes = fmax(up, m * n) * (double)xg_problem_elem_bytes(call);
    return kernel.cycles / xg_facts_clock_hz(facts) >
           fit->pieces.launches_s +
               fit->pieces.link_share * bytes / xg_facts_link_bytes_per_s(facts);
}

static void choose_whole(struct xg_route *route, struct xg_recent *recent,
                         const struct xg_problem *call)
{
    if (xg_problem_is_in_place(call)) {
        route->whole = xg_select_row(xg_select_find("cublas"), &route->facts, &route->shape);
        return;
    }
    const struct ways ways =
        ways_of(recent, &route->facts, route->math, route->kernel_name, &route->shape);
    /* If a complex problem's residues do not fit, only cuBLAS is left. */
    route->pieces =
        ways.pieces.row && may_emulate(call) &&
        (ways.kernel.row ? ways.named || arithmetic_binds(&route->facts, ways.kernel, call)
                         : !xg_type_is_complex(call->type));
    route->whole = route->pieces ? ways.pieces : ways.kernel;
    if (named_pieces(route->kernel_name))
        route->kernel_name = NULL;
}

void xg_route_decide(struct xg_route *route, struct xg_recent *recent,
                     const struct xg_device_facts *facts, enum xg_math math,
                     const char *kernel_name, const struct xg_problem *call)
{
    route->facts = *facts;
    route->math = math;
    route->kernel_name = kernel_name;
    route->shape = xg_shape_of(call, xg_problem_instance_rows(call), call->n, call->k);
    route->pieces = false;
    choose_whole(route, recent, call);
}

void xg_route_choose(const struct xg_route *route, struct xg_recent *recent, struct xg_plan *plan)
{
    for (int i = 0; i < plan->choice_count; i++)
        plan->choices[i].choice = xg_recent_select(recent, &route->facts, route->math,
                                                   route->kernel_name, &plan->choices[i].shape);
}

/* The kernel's rate at large sizes, divided by the link's rate with staged copies. */
double xg_route_macs_per_byte(const struct xg_route *route)
{
    const enum xg_type type = route->shape.type;
    const struct xg_kernel *row = route->whole.row;
    double per_cycle = xg_facts_macs_per_cycle(&route->facts, type);
    if (row)
        per_cycle = is_of_pieces(row) ? xg_tensor_macs_per_cycle(&route->facts, row)
                                      : row->efficiency * per_cycle;
    if (xg_type_is_complex(type))
        per_cycle /= 4;
    return per_cycle * route->facts.sm_count * xg_facts_clock_hz(&route->facts) /
           (XG_LINK_STAGED_SHARE * xg_facts_link_bytes_per_s(&route->facts));
}

enum xg_sums xg_route_sums(const struct xg_route *route, const struct xg_problem *call, bool pieces)
{
    if (pieces && call->type == XG_TYPE_S)
        return XG_SUMS_PIECES;
    return call->type == XG_TYPE_S && route->math == XG_MATH_TF32 ? XG_SUMS_TF32 : XG_SUMS_FP32;
}

bool xg_route_is_one_by_one(const struct xg_problem *call)
{
    if (!call->batch)
        return false;
    const struct xg_problem instance = xg_problem_instance(call, 0);
    double elems = xg_problem_up_elems(&instance) + xg_problem_down_elems(&instance);
    return call->batch->count == 1 || elems * (double)xg_problem_elem_bytes(call) >= ALONE_BYTES;
}
