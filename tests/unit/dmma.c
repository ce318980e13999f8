/* SPDX-License-Identifier: MIT */
/* The map of the DGEMM kernels, executed lane by lane: copies, loads, instructions, results. */
#include "kernels/common/dmma_map.h"

#include <stdbool.h>

#include "tests/support/xt.h"

enum { EXTENT_MAX = 128, DEPTH = 16, THREADS_MAX = 256, LANES = 32 };

/* A tile in shared memory as the kernels lay it out, and one as it lies in device memory. */
static double tile[2][EXTENT_MAX * DEPTH];

static const struct {
    int extent, threads;
} tiles[] = {{128, 256}, {64, 128}};
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
    const int extent = tiles[t].extent, threads = tiles[t].threads;
    const int pairs = (along_k ? DEPTH : extent) / 2, rows = threads / pairs;
    const int pieces = (along_k ? extent : DEPTH) / rows;
    static char written[EXTENT_MAX * DEPTH / 2];
    memset(written, 0, sizeof written);
    XT_CHECK(!along_k || rows % 4 == 0, "rows of a thread are exchanged alike");
    for (int piece = 0; piece < pieces; piece++) {
        int places[THREADS_MAX];
        for (int thread = 0; thread < threads; thread++) {
            int first = thread / pairs, row = first + piece * rows, number = thread % pairs * 2;
            int home = along_k ? xg_dmma_place(1, extent, DEPTH, first, number)
                               : xg_dmma_place(0, extent, DEPTH, number, first);
            int place = (home ^ xg_dmma_piece_within(along_k, rows, piece)) +
                        xg_dmma_piece_beyond(pairs, rows, piece);
            int right = along_k ? xg_dmma_place(1, extent, DEPTH, row, number)
                                : xg_dmma_place(0, extent, DEPTH, number, row);
            XT_CHECK(place == right && place % 16 == 0, "piece %d of thread %d", piece, thread);
            XT_CHECK(place < extent * DEPTH * 8 && !written[place / 16]++, "pair %d", place / 16);
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
    const int extent = tiles[t].extent;
    int places[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        int mine = warp_index + xg_dmma_index(lane);
        int home = xg_dmma_place(along_k, extent, DEPTH, mine, xg_dmma_depth(lane));
        places[lane] = (home ^ xg_dmma_within(along_k, index, k)) +
                       xg_dmma_beyond(along_k, extent, DEPTH, index, k);
        int right = xg_dmma_place(along_k, extent, DEPTH, mine + index, xg_dmma_depth(lane) + k);
        XT_CHECK(places[lane] == right, "lane %d: (%d,%d) at %d, not %d", lane, index, k,
                 places[lane], right);
        lanes[lane] = shared[places[lane] / 8];
    }
    XT_CHECK(bank_conflicts(places, LANES, 8) == 1, "%s k, tile %d, (%d,%d)",
             along_k ? "along" : "across", t, index, k);
}

/*
 * mma.sync m16n8k8 (rows 16, steps 8) and m8n8k4 by the tables of PTX's manual, here a second time:
 * of element i of a lane's registers A's row and step of k, B's step of k, and C's row and column.
 * half, step: where among a slice's registers the small one's are, else 0.
 */
static void multiply(int rows, int steps, double (*c)[4], double (*a)[4], double (*b)[2], int half,
                     int step)
{
    double all_a[16][8], all_b[8][8];
    int halves = rows / 8;
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < halves * steps / 4; i++) {
            int row = (lane >> 2) + 8 * (i % halves), k = (lane & 3) + 4 * (i / halves);
            all_a[row][k] = a[lane][2 * step + half + i];
            if (i % halves == 0)
                all_b[k][lane >> 2] = b[lane][step + i / halves];
        }
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 2 * halves; i++) {
            int row = (lane >> 2) + 8 * (i >> 1), column = 2 * (lane & 3) + (i & 1);
            for (int k = 0; k < steps; k++)
                c[lane][2 * half + i] += all_a[row][k] * all_b[k][column];
        }
}

/* 16 rows and 8 columns of a tile's product, from (row,column) on, as a warp computes them: by one
 * instruction a slice of k, or four small ones. */
static void warp_product(double (*c)[4], const int *along_k, int t, int row, int column, bool small)
{
    memset(c, 0, LANES * sizeof c[0]);
    for (int k = 0; k < DEPTH; k += XG_DMMA_STEPS) {
        double a[LANES][4], b[LANES][2], loaded[LANES];
        for (int i = 0; i < 4; i++) {
            load_lanes(loaded, tile[0], along_k[0], t, row, i % 2 * 8, k + i / 2 * 4);
            for (int lane = 0; lane < LANES; lane++)
                a[lane][i] = loaded[lane];
        }
        for (int i = 0; i < 2; i++) {
            load_lanes(loaded, tile[1], along_k[1], t, column, 0, k + i * 4);
            for (int lane = 0; lane < LANES; lane++)
                b[lane][i] = loaded[lane];
        }
        for (int i = 0; i < 4 && small; i++)
            multiply(8, 4, c, a, b, i % 2, i / 2);
        if (!small)
            multiply(16, 8, c, a, b, 0, 0);
    }
}

/* Whole numbers, whose sums are exact in any order. */
static void draw(double *x, uint64_t *seed)
{
    for (int i = 0; i < EXTENT_MAX * DEPTH; i++)
        x[i] = (double)(int)(xt_random(seed) * 100.0f);
}

/* A tile's product for a pair of layouts: every element by the lane that stores it. */
static void test_product(int t, const int *along_k, bool small)
{
    static double a[EXTENT_MAX * DEPTH], b[EXTENT_MAX * DEPTH];
    const int extent = tiles[t].extent;
    uint64_t seed = 1;
    draw(a, &seed);
    draw(b, &seed);
    copy_tile(tile[0], a, along_k[0], t);
    copy_tile(tile[1], b, along_k[1], t);
    for (int row = 0; row < extent; row += XG_DMMA_ROWS)
        for (int column = 0; column < extent; column += XG_DMMA_COLUMNS) {
            double c[LANES][4];
            warp_product(c, along_k, t, row, column, small);
            for (int e = 0; e < LANES * 4; e++) {
                int lane = e / 4, i = e % 4;
                int at_row = row + xg_dmma_index(lane) + i / 2 * 8;
                int at_column = column + xg_dmma_column(lane) + i % 2;
                double sum = 0.0;
                for (int k = 0; k < DEPTH; k++)
                    sum += (along_k[0] ? a[at_row * DEPTH + k] : a[k * extent + at_row]) *
                           (along_k[1] ? b[at_column * DEPTH + k] : b[k * extent + at_column]);
                XT_CHECK(c[lane][i] == sum, "tile %d, %d%d, %s: (%d,%d) is %g, not %g", t,
                         along_k[0], along_k[1], small ? "8x8x4" : "16x8x8", at_row, at_column,
                         c[lane][i], sum);
            }
        }
}

int main(void)
{
    test_conflicts();
    for (int t = 0; t < TILES; t++)
        for (int form = 0; form < 8; form++) {
            const int along_k[2] = {form & 1, form >> 1 & 1};
            test_product(t, along_k, form & 4);
        }
    return xt_done();
}
