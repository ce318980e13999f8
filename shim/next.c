/* SPDX-License-Identifier: MIT */
/*
 * Finds the caller's own BLAS.
 *
 * There is no single "next" SGEMM in a process: NumPy and SciPy each bring a library behind an
 * RTLD_LOCAL dlopen, where RTLD_NEXT sees nothing and RTLD_DEFAULT sees only this library. So the
 * question is asked for each call site, in the order in which the dynamic linker would have
 * answered it:
 *
 *   1. the global scope behind this library, when this library is part of it (preloaded, or linked
 *      by the program): it comes before a caller's own dependencies, with us or without;
 *   2. the caller's own scope: itself and what it depends on;
 *   3. whatever comes behind this library in the scope that loaded it.
 *
 * That also tells the width of the caller's integers where its names do not. XGEMM_CPU_BLAS, when
 * the user sets it, then takes the place of what was found. Callers that nothing leads on from (a
 * function pointer without a BLAS of its own; a program linked with this library alone) get the
 * nearest SGEMM of any loaded object, and then the one that configure found.
 */
#define _GNU_SOURCE
#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../src/dispatch.h"
#include "../src/log.h"

/* Whether a look-up from the program itself, in the global scope, can end in this library. */
static bool shim_is_global(void *program)
{
    Dl_info self, info;
    if (!dladdr(shim_symbols, &self))
        return false;
    for (int i = 0; i < SHIM_ID_COUNT; i++) {
        void *address = dlsym(program, shim_symbols[i].name);
        if (address && dladdr(address, &info) && info.dli_fbase == self.dli_fbase)
            return true;
    }
    return false;
}

/*
 * Looks in the caller's own scope. The program itself is left out: its scope is the global one, and
 * in a program at a fixed address the look-up of a function whose address it takes gives its own
 * jump to us.
 */
static bool shim_find_in_caller(const struct shim_symbol *symbol, const void *caller, void *program,
                                struct shim_blas *blas)
{
    Dl_info info;
    void *handle = dladdr(caller, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    bool found =
        handle && handle != program && shim_blas_accept(dlsym(handle, symbol->name), symbol, blas);
    if (handle)
        dlclose(handle);
    return found;
}

/* The SGEMM that the dynamic linker would have bound the caller to (1 to 3 above). */
static bool shim_find_bound(const struct shim_symbol *symbol, const void *caller,
                            struct shim_blas *blas)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    bool global = program && shim_is_global(program);
    bool found = (global && shim_blas_accept(dlsym(RTLD_NEXT, symbol->name), symbol, blas)) ||
                 shim_find_in_caller(symbol, caller, program, blas) ||
                 (!global && shim_blas_accept(dlsym(RTLD_NEXT, symbol->name), symbol, blas));
    if (program)
        dlclose(program);
    return found;
}

/* Paths of the loaded objects. Copies: an object may be unloaded while the list is gone through. */
struct shim_objects {
    char **path;
    size_t count, capacity;
};

/* Only collects: dlopen inside the callback would take the linker's locks in the wrong order. */
static int shim_objects_add(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct shim_objects *objects = context;
    (void)size_bytes;
    if (!info->dlpi_name || !info->dlpi_name[0])
        return 0; /* the program itself */
    if (objects->count == objects->capacity) {
        size_t capacity = objects->capacity ? 2 * objects->capacity : 64;
        char **path = realloc(objects->path, capacity * sizeof *path);
        if (!path)
            return 1;
        objects->path = path;
        objects->capacity = capacity;
    }
    char *copy = strdup(info->dlpi_name);
    if (!copy)
        return 1;
    objects->path[objects->count++] = copy;
    return 0;
}

static int shim_search_loaded(const struct shim_symbol *symbol, int int_bytes,
                              struct shim_blas *blas)
{
    struct shim_objects objects = {0};
    int best = SHIM_NOTHING;

    dl_iterate_phdr(shim_objects_add, &objects);
    for (size_t i = 0; i < objects.count; i++) {
        void *handle = dlopen(objects.path[i], RTLD_LAZY | RTLD_NOLOAD);
        if (handle) {
            best = shim_blas_search(handle, symbol, int_bytes, best, blas);
            dlclose(handle);
        }
        free(objects.path[i]);
    }
    free(objects.path);
    return best;
}

/* Loads a library and searches it. It stays loaded when it is better than what there was. */
static int shim_search_file(const char *file, const struct shim_symbol *symbol, int int_bytes,
                            int best, struct shim_blas *blas)
{
    void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        return best;
    int distance = shim_blas_search(handle, symbol, int_bytes, best, blas);
    if (distance == best)
        dlclose(handle);
    return distance;
}

static int shim_search_user(const struct shim_symbol *symbol, int int_bytes, struct shim_blas *blas)
{
    static int once;
    const char *file = xg_dispatch_cpu_blas();
    if (!file)
        return SHIM_NOTHING;
    int best = shim_search_file(file, symbol, int_bytes, SHIM_NOTHING, blas);
    if (best == SHIM_NOTHING)
        xg_log_once(&once, "XGEMM_CPU_BLAS=%s cannot be loaded or has no SGEMM; not used", file);
    return best;
}

static void shim_resolve(const struct shim_symbol *symbol, const void *caller,
                         struct shim_next *next)
{
    static int once;
    struct shim_blas bound;
    bool found = shim_find_bound(symbol, caller, &bound);

    /*
     * A plain name that nothing was bound to is taken for 32 bits: right for every such caller, and
     * on small values right for one with 64 bits too.
     */
    next->int_bytes = found ? bound.int_bytes : symbol->int_bytes;
    next->blas.function = NULL;
    int best = shim_search_user(symbol, next->int_bytes, &next->blas);
    if (best == SHIM_NOTHING && found) {
        next->blas = bound;
        best = 0;
    }
    if (best == SHIM_NOTHING) {
        best = shim_search_loaded(symbol, next->int_bytes, &next->blas);
        if (best >= SHIM_FORWARDS)
            best =
                shim_search_file(XG_DEFAULT_CPU_BLAS, symbol, next->int_bytes, best, &next->blas);
    }
    next->forwards = best < SHIM_FORWARDS;

    if (next->blas.function) {
        shim_blas_keep(&next->blas);
        xg_log(XG_LOG_INFO, "%s from %p: %s of %s, %d-bit integers, threads %d (0: unknown)",
               symbol->name, caller, next->blas.name, shim_blas_file(&next->blas),
               8 * next->blas.int_bytes, shim_threads_count(&next->blas.threads, NULL));
    } else {
        xg_log_once(
            &once,
            "no BLAS found behind %s, and no " XG_DEFAULT_CPU_BLAS
            ": a built-in loop computes what stays on the CPU (XGEMM_CPU_BLAS names a library)",
            symbol->name);
    }
}

/*
 * What was found, by call site. An entry is never changed or freed once it is published, so that
 * readers need no lock. It outlives the caller's code: other code loaded later at the same address
 * would get the same library, which shim_blas_keep holds, so the worst case is another right SGEMM.
 */
struct shim_entry {
    const void *caller;
    struct shim_next next;
};

enum { SHIM_SLOTS = 256, SHIM_PROBES = 16 };

static struct shim_entry *_Atomic shim_cache[SHIM_ID_COUNT][SHIM_SLOTS];

static size_t shim_cache_slot(const void *caller, int probe)
{
    uint64_t hash = (uint64_t)(uintptr_t)caller * 0x9e3779b97f4a7c15u;
    return (size_t)((hash >> 56) + (uint64_t)probe) % SHIM_SLOTS;
}

/*
 * Two threads may resolve the same site at once: both find the same library, and one entry is kept.
 * Where there is no memory or no free slot (code that is generated without end), nothing is
 * remembered.
 */
static void shim_remember(enum shim_id id, const void *caller, const struct shim_next *next)
{
    struct shim_entry *entry = malloc(sizeof *entry);
    if (!entry)
        return;
    *entry = (struct shim_entry){.caller = caller, .next = *next};
    for (int probe = 0; probe < SHIM_PROBES; probe++) {
        struct shim_entry *expected = NULL;
        if (atomic_compare_exchange_strong(&shim_cache[id][shim_cache_slot(caller, probe)],
                                           &expected, entry))
            return;
        if (expected->caller == caller)
            break;
    }
    free(entry);
}

const struct shim_next *shim_next_find(enum shim_id id, const void *caller, struct shim_next *space)
{
    for (int probe = 0; probe < SHIM_PROBES; probe++) {
        const struct shim_entry *entry = atomic_load_explicit(
            &shim_cache[id][shim_cache_slot(caller, probe)], memory_order_acquire);
        if (!entry)
            break;
        if (entry->caller == caller)
            return &entry->next;
    }
    int saved_errno = errno;
    shim_resolve(&shim_symbols[id], caller, space);
    shim_remember(id, caller, space);
    errno = saved_errno;
    return space;
}
