/* SPDX-License-Identifier: MIT */
/* `deep` with an even distribution of the work for any number of tiles (share.cuh). Tile 128x128,
 * 256 threads, FP32. The method is known as Stream-K (Osama et al., PPoPP 2023). */

/*
 * Why. 1536 x 1536 results are 144 tiles for 132 multiprocessors: with whole tiles, or whole slices
 * of them, the device waits for the last few. Here each block takes the same number of steps of k.
 * Each leaves at most two parts of tiles, 17 MB in all, which are written and added again. 1536^3
 * takes 158 us, and 196 us with whole tiles. At 1024^3, 64 tiles in two slices each, the parts cost
 * more than idle multiprocessors (55 us instead of 51).
 */

#include "pipeline.cuh"

typedef xg_tile_share_128x128x16 shared_tile;
enum { BM = shared_tile::BM, BN = shared_tile::BN, BK = shared_tile::BK };
enum { GROUP = 16, SUM_THREADS = 256, BATCH = 4 };
enum { ROW_QUADS = BN / 4, CHUNKS = BM * ROW_QUADS / SUM_THREADS };

/* Warps along m, n; quads per thread along m, n; lanes along m; width of a band. */
typedef xg_layout<4, 2, 2, 2, 4, 4> layout_128x128;

#define ENTRY(suffix, blocks, transa, transb)                                                      \
    extern "C" __global__ void __launch_bounds__(layout_128x128::THREADS, blocks)                  \
        xg_sgemm_share_sm80_128x128x16_##suffix(const __grid_constant__ struct xg_sgemm_args args) \
    {                                                                                              \
        XG_TILES_ASSERT_LAYOUT(share, 128x128x16, layout_128x128);                                 \
        xg_pipeline_share<layout_128x128, BK, 16, listed::STAGES, GROUP, transa, transb, true>(    \
            args);                                                                                 \
    }

/* 0 blocks: see sgemm_deep_sm80.cu. */
ENTRY(nn, 1, false, false)
ENTRY(nt, 0, false, true)
ENTRY(tn, 1, true, false)
ENTRY(tt, 1, true, true)

/* Adds the parts of tiles: CHUNKS blocks per tile, one quad per thread. */
extern "C" __global__ void __launch_bounds__(SUM_THREADS, 4)
    xg_sgemm_slices_share_sm80_128x128x16(const __grid_constant__ struct xg_sgemm_args args)
{
    const unsigned index = blockIdx.x / CHUNKS, blocks = args.split;
    const unsigned all = xg_share_steps<BM, BN, BK>(args);
    const unsigned steps = (unsigned)((args.k + BK - 1) / BK);
    const unsigned first = xg_share_block(all, index * steps, blocks);
    const unsigned last = xg_share_block(all, (index + 1) * steps - 1, blocks);
    const struct xg_tile tile = xg_tile_find<BM, BN, GROUP>(args, index);
    const int quad = blockIdx.x % CHUNKS * SUM_THREADS + threadIdx.x;
    const int i = quad / ROW_QUADS, j = quad % ROW_QUADS * 4;
    xg_ptx_wait_ahead();
    if (first == last || i >= tile.rows || j >= tile.cols)
        return;
    const float4 *parts = (const float4 *)args.scratch + quad;
    float4 sum = __ldcg(parts + (2 * (int64_t)first + 1) * (BM * ROW_QUADS));
    for (unsigned b = first + 1; b <= last; b += BATCH) {
        float4 term[BATCH];
#pragma unroll
        for (int e = 0; e < BATCH; e++)
            term[e] =
                b + e <= last ? __ldcg(parts + 2 * (int64_t)(b + e) * (BM * ROW_QUADS)) : float4{};
#pragma unroll
        for (int e = 0; e < BATCH; e++) {
            sum.x += term[e].x;
            sum.y += term[e].y;
            sum.z += term[e].z;
            sum.w += term[e].w;
        }
    }
    const struct xg_target target = {(float *)args.c, args.ldc, args.alpha, args.beta,
                                     ((args.c & 15) | (args.ldc & 3)) == 0};
    const float sums[4] = {sum.x, sum.y, sum.z, sum.w};
    xg_target_store4(target, tile.row + i, tile.col + j, tile.cols - j, sums);
}
