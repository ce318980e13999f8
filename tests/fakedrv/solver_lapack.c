/* SPDX-License-Identifier: MIT */
/*
 * The reference LAPACK of the fake cuSOLVER: FAKECUDA_LAPACK's file, or the configured BLAS if it
 * has LAPACK, or liblapack.so.3. It has Fortran names and integers of 32 bits.
 */
#include "solver.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* The routines' names for real and for complex numbers. */
static const char *const names[SOLVER_ROUTINES][2] = {
    [SOLVER_POTRF] = {"potrf", "potrf"}, [SOLVER_POTRS] = {"potrs", "potrs"},
    [SOLVER_POTRI] = {"potri", "potri"}, [SOLVER_GETRF] = {"getrf", "getrf"},
    [SOLVER_GETRS] = {"getrs", "getrs"}, [SOLVER_GEQRF] = {"geqrf", "geqrf"},
    [SOLVER_ORGQR] = {"orgqr", "ungqr"}, [SOLVER_ORMQR] = {"ormqr", "unmqr"},
    [SOLVER_SYEVD] = {"syevd", "heevd"}, [SOLVER_SYGVD] = {"sygvd", "hegvd"},
    [SOLVER_GESVD] = {"gesvd", "gesvd"}, [SOLVER_GESVDP] = {"gesvd", "gesvd"},
    [SOLVER_GEEV] = {"geev", "geev"},    [SOLVER_TRTRI] = {"trtri", "trtri"},
};

/*
 * LAPACK calls BLAS and itself by names that the library under test interposes. Such a product
 * would reach the fake on the thread that executes streams, and wait for itself. So the object's
 * names are bound to itself first. A sanitizer forbids that, and preloads nothing.
 */
#ifdef XG_SANITIZED
enum { OWN_NAMES = 0 };
#else
enum { OWN_NAMES = RTLD_DEEPBIND };
#endif

static solver_function functions[SOLVER_ROUTINES][XG_TYPE_COUNT];

/* LAPACK computes on one thread: a fork does not interrupt other threads, and a sanitizer, which
 * does not see how such threads wait for each other, reports nothing. */
static void keep_to_one_thread(void *library)
{
    void (*set_threads)(int) = NULL;
    void *address = dlsym(library, "openblas_set_num_threads");
    memcpy(&set_threads, &address, sizeof(address));
    if (set_threads)
        set_threads(1);
}

/* Loads the object's file again, under a name that lasts as long as the process. The program may
 * have loaded the same object, with its own bindings and number of threads. */
static void *open_copy(const char *file_name)
{
    char path[32];
    struct stat status;
    void *library = NULL;
    int file = open(file_name, O_RDONLY | O_CLOEXEC);
    int copy = memfd_create("lapack", MFD_CLOEXEC);
    if (file >= 0 && copy >= 0 && fstat(file, &status) == 0) {
        off_t left = status.st_size;
        ssize_t sent = 1;
        for (; left > 0 && sent > 0; left -= sent)
            sent = sendfile(copy, file, NULL, (size_t)left);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
        library = left ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL | OWN_NAMES);
    }
    if (file >= 0)
        close(file);
    if (copy >= 0 && !library)
        close(copy);
    return library;
}

/* The first instance tells the file's path, and stays loaded. */
static void *open_named(const char *name)
{
    struct link_map *map;
    void *first = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    void *library = first && !dlinfo(first, RTLD_DI_LINKMAP, &map) ? open_copy(map->l_name) : NULL;
    if (library)
        keep_to_one_thread(library);
    return library;
}

static bool find_functions(void *library)
{
    for (int routine = 0; routine < SOLVER_ROUTINES; routine++)
        for (int type = 0; type < XG_TYPE_COUNT; type++) {
            char name[16];
            snprintf(name, sizeof(name), "%c%s_", "sdcz"[type],
                     names[routine][xg_type_is_complex((enum xg_type)type)]);
            void *address = dlsym(library, name);
            if (!address)
                return false;
            memcpy(&functions[routine][type], &address, sizeof(address));
        }
    return true;
}

static bool found;

static void open_one(void)
{
    const char *given = getenv("FAKECUDA_LAPACK");
    const char *const candidates[] = {given ? given : XG_DEFAULT_CPU_BLAS,
                                      given ? NULL : "liblapack.so.3"};
    for (int i = 0; i < 2 && candidates[i] && !found; i++) {
        void *library = open_named(candidates[i]);
        found = library && find_functions(library);
    }
}

bool solver_lapack_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_one);
    return found;
}

solver_function solver_lapack(enum solver_routine routine, enum xg_type type)
{
    return functions[routine][type];
}
