/* SPDX-License-Identifier: MIT */
/*
 * A program that multiplies again and again in the same memory, from threads at once, and checks
 * every element and what lies between the rows of C. Whole numbers: every sum is exact, and so must
 * every answer be.
 * usage: reuse [THREADS]
 */
#include <pthread.h>

#include "tests/support/xt.h"

void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc, size_t transa_length,
            size_t transb_length);

enum { SIDE = 150, LD = SIDE + 5, PRODUCTS = 24, THREADS_MAX = 16 };

/* One thread's memory, which all of its products use. */
struct reuse {
    uint64_t seed;
    float a[LD * SIDE], b[LD * SIDE], c[LD * SIDE], old[LD * SIDE];
    long right;
};

/* From -8 to 8. */
static float reuse_number(struct reuse *memory)
{
    return (float)(int)(8.5f * xt_random(&memory->seed));
}

/* Column-major. True: every element is right, and the rest of C is as it was. */
static int reuse_right(const struct reuse *p, const char *letters, const int *size, float alpha,
                       float beta)
{
    int ta = letters[0] != 'n' && letters[0] != 'N', tb = letters[1] != 'n' && letters[1] != 'N';
    for (int at = 0; at < LD * SIDE; at++) {
        int i = at % LD, j = at / LD;
        if (i >= size[0] || j >= size[1]) {
            if (memcmp(&p->c[at], &p->old[at], sizeof(float)))
                return 0;
            continue;
        }
        double sum = 0;
        for (int l = 0; l < size[2]; l++)
            sum += (double)p->a[ta ? i * LD + l : l * LD + i] *
                   (double)p->b[tb ? l * LD + j : j * LD + l];
        sum = (double)alpha * sum + (double)beta * (double)p->old[at];
        if (!((double)p->c[at] == sum))
            return 0;
    }
    return 1;
}

static void *reuse_run(void *argument)
{
    static const char *const letters[] = {"nn", "tn", "nc", "TC", "ct", "Nt"};
    static const int sizes[][3] = {{150, 20, 30}, {17, 140, 9}, {60, 50, 140}, {33, 31, 29}};
    static const int ld = LD;
    struct reuse *p = argument;
    for (int which = 0; which < PRODUCTS; which++) {
        const char *letter = letters[which % 6];
        const int *size = sizes[which % 4];
        float alpha = which % 3 ? 1.0f : -2.0f, beta = which % 2 ? 3.0f : 1.0f;
        for (int i = 0; i < LD * SIDE; i++) {
            p->a[i] = reuse_number(p);
            p->b[i] = reuse_number(p);
            p->c[i] = p->old[i] = reuse_number(p);
        }
        sgemm_(&letter[0], &letter[1], &size[0], &size[1], &size[2], &alpha, p->a, &ld, p->b, &ld,
               &beta, p->c, &ld, 1, 1);
        p->right += reuse_right(p, letter, size, alpha, beta);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct reuse memory[THREADS_MAX];
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t thread[THREADS_MAX];
    if (threads < 1 || threads > THREADS_MAX)
        return XT_HARD;
    for (int i = 0; i < threads; i++) {
        memory[i].seed = (uint64_t)i;
        if (pthread_create(&thread[i], NULL, reuse_run, &memory[i]))
            return XT_HARD;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        XT_CHECK(memory[i].right == PRODUCTS, "thread %d: %ld of %d products", i, memory[i].right,
                 PRODUCTS);
        printf("thread %d: %ld of %d %s\n", i, memory[i].right, (int)PRODUCTS,
               memory[i].right == PRODUCTS ? "right" : "WRONG");
    }
    return xt_failures ? XT_FAIL : XT_PASS;
}
