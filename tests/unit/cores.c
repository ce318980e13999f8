/* SPDX-License-Identifier: MIT */
/* The CPU quota of the right cgroup, in versions 1 and 2. */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/host/cores.h"
#include "tests/support/files.h"
#include "tests/support/xt.h"

static char root[PATH_MAX];

/* Writes a file below root, and makes its folders. */
static void put(const char *name, const char *text)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    xt_write(path, text);
}

static double quota(const char *cgroup)
{
    char path[PATH_MAX + 64];
    put("cgroup", cgroup);
    snprintf(path, sizeof path, "%s/cgroup", root);
    return xg_cores_quota(path, root);
}

/* Another controller may have a cgroup whose name also exists below "cpu"; its quota does not
 * apply. */
static void test_first_version(void)
{
    put("cpu/mine/cpu.cfs_quota_us", "300000\n");
    put("cpu/mine/cpu.cfs_period_us", "100000\n");
    put("cpu/other/cpu.cfs_quota_us", "50000\n");
    put("cpu/other/cpu.cfs_period_us", "100000\n");
    XT_CHECK(quota("4:cpu,cpuacct:/mine\n3:cpuset:/other\n") == 3, "cpuset is taken for cpu");
    XT_CHECK(quota("4:cpuacct,cpu:/mine\n3:cpuacct:/other\n") == 3, "cpuacct is taken for cpu");
    XT_CHECK(quota("4:cpu:/other/below\n") == 0.5, "the quota above is not seen");
    XT_CHECK(isinf(quota("3:cpuset:/other\n1:name=cpu:/other\n")), "a quota of another");
    XT_CHECK(isinf(quota("nonsense\n:\n::\n")), "nonsense");
}

static void test_second_version(void)
{
    put("tight/cpu.max", "150000 100000\n");
    put("tight/free/cpu.max", "max 100000\n");
    XT_CHECK(quota("0::/tight/free\n") == 1.5, "%g", quota("0::/tight/free\n"));
    XT_CHECK(isinf(quota("0::/\n")), "%g", quota("0::/\n"));
}

int main(void)
{
    char template[] = "xg_cores_XXXXXX";
    if (!mkdtemp(template) || !realpath(template, root))
        return XT_HARD;
    test_first_version();
    test_second_version();
    xt_remove(root);
    return xt_done();
}
