/* SPDX-License-Identifier: MIT */
/* Products whose operands are on the device: run, judged and timed by rows of the kernel table. */
#ifndef BENCH_RESIDENT_H
#define BENCH_RESIDENT_H

#include "shapes.h"
#include "src/device/mem.h"
#include "src/verify/accuracy.h"

/* Opens the first device and cuBLAS where there is one; ends the program where there is no device,
 * as every function here does when the driver refuses something. */
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
 * Random operands, of XG_TYPE_S or XG_TYPE_D. ld_multiple: leading dimensions are the least
 * multiples of it that hold a row, and shape->pad more; between the rows lie zeros. 4: what the
 * host pipeline's staging gives; 1: tight, and then nothing is aligned but the first element.
 */
void resident_create(struct resident *r, enum xg_type type, const struct shape *shape,
                     int64_t ld_multiple, uint64_t *seed);
void resident_destroy(struct resident *r);

/* The row that selection takes under this arithmetic, for operands that are aligned or not. NULL:
 * there is none. */
const struct xg_kernel *resident_row(const struct resident *r, enum xg_math math);

/* What was measured of one row. */
struct timing {
    bool there;
    int batches, runs; /* runs a batch */
    double median_us, least_us;
    double
        error; /* largest of the sampled elements, in 2^-24 (2^-53) of |A||B|; NaN where one is */
};

enum { RESIDENT_TOGETHER = 16 };

/*
 * Runs each of up to RESIDENT_TOGETHER rows once on poisoned memory and judges the result; then
 * times them, in batches that take turns, so that a clock that drifts does so for all of them.
 * budget_s: of batches, a row. A row that declines the operands leaves its timing empty.
 */
void resident_measure(const struct resident *r, const struct xg_kernel *const *rows, int count,
                      double budget_s, struct timing *timings);

#endif
