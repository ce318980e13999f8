/* SPDX-License-Identifier: MIT */
/*
 * Finds the caller's own BLAS.
 *
 * A process has no single "next" BLAS: NumPy and SciPy each bring a library behind an RTLD_LOCAL
 * dlopen, where RTLD_NEXT sees nothing and RTLD_DEFAULT sees only this library. So each calling
 * object gets its own look-up, in the order in which the dynamic linker would have searched:
 *
 *   1. the global scope after this library, if this library is part of it (preloaded, or linked by
 *      the program): that scope precedes a caller's own dependencies, with this library or without;
 *   2. the caller's own scope: the caller and its dependencies;
 *   3. the objects after this library in the scope that loaded it.
 *
 * The result also tells the width of the caller's integers if its names do not. If the user sets
 * XGEMM_CPU_BLAS, that library then replaces the result. If the caller's library lacks the name,
 * another spelling of it there is used. A caller without any result (a function pointer without a
 * BLAS of its own; a program linked with this library alone) gets the nearest spelling in any
 * loaded object, and then in the library that configure found.
 *
 * For libblastrampoline, and for a caller whose function of libblastrampoline leads to this
 * library, the dynamic linker does not tell the library. They get the function that was there
 * before (trampoline.h) or, if the program did not tell, that of any loaded object.
 */
#define _GNU_SOURCE
#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers.h"
#include "importers.h"
#include "linker_thread.h"
#include "loaded.h"
#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/base/sandbox.h"
#include "src/dispatch.h"
#include "src/host/library.h"
#include "src/host/shelter.h"
#include "trampoline.h"
#include "whose.h"

/* Whether a look-up by the program itself, in the global scope, can end in this library. */
static bool shim_is_global(void *program)
{
    struct shim_module self;
    shim_module_find(shim_symbols, &self);
    for (int i = 0; i < SHIM_BLAS_COUNT; i++)
        if (shim_module_contains(&self, (uintptr_t)dlsym(program, shim_symbols[i].name)))
            return true;
    return false;
}

/*
 * Looks in the caller's own scope. The program itself is left out. Its scope is the global one, and
 * if a program at a fixed address takes a function's address, the look-up returns the program's own
 * jump to us. The program's name is the one that it was started with, and may belong to any file,
 * even a FIFO.
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

/* 1 to 3 above. */
static bool shim_find_linked(const struct shim_symbol *symbol, const void *caller,
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

/* The function that the caller would have reached without this library. It may be one of
 * libblastrampoline, unless the caller is in libblastrampoline. */
static bool shim_find_bound(const struct shim_symbol *symbol, const void *caller,
                            struct shim_blas *blas)
{
    return (!shim_scope_is_trampoline(caller) && shim_find_linked(symbol, caller, blas)) ||
           shim_trampoline_find(symbol, blas);
}

/* Whether a call of the function would come back here. */
static bool shim_returns(const struct shim_blas *blas)
{
    return blas->trampoline && shim_trampoline_returns((const void *)blas->function);
}

/* lbt_forward tries to find out about a library by a call of dpotrf_, before it misses cdotc_. */
static void shim_tell_forward(const struct shim_symbol *symbol, const void *caller)
{
    static int once;
    if (!strcmp(symbol->routine, "dpotrf") && !shim_whose_jump(caller))
        xg_log_once(&once, "lbt_forward cannot take this library, which has only a part of BLAS: "
                           "use the package XGEMM of Julia, or xgemm_lbt_forward");
}

/*
 * Paths of the loaded objects that may have one of the symbol's spellings; the dynamic linker is
 * then asked about each. They are stored one after another, with "" at the end. They are copies,
 * because an object may be unloaded during the search. The walk only counts and copies: dlopen
 * inside it would take the linker's locks in the wrong order, and an allocator may itself walk
 * while it holds a lock.
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
    if (!shim_scope_may_define(info, paths->symbol))
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

/* Loads a library and searches it. It stays loaded if it is better than the best so far. If it
 * cannot be loaded, why says why. In a closed process the dynamic linker opens it at once. */
static int shim_search_file(const char *file, const struct shim_symbol *symbol, int int_bytes,
                            int best, struct shim_blas *blas, char why[XG_LIBRARY_WHY_BYTES])
{
    void *handle = xg_sandbox_closed() ? dlopen(file, RTLD_LAZY | RTLD_LOCAL)
                                       : xg_library_load(file, RTLD_LAZY | RTLD_LOCAL, why);
    if (!handle)
        return best;
    int distance = shim_blas_search(handle, symbol, int_bytes, best, blas);
    if (distance == best)
        dlclose(handle);
    return distance;
}

/* The library that the user names. A closed process may not read settings nor open a file. */
static const char *shim_named_blas(void)
{
    return xg_sandbox_closed() ? NULL : xg_dispatch_cpu_blas();
}

static int shim_search_user(const struct shim_symbol *symbol, int int_bytes, struct shim_blas *blas)
{
    static int once[SHIM_ROUTINE_COUNT], refused;
    char why[XG_LIBRARY_WHY_BYTES] = "";
    const char *file = shim_named_blas();
    if (!file)
        return SHIM_NOTHING;
    int best = shim_search_file(file, symbol, int_bytes, SHIM_NOTHING, blas, why);
    if (best == SHIM_NOTHING && why[0])
        xg_log_once(&refused, "ignoring XGEMM_CPU_BLAS=%s: %s", file, why);
    else if (best == SHIM_NOTHING)
        xg_log_once(&once[shim_symbol_routine(symbol)],
                    "ignoring XGEMM_CPU_BLAS=%s: it cannot be loaded or has no %s", file,
                    symbol->routine);
    return best;
}

/* Searches another spelling in the caller's own scope, which lacks this one. If neither name tells
 * the integer width, the width is that of the library found. */
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

/* Tries to resolve without the dynamic linker's lock. */
static bool shim_resolve_scope(const struct shim_symbol *symbol, struct shim_answer *answer)
{
    struct shim_next *next = &answer->next;
    struct shim_scope scope = {.stays = true};
    bool trampoline = shim_scope_is_trampoline(next->owner);
    if (shim_named_blas() ||
        (trampoline ? !shim_trampoline_find(symbol, &next->blas)
                    : !shim_scope_find(symbol->name, next->owner, &scope) ||
                          !shim_blas_accept_scope(&scope, symbol, &next->blas)))
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
 * An operation that not every library has is not searched if the caller is not bound to it, because
 * libraries disagree on its arguments (some releases of OpenBLAS have one more for GEMMT). The
 * caller's integers are then those of its GEMM, which computes the operation.
 */
static void shim_resolve_unbound(const struct shim_symbol *symbol, struct shim_next *next)
{
    struct shim_next other;
    shim_next_sibling(next, symbol, xg_kind(XG_OP_GEMM, xg_kind_type(symbol->kind)), &other);
    next->int_bytes = symbol->plain ? other.int_bytes : symbol->int_bytes;
    next->blas.function = NULL;
    next->forwards = false;
}

static void shim_resolve_linker(const struct shim_symbol *symbol, struct shim_next *next)
{
    const void *caller = next->owner;
    struct shim_blas bound;
    bool found = shim_find_bound(symbol, caller, &bound);
    if (!found && shim_args_optional(symbol->op)) {
        shim_resolve_unbound(symbol, next);
        return;
    }

    /* A plain name that is bound to nothing counts as 32-bit, which is right for every 32-bit
     * caller and for small values of a 64-bit caller. */
    next->int_bytes = found ? bound.int_bytes : symbol->int_bytes;
    next->blas.function = NULL;
    int best = shim_symbol_is_lapack(symbol)
                   ? SHIM_NOTHING
                   : shim_search_user(symbol, next->int_bytes, &next->blas);
    if (best == SHIM_NOTHING && found) {
        next->blas = bound;
        best = 0;
    }
    if (best == SHIM_NOTHING)
        best = shim_search_own(symbol, caller, &next->int_bytes, &next->blas);
    if (best == SHIM_NOTHING) {
        best = shim_search_loaded(symbol, next->int_bytes, &next->blas);
        char why[XG_LIBRARY_WHY_BYTES];
        if (best >= SHIM_FORWARDS)
            best = shim_search_file(XG_DEFAULT_CPU_BLAS, symbol, next->int_bytes, best, &next->blas,
                                    why);
    }
    next->forwards = best < SHIM_FORWARDS;
    if (!next->forwards && !shim_args_writable(symbol->op))
        next->blas.function = NULL;
    if (next->blas.function)
        shim_blas_keep(&next->blas);
}

/*
 * Chooses the caller among several objects if the call itself does not tell. If all are bound
 * alike, any of them will do. Otherwise it is the object that the call seems to come from, if the
 * dynamic linker gives it a library; else one with 32-bit integers. 32-bit reads of numbers below
 * 2^31 are right for any caller, but 64-bit reads are not.
 */
static const void *shim_choose(const struct shim_symbol *symbol, const void *caller,
                               const struct shim_importers *others)
{
    const void *narrow = NULL;
    void (*function)(void) = NULL;
    bool alike = true;
    struct shim_blas blas;
    for (int i = 0; i < others->count; i++) {
        bool found = shim_find_bound(symbol, others->at[i], &blas);
        alike = alike && found && (i == 0 || blas.function == function);
        function = found ? blas.function : NULL;
        if (!narrow && found && blas.int_bytes == 4)
            narrow = others->at[i];
    }
    if (alike)
        return others->at[0];
    if (shim_find_bound(symbol, caller, &blas))
        return caller;
    return narrow ? narrow : others->at[0];
}

/* A question to the dynamic linker, which a separate thread asks (aside.h). */
struct shim_question {
    const struct shim_symbol *symbol;
    const struct shim_importers *others; /* NULL: the owner is known */
    struct shim_next *next;
};

static void shim_ask(void *context)
{
    const struct shim_question *question = context;
    const struct shim_importers *others = question->others;
    struct shim_next *next = question->next;
    struct shim_blas blas;
    if (others && !(others->asks && shim_find_in_caller(question->symbol, next->owner, &blas)))
        next->owner = shim_choose(question->symbol, next->owner, others);
    shim_resolve_linker(question->symbol, next);
}

/* `owner`: see shim_look. True: the answer is right for all calls that come from the object. */
static bool shim_resolve(const struct shim_symbol *symbol, bool owner, struct shim_answer *answer)
{
    static int once[SHIM_ROUTINE_COUNT];
    struct shim_next *next = &answer->next;
    const void *caller = next->owner;
    struct shim_importers others = {.itself = true};
    bool trampoline = shim_scope_is_trampoline(caller);
    if (trampoline)
        shim_tell_forward(symbol, caller);
    shim_module_mark(&answer->caller);
    if (!shim_resolve_scope(symbol, answer)) {
        if (!owner && !trampoline)
            shim_importers_find(symbol->name, caller, &others);
        bool several = !others.itself && (others.count > 1 || others.asks);
        if (!others.itself && !several)
            next->owner = others.at[0];
        if (several || next->owner == caller || !shim_resolve_scope(symbol, answer))
            shim_linker_thread_run(shim_ask,
                                   &(struct shim_question){symbol, several ? &others : NULL, next});
    }
    if (next->owner != caller) {
        shim_module_find(next->owner, &answer->owner);
        shim_module_mark(&answer->owner);
    }
    if (next->blas.function) {
        xg_log(XG_LOG_INFO, "%s from %p: %s of %s, %d-bit integers, threads %d (0: unknown)",
               symbol->name, caller, next->blas.symbol->name, shim_blas_file(&next->blas),
               8 * next->blas.int_bytes, shim_threads_count(&next->blas.threads, NULL));
    } else if (shim_symbol_is_lapack(symbol)) {
        xg_log_once(&once[shim_symbol_routine(symbol)],
                    "no LAPACK found behind %s, and no " XG_DEFAULT_CPU_BLAS
                    ": it fails where the GPU does not compute it",
                    symbol->name);
    } else if (!shim_args_optional(symbol->op)) { /* for an optional operation the search was for
                                                   * GEMM */
        xg_log_once(
            &once[shim_symbol_routine(symbol)],
            "no BLAS found behind %s, and no " XG_DEFAULT_CPU_BLAS
            ": a built-in loop computes what stays on the CPU (XGEMM_CPU_BLAS names a library)",
            symbol->name);
    }
    return others.itself;
}

/* The keys under which the answer to a call may be kept: `object` if the object that the call seems
 * to come from is the caller, `place` (the call's own address) if another object is the caller. */
struct shim_keys {
    uint64_t object, place; /* place 0: the owner is known */
};

static struct shim_keys shim_keys(const struct shim_symbol *symbol, const void *caller,
                                  const struct shim_module *module, bool owner)
{
    /* Objects begin at a page boundary, and a page has more addresses than there are names. User
     * addresses have 47 or 56 bits; none has the highest bit. */
    enum { NAME_BITS = 10 };
    _Static_assert(SHIM_ID_COUNT < 1 << NAME_BITS, "a place's key has room for the names");
    uint64_t name = (uint64_t)(symbol - shim_symbols);
    bool place = !owner && module->begin;
    return (struct shim_keys){
        .object = module->begin + name + 1,
        .place = place ? UINT64_C(1) << 63 | (uint64_t)(uintptr_t)caller << NAME_BITS | name : 0,
    };
}

/* Whether the object at the address is the marked one. Also true if no object was marked. */
static bool shim_is_still(const struct shim_module *marked, const void *address)
{
    struct shim_module now;
    if (!marked->begin)
        return true;
    shim_module_find(address, &now);
    return shim_module_same(marked, &now);
}

/* Whether a remembered answer is still valid: its objects are still loaded. */
static bool shim_answer_stands(const struct shim_answer *answer, const struct shim_module *caller)
{
    return answer->turn == shim_trampoline_turn() && shim_module_same(&answer->caller, caller) &&
           shim_is_still(&answer->owner, answer->next.owner) &&
           shim_is_still(&answer->library, (const void *)answer->next.blas.function);
}

static bool shim_is_remembered(const struct shim_keys *keys, const struct shim_module *caller,
                               struct shim_answer *answer)
{
    return (shim_answers_find(keys->object, answer) && shim_answer_stands(answer, caller)) ||
           (keys->place && shim_answers_find(keys->place, answer) &&
            shim_answer_stands(answer, caller));
}

/*
 * A program's threads often meet at an object's first call. When sixteen threads of scikit-learn
 * did, each searched for 2 ms while it held the lock of the list of loaded objects, and all waited
 * 35 ms. So one thread searches and the others wait for its answer, for SHIM_WAIT_MS at most,
 * because a fork may have left the question behind; then they search themselves. This variable
 * holds the latest question only.
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

/* True if another thread has answered meanwhile. A closed process does not wait, because waiting
 * takes system calls. */
static bool shim_await(const struct shim_keys *keys, const struct shim_module *caller,
                       struct shim_answer *answer)
{
    if (xg_sandbox_closed())
        return false;
    const uint64_t question = shim_question(keys->object);
    const int64_t until_ns = xg_clock_after_ms(SHIM_WAIT_MS);
    bool others = atomic_exchange(&shim_asked, question) == question;
    while (others && atomic_load(&shim_asked) == question && xg_clock_ns() < until_ns)
        xg_clock_nap_us(50);
    bool known = shim_is_remembered(keys, caller, answer);
    if (known && !others)
        shim_answered(keys->object);
    return known;
}

static void shim_look_once(const struct shim_symbol *symbol, const void *caller,
                           const struct shim_module *module, bool owner, struct shim_next *out)
{
    struct shim_answer answer;
    const struct shim_keys keys = shim_keys(symbol, caller, module, owner);
    if (shim_is_remembered(&keys, module, &answer)) {
        *out = answer.next;
        return;
    }
    /* The code below takes the locks of the dynamic linker and of malloc. It may load a library,
     * whose file may lie anywhere and whose constructors may do anything. */
    int saved_errno = errno;
    struct xg_shelter shelter;
    xg_sandbox_look();
    xg_shelter_enter(&shelter);
    xg_shelter_wait(&shelter);
    if (!shim_await(&keys, module, &answer)) {
        answer = (struct shim_answer){.key = keys.object,
                                      .turn = shim_trampoline_turn(),
                                      .caller = *module,
                                      .next.owner = caller};
        if (!shim_resolve(symbol, owner, &answer) && keys.place)
            answer.key = keys.place;
        shim_answers_keep(&answer);
        if (!xg_sandbox_closed())
            shim_answered(keys.object);
    }
    *out = answer.next;
    errno = saved_errno;
    xg_shelter_leave(&shelter);
}

/* `owner`: the object that contains the address is known to be the caller. If the answer is a
 * function of libblastrampoline, its table is read at each call, because the program may change it.
 */
static void shim_look(const struct shim_symbol *symbol, const void *caller,
                      const struct shim_module *module, bool owner, struct shim_next *out)
{
    struct shim_module trampolines;
    shim_look_once(symbol, caller, module, owner, out);
    if (!shim_returns(&out->blas))
        return;
    const void *function = (const void *)out->blas.function;
    shim_module_find(function, &trampolines);
    shim_look_once(symbol, function, &trampolines, true, out);
}

void shim_next_find(const struct shim_symbol *symbol, const void *caller,
                    const struct shim_module *module, struct shim_next *out)
{
    shim_look(symbol, caller, module, false, out);
}

void shim_next_sibling(const struct shim_next *next, const struct shim_symbol *symbol, int kind,
                       struct shim_next *out)
{
    struct shim_module module;
    const void *owner = next->owner;
    shim_module_find(owner, &module);
    shim_look(shim_symbol_sibling(symbol, kind), owner, &module, true, out);
}

/* The question of shim_next_bound to the dynamic linker. */
struct shim_bound {
    const struct shim_symbol *symbol;
    const void *owner;
    struct shim_blas blas;
    bool found;
};

static void shim_ask_bound(void *context)
{
    struct shim_bound *bound = context;
    bound->found = shim_find_bound(bound->symbol, bound->owner, &bound->blas);
    if (bound->found && shim_returns(&bound->blas))
        bound->found = shim_trampoline_find(bound->symbol, &bound->blas);
}

bool shim_next_bound(const struct shim_next *next, const struct shim_symbol *symbol,
                     struct shim_blas *out)
{
    struct shim_bound bound = {.symbol = symbol, .owner = next->owner};
    int saved_errno = errno;
    struct xg_shelter shelter;
    xg_shelter_enter(&shelter);
    xg_shelter_wait(&shelter);
    shim_linker_thread_run(shim_ask_bound, &bound);
    errno = saved_errno;
    xg_shelter_leave(&shelter);
    if (bound.found)
        *out = bound.blas;
    return bound.found;
}
