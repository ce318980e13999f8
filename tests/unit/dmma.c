/* SPDX-License-Identifier: MIT */
/* The places of numbers in the DGEMM kernels' shared memory, for every copy and load, and their
 * bank conflicts. tests/simt/dgemm.cpp tests the products. */
#include "kernels/common/dmma_map.h"

#include <stdbool.h>

#include "tests/support/xt.h"

enum { EXTENT_MAX = 128, DEPTH = 16, THREADS_MAX = 256, LANES = 32 };

static const struct {
    int extent, threads;
} tiles[] = {{128, 256}, {64, 128}};
enum { TILES = sizeof tiles / sizeof tiles[0] };

/*
 * Shared memory's 32 banks of 4 bytes serve 128 bytes at a time: 16 lanes of 8 bytes or 8 of 16.
 * Returns how many words the busiest bank serves for one such group of lanes. 1: no conflict.
 */
static int bank_conflicts(const int *places, int bytes)
{
    int most = 0, group = 128 / bytes;
    for (int first = 0; first < LANES; first += group) {
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

/* Tests the count itself: adjacent lanes have no conflict, and lanes a line apart all conflict. */
static void test_conflicts(void)
{
    int places[LANES];
    for (int apart = 8; apart <= 128; apart *= 2) {
        for (int lane = 0; lane < LANES; lane++)
            places[lane] = lane * apart;
        XT_CHECK(bank_conflicts(places, 8) == apart / 8, "%d bytes apart", apart);
    }
    for (int lane = 0; lane < LANES; lane++)
        places[lane] = lane * 16;
    XT_CHECK(bank_conflicts(places, 16) == 1, "adjacent pairs");
}

/* Copies like xg_dmma_copier's: every pair goes to its own place, once, without conflicts. along_k:
 * the tile is contiguous along k in device memory. */
static void test_copies(int extent, int threads, bool along_k)
{
    const int pairs = (along_k ? DEPTH : extent) / 2, rows = threads / pairs;
    const int pieces = (along_k ? extent : DEPTH) / rows;
    char written[EXTENT_MAX * DEPTH / 2] = {0};
    XT_CHECK(!along_k || rows % 4 == 0, "the exchange depends on the piece");
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
        }
        for (int thread = 0; thread < threads; thread += LANES)
            XT_CHECK(bank_conflicts(places + thread, 16) == 1, "copies of threads %d..", thread);
    }
}

/* Loads like xg_dmma_reader's: each lane reads one number of 8 rows (columns), `index` after the
 * warp's first, and 4 steps of k. */
static void test_loads(int extent, bool along_k, int warp_index, int index, int k)
{
    int places[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        int mine = warp_index + xg_dmma_index(lane), depth = xg_dmma_depth(lane);
        places[lane] = (xg_dmma_place(along_k, extent, DEPTH, mine, depth) ^
                        xg_dmma_within(along_k, index, k)) +
                       xg_dmma_beyond(along_k, extent, DEPTH, index, k);
        int right = xg_dmma_place(along_k, extent, DEPTH, mine + index, depth + k);
        XT_CHECK(places[lane] == right, "lane %d: (%d,%d) at %d, not %d", lane, index, k,
                 places[lane], right);
    }
    XT_CHECK(bank_conflicts(places, 8) == 1, "%s k, extent %d, (%d,%d)",
             along_k ? "along" : "across", extent, index, k);
}

int main(void)
{
    test_conflicts();
    for (int form = 0; form < 2 * TILES; form++) {
        const int extent = tiles[form / 2].extent;
        const bool along_k = form % 2;
        test_copies(extent, tiles[form / 2].threads, along_k);
        for (int first = 0; first < extent; first += XG_DMMA_ROWS)
            for (int index = 0; first + index < extent; index += 8)
                for (int k = 0; k < DEPTH; k += 4)
                    test_loads(extent, along_k, first, index, k);
    }
    return xt_done();
}
