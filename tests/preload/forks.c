/* SPDX-License-Identifier: MIT */
/* A program whose forked children multiply. Each argument is done in turn:
 *   multiply           multiplies in this process
 *   exit, leave, kill  a child multiplies, and ends by exit, _exit or SIGKILL
 *   spawn              starts this program without arguments */
#include <cblas.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void multiply(void)
{
    enum { N = 20 };
    static float a[N * N], c[N * N];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, a, N, 0, c, N);
}

static void end(const char *way)
{
    multiply();
    if (!strcmp(way, "exit"))
        exit(0);
    if (!strcmp(way, "kill"))
        raise(SIGKILL);
    _exit(0);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *alone[] = {argv[0], NULL};
        pid_t pid = 0;
        if (!strcmp(argv[i], "multiply")) {
            multiply();
            continue;
        }
        if (!strcmp(argv[i], "spawn"))
            posix_spawn(&pid, argv[0], NULL, NULL, alone, environ);
        else
            pid = fork();
        if (pid == 0)
            end(argv[i]);
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            return 99;
    }
    return 0;
}
