/* SPDX-License-Identifier: MIT */
/*
 * Products with alpha 0 or k 0, of sizes on both sides of those for which OpenBLAS has kernels of
 * their own, whose A and B nobody may read: prints how a child that calls for one ends, which is
 * the BLAS's affair (contract 2.3, doc/contract.md). Compiled by values.sh and linked to a
 * BLAS with the C interface.
 */
#define _DEFAULT_SOURCE
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE_MAX = 130, BYTES = SIDE_MAX * SIDE_MAX * 8 };

static void multiply(int is_double, int side, int k, double alpha, const void *nowhere, void *c)
{
    if (is_double)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, side, side, k, alpha, nowhere, side,
                    nowhere, side, 0.5, c, side);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, side, side, k, (float)alpha, nowhere,
                    side, nowhere, side, 0.5f, c, side);
}

int main(void)
{
    static const int sides[] = {20, 96, 100, SIDE_MAX};
    void *nowhere = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *c = calloc(1, BYTES);
    if (nowhere == MAP_FAILED || !c)
        return 99;
    for (int i = 0; i < 16; i++) {
        int side = sides[i / 4], status = -1, by_alpha = i & 1;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            multiply(i >> 1 & 1, side, by_alpha ? side : 0, by_alpha ? 0 : 2, nowhere, c);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 99;
        printf("%s of %d, %s 0: wait status %d\n", i >> 1 & 1 ? "DGEMM" : "SGEMM", side,
               by_alpha ? "alpha" : "k", status);
    }
    return 0;
}
