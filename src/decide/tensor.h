/* SPDX-License-Identifier: MIT */
/* What an FP32 product on tensor cores costs, and the tiles that it is cut into. Pure. */
#ifndef XG_TENSOR_H
#define XG_TENSOR_H

#include "base/xg.h"
#include "decide/facts.h"

/* A block's tile of C is this high and, of these widths, as wide as suits the shape; blocks work in
 * clusters, one above the other. What kernels/emulated/split_product.cuh is made for. */
enum { XG_TENSOR_ROWS = 128, XG_TENSOR_CLUSTER = 2, XG_TENSOR_WIDTHS = 3 };
extern const int xg_tensor_widths[XG_TENSOR_WIDTHS];

/* Index into xg_tensor_widths of the tiles with which C (m,n) is done first. */
int xg_tensor_width(const struct xg_device_facts *facts, int64_t m, int64_t n);

/*
 * Cycles of a product in FP16 pieces, the split of both operands included: to be compared with
 * xg_select_cycles. m, n, k >= 1.
 */
double xg_tensor_cycles(const struct xg_device_facts *facts, int64_t m, int64_t n, int64_t k);

#endif
