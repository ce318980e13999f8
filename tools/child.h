/* SPDX-License-Identifier: MIT */
/* Runs the user's program once: its environment, its input, its signals and its end. */
#ifndef TOOLS_CHILD_H
#define TOOLS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
    char *const *argv;
    char *const *settings;   /* "NAME=VALUE", set in its environment; NULL ends the list */
    const char *input;       /* opened as its standard input; NULL: it gets ours */
    void (*tick)(void *ctx); /* called once a second while it runs; may be NULL */
    void *ctx;
    bool quiet; /* the caller reports a failed start itself */
};

struct child_end {
    pid_t pid;      /* the program's; -1: no process could be made */
    int error;      /* errno of a failed start; 0: it started */
    int status;     /* as from waitpid */
    int signal;     /* a signal that told us to end (for example SIGINT); 0: none */
    double seconds; /* wall time */
};

/*
 * Runs the program and waits for its end. Passes on SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and
 * SIGUSR2, except those that a terminal has sent to the program as well. Returns false if it could
 * not be started and, unless quiet, prints that; *end then has a shell's exit status, 126 or 127.
 * Call it from one thread. Until child_restore those signals are held back and SIGPIPE is ignored,
 * so that files made for the run are always removed and the program's status is always passed on.
 */
bool child_run(const struct child *child, struct child_end *end);

/* Restores this process's signals as it got them, for a tool that continues with work of its own. A
 * signal that came since the program ended is delivered now. */
void child_restore(void);

/*
 * From now on processes whose parents have ended become children of this process. Waits until none
 * is left, for 2 s at most, so that leftovers of a run, such as a process that closes what the GPU
 * used, do not slow down the next run.
 */
void child_settle(void);

/* The exit status that a shell reports for a status from waitpid: 128 and more if a signal ended
 * the program. */
int child_exit_status(int status);

/* Ends this process as the program ended: with its status or by its signal. */
_Noreturn void child_leave(int status);

#endif
