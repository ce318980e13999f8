/* SPDX-License-Identifier: MIT */
/* A convolution layer by im2col, images in parallel: every OpenMP thread calls cblas_sgemm. */
/*
 * usage: OPENBLAS_NUM_THREADS=1 threads [--scale X] [--answer FILE]
 *
 * 64 channels of 56 x 56, 64 filters of 3 x 3: each image is one product 64 x 3136 x 576, computed
 * by the thread that unfolds the image, as in multithreaded programs.
 */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHANNELS = 64, FILTERS = 64, SIDE = 56, PIXELS = SIDE * SIDE, TAPS = 9 };

static float filters[FILTERS * CHANNELS * TAPS];

static float uniform(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * 0x1p-24f - 0.5f;
}

/* Unfolds an image: row (channel, tap) of the matrix is the channel shifted by the tap, with 0
 * beyond the edges. */
static void unfold(const float *image, float *matrix)
{
    for (int channel = 0; channel < CHANNELS; channel++) {
        for (int tap = 0; tap < TAPS; tap++) {
            int down = tap / 3 - 1, right = tap % 3 - 1;

            for (int y = 0; y < SIDE; y++) {
                int from = y + down;
                float *row = matrix + (size_t)(channel * TAPS + tap) * PIXELS + (size_t)y * SIDE;

                memset(row, 0, SIDE * sizeof *row);
                if (from < 0 || from >= SIDE)
                    continue;
                memcpy(row + (right < 0), image + channel * PIXELS + from * SIDE + (right > 0),
                       (size_t)(SIDE - (right != 0)) * sizeof *row);
            }
        }
    }
}

/* The mean square of the layer's output for one image; NaN without memory. */
static double convolve(int number)
{
    float *image = malloc(CHANNELS * PIXELS * sizeof *image);
    float *matrix = malloc((size_t)CHANNELS * TAPS * PIXELS * sizeof *matrix);
    float *result = malloc(FILTERS * PIXELS * sizeof *result);
    unsigned state = (unsigned)number + 1;
    double sum = 0.0;

    if (image && matrix && result) {
        for (int i = 0; i < CHANNELS * PIXELS; i++)
            image[i] = uniform(&state);
        unfold(image, matrix);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, FILTERS, PIXELS, CHANNELS * TAPS,
                    1.0f, filters, CHANNELS * TAPS, matrix, PIXELS, 0.0f, result, PIXELS);
        for (int i = 0; i < FILTERS * PIXELS; i++)
            sum += (double)result[i] * (double)result[i];
    } else {
        sum = NAN;
    }
    free(image);
    free(matrix);
    free(result);
    return sum / (FILTERS * PIXELS);
}

int main(int argc, char **argv)
{
    double scale = 1.0;
    const char *answer = NULL;
    struct timespec begin, end;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--scale"))
            scale = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--answer"))
            answer = argv[i + 1];
    }
    int images = (int)fmax(4.0, 2000.0 * scale);
    double *squares = calloc((size_t)images, sizeof *squares);
    unsigned state = 1u << 31;

    if (!squares)
        return 1;
    for (int i = 0; i < FILTERS * CHANNELS * TAPS; i++)
        filters[i] = uniform(&state);

    clock_gettime(CLOCK_MONOTONIC, &begin);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < images; i++)
        squares[i] = convolve(i);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("work_s %.6f\n",
           (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));

    FILE *file = answer ? fopen(answer, "w") : NULL;
    if (file) {
        fprintf(file, "squares 1e-5");
        for (int i = 0; i < 32 && i < images; i++)
            fprintf(file, " %.9g", squares[i]);
        fprintf(file, "\n");
        fclose(file);
    }
    free(squares);
    return answer && !file;
}
