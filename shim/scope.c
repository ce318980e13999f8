/* SPDX-License-Identifier: MIT */
/*
 * Reads the loaded objects' symbol tables.
 *
 * dlsym, dlopen and dladdr take the dynamic linker's lock. dlopen and dlclose hold it while they
 * run constructors and destructors, and one of those may start a thread that multiplies and wait
 * for that thread. The thread must find its library without the lock, or both wait forever.
 *
 * Objects come in the order of the dynamic linker's list: the program, the preloaded libraries, the
 * libraries that the program is linked to, breadth first, and then those that were opened later.
 * The dynamic linker itself comes after all objects that the program names at its start. Objects
 * before it were loaded at the start and are in the global scope in this order. For objects after
 * it, the tables do not tell which callers see them.
 */
#define _GNU_SOURCE
#include "scope.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "loaded.h"
#include "module.h"
#include "symbols.h"
#include "tables.h"

/* --- All objects --------------------------------------------------------------------------- */

struct walk {
    const char *name;
    uintptr_t caller, linker, vdso;
    bool self, past_linker;    /* the walk has passed this library, or the dynamic linker */
    bool self_at_start, doubt; /* `doubt`: the tables do not decide the answer */
    struct shim_scope first;   /* the first after this library among those loaded at the start;
                                * address NULL: none */
    struct shim_scope any;     /* the last of `count` objects */
    struct shim_tables any_tables,
        caller_tables; /* caller_tables.strings NULL: the caller is the program, or none */
    int count;
};

static void add_definition(struct walk *walk, const struct dl_phdr_info *info,
                           const struct shim_tables *tables, const ElfW(Sym) * symbol)
{
    const ElfW(Sym) *isamax = shim_tables_find(tables, "isamax_");
    int type = shim_tables_type(symbol);
    if (type != STT_FUNC && type != STT_NOTYPE) /* an indirect function is not chosen yet */
        walk->doubt = true;
    walk->any = (struct shim_scope){
        .address = shim_tables_address(tables, symbol),
        .isamax = isamax && shim_tables_type(isamax) == STT_FUNC
                      ? shim_tables_address(tables, isamax)
                      : NULL,
        .file = info->dlpi_name,
        .stays = !walk->past_linker,
    };
    walk->any_tables = *tables;
    walk->count++;
    if (!walk->first.address && walk->self && !walk->past_linker)
        walk->first = walk->any;
}

static int visit(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct walk *walk = context;
    struct shim_tables tables;
    (void)size_bytes;
    if (info->dlpi_addr && info->dlpi_addr == walk->vdso)
        return 0;
    if (info->dlpi_addr && info->dlpi_addr == walk->linker) {
        walk->past_linker = true;
        return 0;
    }
    if (shim_tables_hold(info, (uintptr_t)shim_symbols)) {
        walk->self = true;
        walk->self_at_start = !walk->past_linker;
        return 0;
    }
    if (!shim_tables_read(info, &tables)) {
        walk->doubt |= tables.dynamic != NULL;
        return 0;
    }
    if (info->dlpi_name[0] && shim_tables_hold(info, walk->caller))
        walk->caller_tables = tables;
    const ElfW(Sym) *symbol = shim_tables_find(&tables, walk->name);
    if (symbol)
        add_definition(walk, info, &tables, symbol);
    return 0;
}

bool shim_scope_find(const char *name, const void *caller, struct shim_scope *out)
{
    struct walk walk = {
        .name = name,
        .caller = (uintptr_t)caller,
        .linker = getauxval(AT_BASE),
        .vdso = getauxval(AT_SYSINFO_EHDR),
    };
    shim_loaded_walk(visit, &walk);
    if (walk.doubt || !walk.self_at_start || !walk.past_linker)
        return false;
    if (walk.first.address) {
        *out = walk.first;
        return true;
    }
    if (walk.count != 1 || !shim_tables_need(&walk.caller_tables, &walk.any_tables, walk.any.file))
        return false;
    *out = walk.any;
    return true;
}

bool shim_scope_may_define(struct dl_phdr_info *info, const struct shim_symbol *symbol)
{
    const struct shim_symbol *spelling, *end;
    struct shim_tables tables;
    if (!shim_tables_read(info, &tables))
        return tables.dynamic != NULL;
    for (shim_symbol_range(symbol, &spelling, &end); spelling < end; spelling++)
        if (shim_tables_find(&tables, spelling->name))
            return true;
    return false;
}

/* --- One object's functions ---------------------------------------------------------------- */

struct lookup {
    uintptr_t address;
    const char *name;
    struct shim_tables owner; /* strings NULL: not found yet */
    void *found;
};

static int visit_owner(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct lookup *lookup = context;
    (void)size_bytes;
    return shim_tables_hold(info, lookup->address) && shim_tables_read(info, &lookup->owner);
}

static int visit_needed(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct lookup *lookup = context;
    struct shim_tables tables;
    (void)size_bytes;
    if (!shim_tables_read(info, &tables) ||
        !shim_tables_need(&lookup->owner, &tables, info->dlpi_name))
        return 0;
    const ElfW(Sym) *symbol = shim_tables_find(&tables, lookup->name);
    if (symbol && shim_tables_type(symbol) == STT_FUNC)
        lookup->found = shim_tables_address(&tables, symbol);
    return lookup->found != NULL;
}

void *shim_scope_symbol(const void *address, const char *name)
{
    struct lookup lookup = {.address = (uintptr_t)address, .name = name};
    if (!shim_loaded_walk(visit_owner, &lookup))
        return NULL;
    shim_loaded_walk(visit_needed, &lookup);
    return lookup.found;
}

bool shim_scope_is_trampoline(const void *address)
{
    const void *forward = shim_scope_symbol(address, "lbt_forward");
    return forward && shim_module_holds(address, forward);
}
