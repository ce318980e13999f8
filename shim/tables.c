/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tables.h"

#include <string.h>

#include "src/base/file.h"

/* The dynamic linker makes these addresses absolute, except in a table that it cannot write. */
static const void *table_at(const struct dl_phdr_info *info, const ElfW(Dyn) * entry)
{
    uintptr_t value = entry ? entry->d_un.d_ptr : 0;
    return (const void *)(value && value < info->dlpi_addr ? value + info->dlpi_addr : value);
}

static struct shim_relocations relocations_at(const struct dl_phdr_info *info,
                                              const ElfW(Dyn) * table, const ElfW(Dyn) * bytes)
{
    return (struct shim_relocations){
        .first = table_at(info, table),
        .count = bytes ? bytes->d_un.d_val / sizeof(ElfW(Rela)) : 0,
    };
}

bool shim_tables_read(const struct dl_phdr_info *info, struct shim_tables *out)
{
    const ElfW(Dyn) * by_tag[DT_NUM] = {NULL}, *hash = NULL;
    *out = (struct shim_tables){.base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            out->dynamic =
                (const ElfW(Dyn) *)(info->dlpi_addr + (uintptr_t)info->dlpi_phdr[i].p_vaddr);
    for (const ElfW(Dyn) *entry = out->dynamic; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag > 0 && entry->d_tag < DT_NUM)
            by_tag[entry->d_tag] = entry;
        else if (entry->d_tag == DT_GNU_HASH)
            hash = entry;
    out->symbols = table_at(info, by_tag[DT_SYMTAB]);
    out->strings = table_at(info, by_tag[DT_STRTAB]);
    out->hash = table_at(info, hash);
    out->relocations[0] = relocations_at(info, by_tag[DT_RELA], by_tag[DT_RELASZ]);
    out->relocations[1] = relocations_at(info, by_tag[DT_JMPREL], by_tag[DT_PLTRELSZ]);
    if (!out->symbols || !out->strings || !out->hash)
        return false;
    out->soname = by_tag[DT_SONAME] ? out->strings + by_tag[DT_SONAME]->d_un.d_val : NULL;
    return true;
}

bool shim_tables_hold(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD &&
            address - (info->dlpi_addr + header->p_vaddr) < header->p_memsz)
            return true;
    }
    return false;
}

/* --- Definitions --------------------------------------------------------------------------- */

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

const ElfW(Sym) * shim_tables_find(const struct shim_tables *tables, const char *name)
{
    /* A header, a Bloom filter, the buckets, and a chain of hashes as long as the symbols. */
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

/* --- Dependencies -------------------------------------------------------------------------- */

bool shim_tables_need(const struct shim_tables *object, const struct shim_tables *other,
                      const char *other_file)
{
    if (!object->strings)
        return false;
    if (object->base == other->base)
        return true;
    const char *name = other->soname ? other->soname : xg_file_name(other_file);
    for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED &&
            !strcmp(xg_file_name(object->strings + entry->d_un.d_val), name))
            return true;
    return false;
}

/* --- Imports ------------------------------------------------------------------------------- */

/*
 * Reads the relocations, because the hash table holds only definitions and the number of symbols is
 * not stored. If a program at a fixed address takes a function's address, its symbol has a value
 * but no section.
 */
const uintptr_t *shim_tables_import(const struct shim_tables *tables, const char *name,
                                    const uintptr_t *after)
{
    bool reached = !after;
    for (int kind = 0; kind < 2; kind++) {
        const struct shim_relocations *all = &tables->relocations[kind];
        for (size_t i = 0; all->first && i < all->count; i++) {
            const ElfW(Rela) *entry = &all->first[i];
            const ElfW(Sym) *symbol = &tables->symbols[entry->r_info >> 32];
            if (!(entry->r_info >> 32) || symbol->st_shndx != SHN_UNDEF ||
                strcmp(tables->strings + symbol->st_name, name) != 0)
                continue;
            const uintptr_t *slot = (const uintptr_t *)(tables->base + (uintptr_t)entry->r_offset);
            if (reached)
                return slot;
            reached = slot == after;
        }
    }
    return NULL;
}
