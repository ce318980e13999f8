/* SPDX-License-Identifier: MIT */
/*
 * A program of musl: says whether the library is loaded, and whether threads, fork, the environment
 * and exit handlers work. Compiled by the preload tests with musl-gcc.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *counted)
{
    ++*(int *)counted;
    return NULL;
}

static void at_end(void)
{
    puts("ended");
}

static const char *loaded(void)
{
    static char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "libxgemm_shim"))
            return "loaded";
    return "alone";
}

int main(int argc, char **argv)
{
    int counted = 0, result = -1;
    pthread_t thread;
    atexit(at_end);
    pthread_create(&thread, NULL, work, &counted);
    pthread_join(thread, NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(counted + 4);
    waitpid(child, &result, 0);
    printf("%s: %s, thread %d, child %d, set %s, unset %s\n", argc > 1 ? argv[1] : "?", loaded(),
           counted, WIFEXITED(result) ? WEXITSTATUS(result) : -1, getenv("MUSL_SET"),
           getenv("MUSL_UNSET") ? "there" : "not there");
    return 0;
}
