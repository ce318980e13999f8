/* SPDX-License-Identifier: MIT */
/* One loaded object's dynamic tables: its definitions, its dependencies, and its imports. */
#ifndef SHIM_TABLES_H
#define SHIM_TABLES_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dl_phdr_info; /* link.h, with _GNU_SOURCE */

struct shim_tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash; /* GNU hash table */
    const ElfW(Dyn) * dynamic;
    const char *soname; /* NULL: it has none */
    uintptr_t base;
    struct shim_relocations {
        const ElfW(Rela) * first;
        size_t count;
    } relocations[2]; /* those of data and those of jumps */
};

/* False if the object lacks symbols, strings or the hash table; then its definitions are unknown.
 * The tables belong to the dynamic linker and are gone when the object is unloaded. */
bool shim_tables_read(const struct dl_phdr_info *info, struct shim_tables *out);

/* Whether the address lies in a loaded segment of the object. */
bool shim_tables_hold(const struct dl_phdr_info *info, uintptr_t address);

/* The object's definition of the name, or NULL. */
const ElfW(Sym) * shim_tables_find(const struct shim_tables *tables, const char *name);

static inline void *shim_tables_address(const struct shim_tables *tables, const ElfW(Sym) * symbol)
{
    return (void *)(tables->base + (uintptr_t)symbol->st_value);
}

static inline int shim_tables_type(const ElfW(Sym) * symbol)
{
    return symbol->st_info & 15;
}

/* Whether the object is `other`, whose file is `other_file`, or is linked to it. */
bool shim_tables_need(const struct shim_tables *object, const struct shim_tables *other,
                      const char *other_file);

/*
 * A slot in which the dynamic linker keeps, for this object, the address of a name that the object
 * refers to but does not define. `after` NULL: the first slot; otherwise the next one after it.
 * NULL: there is no further slot.
 */
const uintptr_t *shim_tables_import(const struct shim_tables *tables, const char *name,
                                    const uintptr_t *after);

#endif
