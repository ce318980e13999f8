/* SPDX-License-Identifier: MIT */
/* Messages: levels, one line for each message, the file of XGEMM_LOG; errno and standard output do
 * not change. Contract 10.3 (doc/contract.md). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/log.h"
#include "tests/support/files.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

enum { THREADS = 4, LINES = 200 };

static char err_text[1 << 20], out_text[4096], file_text[1 << 20];
static char dir[PATH_MAX]; /* absolute */

static const char *in_dir(const char *name)
{
    return xt_path(dir, name);
}

enum { SECONDS = 10 }; /* after which SIGALRM ends a child */

static int open_broken_pipe(void)
{
    int ends[2];

    return pipe(ends) == 0 && close(ends[0]) == 0 ? ends[1] : -1;
}

/* Runs the named body in a new program, and reads its outputs into err_text, out_text and
 * file_text. A new program, because the library notes at its start what standard error is. */
static void run(const char *name)
{
    pid_t child;
    int status = -1;

    unlink(in_dir("log"));
    child = fork();
    if (child == 0) {
        int err = open(in_dir("err"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (!strcmp(name, "broken_pipe"))
            err = open_broken_pipe();
        int out = open(in_dir("out"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

        dup2(err, STDERR_FILENO);
        dup2(out, STDOUT_FILENO);
        execl("/proc/self/exe", dir, name, (char *)NULL);
        _exit(XT_HARD);
    }
    XT_CHECK(waitpid(child, &status, 0) == child && status == 0, "%s: status %d", name, status);
    xt_read(in_dir("err"), err_text, sizeof err_text);
    xt_read(in_dir("out"), out_text, sizeof out_text);
    xt_read(in_dir("log"), file_text, sizeof file_text);
    XT_CHECK(out_text[0] == '\0', "%s: standard output: %s", name, out_text);
}

static void before_setup(void)
{
    xg_log(XG_LOG_CALL, "call");
    xg_log(XG_LOG_WARN, "warning %d", 7);
}

static void levels(void)
{
    xg_log_setup(2, NULL);
    if (!xg_log_enabled(XG_LOG_INFO) || xg_log_enabled(XG_LOG_TRACE))
        _exit(1);
    xg_log(XG_LOG_WARN, "a");
    xg_log(XG_LOG_CALL, "b");
    xg_log(XG_LOG_INFO, "c");
    xg_log(XG_LOG_TRACE, "d");
}

static void tiling(void)
{
    static char text[5000];

    memset(text, 'x', sizeof text - 1);
    xg_log(XG_LOG_WARN, "%s", text);
    xg_log(XG_LOG_WARN, "behind");
}

static void once(void)
{
    static int said;

    for (int i = 0; i < 3; i++)
        xg_log_once(&said, "round %d", i);
}

static void keep_errno(void)
{
    xg_log_setup(0, in_dir("none/log"));
    errno = ERANGE;
    xg_log(XG_LOG_WARN, "text");
    if (errno != ERANGE)
        _exit(1);
    xg_log_text("t\n", 2);
    if (errno != ERANGE)
        _exit(2);
}

static void to_file(void)
{
    xg_log_setup(0, in_dir("log"));
    xg_log(XG_LOG_WARN, "first");
    /* A program may close descriptors that it did not open, and reuse their numbers: the log must
     * go on, and must not write to the program's file. */
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    if (open(in_dir("own"), O_WRONLY | O_CREAT, 0600) != 3)
        _exit(1);
    xg_log(XG_LOG_WARN, "second");
    xg_log_text("whole text\n", 11);
    if (lseek(3, 0, SEEK_END) != 0)
        _exit(2);
}

static void to_relative(void)
{
    if (chdir(dir) != 0)
        _exit(1);
    xg_log_setup(0, "log");
    if (chdir("/") != 0)
        _exit(1);
    xg_log(XG_LOG_WARN, "found");
}

static void unopenable(void)
{
    xg_log_setup(0, in_dir("none/log"));
    xg_log(XG_LOG_WARN, "first");
    xg_log(XG_LOG_WARN, "second");
}

static void *write_lines(void *arg)
{
    for (int i = 0; i < LINES; i++)
        xg_log(XG_LOG_WARN, "%0500d", *(int *)arg);
    return NULL;
}

static void threads(void)
{
    int digit[THREADS];

    xg_log_setup(0, in_dir("log"));
    for (int i = 0; i < THREADS; i++)
        digit[i] = i;
    xt_threads_run(THREADS, write_lines, digit, sizeof digit[0]);
}

static void expect(bool right, int exit_status)
{
    if (!right)
        _exit(exit_status);
}

static bool is_pending(int signal)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, signal);
}

/* Standard error is a pipe without a reader. */
static void broken_pipe(void)
{
    sigset_t blocked;

    xg_log(XG_LOG_WARN, "without a listener");
    expect(!is_pending(SIGPIPE), 2);
    expect(pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGPIPE), 3);
    /* A signal that the program has pending stays pending. */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    expect(raise(SIGPIPE) == 0, 4);
    xg_log(XG_LOG_WARN, "without a listener");
    expect(is_pending(SIGPIPE), 5);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    expect(sigismember(&blocked, SIGPIPE), 6);
}

static void full_file(void)
{
    struct rlimit limit = {10, 10};

    expect(setrlimit(RLIMIT_FSIZE, &limit) == 0, 1);
    xg_log_setup(0, in_dir("log"));
    xg_log(XG_LOG_WARN, "longer than that");
    xg_log(XG_LOG_WARN, "nothing fits any more");
    expect(!is_pending(SIGXFSZ), 2);
}

static void fifo(void)
{
    xg_log_setup(0, in_dir("fifo"));
    xg_log(XG_LOG_WARN, "without a reader");
}

/* The program has closed standard error, and its descriptor is now the program's file. */
static void own_file(void)
{
    close(STDERR_FILENO);
    expect(open(in_dir("own"), O_WRONLY | O_CREAT | O_TRUNC, 0600) == STDERR_FILENO, 1);
    xg_log(XG_LOG_WARN, "not for that file");
    xg_log_text("nor this\n", 9);
    expect(lseek(STDERR_FILENO, 0, SEEK_END) == 0, 2);
}

static void controls(void)
{
    xg_log(XG_LOG_WARN, "%s", "a\nxgemm: b\r\033[31mc\177 \302\233d \303\251\t");
    xg_log_setup(0, in_dir("none/l\nog"));
    xg_log(XG_LOG_WARN, "e");
}

/* --- What is left of each body ---------------------------------------------------------------- */

static void judge_cut(void)
{
    XT_CHECK(strcspn(err_text, "\n") == 999, "%zu", strcspn(err_text, "\n"));
    XT_CHECK(!strcmp(err_text + 1000, "xgemm: behind\n"), "%s", err_text + 1000);
}

static void judge_unopenable(void)
{
    XT_CHECK(strstr(err_text, "none/log") && strstr(err_text, "standard error"), "%s", err_text);
    XT_CHECK(strstr(err_text, "xgemm: first\nxgemm: second\n"), "%s", err_text);
    XT_CHECK(strstr(err_text, "none/log") == strrchr(err_text, '/') - 4, "said once: %s", err_text);
}

static void judge_threads(void)
{
    int lines = 0;

    for (const char *line = file_text; *line; lines++) {
        size_t width = strcspn(line, "\n");

        XT_CHECK(width == 507 && !strncmp(line, "xgemm: 000", 10), "line %d: %zu", lines, width);
        line += width + (line[width] == '\n');
    }
    XT_CHECK(lines == THREADS * LINES, "%d lines", lines);
}

static void judge_fifo(void)
{
    XT_CHECK(strstr(err_text, "xgemm: without a reader\n"), "%s", err_text);
}

static void judge_controls(void)
{
    XT_CHECK(strstr(err_text, "xgemm: a?xgemm: b??[31mc? ??d \303\251?\n") == err_text, "%s",
             err_text);
    XT_CHECK(strstr(err_text, "none/l?og;") && strstr(err_text, "\nxgemm: e\n"), "%s", err_text);
}

static const struct {
    const char *name;
    void (*body)(void);
    const char *err, *file; /* the whole text; NULL: any text */
    void (*judge)(void);    /* NULL: no other check */
} bodies[] = {
    {"before_setup", before_setup, "xgemm: warning 7\n", "", NULL},
    {"levels", levels, "xgemm: a\nxgemm: b\nxgemm: c\n", "", NULL},
    {"cut", tiling, NULL, "", judge_cut},
    {"once", once, "xgemm: round 0\n", "", NULL},
    {"keep_errno", keep_errno, NULL, "", NULL},
    {"to_file", to_file, "", "xgemm: first\nxgemm: second\nwhole text\n", NULL},
    {"to_relative", to_relative, "", "xgemm: found\n", NULL},
    {"unopenable", unopenable, NULL, "", judge_unopenable},
    {"threads", threads, "", NULL, judge_threads},
    {"broken_pipe", broken_pipe, NULL, "", NULL},
    {"full_file", full_file, NULL, "xgemm: lon", NULL},
    {"fifo", fifo, NULL, "", judge_fifo},
    {"own_file", own_file, "", "", NULL},
    {"controls", controls, NULL, "", judge_controls},
};
enum { BODIES = sizeof bodies / sizeof bodies[0] };

static int run_body(const char *name)
{
    for (size_t i = 0; i < BODIES; i++) {
        if (strcmp(bodies[i].name, name))
            continue;
        alarm(SECONDS);
        bodies[i].body();
        return XT_PASS;
    }
    return XT_HARD;
}

int main(int argc, char **argv)
{
    char template[] = "xg_log_XXXXXX";

    if (argc == 2) {
        snprintf(dir, sizeof dir, "%s", argv[0]);
        return run_body(argv[1]);
    }
    if (!mkdtemp(template) || !realpath(template, dir) || mkfifo(in_dir("fifo"), 0600))
        return XT_HARD;
    for (size_t i = 0; i < BODIES; i++) {
        const char *err = bodies[i].err, *file = bodies[i].file;
        run(bodies[i].name);
        XT_CHECK(!err || !strcmp(err_text, err), "%s: %s", bodies[i].name, err_text);
        XT_CHECK(!file || !strcmp(file_text, file), "%s: %s", bodies[i].name, file_text);
        if (bodies[i].judge)
            bodies[i].judge();
    }
    xt_remove(dir);
    return xt_done();
}
