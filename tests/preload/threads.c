/* SPDX-License-Identifier: MIT */
/*
 * Checks what shim/threads.c finds out about a library: threads FILE POOL [SETTER].
 *   POOL    the pool of its threads, a name of enum shim_pool in small letters
 *   SETTER  the function that sets their number; none: the number must be unknown.
 *           omp_set_num_threads: inside a parallel region there is one (compiled with OpenMP).
 * Compiled by threads.sh together with shim/threads.c and what that needs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <math.h>

#include "shim/threads.h"
#include "tests/support/xt.h"

static const char *const pools[] = {"unknown", "none", "openblas", "gomp", "kmp", "mkl"};

static struct xg_problem cube(int64_t n)
{
    return (struct xg_problem){.m = n, .n = n, .k = n};
}

static void check_changes(const struct shim_threads *threads, void (*set)(int threads))
{
    static const int counts[] = {3, 1, 2};
    struct xg_problem large = cube(65);

    for (int i = 0; i < 3; i++) {
        set(counts[i]);
        int count = shim_threads_count(threads, NULL);
        XT_CHECK(count == counts[i], "%d and not %d", count, counts[i]);
        count = shim_threads_count(threads, &large);
        XT_CHECK(count == counts[i], "65: %d and not %d", count, counts[i]);
    }
}

#ifdef _OPENMP
static void check_region(const struct shim_threads *threads)
{
    int wrong = 0, members = 0;

#pragma omp parallel num_threads(2) reduction(+ : wrong, members)
    {
        members++;
        wrong += shim_threads_count(threads, NULL) != 1;
    }
    XT_CHECK(members == 2, "the test itself has no parallel region");
    XT_CHECK(!wrong, "a product inside a parallel region has one thread");
    XT_CHECK(shim_threads_count(threads, NULL) == 2, "after the region");
}
#endif

/* Checks what one of the two searches found. False: the test itself is broken. */
static bool check(const struct shim_threads *found, void *handle, int argc, char **argv)
{
    struct shim_threads threads = *found;
    struct xg_problem small = cube(64);
    int count = shim_threads_count(&threads, NULL);
    XT_CHECK(!strcmp(pools[threads.pool], argv[2]), "%s and not %s", pools[threads.pool], argv[2]);
    if (argc == 3) {
        XT_CHECK(count == 0 && shim_threads_count(&threads, &small) == 0, "%d", count);
        return true;
    }
    XT_CHECK(count >= 1, "%d", count);
    bool openmp = !strcmp(argv[3], "omp_set_num_threads");
    void *global = dlopen(NULL, RTLD_NOW);
    void *set = openmp ? dlsym(global, argv[3]) : NULL;
    if (!set && !(set = dlsym(handle, argv[3]))) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    check_changes(&threads, (void (*)(int))set);
#ifdef _OPENMP
    if (openmp)
        check_region(&threads);
#endif
    /* Only OpenBLAS is known to compute a small product on one thread. */
    if (strstr(argv[2], "openblas"))
        XT_CHECK(shim_threads_count(&threads, &small) == 1, "64");
    return true;
}

int main(int argc, char **argv)
{
    struct shim_threads threads;
    struct link_map *map;
    void *handle = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map)) {
        fprintf(stderr, "%s\n", argc > 2 ? dlerror() : "no library given");
        return XT_HARD;
    }
    shim_threads_find(handle, NULL, &threads);
    if (!check(&threads, handle, argc, argv))
        return XT_HARD;
    /* Without the linker's lock the first OpenMP is found, which for kmp is not the library's. */
    if (!strcmp(argv[2], "kmp"))
        return xt_done();
    shim_threads_find(NULL, map->l_ld, &threads);
    return check(&threads, handle, argc, argv) ? xt_done() : XT_HARD;
}
