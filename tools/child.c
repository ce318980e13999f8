/* SPDX-License-Identifier: MIT */
/* Starts the user's program, passes signals on to it, and ends as it ended. */
/* All signals that matter are blocked and fetched with sigtimedwait. So there is no handler and no
 * race between a handler and the wait. The program gets the mask and dispositions that we got. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

enum { PASSED_ON = sizeof passed_on / sizeof passed_on[0], ENDING = 4 /* the first of them */ };

enum { SETTLE_S = 2 };

/* Signals are blocked from the first run until child_restore, so that none is lost between runs. */
static struct {
    bool done;
    sigset_t set, mask;          /* the signals that we wait for; the mask that we got */
    struct sigaction chld, pipe; /* the dispositions of SIGCHLD and SIGPIPE that we got */
} prepared;

static void prepare(void)
{
    if (prepared.done)
        return;
    prepared.done = true;
    sigemptyset(&prepared.set);
    sigaddset(&prepared.set, SIGCHLD);
    for (int i = 0; i < PASSED_ON; i++) {
        struct sigaction action;
        /* Signals that were ignored at our start, for example by nohup, stay ignored here and in
         * the program. */
        if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&prepared.set, passed_on[i]);
    }
    sigprocmask(SIG_BLOCK, &prepared.set, &prepared.mask);
    /* If SIGCHLD were ignored, a child could not be waited for. */
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &prepared.chld);
    /* If our output has no reader any more, the program still runs to its end. */
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &prepared.pipe);
}

void child_restore(void)
{
    if (!prepared.done)
        return;
    prepared.done = false;
    sigaction(SIGCHLD, &prepared.chld, NULL);
    sigaction(SIGPIPE, &prepared.pipe, NULL);
    sigprocmask(SIG_SETMASK, &prepared.mask, NULL);
}

static _Noreturn void become(const struct child *child, int failures)
{
    sigaction(SIGCHLD, &prepared.chld, NULL);
    sigaction(SIGPIPE, &prepared.pipe, NULL);
    for (int i = 0; child->settings[i]; i++)
        putenv(child->settings[i]);
    int input = child->input ? open(child->input, O_RDONLY) : STDIN_FILENO;
    if (input > STDIN_FILENO) {
        dup2(input, STDIN_FILENO);
        close(input);
    }
    sigprocmask(SIG_SETMASK, &prepared.mask, NULL);
    if (input >= 0)
        execvp(child->argv[0], child->argv);
    int error = errno;
    ssize_t written = write(failures, &error, sizeof error);
    _exit(written == sizeof error ? 127 : 126);
}

/* The error that kept the program from starting; 0: none. */
static int read_failure(int failures)
{
    int error = 0;
    ssize_t got;

    do
        got = read(failures, &error, sizeof error);
    while (got < 0 && errno == EINTR);
    return got == sizeof error ? error : 0;
}

/* Fetches a signal and passes it on to the program if the program exists; false: no signal came in
 * time. The kernel sends a terminal's signals to the program too. */
static bool fetch_signal(pid_t pid, double wait_s, struct child_end *end)
{
    const struct timespec wait = {.tv_sec = (time_t)wait_s,
                                  .tv_nsec = (long)(1e9 * (wait_s - (double)(time_t)wait_s))};
    siginfo_t info;
    int got = sigtimedwait(&prepared.set, &info, &wait);

    if (got < 0)
        return errno == EINTR;
    if (got != SIGCHLD && pid > 0 && info.si_code <= 0)
        kill(pid, got);
    for (int i = 0; i < ENDING; i++)
        if (passed_on[i] == got)
            end->signal = got;
    return true;
}

/* Reaps ended processes, including orphans; true: the program is among them. */
static bool reap(pid_t pid, struct child_end *end)
{
    bool found = false;
    int status;
    pid_t got;

    while ((got = waitpid(-1, &status, WNOHANG)) > 0) {
        if (got != pid)
            continue;
        end->status = status;
        found = true;
    }
    return found;
}

static void wait_for(pid_t pid, const struct child *child, struct child_end *end)
{
    double next_s = xg_clock_s() + 1;

    while (!reap(pid, end)) {
        double left_s = next_s - xg_clock_s();
        if (left_s > 0) {
            fetch_signal(pid, left_s, end);
            continue;
        }
        if (child->tick)
            child->tick(child->ctx);
        next_s = xg_clock_s() + 1; /* from now, not from the last tick: we may have been stopped */
    }
}

bool child_run(const struct child *child, struct child_end *end)
{
    int failures[2];

    *end = (struct child_end){.pid = -1, .status = 125 << 8};
    if (pipe2(failures, O_CLOEXEC)) {
        end->error = errno;
        if (!child->quiet)
            perror("xgemm-run");
        return false;
    }
    prepare();
    double begin_s = xg_clock_s();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(child, failures[1]);
    close(failures[1]);
    int error = pid < 0 ? errno : read_failure(failures[0]);
    end->pid = pid;
    end->error = error;
    close(failures[0]);
    if (pid > 0)
        wait_for(pid, child, end);
    end->seconds = xg_clock_s() - begin_s;
    while (fetch_signal(0, 0, end))
        ;
    if (error && !child->quiet)
        fprintf(stderr, "xgemm-run: %s: %s\n", child->argv[0], strerror(error));
    if (error)
        end->status = pid < 0 ? 125 << 8 : (error == ENOENT ? 127 : 126) << 8;
    return !error;
}

void child_settle(void)
{
    static const struct timespec nap = {.tv_nsec = 5000000};
    double end_s = xg_clock_s() + SETTLE_S;
    int status;
    pid_t got = 0;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    while (xg_clock_s() < end_s && (got = waitpid(-1, &status, WNOHANG)) >= 0)
        if (got == 0)
            nanosleep(&nap, NULL);
}

int child_exit_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void child_leave(int status)
{
    fflush(NULL);
    if (WIFSIGNALED(status)) {
        const struct rlimit none = {0, 0};
        sigset_t one;

        setrlimit(RLIMIT_CORE, &none); /* the program has left its own core */
        signal(WTERMSIG(status), SIG_DFL);
        sigemptyset(&one);
        sigaddset(&one, WTERMSIG(status));
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        raise(WTERMSIG(status));
    }
    exit(child_exit_status(status));
}
