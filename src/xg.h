/* SPDX-License-Identifier: MIT */
/* The vocabulary of the engine: what every room of src/ may say to another. */
#ifndef XG_H
#define XG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a function can return. XG_DECLINED is policy, not an error: the work belongs on the CPU and
 * nothing was touched. Failures are negative. The function that decides a failure logs it once
 * (log.h); its callers only propagate.
 */
enum xg_status {
    XG_OK = 0,
    XG_DECLINED = 1,
    XG_ERR_NOMEM = -1,    /* host, page-locked or device memory, or XGEMM_MEM_LIMIT */
    XG_ERR_DRIVER = -2,   /* a driver call failed; the context still works */
    XG_ERR_LOST = -3,     /* the context is unusable: no GPU for the rest of the process */
    XG_ERR_NOTFOUND = -4, /* a library, symbol, kernel or device is not there */
    XG_ERR_SYSTEM = -5,   /* a system call failed (threads, locks) */
    XG_ERR_HUNG = -6,     /* the device gets nothing done: nothing that it holds may be freed */
};

/* One word for a status, for logs; never NULL. */
const char *xg_status_name(enum xg_status status);

/*
 * One SGEMM, normalised: C = alpha * op(A) * op(B) + beta * C, all row-major, in host memory.
 *
 *   op(A) is (m,k): a is (m,k) with lda >= k, or (k,m) with lda >= m when transa.
 *   op(B) is (k,n): b is (k,n) with ldb >= n, or (n,k) with ldb >= k when transb.
 *   c     is (m,n) with ldc >= n.
 *
 * Leading dimensions are in elements. A column-major product arrives here as its transpose
 * (Cᵀ = op(B)ᵀ op(A)ᵀ): the shim swaps the operands. beta == 0: c is never read. alpha == 0 or
 * k == 0: a and b are never read. Dimensions are >= 0 and the arguments already checked as the BLAS
 * standard says.
 */
struct xg_sgemm {
    bool transa, transb;
    int64_t m, n, k;
    float alpha;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float beta;
    float *c;
    int64_t ldc;
};

/* Whose threads a CPU library computes with: what they do after a product (spin.h). */
enum xg_pool {
    XG_POOL_UNKNOWN = 0,
    XG_POOL_NONE,     /* none, or threads that end with the product */
    XG_POOL_OPENBLAS, /* OpenBLAS's own */
    XG_POOL_GOMP,     /* libgomp's */
    XG_POOL_KMP,      /* libiomp5's and LLVM's libomp's */
    XG_POOL_MKL,      /* MKL's: those of the threading layer that the user has chosen */
};

/*
 * The CPU side of one intercepted call, given by the shim (or by a test).
 *   whole:   repeats the caller's own call, argument for argument, in the caller's own BLAS.
 *   part:    computes any normalised product (a tile of the call) in the same library.
 *   library: the file of that library, valid until the call ends; NULL where it is not known.
 *   threads: with how many threads, the caller's included, whole would compute now, at most; 0:
 *            not known. Takes a few nanoseconds.
 *   set_threads: makes the library compute with so many from now on, for all of the process.
 *   pool:    whose threads those are.
 *
 * The functions are called on the application's thread; whole and part may run for long, and cannot
 * fail. library, threads and set_threads may be NULL.
 */
struct xg_cpu {
    void (*whole)(void *ctx);
    void (*part)(void *ctx, const struct xg_sgemm *part);
    const char *(*library)(void *ctx);
    int (*threads)(void *ctx);
    void (*set_threads)(void *ctx, int count);
    enum xg_pool pool;
    void *ctx;
};

/* What happened to a product on its way through a device. */
struct xg_gemm_result {
    const char *kernel;            /* the row that computed (the first one, where several did) */
    uint64_t up_bytes, down_bytes; /* moved over the link */
    bool busy;                     /* every lane was taken: nothing was tried */
    double waited_s;               /* for a lane */
    int64_t tiles, tiles_done; /* of C; done: committed to the caller's memory by the GPU's side */
};

static inline double xg_sgemm_flops(const struct xg_sgemm *p)
{
    return 2.0 * (double)p->m * (double)p->n * (double)p->k;
}

static inline int64_t xg_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t xg_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
static inline int64_t xg_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}
static inline int64_t xg_round_up(int64_t a, int64_t b)
{
    return xg_ceil_div(a, b) * b;
}

#endif
