/* SPDX-License-Identifier: MIT */
/* Messages to standard error or XGEMM_LOG: formatted on the stack, written with one write(2). */
/*
 * Knows nothing of conf.c, which reports bad settings through here while it reads the environment:
 * the two values that matter are handed over by xg_log_setup.
 *
 * XGEMM_LOG is opened and closed for each message. A descriptor kept open in a stranger's process
 * may be closed by it and come back as one of its own files, into which we would then write.
 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 1000 }; /* the line feed included */

static int log_verbose;         /* atomic */
static char log_path[PATH_MAX]; /* empty: standard error; constant once log_verbose is set */

/* A relative path is one from where the program started, wherever it goes later. */
void xg_log_setup(int verbose, const char *path)
{
    size_t at = 0;

    if (path && *path != '/' && getcwd(log_path, sizeof log_path - 1)) {
        at = strlen(log_path);
        log_path[at++] = '/';
    }
    if (path && strlen(path) < sizeof log_path - at)
        strcpy(log_path + at, path);
    else
        log_path[0] = '\0';
    __atomic_store_n(&log_verbose, verbose, __ATOMIC_RELEASE);
}

int xg_log_enabled(enum xg_log_level level)
{
    return (int)level <= __atomic_load_n(&log_verbose, __ATOMIC_ACQUIRE);
}

static void write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, text, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return; /* nobody is listening; there is nowhere to say so */
        text += written;
        size -= (size_t)written;
    }
}

static void report_unopened(void)
{
    static int reported;
    static const char before[] = "xgemm: cannot append to XGEMM_LOG=";
    static const char after[] = "; messages go to standard error\n";

    if (__atomic_exchange_n(&reported, 1, __ATOMIC_RELAXED))
        return;
    write_all(STDERR_FILENO, before, sizeof before - 1);
    write_all(STDERR_FILENO, log_path, strlen(log_path));
    write_all(STDERR_FILENO, after, sizeof after - 1);
}

void xg_log_text(const char *text, size_t size_bytes)
{
    int error = errno;
    int fd = -1;

    if (log_path[0]) {
        fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
        if (fd < 0)
            report_unopened();
    }
    write_all(fd < 0 ? STDERR_FILENO : fd, text, size_bytes);
    if (fd >= 0)
        close(fd);
    errno = error;
}

static void log_line(const char *format, va_list args)
{
    static const char prefix[] = "xgemm: ";
    char line[LINE_BYTES + 1]; /* vsnprintf's final zero becomes the line feed */
    const size_t room = sizeof line - sizeof prefix;
    size_t at = sizeof prefix - 1;
    int error = errno;
    int length;

    memcpy(line, prefix, at);
    length = vsnprintf(line + at, room, format, args);
    if (length > 0)
        at += (size_t)length < room ? (size_t)length : room - 1;
    line[at++] = '\n';
    xg_log_text(line, at);
    errno = error;
}

void xg_log(enum xg_log_level level, const char *format, ...)
{
    va_list args;

    if (!xg_log_enabled(level))
        return;
    va_start(args, format);
    log_line(format, args);
    va_end(args);
}

void xg_log_once(int *once, const char *format, ...)
{
    va_list args;

    if (__atomic_exchange_n(once, 1, __ATOMIC_RELAXED))
        return;
    va_start(args, format);
    log_line(format, args);
    va_end(args);
}
