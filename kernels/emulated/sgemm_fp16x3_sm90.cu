/* SPDX-License-Identifier: MIT */
/* FP32 accuracy on Hopper's tensor cores: each operand as two FP16 pieces, three products. Known
 * from Markidis et al. (2018) and Ootomo and Yokota (2022). */

#include "split_product.cuh"

#ifdef XG_SPLIT_SM90
#define ENTRY(width)                                                                               \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1)                                     \
        __launch_bounds__(PRODUCT_THREADS, 1) xg_sgemm_fp16x3_sm90_128x##width##x32(               \
            const __grid_constant__ struct xg_split_product_args args)                             \
    {                                                                                              \
        split_product<false, width>(args);                                                         \
    }
ENTRY(192)
ENTRY(176)
ENTRY(128)
#else
XG_SPLIT_ABSENT(sgemm_fp16x3_sm90)
#endif
