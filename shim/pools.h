/* SPDX-License-Identifier: MIT */
/* How long the threads of a CPU library spin after a product, and how long they should. */
/*
 * Threads that wait for the next product in a loop keep the cores that staging needs.
 *
 * OpenBLAS's own threads wait 2^28 ticks of the processor's clock, or 2^v if
 * OPENBLAS_THREAD_TIMEOUT is v >= 1, limited to 4 to 30; 0 and text that is no number mean the
 * default (driver/others/blas_server.c and openblas_env.c, the same from 0.2.16 to 0.3.31; the 26
 * of Makefile.rule holds for builds with -DTHREAD_TIMEOUT=26). The loop contains nops, on x86-64
 * since 0.3.27; before that sched_yield, except on some AMD processors. The threads also spin after
 * their creation, which is when the library is loaded.
 *
 * libgomp's threads (OpenMP builds of OpenBLAS and BLIS, and MKL inside PyTorch) wait
 * GOMP_SPINCOUNT rounds, by default 300,000, which take 3 to 6 ms; with OMP_WAIT_POLICY=passive no
 * rounds, with active 30e9, which take minutes. They wait fewer rounds if threads outnumber cores.
 *
 * The threads of libiomp5 and LLVM's libomp (MKL by itself, and programs linked with clang) wait
 * KMP_BLOCKTIME, 200 ms.
 *
 * BLIS with POSIX threads creates and joins them for each product.
 *
 * Measured on 2 cores of 2.6 GHz, in ms: OpenBLAS 0.3.21, 0.3.30 and 0.3.31 103, with 26 17 to 29,
 * with 30 413; libgomp of GCC 12 3.2 to 3.6, with 3,000,000 rounds 32 to 37; LLVM 14's libomp 202;
 * BLIS with POSIX threads 0.
 */
#ifndef SHIM_POOLS_H
#define SHIM_POOLS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "src/base/conf.h"
#include "src/base/xg.h"
#include "src/host/wake.h"

/* The owner of a CPU library's threads, which decides what they do after a product. */
enum shim_pool {
    SHIM_POOL_UNKNOWN = 0,
    SHIM_POOL_NONE,     /* none, or threads that end with the product */
    SHIM_POOL_OPENBLAS, /* OpenBLAS's own */
    SHIM_POOL_GOMP,     /* libgomp's */
    SHIM_POOL_KMP,      /* libiomp5's and LLVM's libomp's */
    SHIM_POOL_MKL,      /* MKL's: those of the user's threading layer */
};

/* The settings from the environment. INFINITY: until the process ends. */
struct shim_pools {
    double openblas_ticks;
    double gomp_s, kmp_s, mkl_s;
};

/*
 * OpenBLAS reads its variable through getenv once, when it is loaded, and offers no other way to
 * shorten the spin; libgomp reads its own. While such threads spin, they keep the cores from the
 * staging threads of a product on the GPU (512 x 1024 x 1024 takes 3.5 ms there instead of 0.25),
 * and from those of a second OpenBLAS in the process, as NumPy and SciPy bring one each (PCA's work
 * took 1.7 s instead of 0.4). But a thread that sleeps must be woken: 16 threads take 0.03 to 0.1
 * ms, and milliseconds where two of them wake on one core (tools/wake.c). On such a host a Cholesky
 * factorization of 1500 took 200 ms instead of 8 with threads that spin for 0.5 ms.
 *
 * So the spin follows from what a wake costs (src/host/wake.h). A thread sleeps only after it has
 * spun for a time S in which it had no work, so a program loses at most one wake for each S of its
 * time. The spin is the shortest with which that is 3 %, and so less than 2 % for a program that
 * computes for half as long as it pauses. In a virtual machine, where the cost changes with what
 * its neighbours do, OpenBLAS's spin is at least 17 ms. If the cost is unknown, or the spin would
 * not be shorter than the library's own, it stays as it is.
 */
#define SHIM_POOLS_POWER "OPENBLAS_THREAD_TIMEOUT"
#define SHIM_POOLS_ROUNDS "GOMP_SPINCOUNT"

/* What XGEMM_SPIN, XGEMM_MODE and CUDA_VISIBLE_DEVICES (NULL: unset) say about spins, on a machine
 * with or without a device. Pure. */
enum shim_wish {
    SHIM_WISH_KEPT,    /* no product is to run on a GPU, or the user wants it */
    SHIM_WISH_SHORT,   /* the user wants 0.5 ms, whatever a wake costs */
    SHIM_WISH_BY_WAKE, /* as short as the cost of a wake allows */
};
enum shim_wish shim_pools_wish(enum xg_spinning spin, enum xg_mode mode, const char *visible,
                               bool device);

/* The values of the two variables for a wish; wake: NULL, unknown. 0: the variable stays unset.
 * Pure. */
int shim_pools_power(enum shim_wish wish, const struct xg_wake *wake);
long shim_pools_rounds(enum shim_wish wish, const struct xg_wake *wake);

/* What OpenBLAS was told for SHIM_POOLS_POWER; from then on shim_pools_spin_s uses that value. 0:
 * nothing. */
extern _Atomic int shim_pools_told;

/*
 * The answer for OpenBLAS when it asks for SHIM_POOLS_POWER, which is unset: a static text, or
 * NULL. Sets shim_pools_told. Reads the settings through lookup(ctx, name), as they are at the
 * moment, and the kept cost of a wake. For getenv, at any moment of any thread: it makes some
 * system calls, none in a closed process (src/base/sandbox.h), takes no lock, allocates nothing,
 * and returns NULL if a function that it calls asks again. Keeps errno.
 */
const char *shim_pools_answer(const char *(*lookup)(void *ctx, const char *name), void *ctx);

/* True if the machine has a device that this build could use. Some system calls; keeps errno. */
bool shim_pools_have_device(void);

/* Inline and without libc functions, because getenv may call none. */
static inline bool shim_pools_is_word(const char *text, const char *word)
{
    while (*word && *text == *word)
        text++, word++;
    return *text == *word;
}

/* Reads the variables through lookup(ctx, name) (getenv-like; NULL: unset). Pure otherwise. */
void shim_pools_read(struct shim_pools *spin, const char *(*lookup)(void *ctx, const char *name),
                     void *ctx);

/*
 * The seconds for which the threads of such a pool spin, with a clock of ticks_hz: an upper bound,
 * 0 for a pool that does not spin. An unknown pool counts as OpenBLAS's. Pure.
 */
double shim_pools_spin_of(const struct shim_pools *spin, enum shim_pool pool, double ticks_hz);

/* The same for this process, with the environment of the first call and the clock's own rate
 * (src/host/ticks.h). From any thread. Takes a few nanoseconds once the rate is known, blocks
 * nothing, keeps errno. */
double shim_pools_spin_s(enum shim_pool pool);

#endif
