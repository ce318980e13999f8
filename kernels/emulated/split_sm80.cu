/* SPDX-License-Identifier: MIT */
/* Splits FP32 operands into 16-bit pieces for the tensor cores (split_product.cuh names the
 * literature). */

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../common/cluster.cuh"
#include "split.cuh"

/*
 * Why. A tensor core multiplies 16-bit numbers. An FP32 number is the sum of two FP16 pieces (22
 * bits and the second one's sign) or three BF16 pieces (24 bits), and a product of operands is the
 * sum of three or six products of pieces. The split is separate from the product because each
 * number takes part in thousands of products, and because its result can have the layout of the
 * tensor copies, whatever transposes, leading dimensions and alignment the operands have.
 *
 * A row's largest number determines its scale and must be known before the first piece is written.
 * So a row is kept on chip: a row that is contiguous along k in the registers of a few warps (up to
 * k = 16384), and rows that are contiguous across k in the shared memory of a cluster, as a strip
 * of 16 adjacent rows (up to k = 8192). Longer rows are read twice. The kernel also counts the
 * statistics for the products' guard: one launch per panel, and no scratch memory. BF16 pieces,
 * which are written only if FP16 pieces are not exact enough, use the stored scale. The bottleneck
 * is memory: 4 bytes are read per element, and 4 (FP16) or 6 (BF16) are written.
 */

#ifdef XG_SPLIT_SM80
enum { THREADS = 512, WARPS = THREADS / 32 };

/* The counts of a row. */
struct row_count {
    uint32_t good, small, there, least_bits; /* there: nonzero numbers */
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

/* The exponent that scales a row's largest number to [2^14, 2^15); 0 for a row of zeros. */
static __device__ __forceinline__ int scale_of(uint32_t max_bits)
{
    const bool usable = max_bits != 0 && max_bits < 0x7f800000u;
    return usable ? XG_SPLIT_FP16_TARGET - exponent_of(max_bits) : 0;
}

/* A key that orders magnitudes with 0 as the largest: the magnitude minus one, without a sign. */
static __device__ __forceinline__ uint32_t least_key(uint32_t bits)
{
    return bits - 1;
}

/* Counts a scaled number against the guard's thresholds. */
static __device__ __forceinline__ void count(struct row_count *row, float x)
{
    const float y = fabsf(x);
    row->good += y >= 64.0f;
    row->small += y != 0.0f && y < 0.25f;
    row->there += y != 0.0f;
}

/* Stores the pieces of four adjacent scaled numbers along k. `to`: the first piece. */
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

/* The address of the pieces of (row, k); k is a multiple of 4. */
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
    return (k + XG_SPLIT_BLOCK - 1) / XG_SPLIT_BLOCK * XG_SPLIT_BLOCK;
}

/* Statistics start as zeros, and for most operands some remain zeros: these cost no atomics. */
static __device__ __forceinline__ void raise(uint32_t *most, uint32_t x)
{
    if (x != 0)
        atomicMax(most, x);
}

/* Adds a row's counts to the operand's statistics, which are maxima, so the order does not
 * matter. */
static __device__ __forceinline__ void report(const struct xg_split_args &args, uint32_t max_bits,
                                              const struct row_count &row)
{
    struct xg_split_stats *stats = (struct xg_split_stats *)args.stats;
    if (max_bits == 0)
        return;
    atomicMax(&stats->max_bits, max_bits);
    raise(&stats->lack_max, (uint32_t)args.k - row.good);
    raise(&stats->small_max, row.small);
    raise(&stats->zero_max, (uint32_t)args.k - row.there);
    raise(&stats->spread_max, (uint32_t)(exponent_of(max_bits) - exponent_of(row.least_bits)));
}

/* --- Rows that are contiguous along k: one warp per row --------------------------------------- */

/* Loads elements k to k + 3 of a row; zeros after its end. */
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
static __device__ __forceinline__ void split_row(const struct xg_split_args &args)
{
    const int lane = threadIdx.x % 32;
    const int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (row >= args.rows)
        return;
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
        counts.there = warp_sum(counts.there);
        counts.least_bits = least + 1;
        if (lane == 0)
            report(args, max_bits, counts);
    }
}

/*
 * Splits rows that fit in the registers of `args.lanes` threads (a power of two, at least a warp);
 * they are read once. The block's other threads have other rows.
 */
template <int QUADS>
static __device__ __forceinline__ void split_row_held(const struct xg_split_args &args)
{
    __shared__ uint32_t partial[5][WARPS];
    const int lanes = args.lanes, lane = threadIdx.x % lanes, warp = threadIdx.x / 32;
    const int first_warp = threadIdx.x / lanes * (lanes / 32);
    const int64_t row = (int64_t)blockIdx.x * (THREADS / lanes) + threadIdx.x / lanes;
    const bool inside = row < args.rows;
    const float *data = (const float *)args.data + row * args.row_stride;
    const bool aligned = ((uint64_t)data & 15) == 0;
    const int64_t padded_k = pad_k(args.k);
    float x[QUADS][4];
    uint32_t max_bits = 0, least = ~0u;
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        load_quad(x[q], data, (q * lanes + lane) * 4, inside ? args.k : 0, aligned);
#pragma unroll
    for (int e = 0; e < 4 * QUADS; e++) {
        max_bits = max(max_bits, magnitude(x[e / 4][e % 4]));
        least = min(least, least_key(magnitude(x[e / 4][e % 4])));
    }
    partial[0][warp] = __reduce_max_sync(~0u, max_bits);
    partial[1][warp] = __reduce_min_sync(~0u, least);
    __syncthreads();
    for (int w = first_warp; w < first_warp + lanes / 32; w++) {
        max_bits = max(max_bits, partial[0][w]);
        least = min(least, partial[1][w]);
    }
    const int scale = scale_of(max_bits);
    const float factor1 = xg_power_of_two(scale >> 1),
                factor2 = xg_power_of_two(scale - (scale >> 1));
    struct row_count counts = {0, 0, 0, least + 1};
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const int k = (q * lanes + lane) * 4;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            x[q][e] = x[q][e] * factor1 * factor2;
            count(&counts, x[q][e]);
        }
        if (inside && k < padded_k)
            store_pieces<false>(pieces_at<false>(args, row, k, padded_k), x[q]);
    }
    partial[2][warp] = warp_sum(counts.good);
    partial[3][warp] = warp_sum(counts.small);
    partial[4][warp] = warp_sum(counts.there);
    __syncthreads();
    if (lane != 0 || !inside)
        return;
    counts.good = counts.small = counts.there = 0;
    for (int w = first_warp; w < first_warp + lanes / 32; w++) {
        counts.good += partial[2][w];
        counts.small += partial[3][w];
        counts.there += partial[4][w];
    }
    ((int32_t *)args.scale)[row] = scale;
    report(args, max_bits, counts);
}

/* --- Rows that are contiguous across k: transposed in shared memory --------------------------- */

/* For a strip of rows that no cluster can hold: a block reads it twice, DEPTH positions of k at a
 * time. */
enum { STRIP_ROWS = 16, STRIP_STRIDE = STRIP_ROWS + 1, STRIP_DEPTH = 256 };
enum { STRIP_LANES = THREADS / STRIP_ROWS };

struct op_max {
    __device__ uint32_t operator()(uint32_t a, uint32_t b) const { return max(a, b); }
};
struct op_min {
    __device__ uint32_t operator()(uint32_t a, uint32_t b) const { return min(a, b); }
};
struct op_sum {
    __device__ uint32_t operator()(uint32_t a, uint32_t b) const { return a + b; }
};

/* Reduces a value over the threads of the same row (threadIdx.x % STRIP_ROWS). */
template <class OP>
static __device__ __forceinline__ uint32_t over_threads(uint32_t x, uint32_t *shared, OP op)
{
    __syncthreads();
    shared[threadIdx.x] = x;
    __syncthreads();
    for (int half = THREADS / 2; half >= STRIP_ROWS; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] = op(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    return shared[threadIdx.x % STRIP_ROWS];
}

/* Splits a strip whose rows' scales are known, and counts the numbers at the caller's positions. */
static __device__ __forceinline__ struct row_count
split_strip_scaled(const struct xg_split_args &args, const float *data, bool inside, int scale)
{
    __shared__ float turned[STRIP_DEPTH * STRIP_STRIDE];
    const int r = threadIdx.x % STRIP_ROWS, p = threadIdx.x / STRIP_ROWS;
    const int64_t padded_k = pad_k(args.k);
    const float factor1 = xg_power_of_two(scale >> 1),
                factor2 = xg_power_of_two(scale - (scale >> 1));
    struct row_count counts = {};
    for (int64_t first = 0; first < padded_k; first += STRIP_DEPTH) {
        __syncthreads();
#pragma unroll
        for (int k = p; k < STRIP_DEPTH; k += STRIP_LANES) {
            const bool there = inside && first + k < args.k;
            const float x = there ? data[(first + k) * args.k_stride] * factor1 * factor2 : 0.0f;
            count(&counts, x);
            turned[k * STRIP_STRIDE + r] = x;
        }
        __syncthreads();
#pragma unroll
        for (int quad = threadIdx.x; quad < STRIP_DEPTH * STRIP_ROWS / 4; quad += THREADS) {
            const int k = (quad % 8 + quad / (8 * STRIP_ROWS) * 8) * 4, to = quad / 8 % STRIP_ROWS;
            const int64_t row = (int64_t)blockIdx.x * STRIP_ROWS + to;
            float x[4];
#pragma unroll
            for (int e = 0; e < 4; e++)
                x[e] = turned[(k + e) * STRIP_STRIDE + to];
            if (row < args.rows && first + k < padded_k)
                store_pieces<false>(pieces_at<false>(args, row, first + k, padded_k), x);
        }
    }
    return counts;
}

static __device__ __forceinline__ void split_strip(const struct xg_split_args &args)
{
    __shared__ uint32_t shared[THREADS];
    const int p = threadIdx.x / STRIP_ROWS;
    const int64_t row = (int64_t)blockIdx.x * STRIP_ROWS + threadIdx.x % STRIP_ROWS;
    const bool inside = row < args.rows;
    const float *data = (const float *)args.data + row;
    uint32_t max_bits = 0, least = ~0u;
    if (inside) {
#pragma unroll 8
        for (int64_t k = p; k < args.k; k += STRIP_LANES) {
            const uint32_t bits = magnitude(data[k * args.k_stride]);
            max_bits = max(max_bits, bits);
            least = min(least, least_key(bits));
        }
    }
    max_bits = over_threads(max_bits, shared, op_max());
    least = over_threads(least, shared, op_min());
    const int scale = scale_of(max_bits);
    struct row_count counts = split_strip_scaled(args, data, inside, scale);
    counts.good = over_threads(counts.good, shared, op_sum());
    counts.small = over_threads(counts.small, shared, op_sum());
    counts.there = over_threads(counts.there, shared, op_sum());
    counts.least_bits = least + 1;
    if (inside && p == 0) {
        ((int32_t *)args.scale)[row] = scale;
        report(args, max_bits, counts);
    }
}

/*
 * If 8 blocks together can hold a strip of 16 rows in shared memory, it is read once. They form a
 * cluster, each has a segment of k, and each reads the others' results.
 */
enum { SEGMENTS = 8, SEGMENT_ROWS = 16, SEGMENT_STRIDE = SEGMENT_ROWS + 1 };

struct segment_found {
    uint32_t max_bits[SEGMENT_ROWS], least[SEGMENT_ROWS];
    uint32_t good[SEGMENT_ROWS], small[SEGMENT_ROWS], there[SEGMENT_ROWS];
    int32_t scale[SEGMENT_ROWS];
};

/* Reads the corresponding element of shared memory in block `rank` of the cluster. */
static __device__ __forceinline__ uint32_t found_there(const uint32_t *ours, uint32_t rank)
{
    return __float_as_uint(xg_cluster_load(xg_cluster_address(ours, rank)));
}

/* Loads this block's segment to shared memory, k-major. */
static __device__ __forceinline__ void load_segment(float *to, struct segment_found *found,
                                                    const struct xg_split_args &args, int64_t strip,
                                                    int64_t first, int depth)
{
    const int r = threadIdx.x % SEGMENT_ROWS, p = threadIdx.x / SEGMENT_ROWS;
    const int64_t row = strip * SEGMENT_ROWS + r;
    const float *data = (const float *)args.data + row;
    const int64_t end = row < args.rows ? args.k - first : 0;
    uint32_t max_bits = 0, least = ~0u;
#pragma unroll 8
    for (int k = p; k < depth; k += THREADS / SEGMENT_ROWS) {
        const float x = k < end ? data[(first + k) * args.k_stride] : 0.0f;
        to[k * SEGMENT_STRIDE + r] = x;
        max_bits = max(max_bits, magnitude(x));
        least = min(least, least_key(magnitude(x)));
    }
    /* Lanes r and r + 16 have the same row. */
    max_bits = max(max_bits, __shfl_xor_sync(~0u, max_bits, SEGMENT_ROWS));
    least = min(least, __shfl_xor_sync(~0u, least, SEGMENT_ROWS));
    if (threadIdx.x % 32 < SEGMENT_ROWS) {
        atomicMax(&found->max_bits[r], max_bits);
        atomicMin(&found->least[r], least);
    }
}

/* Splits the segment: 8 lanes along k and 4 rows, so that no two lanes read the same bank. */
template <bool BF16>
static __device__ __forceinline__ void store_segment(const float *from, struct segment_found *found,
                                                     const struct xg_split_args &args,
                                                     int64_t strip, int64_t first, int depth)
{
    const int r = threadIdx.x / 8 % SEGMENT_ROWS;
    const int64_t row = strip * SEGMENT_ROWS + r, padded_k = pad_k(args.k);
    const int shift = found->scale[r] + (BF16 ? XG_SPLIT_BF16_TARGET - XG_SPLIT_FP16_TARGET : 0);
    const float factor1 = xg_power_of_two(shift >> 1),
                factor2 = xg_power_of_two(shift - (shift >> 1));
    struct row_count counts = {};
    for (int quad = threadIdx.x; quad < depth * (SEGMENT_ROWS / 4); quad += THREADS) {
        const int k = (quad % 8 + quad / (8 * SEGMENT_ROWS) * 8) * 4;
        float x[4];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            x[e] = from[(k + e) * SEGMENT_STRIDE + r] * factor1 * factor2;
            count(&counts, x[e]);
        }
        if (row < args.rows && first + k < padded_k)
            store_pieces<BF16>(pieces_at<BF16>(args, row, first + k, padded_k), x);
    }
    if (!BF16) {
        atomicAdd(&found->good[r], counts.good);
        atomicAdd(&found->small[r], counts.small);
        atomicAdd(&found->there[r], counts.there);
    }
}

template <bool BF16>
static __device__ __forceinline__ void split_segment(const struct xg_split_args &args)
{
    extern __shared__ float segment[];
    __shared__ struct segment_found found;
    const int64_t strip = blockIdx.x / args.lanes;
    const int rank = blockIdx.x % args.lanes, depth = args.depth, r = threadIdx.x;
    const int64_t first = (int64_t)rank * depth, row = strip * SEGMENT_ROWS + r;
    const bool own = r < SEGMENT_ROWS && row < args.rows;
    if (r < SEGMENT_ROWS) {
        found.max_bits[r] = found.good[r] = found.small[r] = found.there[r] = 0;
        found.least[r] = ~0u;
    }
    __syncthreads();
    load_segment(segment, &found, args, strip, first, depth);
    uint32_t max_bits = 0, least = ~0u;
    if (BF16) {
        if (r < SEGMENT_ROWS)
            found.scale[r] = own ? ((const int32_t *)args.scale)[row] : 0;
    } else {
        xg_cluster_sync();
        for (int other = 0; r < SEGMENT_ROWS && other < SEGMENTS; other++) {
            max_bits = max(max_bits, found_there(&found.max_bits[r], other));
            least = min(least, found_there(&found.least[r], other));
        }
        if (r < SEGMENT_ROWS)
            found.scale[r] = scale_of(max_bits);
    }
    __syncthreads();
    store_segment<BF16>(segment, &found, args, strip, first, depth);
    if (BF16)
        return;
    xg_cluster_sync();
    if (own && rank == 0) {
        struct row_count counts = {0, 0, 0, least + 1};
        for (int other = 0; other < SEGMENTS; other++) {
            counts.good += found_there(&found.good[r], other);
            counts.small += found_there(&found.small[r], other);
            counts.there += found_there(&found.there[r], other);
        }
        ((int32_t *)args.scale)[row] = found.scale[r];
        report(args, max_bits, counts);
    }
    /* A block must not end until the first one has read its shared memory. */
    xg_cluster_sync();
}

/* --- Entries ---------------------------------------------------------------------------------- */

/* Whether BF16 pieces are needed, that is, FP16 pieces are not exact enough. */
static __device__ __forceinline__ bool needed(const struct xg_split_args &args)
{
    return xg_split_verdict_of(args.pair).kind == XG_SPLIT_BF16;
}

#define ENTRY(name)                                                                                \
    extern "C" __global__ void __launch_bounds__(THREADS)                                          \
        xg_split_##name(const __grid_constant__ struct xg_split_args args)

ENTRY(fp16_sm80_held4)
{
    split_row_held<4>(args);
}

ENTRY(fp16_sm80_held8)
{
    split_row_held<8>(args);
}

ENTRY(fp16_sm80_rows)
{
    split_row<false>(args);
}

ENTRY(bf16_sm80_rows)
{
    if (needed(args))
        split_row<true>(args);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(SEGMENTS, 1, 1) __launch_bounds__(THREADS)
    xg_split_fp16_sm90_segments(const __grid_constant__ struct xg_split_args args)
{
    split_segment<false>(args);
}
#endif

ENTRY(bf16_sm80_segments)
{
    if (needed(args))
        split_segment<true>(args);
}

ENTRY(fp16_sm80_strip)
{
    split_strip(args);
}

#else
XG_SPLIT_ABSENT(split_sm80)
#endif
