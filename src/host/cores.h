/* SPDX-License-Identifier: MIT */
/* The cores that this process may use: affinity masks and cgroup quota. */
#ifndef XG_CORES_H
#define XG_CORES_H

#include <sched.h>

/*
 * The union of the affinity masks of the process's threads. One thread's own mask is not enough:
 * OpenMP run times pin the threads that call us to single cores, while `taskset` and batch systems
 * give every thread the same mask, which the union keeps. Empty if it cannot be read (more than
 * 1024 processors).
 */
void xg_cores_mask(cpu_set_t *mask);

/* The number of cores in that mask, limited by the cgroup's CPU quota (v2 or v1); at least 1. */
int xg_cores_count(void);

/*
 * The tightest CPU quota, in cores, from the cgroup that cgroup_file (such as /proc/self/cgroup)
 * names up to the top; INFINITY: none. root: where cgroups are mounted, "/sys/fs/cgroup".
 */
double xg_cores_quota(const char *cgroup_file, const char *root);

#endif
