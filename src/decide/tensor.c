/* SPDX-License-Identifier: MIT */
/* Predicts products on tensor cores from rounds of tiles; the constants are of an H200
 * (NOTES.md). */
#include "decide/tensor.h"

#include <math.h>

#include "kernels/emulated/residue_kabi.h"
#include "kernels/table.h"

const int xg_tensor_widths[XG_TENSOR_WIDTHS] = {192, 176, 128};

/* A column of a tile takes COLUMN_CYCLES per element of k and STORE_CYCLES for its store; the start
 * and the end of a tile cost as much as WIDTH_FIXED columns. */
static const double COLUMN_CYCLES = 0.22, STORE_CYCLES = 80.0;
enum { WIDTH_FIXED = 16 };

/* The split reads 4 bytes per element and writes as many; the launches take LAUNCH_CYCLES. */
static const double SPLIT_BYTES = 8.0, SPLIT_BYTES_PER_CYCLE = 1400.0, LAUNCH_CYCLES = 60000.0;

/* An element of an operand is read twice as a double and written as residues, and one of C
 * likewise; the arithmetic takes as long as a third more bytes. */
static const double RESIDUE_BYTES = 43.0;

/* mma.sync: products of pieces for one of FP32, and the assumed share of the FP16 rate. */
static const double FP16_PRODUCTS = 3, MMA_USUAL = 0.6;

/* The most tiles that a cluster computes, one after the other. */
static int64_t rounds(const struct xg_device_facts *facts, int64_t m, int64_t n, int width)
{
    int64_t tiles = xg_ceil_div(m, XG_TENSOR_CLUSTER * XG_TENSOR_ROWS) * xg_ceil_div(n, width);
    return xg_ceil_div(tiles, xg_max_i64(facts->sm_count / XG_TENSOR_CLUSTER, 1));
}

/* The time of all rounds, in columns of a tile. */
static int64_t columns(const struct xg_device_facts *facts, int64_t m, int64_t n, int i)
{
    return rounds(facts, m, n, xg_tensor_widths[i]) * (xg_tensor_widths[i] + WIDTH_FIXED);
}

int xg_tensor_width(const struct xg_device_facts *facts, int64_t m, int64_t n)
{
    int best = 0;
    for (int i = 1; i < XG_TENSOR_WIDTHS; i++)
        if (columns(facts, m, n, i) < columns(facts, m, n, best))
            best = i;
    return best;
}

double xg_tensor_macs_per_cycle(const struct xg_device_facts *facts, const struct xg_kernel *row)
{
    const struct xg_generation *generation = xg_facts_generation(facts);
    const double efficiency = row->efficiency > 0 ? row->efficiency : MMA_USUAL;
    if (row->flags & XG_KERNEL_RESIDUES)
        return efficiency * fmax(generation->int8, XG_RESIDUE_MODULI_COUNT) /
               XG_RESIDUE_MODULI_COUNT;
    if (row->flags & XG_KERNEL_WGMMA)
        return row->efficiency * generation->ffma;
    return efficiency * fmax(generation->fp16, generation->ffma) / FP16_PRODUCTS;
}

double xg_tensor_cycles(const struct xg_device_facts *facts, const struct xg_kernel *row, int64_t m,
                        int64_t n, int64_t k)
{
    double before =
        LAUNCH_CYCLES + ((double)m + (double)n) * (double)k * SPLIT_BYTES / SPLIT_BYTES_PER_CYCLE;
    if (row->flags & XG_KERNEL_WGMMA) {
        int best = xg_tensor_width(facts, m, n), width = xg_tensor_widths[best];
        return before + (double)columns(facts, m, n, best) * (double)k * COLUMN_CYCLES +
               (double)rounds(facts, m, n, width) * width * STORE_CYCLES;
    }
    int64_t tiles = xg_ceil_div(m, row->bm) * xg_ceil_div(n, row->bn);
    double tile = row->bm * row->bn * (double)k / xg_tensor_macs_per_cycle(facts, row);
    return before + (double)xg_ceil_div(tiles, xg_max_i64(facts->sm_count, 1)) *
                        (tile + row->bn * STORE_CYCLES);
}

double xg_tensor_residue_cycles(const struct xg_device_facts *facts, const struct xg_kernel *row,
                                int64_t m, int64_t n, int64_t k)
{
    double elems = ((double)m + (double)n) * (double)k + (double)m * (double)n;
    int64_t blocks = row->flags & XG_KERNEL_WGMMA ? XG_TENSOR_CLUSTER : 1; /* that share a tile */
    int64_t tiles = xg_ceil_div(m, row->bm) * xg_ceil_div(n, row->bn) * XG_RESIDUE_MODULI_COUNT;
    double tile = row->bm * row->bn * (double)k / (double)(XG_RESIDUE_MODULI_COUNT * blocks) /
                  xg_tensor_macs_per_cycle(facts, row);
    return LAUNCH_CYCLES + elems * RESIDUE_BYTES / SPLIT_BYTES_PER_CYCLE +
           (double)xg_ceil_div(tiles, xg_max_i64(facts->sm_count / blocks, 1)) * tile;
}
