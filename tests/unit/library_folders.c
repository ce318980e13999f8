/* SPDX-License-Identifier: MIT */
/* LD_LIBRARY_PATH comes before ld.so.cache, and the system's folders after it. Contract 9.7
 * (doc/contract.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/host/library_folders.h"
#include "tests/support/xt.h"

/* Prints the folders before the cache. */
static int list(void)
{
    struct xg_library_folders folders;
    xg_library_folders_list(&folders);
    for (unsigned i = 0; i < folders.system_from; i++)
        puts(xg_library_folders_at(&folders, i));
    xg_library_folders_fini(&folders);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const paths[] = {"/usr/lib64", "/lib64",         "/usr/lib",
                                        "/lib",       "/usr/local/lib", "/lib64:/usr/lib64"};
    char self[4096] = "", command[5000], line[4096];
    if (argc > 1)
        return list();
    XT_CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0, "%s", argv[0]);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        size_t found = 0;
        const char *last = strrchr(paths[i], ':');
        last = last ? last + 1 : paths[i];
        snprintf(command, sizeof command, "LD_LIBRARY_PATH=%s '%s' list", paths[i], self);
        FILE *output = popen(command, "r");
        while (output && fgets(line, sizeof line, output))
            found += !strncmp(line, last, strlen(last)) && line[strlen(last)] == '\n';
        XT_CHECK(output && pclose(output) == 0 && found == 1, "%s: %zu times", paths[i], found);
    }
    return xt_done();
}
