/* SPDX-License-Identifier: MIT */
/* The map of the DGEMM kernels, executed lane by lane: copies, loads, instructions, results. */
#include "../kernels/fp64/dmma_map.h"

#include <stdbool.h>

#include "xt.h"

enum { EXTENT_MAX = 128, DEPTH_MAX = 32, THREADS_MAX = 512, LANES = 32 };

/* A tile in shared memory as the kernels lay it out, and one as it lies in device memory. */
static double tile[2][EXTENT_MAX * DEPTH_MAX];

static const struct {
    int extent, depth, threads;
} tiles[] = {{128, 16, 256}, {128, 32, 256}, {64, 16, 128},  {64, 32, 128}, {128, 16, 128},
             {128, 32, 128}, {64, 16, 256},  {128, 32, 512}, {128, 16, 512}};
enum { TILES = sizeof tiles / sizeof tiles[0] };

/*
 * Shared memory's 32 banks of 4 bytes serve 128 bytes at a time, 16 lanes of 8 bytes or 8 of 16:
 * the most that any bank is asked for by one such group of lanes. 1: no conflict.
 */
static int bank_conflicts(const int *places, int lanes, int bytes)
{
    int most = 0, group = 128 / bytes;
    for (int first = 0; first < lanes; first += group) {
        int asked[32] = {0};
        for (int lane = first; lane < first + group; lane++)
            for (int word = 0; word < bytes / 4; word++) {
                int bank = (places[lane] / 4 + word) % 32;
                if (++asked[bank] > most)
                    most = asked[bank];
            }
    }
    return most;
}

/* The count itself: lanes that follow each other do not meet, those a line apart all do. */
static void test_conflicts(void)
{
    int places[LANES];
    for (int apart = 8; apart <= 128; apart *= 2) {
        for (int lane = 0; lane < LANES; lane++)
            places[lane] = lane * apart;
        XT_CHECK(bank_conflicts(places, LANES, 8) == apart / 8, "%d bytes apart", apart);
    }
    for (int lane = 0; lane < LANES; lane++)
        places[lane] = lane * 16;
    XT_CHECK(bank_conflicts(places, LANES, 16) == 1, "pairs that follow each other");
}

/*
 * Copies as xg_dmma_copier makes them: every pair goes to its place, once, and 8 threads fill a
 * line. x: (extent,depth) where it is contiguous along k, else (depth,extent); NULL: none.
 */
static void copy_tile(double *shared, const double *x, int along_k, int t)
{
    const int extent = tiles[t].extent, depth = tiles[t].depth, threads = tiles[t].threads;
    const int pairs = (along_k ? depth : extent) / 2, rows = threads / pairs;
    const int pieces = (along_k ? extent : depth) / rows;
    static char written[EXTENT_MAX * DEPTH_MAX / 2];
    memset(written, 0, sizeof written);
    XT_CHECK(!along_k || rows % 4 == 0, "rows of a thread are exchanged alike");
    for (int piece = 0; piece < pieces; piece++) {
        int places[THREADS_MAX];
        for (int thread = 0; thread < threads; thread++) {
            int first = thread / pairs, row = first + piece * rows, number = thread % pairs * 2;
            int home = along_k ? xg_dmma_place(1, extent, depth, first, number)
                               : xg_dmma_place(0, extent, depth, number, first);
            int place = (home ^ xg_dmma_piece_within(along_k, rows, piece)) +
                        xg_dmma_piece_beyond(pairs, rows, piece);
            int right = along_k ? xg_dmma_place(1, extent, depth, row, number)
                                : xg_dmma_place(0, extent, depth, number, row);
            XT_CHECK(place == right && place % 16 == 0, "piece %d of thread %d", piece, thread);
            XT_CHECK(place < extent * depth * 8 && !written[place / 16]++, "pair %d", place / 16);
            places[thread] = place;
            for (int i = 0; i < 2; i++)
                shared[place / 8 + i] = x[row * 2 * pairs + number + i];
        }
        for (int thread = 0; thread < threads; thread += LANES)
            XT_CHECK(bank_conflicts(places + thread, LANES, 16) == 1, "copies of threads %d..",
                     thread);
    }
}

/* What a warp loads of 8 rows (columns) and 4 steps of k, a number a lane, as xg_dmma_reader. */
static void load_lanes(double *lanes, const double *shared, int along_k, int t, int warp_index,
                       int index, int k)
{
    const int extent = tiles[t].extent, depth = tiles[t].depth;
    int places[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        int mine = warp_index + xg_dmma_index(lane);
        int home = xg_dmma_place(along_k, extent, depth, mine, xg_dmma_depth(lane));
        places[lane] = (home ^ xg_dmma_within(along_k, index, k)) +
                       xg_dmma_beyond(along_k, extent, depth, index, k);
        int right = xg_dmma_place(along_k, extent, depth, mine + index, xg_dmma_depth(lane) + k);
        XT_CHECK(places[lane] == right, "lane %d: (%d,%d) at %d, not %d", lane, index, k,
                 places[lane], right);
        lanes[lane] = shared[places[lane] / 8];
    }
    XT_CHECK(bank_conflicts(places, LANES, 8) == 1, "%s k, tile %d, (%d,%d)",
             along_k ? "along" : "across", t, index, k);
}

/*
 * mma.sync m16n8kK and m8n8k4 by the tables of PTX's manual, here a second time: of element i of a
 * lane's registers A's row and step of k, B's step of k, and C's row and column.
 */
static void multiply(int rows, int steps, double (*c)[4], double (*a)[8], double (*b)[4])
{
    double all_a[16][16], all_b[16][8];
    int halves = rows / 8;
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < halves * steps / 4; i++) {
            int row = (lane >> 2) + 8 * (i % halves), k = (lane & 3) + 4 * (i / halves);
            all_a[row][k] = a[lane][i];
            if (i % halves == 0)
                all_b[k][lane >> 2] = b[lane][i / halves];
        }
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 2 * halves; i++) {
            int row = (lane >> 2) + 8 * (i >> 1), column = 2 * (lane & 3) + (i & 1);
            for (int k = 0; k < steps; k++)
                c[lane][i] += all_a[row][k] * all_b[k][column];
        }
}

/* 16 rows and 8 columns of a tile's product, from (row,column) on, in `steps` of k at a time (0:
 * by the small instruction): as a warp computes them. */
static void warp_product(double (*c)[4], const int *along_k, int t, int row, int column, int steps)
{
    const int small = steps == 0, slice = small ? 4 : steps;
    memset(c, 0, LANES * sizeof c[0]);
    for (int k = 0; k < tiles[t].depth; k += slice) {
        double a[LANES][8], b[LANES][4], loaded[LANES];
        for (int i = 0; i < slice / 2; i++) {
            load_lanes(loaded, tile[0], along_k[0], t, row, i % 2 * 8, k + i / 2 * 4);
            for (int lane = 0; lane < LANES; lane++)
                a[lane][i] = loaded[lane];
        }
        for (int i = 0; i < slice / 4; i++) {
            load_lanes(loaded, tile[1], along_k[1], t, column, 0, k + i * 4);
            for (int lane = 0; lane < LANES; lane++)
                b[lane][i] = loaded[lane];
        }
        for (int at = 0; at < slice; at += small ? 4 : steps) {
            double part_a[LANES][8], part_b[LANES][4], part_c[LANES][4];
            for (int half = 0; half < (small ? 2 : 1); half++) {
                for (int lane = 0; lane < LANES; lane++) {
                    for (int i = 0; i < (small ? 1 : steps / 2); i++)
                        part_a[lane][i] = a[lane][at / 2 + i + half];
                    for (int i = 0; i < (small ? 1 : steps / 4); i++)
                        part_b[lane][i] = b[lane][at / 4 + i];
                    memcpy(part_c[lane], c[lane] + 2 * half, (small ? 2 : 4) * sizeof(double));
                }
                multiply(small ? 8 : 16, small ? 4 : steps, part_c, part_a, part_b);
                for (int lane = 0; lane < LANES; lane++)
                    memcpy(c[lane] + 2 * half, part_c[lane], (small ? 2 : 4) * sizeof(double));
            }
        }
    }
}

/* Whole numbers, whose sums are exact in any order. */
static void draw(double *x, uint64_t *seed)
{
    for (int i = 0; i < EXTENT_MAX * DEPTH_MAX; i++)
        x[i] = (double)(int)(xt_random(seed) * 100.0f);
}

/* A tile's product for a pair of layouts: every element by the lane that stores it. */
static void test_product(int t, const int *along_k, int steps)
{
    static double a[EXTENT_MAX * DEPTH_MAX], b[EXTENT_MAX * DEPTH_MAX];
    const int extent = tiles[t].extent, depth = tiles[t].depth;
    uint64_t seed = 1;
    draw(a, &seed);
    draw(b, &seed);
    copy_tile(tile[0], a, along_k[0], t);
    copy_tile(tile[1], b, along_k[1], t);
    for (int row = 0; row < extent; row += 16)
        for (int column = 0; column < extent; column += 8) {
            double c[LANES][4];
            warp_product(c, along_k, t, row, column, steps);
            for (int e = 0; e < LANES * 4; e++) {
                int lane = e / 4, i = e % 4;
                int at_row = row + xg_dmma_index(lane) + i / 2 * 8;
                int at_column = column + xg_dmma_column(lane) + i % 2;
                double sum = 0.0;
                for (int k = 0; k < depth; k++)
                    sum += (along_k[0] ? a[at_row * depth + k] : a[k * extent + at_row]) *
                           (along_k[1] ? b[at_column * depth + k] : b[k * extent + at_column]);
                XT_CHECK(c[lane][i] == sum, "tile %d, %d%d, %d steps: (%d,%d) is %g, not %g", t,
                         along_k[0], along_k[1], steps, at_row, at_column, c[lane][i], sum);
            }
        }
}

int main(void)
{
    static const int shapes[] = {0, 4, 8, 16};
    test_conflicts();
    for (int t = 0; t < TILES; t++)
        for (int form = 0; form < 16; form++) {
            const int along_k[2] = {form & 1, form >> 1 & 1};
            test_product(t, along_k, shapes[form / 4]);
        }
    return xt_done();
}
