/* SPDX-License-Identifier: MIT */
/* A product with its exact sums, its operands on a device, and the judge of a result, for tests of
 * kernels. */
#ifndef GPU_PRODUCT_H
#define GPU_PRODUCT_H

#include "src/device/mem.h"
#include "util.h"

/* Fills every place that a kernel must not touch: a NaN of either type, which its bits identify. */
#define PRODUCT_POISON 0x7ffcdeadu

/* A matrix with its surroundings on the host, and as much memory on the device. */
struct product_matrix {
    char *host;
    struct xg_mem_dev dev;
    int64_t first; /* where the matrix begins: behind a guard, and behind an offset */
    int64_t ld;
    int64_t used; /* numbers in use, guards included */
};

/* The values that an element which is not wanted may have. */
enum product_rest { REST_RIGHT_OR_KEPT, REST_KEPT, REST_ANY };

/* One product: op(A), op(B), C and the exact sums, in any storage; and its storage. */
struct product {
    int64_t m, n, k;
    double *a, *b, *c;           /* (m,k), (k,n), (m,n) */
    long double *sum, *absolute; /* (m,n): op(A) op(B), |op(A)| |op(B)| */
    enum xg_type type;           /* of its numbers: XG_TYPE_S or XG_TYPE_D */
    uint64_t seed;               /* of the next operands */
    double bound;                /* of errors: this times |alpha||A||B| + |beta||C|, and */
    double least;                /* this */
    struct xg_triangle wanted;   /* of C */
    enum product_rest rest;
    struct xg_dev *dev;
    CUstream stream;
    struct product_matrix on_a, on_b, on_c;
    char *result; /* what came back from on_c.dev */
    char *bits;   /* of C, kept by product_other_bits */
};

/* A kind of operands: the distributions of op(A) and of op(B), by their names. */
struct product_kind {
    const char *name, *a, *b;
};

/* Makes the device's context current, and creates a stream and memory: for `numbers` numbers in
 * each matrix, and `stored` numbers with its surroundings. Exits if there is no memory. */
void product_open(struct product *p, struct xg_dev *dev, size_t numbers, size_t stored);
void product_close(struct product *p);

/* Draws operands of p->type, and computes their exact product. */
void product_draw(struct product *p, const struct product_kind *kind, int64_t m, int64_t n,
                  int64_t k);
/* Computes the exact product of p->a and p->b. */
void product_sum(struct product *p);

size_t product_bytes(const struct product *p);             /* of a number */
double product_rounded(const struct product *p, double x); /* to the type */
double product_get(const struct product *p, const char *memory, int64_t at);
void product_set(const struct product *p, char *memory, int64_t at, double x);

/*
 * Lays op(A) and op(B) out on the device, `pad` numbers between rows, and C on the host: poison
 * where beta is 0. aligned: as XG_KERNEL_VEC4 asks for it, with zeros behind each row of A and B up
 * to the next multiple of 4; else nothing is aligned.
 */
void product_store_factors(struct product *p, bool transa, bool transb, int pad_a, int pad_b,
                           bool aligned);
void product_store_c(struct product *p, double beta, int pad, bool aligned);
/* Copies the matrix to the device, and C from it. */
void product_up(struct product *p, const struct product_matrix *matrix);
void product_down(struct product *p);
CUdeviceptr product_address(const struct product *p, const struct product_matrix *matrix);

/* The arguments of a launch on the operands in their storage. */
struct xg_gemm_args product_args(const struct product *p, bool transa, bool transb, double alpha,
                                 double beta);

/*
 * Lays all operands out on the device in one of four transposes (A's is the second bit), with
 * leading dimensions and alignments that follow from it and from the turn. Returns the arguments.
 */
struct xg_gemm_args product_store_form(struct product *p, int turn, int trans, double alpha,
                                       double beta);

/*
 * Judges p->result against what went up. Returns the largest error / bound, NaN when an element is
 * NaN and should not be, or differs where it is to be kept; *strays: elements changed outside C.
 */
double product_accuracy(const struct product *p, double alpha, double beta, long *strays);

/* Checks by product_accuracy that errors are within the bound, and that nothing changed outside C;
 * the text names the case. Returns the largest error / bound. */
double product_check(const struct product *p, double alpha, double beta, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* All of C, or a triangle that ends at a corner of a tile (bm,bn) or beside it; the turn selects
 * one. */
struct xg_triangle product_draw_wanted(const struct product *p, int64_t bm, int64_t bn, int turn);

/* The number of rows of C whose bits differ from the bits kept last; keep: keeps the new ones. */
long product_other_bits(struct product *p, bool keep);

#endif
