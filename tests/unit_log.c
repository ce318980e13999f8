/* SPDX-License-Identifier: MIT */
/* log: levels, one line a message, the file of XGEMM_LOG, and what is kept (errno, standard
 * output). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/log.h"
#include "xt.h"

enum { THREADS = 4, LINES = 200 };

static char err_text[1 << 20], out_text[4096], file_text[1 << 20];
static char dir[PATH_MAX]; /* absolute */

static void read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t got = file ? fread(text, 1, size - 1, file) : 0;

    text[got] = '\0';
    if (file)
        fclose(file);
}

static const char *in_dir(const char *name)
{
    static char path[PATH_MAX + 16];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* Runs body in a child whose outputs go to files; leaves them in err_text, out_text and file_text.
 */
static void run(void (*body)(void))
{
    pid_t child;
    int status = -1;

    unlink(in_dir("log"));
    child = fork();
    if (child == 0) {
        int err = open(in_dir("err"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int out = open(in_dir("out"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

        dup2(err, STDERR_FILENO);
        dup2(out, STDOUT_FILENO);
        body();
        _exit(0);
    }
    XT_CHECK(waitpid(child, &status, 0) == child && status == 0, "status %d", status);
    read_file(in_dir("err"), err_text, sizeof err_text);
    read_file(in_dir("out"), out_text, sizeof out_text);
    read_file(in_dir("log"), file_text, sizeof file_text);
    XT_CHECK(out_text[0] == '\0', "standard output: %s", out_text);
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

static void cut(void)
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
    /* A program that closes what it does not know must not break us, nor be written into. */
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
    pthread_t thread[THREADS];
    int digit[THREADS];

    xg_log_setup(0, in_dir("log"));
    for (int i = 0; i < THREADS; i++) {
        digit[i] = i;
        pthread_create(&thread[i], NULL, write_lines, &digit[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void test_threads(void)
{
    int lines = 0;

    run(threads);
    for (const char *line = file_text; *line; lines++) {
        size_t width = strcspn(line, "\n");

        XT_CHECK(width == 507 && !strncmp(line, "xgemm: 000", 10), "line %d: %zu", lines, width);
        line += width + (line[width] == '\n');
    }
    XT_CHECK(lines == THREADS * LINES, "%d lines", lines);
}

int main(void)
{
    char template[] = "unit_log_XXXXXX";

    if (!mkdtemp(template) || !realpath(template, dir))
        return XT_HARD;
    run(before_setup);
    XT_CHECK(!strcmp(err_text, "xgemm: warning 7\n"), "%s", err_text);
    run(levels);
    XT_CHECK(!strcmp(err_text, "xgemm: a\nxgemm: b\nxgemm: c\n"), "%s", err_text);
    run(cut);
    XT_CHECK(strcspn(err_text, "\n") == 999, "%zu", strcspn(err_text, "\n"));
    XT_CHECK(!strcmp(err_text + 1000, "xgemm: behind\n"), "%s", err_text + 1000);
    run(once);
    XT_CHECK(!strcmp(err_text, "xgemm: round 0\n"), "%s", err_text);
    run(keep_errno);
    run(to_file);
    XT_CHECK(!strcmp(file_text, "xgemm: first\nxgemm: second\nwhole text\n"), "%s", file_text);
    XT_CHECK(err_text[0] == '\0', "%s", err_text);
    run(to_relative);
    XT_CHECK(!strcmp(file_text, "xgemm: found\n"), "%s", file_text);
    run(unopenable);
    XT_CHECK(strstr(err_text, "none/log") && strstr(err_text, "standard error"), "%s", err_text);
    XT_CHECK(strstr(err_text, "xgemm: first\nxgemm: second\n"), "%s", err_text);
    XT_CHECK(strstr(err_text, "none/log") == strrchr(err_text, '/') - 4, "said once: %s", err_text);
    test_threads();

    unlink(in_dir("err"));
    unlink(in_dir("out"));
    unlink(in_dir("log"));
    unlink(in_dir("own"));
    rmdir(dir);
    return xt_done();
}
