/* SPDX-License-Identifier: MIT */
/* One run of the user's program: its environment, its input, its signals and its end. */
#ifndef TOOLS_CHILD_H
#define TOOLS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
    char *const *argv;
    char *const *settings;   /* "NAME=VALUE", set in its environment; ends with NULL */
    const char *input;       /* opened as its standard input; NULL: it has ours */
    void (*tick)(void *ctx); /* called once a second while it runs; NULL: nothing is */
    void *ctx;
    bool quiet; /* the caller has words of its own where it cannot be started */
};

struct child_end {
    pid_t pid;      /* it was that; -1: there was no process to be had */
    int error;      /* errno that kept it from being started; 0: it was */
    int status;     /* as waitpid gives it */
    int signal;     /* that we were to end by meanwhile (SIGINT, say); 0: none */
    double seconds; /* wall time */
};

/*
 * Runs it and waits for its end. What SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 tell us
 * is passed on, but for what a terminal has told the program as well. False: it could not be
 * started, which is said unless quiet; *end has the exit status that a shell gives then, 126 or
 * 127. From one thread. Until child_restore those signals are held back and SIGPIPE is ignored, so
 * that what was made for the run is removed and the program's status is passed on in any case.
 */
bool child_run(const struct child *child, struct child_end *end);

/*
 * Signals are this process's own again, as it got them: for a tool that goes on to work of its own.
 * One that came since the program ended is taken now.
 */
void child_restore(void);

/*
 * From now on processes whose parents have ended are children of this one; and waits until none is
 * left, 2 s at most. What a run leaves behind, such as a process that closes what the GPU used,
 * does not take from the next one then.
 */
void child_settle(void);

/* The exit status of a shell for it: 128 and more where a signal ended it. */
int child_exit_status(int status);

/* Ends this process as the program ended: by its status, or by the signal. */
_Noreturn void child_leave(int status);

#endif
