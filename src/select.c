/* SPDX-License-Identifier: MIT */
/* Ranks the rows of the kernel table for a shape by predicted time, and takes the least. */
#include "select.h"

#include <string.h>

/* An SM multiplies and adds this many FP32 numbers a cycle, from sm_80 on (64 on sm_75: all rows
 * alike, so the ranking does not change). */
static const double MACS_PER_CYCLE = 128.0;

/* Warps that an SM must hold to reach a kernel's full rate, and how fast the rate comes (see
 * below). */
static const double WARPS_FULL = 16.0, WARPS_HALF = 3.0;

/* A block's first loads and last stores, in cycles. Blocks that share an SM hide each other's; more
 * than this many warps do not fit and come after. */
static const double BLOCK_CYCLES = 2000.0, WARPS_RESIDENT = 32.0;

/* A step along k waits for memory at least this long, whatever else the SM has to do. */
static const double STEP_CYCLES = 200.0;

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
                   (MACS_PER_CYCLE * row->efficiency * facts->sm_count) +
               BLOCK_CYCLES;
    double tiles = (double)xg_ceil_div(m, row->bm) * (double)xg_ceil_div(n, row->bn);
    double deepest = (double)((int64_t)((tiles + facts->sm_count - 1) / facts->sm_count));
    double macs = (double)row->bm * row->bn * (double)xg_round_up(k, row->bk);
    double warps = deepest * row->threads_x * row->threads_y / 32;
    double rate = MACS_PER_CYCLE * row->efficiency * rate_share(warps);
    double rounds = warps < WARPS_RESIDENT ? 1.0 : warps / WARPS_RESIDENT;
    double busy = deepest * macs / rate, waiting = (double)xg_ceil_div(k, row->bk) * STEP_CYCLES;
    return rounds * BLOCK_CYCLES + (busy > waiting ? busy : waiting);
}

const struct xg_kernel *xg_select(const struct xg_device_facts *facts, enum xg_math math,
                                  const char *name, int64_t m, int64_t n, int64_t k)
{
    /* All rows so far are IEEE single precision throughout, which every xg_math admits. */
    (void)math;
    if (name) {
        const struct xg_kernel *forced = xg_select_find(name);
        if (!forced || xg_select_serves(forced, facts, m, n, k))
            return forced;
    }
    const struct xg_kernel *best = NULL, *library = NULL;
    double best_cycles = 0.0;
    for (size_t i = 0; i < xg_kernel_count; i++) {
        const struct xg_kernel *row = &xg_kernel_table[i];
        if (!xg_select_serves(row, facts, m, n, k))
            continue;
        if (row->flags & XG_KERNEL_CUBLAS) {
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
