/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "blas.h"

#include <dlfcn.h>
#include <string.h>

#include "src/base/file.h"
#include "src/reference/cpu.h"

typedef int (*shim_isamax_function)(const int64_t *, const float *, const int64_t *);

/* Whether the file is this library or another copy of it (one linked, one preloaded, under any
 * name). Calling that would recurse forever. */
static bool shim_is_shim(const char *file, const struct shim_module *module)
{
    struct shim_module self, other = *module;
    shim_module_find(shim_symbols, &self);
    if (self.begin == module->begin || !strncmp(xg_file_name(file), "libxgemm_shim.", 14))
        return true;
    shim_module_mark(&self);
    shim_module_mark(&other);
    return self.mark_words == other.mark_words && self.mark == other.mark;
}

/* Opens a loaded object by the name in its link map, which needs no file. The program's name there
 * is empty; the name that it was started with may belong to any file. */
static void *shim_open_loaded(const char *file)
{
    return *file ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : dlopen(NULL, RTLD_LAZY);
}

static void *shim_find_isamax(const char *file, const struct shim_module *module)
{
    struct shim_module found;
    void *handle = shim_open_loaded(file);
    void *isamax = handle ? dlsym(handle, "isamax_") : NULL;
    if (handle)
        dlclose(handle);
    shim_module_find(isamax, &found);
    return found.begin == module->begin ? isamax : NULL;
}

/*
 * Whether a library whose names say nothing has 64-bit integers. It calls isamax_ on 3 elements,
 * with a count whose low half is 3 and which is negative as a whole. Only a library that reads all
 * 64 bits returns 0, the BLAS result for an empty vector. A library without isamax_ is judged by
 * its file name.
 */
static bool shim_library_is_wide(const char *file, void *isamax)
{
    static const float x[3] = {1.0f, 2.0f, 3.0f};
    static const int64_t count = INT64_MIN + 3, stride = 1;
    if (isamax)
        return ((shim_isamax_function)isamax)(&count, x, &stride) == 0;
    file = xg_file_name(file);
    return strstr(file, "blas64") || strstr(file, "blis64") || strstr(file, "lapack64") ||
           strstr(file, "ilp64");
}

static void shim_blas_take(void *address, const struct shim_symbol *symbol, bool wide,
                           struct shim_blas *blas)
{
    blas->function = (void (*)(void))address;
    blas->symbol = symbol;
    blas->threads = (struct shim_threads){0};
    blas->int_bytes = wide ? 8 : symbol->int_bytes;
    blas->trampoline = false;
}

bool shim_blas_accept_as(void *address, const struct shim_symbol *symbol, struct shim_blas *blas)
{
    struct shim_module module;
    const char *file = address ? shim_module_name(address) : NULL;
    if (!file)
        return false;
    shim_module_find(address, &module);
    if (shim_is_shim(file, &module))
        return false;
    shim_blas_take(address, symbol, false, blas);
    return true;
}

bool shim_blas_accept(void *address, const struct shim_symbol *symbol, struct shim_blas *blas)
{
    struct shim_module module;
    if (!shim_blas_accept_as(address, symbol, blas))
        return false;
    blas->trampoline = shim_scope_is_trampoline(address);
    if (!symbol->plain || blas->trampoline)
        return true;
    const char *file = shim_module_name(address);
    shim_module_find(address, &module);
    if (shim_library_is_wide(file, shim_find_isamax(file, &module)))
        blas->int_bytes = 8;
    return true;
}

bool shim_blas_accept_scope(const struct shim_scope *scope, const struct shim_symbol *symbol,
                            struct shim_blas *blas)
{
    struct shim_module module;
    shim_module_find(scope->address, &module);
    bool trampoline = shim_scope_is_trampoline(scope->address);
    if (!module.begin || shim_is_shim(scope->file, &module))
        return false;
    bool wide = symbol->plain && !trampoline && shim_library_is_wide(scope->file, scope->isamax);
    shim_blas_take(scope->address, symbol, wide, blas);
    blas->trampoline = trampoline;
    shim_threads_find(NULL, scope->address, &blas->threads);
    return true;
}

int shim_blas_distance(const struct shim_blas *blas, const struct shim_symbol *symbol,
                       int int_bytes)
{
    return (blas->int_bytes != int_bytes ? SHIM_OTHER_WIDTH : 0) +
           (blas->symbol->interface != symbol->interface ? SHIM_OTHER_INTERFACE : 0) +
           (blas->symbol != symbol ? SHIM_OTHER_NAME : 0);
}

int shim_blas_search(void *handle, const struct shim_symbol *symbol, int int_bytes, int best,
                     struct shim_blas *blas)
{
    const struct shim_symbol *spelling, *end;
    for (shim_symbol_range(symbol, &spelling, &end); spelling < end && best > 0; spelling++) {
        struct shim_blas candidate;
        if (!shim_blas_accept(dlsym(handle, spelling->name), spelling, &candidate) ||
            candidate.trampoline)
            continue;
        int distance = shim_blas_distance(&candidate, symbol, int_bytes);
        if (distance < best) {
            best = distance;
            *blas = candidate;
        }
    }
    return best;
}

void shim_blas_keep(struct shim_blas *blas)
{
    const char *file = shim_module_name((void *)blas->function);
    void *handle = file ? shim_open_loaded(file) : NULL;
    if (handle)
        shim_threads_find(handle, NULL, &blas->threads);
}

const char *shim_blas_file(const struct shim_blas *blas)
{
    const char *file = blas->function ? shim_module_name((void *)blas->function) : NULL;
    return !blas->function ? NULL : !file ? "?" : *file ? file : "/proc/self/exe";
}

int shim_blas_threads(const struct shim_blas *blas, const struct xg_problem *problem)
{
    return blas->function ? shim_threads_count(&blas->threads, problem) : 1;
}

enum shim_pool shim_blas_pool(const struct shim_blas *blas)
{
    return blas->function ? blas->threads.pool : SHIM_POOL_NONE;
}

int shim_blas_forward(const struct shim_blas *blas, const struct shim_call *call)
{
    return shim_args_forward(blas->function, call);
}

static bool shim_problem_fits(const struct xg_problem *problem)
{
    int64_t dimension = xg_max_i64(problem->m, xg_max_i64(problem->n, problem->k));
    int64_t stride = xg_max_i64(problem->lda, xg_max_i64(problem->ldb, problem->ldc));
    int64_t least = xg_min_i64(problem->lda, xg_min_i64(problem->ldb, problem->ldc));
    return xg_max_i64(dimension, stride) <= INT32_MAX && least >= INT32_MIN;
}

void shim_blas_compute(const struct shim_blas *blas, const struct xg_problem *problem)
{
    struct shim_written written;
    struct shim_call call;
    if (!blas->function || (blas->int_bytes == 4 && !shim_problem_fits(problem)) ||
        !shim_args_can_write(problem, blas->symbol)) {
        xg_cpu_compute(problem);
        return;
    }
    shim_args_write(problem, blas->symbol, &written, &call);
    shim_args_forward(blas->function, &call);
}
