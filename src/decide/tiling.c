/* SPDX-License-Identifier: MIT */
/* Chooses a cut by the product's bottleneck, and panel sizes by its bytes. */
#include "decide/tiling.h"

#include <math.h>

/*
 * A pipeline of s stages idles for about 1/s of its time while it fills and drains. In a line each
 * panel is one kernel. In a grid the kernels grow with its side, and small kernels leave
 * multiprocessors idle.
 */
static const double STAGES_LINE = 32, STAGES_GRID = 24;

/*
 * The link needs transfers of at least a megabyte, and each stage takes tens of microseconds of
 * driver calls. But small products need their first kernel early: a product that would have fewer
 * than STAGES_FEW stages gets smaller panels, of at least PANEL_BYTES_MIN (512^3: 0.15 ms instead
 * of 0.17).
 */
static const double PANEL_BYTES = 1536 << 10, PANEL_BYTES_MIN = 512 << 10,
                    PANEL_BYTES_MAX = 24 << 20;
static const double STAGES_FEW = 12;

/* For grids. DEPTH_MAX: the largest depth of panels that can be wide instead. */
enum { TILE_MIN = 256, TILE_STEP = 128, DEPTH_MAX = 4096 };

/*
 * A grid with at least this depth is cut into two slices or more. Half of the arithmetic is then
 * done before the last slice arrives, so less of it waits for the last panel. More slices would
 * leave too little time to copy C back while the last one arrives.
 */
enum { SLICES = 2, SLICED_DEPTH_MIN = 2048 };

/*
 * A product whose arithmetic takes less than LINE_SHARE of the time of the busier direction is
 * bound by the link even if no kernel runs before half of the operands have arrived. MACS_PER_BYTE:
 * an H200's FP32 kernels, 24e12 multiply-adds per second, divided by its link, 48e9 bytes per
 * second.
 */
static const double MACS_PER_BYTE = 500, LINE_SHARE = 0.576;

/* C is small if it is at most this share of the operands. */
static const double SLICES_C_SHARE = 1.0 / 16;

/*
 * ROWS_SHARE: A is cut, and rows of C stay whole, even if B is larger by this factor. COLUMNS_MIN:
 * the fewest columns of a cut, because shorter rows of C and of an untransposed B are slow to copy
 * on both sides of the link (802 x 2413 x 6493: 2.5 ms; 4.2 in strips of 128 columns). Problems in
 * place can be cut only into columns.
 */
static const double ROWS_SHARE = 0.4, COLUMNS_MIN = 512;

/* The cut goes through the operand that travels: each of its panels then completes a part of C. */
static bool is_held(const struct xg_problem *call, bool b)
{
    return call->held[b] > xg_problem_travel_elems(call, b);
}

static enum xg_tiling_kind choose_kind(const struct xg_problem *call, int64_t row_elems,
                                       double macs_per_byte)
{
    if (xg_problem_is_in_place(call))
        return call->structured == XG_OPERAND_A ? XG_TILING_COLUMNS : XG_TILING_ROWS;
    double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    double up = k * (m + n), down = m * n, elem_bytes = (double)xg_problem_elem_bytes(call);
    bool slices_are_rows = m > n ? call->transa : !call->transb; /* of the larger operand */
    const int64_t widest_c = xg_max_i64(call->n, call->m), row = xg_max_i64(widest_c, call->k);
    if (row <= row_elems && (is_held(call, false) || is_held(call, true)))
        return is_held(call, true) ? XG_TILING_ROWS : XG_TILING_COLUMNS;
    if (slices_are_rows && down < SLICES_C_SHARE * up && widest_c <= row_elems)
        return XG_TILING_SLICES;
    double bytes = m * n * k / (macs_per_byte > 0 ? macs_per_byte : MACS_PER_BYTE);
    if (bytes > LINE_SHARE * fmax(up, down) * elem_bytes || row > row_elems)
        return XG_TILING_GRID;
    return m >= ROWS_SHARE * n ? XG_TILING_ROWS : XG_TILING_COLUMNS;
}

struct xg_tiling xg_tiling_choose(const struct xg_problem *call, int64_t row_elems,
                                  double macs_per_byte)
{
    double m = (double)call->m, n = (double)call->n, k = (double)call->k;
    struct xg_tiling tiling = {.kind = choose_kind(call, row_elems, macs_per_byte)};
    double stages = STAGES_LINE;
    if (tiling.kind == XG_TILING_GRID)
        stages = STAGES_GRID * (call->k >= SLICED_DEPTH_MIN ? SLICES : 1);
    double elem_bytes = (double)xg_problem_elem_bytes(call);
    double bytes = (m * k + k * n + m * n) * elem_bytes;
    double least = fmax(PANEL_BYTES_MIN, fmin(PANEL_BYTES, bytes / STAGES_FEW));
    tiling.panel_elems = fmin(fmax(bytes / stages, least), PANEL_BYTES_MAX) / elem_bytes;
    return tiling;
}

/* Cuts `extent` into equal parts of at most `part`, in multiples that suit the kernels. */
static int64_t balance(int64_t extent, double part)
{
    if (part >= (double)extent)
        return extent;
    int64_t parts = xg_ceil_div(extent, xg_max_i64(1, (int64_t)part));
    return xg_min_i64(extent, xg_round_up(xg_ceil_div(extent, parts), TILE_STEP));
}

static void cut_grid(const struct xg_tiling *tiling, const struct xg_problem *call,
                     int64_t row_elems, int64_t *tm, int64_t *tn, int64_t *tk)
{
    double elems = tiling->panel_elems, m = (double)call->m, n = (double)call->n;
    /* Slim products get deep slices (few runs); little memory makes slices shallow. */
    double depth = fmax(elems / fmax(m, n), DEPTH_MAX);
    depth = fmin(depth, fmax(elems / TILE_MIN, TILE_MIN));
    if (call->k >= SLICED_DEPTH_MIN)
        depth = fmin(depth, (double)xg_ceil_div(call->k, SLICES));
    *tk = balance(call->k, fmin(depth, (double)row_elems));

    double side = fmax(TILE_MIN, elems / (double)*tk), square = fmax(sqrt(elems), TILE_MIN);
    double rows = fmin(m, side), columns = fmin(n, side);
    if (rows * columns > square * square) {
        /* Elements that the shorter side does not need go to the longer side. */
        double shorter = fmin(fmin(rows, columns), square);
        double longer = square * square / shorter;
        bool wide = rows <= columns;
        rows = fmin(rows, wide ? shorter : longer);
        columns = fmin(columns, wide ? longer : shorter);
    }
    *tm = balance(call->m, fmin(rows, (double)row_elems));
    *tn = balance(call->n, fmin(columns, (double)row_elems));
}

void xg_tiling_panels(const struct xg_tiling *tiling, const struct xg_problem *call,
                      int64_t row_elems, int64_t *tm, int64_t *tn, int64_t *tk)
{
    double m = (double)call->m, n = (double)call->n, k = (double)call->k, least;
    *tm = call->m;
    *tn = call->n;
    *tk = call->k;
    switch (tiling->kind) {
    case XG_TILING_SLICES:
        *tk = balance(call->k, fmin(tiling->panel_elems / fmax(m, n), (double)row_elems));
        break;
    case XG_TILING_ROWS:
        *tm = balance(call->m, tiling->panel_elems / fmax(n, k));
        break;
    case XG_TILING_COLUMNS:
        least = xg_problem_is_in_place(call) ? TILE_STEP : COLUMNS_MIN;
        *tn = balance(call->n,
                      fmin(fmax(tiling->panel_elems / fmax(m, k), least), (double)row_elems));
        break;
    case XG_TILING_GRID:
        cut_grid(tiling, call, row_elems, tm, tn, tk);
        break;
    }
    if (call->uplo != XG_FULL)
        *tm = *tn = xg_min_i64(*tm, *tn);
}
