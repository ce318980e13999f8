/* SPDX-License-Identifier: MIT */
/* A block's tile of C, and the layout of an operand in memory. */
#ifndef XG_TILE_CUH
#define XG_TILE_CUH

#include "../kabi.h"

/* A tile of C: its first row and column, and the number of its rows and columns inside C. */
struct xg_tile {
    int64_t row, col;
    int rows, cols;
};

/*
 * op(X)(i,j) is data[i * row_stride + j * col_stride]: one of the strides is 1, the other is the
 * leading dimension. Accesses are coalesced if the stride along threadIdx.x is 1.
 */
struct xg_operand {
    const float *data;
    int64_t row_stride, col_stride;
};

static __device__ __forceinline__ struct xg_operand xg_operand_a(const struct xg_sgemm_args &args)
{
    const float *a = (const float *)args.a;
    return args.transa ? xg_operand{a, 1, args.lda} : xg_operand{a, args.lda, 1};
}

static __device__ __forceinline__ struct xg_operand xg_operand_b(const struct xg_sgemm_args &args)
{
    const float *b = (const float *)args.b;
    return args.transb ? xg_operand{b, 1, args.ldb} : xg_operand{b, args.ldb, 1};
}

/* The smaller of two, as an int: the part of `whole` that `left` covers. */
static __device__ __forceinline__ int xg_clip(int64_t left, int whole)
{
    return left < whole ? (int)left : whole;
}

/*
 * The tile of a block (blockIdx.x). Blocks start in the order of blockIdx.x, so blocks that run at
 * the same time are adjacent in that order. They go down GROUP tile rows before they go one tile
 * right: a wave then covers a nearly square part of C and needs the fewest distinct rows of A and
 * columns of B from L2 (the rasterisation of CUTLASS, "Efficient GEMM in CUDA"). GROUP == 1 is row
 * after row.
 *
 * The launcher admits at most 2^31 - 1 tiles, so unsigned arithmetic suffices.
 */
template <int BM, int BN, int GROUP, class ARGS>
static __device__ __forceinline__ struct xg_tile xg_tile_find(const ARGS &args, unsigned block)
{
    const unsigned tiles_m = (unsigned)((args.m + BM - 1) / BM);
    const unsigned tiles_n = (unsigned)((args.n + BN - 1) / BN);
    const unsigned group_rows = min((unsigned)GROUP, tiles_m);
    const unsigned group = block / (group_rows * tiles_n);
    const unsigned inside = block % (group_rows * tiles_n);
    const unsigned first = group * group_rows;
    const unsigned rows = min(group_rows, tiles_m - first);
    struct xg_tile tile;
    tile.row = (int64_t)(first + inside % rows) * BM;
    tile.col = (int64_t)(inside / rows) * BN;
    tile.rows = xg_clip(args.m - tile.row, BM);
    tile.cols = xg_clip(args.n - tile.col, BN);
    return tile;
}

/* Whether a tile of ROWS x COLS elements has no wanted element; the result is the same for all
 * threads of a block and for all blocks that share a tile. */
template <int ROWS, int COLS>
static __device__ __forceinline__ bool xg_tile_unwanted(const struct xg_triangle &wanted,
                                                        int64_t row, int64_t col)
{
    if (wanted.kind == XG_TRIANGLE_UPPER)
        return col + COLS - 1 - row < wanted.diagonal;
    return wanted.kind == XG_TRIANGLE_LOWER && col - (row + ROWS - 1) > wanted.diagonal;
}

#endif
