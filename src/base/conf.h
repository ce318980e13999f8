/* SPDX-License-Identifier: MIT */
/* The settings: environment (XGEMM_*) and configuration files, read once. No driver involved. */
#ifndef XG_CONF_H
#define XG_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/conf_file.h"

enum xg_mode { XG_MODE_AUTO, XG_MODE_CPU, XG_MODE_GPU, XG_MODE_COMPARE };
enum xg_lapack { XG_LAPACK_ON, XG_LAPACK_OFF };
enum xg_history_use { XG_HISTORY_ON, XG_HISTORY_OFF };
enum xg_resident_use { XG_RESIDENT_AUTO, XG_RESIDENT_OFF };
enum xg_exit { XG_EXIT_LEAVE, XG_EXIT_WAIT };
enum xg_spinning { XG_SPINNING_AUTO, XG_SPINNING_SHORT, XG_SPINNING_KEEP };
enum xg_math { XG_MATH_ACCURATE, XG_MATH_STRICT, XG_MATH_TF32 };

struct xg_conf {
    enum xg_mode mode;       /* XGEMM_MODE=auto|cpu|gpu|compare */
    enum xg_math math;       /* XGEMM_MATH=accurate|strict|tf32 */
    const char *kernel;      /* XGEMM_KERNEL: a row of the kernel table; NULL: selection decides */
    const char *devices;     /* XGEMM_DEVICES: comma-separated ordinals; NULL: by rank, else 0 */
    int64_t mem_limit_bytes; /* XGEMM_MEM_LIMIT: most device memory; 0: 0.9 of the free memory */
    uint64_t operations;     /* XGEMM_OPERATIONS: one bit per kind (problem.h); 0: the default */
    enum xg_lapack lapack;   /* XGEMM_LAPACK=1|0: routines of LAPACK may run on the GPU */
    int stage_threads;       /* XGEMM_STAGE_THREADS; 0: from the cores the process may use */
    const char *cpu_blas;    /* XGEMM_CPU_BLAS: path or soname; NULL: the caller's own */
    int verbose;             /* XGEMM_VERBOSE=0..3: warnings, a line a call, start-up, trace */
    const char *log;         /* XGEMM_LOG: file that messages are appended to; NULL: stderr */
    int stats;               /* XGEMM_STATS=0|1: print the statistics of all calls at exit */
    const char *trace;       /* XGEMM_TRACE: file that gets one event per call; NULL: none */
    const char *account;     /* XGEMM_ACCOUNT: folder that keeps the accounts; NULL: none */
    const char *tape;        /* XGEMM_TAPE: folder that gets the calls as data; NULL: none */
    int timeout_ms;          /* XGEMM_TIMEOUT_MS; 0: 30000 */
    enum xg_spinning spin;   /* XGEMM_SPIN=auto|short|keep: spinning of CPU libraries' threads */
    enum xg_history_use history;   /* XGEMM_HISTORY=on|off: remembers which programs gain */
    enum xg_resident_use resident; /* XGEMM_RESIDENT=auto|off: operands stay on the device */
    enum xg_exit exit;             /* XGEMM_EXIT=leave|wait: for the GPU at exit */
    double verify;                 /* XGEMM_VERIFY: share of products to verify, 0 to 1 */
    int reproducible; /* XGEMM_REPRODUCIBLE=0|1: shape and device set place and kernel */
    bool kept;        /* no setting: xg_conf_keep_account was called in time */
};

/*
 * The process's configuration. The first call reads it (safe from any number of threads at once);
 * it is constant from then on. A setting comes from the environment, or else from the user's file,
 * then from the system's file, else it is the default. Strings are copies owned by the
 * configuration. If a variable's value cannot be parsed or is out of bounds, log.h reports it once,
 * naming variable, value and accepted values, and the default stands. With XGEMM_VERBOSE above 0,
 * each ignored line of a file and each unknown variable XGEMM_* is reported too. A closed process
 * (sandbox.h) reads no file.
 */
const struct xg_conf *xg_conf_get(void);

/*
 * Makes the process keep its account in memory, whatever the settings are. It has no effect after
 * the first call of xg_conf_get. The second function says whether an account is or will be kept; it
 * reads no setting. Neither takes a lock.
 */
void xg_conf_keep_account(void);
bool xg_conf_keeps_account(void);

/* True if xg_conf_keep_account was called, in time or too late. */
bool xg_conf_account_is_wanted(void);

/* A variable of the environment; NULL: it is unset, or the program is set-user-ID, whose caller
 * must not steer it or its log. ctx is not used: for functions that take a look-up. */
const char *xg_conf_environment(void *ctx, const char *name);

/*
 * Parses into *conf from lookup(ctx, name) (getenv-like) instead of the environment; for tests.
 * Passes messages to report(ctx, text) (never NULL).
 */
void xg_conf_parse(struct xg_conf *conf, const char *(*lookup)(void *ctx, const char *name),
                   void (*report)(void *ctx, const char *text), void *ctx);

/* True if problems of that kind may run on a device. */
bool xg_conf_operates(const struct xg_conf *conf, int kind);

/* True if each problem is counted in the account. */
static inline bool xg_conf_counts(const struct xg_conf *conf)
{
    return conf->stats || conf->account || conf->kept;
}

/* True if each problem is reported, whatever its size. */
static inline bool xg_conf_tells(const struct xg_conf *conf)
{
    return xg_conf_counts(conf) || conf->trace || conf->tape || conf->verbose >= 1;
}

/* True if the user asks for the GPU: all calls go there that can. */
static inline bool xg_conf_insists(const struct xg_conf *conf)
{
    return conf->mode == XG_MODE_GPU || conf->mode == XG_MODE_COMPARE;
}

/* True if operands may stay on a device for products that would not go there without. Not with
 * several devices: the next product may run on another one. */
static inline bool xg_conf_keeps(const struct xg_conf *conf)
{
    return conf->resident == XG_RESIDENT_AUTO && !conf->reproducible &&
           !(conf->devices && strchr(conf->devices, ','));
}

/* Frees the strings that xg_conf_parse copied. */
void xg_conf_fini(struct xg_conf *conf);

/* The configuration files of a process; the user's comes before the system's. Too large for a
 * stack. */
struct xg_conf_files {
    struct xg_conf_file user, system;
};

/* The path of the system's file. */
#define XG_CONF_SYSTEM_FILE XG_SYSCONFDIR "/xgemm.conf"

/*
 * Reads the file that XGEMM_CONFIG names. If that is not set, reads the user's file
 * ($XDG_CONFIG_HOME/xgemm/xgemm.conf, ~/.config/xgemm/xgemm.conf) and the system's. A set-user-ID
 * program reads only the system's file, and only if no other user can change it.
 */
void xg_conf_files_read(struct xg_conf_files *files, const char *system_path);

/* Calls `given` for each setting that a file sets and the environment does not set; an empty value
 * means the default. */
typedef void xg_conf_given(void *ctx, const char *name, const char *value, const char *path,
                           int line);
void xg_conf_files_visit(const struct xg_conf_files *files, xg_conf_given *given, void *ctx);

/* The first calls report for each ignored line, naming file and line number; the second for each
 * variable XGEMM_* of the environment that is not a setting, naming the nearest setting. One thread
 * at a time. */
typedef void xg_conf_report(void *ctx, const char *text);
void xg_conf_files_report(const struct xg_conf_files *files, xg_conf_report *report, void *ctx);
void xg_conf_environment_report(xg_conf_report *report, void *ctx);

/* Writes the table of settings (name, values, default, help), or only those that most users need,
 * as xgemm-run --help prints them. */
void xg_conf_print_help(FILE *out, bool common);

#endif
