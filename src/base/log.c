/* SPDX-License-Identifier: MIT */
/* Messages to standard error or XGEMM_LOG: formatted on the stack, written with one write(2). */
/*
 * Does not use conf.c, which reports bad settings through this file while it reads the environment;
 * xg_log_setup passes the two values that matter.
 *
 * XGEMM_LOG is opened and closed for each message. The program may close a descriptor that we keep
 * open and get the same number for one of its own files, into which we would then write. For the
 * same reason the identity of standard error is recorded at load, and nothing is written to it once
 * it is another file.
 *
 * A message must not end the program or delay it: it takes back SIGPIPE and SIGXFSZ that a write
 * raises, and does not wait for a FIFO's reader.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sandbox.h"

enum { LINE_BYTES = 1000 }; /* the line feed included */

static int log_verbose;         /* atomic */
static char log_path[PATH_MAX]; /* empty: standard error; constant once log_verbose is set */

/* A relative path is relative to the folder in which the program started. */
void xg_log_setup(int verbose, const char *path)
{
    log_path[0] = '\0';
    if (path)
        xg_file_absolute(path, log_path);
    __atomic_store_n(&log_verbose, verbose, __ATOMIC_RELEASE);
}

int xg_log_enabled(enum xg_log_level level)
{
    return (int)level <= __atomic_load_n(&log_verbose, __ATOMIC_ACQUIRE);
}

/* --- The file ------------------------------------------------------------------------------- */

/* The identity of standard error when the library was loaded. */
static struct {
    bool noted, open;
    dev_t device;
    ino_t inode;
} stderr_then;

__attribute__((constructor)) static void note_stderr(void)
{
    struct stat now;

    if (stderr_then.noted) /* a message of another library's constructor has recorded it */
        return;
    stderr_then.open = fstat(STDERR_FILENO, &now) == 0;
    stderr_then.device = stderr_then.open ? now.st_dev : 0;
    stderr_then.inode = stderr_then.open ? now.st_ino : 0;
    stderr_then.noted = true;
}

/* Returns standard error, or -1 if the program uses that descriptor for another file. */
static int stderr_now(void)
{
    struct stat now;

    note_stderr();
    if (!stderr_then.open || fstat(STDERR_FILENO, &now) != 0)
        return -1;
    return now.st_dev == stderr_then.device && now.st_ino == stderr_then.inode ? STDERR_FILENO : -1;
}

/* --- Writing -------------------------------------------------------------------------------- */

/*
 * Blocks the signals that a write may raise, which go to the writing thread. Signals that are
 * pending afterwards and were not before are ours; they are taken back before the mask is restored.
 */
static void write_unsignalled(int fd, const char *text, size_t size)
{
    static const int raised[] = {SIGPIPE, SIGXFSZ};
    static const struct timespec at_once = {0};
    sigset_t ours, mask, before, after;

    sigemptyset(&ours);
    for (size_t i = 0; i < 2; i++)
        sigaddset(&ours, raised[i]);
    if (fd < 0 || pthread_sigmask(SIG_BLOCK, &ours, &mask) != 0)
        return;
    sigpending(&before);
    xg_file_write(fd, text, size); /* a failure has no place to be reported */
    sigpending(&after);
    for (size_t i = 0; i < 2; i++) {
        sigset_t one;

        sigemptyset(&one);
        sigaddset(&one, raised[i]);
        if (sigismember(&after, raised[i]) && !sigismember(&before, raised[i]))
            while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR)
                ;
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/*
 * Text from the environment, a file name or a driver must not end a line or steer a terminal.
 * Control characters become question marks, including those of Latin-1 in UTF-8 (C2 80 to C2 9F).
 */
static void disarm(char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char at = (unsigned char)text[i];
        unsigned char next = i + 1 < size ? (unsigned char)text[i + 1] : 0;

        if (at < 0x20 || at == 0x7f)
            text[i] = '?';
        else if (at == 0xc2 && next >= 0x80 && next <= 0x9f)
            text[i] = text[i + 1] = '?';
    }
}

/* Returns the line's length. */
static size_t make_line(char line[LINE_BYTES + 1], const char *format, va_list args)
{
    static const char prefix[] = "xgemm: ";
    const size_t room = LINE_BYTES + 1 - sizeof prefix; /* the final zero becomes the line feed */
    size_t at = sizeof prefix - 1;
    int length;

    memcpy(line, prefix, at);
    length = vsnprintf(line + at, room, format, args);
    if (length > 0)
        at += (size_t)length < room ? (size_t)length : room - 1;
    disarm(line, at);
    line[at++] = '\n';
    return at;
}

static void report_unopened(const char *format, ...)
{
    static int reported;
    char line[LINE_BYTES + 1];
    va_list args;

    if (__atomic_exchange_n(&reported, 1, __ATOMIC_RELAXED))
        return;
    va_start(args, format);
    write_unsignalled(stderr_now(), line, make_line(line, format, args));
    va_end(args);
}

/* Opens XGEMM_LOG and sets *opened, or returns standard error; -1 if there is neither, or the
 * process is closed. With O_NONBLOCK the opening of a FIFO without a reader fails, and a FIFO whose
 * reader sleeps takes as much as it has room for. */
static int open_log(bool *opened)
{
    *opened = false;
    if (xg_sandbox_closed())
        return -1;
    if (!log_path[0])
        return stderr_now();
    int fd = xg_file_open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0666);
    *opened = fd >= 0;
    if (*opened)
        return fd;
    report_unopened("cannot append to XGEMM_LOG=%s; messages go to standard error", log_path);
    return stderr_now();
}

void xg_log_text(const char *text, size_t size_bytes)
{
    int error = errno;
    bool opened;
    int fd = open_log(&opened);

    write_unsignalled(fd, text, size_bytes);
    if (opened)
        close(fd);
    errno = error;
}

static void log_line(const char *format, va_list args)
{
    char line[LINE_BYTES + 1];

    xg_log_text(line, make_line(line, format, args));
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
