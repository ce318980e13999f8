/* SPDX-License-Identifier: MIT */
/* The numbers of each lane of a warp in a product on FP64 tensor cores, and their positions. */
#ifndef XG_DMMA_MAP_H
#define XG_DMMA_MAP_H

/* Shared by the kernels and a test that executes them lane by lane on the CPU. */
#ifdef __CUDACC__
#define XG_DMMA_MAP static __host__ __device__ __forceinline__
#else
#define XG_DMMA_MAP static inline
#endif

/*
 * The instructions (PTX: mma.sync, .f64) are m16n8k8, and m8n8k4, four of which are equivalent.
 * With group = lane / 4 and place = lane % 4 a lane has, in each of these four,
 *
 *   A(group, place), B(place, group), C(group, 2 place) and C(group, 2 place + 1).
 *
 * The index of the two halves of 16 rows varies faster than that of the steps of 4 of k in A, and
 * slower than that of C's columns. The order of k is free if A and B agree: a slice of 8 is two
 * steps of 4, 0..3 and 4..7.
 */
enum { XG_DMMA_ROWS = 16, XG_DMMA_COLUMNS = 8, XG_DMMA_STEPS = 8 };

/* A lane's row of A and column of B, out of 8; also its row of C. */
XG_DMMA_MAP int xg_dmma_index(int lane)
{
    return lane / 4;
}

/* A lane's step of k, out of 4. */
XG_DMMA_MAP int xg_dmma_depth(int lane)
{
    return lane % 4;
}

/* The first of a lane's two columns of C, out of 8. */
XG_DMMA_MAP int xg_dmma_column(int lane)
{
    return lane % 4 * 2;
}

/*
 * An operand's tile in shared memory has `extent` rows of A (columns of B) and `depth` steps of k.
 * Its rows run along the contiguous direction of device memory, in pairs of numbers of 16 bytes. A
 * load of 8 bytes per lane is served in two passes of 16 lanes (four groups), which need 4 numbers
 * in each of 4 rows: along k the four of a group are in one row, else those of a place. In four
 * consecutive rows these are at different positions of a line of 128 bytes, because their pairs are
 * exchanged (an XOR swizzle, as in CUTLASS). Copies still fill whole lines.
 *
 * Returns the index in the tile of the pair that contains the number (index, k).
 */
XG_DMMA_MAP int xg_dmma_pair(int along_k, int extent, int depth, int index, int k)
{
    return along_k ? index * (depth / 2) + (k / 2 ^ (index & 3) << 1)
                   : k * (extent / 2) + (index / 2 ^ (k & 3) << 1);
}

/* Bytes from the start of the tile to the number. */
XG_DMMA_MAP int xg_dmma_place(int along_k, int extent, int depth, int index, int k)
{
    return xg_dmma_pair(along_k, extent, depth, index, k) * 16 + (along_k ? k : index) % 2 * 8;
}

/*
 * The same with compile-time constants: the number is `index` rows or columns, a multiple of 8, and
 * k steps, a multiple of 4, after the number at `home`. A tile starts at a whole line, so the
 * exchange changes only three bits of an address: the address is (home ^ within) + beyond.
 */
XG_DMMA_MAP int xg_dmma_within(int along_k, int index, int k)
{
    return (along_k ? k : index) / 2 % 8 * 16;
}

XG_DMMA_MAP int xg_dmma_beyond(int along_k, int extent, int depth, int index, int k)
{
    return (along_k ? index * (depth / 2) + k / 2 : k * (extent / 2) + index / 2) * 16 -
           xg_dmma_within(along_k, index, k);
}

/*
 * In a copy each thread takes one pair, thread after thread along `pairs` pairs of a row, and then
 * continues `rows` rows below: the address is again (first ^ within) + beyond, with `first` of the
 * thread's first row.
 */
XG_DMMA_MAP int xg_dmma_piece_within(int along_k, int rows, int piece)
{
    return along_k ? 0 : (piece * rows & 3) * 32;
}

XG_DMMA_MAP int xg_dmma_piece_beyond(int pairs, int rows, int piece)
{
    return piece * rows * pairs * 16;
}

#endif
