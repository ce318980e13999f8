/* SPDX-License-Identifier: MIT */
/* The kernel ABI of the mirrored triangle, shared by host code (C11) and device code. */
#ifndef XG_MIRROR_KABI_H
#define XG_MIRROR_KABI_H

#include <stdint.h>

/* Threads of a block, and the side of its tile. The grid has a block for each tile. */
enum { XG_MIRROR_THREADS = 256, XG_MIRROR_SIDE = 32 };

/* The single parameter: a column-major (n,n) in device memory. */
struct xg_mirror_args {
    uint64_t a;
    int64_t ld, n;
    int32_t from_upper; /* 1: the upper triangle is read; 0: the lower one */
};

#endif
