/* SPDX-License-Identifier: MIT */
/* Scales the rows of an operand to integers, and takes their residues for 8-bit moduli. */

#include "residue.cuh"

/*
 * Why. DGEMM on devices with few FP64 units: residue.h has the method. A block has 16 rows and
 * reads them twice: for the norms, which determine the scales, and for the residues. The bottleneck
 * is memory: 16 bytes are read for each number and 16 written. No FP64 unit is used, because
 * GeForce devices have two for each multiprocessor: a double is taken apart as an integer.
 *
 * A residue needs no division: the number's bytes are multiplied with the residues of the powers of
 * 256 (two DP4A), and a multiplication by 2^20 / modulus reduces the sum, which is below 2^18.
 */

#ifdef XG_SPLIT_SM80
enum { ROWS = 16, LANES = 16, THREADS = ROWS * LANES, QUAD = 4 };
enum { NO_EXPONENT = -5000 };

/* --- Numbers -------------------------------------------------------------------------------- */

/* A finite magnitude as significand * 2^exponent, the significand below 2^53. */
struct parts {
    uint64_t significand;
    int exponent;
};

static __device__ __forceinline__ struct parts parts_of(uint64_t magnitude)
{
    const int field = (int)(magnitude >> 52);
    const uint64_t fraction = magnitude & ((1ull << 52) - 1);
    return {field ? fraction | 1ull << 52 : fraction, (field ? field : 1) - 1075};
}

static __device__ __forceinline__ float power_of_two(int exponent)
{
    return __uint_as_float((uint32_t)(max(exponent, -126) + 127) << 23);
}

/* The sum of squares of some numbers: sum * 4^exponent, where the largest is below 2^(exponent +
 * 1). */
struct squares {
    int exponent;
    float sum;
};

static __device__ __forceinline__ void add_squares(struct squares *to, const struct squares &x)
{
    const int exponent = max(to->exponent, x.exponent);
    to->sum = to->sum * power_of_two(2 * (to->exponent - exponent)) +
              x.sum * power_of_two(2 * (x.exponent - exponent));
    to->exponent = exponent;
}

static __device__ __forceinline__ struct squares square_of(uint64_t magnitude)
{
    const struct parts x = parts_of(magnitude);
    if (x.significand == 0)
        return {NO_EXPONENT, 0.0f};
    const int zeros = __clzll((long long)x.significand);
    const float y = __uint_as_float(0x3f800000u | (uint32_t)(x.significand << zeros << 1 >> 41));
    return {x.exponent + 63 - zeros, y * y};
}

/* The scaled magnitude as an integer, the nearest one. */
static __device__ __forceinline__ uint64_t scaled(uint64_t magnitude, int scale)
{
    const struct parts x = parts_of(magnitude);
    const int shift = x.exponent + scale;
    if (shift >= 0)
        return shift < 64 ? x.significand << shift : 0;
    return shift > -64 ? (x.significand + (1ull << (-shift - 1))) >> -shift : 0;
}

/* --- Residues ------------------------------------------------------------------------------- */

/* Four residues of 256^first, 256^(first + 1), ... as signed bytes. */
template <int MODULUS>
static __device__ __forceinline__ constexpr uint32_t powers(int first)
{
    uint32_t packed = 0;
    int power = 1;
    for (int i = 0; i < first + 4; i++) {
        if (i >= first)
            packed |= (uint32_t)((power > 127 ? power - MODULUS : power) & 0xff) << 8 * (i - first);
        power = power * 256 % MODULUS;
    }
    return packed;
}

template <int MODULUS>
static __device__ __forceinline__ int residue_of(uint64_t magnitude, bool negative)
{
    constexpr uint32_t low = powers<MODULUS>(0), high = powers<MODULUS>(4);
    constexpr int inverse = ((1 << 21) / MODULUS + 1) / 2;
    int sum =
        xg_dot_bytes((uint32_t)magnitude, low, xg_dot_bytes((uint32_t)(magnitude >> 32), high, 0));
    sum = negative ? -sum : sum;
    sum -= ((sum * inverse + (1 << 19)) >> 20) * MODULUS;
    return sum > 127 ? sum - MODULUS : sum < -128 ? sum + MODULUS : sum;
}

/* --- Rows ----------------------------------------------------------------------------------- */

/* A thread has every 16th quad of a row; a step of the block is 64 positions of k. */
enum { STEP = LANES * QUAD, STEP_LD = STEP + 1 };

struct place {
    const uint64_t *data; /* of the block's first row */
    int64_t row_stride, k_stride, k;
    int rows; /* of the block's, that exist */
    int row, lane;
};

/* Two steps of rows that are not contiguous along k; STEP_LD keeps columns in different banks. */
typedef uint64_t turned[2][ROWS][STEP_LD];

static __device__ __forceinline__ struct place place_of(const struct xg_residue_split_args &args)
{
    const int64_t first = (int64_t)blockIdx.x * ROWS;
    return {(const uint64_t *)args.data + first * args.row_stride,
            args.row_stride,
            args.k_stride,
            args.k,
            args.rows - first < ROWS ? (int)(args.rows - first) : ROWS,
            (int)threadIdx.x / LANES,
            (int)threadIdx.x % LANES};
}

static __device__ __forceinline__ uint64_t load(const struct place &place, int row, int64_t k)
{
    return row < place.rows && k < place.k ? place.data[row * place.row_stride + k * place.k_stride]
                                           : 0;
}

/* Loads this thread's quad of the step at k. Adjacent threads read adjacent memory: of rows that
 * are contiguous across k they read each other's numbers, and exchange them in shared memory. All
 * threads of the block must call it, for the steps in turn. */
static __device__ __forceinline__ void load_quad(uint64_t *x, const struct place &place,
                                                 turned &shared, int64_t k)
{
    if (place.k_stride == 1) {
#pragma unroll
        for (int e = 0; e < QUAD; e++)
            x[e] = load(place, place.row, k + place.lane * QUAD + e);
        return;
    }
    uint64_t(&step)[ROWS][STEP_LD] = shared[k / STEP % 2];
    const int row = threadIdx.x % ROWS, at = threadIdx.x / ROWS;
#pragma unroll
    for (int e = 0; e < QUAD; e++)
        step[row][at + e * LANES] = load(place, row, k + at + e * LANES);
    __syncthreads();
#pragma unroll
    for (int e = 0; e < QUAD; e++)
        x[e] = step[place.row][place.lane * QUAD + e];
}

/* What the threads of a row share. */
struct row_found {
    struct squares squares[LANES];
    uint32_t small[XG_RESIDUE_COUNTS];
    uint32_t not_finite;
};

static __device__ __forceinline__ struct squares
sum_squares(const struct place &place, turned &shared, struct row_found *found)
{
    struct squares all = {NO_EXPONENT, 0.0f};
    bool finite = true;
    for (int64_t k = 0; k < place.k; k += STEP) {
        uint64_t x[QUAD];
        load_quad(x, place, shared, k);
#pragma unroll
        for (int e = 0; e < QUAD; e++) {
            const uint64_t magnitude = x[e] & ~(1ull << 63);
            finite &= magnitude < 0x7ffull << 52;
            add_squares(&all, square_of(magnitude));
        }
    }
    found->squares[place.lane] = all;
    if (place.lane < XG_RESIDUE_COUNTS)
        found->small[place.lane] = 0;
    if (place.lane == XG_RESIDUE_COUNTS)
        found->not_finite = 0;
    __syncthreads();
    if (!finite)
        found->not_finite = 1; /* every thread writes the same value */
    all = found->squares[0];
    for (int lane = 1; lane < LANES; lane++)
        add_squares(&all, found->squares[lane]);
    return all;
}

/* Stores the residues of four adjacent numbers of a row for every modulus. */
static __device__ __forceinline__ void store_residues(const struct xg_residue_split_args &args,
                                                      int64_t row, int64_t k, const uint64_t *x,
                                                      int scale)
{
    int8_t *to = (int8_t *)args.residues + row * xg_residue_padded_k(args.k) + k;
    uint64_t integer[QUAD];
#pragma unroll
    for (int e = 0; e < QUAD; e++)
        integer[e] = scaled(x[e] & ~(1ull << 63), scale);
#define XG_STORE(modulus)                                                                          \
    {                                                                                              \
        char4 quad;                                                                                \
        quad.x = (int8_t)residue_of<modulus>(integer[0], x[0] >> 63);                              \
        quad.y = (int8_t)residue_of<modulus>(integer[1], x[1] >> 63);                              \
        quad.z = (int8_t)residue_of<modulus>(integer[2], x[2] >> 63);                              \
        quad.w = (int8_t)residue_of<modulus>(integer[3], x[3] >> 63);                              \
        *(char4 *)to = quad;                                                                       \
        to += args.plane_bytes;                                                                    \
    }
    XG_RESIDUE_MODULI(XG_STORE)
#undef XG_STORE
}

/* The scale that makes the row's norm at most 2^XG_RESIDUE_BITS. */
static __device__ __forceinline__ int scale_of(const struct squares &squares)
{
    if (squares.exponent == NO_EXPONENT)
        return 0;
    return (int)floorf((float)XG_RESIDUE_BITS - 0.5f * log2f(squares.sum)) - squares.exponent;
}

static_assert(XG_RESIDUE_BLOCK == STEP, "steps end where a row is padded to");

static __device__ __forceinline__ void split_rows(const struct xg_residue_split_args &args)
{
    __shared__ struct row_found found_rows[ROWS];
    __shared__ turned shared;
    const struct place place = place_of(args);
    struct row_found *found = &found_rows[place.row];
    const int64_t row = (int64_t)blockIdx.x * ROWS + place.row;
    const bool inside = place.row < place.rows;
    const struct squares squares = sum_squares(place, shared, found);
    const int scale = scale_of(squares);
    /* The thresholds of the counts, in units of 2^32 of the integers. */
    const float mean =
        sqrtf(squares.sum / (float)args.k) *
        power_of_two(squares.exponent == NO_EXPONENT ? 0 : squares.exponent + scale - 32);
    const uint32_t least[XG_RESIDUE_COUNTS] = {(uint32_t)(mean * power_of_two(-XG_RESIDUE_H0)),
                                               (uint32_t)(mean * power_of_two(-XG_RESIDUE_H1)),
                                               (uint32_t)(mean * power_of_two(-XG_RESIDUE_H2))};
    uint32_t small[XG_RESIDUE_COUNTS] = {};
    for (int64_t step = 0; step < args.k; step += STEP) {
        const int64_t k = step + place.lane * QUAD;
        uint64_t x[QUAD];
        load_quad(x, place, shared, step);
#pragma unroll
        for (int e = 0; e < QUAD; e++)
#pragma unroll
            for (int i = 0; i < XG_RESIDUE_COUNTS; i++)
                small[i] += k + e < args.k && scaled(x[e] & ~(1ull << 63), scale) >> 32 < least[i];
        if (inside)
            store_residues(args, row, k, x, scale);
    }
#pragma unroll
    for (int i = 0; i < XG_RESIDUE_COUNTS; i++)
        atomicAdd(&found->small[i], small[i]);
    __syncthreads();
    struct xg_residue_stats *stats = (struct xg_residue_stats *)args.stats;
    if (!inside || place.lane != 0)
        return;
    ((int32_t *)args.exponents)[row] = scale;
    if (found->not_finite)
        atomicMax(&stats->not_finite, 1);
    if (squares.exponent != NO_EXPONENT)
#pragma unroll
        for (int i = 0; i < XG_RESIDUE_COUNTS; i++)
            atomicMax(&stats->small_max[i], found->small[i]);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    xg_residue_split_sm80(const __grid_constant__ struct xg_residue_split_args args)
{
    split_rows(args);
}

#else
XG_SPLIT_ABSENT(residue_split_sm80)
#endif
