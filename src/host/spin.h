/* SPDX-License-Identifier: MIT */
/* How long the threads of a CPU library spin after a product, and when OpenBLAS is told to spin
 * less. */
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
#ifndef XG_SPIN_H
#define XG_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/xg.h"

/* The settings from the environment. INFINITY: until the process ends. */
struct xg_spin {
    double openblas_ticks;
    double gomp_s, kmp_s, mkl_s;
};

/*
 * OpenBLAS reads its variable through getenv once, when it is loaded, and offers no other way to
 * shorten the spin. If the user has not set it, the shim gives OpenBLAS a short one
 * (shim/environment.c). Otherwise its threads keep the cores from the staging threads of a product
 * on the GPU (512 x 1024 x 1024 takes 3.5 ms there instead of 0.25), and from those of a second
 * OpenBLAS in the process, as NumPy and SciPy bring one each (PCA's work took 1.7 s instead of
 * 0.4). 2^20 ticks are 0.5 ms. If no product is to run on a GPU, the shim gives no such answer: a
 * product after a pause of 0.5 ms to 0.1 s would pay 0.2 ms for waking the threads and gain
 * nothing.
 */
#define XG_SPIN_VARIABLE "OPENBLAS_THREAD_TIMEOUT"
#define XG_SPIN_SHORT "20"

/* Set once OpenBLAS was told to spin less; from then on xg_spin_seconds uses that value. */
extern _Atomic bool xg_spin_told;

/* True if the machine has a device that this build could use. Some system calls; keeps errno. */
bool xg_spin_has_device(void);

/* Inline and without libc functions, like the next function, because getenv may call none. */
static inline bool xg_spin_is_word(const char *text, const char *word)
{
    while (*word && *text == *word)
        text++, word++;
    return *text == *word;
}

/*
 * True if OpenBLAS is told XG_SPIN_SHORT when the user has not set XG_SPIN_VARIABLE. That depends
 * on XGEMM_SPIN, XGEMM_MODE and CUDA_VISIBLE_DEVICES as they are when OpenBLAS asks (NULL: unset),
 * read as conf.c reads them, and on whether there is a device. Pure.
 */
static inline bool xg_spin_is_short(const char *spin, const char *mode, const char *visible,
                                    bool device)
{
    if (spin && xg_spin_is_word(spin, "short"))
        return true;
    if (spin && xg_spin_is_word(spin, "keep"))
        return false;
    bool hidden = visible && (!*visible || *visible == '-');
    return device && !hidden && !(mode && xg_spin_is_word(mode, "cpu"));
}

/* Ticks a second until the rate is known: 2^28 of them are 134 ms, the longest measured. */
#define XG_SPIN_TICKS_HZ 2e9

/* Reads the variables through lookup(ctx, name) (getenv-like; NULL: unset). Pure otherwise. */
void xg_spin_read(struct xg_spin *spin, const char *(*lookup)(void *ctx, const char *name),
                  void *ctx);

/*
 * The seconds for which the threads of such a pool spin, with a clock of ticks_hz: an upper bound,
 * 0 for a pool that does not spin. An unknown pool counts as OpenBLAS's. Pure.
 */
double xg_spin_of(const struct xg_spin *spin, enum xg_pool pool, double ticks_hz);

/*
 * The same for this process, with the environment of the first call and the clock's own rate. That
 * rate is measured between the first call and one at least 20 ms later; until then, and if it
 * cannot be read, it is XG_SPIN_TICKS_HZ or the architecture's figure. From any thread. Takes a few
 * nanoseconds once the rate is known, blocks nothing, keeps errno.
 */
double xg_spin_seconds(enum xg_pool pool);

#endif
