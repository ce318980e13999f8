/* SPDX-License-Identifier: MIT */
/* Rungs 6 and 7: a thread computes many results, so that one shared load feeds many FFMA. Register
 * blocking on GPUs is known from Volkov and Demmel (2008). */

/*
 * Why. The bottleneck of `tiled` is shared loads: two per FFMA. Only registers are as fast as the
 * arithmetic, so each thread computes more results and reuses the numbers that it has loaded:
 *
 * coarse_1d: a column of 8 results. Per step of k: 8 loads of A (broadcasts: a warp's threads share
 *   their rows) and 1 of B for 8 FFMA, 1.1 loads per FFMA instead of 2. Tile 64x64x8, 512 threads,
 *   16 FLOP per byte from L2.
 * coarse_2d: an 8x8 matrix of results, an outer product in registers. Per step of k: 8 + 8 loads
 *   for 64 FFMA, a quarter of a load per FFMA. Tile 128x128x8, 256 threads, 32 FLOP per byte from
 *   L2.
 *
 * A load unit serves one warp's load per cycle while the four quarters of a multiprocessor execute
 * four warps' FFMA. So loads are the bottleneck above a quarter of a load per FFMA: coarse_1d stays
 * below 67 / 4 / 1.1 = 15 TFLOP/s, and coarse_2d reaches the balance. From there on the number of
 * instructions matters (sgemm_vectorized_sm75.cu).
 *
 * Global loads are coalesced for every transpose (corner turning, sgemm_tiled_sm75.cu): consecutive
 * threads run along memory. If that is along k, a row of the tile is 8 floats, one sector of 32
 * bytes, which is fully used. In coarse_2d a thread's results are 16 apart: 16 lanes then read 16
 * adjacent floats of B, one bank each, and store 64 consecutive bytes of C.
 */

#include "../common/epilogue.cuh"
#include "../common/tile.cuh"

/* Floats of padding per row: 4 rows of 8 steps of k, which one warp stores transposed, hit 32
 * banks. */
enum { PAD = 4 };

/*
 * A thread's share of the copy of an operand's tile to shared memory, tile[k][extent]: its first
 * element (x along m or n, p along k), and the step from one of its elements to the next.
 */
struct share {
    int x, p, x_step, p_step;
    const float *at; /* the first element in the next tile */
    int64_t at_step, tile_step;
};

/*
 * along_k: adjacent elements in memory are adjacent in k. data: the operand's first row in the
 * tile; (x_stride, p_stride): the distance of its elements along the extent and along k.
 */
template <int EXTENT, int BK, int THREADS>
static __device__ __forceinline__ struct share share_init(const float *data, int64_t x_stride,
                                                          int64_t p_stride, bool along_k)
{
    const int t = threadIdx.x;
    struct share share;
    share.x = along_k ? t / BK : t % EXTENT;
    share.p = along_k ? t % BK : t / EXTENT;
    share.x_step = along_k ? THREADS / BK : 0;
    share.p_step = along_k ? 0 : THREADS / EXTENT;
    share.at = data + share.x * x_stride + share.p * p_stride;
    share.at_step = share.x_step * x_stride + share.p_step * p_stride;
    share.tile_step = BK * p_stride;
    return share;
}

/* Copies a tile of which `extent` rows and `depth` steps of k exist; the rest is zero. */
template <int EXTENT, int BK, int THREADS>
static __device__ __forceinline__ void load_tile(float (*tile)[EXTENT + PAD], struct share &share,
                                                 int extent, int depth)
{
    static_assert(THREADS % BK == 0 && THREADS % EXTENT == 0, "whole steps");
    int x = share.x, p = share.p;
    const float *at = share.at;
#pragma unroll
    for (int e = 0; e < EXTENT * BK / THREADS; e++) {
        tile[p][x] = x < extent && p < depth ? *at : 0.0f;
        x += share.x_step;
        p += share.p_step;
        at += share.at_step;
    }
    share.at += share.tile_step;
}

/* Computes with THREADS_M x THREADS_N threads; a thread's TM x TN results are THREADS_M and
 * THREADS_N apart. */
template <int THREADS_M, int THREADS_N, int TM, int TN, int BK>
static __device__ __forceinline__ void multiply(const struct xg_sgemm_args &args)
{
    constexpr int BM = THREADS_M * TM, BN = THREADS_N * TN, THREADS = THREADS_M * THREADS_N;
    __shared__ float a_tile[BK][BM + PAD], b_tile[BK][BN + PAD];
    const struct xg_tile tile = xg_tile_find<BM, BN, 8>(args, blockIdx.x);
    const struct xg_operand a = xg_operand_a(args), b = xg_operand_b(args);
    const int y = threadIdx.x / THREADS_N, x = threadIdx.x % THREADS_N;

    struct share a_share = share_init<BM, BK, THREADS>(a.data + tile.row * a.row_stride,
                                                       a.row_stride, a.col_stride, !args.transa);
    struct share b_share = share_init<BN, BK, THREADS>(b.data + tile.col * b.col_stride,
                                                       b.col_stride, b.row_stride, args.transb);
    float sum[TM][TN] = {};
    for (int64_t p0 = 0; p0 < args.k; p0 += BK) {
        const int depth = xg_clip(args.k - p0, BK);
        load_tile<BM, BK, THREADS>(a_tile, a_share, tile.rows, depth);
        load_tile<BN, BK, THREADS>(b_tile, b_share, tile.cols, depth);
        __syncthreads();
#pragma unroll
        for (int p = 0; p < BK; p++) {
            float a_column[TM], b_row[TN];
#pragma unroll
            for (int i = 0; i < TM; i++)
                a_column[i] = a_tile[p][y + i * THREADS_M];
#pragma unroll
            for (int j = 0; j < TN; j++)
                b_row[j] = b_tile[p][x + j * THREADS_N];
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    sum[i][j] = fmaf(a_column[i], b_row[j], sum[i][j]);
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < TM; i++) {
        if (y + i * THREADS_M >= tile.rows)
            return; /* all further rows are outside too */
#pragma unroll
        for (int j = 0; j < TN; j++)
            if (x + j * THREADS_N < tile.cols)
                xg_c_store(args, tile.row + y + i * THREADS_M, tile.col + x + j * THREADS_N,
                           sum[i][j]);
    }
}

extern "C" __global__ void __launch_bounds__(512)
    xg_sgemm_coarse_1d_sm75_64x64x8(const __grid_constant__ struct xg_sgemm_args args)
{
    multiply<8, 64, 8, 1, 8>(args);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    xg_sgemm_coarse_2d_sm75_128x128x8(const __grid_constant__ struct xg_sgemm_args args)
{
    multiply<16, 16, 8, 8, 8>(args);
}
