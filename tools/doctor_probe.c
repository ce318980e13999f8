/* SPDX-License-Identifier: MIT */
/* Runs child processes that answer one question through a pipe. */
#include "doctor_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/file.h"

struct probe {
    pid_t pid;
    int fd;
    double until_s;
};

/* Sets the child's standard streams: the answer is its only output, and its input is empty. */
static void close_streams(int output)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(output < 0 ? null : output, STDOUT_FILENO);
    (void)dup2(null, STDERR_FILENO);
}

/* Returns in the child 0, with *fd to write to; in the parent the child's number; -1: no child. */
static pid_t start(struct probe *probe, int *fd, double limit_s)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    probe->pid = fork();
    if (probe->pid == 0) {
        close(ends[0]);
        *fd = ends[1];
        return 0;
    }
    close(ends[1]);
    probe->fd = ends[0];
    probe->until_s = xg_clock_s() + limit_s;
    if (probe->pid < 0)
        close(ends[0]);
    return probe->pid;
}

/* The number of bytes received, 0 at the end; -1: none in time. */
static ssize_t receive(const struct probe *probe, void *to, size_t size)
{
    for (;;) {
        double left_s = probe->until_s - xg_clock_s();
        struct pollfd wait = {.fd = probe->fd, .events = POLLIN};
        if (left_s <= 0)
            return -1;
        int ready = poll(&wait, 1, (int)(1e3 * left_s) + 1);
        ssize_t got = ready > 0 ? read(probe->fd, to, size) : -1;
        if (got >= 0)
            return got;
        if (ready == 0)
            return -1;
    }
}

static void finish(const struct probe *probe, bool in_time)
{
    int status;
    if (!in_time)
        kill(probe->pid, SIGKILL);
    close(probe->fd);
    while (waitpid(probe->pid, &status, 0) < 0 && errno == EINTR) {
    }
}

enum doctor_probe_end doctor_probe(void (*ask)(void *answer, const void *question), void *answer,
                                   size_t bytes, const void *question, double limit_s)
{
    struct probe probe;
    int fd = -1;
    char *received = calloc(1, bytes);
    if (!received)
        return DOCTOR_PROBE_UNABLE;
    pid_t pid = start(&probe, &fd, limit_s);
    if (pid == 0) {
        close_streams(-1);
        ask(received, question);
        _exit(!xg_file_write(fd, received, bytes));
    }
    size_t at = 0;
    ssize_t got = 1;
    while (pid > 0 && at < bytes && (got = receive(&probe, received + at, bytes - at)) > 0)
        at += (size_t)got;
    if (pid > 0)
        finish(&probe, got >= 0);
    if (at == bytes)
        memcpy(answer, received, bytes);
    free(received);
    return pid < 0       ? DOCTOR_PROBE_UNABLE
           : at == bytes ? DOCTOR_PROBE_ANSWERED
           : got < 0     ? DOCTOR_PROBE_HUNG
                         : DOCTOR_PROBE_CRASHED;
}

char *doctor_probe_output(char *const argv[], void (*prepare)(void), double limit_s)
{
    enum { STEP_BYTES = 1 << 16, TEXT_BYTES_MAX = 1 << 24 };
    struct probe probe;
    int fd = -1;
    pid_t pid = start(&probe, &fd, limit_s);
    if (pid == 0) {
        close_streams(fd);
        prepare();
        execv(argv[0], argv);
        _exit(127);
    }
    if (pid < 0)
        return NULL;
    char *text = NULL;
    size_t at = 0;
    ssize_t got;
    do {
        char *grown = at < TEXT_BYTES_MAX ? realloc(text, at + STEP_BYTES + 1) : NULL;
        got = grown ? receive(&probe, grown + at, STEP_BYTES) : -1;
        text = grown ? grown : text;
        at += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    finish(&probe, got >= 0);
    if (got < 0 || at == 0) {
        free(text);
        return NULL;
    }
    text[at] = '\0';
    return text;
}
