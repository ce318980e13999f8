/* SPDX-License-Identifier: MIT */
/* Runs, checks and times rows of the kernel table on products with operands on the device. */
#ifndef BENCH_RESIDENT_H
#define BENCH_RESIDENT_H

#include "shapes.h"
#include "src/device/mem.h"
#include "src/verify/accuracy.h"

/* Opens the first device, and cuBLAS if there is one. Ends the program if there is no device; every
 * function here ends the program if the driver fails. */
struct xg_dev *resident_open(void);
void resident_close(void);

/* One product's operands, on the host and in `sets` copies on the device. */
struct resident {
    struct xg_problem call; /* host memory */
    void *a, *b, *c;
    size_t a_elems, b_elems, c_elems;
    int sets;
    struct xg_mem_dev dev; /* per set: A, B, C, each 256-byte aligned */
    size_t set_bytes, b_at, c_at;
    struct xg_accuracy accuracy;
};

/*
 * Creates random operands of XG_TYPE_S or XG_TYPE_D. ld_multiple: leading dimensions are the
 * smallest multiples of it that hold a row, plus shape->pad; the space between rows is zero. 4: as
 * the host pipeline's staging; 1: tight, so that only the first element is aligned.
 */
void resident_create(struct resident *r, enum xg_type type, const struct shape *shape,
                     int64_t ld_multiple, uint64_t *seed);
void resident_destroy(struct resident *r);

/* The row that selection chooses with this arithmetic, for aligned or unaligned operands. NULL:
 * there is none. */
const struct xg_kernel *resident_row(const struct resident *r, enum xg_math math);

/* The measurements of one row. */
struct timing {
    bool there;
    int batches, runs; /* runs per batch */
    double median_us, least_us;
    double error; /* largest error of the sampled elements, in 2^-24 (2^-53) of |A||B|; NaN if one
                   * is NaN */
};

enum { RESIDENT_TOGETHER = 16 };

/*
 * Runs each of up to RESIDENT_TOGETHER rows once on poisoned memory and checks the result. Then
 * times them in alternating batches, so that a drifting clock affects all of them. budget_s: for
 * the batches of a row. A row that declines the operands leaves its timing empty.
 */
void resident_measure(const struct resident *r, const struct xg_kernel *const *rows, int count,
                      double budget_s, struct timing *timings);

#endif
