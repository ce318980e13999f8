/* SPDX-License-Identifier: MIT */
/* The tiles of the kernels. The table (table.c) and the code (the .cu files) both expand this list,
 * and the code asserts that its sizes match. */
#ifndef XG_TILES_H
#define XG_TILES_H

/*
 * X(method, m, n, k, threads, stages, groups): a block of `threads` threads computes a tile (m,n)
 * of C in steps of k; `stages` stages of both operands are in shared memory, and `groups` groups of
 * warps divide each step. Method and tile are in the name of the entry: pipelined, 128, 128, 16 is
 * xg_sgemm_pipelined_sm80_128x128x16.
 */
#define XG_TILES(X)                                                                                \
    X(vectorized, 128, 128, 8, 256, 1, 1)                                                          \
    X(vectorized, 64, 64, 16, 128, 1, 1)                                                           \
    X(vectorized, 32, 32, 16, 64, 1, 1)                                                            \
    X(pipelined, 128, 128, 16, 128, 4, 1)                                                          \
    X(pipelined, 64, 128, 16, 128, 3, 1)                                                           \
    X(pipelined, 64, 64, 16, 128, 4, 1)                                                            \
    X(pipelined_scalar, 128, 128, 16, 256, 3, 1)                                                   \
    X(pipelined_scalar, 64, 64, 16, 128, 4, 1)                                                     \
    X(outer, 128, 128, 16, 256, 1, 1)                                                              \
    X(outer, 64, 128, 16, 256, 1, 1)                                                               \
    X(gemv, 1, 128, 4, 256, 1, 1)                                                                  \
    X(gemv, 1, 32, 4, 256, 1, 1)                                                                   \
    X(gemv, 128, 1, 4, 256, 1, 1)                                                                  \
    X(gemv, 32, 1, 4, 256, 1, 1)                                                                   \
    X(dot, 4, 1, 2048, 512, 1, 1)                                                                  \
    X(dot, 1, 4, 2048, 512, 1, 1)                                                                  \
    X(skinny, 8, 128, 32, 128, 3, 4)                                                               \
    X(skinny, 128, 8, 32, 128, 3, 4)                                                               \
    X(skinny, 16, 128, 32, 128, 3, 4)                                                              \
    X(skinny, 128, 16, 32, 128, 3, 4)                                                              \
    X(splitk, 32, 32, 32, 128, 3, 4)                                                               \
    X(splitk, 32, 64, 32, 128, 3, 4)                                                               \
    X(splitk, 64, 32, 32, 128, 3, 4)                                                               \
    X(splitk, 32, 64, 64, 256, 3, 8)                                                               \
    X(splitk, 64, 64, 16, 128, 3, 2)                                                               \
    X(splitk, 64, 64, 32, 256, 3, 4)                                                               \
    X(splitk, 64, 128, 16, 128, 3, 1)                                                              \
    X(splitk, 128, 64, 16, 128, 3, 1)                                                              \
    X(splitk, 128, 128, 16, 256, 3, 1)                                                             \
    X(deep, 128, 128, 16, 256, 4, 1)                                                               \
    X(deep, 256, 64, 16, 256, 4, 1)                                                                \
    X(deep, 64, 256, 16, 256, 4, 1)                                                                \
    X(deep, 256, 32, 16, 128, 3, 1)                                                                \
    X(deep, 32, 256, 16, 128, 3, 1)                                                                \
    X(deep_scalar, 128, 128, 16, 256, 4, 1)                                                        \
    X(dmma, 128, 128, 16, 256, 4, 1)                                                               \
    X(dmma_split, 128, 128, 16, 256, 4, 1)                                                         \
    X(dmma_split, 64, 64, 16, 128, 4, 1)

/* Dynamic shared memory of a block, in bytes: rows of both operands are padded by 4 floats. */
#define XG_TILES_PIPELINE_BYTES(m, n, k, stages) ((stages) * (k) * ((m) + (n) + 8) * 4)
/* The same, or the sums of all groups of warps, which reuse the operands' memory. */
#define XG_TILES_SUMS_BYTES(m, n, groups) ((groups) * (m) * ((n) + 4) * 4)
#define XG_TILES_SLICED_BYTES(m, n, k, stages, groups)                                             \
    (XG_TILES_PIPELINE_BYTES(m, n, k, stages) > XG_TILES_SUMS_BYTES(m, n, groups)                  \
         ? XG_TILES_PIPELINE_BYTES(m, n, k, stages)                                                \
         : XG_TILES_SUMS_BYTES(m, n, groups))
#define XG_TILES_DMMA_BYTES(m, n, k, stages) ((stages) * (k) * ((m) + (n)) * 8)

#ifdef __cplusplus
#define XG_TILES_TYPE(method, m, n, k, threads, stages, groups)                                    \
    struct xg_tile_##method##_##m##x##n##x##k {                                                    \
        enum { BM = m, BN = n, BK = k, THREADS = threads, STAGES = stages, GROUPS = groups };      \
    };
XG_TILES(XG_TILES_TYPE)
#undef XG_TILES_TYPE

/* In a kernel: names its tile `listed`, and asserts that the code has its sizes. */
#define XG_TILES_ASSERT(method, tile, bm, bn, threads)                                             \
    typedef xg_tile_##method##_##tile listed;                                                      \
    static_assert((bm) == int(listed::BM) && (bn) == int(listed::BN) &&                            \
                      (threads) == int(listed::THREADS),                                           \
                  "kernels/tiles.h has another tile")
#define XG_TILES_ASSERT_LAYOUT(method, tile, layout)                                               \
    XG_TILES_ASSERT(method, tile, int(layout::BM), int(layout::BN), int(layout::THREADS))
#else
#define XG_TILES_ENUM(method, m, n, k, threads, stages, groups)                                    \
    XG_TILES_NAME(method, m, n, k, THREADS) = threads,                                             \
                                   XG_TILES_NAME(method, m, n, k, STAGES) = stages,                \
                                   XG_TILES_NAME(method, m, n, k, GROUPS) = groups,
#define XG_TILES_NAME(method, m, n, k, what) xg_tile_##method##_##m##x##n##x##k##_##what
enum { XG_TILES(XG_TILES_ENUM) };
#undef XG_TILES_ENUM
#endif

#endif
