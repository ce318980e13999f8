/* SPDX-License-Identifier: MIT */
#include "compute/libcublas.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

enum { NEWEST = 13, OLDEST = 11, ROOTS_MOST = 8 };

/* --- Where the dynamic linker looks ---------------------------------------------------------- */

static void *open_in(const char *folder, int version, int flags)
{
    char name[64];
    snprintf(name, sizeof name, "%slibcublas.so.%d", folder, version);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
}

static void *open_loaded(void)
{
    void *library = NULL;
    for (int version = NEWEST; version >= OLDEST && !library; version--)
        library = open_in("", version, RTLD_NOLOAD);
    return library;
}

static void *open_installed(void)
{
    void *library = NULL;
    for (int version = NEWEST; version >= OLDEST && !library; version--) {
        library = open_in("", version, 0);
        if (!library)
            library = open_in("/usr/local/cuda/lib64/", version, 0);
    }
    return library;
}

/* --- Where pip installs ---------------------------------------------------------------------- */

/* Folders that contain Python packages. */
struct roots {
    char path[ROOTS_MOST][PATH_MAX];
    int count;
};

static void add_root(struct roots *roots, const char *path, size_t length)
{
    for (int i = 0; i < roots->count; i++)
        if (!strncmp(roots->path[i], path, length) && !roots->path[i][length])
            return;
    if (roots->count < ROOTS_MOST && length < PATH_MAX) {
        memcpy(roots->path[roots->count], path, length);
        roots->path[roots->count++][length] = '\0';
    }
}

/* Returns the file of an object. A relative name is useless after the program has changed its
 * working folder. */
static const char *file_of(const struct dl_phdr_info *object)
{
    const char *name = object->dlpi_name;
    return name && name[0] == '/' ? name : NULL;
}

static bool holds(const struct dl_phdr_info *object, uintptr_t address)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - object->dlpi_addr - part->p_vaddr < part->p_memsz)
            return true;
    }
    return false;
}

/* Adds the root of the wheel that contains this code: ROOT/xgemm_shim/lib/libxgemm_shim.so, or a
 * program in ROOT/xgemm_shim/libexec, which is the only object without a name. */
static int add_own_root(struct dl_phdr_info *object, size_t size, void *roots)
{
    char self[PATH_MAX];
    const char *file = file_of(object);
    (void)size;
    if (!holds(object, (uintptr_t)&add_own_root))
        return 0;
    ssize_t length = file ? 0 : readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        file = self;
    }
    const char *package = file ? strstr(file, "/xgemm_shim/lib") : NULL;
    if (package)
        add_root(roots, file, (size_t)(package - file));
    return 1;
}

static int add_packages_root(struct dl_phdr_info *object, size_t size, void *roots)
{
    static const char *const names[] = {"/site-packages/", "/dist-packages/"};
    const char *file = file_of(object);
    (void)size;
    for (size_t i = 0; file && i < sizeof names / sizeof names[0]; i++) {
        const char *found = strstr(file, names[i]);
        if (found)
            add_root(roots, file, (size_t)(found - file) + strlen(names[i]) - 1);
    }
    return 0;
}

static bool is_there(const char *file)
{
    struct stat status;
    return lstat(file, &status) == 0;
}

/* Returns false, after a message, for a file that must not be loaded. */
static bool may_load(const char *file)
{
    bool may = xg_file_is_ours(file);
    if (!may)
        xg_log(XG_LOG_INFO,
               "ignoring cuBLAS in %s: not a regular file, or another user can change it", file);
    return may;
}

static bool put_name(char path[PATH_MAX], const char *folder, const char *name, int version)
{
    int length = snprintf(path, PATH_MAX, "%s/%s.so.%d", folder, name, version);
    return length > 0 && length < PATH_MAX;
}

/* Loads libcublasLt, which lies beside the library, first, so that the linker finds it by its name
 * whatever its search path is. */
static void *open_with_other_half(const char *folder, int version)
{
    char file[PATH_MAX], other[PATH_MAX];
    if (!put_name(file, folder, "libcublas", version) ||
        !put_name(other, folder, "libcublasLt", version) || !is_there(file) || !may_load(file))
        return NULL;
    bool halves = is_there(other);
    if (halves && !may_load(other))
        return NULL;
    void *half = halves ? dlopen(other, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        xg_log(XG_LOG_INFO, "cuBLAS: %s", dlerror());
    if (half)
        dlclose(half); /* the library keeps it loaded if it needs it */
    return library;
}

static void *open_below(const char *root)
{
    void *library = NULL;
    char *real = realpath(root, NULL);
    for (int version = NEWEST; real && version >= OLDEST && !library; version--) {
        char folder[PATH_MAX];
        int length = snprintf(folder, sizeof folder, "%s/nvidia/%s/lib", real,
                              version >= 13 ? "cu13" : "cublas");
        if (length > 0 && length < PATH_MAX)
            library = open_with_other_half(folder, version);
    }
    free(real);
    return library;
}

/* Allocates no memory while dl_iterate_phdr holds the linker's lock. */
static void *open_package(void)
{
    void *library = NULL;
    struct roots *roots = calloc(1, sizeof *roots);
    if (!roots)
        return NULL;
    dl_iterate_phdr(add_own_root, roots);
    dl_iterate_phdr(add_packages_root, roots);
    for (int i = 0; i < roots->count && !library; i++)
        library = open_below(roots->path[i]);
    free(roots);
    return library;
}

/* --- All of them ----------------------------------------------------------------------------- */

static void tell(void *library)
{
    struct link_map *map = NULL;
    if (!library)
        xg_log(XG_LOG_INFO, "no cuBLAS: no libcublas.so.%d to .%d is installed", OLDEST, NEWEST);
    else if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        xg_log(XG_LOG_INFO, "cuBLAS: %s", map->l_name);
}

void *xg_libcublas_open(void)
{
    void *library = open_loaded();
    if (!library)
        library = open_installed();
    if (!library)
        library = open_package();
    tell(library);
    return library;
}
