/* SPDX-License-Identifier: MIT */
/* Row copies to and from staging buffers. */
#include "stage.h"

#include <string.h>

void xg_stage_pack(float *dst, int64_t ld, const float *src, int64_t src_ld, int64_t rows,
                   int64_t width)
{
    if (src_ld == width && ld == width) {
        memcpy(dst, src, (size_t)(rows * width) * sizeof(float));
        return;
    }
    int64_t padding = xg_round_up(width, 4) - width;
    for (int64_t row = 0; row < rows; row++) {
        memcpy(dst + row * ld, src + row * src_ld, (size_t)width * sizeof(float));
        memset(dst + row * ld + width, 0, (size_t)padding * sizeof(float));
    }
}

void xg_stage_commit(float *c, int64_t ldc, const float *src, int64_t ld, int64_t rows,
                     int64_t width, float beta)
{
    if (beta == 0 && ldc == width && ld == width) {
        memcpy(c, src, (size_t)(rows * width) * sizeof(float));
        return;
    }
    for (int64_t row = 0; row < rows; row++) {
        float *to = c + row * ldc;
        const float *from = src + row * ld;
        if (beta == 0)
            memcpy(to, from, (size_t)width * sizeof(float));
        else
            for (int64_t column = 0; column < width; column++)
                to[column] = from[column] + beta * to[column];
    }
}
