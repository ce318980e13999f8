/* SPDX-License-Identifier: MIT */
/* Ranks the rows of the kernel table for a shape by predicted time, and chooses the fastest. The
 * figures of the prediction are the generation's (generation.h). */
#include "decide/select.h"

#include <math.h>
#include <string.h>

#include "decide/tensor.h"

/* The floats of a tile for which fit->cluster.tile counts. */
static const double CLUSTER_TILE = 128 * 128;
_Static_assert(XG_KERNEL_TYPE_D == (int)XG_TYPE_D, "the table's word for the type");

/* route.h decides about these rows. */
enum { EMULATED = XG_KERNEL_PIECES | XG_KERNEL_RESIDUES };

const struct xg_kernel *xg_select_find(const char *name)
{
    for (size_t i = 0; i < xg_kernel_count; i++)
        if (!strcmp(xg_kernel_table[i].name, name))
            return &xg_kernel_table[i];
    return NULL;
}

bool xg_select_is_of(const struct xg_kernel *row, enum xg_type type)
{
    return row->type == (int)type ||
           (row->flags & XG_KERNEL_RESIDUES && row->type == (int)xg_type_real(type));
}

/* floor without a function call, because a selection needs some hundreds. From 2^53 on every x is
 * whole. */
static double whole(double x)
{
    return x < 0x1p53 ? (double)(int64_t)x : x;
}

static double ceil_ratio(double x, double y)
{
    double ratio = x / y, down = whole(ratio);
    return down < ratio ? down + 1.0 : down;
}

static double tiles_of(const struct xg_kernel *row, const struct xg_shape *shape)
{
    return ceil_ratio((double)shape->m, row->bm) * ceil_ratio((double)shape->n, row->bn);
}

static bool runs_on(const struct xg_kernel *row, const struct xg_device_facts *facts)
{
    return facts->images && (row->flags & XG_KERNEL_WGMMA ? xg_facts_generation(facts)->wgmma
                                                          : facts->sm >= row->sm_min);
}

static bool gains(const struct xg_kernel *row, const struct xg_device_facts *facts)
{
    return !(row->flags & XG_KERNEL_RESIDUES) ||
           xg_tensor_macs_per_cycle(facts, row) >=
               xg_facts_fit(facts)->residues.gain * xg_facts_macs_per_cycle(facts, XG_TYPE_D);
}

const struct xg_kernel *xg_select_emulated(const struct xg_device_facts *facts, unsigned flag,
                                           const char *name)
{
    const struct xg_kernel *named = name ? xg_select_find(name) : NULL;
    if (named && named->flags & flag)
        return runs_on(named, facts) ? named : NULL;
    for (size_t i = 0; i < xg_kernel_count; i++) {
        const struct xg_kernel *row = &xg_kernel_table[i];
        if (row->flags & flag && !(row->flags & XG_KERNEL_NAMED) && runs_on(row, facts) &&
            gains(row, facts))
            return row;
    }
    return NULL;
}

static bool serves(const struct xg_kernel *row, const struct xg_device_facts *facts,
                   const struct xg_shape *shape)
{
    if (row->flags & XG_KERNEL_CUBLAS)
        return facts->cublas && (shape->type == XG_TYPE_S || !(row->flags & XG_KERNEL_TF32));
    if (!xg_select_is_of(row, shape->type))
        return false;
    if (row->flags & XG_KERNEL_RESIDUES)
        return row == facts->residues && runs_on(row, facts) &&
               shape->k >= xg_facts_fit(facts)->residues.depth_min;
    if (row->flags & XG_KERNEL_PIECES)
        return row == facts->pieces && runs_on(row, facts) &&
               shape->k >= xg_facts_fit(facts)->pieces.depth_min;
    if (!runs_on(row, facts) || facts->smem_block_bytes < row->smem_bytes)
        return false;
    if (shape->unaligned && row->flags & XG_KERNEL_VEC4)
        return false;
    if (row->flags & XG_KERNEL_ONE_STEP && shape->k > row->bk)
        return false;
    if ((row->flags & XG_KERNEL_VECTOR) && !(row->bm == 1 ? shape->m == 1 : shape->n == 1))
        return false;
    return !(row->flags & XG_KERNEL_ONE_BLOCK) ||
           (shape->m <= row->bm && shape->n <= row->bn && shape->k <= row->bk);
}

bool xg_select_needs_cublas(const struct xg_device_facts *facts, const struct xg_problem *call)
{
    for (size_t i = 0; i < xg_kernel_count && !xg_problem_is_in_place(call); i++) {
        const struct xg_kernel *row = &xg_kernel_table[i];
        if (!(row->flags & XG_KERNEL_CUBLAS) && row->type == (int)call->type && runs_on(row, facts))
            return false;
    }
    return true;
}

static double elem_bytes(const struct xg_kernel *row)
{
    return (double)xg_type_bytes((enum xg_type)row->type);
}

static double elem_floats(const struct xg_kernel *row)
{
    return elem_bytes(row) / (double)sizeof(float);
}

/*
 * The share of its full rate that an SM reaches with this many warps: 1 from warps.full on. With
 * fewer warps latency is not hidden: one warp reaches about 30 %, and four reach 70 %.
 */
static double rate_share(const struct xg_fit *fit, double warps)
{
    double half = fit->warps.half, full = fit->warps.full;
    double share = warps / (warps + half) * (full + half) / full;
    return share < 1.0 ? share : 1.0;
}

static double larger(double x, double y)
{
    return x > y ? x : y;
}

/* The additional cycles of a block's step along k compared with operands that are not
 * transposed. */
static double turn_cycles(const struct xg_fit *fit, const struct xg_kernel *row,
                          const struct xg_shape *shape)
{
    if (!(row->flags & (XG_KERNEL_VEC4 | XG_KERNEL_SPLIT)) || row->flags & XG_KERNEL_SCALAR ||
        row->type != (int)XG_TYPE_S)
        return 0.0;
    double elems = (shape->transb ? row->bn : 0) - (shape->transa ? row->bm : 0);
    return fit->kernel.turn * elems * row->bk;
}

/* The cycles of an SM for `count` blocks at once, each with `steps` steps of `depth` along k. */
static double round_cycles(const struct xg_kernel *row, const struct xg_device_facts *facts,
                           const struct xg_shape *shape, double count, double steps, double depth)
{
    const struct xg_fit *fit = xg_facts_fit(facts);
    double warps = count * row->threads_x * row->threads_y / 32;
    double macs = count * row->bm * row->bn * depth;
    double rate = xg_facts_macs_per_cycle(facts, (enum xg_type)row->type) * row->efficiency *
                  rate_share(fit, warps);
    bool quads =
        row->flags & XG_KERNEL_SPLIT && !(row->flags & (XG_KERNEL_VECTOR | XG_KERNEL_SCALAR));
    if (shape->unaligned && quads)
        rate *= fit->memory.unaligned_share;
    double step = macs / rate + count * turn_cycles(fit, row, shape);
    return fit->kernel.block * elem_floats(row) + steps * larger(step, fit->kernel.step);
}

/* Combines two times that overlap: with the fourth power a clearly longer time hides the other. */
static double overlap(double x, double y)
{
    return sqrt(sqrt(x * x * x * x + y * y * y * y));
}

/*
 * Predicted cycles. The blocks are distributed over the SMs, and the SM with the most blocks,
 * `deepest`, ends last. It runs as many blocks at once as it holds, and computes whole tiles, even
 * beyond the edge of C. Meanwhile operands are read from memory once, and from L2 for each tile.
 * The model is coarse, but ranks the important cases: too large a tile leaves SMs idle or computes
 * beyond the edge, too small a tile multiplies at a lower rate and reads more, and too short a
 * slice costs more to merge than it gains.
 */
static double slices_cycles(const struct xg_kernel *row, const struct xg_device_facts *facts,
                            const struct xg_shape *shape, int slices)
{
    const struct xg_fit *fit = xg_facts_fit(facts);
    double m = (double)shape->m, n = (double)shape->n, k = (double)shape->k;
    double tiles = tiles_of(row, shape);
    double steps = ceil_ratio(ceil_ratio(k, row->bk), slices);
    double held = row->blocks;
    if (row->blocks == 0)
        held = larger(1.0, whole(fit->warps.held * 32.0 / (row->threads_x * row->threads_y)));
    double reach = slices <= 2 ? 1.0 : fit->cluster.share;
    double deepest = ceil_ratio(tiles * slices, reach * facts->sm_count);
    double rounds = whole(deepest / held), rest = deepest - rounds * held;
    double depth = row->flags & XG_KERNEL_ONE_STEP ? k : row->bk;
    double busy = rounds * round_cycles(row, facts, shape, held, steps, depth);
    if (rest > 0.0)
        busy += round_cycles(row, facts, shape, rest, steps, depth);
    if (held == 1.0 && deepest > 1.0)
        busy += (deepest - 1.0) * fit->kernel.lone;

    double share = facts->sm_count / fit->kernel.sms; /* of the measured device's bandwidth, because
                                                       * this device's is unknown */
    double memory =
        elem_bytes(row) * (m * k + k * n + m * n) / (fit->memory.bytes_per_cycle * share);
    double extent = row->bm + row->bn;
    if (row->flags & XG_KERNEL_VECTOR)
        extent = larger(extent, fit->memory.line_floats);
    double cache =
        elem_bytes(row) * tiles * extent * k / (fit->memory.cache_bytes_per_cycle * share);
    double merge = row->groups > 1 ? fit->warps.add : 0.0;
    if (slices > 1)
        merge += fit->cluster.meet + fit->cluster.tile * elem_floats(row) * (slices - 1) * row->bm *
                                         row->bn / CLUSTER_TILE;
    return fit->kernel.launch + overlap(busy, larger(memory, cache)) + merge;
}

/* Whether the device has clusters of so many blocks. With more slices than steps some would be
 * empty. */
static bool slices_admitted(const struct xg_kernel *row, const struct xg_device_facts *facts,
                            const struct xg_shape *shape, int slices)
{
    return facts->clusters && slices <= xg_facts_generation(facts)->cluster_blocks &&
           slices <= xg_ceil_div(shape->k, row->bk);
}

/* The best split of a row that can compute the shape, and its cycles. */
static int best_slices(const struct xg_kernel *row, const struct xg_device_facts *facts,
                       const struct xg_shape *shape, double *cycles)
{
    static const int candidates[] = {2, 3, 4, 8};
    int best = 1;
    *cycles = slices_cycles(row, facts, shape, best);
    if (!(row->flags & XG_KERNEL_SPLIT) ||
        tiles_of(row, shape) > row->blocks * (double)facts->sm_count)
        return best;
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (!slices_admitted(row, facts, shape, candidates[i]))
            continue;
        double took = slices_cycles(row, facts, shape, candidates[i]);
        if (took < *cycles) {
            best = candidates[i];
            *cycles = took;
        }
    }
    return best;
}

static double library_cycles(const struct xg_device_facts *facts, double efficiency,
                             const struct xg_shape *shape)
{
    const struct xg_fit *fit = xg_facts_fit(facts);
    double m = (double)shape->m, n = (double)shape->n, k = (double)shape->k;
    double macs = m * n * k * (xg_type_is_complex(shape->type) ? 4.0 : 1.0);
    double busy =
        macs / (xg_facts_macs_per_cycle(facts, shape->type) * efficiency * facts->sm_count);
    double memory = (double)xg_type_bytes(shape->type) * (m * k + k * n + m * n) /
                    (fit->memory.bytes_per_cycle * facts->sm_count / fit->kernel.sms);
    return fit->kernel.launch + larger(busy, memory);
}

double xg_select_library_cycles(const struct xg_device_facts *facts, const struct xg_shape *shape)
{
    return library_cycles(facts, xg_facts_fit(facts)->library_efficiency, shape);
}

struct xg_choice xg_select_row(const struct xg_kernel *row, const struct xg_device_facts *facts,
                               const struct xg_shape *shape)
{
    struct xg_choice choice = {.row = row, .slices = 1};
    const int64_t parts = xg_type_parts(shape->type);
    if (!serves(row, facts, shape))
        return (struct xg_choice){0};
    if (row->flags & XG_KERNEL_CUBLAS)
        choice.cycles = library_cycles(facts, row->efficiency, shape);
    else if (row->flags & XG_KERNEL_PIECES)
        choice.cycles = xg_tensor_cycles(facts, row, shape->m, shape->n, shape->k);
    else if (row->flags & XG_KERNEL_RESIDUES)
        choice.cycles = xg_tensor_residue_cycles(facts, row, shape->m, parts * shape->n,
                                                 parts * shape->k); /* residue.h */
    else
        choice.slices = best_slices(row, facts, shape, &choice.cycles);
    return choice;
}

/* Strict means IEEE single precision throughout; less exact rows need another mode. */
static bool admits(enum xg_math math, const struct xg_kernel *row)
{
    if (row->flags & XG_KERNEL_TF32)
        return math == XG_MATH_TF32;
    return math != XG_MATH_STRICT || !(row->flags & EMULATED);
}

struct xg_choice xg_select(const struct xg_device_facts *facts, enum xg_math math, const char *name,
                           const struct xg_shape *shape)
{
    const struct xg_kernel *named = name ? xg_select_find(name) : NULL;
    struct xg_choice best = {0}, library = {0};
    if (name && !named)
        return best;
    if (named && admits(math, named))
        best = xg_select_row(named, facts, shape);
    if (best.row)
        return best;
    for (size_t i = 0; i < xg_kernel_count; i++) {
        const struct xg_kernel *row = &xg_kernel_table[i];
        /* cuBLAS is the last choice, also in double precision: from 1024 up our kernels reached
         * 0.91 to 1.09 of its rate on an H200, and they need no library. */
        bool last = row->flags & XG_KERNEL_CUBLAS && !(row->flags & XG_KERNEL_TF32);
        bool ranked = !(row->flags & EMULATED);
        if (!admits(math, row) || !(last || ranked))
            continue;
        struct xg_choice choice = xg_select_row(row, facts, shape);
        if (choice.row && last)
            library = choice;
        else if (choice.row && (!best.row || choice.cycles < best.cycles))
            best = choice;
    }
    return best.row ? best : library;
}
