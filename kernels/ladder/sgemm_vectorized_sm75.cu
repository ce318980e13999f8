/* SPDX-License-Identifier: MIT */
/* Rung 8: accesses of 128 bits, so that nearly every issued instruction is a multiplication (as in
 * S. Gray's maxas and CUTLASS, "Efficient GEMM in CUDA"). */

/*
 * Why. An SM of the H200 issues four warp instructions per cycle, one in each of its quarters, and
 * a quarter can multiply-add 32 numbers per cycle: a kernel is at the FP32 peak only if *every*
 * issued instruction is an FFMA. So from here on instructions matter, not bytes. coarse_2d needs 16
 * scalar shared loads for 64 FFMA. Three changes reduce that to 4:
 *
 * 1. Shared memory is read 4 floats at a time (LDS.128). So both tiles are k-major, As[k][m] and
 *    Bs[k][n], and a thread's 8x8 results are 2x2 quads of 4x4: 2 + 2 loads feed 64 FFMA.
 * 2. Global memory is read 4 floats at a time (LDG.128) along the contiguous index. An operand that
 *    is contiguous along k (A not transposed, B transposed) is *turned* while it is stored: its
 *    four floats go to four rows of the tile. The other kind is stored unchanged. This is the only
 *    difference between the four entries (nn, nt, tn, tt).
 * 3. Latency is hidden. While a tile is multiplied the next one is loaded from global memory into
 *    registers. It is stored in the other half of shared memory, so that one barrier per tile
 *    suffices. The loads of the following tile start immediately afterwards, before that barrier,
 *    because the compiler cannot delay them past it. Within the tile, the operands of step p + 1
 *    are read while those of step p are multiplied.
 *
 * Bank conflicts. A 128-bit shared load is served a half warp at a time if lanes i and i ^ 1, or
 * lanes i and i ^ 2, need the same address. A warp's 4x8 lanes are numbered so that both hold (one
 * for A, the other for B): two passes per load, the minimum. A transposed store spreads a warp over
 * 16 rows and 2 quads of k; with 4 floats of padding per row, the second quad falls 16 banks
 * further and the 32 lanes hit 32 banks.
 *
 * Accounts for 128x128x8, 256 threads: 2 * 128 * 128 / (4 * (128 + 128)) = 32 FLOP per byte from
 * L2, so 45 TFLOP/s need 1.4 TB/s, and L2 delivers several times that. Registers: 64 sums, 32
 * operands (two steps), 8 in flight, and addresses: at most 128, so that two blocks share an SM and
 * one multiplies while the other waits at its barrier. Instructions: for a step of 8 along k, 512
 * FFMA of 576 in all (32 LDS, 2 LDG, 5 STS, a barrier; sm_90), so at most 89 % of peak, 59 TFLOP/s
 * on an H200, minus the costs of latency and register banks.
 *
 * The other tiles use the same code. 64x64 and 32x32 are for products that have too few large tiles
 * to fill the device: they read more from L2 (16 and 8 FLOP per byte) and need more instructions
 * per FFMA. A 128x256 tile has 128 FFMA for 6 shared loads (92 %), but only one block per SM, so
 * that its barriers are not hidden: it was slower (NOTES.md).
 *
 * Edges. Rows beyond m, n or k are not read and count as zero. Elements between an extent and the
 * next multiple of 4 are read with their quad; the caller has zeroed them (kabi.h), so along k they
 * add nothing, and along m and n they only affect results that are not stored.
 */

#include "../common/epilogue.cuh"
#include "../common/ptx.cuh"
#include "../common/tile.cuh"
#include "../tiles.h"

/* Floats of padding per row of a tile in shared memory; keeps 16-byte alignment. */
enum { PAD = 4 };

/* Lanes of a warp: 4 along m, 8 along n, so that a row of C is stored in pieces of 128 bytes. */
enum { LANES_M = 4, LANES_N = 8 };

/* Tile rows that a wave goes down before it goes right: 264 resident blocks are about 16x16
 * tiles. */
enum { GROUP = 16 };

/*
 * A thread's share of the copy of an operand's (EXTENT,BK) tile to shared memory: VECTORS quads,
 * kept in registers between the load and the store. TURN: contiguous along k; else along the
 * extent.
 */
template <int EXTENT, int BK, int THREADS, bool TURN>
struct operand_mover {
    enum { VECTORS = EXTENT * BK / 4 / THREADS, STRIDE = EXTENT + PAD };
    static_assert(VECTORS * 4 * THREADS == EXTENT * BK, "whole quads a thread");
    /* A thread's quads have a constant distance in the tile, along k or along the extent. */
    enum { PER_STEP = TURN ? 2 * EXTENT : EXTENT / 4 };
    static_assert(THREADS % PER_STEP == 0 || PER_STEP % THREADS == 0, "whole steps");
    enum {
        TO_APART = THREADS % PER_STEP == 0 ? THREADS / PER_STEP * (TURN ? 8 : 1) * STRIDE
                                           : THREADS / (TURN ? 2 : 1) * (TURN ? 1 : 4)
    };

    const float *at[VECTORS]; /* in the next tile */
    float held[VECTORS][4];
    int64_t step;      /* elements from a tile to the next */
    int k_at[VECTORS]; /* the quad's position along k; BK, which is never reached, if its row does
                        * not exist */
    float *to0;        /* position of the first quad in shared memory, a tile (BK,STRIDE) */

    /* Transposed: two quads of k, then EXTENT rows, then the next two quads. */
    static __device__ __forceinline__ int index_x(int vector)
    {
        return TURN ? vector / 2 % EXTENT : vector % (EXTENT / 4) * 4;
    }
    static __device__ __forceinline__ int index_k(int vector)
    {
        return TURN ? (vector % 2 + vector / (2 * EXTENT) * 2) * 4 : vector / (EXTENT / 4);
    }

    /* stage: the tile in shared memory; first: its first row of m or n, of which `extent` exist. */
    __device__ __forceinline__ void init(float *stage, uint64_t data, int64_t ld, int64_t first,
                                         int extent)
    {
        to0 = stage + index_k(threadIdx.x) * STRIDE + index_x(threadIdx.x);
        step = TURN ? BK : BK * ld;
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            const int x = index_x(threadIdx.x + v * THREADS);
            const int p = index_k(threadIdx.x + v * THREADS);
            k_at[v] = x < extent ? p : BK;
            at[v] = (const float *)data + (TURN ? (first + x) * ld + p : p * ld + first + x);
        }
    }

    /* Starts the loads of the next tile, of which `depth` steps of k exist. */
    __device__ __forceinline__ void fetch(int depth)
    {
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            xg_ptx_load_global4(held[v], at[v], k_at[v] < depth);
            at[v] += step;
        }
    }

    /* Stores the fetched quads `flip` floats from the last position: in the other stage. */
    __device__ __forceinline__ void store(int flip)
    {
        to0 += flip;
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            float *to = to0 + v * TO_APART;
            if (TURN) {
                to[0 * STRIDE] = held[v][0];
                to[1 * STRIDE] = held[v][1];
                to[2 * STRIDE] = held[v][2];
                to[3 * STRIDE] = held[v][3];
            } else {
                *(float4 *)to = make_float4(held[v][0], held[v][1], held[v][2], held[v][3]);
            }
        }
    }
};

/*
 * Steps of k in the tile AHEAD tiles after this one, with `left` steps from this tile on: BK, fewer
 * in the last tile, and 0 after it, where nothing is read and unused zeros are stored.
 */
template <int BK, int AHEAD>
static __device__ __forceinline__ int tile_depth(unsigned left, int last_depth)
{
    return left > AHEAD + 1 ? BK : left == AHEAD + 1 ? last_depth : 0;
}

/* Loads QUADS quads of one step of k, APART floats apart. */
template <int QUADS, int APART>
static __device__ __forceinline__ void load_fragment(float *fragment, const float *row)
{
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        xg_ptx_load_shared4(fragment + 4 * q, row + q * APART);
}

/* Writes a thread's results; (row,col) is the position of its first quad in C. BETA: C is read. */
template <bool BETA, int TM, int QUADS_N, int APART_M, int APART_N>
static __device__ __forceinline__ void store_sums(const struct xg_sgemm_args &args,
                                                  const float (*sum)[QUADS_N * 4], int64_t row,
                                                  int64_t col)
{
#pragma unroll
    for (int i = 0; i < TM; i++) {
        const int64_t at = row + i / 4 * APART_M + i % 4;
        if (at >= args.m)
            continue;
        float *c = (float *)args.c + at * args.ldc + col;
#pragma unroll
        for (int q = 0; q < QUADS_N; q++)
            xg_c_store4<BETA>(args, c + q * APART_N, xg_clip(args.n - col - q * APART_N, 4),
                              sum[i] + 4 * q);
    }
}

/*
 * A thread's first row and column in the block's tile. The lane bits, high to low, are m1 n2 n1 m0
 * n0 (see "Bank conflicts" above). WARP_M, WARP_N: rows and columns of a warp's tile.
 */
template <int WARPS_N, int WARP_M>
static __device__ __forceinline__ int thread_row(int thread)
{
    return thread / 32 / WARPS_N * WARP_M + ((thread >> 1 & 1) | (thread >> 3 & 2)) * 4;
}

template <int WARPS_N, int WARP_N>
static __device__ __forceinline__ int thread_col(int thread)
{
    return thread / 32 % WARPS_N * WARP_N + ((thread & 1) | (thread >> 1 & 6)) * 4;
}

/*
 * Computes with a block of WARPS_M x WARPS_N warps. A thread computes QUADS_M x QUADS_N quads of
 * 4x4 results, spread over its warp's tile so that adjacent lanes read adjacent quads.
 */
template <int WARPS_M, int WARPS_N, int QUADS_M, int QUADS_N, int BK, bool TRANSA, bool TRANSB>
static __device__ __forceinline__ void multiply(const struct xg_sgemm_args &args)
{
    constexpr int THREADS = WARPS_M * WARPS_N * 32;
    constexpr int APART_M = LANES_M * 4, APART_N = LANES_N * 4;
    constexpr int BM = WARPS_M * QUADS_M * APART_M, BN = WARPS_N * QUADS_N * APART_N;
    constexpr int TM = QUADS_M * 4, TN = QUADS_N * 4;
    constexpr int A_FLOATS = BK * (BM + PAD), STAGE_FLOATS = A_FLOATS + BK * (BN + PAD);
    __shared__ __align__(16) float shared[2 * STAGE_FLOATS];

    const struct xg_tile tile = xg_tile_find<BM, BN, GROUP>(args, blockIdx.x);
    if (xg_tile_unwanted<BM, BN>(args.wanted, tile.row, tile.col))
        return;
    operand_mover<BM, BK, THREADS, !TRANSA> a_mover;
    operand_mover<BN, BK, THREADS, TRANSB> b_mover;
    a_mover.init(shared, args.a, args.lda, tile.row, tile.rows);
    b_mover.init(shared + A_FLOATS, args.b, args.ldb, tile.col, tile.cols);

    const int thread_m = thread_row<WARPS_N, QUADS_M * APART_M>(threadIdx.x);
    const int thread_n = thread_col<WARPS_N, QUADS_N * APART_N>(threadIdx.x);

    float sum[TM][TN] = {};
    float a[2][TM], b[2][TN];
    const unsigned tiles_k = (unsigned)((args.k + BK - 1) / BK);
    const int last_depth = (int)(args.k - (int64_t)(tiles_k - 1) * BK);
    /* This thread's read positions; adding `flip` moves them to the other stage and back. */
    const float *a_read = shared + thread_m, *b_read = shared + A_FLOATS + thread_n;
    int flip = STAGE_FLOATS;

    a_mover.fetch(tile_depth<BK, 0>(tiles_k, last_depth));
    b_mover.fetch(tile_depth<BK, 0>(tiles_k, last_depth));
    a_mover.store(0);
    b_mover.store(0);
    a_mover.fetch(tile_depth<BK, 1>(tiles_k, last_depth));
    b_mover.fetch(tile_depth<BK, 1>(tiles_k, last_depth));
    __syncthreads();
    load_fragment<QUADS_M, APART_M>(a[0], a_read);
    load_fragment<QUADS_N, APART_N>(b[0], b_read);

    for (unsigned left = tiles_k; left > 0; left--) {
#pragma unroll
        for (int p = 0; p < BK; p++) {
            const int now = p % 2, next = (p + 1) % 2;
            if (p == BK - 1) {
                /* No thread reads the other stage: its last use came before the last barrier. */
                a_mover.store(flip);
                b_mover.store(flip);
                a_mover.fetch(tile_depth<BK, 2>(left, last_depth));
                b_mover.fetch(tile_depth<BK, 2>(left, last_depth));
                __syncthreads();
                a_read += flip;
                b_read += flip;
                flip = -flip;
            }
            const int row = (p + 1) % BK;
            load_fragment<QUADS_M, APART_M>(a[next], a_read + row * (BM + PAD));
            load_fragment<QUADS_N, APART_N>(b[next], b_read + row * (BN + PAD));
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    sum[i][j] = fmaf(a[now][i], b[now][j], sum[i][j]);
        }
    }

    /* Computes the position of the results again, because keeping it would take registers from the
     * loop. */
    const int thread = xg_ptx_thread_x();
    const struct xg_tile home = xg_tile_find<BM, BN, GROUP>(args, xg_ptx_block_x());
    const int64_t row = home.row + thread_row<WARPS_N, QUADS_M * APART_M>(thread);
    const int64_t col = home.col + thread_col<WARPS_N, QUADS_N * APART_N>(thread);
    if (args.beta == 0.0f)
        store_sums<false, TM, QUADS_N, APART_M, APART_N>(args, sum, row, col);
    else
        store_sums<true, TM, QUADS_N, APART_M, APART_N>(args, sum, row, col);
}

/* One entry: BLOCKS is the number of blocks that must fit an SM, which limits the registers. */
#define ENTRY(tile, suffix, blocks, wm, wn, qm, qn, transa, transb)                                \
    extern "C" __global__ void __launch_bounds__(wm *wn * 32, blocks)                              \
        xg_sgemm_vectorized_sm75_##tile##_##suffix(                                                \
            const __grid_constant__ struct xg_sgemm_args args)                                     \
    {                                                                                              \
        XG_TILES_ASSERT(vectorized, tile, wm *qm *LANES_M * 4, wn * qn * LANES_N * 4,              \
                        wm * wn * 32);                                                             \
        multiply<wm, wn, qm, qn, listed::BK, transa, transb>(args);                                \
    }
#define ENTRIES(tile, blocks, wm, wn, qm, qn)                                                      \
    ENTRY(tile, nn, blocks, wm, wn, qm, qn, false, false)                                          \
    ENTRY(tile, nt, blocks, wm, wn, qm, qn, false, true)                                           \
    ENTRY(tile, tn, blocks, wm, wn, qm, qn, true, false)                                           \
    ENTRY(tile, tt, blocks, wm, wn, qm, qn, true, true)

/* Tile; blocks per SM; warps along m, n; quads along m, n. */
ENTRIES(128x128x8, 2, 4, 2, 2, 2)
ENTRIES(64x64x16, 4, 2, 2, 2, 1)
ENTRIES(32x32x16, 8, 2, 1, 1, 1)
