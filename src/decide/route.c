/* SPDX-License-Identifier: MIT */
/* Selects the kernel for the whole problem, and compares the link with the arithmetic. */
#include "decide/route.h"

#include <math.h>
#include <stdatomic.h>

#include "decide/tensor.h"
#include "kernels/table.h"

/* An instance of a batch that moves this many bytes keeps the pipeline busy alone. */
static const double ALONE_BYTES = 24 << 20;

/* --- Recent choices: a thread that finds the table locked selects again, and never waits ------ */

/* The number of places; a shape replaces another one in its place. */
enum { ANSWERS = 512 };

struct answer {
    struct xg_device_facts facts;
    enum xg_math math;
    struct xg_shape shape; /* m 0: the place is empty */
    struct xg_choice choice;
};

static struct answer answers[ANSWERS];
static atomic_flag taken = ATOMIC_FLAG_INIT;

static bool same_facts(const struct xg_device_facts *x, const struct xg_device_facts *y)
{
    return x->sm == y->sm && x->generation == y->generation && x->sm_count == y->sm_count &&
           x->smem_block_bytes == y->smem_block_bytes && x->fp64_ratio == y->fp64_ratio &&
           x->clusters == y->clusters && x->images == y->images && x->cublas == y->cublas &&
           x->pieces == y->pieces && x->residues == y->residues &&
           x->scratch_bytes == y->scratch_bytes;
}

static bool same_shape(const struct xg_shape *x, const struct xg_shape *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k && x->type == y->type &&
           x->transa == y->transa && x->transb == y->transb && x->unaligned == y->unaligned;
}

static size_t place_of(enum xg_math math, const struct xg_device_facts *facts,
                       const struct xg_shape *shape)
{
    uint64_t mixed = (uint64_t)shape->m * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (uint64_t)shape->n) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (uint64_t)shape->k) * 0x94d049bb133111ebu;
    mixed = (mixed ^ (uint64_t)shape->type << 8 ^ (uint64_t)math << 4 ^
             (uint64_t)facts->cublas << 2 ^ (uint64_t)shape->transa << 1 ^ shape->transb) *
            0x9e3779b97f4a7c15u;
    return (size_t)(mixed >> 32) % ANSWERS;
}

/* Whether the table has the choice; sets *choice if so. */
static bool find(const struct answer *place, const struct xg_device_facts *facts, enum xg_math math,
                 const struct xg_shape *shape, struct xg_choice *choice)
{
    if (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
        return false;
    bool found =
        place->math == math && same_shape(&place->shape, shape) && same_facts(&place->facts, facts);
    if (found)
        *choice = place->choice;
    atomic_flag_clear_explicit(&taken, memory_order_release);
    return found;
}

static void keep(struct answer *place, const struct answer *answer)
{
    if (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
        return;
    *place = *answer;
    atomic_flag_clear_explicit(&taken, memory_order_release);
}

struct xg_choice xg_route_select(const struct xg_device_facts *facts, enum xg_math math,
                                 const char *name, const struct xg_shape *shape)
{
    if (name)
        return xg_select(facts, math, name, shape);
    struct answer answer = {.facts = *facts, .math = math, .shape = *shape};
    struct answer *place = &answers[place_of(math, facts, shape)];
    if (!find(place, facts, math, shape, &answer.choice)) {
        answer.choice = xg_select(facts, math, NULL, shape);
        keep(place, &answer);
    }
    return answer.choice;
}

/* --- Routes ---------------------------------------------------------------------------------- */

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

bool xg_route_may_emulate(const struct xg_problem *call)
{
    return !xg_problem_is_in_place(call) && call->alpha_im == 0 && !xg_problem_is_rank_2k(call) &&
           (!call->batch || xg_route_is_one_by_one(call));
}

struct xg_choice xg_route_resident(const struct xg_device_facts *facts, enum xg_math math,
                                   const char *kernel_name, const struct xg_shape *shape)
{
    const struct xg_kernel *row = named_pieces(kernel_name);
    const bool named = row && xg_select_is_of(row, shape->type);
    struct xg_choice pieces = {0}, kernel;
    if (row)
        kernel_name = NULL;
    if (!named)
        row = kernel_name ? NULL : xg_type_is_double(shape->type) ? facts->residues : facts->pieces;
    if (row && math != XG_MATH_STRICT)
        pieces = xg_select_row(row, facts, shape);
    kernel = xg_route_select(facts, math, kernel_name, shape);
    double cycles = kernel.cycles;
    if (!kernel.row && xg_type_is_complex(shape->type)) /* cuBLAS may not be loaded yet */
        cycles = xg_select_library_cycles(facts, shape);
    bool wins = named || cycles == 0 || xg_facts_fit(facts)->pieces.margin * pieces.cycles < cycles;
    return pieces.row && wins ? pieces : kernel;
}

/* Whether an FP32 kernel takes long compared with the link, so that pieces pay. */
static bool arithmetic_binds(const struct xg_device_facts *facts, struct xg_choice kernel,
                             const struct xg_problem *call)
{
    const struct xg_fit *fit = xg_facts_fit(facts);
    double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    double bytes = fmax(k * (m + n), m * n) * (double)xg_problem_elem_bytes(call);
    return kernel.cycles / xg_facts_clock_hz(facts) >
           fit->pieces.launches_s +
               fit->pieces.link_share * bytes / xg_facts_link_bytes_per_s(facts);
}

static void choose_whole(struct xg_route *route, const struct xg_problem *call)
{
    const struct xg_kernel *row = named_pieces(route->kernel_name);
    const bool named = row && xg_select_is_of(row, call->type);
    const char *wanted = route->kernel_name;
    /* If a complex problem's residues do not fit, only cuBLAS is left. */
    const bool needs_kernel = xg_type_is_complex(call->type);
    const struct xg_shape shape =
        xg_shape_of(call, xg_problem_instance_rows(call), call->n, call->k);
    if (xg_problem_is_in_place(call)) {
        route->whole = xg_select_row(xg_select_find("cublas"), &route->facts, &shape);
        return;
    }
    if (row)
        route->kernel_name = NULL;
    route->whole = xg_route_resident(&route->facts, route->math, wanted, &shape);
    if (!is_of_pieces(route->whole.row))
        return;
    struct xg_choice kernel =
        xg_route_select(&route->facts, route->math, route->kernel_name, &shape);
    route->pieces =
        xg_route_may_emulate(call) &&
        (kernel.row ? named || arithmetic_binds(&route->facts, kernel, call) : !needs_kernel);
    if (!route->pieces)
        route->whole = kernel;
}

/* The kernel's rate at large sizes, divided by the link's rate with staged copies. */
static double macs_per_byte(const struct xg_route *route, enum xg_type type)
{
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

void xg_route_decide(struct xg_route *route, const struct xg_device_facts *facts, enum xg_math math,
                     const char *kernel_name, const struct xg_problem *call)
{
    *route = (struct xg_route){.facts = *facts, .math = math, .kernel_name = kernel_name};
    choose_whole(route, call);
    route->macs_per_byte = macs_per_byte(route, call->type);
}

struct xg_choice xg_route_run(const struct xg_route *route, const struct xg_problem *call,
                              int64_t m, int64_t n, int64_t k)
{
    const struct xg_shape shape = xg_shape_of(call, m, n, k);
    return xg_route_select(&route->facts, route->math, route->kernel_name, &shape);
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
