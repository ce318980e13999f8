/* SPDX-License-Identifier: MIT */
/* Copies between the caller's matrices and page-locked staging buffers, row by row. */
#ifndef XG_STAGE_H
#define XG_STAGE_H

#include "xg.h"

/*
 * Gathers rows of a matrix in ordinary memory into a staging buffer, past the caches unless
 * `cached`. src: (rows, width), leading dimension src_ld >= width elements. dst: (rows, ld), ld >=
 * width rounded up to 4; elements from width up to that multiple are set to 0, those beyond it are
 * left as they are.
 */
void xg_stage_pack(float *dst, int64_t ld, const float *src, int64_t src_ld, int64_t rows,
                   int64_t width, bool cached);

/*
 * Commits finished rows: c = src + beta * c, touching nothing but (rows, width) of c (leading
 * dimension ldc). beta == 0: c is only written. src has leading dimension ld and holds alpha * A *
 * B.
 */
void xg_stage_commit(float *c, int64_t ldc, const float *src, int64_t ld, int64_t rows,
                     int64_t width, float beta);

#endif
