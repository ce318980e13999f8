/* SPDX-License-Identifier: MIT */
/* Finds the library. */
#include "library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool library_beside(char *path, size_t size, const char *folder, const char *name)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    int written = snprintf(path, size, "%s/%s%s", self, folder, name);
    return written > 0 && (size_t)written < size && access(path, R_OK) == 0;
}

bool library_find(char *path, size_t size)
{
    static const char *const folders[] = {"../.libs/", "../../lib/", "../../lib64/"};
    /* A run-time package lacks the link that the linker uses. */
    static const char *const names[] = {"libxgemm_shim.so", "libxgemm_shim.so.0"};
    const char *named = getenv("XGEMM_SHIM_LIB");
    if (named && *named) {
        int written = snprintf(path, size, "%s", named);
        return written > 0 && (size_t)written < size;
    }
    for (size_t i = 0; i < 2 * sizeof folders / sizeof folders[0]; i++)
        if (library_beside(path, size, folders[i / 2], names[i % 2]))
            return true;
    for (size_t i = 0; i < 2; i++) {
        int written = snprintf(path, size, "%s/%s", XG_LIBDIR, names[i]);
        if (written > 0 && (size_t)written < size && access(path, R_OK) == 0)
            return true;
    }
    *path = '\0';
    return false;
}
