/* SPDX-License-Identifier: MIT */
/*
 * Finds the caller's own BLAS.
 *
 * There is no single "next" SGEMM in a process: NumPy and SciPy each bring a library behind an
 * RTLD_LOCAL dlopen, where RTLD_NEXT sees nothing and RTLD_DEFAULT sees only this library. So the
 * question is asked for each object that calls, in the order in which the dynamic linker would have
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

static bool shim_is_inside(const void *address, const struct shim_module *module)
{
    return (uintptr_t)address - module->begin < module->end - module->begin;
}

/* Whether a look-up from the program itself, in the global scope, can end in this library. */
static bool shim_is_global(void *program)
{
    struct shim_module self;
    shim_module_find(shim_symbols, &self);
    for (int i = 0; i < SHIM_ID_COUNT; i++)
        if (shim_is_inside(dlsym(program, shim_symbols[i].name), &self))
            return true;
    return false;
}

/*
 * Looks in the caller's own scope. The program itself is left out: its scope is the global one, and
 * in a program at a fixed address the look-up of a function whose address it takes gives its own
 * jump to us. Its name would be what it was started with, which may be any file's, or a FIFO's.
 */
static bool shim_find_in_caller(const struct shim_symbol *symbol, const void *caller,
                                struct shim_blas *blas)
{
    const char *file = shim_module_name(caller);
    void *handle = file && *file ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    bool found = handle && shim_blas_accept(dlsym(handle, symbol->name), symbol, blas);
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
                 shim_find_in_caller(symbol, caller, blas) ||
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

/* What is remembered: all of it dies with the caller's object, or with the library's. */
struct shim_answer {
    uint64_t key; /* of the caller and the name */
    struct shim_module caller;
    struct shim_module library; /* begin 0: it stays loaded */
    struct shim_next next;
};

/* Without the dynamic linker's lock, where that will do. */
static bool shim_resolve_scope(const struct shim_symbol *symbol, const void *caller,
                               struct shim_answer *answer)
{
    struct shim_next *next = &answer->next;
    struct shim_scope scope;
    if (xg_dispatch_cpu_blas() || !shim_scope_find(symbol->name, caller, &scope) ||
        !shim_blas_accept_scope(&scope, symbol, &next->blas))
        return false;
    next->int_bytes = next->blas.int_bytes;
    next->forwards = true;
    if (!scope.stays) {
        shim_module_find(scope.address, &answer->library);
        shim_module_mark(&answer->library);
    }
    return true;
}

static void shim_resolve_linker(const struct shim_symbol *symbol, const void *caller,
                                struct shim_next *next)
{
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
    if (next->blas.function)
        shim_blas_keep(&next->blas);
}

static void shim_resolve(const struct shim_symbol *symbol, const void *caller,
                         struct shim_answer *answer)
{
    static int once;
    struct shim_next *next = &answer->next;
    shim_module_mark(&answer->caller);
    if (!shim_resolve_scope(symbol, caller, answer))
        shim_resolve_linker(symbol, caller, next);
    if (next->blas.function) {
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
 * What was found, by the caller's object: however many call sites it has, they are all bound alike.
 * A place in the table is written over where its object is gone or where there are too many, so
 * that readers copy it, and look whether it was written meanwhile: `turn` is odd while it is being
 * written. Nothing waits for anything: who finds a place being written does without it.
 */
enum {
    SHIM_SLOTS = 256,
    SHIM_PROBES = 8,
    SHIM_WORDS = (sizeof(struct shim_answer) + sizeof(uint64_t) - 1) / sizeof(uint64_t),
};

static struct shim_slot {
    _Atomic unsigned turn;
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint64_t word[SHIM_WORDS];
} shim_table[SHIM_SLOTS];

/* Objects begin at a page, and a page has room for the names. */
static uint64_t shim_key(enum shim_id id, const struct shim_module *caller)
{
    return caller->begin + (uint64_t)id + 1;
}

static struct shim_slot *shim_slot(uint64_t key, int probe)
{
    return &shim_table[((key * 0x9e3779b97f4a7c15u >> 56) + (uint64_t)probe) % SHIM_SLOTS];
}

/* An answer, and what it is copied as. */
union shim_copy {
    struct shim_answer answer;
    uint64_t words[SHIM_WORDS];
};

static bool shim_slot_read(struct shim_slot *slot, union shim_copy *copy)
{
    unsigned turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
    for (int i = 0; i < SHIM_WORDS; i++)
        copy->words[i] = atomic_load_explicit(&slot->word[i], memory_order_acquire);
    return turn % 2 == 0 && atomic_load_explicit(&slot->turn, memory_order_relaxed) == turn;
}

static void shim_slot_write(struct shim_slot *slot, const struct shim_answer *answer)
{
    union shim_copy copy = {.answer = *answer};
    unsigned turn = atomic_load_explicit(&slot->turn, memory_order_relaxed);
    if (turn % 2 || !atomic_compare_exchange_strong(&slot->turn, &turn, turn + 1))
        return;
    atomic_store_explicit(&slot->key, answer->key, memory_order_release);
    for (int i = 0; i < SHIM_WORDS; i++)
        atomic_store_explicit(&slot->word[i], copy.words[i], memory_order_release);
    atomic_store_explicit(&slot->turn, turn + 2, memory_order_release);
}

/* Where the object has a place, or the first free one; else the first one at all. */
static void shim_remember(const struct shim_answer *answer)
{
    uint64_t key = answer->key;
    for (int probe = 0; probe < SHIM_PROBES; probe++) {
        struct shim_slot *slot = shim_slot(key, probe);
        uint64_t held = atomic_load_explicit(&slot->key, memory_order_relaxed);
        if (!held || held == key) {
            shim_slot_write(slot, answer);
            return;
        }
    }
    shim_slot_write(shim_slot(answer->key, 0), answer);
}

/* Whether what was remembered is still so: its objects are those that were there then. */
static bool shim_answer_stands(const struct shim_answer *answer, const struct shim_module *caller)
{
    struct shim_module library;
    if (!shim_module_same(&answer->caller, caller))
        return false;
    if (!answer->library.begin)
        return true;
    shim_module_find((void *)answer->next.blas.function, &library);
    return shim_module_same(&answer->library, &library);
}

void shim_next_find(enum shim_id id, const void *caller, struct shim_next *out)
{
    union shim_copy copy;
    struct shim_module module;
    shim_module_find(caller, &module);
    uint64_t key = shim_key(id, &module);
    for (int probe = 0; probe < SHIM_PROBES; probe++) {
        struct shim_slot *slot = shim_slot(key, probe);
        uint64_t held = atomic_load_explicit(&slot->key, memory_order_relaxed);
        if (!held)
            break;
        if (held == key && shim_slot_read(slot, &copy) && copy.answer.key == key &&
            shim_answer_stands(&copy.answer, &module)) {
            *out = copy.answer.next;
            return;
        }
    }
    int saved_errno = errno;
    struct shim_answer answer = {.key = key, .caller = module};
    shim_resolve(&shim_symbols[id], caller, &answer);
    shim_remember(&answer);
    errno = saved_errno;
    *out = answer.next;
}
