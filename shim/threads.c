/* SPDX-License-Identifier: MIT */
/*
 * Asks a CPU library with how many threads it would compute.
 *
 * The environment gives the number at the start. Programs change it while they run (threadpoolctl,
 * openblas_set_num_threads, OpenMP's own functions), so the library is asked for each product.
 */
#define _GNU_SOURCE
#include "threads.h"

#include <dlfcn.h>

#include "module.h"
#include "scope.h"

/* The function by which a library counts its threads, and one that tells how it was built. */
struct shim_counter {
    const char *count;
    const char *parallel; /* OpenBLAS: 0 one thread, 1 its own threads, 2 OpenMP */
    enum shim_pool pool;  /* unless the library depends on OpenMP */
};

/*
 * The prefixes and suffixes are those of symbols.h. bli_thread_get_num_threads returns a 64-bit
 * integer, of which the low half is read. libblastrampoline and FlexiBLAS ask the library behind
 * them.
 */
static const struct shim_counter shim_counters[] = {
    {"openblas_get_num_threads", "openblas_get_parallel", SHIM_POOL_OPENBLAS},
    {"openblas_get_num_threads64_", "openblas_get_parallel64_", SHIM_POOL_OPENBLAS},
    {"openblas_get_num_threads_64", "openblas_get_parallel_64", SHIM_POOL_OPENBLAS},
    {"scipy_openblas_get_num_threads", "scipy_openblas_get_parallel", SHIM_POOL_OPENBLAS},
    {"scipy_openblas_get_num_threads64_", "scipy_openblas_get_parallel64_", SHIM_POOL_OPENBLAS},
    {"MKL_Get_Max_Threads", NULL, SHIM_POOL_MKL},
    {"mkl_get_max_threads", NULL, SHIM_POOL_MKL},
    {"bli_thread_get_num_threads", NULL, SHIM_POOL_NONE},
    {"flexiblas_get_num_threads", NULL, SHIM_POOL_UNKNOWN},
    {"lbt_get_num_threads", NULL, SHIM_POOL_UNKNOWN},
};

/* m n k of a real GEMM up to which OpenBLAS computes on the caller's thread alone, and the factor
 * for a complex GEMM (interface/gemm.c). SYRK wakes all its threads (interface/syrk.c). */
#define SHIM_OPENBLAS_SINGLE (64.0 * 64.0 * 64.0)
#define SHIM_OPENBLAS_COMPLEX (1.0 / 8)

enum { SHIM_COUNTERS = sizeof shim_counters / sizeof shim_counters[0] };

typedef int shim_int_function(void);

/* Where functions are searched: in a dlopen handle, or from an address in the library without the
 * dynamic linker's lock (scope.h). */
struct shim_where {
    void *handle;
    const void *address;
};

static void *shim_look_up(const struct shim_where *where, const char *name)
{
    if (!name)
        return NULL;
    return where->handle ? dlsym(where->handle, name) : shim_scope_symbol(where->address, name);
}

static shim_int_function *shim_function(const struct shim_where *where, const char *name)
{
    return (shim_int_function *)shim_look_up(where, name);
}

/* Keeps forever a reference to the library that contains a function of the global scope. */
static void shim_hold(shim_int_function *function)
{
    Dl_info info;
    if (dladdr((void *)function, &info))
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/*
 * Finds the OpenMP run-time that a library calls. One in the global scope (the program's or a
 * preloaded one) precedes the library's own, as for the dynamic linker; but a library that depends
 * on no run-time calls none. Without the linker's lock this function takes the library's own, which
 * is almost always right. *pool is libgomp's, or that of LLVM and Intel, by the functions in the
 * same file.
 */
static bool shim_find_openmp(const struct shim_where *where, shim_int_function **max_threads,
                             shim_int_function **in_parallel, enum shim_pool *pool)
{
    if (!shim_look_up(where, "omp_get_max_threads"))
        return false;
    struct shim_where scope = *where;
    void *program = where->handle ? dlopen(NULL, RTLD_LAZY) : NULL;
    if (program && dlsym(program, "omp_get_max_threads"))
        scope.handle = program;

    *max_threads = shim_function(&scope, "omp_get_max_threads");
    *in_parallel = shim_function(&scope, "omp_in_parallel");
    void *blocktime = shim_look_up(&scope, "kmp_get_blocktime");
    *pool = blocktime && shim_module_holds(blocktime, (void *)*max_threads) ? SHIM_POOL_KMP
                                                                            : SHIM_POOL_GOMP;
    bool global = program && scope.handle == program;
    if (program)
        dlclose(program);
    if (!*max_threads || !*in_parallel)
        return false;
    if (global) {
        shim_hold(*max_threads);
        shim_hold(*in_parallel);
    }
    return true;
}

void shim_threads_find(void *handle, const void *address, struct shim_threads *threads)
{
    const struct shim_where where = {handle, address};
    const struct shim_counter *counter = shim_counters, *end = counter + SHIM_COUNTERS;
    shim_int_function *max_threads, *in_parallel;
    enum shim_pool pool;

    *threads = (struct shim_threads){0};
    while (counter < end && !(threads->count = shim_function(&where, counter->count)))
        counter++;
    if (counter == end)
        return;
    threads->pool = counter->pool;
    if (counter->parallel)
        threads->single_mnk = SHIM_OPENBLAS_SINGLE;

    shim_int_function *parallel = shim_function(&where, counter->parallel);
    int built = parallel ? parallel() : -1;
    if (built == 0)
        threads->pool = SHIM_POOL_NONE;
    if (built == 0 || built == 1 || !shim_find_openmp(&where, &max_threads, &in_parallel, &pool))
        return;
    /* An OpenMP build of OpenBLAS uses OpenMP's count at each product. */
    if (built == 2)
        threads->count = max_threads;
    threads->in_parallel = in_parallel;
    threads->pool = pool;
}

static bool shim_is_single(const struct shim_threads *threads, const struct xg_problem *problem)
{
    double share = xg_type_is_complex(problem->type) ? SHIM_OPENBLAS_COMPLEX : 1;
    return problem->op == XG_OP_GEMM &&
           (double)problem->m * (double)problem->n * (double)problem->k <=
               share * threads->single_mnk;
}

int shim_threads_count(const struct shim_threads *threads, const struct xg_problem *problem)
{
    if (!threads->count)
        return 0;
    if (problem && shim_is_single(threads, problem))
        return 1;
    if (threads->in_parallel && threads->in_parallel())
        return 1;
    /* BLIS returns -1 if no number was set, and computes with one thread. */
    int count = threads->count();
    return count > 1 ? count : 1;
}
