/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "host/cores.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xg.h"

void xg_cores_mask(cpu_set_t *mask)
{
    CPU_ZERO(mask);
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        cpu_set_t one;
        pid_t tid = (pid_t)atoi(task->d_name);
        if (tid > 0 && sched_getaffinity(tid, sizeof one, &one) == 0)
            CPU_OR(mask, mask, &one);
    }
    if (tasks)
        closedir(tasks);
}

/* quota / period from a file of the form "QUOTA PERIOD" (v2) or two files (v1); INFINITY: none. */
static double read_quota(const char *root, const char *folder)
{
    char path[512];
    double quota = -1, period = -1;
    snprintf(path, sizeof path, "%s%s/cpu.max", root, folder);
    FILE *file = fopen(path, "re");
    if (file) {
        if (fscanf(file, "%lf %lf", &quota, &period) != 2)
            quota = -1; /* "max PERIOD" */
        fclose(file);
        return quota > 0 && period > 0 ? quota / period : INFINITY;
    }
    const char *const names[] = {"cfs_quota_us", "cfs_period_us"};
    double *const values[] = {&quota, &period};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/cpu%s/cpu.%s", root, folder, names[i]);
        file = fopen(path, "re");
        if (!file || fscanf(file, "%lf", values[i]) != 1)
            *values[i] = -1;
        if (file)
            fclose(file);
    }
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* True if the comma-separated list contains the cpu controller. */
static bool names_cpu(const char *controllers)
{
    for (const char *at = controllers; at; at = strchr(at, ',')) {
        at += *at == ',';
        size_t length = strcspn(at, ",");
        if (length == 3 && !strncmp(at, "cpu", length))
            return true;
    }
    return false;
}

double xg_cores_quota(const char *cgroup_file, const char *root)
{
    double tightest = read_quota(root, "");
    FILE *file = fopen(cgroup_file, "re");
    char line[400];
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':');
        char *folder = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!folder)
            continue;
        *folder++ = '\0';
        folder[strcspn(folder, "\n")] = '\0';
        bool unified = !strcmp(controllers, ":");
        if (!unified && !names_cpu(controllers + 1))
            continue;
        for (char *slash; (slash = strrchr(folder, '/')) && slash[1]; *slash = '\0')
            tightest = fmin(tightest, read_quota(root, folder));
    }
    if (file)
        fclose(file);
    return tightest;
}

int xg_cores_count(void)
{
    cpu_set_t mask;
    xg_cores_mask(&mask);
    int count = CPU_COUNT(&mask);
    if (!count) /* more processors than cpu_set_t can hold */
        count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    double quota = xg_cores_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota < count)
        count = (int)ceil(quota);
    return count > 1 ? count : 1;
}
