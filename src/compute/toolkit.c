/* SPDX-License-Identifier: MIT */
#include "compute/toolkit.h"

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
#include "base/sandbox.h"
#include "device/drv.h"
#include "host/library.h"

enum { ROOTS_MOST = 8, RELEASES = 3 };

/*
 * The names, in each release of CUDA, the newest first, of a library and of the libraries that it
 * needs. They are loaded in this order, the library itself last. pip installs those of CUDA 13 in
 * one folder below nvidia, and earlier ones in a folder each.
 */
static const struct library {
    const char *name; /* in messages */
    struct part {
        const char *folder, *file;
    } releases[RELEASES][XG_LIBRARY_PARTS];
} libraries[XG_TOOLKIT_COUNT] = {
    [XG_TOOLKIT_CUBLAS] = {"cuBLAS",
                           {{{"cu13", "libcublasLt.so.13"}, {"cu13", "libcublas.so.13"}},
                            {{"cublas", "libcublasLt.so.12"}, {"cublas", "libcublas.so.12"}},
                            {{"cublas", "libcublasLt.so.11"}, {"cublas", "libcublas.so.11"}}}},
    [XG_TOOLKIT_CUSOLVER] = {"cuSOLVER",
                             {{{"cu13", "libnvJitLink.so.13"},
                               {"cu13", "libcublasLt.so.13"},
                               {"cu13", "libcublas.so.13"},
                               {"cu13", "libcusparse.so.12"},
                               {"cu13", "libcusolver.so.12"}},
                              {{"nvjitlink", "libnvJitLink.so.12"},
                               {"cublas", "libcublasLt.so.12"},
                               {"cublas", "libcublas.so.12"},
                               {"cusparse", "libcusparse.so.12"},
                               {"cusolver", "libcusolver.so.11"}},
                              {{"cublas", "libcublasLt.so.11"},
                               {"cublas", "libcublas.so.11"},
                               {"cusparse", "libcusparse.so.11"},
                               {"cusolver", "libcusolver.so.11"}}}},
};

/* The file of the library itself in a release. */
static const char *file_in(const struct library *library, int release)
{
    int last = 0;
    while (last + 1 < XG_LIBRARY_PARTS && library->releases[release][last + 1].file)
        last++;
    return library->releases[release][last].file;
}

static void *open_loaded(const struct library *library)
{
    void *handle = NULL;
    for (int release = 0; release < RELEASES && !handle; release++)
        handle = xg_library_open_loaded(file_in(library, release));
    return handle;
}

/* --- Where the dynamic linker looks ---------------------------------------------------------- */

/* Ends the search, unless a library that was found must be skipped. */
static bool take(struct xg_library *found)
{
    if (found->skip == 0)
        return true;
    found->skip--;
    xg_library_drop(found);
    return false;
}

static bool find_installed(struct xg_library *found, const struct library *library)
{
    for (int release = 0; release < RELEASES; release++) {
        char path[64];
        snprintf(path, sizeof path, "/usr/local/cuda/lib64/%s", file_in(library, release));
        if (xg_library_look(found, file_in(library, release)) && take(found))
            return true;
        if (xg_library_look(found, path) && take(found))
            return true;
    }
    return false;
}

/* --- Where pip installs ---------------------------------------------------------------------- */

/* Folders that hold Python's packages. */
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

/* The file of an object. A name that is not absolute says nothing once the program has changed its
 * folder. */
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

/* Adds the root of the wheel that contains this code: in ROOT/xgemm_shim/lib/libxgemm_shim.so, or
 * in a program of ROOT/xgemm_shim/libexec, which is the one object without a name. */
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

/* Returns false, and logs it, if the file must not be loaded. */
static bool may_load(const struct library *library, const char *file)
{
    bool may = xg_file_is_ours(file);
    if (!may)
        xg_log(XG_LOG_INFO, "ignoring %s in %s: not a regular file, or another user can change it",
               library->name, file);
    return may;
}

/* Finds the file of a part. False: it does not exist, its name is too long, or the search is over.
 */
static bool find_part(const struct xg_library *found, const char *root, const struct part *part,
                      char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/nvidia/%s/lib/%s", root, part->folder, part->file);
    return length > 0 && length < PATH_MAX && xg_library_goes_on(found) && is_there(path);
}

/*
 * The libraries that the library needs come first: the linker then finds them by name, in whatever
 * folders it searches. It searches for a missing one itself.
 */
static bool find_release(struct xg_library *found, const struct library *library, const char *root,
                         int release)
{
    const struct part *parts = library->releases[release];
    char path[PATH_MAX];
    int last = 0;
    for (int i = 0; i < XG_LIBRARY_PARTS && parts[i].file; last = i++)
        if (find_part(found, root, &parts[i], path) && !may_load(library, path))
            return false;
    if (!find_part(found, root, &parts[last], path))
        return false;
    for (int i = 0; i <= last; i++)
        if (find_part(found, root, &parts[i], path) && !xg_library_look(found, path)) {
            xg_library_drop(found);
            return false;
        }
    return take(found);
}

static bool find_below(struct xg_library *found, const struct library *library, const char *root)
{
    bool there = false;
    char *real = xg_library_goes_on(found) ? realpath(root, NULL) : NULL;
    for (int release = 0; real && release < RELEASES && !there; release++)
        there = find_release(found, library, real, release);
    free(real);
    return there;
}

/* Allocates nothing while dl_iterate_phdr holds the linker's lock. */
static void find_package(struct xg_library *found, const struct library *library)
{
    bool there = false;
    struct roots *roots = xg_library_goes_on(found) ? calloc(1, sizeof *roots) : NULL;
    if (!roots)
        return;
    dl_iterate_phdr(add_own_root, roots);
    dl_iterate_phdr(add_packages_root, roots);
    for (int i = 0; i < roots->count && !there; i++)
        there = find_below(found, library, roots->path[i]);
    free(roots);
}

/* --- All of them ----------------------------------------------------------------------------- */

static void find_anywhere(struct xg_library *found, const void *library)
{
    if (!find_installed(found, library))
        find_package(found, library);
}

/* The dynamic linker may have folders that the search does not know. */
static void *open_unknown(const struct library *library)
{
    void *handle = NULL;
    for (int release = 0; release < RELEASES && !handle; release++)
        handle = dlopen(file_in(library, release), RTLD_NOW | RTLD_LOCAL);
    return handle;
}

/* Opens the first that can be opened. */
static void *open_file(const struct library *library)
{
    void *handle = NULL;
    bool again = true;
    for (int skip = 0; again && !handle; skip++) {
        struct xg_library *found = xg_drv_find_library(find_anywhere, library, skip, 0);
        again = found && found->count > 0 && !xg_drv_ended();
        if (again && !(handle = xg_library_open(found, RTLD_NOW | RTLD_LOCAL)))
            xg_log(XG_LOG_INFO, "%s: %s", library->name, found->why);
        else if (found && skip == 0 && !found->count && !found->why[0] && !xg_drv_ended() &&
                 !xg_sandbox_closed())
            handle = open_unknown(library);
        xg_library_free(found);
    }
    return handle;
}

static void log_found(const struct library *library, void *handle)
{
    struct link_map *map = NULL;
    if (!handle)
        xg_log(XG_LOG_INFO, "no %s: no %s to %s is installed", library->name,
               file_in(library, RELEASES - 1), file_in(library, 0));
    else if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
        xg_log(XG_LOG_INFO, "%s: %s", library->name, map->l_name);
}

void *xg_toolkit_open(enum xg_toolkit which)
{
    const struct library *library = &libraries[which];
    void *handle = open_loaded(library);
    if (!handle)
        handle = open_file(library);
    log_found(library, handle);
    return handle;
}
