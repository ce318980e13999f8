/* SPDX-License-Identifier: MIT */
/* The settings: environment (XGEMM_*) and configuration files, read once. Knows no driver. */
#ifndef XG_CONF_H
#define XG_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/conf_file.h"

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
 * The process's configuration. Read at the first call, by whichever thread comes first (safe from
 * any number at once), and constant from then on: from the environment, where a variable is not
 * set from the user's file, then from the system's, else the default. Strings are copies owned by
 * the configuration. A variable's value that cannot be parsed or is out of bounds is reported once
 * through log.h, naming variable, value and what is accepted, and the default stands; with
 * XGEMM_VERBOSE above 0 so is each line of a file that is ignored, and each variable XGEMM_* that
 * is no setting. A closed process (sandbox.h) reads no file.
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

/* The configuration files of a process, the user's before the system's. Large: not for a stack. */
struct xg_conf_files {
    struct xg_conf_file user, system;
};

/* Where the system's lies. */
#define XG_CONF_SYSTEM_FILE XG_SYSCONFDIR "/xgemm.conf"

/*
 * Reads the file that XGEMM_CONFIG names, or, where that is not set, the user's
 * ($XDG_CONFIG_HOME/xgemm/xgemm.conf, ~/.config/xgemm/xgemm.conf) and the system's. A set-user-ID
 * program reads the system's alone, and only where no other user can change it.
 */
void xg_conf_files_read(struct xg_conf_files *files, const char *system_path);

/* Calls given for each setting that a file sets and the environment does not; an empty value is the
 * default. */
typedef void xg_conf_given(void *ctx, const char *name, const char *value, const char *path,
                           int line);
void xg_conf_files_visit(const struct xg_conf_files *files, xg_conf_given *given, void *ctx);

/* Call report with a text for each line that is ignored, by file and number; and for each variable
 * XGEMM_* of the environment that is no setting, with the one that is meant. One thread at a time.
 */
typedef void xg_conf_report(void *ctx, const char *text);
void xg_conf_files_report(const struct xg_conf_files *files, xg_conf_report *report, void *ctx);
void xg_conf_environment_report(xg_conf_report *report, void *ctx);

/* Writes the table of settings (name, values, default, help), or those that most users need, as
 * xgemm-run --help prints them. */
void xg_conf_print_help(FILE *out, bool common);

#endif
