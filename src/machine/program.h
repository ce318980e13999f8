/* SPDX-License-Identifier: MIT */
/* Which program this process runs, so that a later run of the same program is recognised. */
#ifndef XG_PROGRAM_H
#define XG_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xg_program_kind {
    XG_PROGRAM_NONE,   /* not told apart: code given as text, a worker of another process */
    XG_PROGRAM_ALONE,  /* by its executable */
    XG_PROGRAM_SCRIPT, /* by its executable and the real path of a script */
    XG_PROGRAM_NAME    /* by its executable, the name of a module or tool, and the working folder */
};

/*
 * Finds what tells the program apart: the executable's base name says whether it is an interpreter,
 * and its arguments name the script or module. *word points into argv, or is NULL. All other
 * arguments are ignored. Pure.
 */
enum xg_program_kind xg_program_classify(const char *executable, int argc, const char *const *argv,
                                         const char **word);

enum { XG_PROGRAM_TEXT_BYTES = 3 * PATH_MAX, XG_PROGRAM_ARGUMENTS = 64 };

/* The text, and the room to make it. Not for a thread's stack, which may be small. */
struct xg_program {
    char text[XG_PROGRAM_TEXT_BYTES];
    char executable[PATH_MAX], line[PATH_MAX], real[PATH_MAX], folder[PATH_MAX];
    const char *argv[XG_PROGRAM_ARGUMENTS];
};

/* Writes a text that is equal for runs of the same program; returns its length. 0: the program is
 * not told apart, or its script is not there. executable: its real path. */
size_t xg_program_write(struct xg_program *program, const char *executable, int argc,
                        const char *const *argv);

/*
 * The same for this process. 0: also if it is a forked child or set-user-ID. *started_ms: when the
 * process started, on the clock of CLOCK_BOOTTIME. Reads /proc/self. Allocates nothing, takes no
 * lock, keeps errno.
 */
size_t xg_program_describe(struct xg_program *program, int64_t *started_ms);

#endif
