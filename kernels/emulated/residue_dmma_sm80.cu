/* SPDX-License-Identifier: MIT */
/* Emulated DGEMM without integers, where the operands' numbers spread too much for them: the
 * kernel `dmma` of fp64/dgemm_dmma_sm80.cu, which reads the verdict first. */

#include "../common/dmma.cuh"
#include "residue.cuh"

#ifdef XG_SPLIT_SM80
typedef xg_dmma_layout<2, 4, 4, 4> layout_128x128;
enum { GROUP = 16 };

#define ENTRY(suffix, transa, transb)                                                              \
    extern "C" __global__ void __launch_bounds__(layout_128x128::THREADS, 1)                       \
        xg_residue_dmma_sm80_128x128x16_##suffix(                                                  \
            const __grid_constant__ struct xg_residue_native_args args)                            \
    {                                                                                              \
        XG_TILES_ASSERT_LAYOUT(dmma, 128x128x16, layout_128x128);                                  \
        if (!xg_residue_verdict(args.pair))                                                        \
            xg_dmma<layout_128x128, listed::BK, listed::STAGES, GROUP, false, transa, transb>(     \
                args.product);                                                                     \
    }
ENTRY(nn, false, false)
ENTRY(nt, false, true)
ENTRY(tn, true, false)
ENTRY(tt, true, true)
#else
XG_SPLIT_ABSENT(residue_dmma_sm80)
#endif
