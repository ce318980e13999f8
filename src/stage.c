/* SPDX-License-Identifier: MIT */
/* Row copies to and from staging buffers. */
#include "stage.h"

#include <string.h>

#include "copy.h"

/* Rows that follow each other on both sides are one: narrow ones are too short to be streamed. */
static void join_rows(int64_t *rows, int64_t *width, int64_t ld, int64_t other_ld)
{
    if (ld == *width && other_ld == *width) {
        *width *= *rows;
        *rows = 1;
    }
}

void xg_stage_pack(float *dst, int64_t ld, const float *src, int64_t src_ld, int64_t rows,
                   int64_t width, bool cached)
{
    join_rows(&rows, &width, ld, src_ld);
    int64_t padding = xg_round_up(width, 4) - width;
    xg_copy *copy = cached ? xg_copy_keep : xg_copy_stream;
    for (int64_t row = 0; row < rows; row++) {
        copy(dst + row * ld, src + row * src_ld, (size_t)width * sizeof(float));
        memset(dst + row * ld + width, 0, (size_t)padding * sizeof(float));
    }
    xg_copy_fence();
}

void xg_stage_commit(float *c, int64_t ldc, const float *src, int64_t ld, int64_t rows,
                     int64_t width, float beta)
{
    join_rows(&rows, &width, ldc, ld);
    for (int64_t row = 0; row < rows; row++) {
        float *to = c + row * ldc;
        const float *from = src + row * ld;
        if (beta == 0)
            xg_copy_drain(to, from, (size_t)width * sizeof(float));
        else
            xg_copy_combine(to, from, (size_t)width, beta);
    }
    xg_copy_fence();
}
