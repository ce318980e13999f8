/* SPDX-License-Identifier: MIT */
/* FP32 accuracy on tensor cores by mma.sync: each operand as three BF16 pieces, six products. */

#include "split_mma.cuh"

#ifdef XG_SPLIT_SM80
extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS, 1)
    xg_sgemm_bf16x6_sm80_128x128x32(const __grid_constant__ struct xg_split_product_args args)
{
    split_product<true, 128>(args);
}
#else
XG_SPLIT_ABSENT(sgemm_bf16x6_sm80)
#endif
