/* SPDX-License-Identifier: MIT */
/* Splits FP32 operands into 16-bit pieces for the tensor cores. */

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "split.cuh"

/*
 * Why. A tensor core multiplies 16-bit numbers. An FP32 number is the sum of two FP16 pieces (22
 * bits and the second one's sign) or three BF16 pieces (24 bits), and a product of operands the sum
 * of three or six products of pieces. The split is apart from the product because each number takes
 * part in thousands of products, and because its result can have the layout that the tensor copies
 * want whatever transposes, leading dimensions and alignment the caller's operands have.
 *
 * A block owns rows of pieces whole: it reads them once for their largest number, from which their
 * scale follows, and once more (from L2, or nearer) to split them. So there is one launch an
 * operand and no scratch memory. What the product's guard wants to know is counted on the way.
 * Memory: 4 bytes read an element from DRAM, 4 (FP16) or 6 (BF16) written; nothing else binds.
 */

#ifdef XG_SPLIT_HERE
enum { THREADS = 512, WARPS = THREADS / 32 };

/* What is counted of a row. */
struct row_count {
    uint32_t good, small, least_bits;
};

static __device__ __forceinline__ uint32_t magnitude(float x)
{
    return __float_as_uint(x) & 0x7fffffffu;
}

/* floor(log2 |x|) of a number that is finite and not 0, as an integer. */
static __device__ __forceinline__ int exponent_of(uint32_t bits)
{
    return bits >> 23 ? (int)(bits >> 23) - 127 : -118 - __clz(bits);
}

/* The exponent that brings a row's largest number to [2^14, 2^15); 0 for a row of zeros. */
static __device__ __forceinline__ int scale_of(uint32_t max_bits)
{
    const bool usable = max_bits != 0 && max_bits < 0x7f800000u;
    return usable ? XG_SPLIT_FP16_TARGET - exponent_of(max_bits) : 0;
}

/* Smaller than any number, and than 0 by one: the order of magnitudes with 0 as the largest. */
static __device__ __forceinline__ uint32_t least_key(uint32_t bits)
{
    return bits - 1;
}

/* x, scaled: what the thresholds of the guard are about. */
static __device__ __forceinline__ void count(struct row_count *row, float x)
{
    const float y = fabsf(x);
    row->good += y >= 64.0f;
    row->small += y != 0.0f && y < 0.25f;
}

/* Four neighbours along k, scaled, to their pieces. `to`: of the first piece. */
template <bool BF16>
static __device__ __forceinline__ void store_pieces(uint16_t *to, const float *x)
{
    constexpr int PIECES = BF16 ? XG_SPLIT_BF16_PIECES : XG_SPLIT_FP16_PIECES;
    float rest[4] = {x[0], x[1], x[2], x[3]};
#pragma unroll
    for (int p = 0; p < PIECES; p++) {
        ushort4 piece;
        uint16_t bits[4];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            if (BF16) {
                const __nv_bfloat16 near = __float2bfloat16_rn(rest[e]);
                bits[e] = __bfloat16_as_ushort(near);
                rest[e] -= __bfloat162float(near);
            } else {
                const __half near = __float2half_rn(rest[e]);
                bits[e] = __half_as_ushort(near);
                rest[e] -= __half2float(near);
            }
        }
        piece.x = bits[0], piece.y = bits[1], piece.z = bits[2], piece.w = bits[3];
        *(ushort4 *)(to + p * XG_SPLIT_BLOCK) = piece;
    }
}

/* The pieces of (row, k): k a multiple of 4. */
template <bool BF16>
static __device__ __forceinline__ uint16_t *pieces_at(const struct xg_split_args &args, int64_t row,
                                                      int64_t k, int64_t padded_k)
{
    constexpr int PIECES = BF16 ? XG_SPLIT_BF16_PIECES : XG_SPLIT_FP16_PIECES;
    return (uint16_t *)args.pieces +
           PIECES * (row * padded_k + k / XG_SPLIT_BLOCK * XG_SPLIT_BLOCK) + k % XG_SPLIT_BLOCK;
}

static __device__ __forceinline__ int64_t pad_k(int64_t k)
{
    return (k + XG_SPLIT_CHUNK - 1) / XG_SPLIT_CHUNK * XG_SPLIT_CHUNK;
}

/* A row's counts to the operand's statistics. Maxima: the order of arrival does not matter. */
static __device__ __forceinline__ void report(const struct xg_split_args &args, uint32_t max_bits,
                                              const struct row_count &row)
{
    struct xg_split_stats *stats = (struct xg_split_stats *)args.stats;
    atomicMax(&stats->max_bits, max_bits);
    if (max_bits == 0)
        return;
    atomicMax(&stats->lack_max, (uint32_t)args.k - row.good);
    atomicMax(&stats->small_max, row.small);
    atomicMax(&stats->spread_max, (uint32_t)(exponent_of(max_bits) - exponent_of(row.least_bits)));
}

/* --- Rows that are contiguous along k: a warp a row
 * ----------------------------------------------- */

/* Elements k to k + 3 of a row; zeros behind its end. */
static __device__ __forceinline__ void load_quad(float *x, const float *row, int64_t k, int64_t end,
                                                 bool aligned)
{
    if (aligned && k + 4 <= end) {
        const float4 quad = *(const float4 *)(row + k);
        x[0] = quad.x, x[1] = quad.y, x[2] = quad.z, x[3] = quad.w;
        return;
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
        x[e] = k + e < end ? row[k + e] : 0.0f;
}

static __device__ __forceinline__ uint32_t warp_sum(uint32_t x)
{
    return __reduce_add_sync(~0u, x);
}

template <bool BF16>
static __device__ __forceinline__ void split_row(const struct xg_split_args &args, int64_t row)
{
    const int lane = threadIdx.x % 32;
    const float *data = (const float *)args.data + row * args.row_stride;
    const bool aligned = ((uint64_t)data & 15) == 0;
    const int64_t padded_k = pad_k(args.k);
    uint32_t max_bits = 0, least = ~0u;
    int scale;
    if (BF16) {
        scale = ((const int32_t *)args.scale)[row];
    } else {
#pragma unroll 4
        for (int64_t k = lane * 4; k < args.k; k += 128) {
            float x[4];
            load_quad(x, data, k, args.k, aligned);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                max_bits = max(max_bits, magnitude(x[e]));
                least = min(least, least_key(magnitude(x[e])));
            }
        }
        max_bits = __reduce_max_sync(~0u, max_bits);
        least = __reduce_min_sync(~0u, least);
        scale = scale_of(max_bits);
        if (lane == 0)
            ((int32_t *)args.scale)[row] = scale;
    }
    struct row_count counts = {};
    const int shift = scale + (BF16 ? XG_SPLIT_BF16_TARGET - XG_SPLIT_FP16_TARGET : 0);
    const float factor1 = xg_power_of_two(shift >> 1),
                factor2 = xg_power_of_two(shift - (shift >> 1));
#pragma unroll 4
    for (int64_t k = lane * 4; k < padded_k; k += 128) {
        float x[4];
        load_quad(x, data, k, args.k, aligned);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            x[e] = x[e] * factor1 * factor2;
            if (!BF16)
                count(&counts, x[e]);
        }
        store_pieces<BF16>(pieces_at<BF16>(args, row, k, padded_k), x);
    }
    if (!BF16) {
        counts.good = warp_sum(counts.good);
        counts.small = warp_sum(counts.small);
        counts.least_bits = least + 1;
        if (lane == 0)
            report(args, max_bits, counts);
    }
}

/* --- Rows that are contiguous across: a block some neighbours, turned in shared memory
 * ------------- */

/* Elements along k that are turned at a time, and floats between them in shared memory. */
template <int ROWS>
struct strip {
    enum { DEPTH = 4096 / ROWS, STRIDE = ROWS + 1, LANES = THREADS / ROWS };
};

/* Reduces a value over the threads of the same row (threadIdx.x % ROWS). */
template <int ROWS, class OP>
static __device__ __forceinline__ uint32_t over_threads(uint32_t x, uint32_t *shared, OP op)
{
    __syncthreads();
    shared[threadIdx.x] = x;
    __syncthreads();
    for (int half = THREADS / 2; half >= ROWS; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] = op(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    return shared[threadIdx.x % ROWS];
}

struct op_max {
    __device__ uint32_t operator()(uint32_t a, uint32_t b) const { return max(a, b); }
};
struct op_min {
    __device__ uint32_t operator()(uint32_t a, uint32_t b) const { return min(a, b); }
};
struct op_sum {
    __device__ uint32_t operator()(uint32_t a, uint32_t b) const { return a + b; }
};

template <bool BF16, int ROWS>
static __device__ __forceinline__ void split_strip(const struct xg_split_args &args)
{
    using form = strip<ROWS>;
    __shared__ float turned[form::DEPTH * form::STRIDE];
    __shared__ uint32_t shared[THREADS];
    const int r = threadIdx.x % ROWS, p = threadIdx.x / ROWS;
    const int64_t row = (int64_t)blockIdx.x * ROWS + r;
    const bool inside = row < args.rows;
    const float *data = (const float *)args.data + row;
    const int64_t padded_k = pad_k(args.k);
    uint32_t max_bits = 0, least = ~0u;
    int scale = 0;
    if (BF16) {
        scale = inside ? ((const int32_t *)args.scale)[row] : 0;
    } else {
        if (inside) {
#pragma unroll 8
            for (int64_t k = p; k < args.k; k += form::LANES) {
                const uint32_t bits = magnitude(data[k * args.k_stride]);
                max_bits = max(max_bits, bits);
                least = min(least, least_key(bits));
            }
        }
        max_bits = over_threads<ROWS>(max_bits, shared, op_max());
        least = over_threads<ROWS>(least, shared, op_min());
        scale = scale_of(max_bits);
        if (inside && p == 0)
            ((int32_t *)args.scale)[row] = scale;
    }
    struct row_count counts = {};
    const int shift = scale + (BF16 ? XG_SPLIT_BF16_TARGET - XG_SPLIT_FP16_TARGET : 0);
    const float factor1 = xg_power_of_two(shift >> 1),
                factor2 = xg_power_of_two(shift - (shift >> 1));
    for (int64_t first = 0; first < padded_k; first += form::DEPTH) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < form::DEPTH / form::LANES; i++) {
            const int64_t k = first + p + i * form::LANES;
            const float x =
                inside && k < args.k ? data[k * args.k_stride] * factor1 * factor2 : 0.0f;
            if (!BF16)
                count(&counts, x);
            turned[(p + i * form::LANES) * form::STRIDE + r] = x;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4096 / 4 / THREADS; i++) {
            /* 8 lanes along k and 4 rows: no two of the 32 in one bank, 64 bytes a row stored. */
            const int quad = threadIdx.x + i * THREADS;
            const int k = (quad % 8 + quad / (8 * ROWS) * 8) * 4, to = quad / 8 % ROWS;
            float x[4];
#pragma unroll
            for (int e = 0; e < 4; e++)
                x[e] = turned[(k + e) * form::STRIDE + to];
            const int64_t to_row = (int64_t)blockIdx.x * ROWS + to;
            if (to_row < args.rows && first + k < padded_k)
                store_pieces<BF16>(pieces_at<BF16>(args, to_row, first + k, padded_k), x);
        }
    }
    if (!BF16) {
        counts.good = over_threads<ROWS>(counts.good, shared, op_sum());
        counts.small = over_threads<ROWS>(counts.small, shared, op_sum());
        counts.least_bits = least + 1;
        if (inside && p == 0)
            report(args, max_bits, counts);
    }
}

/* --- Entries
 * ---------------------------------------------------------------------------------------- */

/* The BF16 pieces are needed only where the FP16 ones will not do. */
template <bool BF16>
static __device__ __forceinline__ bool needed(const struct xg_split_args &args)
{
    return !BF16 || xg_split_judge(args.pair) == XG_SPLIT_BF16;
}

template <bool BF16>
static __device__ __forceinline__ void split_rows(const struct xg_split_args &args)
{
    const int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (needed<BF16>(args) && row < args.rows)
        split_row<BF16>(args, row);
}

#define ENTRY_ROWS(name, bf16)                                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS)                                          \
        xg_split_##name##_sm90_rows(const __grid_constant__ struct xg_split_args args)             \
    {                                                                                              \
        split_rows<bf16>(args);                                                                    \
    }
#define ENTRY_STRIP(name, bf16, rows)                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS)                                          \
        xg_split_##name##_sm90_strip##rows(const __grid_constant__ struct xg_split_args args)      \
    {                                                                                              \
        if (needed<bf16>(args))                                                                    \
            split_strip<bf16, rows>(args);                                                         \
    }

ENTRY_ROWS(fp16, false)
ENTRY_ROWS(bf16, true)
ENTRY_STRIP(fp16, false, 32)
ENTRY_STRIP(fp16, false, 16)
ENTRY_STRIP(bf16, true, 32)
ENTRY_STRIP(bf16, true, 16)

#else
XG_SPLIT_ABSENT(split_sm90)
#endif
