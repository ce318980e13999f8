/* SPDX-License-Identifier: MIT */
/*
 * Finds the caller's own BLAS.
 *
 * There is no single "next" BLAS in a process: NumPy and SciPy each bring a library behind an
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
 * the user sets it, then takes the place of what was found. A caller whose library lacks the name
 * gets another spelling of it there. Callers that nothing leads on from (a function pointer without
 * a BLAS of its own; a program linked with this library alone) get the nearest spelling of any
 * loaded object, and then of the library that configure found.
 */
#define _GNU_SOURCE
#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "answers.h"
#include "loaded.h"
#include "src/base/clock.h"
#include "src/base/file.h"
#include "src/base/log.h"
#include "src/base/sandbox.h"
#include "src/dispatch.h"
#include "src/host/shelter.h"

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

/* What the dynamic linker would have bound the caller to (1 to 3 above). */
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

/*
 * Paths of the loaded objects that may have one of the symbol's spellings, for the dynamic linker
 * is asked of each: one behind the other, "" behind the last. Copies: an object may be unloaded
 * while the list is gone through. The walk only counts and copies: dlopen there would take the
 * linker's locks in the wrong order, and an allocator may walk itself with a lock of its own.
 */
struct shim_paths {
    const struct shim_symbol *symbol;
    char *text;
    size_t room, bytes;
};

static int shim_paths_add(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct shim_paths *paths = context;
    (void)size_bytes;
    if (!info->dlpi_name || !info->dlpi_name[0])
        return 0; /* the program itself */
    if (!shim_scope_may_define(info, shim_symbol_spellings(shim_symbol_routine(paths->symbol))))
        return 0;
    size_t bytes = strlen(info->dlpi_name) + 1;
    if (paths->bytes + bytes < paths->room)
        memcpy(paths->text + paths->bytes, info->dlpi_name, bytes);
    paths->bytes += bytes;
    return 0;
}

/* NULL: no memory, or the list grows faster than it can be copied. */
static char *shim_paths_copy(const struct shim_symbol *symbol)
{
    struct shim_paths paths = {.symbol = symbol};
    for (int turn = 0; turn < 4; turn++) {
        paths.bytes = 0;
        shim_loaded_walk(shim_paths_add, &paths);
        if (paths.bytes < paths.room) {
            paths.text[paths.bytes] = '\0';
            return paths.text;
        }
        free(paths.text);
        paths.room = 2 * paths.bytes + 1;
        paths.text = malloc(paths.room);
        if (!paths.text)
            break;
    }
    free(paths.text);
    return NULL;
}

static int shim_search_loaded(const struct shim_symbol *symbol, int int_bytes,
                              struct shim_blas *blas)
{
    int best = SHIM_NOTHING;
    char *paths = shim_paths_copy(symbol);
    for (const char *path = paths; path && *path; path += strlen(path) + 1) {
        void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        if (handle) {
            best = shim_blas_search(handle, symbol, int_bytes, best, blas);
            dlclose(handle);
        }
    }
    free(paths);
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

/* What the user names; a closed process may not read its settings, nor open a file. */
static const char *shim_named_blas(void)
{
    return xg_sandbox_closed() ? NULL : xg_dispatch_cpu_blas();
}

static int shim_search_user(const struct shim_symbol *symbol, int int_bytes, struct shim_blas *blas)
{
    static int once[SHIM_ROUTINE_COUNT], irregular;
    const char *file = shim_named_blas();
    if (!file)
        return SHIM_NOTHING;
    if (!xg_file_may_load(file)) {
        xg_log_once(&irregular, "XGEMM_CPU_BLAS=%s is no regular file and is not used", file);
        return SHIM_NOTHING;
    }
    int best = shim_search_file(file, symbol, int_bytes, SHIM_NOTHING, blas);
    if (best == SHIM_NOTHING)
        xg_log_once(&once[shim_symbol_routine(symbol)],
                    "XGEMM_CPU_BLAS=%s cannot be loaded or has no %s; not used", file,
                    symbol->routine);
    return best;
}

/*
 * Another spelling in the caller's own scope, which has not got this one. Where neither says how
 * wide its integers are, they are as wide as that library's.
 */
static int shim_search_own(const struct shim_symbol *symbol, const void *caller, int *int_bytes,
                           struct shim_blas *blas)
{
    const char *file = shim_module_name(caller);
    bool program = file && !*file;
    void *handle = program ? RTLD_NEXT : file ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    int best = SHIM_NOTHING;
    if (!handle && !program)
        return best;
    best = shim_blas_search(handle, symbol, *int_bytes, best, blas);
    if (best != SHIM_NOTHING && symbol->plain && blas->symbol->plain) {
        *int_bytes = blas->int_bytes;
        best = shim_blas_distance(blas, symbol, *int_bytes);
    }
    if (!program)
        dlclose(handle);
    return best;
}

/* Without the dynamic linker's lock, where that will do. */
static bool shim_resolve_scope(const struct shim_symbol *symbol, const void *caller,
                               struct shim_answer *answer)
{
    struct shim_next *next = &answer->next;
    struct shim_scope scope;
    if (shim_named_blas() || !shim_scope_find(symbol->name, caller, &scope) ||
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

/*
 * What not every library has is not looked for where nothing was bound to it: libraries do not
 * agree on its arguments (some releases of OpenBLAS have one more of GEMMT). The caller's integers
 * are those of its GEMM, which computes it.
 */
static void shim_resolve_unbound(const struct shim_symbol *symbol, const void *caller,
                                 struct shim_next *next)
{
    struct shim_next other;
    shim_next_find(shim_symbol_sibling(symbol, xg_kind(XG_OP_GEMM, xg_kind_type(symbol->kind))),
                   caller, &other);
    next->int_bytes = symbol->plain ? other.int_bytes : symbol->int_bytes;
    next->blas.function = NULL;
    next->forwards = false;
}

static void shim_resolve_linker(const struct shim_symbol *symbol, const void *caller,
                                struct shim_next *next)
{
    struct shim_blas bound;
    bool found = shim_find_bound(symbol, caller, &bound);
    if (!found && shim_args_optional(symbol->op)) {
        shim_resolve_unbound(symbol, caller, next);
        (void)dlerror();
        return;
    }

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
    if (best == SHIM_NOTHING)
        best = shim_search_own(symbol, caller, &next->int_bytes, &next->blas);
    if (best == SHIM_NOTHING) {
        best = shim_search_loaded(symbol, next->int_bytes, &next->blas);
        if (best >= SHIM_FORWARDS)
            best =
                shim_search_file(XG_DEFAULT_CPU_BLAS, symbol, next->int_bytes, best, &next->blas);
    }
    next->forwards = best < SHIM_FORWARDS;
    if (!next->forwards && !shim_args_writable(symbol->op))
        next->blas.function = NULL;
    if (next->blas.function)
        shim_blas_keep(&next->blas);
    (void)dlerror(); /* the program must not be told of what was not found */
}

static void shim_resolve(const struct shim_symbol *symbol, const void *caller,
                         struct shim_answer *answer)
{
    static int once[SHIM_ROUTINE_COUNT];
    struct shim_next *next = &answer->next;
    shim_module_mark(&answer->caller);
    if (!shim_resolve_scope(symbol, caller, answer))
        shim_resolve_linker(symbol, caller, next);
    if (next->blas.function) {
        xg_log(XG_LOG_INFO, "%s from %p: %s of %s, %d-bit integers, threads %d (0: unknown)",
               symbol->name, caller, next->blas.symbol->name, shim_blas_file(&next->blas),
               8 * next->blas.int_bytes, shim_threads_count(&next->blas.threads, NULL));
    } else if (!shim_args_optional(symbol->op)) { /* which has asked for GEMM */
        xg_log_once(
            &once[shim_symbol_routine(symbol)],
            "no BLAS found behind %s, and no " XG_DEFAULT_CPU_BLAS
            ": a built-in loop computes what stays on the CPU (XGEMM_CPU_BLAS names a library)",
            symbol->name);
    }
}

/* Objects begin at a page, and a page has room for the names. */
static uint64_t shim_key(const struct shim_symbol *symbol, const struct shim_module *caller)
{
    return caller->begin + (uint64_t)(symbol - shim_symbols) + 1;
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

static bool shim_is_remembered(uint64_t key, const struct shim_module *caller,
                               struct shim_answer *answer)
{
    return shim_answers_find(key, answer) && shim_answer_stands(answer, caller);
}

/*
 * A program's threads often meet at an object's first call. Where scikit-learn's sixteen did, each
 * looked for 2 ms while it held the lock of the loaded objects' list, and all waited for 35. So one
 * looks, and those who find it at that wait for its answer; not for long, for it may have been left
 * behind by a fork, and look for themselves then. Of several questions one has this place.
 */
static _Atomic uint64_t shim_asked;

enum { SHIM_WAIT_MS = 50 };

static uint64_t shim_question(uint64_t key)
{
    return key ^ (uint64_t)getpid() << 40;
}

static void shim_answered(uint64_t key)
{
    uint64_t question = shim_question(key);
    atomic_compare_exchange_strong(&shim_asked, &question, 0);
}

/* True when another thread has answered meanwhile. Nothing waits in a closed process: that takes
 * system calls. */
static bool shim_await(uint64_t key, const struct shim_module *caller, struct shim_answer *answer)
{
    if (xg_sandbox_closed())
        return false;
    static const struct timespec nap = {.tv_nsec = 50000};
    const uint64_t question = shim_question(key);
    const int64_t until_ns = xg_clock_ns() + SHIM_WAIT_MS * INT64_C(1000000);
    bool others = atomic_exchange(&shim_asked, question) == question;
    while (others && atomic_load(&shim_asked) == question && xg_clock_ns() < until_ns)
        nanosleep(&nap, NULL);
    bool known = shim_is_remembered(key, caller, answer);
    if (known && !others)
        shim_answered(key);
    return known;
}

void shim_next_find(const struct shim_symbol *symbol, const void *caller, struct shim_next *out)
{
    struct shim_answer answer;
    struct shim_module module;
    shim_module_find(caller, &module);
    uint64_t key = shim_key(symbol, &module);
    if (shim_is_remembered(key, &module, &answer)) {
        *out = answer.next;
        return;
    }
    /* What follows takes locks: the dynamic linker's, and malloc's. It may load a library, of which
     * nobody knows where the file lies and what its constructors do. */
    int saved_errno = errno;
    struct xg_shelter shelter;
    xg_sandbox_look();
    xg_shelter_enter(&shelter);
    xg_shelter_wait(&shelter);
    if (!shim_await(key, &module, &answer)) {
        answer = (struct shim_answer){.key = key, .caller = module};
        shim_resolve(symbol, caller, &answer);
        shim_answers_keep(&answer);
        if (!xg_sandbox_closed())
            shim_answered(key);
    }
    *out = answer.next;
    errno = saved_errno;
    xg_shelter_leave(&shelter);
}

bool shim_next_bound(const struct shim_symbol *symbol, const void *caller, struct shim_blas *out)
{
    int saved_errno = errno;
    struct xg_shelter shelter;
    xg_shelter_enter(&shelter);
    xg_shelter_wait(&shelter);
    bool found = shim_find_bound(symbol, caller, out);
    (void)dlerror();
    errno = saved_errno;
    xg_shelter_leave(&shelter);
    return found;
}
