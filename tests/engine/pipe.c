/* SPDX-License-Identifier: MIT */
/* The pipe's chunks: a tile is stored in equal chunks that fit a block, the last tile in smaller
 * ones. */
#include "tests/support/xt.h"

#include "src/pipeline/pipe.h"

enum { BLOCK_BYTES = 4 << 20 };

static int64_t chunk_rows(struct xg_plan *plan, const struct xg_plan_tile *tile, size_t bytes)
{
    struct xg_pipe pipe = {.plan = plan, .store_bytes = bytes, .block_bytes = BLOCK_BYTES};
    return xg_pipe_rows_per_chunk(&pipe, tile);
}

static void check_tile(int64_t rows, int64_t ld, size_t bytes)
{
    struct xg_plan_tile tiles[2] = {{.rows = rows, .ld = ld}, {.rows = rows, .ld = ld}};
    struct xg_plan plan = {.elem_bytes = sizeof(float), .tiles = tiles, .tile_count = 2};
    for (int last = 0; last < 2; last++) {
        int64_t chunk = chunk_rows(&plan, &tiles[last], bytes), rest = rows % chunk;
        int64_t row_bytes = ld * (int64_t)sizeof(float);
        XT_CHECK(chunk >= 1 && chunk <= rows, "%ld of %ld rows", (long)chunk, (long)rows);
        XT_CHECK(chunk == 1 || chunk * row_bytes <= BLOCK_BYTES, "%ld rows of %ld bytes",
                 (long)chunk, (long)row_bytes);
        /* Chunks are equal but for a row each: the last one lacks at most as many rows as there are
         * chunks. */
        int64_t chunks = xg_ceil_div(rows, chunk);
        XT_CHECK(rest == 0 || chunk - rest < chunks, "%ld rows in chunks of %ld leave %ld",
                 (long)rows, (long)chunk, (long)rest);
    }
    XT_CHECK(chunk_rows(&plan, &tiles[1], bytes) <= chunk_rows(&plan, &tiles[0], bytes));
}

int main(void)
{
    static const int64_t extents[] = {1, 2, 3, 64, 255, 1000, 1563, 4096, 6250, 100000};
    static const int64_t lds[] = {4, 64, 780, 4096, 1 << 20};
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++)
        for (size_t j = 0; j < sizeof lds / sizeof lds[0]; j++)
            for (size_t bytes = 256 << 10; bytes <= BLOCK_BYTES; bytes *= 2)
                check_tile(extents[i], lds[j], bytes);

    /* 100000 x 64 x 64: a panel of 1600 kB in chunks of about 1562 kB left a rest of 5 kB each. */
    struct xg_plan_tile tiles[2] = {{.rows = 6272, .ld = 64}, {.rows = 6272, .ld = 64}};
    struct xg_plan plan = {.elem_bytes = sizeof(float), .tiles = tiles, .tile_count = 2};
    XT_CHECK(chunk_rows(&plan, &tiles[0], 1600000) == 6272);
    return xt_done();
}
