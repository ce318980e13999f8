/* SPDX-License-Identifier: MIT */
/* Finds the objects that refer to a name by reading their relocations. */
#define _GNU_SOURCE
#include "importers.h"

#include "loaded.h"
#include "module.h"
#include "symbols.h"
#include "tables.h"

struct search {
    const char *name;
    uintptr_t caller;
    struct shim_module self;
    struct shim_tables caller_tables; /* strings NULL: the caller is in no object */
    int needed;                       /* number of found objects that the caller is linked to */
    struct shim_importers *out;
};

/* The object's first reference that is bound to this library. */
static const uintptr_t *find_bound(const struct search *search, const struct shim_tables *tables)
{
    const uintptr_t *slot = shim_tables_import(tables, search->name, NULL);
    while (slot && !shim_module_contains(&search->self, *slot))
        slot = shim_tables_import(tables, search->name, slot);
    return slot;
}

static int visit_caller(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct search *search = context;
    (void)size_bytes;
    if (!shim_tables_hold(info, search->caller))
        return 0;
    shim_tables_read(info, &search->caller_tables);
    return 1;
}

static int visit(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct search *search = context;
    struct shim_importers *out = search->out;
    struct shim_tables tables;
    (void)size_bytes;
    if (shim_tables_hold(info, search->self.begin) || !shim_tables_read(info, &tables))
        return 0;
    const uintptr_t *slot = find_bound(search, &tables);
    if (!slot)
        return 0;
    bool needed = shim_tables_need(&search->caller_tables, &tables, info->dlpi_name);
    if (needed && !search->needed++)
        out->count = 0;
    if (out->count < SHIM_IMPORTERS && (needed || !search->needed))
        out->at[out->count++] = slot;
    return 0;
}

void shim_importers_find(const char *name, const void *caller, struct shim_importers *out)
{
    struct search search = {.name = name, .caller = (uintptr_t)caller, .out = out};
    *out = (struct shim_importers){0};
    shim_module_find(shim_symbols, &search.self);
    shim_loaded_walk(visit_caller, &search);
    if (search.caller_tables.strings) {
        out->itself = find_bound(&search, &search.caller_tables);
        out->asks = shim_tables_import(&search.caller_tables, "dlsym", NULL);
    }
    if (out->itself)
        return;
    shim_loaded_walk(visit, &search);
    if (!out->count) {
        out->itself = true;
        out->asks = false;
    }
}
