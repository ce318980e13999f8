/* SPDX-License-Identifier: MIT */
/* Ranks the rows of the kernel table for a shape by predicted time, and takes the least. */
#include "select.h"

#include <string.h>

/* Warps that an SM must hold to reach a kernel's full rate, and how fast the rate comes (see
 * below). */
static const double WARPS_FULL = 16.0, WARPS_HALF = 3.0;

/* A block's first loads and last stores, in cycles. Blocks that share an SM hide each other's; more
 * than this many warps do not fit and come after. */
static const double BLOCK_CYCLES = 2000.0, WARPS_RESIDENT = 32.0;

/* A step along k waits for memory at least this long, whatever else the SM has to do. */
static const double STEP_CYCLES = 200.0;

/*
 * Pieces: what a number costs to split, in cycles of the whole device; the launches around the
 * product; and the least depth at which they are worth looking at.
 */
static const double SPLIT_CYCLES = 0.0105, PIECES_CYCLES = 30000.0;
enum { PIECES_DEPTH_MIN = 128, PIECES_SMS = 2 };

const struct xg_kernel *xg_select_find(const char *name)
{
    for (size_t i = 0; i < xg_kernel_count; i++)
        if (!strcmp(xg_kernel_table[i].name, name))
            return &xg_kernel_table[i];
    return NULL;
}

bool xg_select_serves(const struct xg_kernel *row, const struct xg_device_facts *facts, int64_t m,
                      int64_t n, int64_t k)
{
    if (row->flags & XG_KERNEL_CUBLAS)
        return facts->cublas;
    if (row->flags & XG_KERNEL_PIECES)
        return facts->pieces && facts->images && k >= PIECES_DEPTH_MIN;
    if (!facts->images || facts->sm < row->sm_min || facts->smem_block_bytes < row->smem_bytes)
        return false;
    return !(row->flags & XG_KERNEL_ONE_BLOCK) || (m <= row->bm && n <= row->bn && k <= row->bk);
}

/*
 * The share of its full rate that an SM reaches with so many warps: 1 from WARPS_FULL on. Below it,
 * latency shows: one warp alone reaches about 30 %, four 70 %.
 */
static double rate_share(double warps)
{
    double share = warps / (warps + WARPS_HALF) * (WARPS_FULL + WARPS_HALF) / WARPS_FULL;
    return share < 1.0 ? share : 1.0;
}

/* Two SMs compute a tile; all operands are split before. */
static double pieces_cycles(const struct xg_kernel *row, const struct xg_device_facts *facts,
                            int64_t m, int64_t n, int64_t k)
{
    int64_t tiles = xg_ceil_div(m, row->bm) * xg_ceil_div(n, row->bn);
    int64_t places = xg_max_i64(1, facts->sm_count / PIECES_SMS);
    double macs = (double)row->bm * row->bn * (double)xg_round_up(k, row->bk) / PIECES_SMS;
    double numbers = (double)(m + n) * (double)k * 132.0 / facts->sm_count;
    return PIECES_CYCLES + SPLIT_CYCLES * numbers +
           (double)xg_ceil_div(tiles, places) * macs / (XG_SELECT_MACS_PER_CYCLE * row->efficiency);
}

/*
 * Predicted cycles. The tiles are dealt to the SMs; the SM with the most, `deepest`, ends last. It
 * runs as many at once as there are, which decides how well it is filled, and computes whole tiles,
 * inside C or not. Coarse, but it orders what matters: a tile too large leaves SMs idle or computes
 * beyond the edge, one too small multiplies at a lower rate.
 */
double xg_select_cycles(const struct xg_kernel *row, const struct xg_device_facts *facts, int64_t m,
                        int64_t n, int64_t k)
{
    if (row->flags & XG_KERNEL_CUBLAS)
        return (double)m * (double)n * (double)k /
                   (XG_SELECT_MACS_PER_CYCLE * row->efficiency * facts->sm_count) +
               BLOCK_CYCLES;
    if (row->flags & XG_KERNEL_PIECES)
        return pieces_cycles(row, facts, m, n, k);
    double tiles = (double)xg_ceil_div(m, row->bm) * (double)xg_ceil_div(n, row->bn);
    double deepest = (double)((int64_t)((tiles + facts->sm_count - 1) / facts->sm_count));
    double macs = (double)row->bm * row->bn * (double)xg_round_up(k, row->bk);
    double warps = deepest * row->threads_x * row->threads_y / 32;
    double rate = XG_SELECT_MACS_PER_CYCLE * row->efficiency * rate_share(warps);
    double rounds = warps < WARPS_RESIDENT ? 1.0 : warps / WARPS_RESIDENT;
    double busy = deepest * macs / rate, waiting = (double)xg_ceil_div(k, row->bk) * STEP_CYCLES;
    return rounds * BLOCK_CYCLES + (busy > waiting ? busy : waiting);
}

/* Strict is IEEE single precision throughout; what is less exact than that must be asked for. */
static bool admits(enum xg_math math, const struct xg_kernel *row)
{
    if (row->flags & XG_KERNEL_TF32)
        return math == XG_MATH_TF32;
    return math != XG_MATH_STRICT || !(row->flags & XG_KERNEL_PIECES);
}

const struct xg_kernel *xg_select(const struct xg_device_facts *facts, enum xg_math math,
                                  const char *name, int64_t m, int64_t n, int64_t k)
{
    if (name) {
        const struct xg_kernel *forced = xg_select_find(name);
        if (!forced || (admits(math, forced) && xg_select_serves(forced, facts, m, n, k)))
            return forced;
    }
    const struct xg_kernel *best = NULL, *library = NULL;
    double best_cycles = 0.0;
    for (size_t i = 0; i < xg_kernel_count; i++) {
        const struct xg_kernel *row = &xg_kernel_table[i];
        if (!admits(math, row) || !xg_select_serves(row, facts, m, n, k))
            continue;
        if (row->flags & XG_KERNEL_CUBLAS && !(row->flags & XG_KERNEL_TF32)) {
            library = row;
            continue;
        }
        double cycles = xg_select_cycles(row, facts, m, n, k);
        if (!best || cycles < best_cycles) {
            best = row;
            best_cycles = cycles;
        }
    }
    return best ? best : library;
}
