/* SPDX-License-Identifier: MIT */
/*
 * Reads the loaded objects' symbol tables.
 *
 * dlsym, dlopen and dladdr take the dynamic linker's lock. dlopen and dlclose hold it while they
 * run constructors and destructors, and one of those may start a thread that multiplies and wait
 * for it: that thread must find its library without the lock, or both wait for ever.
 *
 * The order of objects is that of the dynamic linker's list: the program, what is preloaded, what
 * the program is linked to, breadth first, and then what was opened later. The dynamic linker
 * itself is among the first lot, behind all that the program names: what stands before it was there
 * at the start, and is in the global scope in this order. Of what stands behind it, it is not known
 * who sees it.
 */
#define _GNU_SOURCE
#include "scope.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "loaded.h"
#include "symbols.h"

/* --- One object's tables ------------------------------------------------------------------- */

struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash; /* GNU hash table */
    const ElfW(Dyn) * dynamic;
    const char *soname; /* NULL: it has none */
    uintptr_t base;
};

/* The dynamic linker makes these addresses absolute, but not where it cannot write to the table. */
static const void *table_at(const struct dl_phdr_info *info, const ElfW(Dyn) * entry)
{
    uintptr_t value = entry->d_un.d_ptr;
    return (const void *)(value < info->dlpi_addr ? value + info->dlpi_addr : value);
}

/* False where the object has no such tables: then nobody knows what it defines. */
static bool read_tables(const struct dl_phdr_info *info, struct tables *out)
{
    *out = (struct tables){.base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            out->dynamic =
                (const ElfW(Dyn) *)(info->dlpi_addr + (uintptr_t)info->dlpi_phdr[i].p_vaddr);
    size_t soname = 0;
    for (const ElfW(Dyn) *entry = out->dynamic; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            out->symbols = table_at(info, entry);
        else if (entry->d_tag == DT_STRTAB)
            out->strings = table_at(info, entry);
        else if (entry->d_tag == DT_GNU_HASH)
            out->hash = table_at(info, entry);
        else if (entry->d_tag == DT_SONAME)
            soname = entry->d_un.d_val;
    }
    if (!out->symbols || !out->strings || !out->hash)
        return false;
    out->soname = soname ? out->strings + soname : NULL;
    return true;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* The function's entry, or NULL. */
static const ElfW(Sym) * look_up(const struct tables *tables, const char *name)
{
    /* The header, a Bloom filter, the buckets, and a chain of hashes as long as the symbols. */
    uint32_t buckets = tables->hash[0], first = tables->hash[1], words = tables->hash[2];
    const uint32_t *bucket = tables->hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t hash = gnu_hash(name), i = buckets ? bucket[hash % buckets] : 0;
    if (i < first)
        return NULL;
    for (;; i++) {
        const ElfW(Sym) *symbol = &tables->symbols[i];
        if ((chain[i - first] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
            symbol->st_value && !strcmp(tables->strings + symbol->st_name, name))
            return symbol;
        if (chain[i - first] & 1)
            return NULL;
    }
}

static void *symbol_address(const struct tables *tables, const ElfW(Sym) * symbol)
{
    return (void *)(tables->base + (uintptr_t)symbol->st_value);
}

/* --- All objects --------------------------------------------------------------------------- */

struct walk {
    const char *name;
    uintptr_t caller, linker, vdso;
    bool self, past_linker;    /* this library, or the dynamic linker, has come */
    bool self_at_start, doubt; /* something that the tables do not tell */
    struct shim_scope first;   /* behind this library, of those at the start; address NULL: none */
    struct shim_scope any;     /* the last one of `count` */
    struct tables any_tables, caller_tables; /* caller_tables.strings NULL: the program, or none */
    int count;
};

static bool is_inside(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD &&
            address - (info->dlpi_addr + header->p_vaddr) < header->p_memsz)
            return true;
    }
    return false;
}

static void add_definition(struct walk *walk, const struct dl_phdr_info *info,
                           const struct tables *tables, const ElfW(Sym) * symbol)
{
    const ElfW(Sym) *isamax = look_up(tables, "isamax_");
    int type = symbol->st_info & 15;
    if (type != STT_FUNC && type != STT_NOTYPE) /* an indirect function has yet to be chosen */
        walk->doubt = true;
    walk->any = (struct shim_scope){
        .address = symbol_address(tables, symbol),
        .isamax =
            isamax && (isamax->st_info & 15) == STT_FUNC ? symbol_address(tables, isamax) : NULL,
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
    struct tables tables;
    (void)size_bytes;
    if (info->dlpi_addr && info->dlpi_addr == walk->vdso)
        return 0;
    if (info->dlpi_addr && info->dlpi_addr == walk->linker) {
        walk->past_linker = true;
        return 0;
    }
    if (is_inside(info, (uintptr_t)shim_symbols)) {
        walk->self = true;
        walk->self_at_start = !walk->past_linker;
        return 0;
    }
    if (!read_tables(info, &tables)) {
        walk->doubt |= tables.dynamic != NULL;
        return 0;
    }
    if (info->dlpi_name[0] && is_inside(info, walk->caller))
        walk->caller_tables = tables;
    const ElfW(Sym) *symbol = look_up(&tables, walk->name);
    if (symbol)
        add_definition(walk, info, &tables, symbol);
    return 0;
}

static const char *basename_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether an object is the other one, or names it among what it needs. */
static bool needs(const struct tables *object, const struct tables *other, const char *other_file)
{
    if (!object->strings)
        return false;
    if (object->base == other->base)
        return true;
    const char *name = other->soname ? other->soname : basename_of(other_file);
    for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED &&
            !strcmp(basename_of(object->strings + entry->d_un.d_val), name))
            return true;
    return false;
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
    if (walk.count != 1 || !needs(&walk.caller_tables, &walk.any_tables, walk.any.file))
        return false;
    *out = walk.any;
    return true;
}

bool shim_scope_may_define(struct dl_phdr_info *info, const struct shim_symbol *spellings)
{
    struct tables tables;
    if (!read_tables(info, &tables))
        return tables.dynamic != NULL;
    for (int i = 0; i < SHIM_SPELLING_COUNT; i++)
        if (look_up(&tables, spellings[i].name))
            return true;
    return false;
}

/* --- One object's functions ---------------------------------------------------------------- */

struct lookup {
    uintptr_t address;
    const char *name;
    struct tables owner; /* strings NULL: not found yet */
    void *found;
};

static int visit_owner(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct lookup *lookup = context;
    (void)size_bytes;
    return is_inside(info, lookup->address) && read_tables(info, &lookup->owner);
}

static int visit_needed(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct lookup *lookup = context;
    struct tables tables;
    (void)size_bytes;
    if (!read_tables(info, &tables) || !needs(&lookup->owner, &tables, info->dlpi_name))
        return 0;
    const ElfW(Sym) *symbol = look_up(&tables, lookup->name);
    if (symbol && (symbol->st_info & 15) == STT_FUNC)
        lookup->found = symbol_address(&tables, symbol);
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
