/* SPDX-License-Identifier: MIT */
/* FP32 from Hopper's tensor cores, each operand as two FP16 pieces: three products. */

#include "split_product.cuh"

#ifdef XG_SPLIT_HERE
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(PRODUCT_THREADS, 1)
    xg_sgemm_fp16x3_sm90_128x192x32(const __grid_constant__ struct xg_split_product_args args)
{
    split_product<false, 2, 2, true>(args);
}
#else
XG_SPLIT_ABSENT(sgemm_fp16x3_sm90)
#endif
