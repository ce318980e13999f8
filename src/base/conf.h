/* SPDX-License-Identifier: MIT */
/* The environment (XGEMM_*), read once into one struct. Knows no driver. */
#ifndef XG_CONF_H
#define XG_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum xg_mode { XG_MODE_AUTO, XG_MODE_CPU, XG_MODE_GPU, XG_MODE_COMPARE };
enum xg_exit { XG_EXIT_LEAVE, XG_EXIT_WAIT };
enum xg_spinning { XG_SPINNING_AUTO, XG_SPINNING_SHORT, XG_SPINNING_KEEP };
enum xg_math { XG_MATH_ACCURATE, XG_MATH_STRICT, XG_MATH_TF32 };

struct xg_conf {
    enum xg_mode mode;       /* XGEMM_MODE=auto|cpu|gpu|compare */
    enum xg_math math;       /* XGEMM_MATH=accurate|strict|tf32 */
    const char *kernel;      /* XGEMM_KERNEL: a row of the kernel table; NULL: selection decides */
    const char *devices;     /* XGEMM_DEVICES: comma-separated device ordinals; NULL: 0 */
    int64_t mem_limit_bytes; /* XGEMM_MEM_LIMIT: device memory at most; 0: 0.9 of what is free */
    uint64_t operations;     /* XGEMM_OPERATIONS: a bit a kind (problem.h); 0: the default */
    int stage_threads;       /* XGEMM_STAGE_THREADS; 0: from the cores the process may use */
    const char *cpu_blas;    /* XGEMM_CPU_BLAS: path or soname; NULL: the caller's own */
    int verbose;             /* XGEMM_VERBOSE=0..3: warnings, a line a call, start-up, trace */
    const char *log;         /* XGEMM_LOG: file that messages are appended to; NULL: stderr */
    int stats;               /* XGEMM_STATS=0|1: print the account of all calls at exit */
    const char *trace;       /* XGEMM_TRACE: file that an event a call is written to; NULL: none */
    const char *account;     /* XGEMM_ACCOUNT: folder that accounts are kept in; NULL: none */
    int timeout_ms;          /* XGEMM_TIMEOUT_MS; 0: 30000 */
    enum xg_spinning spin;   /* XGEMM_SPIN=auto|short|keep: of OpenBLAS's threads */
    enum xg_exit exit;       /* XGEMM_EXIT=leave|wait: for the GPU, at the end */
    double verify;           /* XGEMM_VERIFY: share of products that are verified, 0 to 1 */
    int reproducible;        /* XGEMM_REPRODUCIBLE=0|1: place and kernel by shape and device */
};

/*
 * The process's configuration. Parsed from the environment at the first call, by whichever thread
 * comes first (safe from any number at once), and constant from then on. Strings are copies owned
 * by the configuration. A value that cannot be parsed or is out of bounds is reported once through
 * log.h, naming variable, value and what is accepted, and the default stands.
 */
const struct xg_conf *xg_conf_get(void);

/*
 * Parses into *conf from lookup(ctx, name) (getenv-like) instead of the environment; for tests.
 * Messages go to report(ctx, text) (never NULL).
 */
void xg_conf_parse(struct xg_conf *conf, const char *(*lookup)(void *ctx, const char *name),
                   void (*report)(void *ctx, const char *text), void *ctx);

/* Whether problems of that kind may run on a device. */
bool xg_conf_operates(const struct xg_conf *conf, int kind);

/* Whether somebody is told of each problem, whatever its size. */
static inline bool xg_conf_tells(const struct xg_conf *conf)
{
    return conf->stats || conf->trace || conf->account || conf->verbose >= 1;
}

/* Frees the strings that xg_conf_parse copied. */
void xg_conf_fini(struct xg_conf *conf);

/* Writes the table of variables (name, values, default, help), as xgemm-run --help prints it. */
void xg_conf_print_help(FILE *out);

#endif
