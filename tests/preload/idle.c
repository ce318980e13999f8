/* SPDX-License-Identifier: MIT */
/*
 * Multiplies, waits at most a second until only the first thread is left, and prints the names of
 * the threads that are left, and whether a process with so many threads may enter a user namespace
 * of its own. Compiled by idle.sh. usage: idle SIDE
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* Counts the threads, and writes their names to the stream, if there is one. */
static int count_threads(FILE *out)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0;
    while (folder && (entry = readdir(folder))) {
        char path[300], name[32] = "?\n";
        if (entry->d_name[0] == '.')
            continue;
        count++;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = out ? fopen(path, "re") : NULL;
        if (!file)
            continue;
        if (fgets(name, sizeof name, file))
            fputs(name, out);
        fclose(file);
    }
    if (folder)
        closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 0;
    size_t elements = (size_t)side * (size_t)side;
    float *a = calloc(3 * elements + 1, sizeof *a);
    if (!a)
        return 99;
    cblas_sgemm(101, 111, 111, side, side, side, 1.0f, a, side, a + elements, side, 0.0f,
                a + 2 * elements, side);
    for (int i = 0; i < 1000 && count_threads(NULL) > 1; i++)
        usleep(1000);
    count_threads(stdout);
    errno = 0;
    if (unshare(CLONE_NEWUSER) && errno == EINVAL)
        printf("no user namespace of its own\n");
    free(a);
    return 0;
}
