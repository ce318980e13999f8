/* SPDX-License-Identifier: MIT */
/*
 * A program that multiplies, as the tests of an installed tree build it: by itself, or, with
 * PROGRAM_CALLS, through a library (made of this file with PROGRAM_LIBRARY).
 */
#include <stdio.h>

#define SIZE 128

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
int program_multiply(void);

#ifndef PROGRAM_CALLS
/* Whether a product of ones is SIZE everywhere. */
int program_multiply(void)
{
    static float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
    for (int i = 0; i < SIZE * SIZE; i++)
        a[i] = b[i] = 1.0f;
    cblas_sgemm(101, 111, 111, SIZE, SIZE, SIZE, 1.0f, a, SIZE, b, SIZE, 0.0f, c, SIZE);
    for (int i = 0; i < SIZE * SIZE; i++) {
        if (!(c[i] == (float)SIZE))
            return 0;
    }
    return 1;
}
#endif

#ifndef PROGRAM_LIBRARY
int main(void)
{
    int right = program_multiply();
    puts(right ? "right" : "WRONG");
    return !right;
}
#endif
