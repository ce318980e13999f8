/* SPDX-License-Identifier: MIT */
/* The first step of a repacked row: copies operands to the scratch, k-major and aligned (kabi.h).
 * Packing operands is known from Goto and van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication" (2008).
 */

/*
 * Why. Copies of 16 bytes need aligned rows, and a product is fastest if both operands are
 * contiguous along m and n: then no float is copied singly (sgemm_pipelined_sm80.cu). Any other
 * operand is read and written once. At 4097 x 4097 this takes 1.6 % of the product's time, and the
 * product gains up to a fifth.
 *
 * Memory. A block copies a 64x64 tile. A warp reads 32 adjacent elements of a row and writes as
 * many: 8 bytes per element at the rate of memory, 3.1 TB/s on an H200. An operand that is
 * contiguous along k is transposed in shared memory, in rows of 65 so that no two lanes use the
 * same bank.
 */
#include "../kabi.h"

enum { SIDE = 64, THREADS = 256, APART = THREADS / SIDE, HELD = SIDE / APART };

/* op(A) transposed, or op(B): (k,extent). */
struct repack_operand {
    const float *data;
    int64_t ld, extent;
    float *to; /* (k,ld_to), zeros after the extent */
    int64_t ld_to;
};

/* Copies the tile from step l0 of k and column x0 on. TURN: the operand is contiguous along k. */
template <bool TURN>
static __device__ __forceinline__ void repack_tile(const struct repack_operand &operand, int64_t k,
                                                   int64_t l0, int64_t x0)
{
    __shared__ float turned[SIDE][SIDE + 1];
    const int fast = threadIdx.x % SIDE, slow = threadIdx.x / SIDE;
    float held[HELD];
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        const int64_t l = l0 + (TURN ? fast : slow + i * APART);
        const int64_t x = x0 + (TURN ? slow + i * APART : fast);
        held[i] = 0.0f;
        if (l < k && x < operand.extent)
            held[i] = operand.data[TURN ? x * operand.ld + l : l * operand.ld + x];
    }
    if (TURN) {
#pragma unroll
        for (int i = 0; i < HELD; i++)
            turned[slow + i * APART][fast] = held[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < HELD; i++)
            held[i] = turned[fast][slow + i * APART];
    }
#pragma unroll
    for (int i = 0; i < HELD; i++)
        if (l0 + slow + i * APART < k && x0 + fast < operand.ld_to)
            operand.to[(l0 + slow + i * APART) * operand.ld_to + x0 + fast] = held[i];
}

/* Tiles of A come first, then those of B, if they are copied; they follow k first if the operand is
 * contiguous along k. */
extern "C" __global__ void __launch_bounds__(THREADS)
    xg_sgemm_repack_sm75_64x64x1(const __grid_constant__ struct xg_sgemm_args args)
{
    const int64_t ld_a = XG_COPY_LD(args.m), ld_b = XG_COPY_LD(args.n);
    const unsigned tiles_k = (unsigned)((args.k + SIDE - 1) / SIDE);
    const unsigned tiles_a =
        args.copies & XG_COPY_A ? tiles_k * (unsigned)((ld_a + SIDE - 1) / SIDE) : 0;
    const bool b = blockIdx.x >= tiles_a;
    const unsigned tile = b ? blockIdx.x - tiles_a : blockIdx.x;
    float *scratch = (float *)args.scratch;
    const struct repack_operand operand =
        b ? repack_operand{(const float *)args.b, args.ldb, args.n,
                           scratch + (args.copies & XG_COPY_A ? args.k * ld_a : 0), ld_b}
          : repack_operand{(const float *)args.a, args.lda, args.m, scratch, ld_a};
    const unsigned tiles_x = (unsigned)((operand.ld_to + SIDE - 1) / SIDE);
    if (b ? args.transb : !args.transa)
        repack_tile<true>(operand, args.k, (int64_t)(tile % tiles_k) * SIDE,
                          (int64_t)(tile / tiles_k) * SIDE);
    else
        repack_tile<false>(operand, args.k, (int64_t)(tile / tiles_x) * SIDE,
                           (int64_t)(tile % tiles_x) * SIDE);
}
