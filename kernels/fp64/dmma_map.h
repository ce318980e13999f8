/* SPDX-License-Identifier: MIT */
/* Which lane of a warp has which numbers of a product on FP64 tensor cores, and where they lie. */
#ifndef XG_DMMA_MAP_H
#define XG_DMMA_MAP_H

/* Kernels and a test that executes them lane by lane on the CPU share this. */
#ifdef __CUDACC__
#define XG_DMMA_MAP static __host__ __device__ __forceinline__
#else
#define XG_DMMA_MAP static inline
#endif

/*
 * The instructions (PTX: mma.sync, .f64): m16n8k8, and m8n8k4, four of which are the same. With
 * group = lane / 4 and place = lane % 4 a lane has, of each of these four,
 *
 *   A(group, place), B(place, group), C(group, 2 place) and C(group, 2 place + 1).
 *
 * The two halves of 16 rows run faster than steps of 4 of k in A, and slower than C's columns. A
 * step of k in which A and B agree may be any: a slice of 8 is two steps of 4, 0..3 and 4..7.
 */
enum { XG_DMMA_ROWS = 16, XG_DMMA_COLUMNS = 8, XG_DMMA_STEPS = 8 };

/* A lane's row of A and column of B, of 8; its row of C. */
XG_DMMA_MAP int xg_dmma_index(int lane)
{
    return lane / 4;
}

/* A lane's step of k, of 4. */
XG_DMMA_MAP int xg_dmma_depth(int lane)
{
    return lane % 4;
}

/* A lane's first of two columns of C, of 8. */
XG_DMMA_MAP int xg_dmma_column(int lane)
{
    return lane % 4 * 2;
}

/*
 * An operand's tile in shared memory, of `extent` rows of A (columns of B) and `depth` steps of k:
 * rows of what is contiguous in device memory, in pairs of numbers, 16 bytes. A load of 8 bytes a
 * lane is served in two turns of 16 lanes, four groups, who ask for 4 numbers in each of 4 rows:
 * along k a group's four are in one row, else a place's are. In four rows that follow each other
 * these are kept at different places of a line of 128 bytes: their pairs are exchanged two by two.
 * Copies still fill whole lines.
 *
 * Returns the pair's number in the tile, of the pair that has the number (index, k).
 */
XG_DMMA_MAP int xg_dmma_pair(int along_k, int extent, int depth, int index, int k)
{
    return along_k ? index * (depth / 2) + (k / 2 ^ (index & 3) << 1)
                   : k * (extent / 2) + (index / 2 ^ (k & 3) << 1);
}

/* Bytes from the beginning of the tile to the number. */
XG_DMMA_MAP int xg_dmma_place(int along_k, int extent, int depth, int index, int k)
{
    return xg_dmma_pair(along_k, extent, depth, index, k) * 16 + (along_k ? k : index) % 2 * 8;
}

/*
 * The same from what is known when the kernel is compiled: the number is `index` rows or columns, a
 * multiple of 8, and k steps, a multiple of 4, behind that at home. A tile begins with a whole
 * line, so that exchanges are a matter of three bits of an address: it is (home ^ within) + beyond.
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
 * A copy takes a pair a thread, thread after thread along `pairs` of a row, and then goes on `rows`
 * rows below: (first ^ within) + beyond again, with first as it is of the thread's first row.
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
