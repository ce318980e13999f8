/* SPDX-License-Identifier: MIT */
/* Predicts products on tensor cores from rounds of tiles, by the generation's fitted figures. */
#include "decide/tensor.h"

#include <math.h>

#include "kernels/emulated/residue_kabi.h"
#include "kernels/table.h"

const struct xg_tensor_tiles xg_tensor_wgmma = {XG_TENSOR_CLUSTER, {192, 176, 128}};
const struct xg_tensor_tiles xg_tensor_mma = {1, {192, 128}};

/* The split reads 4 bytes per element and writes as many. */
static const double SPLIT_BYTES = 8.0;

/* Products of FP16 pieces that replace one product of FP32. */
static const double FP16_PRODUCTS = 3;

int64_t xg_tensor_count(const struct xg_tensor_tiles *tiles, int width, int64_t m, int64_t n)
{
    return xg_ceil_div(m, tiles->blocks * XG_TENSOR_ROWS) * xg_ceil_div(n, width);
}

static double split_rate(const struct xg_device_facts *facts)
{
    return xg_facts_fit(facts)->tensor.split_bytes_per_cycle *
           (double)xg_max_i64(facts->sm_count, 1);
}

/* The most tiles that a cluster computes, one after the other. */
static int64_t rounds(const struct xg_tensor_tiles *tiles, const struct xg_device_facts *facts,
                      int64_t m, int64_t n, int width)
{
    return xg_ceil_div(xg_tensor_count(tiles, width, m, n),
                       xg_max_i64(facts->sm_count / tiles->blocks, 1));
}

/* The time of all rounds, in columns of a tile. */
static int64_t columns(const struct xg_tensor_tiles *tiles, const struct xg_device_facts *facts,
                       int64_t m, int64_t n, int width)
{
    return rounds(tiles, facts, m, n, width) * (width + xg_facts_fit(facts)->tensor.width_fixed);
}

int xg_tensor_width(const struct xg_tensor_tiles *tiles, const struct xg_device_facts *facts,
                    int64_t m, int64_t n)
{
    int best = 0;
    for (int i = 1; i < XG_TENSOR_WIDTHS && tiles->widths[i]; i++)
        if (columns(tiles, facts, m, n, tiles->widths[i]) <
            columns(tiles, facts, m, n, tiles->widths[best]))
            best = i;
    return best;
}

double xg_tensor_macs_per_cycle(const struct xg_device_facts *facts, const struct xg_kernel *row)
{
    const struct xg_generation *generation = xg_facts_generation(facts);
    const double efficiency = row->efficiency;
    if (row->flags & XG_KERNEL_RESIDUES)
        return efficiency * fmax(generation->rates.int8, XG_RESIDUE_MODULI_COUNT) /
               XG_RESIDUE_MODULI_COUNT;
    if (row->flags & XG_KERNEL_WGMMA)
        return efficiency * generation->rates.ffma;
    return efficiency * fmax(generation->rates.fp16, generation->rates.ffma) / FP16_PRODUCTS;
}

double xg_tensor_cycles(const struct xg_device_facts *facts, const struct xg_kernel *row, int64_t m,
                        int64_t n, int64_t k)
{
    const struct xg_fit *fit = xg_facts_fit(facts);
    double before =
        fit->tensor.launch + ((double)m + (double)n) * (double)k * SPLIT_BYTES / split_rate(facts);
    bool wgmma = row->flags & XG_KERNEL_WGMMA;
    const struct xg_tensor_tiles *tiles = wgmma ? &xg_tensor_wgmma : &xg_tensor_mma;
    int width = tiles->widths[xg_tensor_width(tiles, facts, m, n)];
    double column =
        wgmma ? fit->tensor.column : XG_TENSOR_ROWS / xg_tensor_macs_per_cycle(facts, row);
    return before + (double)columns(tiles, facts, m, n, width) * (double)k * column +
           (double)rounds(tiles, facts, m, n, width) * width * fit->tensor.store;
}

double xg_tensor_residue_cycles(const struct xg_device_facts *facts, const struct xg_kernel *row,
                                int64_t m, int64_t n, int64_t k)
{
    const struct xg_fit *fit = xg_facts_fit(facts);
    double elems = ((double)m + (double)n) * (double)k + (double)m * (double)n;
    int64_t blocks = row->flags & XG_KERNEL_WGMMA ? XG_TENSOR_CLUSTER : 1; /* that share a tile */
    int64_t tiles = xg_ceil_div(m, row->bm) * xg_ceil_div(n, row->bn) * XG_RESIDUE_MODULI_COUNT;
    double tile = row->bm * row->bn * (double)k / (double)(XG_RESIDUE_MODULI_COUNT * blocks) /
                  xg_tensor_macs_per_cycle(facts, row);
    return fit->tensor.launch + elems * fit->residues.element_bytes / split_rate(facts) +
           (double)xg_ceil_div(tiles, xg_max_i64(facts->sm_count / blocks, 1)) * tile;
}
