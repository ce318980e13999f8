/* SPDX-License-Identifier: MIT */
/* Emulated DGEMM: products of residues on the integer tensor cores, and C from their results. */

#include "../common/tile.cuh"
#include "mma_planes.cuh"
#include "residue.cuh"

/*
 * Why. A GeForce device multiplies 8-bit integers 500 times as fast as doubles. 16 products of
 * residues are exact and determine a product of 62-bit integers (residue.h).
 *
 * Product. Blocks of one modulus after those of another; a block of 8 warps has a tile of 128x256,
 * a warp 64x64: 128 registers of sums a thread, 32 of fragments. A ring of four stages of 64
 * positions of k takes 96 KiB, which a block may have on every device from sm_80 on. A stage is 8
 * warps x 2 steps x 32 instructions of 16x8x32: 2048 cycles of an SM that multiplies 1024 pairs a
 * cycle. The warps read 64 KiB of shared memory in it, 512 cycles, and 24 KiB come from L2.
 *
 * Combination. The result is the sum of each residue times its basis number, modulo P: integers of
 * 128 bits. The last step is one rounding to double precision, and the only one that uses FP64
 * units: five operations for an element. The bottleneck is memory: 16 bytes are read and 8 written.
 */

#ifdef XG_SPLIT_SM80
enum { TILE_M = 128, TILE_N = 256, BAND = 8, STAGES = 4 };
enum { WARPS_M = 2, WARPS_N = 4, PRODUCT_THREADS = WARPS_M * WARPS_N * 32 };
enum { WARP_M = TILE_M / WARPS_M, WARP_N = TILE_N / WARPS_N };
enum { TILES_M = WARP_M / 16, TILES_N = WARP_N / 8 };
enum { STAGE_BYTES = (TILE_M + TILE_N) * ROW_BYTES };
static_assert(XG_RESIDUE_BLOCK == ROW_BYTES, "a stage of a modulus is a plane");
static_assert(STAGES * STAGE_BYTES <= 96 * 1024, "what a block may have");

/* --- Product -------------------------------------------------------------------------------- */

/* sums (16,8) of a warp += A (16,32) B (32,8). */
static __device__ __forceinline__ void multiply(int32_t *sums, const uint32_t (&a)[4],
                                                const uint32_t (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ void multiply_stage(int32_t (&sums)[TILES_M][4 * TILES_N],
                                                      uint32_t warp_a, uint32_t warp_b, int lane)
{
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        uint32_t a[TILES_M][4], b[TILES_N][2];
        load_a(a, warp_a, step, lane);
        load_b(b, warp_b, step, lane);
#pragma unroll
        for (int x = 0; x < TILES_M; x++)
#pragma unroll
            for (int y = 0; y < TILES_N; y++)
                multiply(&sums[x][4 * y], a[x], b[y]);
    }
}

static __device__ __forceinline__ void copy_stage(uint32_t to, const struct plane_source &a,
                                                  const struct plane_source &b, int64_t block)
{
    copy_plane<TILE_M, PRODUCT_THREADS>(to, a, block * ROW_BYTES);
    copy_plane<TILE_N, PRODUCT_THREADS>(to + TILE_M * ROW_BYTES, b, block * ROW_BYTES);
}

static __device__ __forceinline__ void multiply_tile(int32_t (&sums)[TILES_M][4 * TILES_N],
                                                     const struct plane_source &a,
                                                     const struct plane_source &b, int blocks,
                                                     int warp, int lane)
{
    extern __shared__ uint8_t shared[];
    const uint32_t room = (uint32_t)__cvta_generic_to_shared(shared);
    const uint32_t warp_a = warp % WARPS_M * WARP_M * ROW_BYTES;
    const uint32_t warp_b = (TILE_M + warp / WARPS_M * WARP_N) * ROW_BYTES;
    uint32_t filled = room, next = room + (STAGES - 1) * STAGE_BYTES;
#pragma unroll
    for (int block = 0; block < STAGES - 1; block++) {
        if (block < blocks)
            copy_stage(room + block * STAGE_BYTES, a, b, block);
        xg_async_commit();
    }
    for (int block = 0; block < blocks; block++) {
        xg_async_wait<STAGES - 2>();
        __syncthreads();
        if (block + STAGES - 1 < blocks)
            copy_stage(next, a, b, block + STAGES - 1);
        xg_async_commit();
        multiply_stage(sums, filled + warp_a, filled + warp_b, lane);
        next = filled;
        filled += STAGE_BYTES;
        if (filled == room + STAGES * STAGE_BYTES)
            filled = room;
    }
}

extern "C" __global__ void __launch_bounds__(PRODUCT_THREADS, 1)
    xg_residue_product_sm80_128x256x64(const __grid_constant__ struct xg_residue_product_args args)
{
    const unsigned tiles =
        (unsigned)(((args.m + TILE_M - 1) / TILE_M) * ((args.n + TILE_N - 1) / TILE_N));
    const int index = (int)(blockIdx.x / tiles), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const struct xg_tile tile = xg_tile_find<TILE_M, TILE_N, BAND>(args, blockIdx.x % tiles);
    if (xg_tile_unwanted<TILE_M, TILE_N>(args.wanted, tile.row, tile.col) ||
        !xg_residue_verdict(args.pair))
        return;
    const int64_t row_bytes = xg_residue_padded_k(args.k);
    const struct plane_source a = plane_source_of(args.a + (uint64_t)(index * args.a_plane_bytes),
                                                  row_bytes, tile.row, args.m);
    const struct plane_source b = plane_source_of(args.b + (uint64_t)(index * args.b_plane_bytes),
                                                  row_bytes, tile.col, args.n);
    int32_t sums[TILES_M][4 * TILES_N] = {};
    multiply_tile(sums, a, b, (int)(row_bytes / ROW_BYTES), warp, lane);
    xg_residue_store(args, sums, index, tile.row + warp % WARPS_M * WARP_M + lane / 4,
                     tile.col + warp / WARPS_M * WARP_N + lane % 4 * 2);
}

/* --- Combination ---------------------------------------------------------------------------- */

enum { WORDS = 4, COMBINE_THREADS = 256 };

struct words {
    uint32_t at[WORDS + 1]; /* the lowest first */
};

static __device__ __forceinline__ bool is_at_least(const struct words &x, const struct words &y)
{
#pragma unroll
    for (int w = WORDS; w >= 0; w--)
        if (x.at[w] != y.at[w])
            return x.at[w] > y.at[w];
    return true;
}

/* x - factor * y, which is not negative. */
static __device__ __forceinline__ struct words subtract(const struct words &x,
                                                        const struct words &y, uint32_t factor)
{
    struct words rest;
    uint64_t product = 0;
    int64_t borrow = 0;
#pragma unroll
    for (int w = 0; w <= WORDS; w++) {
        product = (uint64_t)factor * y.at[w] + (product >> 32);
        borrow += (int64_t)x.at[w] - (int64_t)(uint32_t)product;
        rest.at[w] = (uint32_t)borrow;
        borrow >>= 32;
    }
    return rest;
}

/* The number below P that has these residues. */
static __device__ __forceinline__ struct words number_of(const uint8_t *residues)
{
    constexpr uint32_t basis[XG_RESIDUE_MODULI_COUNT][WORDS] = XG_RESIDUE_BASIS;
    constexpr struct words p = {XG_RESIDUE_P};
    uint64_t sums[WORDS] = {};
    struct words x;
#pragma unroll
    for (int i = 0; i < XG_RESIDUE_MODULI_COUNT; i++)
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            sums[w] += (uint64_t)residues[i] * basis[i][w];
    x.at[0] = (uint32_t)sums[0];
#pragma unroll
    for (int w = 1; w < WORDS; w++) {
        sums[w] += sums[w - 1] >> 32;
        x.at[w] = (uint32_t)sums[w];
    }
    x.at[WORDS] = (uint32_t)(sums[WORDS - 1] >> 32);
    /* The quotient of the upper words, rounded down, is at most one too small. */
    const float upper = (float)x.at[WORDS] * 0x1p32f + (float)x.at[WORDS - 1];
    const uint32_t quotient =
        (uint32_t)(upper * ((1 - 0x1p-20f) / ((float)p.at[WORDS - 1] + 1.0f)));
    x = subtract(x, p, quotient);
    return is_at_least(x, p) ? subtract(x, p, 1) : x;
}

/* 2^exponent * the number of which x is the residue modulo P and that is nearest to 0, rounded to
 * nearest; below the normal range the last multiplication rounds. */
static __device__ __forceinline__ double scaled_back(struct words x, int exponent)
{
    constexpr struct words p = {XG_RESIDUE_P};
    constexpr struct words half = {(p.at[0] >> 1) | p.at[1] << 31, (p.at[1] >> 1) | p.at[2] << 31,
                                   (p.at[2] >> 1) | p.at[3] << 31, p.at[3] >> 1};
    const bool negative = is_at_least(x, half);
    if (negative)
        x = subtract(p, x, 1);
    uint64_t high = (uint64_t)x.at[3] << 32 | x.at[2], low = (uint64_t)x.at[1] << 32 | x.at[0];
    if (high == 0) {
        high = low;
        low = 0;
        exponent -= 64;
    }
    const int zeros = min(__clzll((long long)high), 63);
    if (zeros > 0)
        high = high << zeros | low >> (64 - zeros);
    low <<= zeros;
    exponent = min(max(exponent + 64 - zeros, -2000), 2000);
    const double magnitude = __ull2double_rn(high | (low != 0)) *
                             __longlong_as_double((int64_t)(exponent / 2 + 1023) << 52) *
                             __longlong_as_double((int64_t)(exponent - exponent / 2 + 1023) << 52);
    return negative ? -magnitude : magnitude;
}

extern "C" __global__ void __launch_bounds__(COMBINE_THREADS)
    xg_residue_combine_sm80(const __grid_constant__ struct xg_residue_combine_args args)
{
    const int64_t ld = xg_residue_padded_n(args.n), quads = ld / XG_RESIDUE_QUAD;
    const int64_t at = (int64_t)blockIdx.x * COMBINE_THREADS + threadIdx.x;
    const int64_t i = at / quads, j = at % quads * XG_RESIDUE_QUAD;
    if (i >= args.m || !xg_residue_verdict(args.pair))
        return;
    uint8_t residues[XG_RESIDUE_QUAD][XG_RESIDUE_MODULI_COUNT];
    const uint8_t *from = (const uint8_t *)args.results + i * ld + j;
#pragma unroll
    for (int index = 0; index < XG_RESIDUE_MODULI_COUNT; index++) {
        const uchar4 quad = *(const uchar4 *)(from + index * args.m * ld);
        residues[0][index] = quad.x, residues[1][index] = quad.y;
        residues[2][index] = quad.z, residues[3][index] = quad.w;
    }
    const int32_t row_exponent = ((const int32_t *)args.a_exponents)[i];
    double *c = (double *)args.c + i * args.ldc + j;
#pragma unroll
    for (int e = 0; e < XG_RESIDUE_QUAD; e++) {
        if (j + e >= args.n || xg_tile_unwanted<1, 1>(args.wanted, i, j + e))
            continue;
        const int exponent = -(row_exponent + ((const int32_t *)args.b_exponents)[j + e]);
        const double product = args.alpha * scaled_back(number_of(residues[e]), exponent);
        c[e] = args.beta == 0.0 ? product : fma(args.beta, c[e], product);
    }
}

/* --- Without integers ----------------------------------------------------------------------- */

/* Operands that no integers serve: a tile of 32x32 in 256 threads, on the FP64 units. */
enum { NATIVE = 32, NATIVE_THREADS = 256, NATIVE_SUMS = NATIVE * NATIVE / NATIVE_THREADS };

extern "C" __global__ void __launch_bounds__(NATIVE_THREADS)
    xg_residue_native_sm80(const __grid_constant__ struct xg_residue_native_args args)
{
    __shared__ double a[NATIVE][NATIVE + 1], b[NATIVE][NATIVE + 1];
    const struct xg_dgemm_args &p = args.product;
    if (xg_residue_verdict(args.pair))
        return;
    const struct xg_tile tile = xg_tile_find<NATIVE, NATIVE, BAND>(p, blockIdx.x);
    if (xg_tile_unwanted<NATIVE, NATIVE>(p.wanted, tile.row, tile.col))
        return;
    const int x = threadIdx.x % NATIVE, y = threadIdx.x / NATIVE;
    double sums[NATIVE_SUMS] = {};
    for (int64_t k = 0; k < p.k; k += NATIVE) {
        const int depth = xg_clip(p.k - k, NATIVE);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NATIVE_SUMS; i++) {
            const int z = y + i * (NATIVE / NATIVE_SUMS);
            /* x runs along memory. a: [row][k]; b: [k][column]. */
            const int row = p.transa ? x : z, l = p.transa ? z : x;
            a[row][l] = row < tile.rows && l < depth
                            ? ((const double *)p.a)[p.transa ? (k + l) * p.lda + tile.row + row
                                                             : (tile.row + row) * p.lda + k + l]
                            : 0.0;
            const int col = p.transb ? z : x, m = p.transb ? x : z;
            b[m][col] = col < tile.cols && m < depth
                            ? ((const double *)p.b)[p.transb ? (tile.col + col) * p.ldb + k + m
                                                             : (k + m) * p.ldb + tile.col + col]
                            : 0.0;
        }
        __syncthreads();
        for (int l = 0; l < depth; l++)
#pragma unroll
            for (int i = 0; i < NATIVE_SUMS; i++)
                sums[i] = fma(a[y + i * (NATIVE / NATIVE_SUMS)][l], b[l][x], sums[i]);
    }
#pragma unroll
    for (int i = 0; i < NATIVE_SUMS; i++) {
        const int row = y + i * (NATIVE / NATIVE_SUMS);
        if (row >= tile.rows || x >= tile.cols)
            continue;
        double *c = (double *)p.c + (tile.row + row) * p.ldc + tile.col + x;
        const double product = p.alpha * sums[i];
        *c = p.beta == 0.0 ? product : fma(p.beta, *c, product);
    }
}

#else
XG_SPLIT_ABSENT(dgemm_residue_sm80)
#endif
