/* SPDX-License-Identifier: MIT */
/* Planes in shared memory: rows of 64 bytes along k, for ldmatrix and mma.sync (sm_80). */
#ifndef XG_MMA_PLANES_CUH
#define XG_MMA_PLANES_CUH

#include <stdint.h>

#include "../common/async.cuh"

/* A row has two steps of an instruction: 16 numbers of 16 bits, or 32 of 8 bits, each. */
enum { ROW_BYTES = 64, CHUNK_BYTES = 16, ROW_CHUNKS = ROW_BYTES / CHUNK_BYTES, STEPS = 2 };

/*
 * Chunks of 16 bytes are swizzled within their row, so that the eight rows that ldmatrix reads at
 * once, and the rows that a quarter of a warp writes, lie in different banks.
 */
static __device__ __forceinline__ uint32_t swizzled(int row, int chunk)
{
    return (uint32_t)(row * ROW_BYTES + ((chunk ^ (row >> 1 & 3)) * CHUNK_BYTES));
}

/* Where a thread copies from: one chunk of every COPY_ROWS-th row of an operand. */
struct plane_source {
    const uint8_t *from; /* the thread's first row */
    int64_t row_bytes;
    int64_t rows; /* from the thread's first row on, that exist; 0 or less: none */
};

/* data: the operand, row by row; the plane's first row is `first` of `rows`. */
static __device__ __forceinline__ struct plane_source
plane_source_of(uint64_t data, int64_t row_bytes, int64_t first, int64_t rows)
{
    const int row = threadIdx.x / ROW_CHUNKS, chunk = threadIdx.x % ROW_CHUNKS;
    return {(const uint8_t *)data + (first + row) * row_bytes + chunk * CHUNK_BYTES, row_bytes,
            rows - first - row};
}

/* Starts the copies of a plane of ROWS rows, from `offset` bytes on in each row, by a block of
 * THREADS; rows that do not exist become zeros. */
template <int ROWS, int THREADS>
static __device__ __forceinline__ void copy_plane(uint32_t to, const struct plane_source &source,
                                                  int64_t offset)
{
    constexpr int COPY_ROWS = THREADS / ROW_CHUNKS;
    to += swizzled(threadIdx.x / ROW_CHUNKS, threadIdx.x % ROW_CHUNKS);
#pragma unroll
    for (int row = 0; row < ROWS; row += COPY_ROWS)
        xg_async_copy16(to + row * ROW_BYTES, source.from + offset + row * source.row_bytes,
                        row >= source.rows);
}

static __device__ __forceinline__ void load_matrices(uint32_t from, uint32_t &x0, uint32_t &x1,
                                                     uint32_t &x2, uint32_t &x3)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3)
                 : "r"(from)
                 : "memory");
}

/* A's fragments of a step: rows 0 to 7 and 8 to 15, then the same of the second half of k. */
template <int TILES>
static __device__ __forceinline__ void load_a(uint32_t (&a)[TILES][4], uint32_t plane, int step,
                                              int lane)
{
    const uint32_t at = plane + swizzled(lane % 16, 2 * step + lane / 16);
#pragma unroll
    for (int i = 0; i < TILES; i++)
        load_matrices(at + i * 16 * ROW_BYTES, a[i][0], a[i][1], a[i][2], a[i][3]);
}

/* B's: both halves of k of columns 0 to 7, then of columns 8 to 15. */
template <int TILES>
static __device__ __forceinline__ void load_b(uint32_t (&b)[TILES][2], uint32_t plane, int step,
                                              int lane)
{
    const uint32_t at = plane + swizzled(lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2);
#pragma unroll
    for (int j = 0; j < TILES; j += 2)
        load_matrices(at + j * 8 * ROW_BYTES, b[j][0], b[j][1], b[j + 1][0], b[j + 1][1]);
}

#endif
