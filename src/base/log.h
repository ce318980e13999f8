/* SPDX-License-Identifier: MIT */
/* Messages to the user: standard error or XGEMM_LOG, one line each, prefixed "xgemm: ". */
#ifndef XG_LOG_H
#define XG_LOG_H

#include <stddef.h>

/*
 * Levels as XGEMM_VERBOSE counts them. XG_LOG_WARN is always printed: facts that the user should
 * know (a failure that was recovered from, a bad setting). Nothing goes to standard output.
 */
enum xg_log_level { XG_LOG_WARN = 0, XG_LOG_CALL = 1, XG_LOG_INFO = 2, XG_LOG_TRACE = 3 };

/* True if a message of this level would be written: lets callers skip building it. */
int xg_log_enabled(enum xg_log_level level);

/*
 * Writes one line with a single write(2) (lines of several threads do not mix). Allocates nothing,
 * keeps errno, safe from any thread and re-entrant. Cuts lines over 1000 bytes and writes control
 * characters as question marks. Raises no signal and waits for no reader of a FIFO. Writes nothing
 * if standard error is another file than it was when the library was loaded.
 */
void xg_log(enum xg_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As xg_log, for warnings that must not repeat: writes only the first time that *once is 0. */
void xg_log_once(int *once, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a finished text of many lines (the statistics) to the message file. Keeps errno. */
void xg_log_text(const char *text, size_t size_bytes);

/*
 * Sets how much is written and where: conf.c calls it once, after it has read the environment.
 * Before that, only warnings are written, to standard error. path (NULL: standard error) is copied;
 * the file is created at the first message. If it cannot be opened, one message says so and
 * standard error is used.
 */
void xg_log_setup(int verbose, const char *path);

#endif
