/* SPDX-License-Identifier: MIT */
/* Finds loaded objects by address and distinguishes them by their first page. */
#define _GNU_SOURCE
#include "module.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "loaded.h"

/* --- By address ---------------------------------------------------------------------------- */

/*
 * glibc's struct dl_find_object, which has a fixed layout, with spare room after it. Older headers
 * lack it, and a library that refers to _dl_find_object depends on the dynamic linker by name and
 * on glibc 2.35.
 */
struct found_object {
    unsigned long long flags;
    void *begin, *end;
    struct link_map *map;
    void *rest[16];
};
#ifdef DLFO_STRUCT_HAS_EH_DBASE
_Static_assert(offsetof(struct found_object, map) ==
                       offsetof(struct dl_find_object, dlfo_link_map) &&
                   sizeof(struct found_object) >= sizeof(struct dl_find_object),
               "as glibc has it");
#endif

static int (*find_object)(void *address, struct found_object *out);

/* Runs at load, because dlsym takes the dynamic linker's lock. Earlier calls walk over the objects
 * instead, as do all calls if glibc has no such function. */
__attribute__((constructor)) static void find_at_load(void)
{
    *(void **)&find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (!find_object)
        (void)dlerror(); /* The program must not see this error. */
}

struct search {
    uintptr_t address;
    uintptr_t begin, end;
    const char *name;
};

static int look_into(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct search *search = context;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    bool inside = false;
    (void)size_bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + header->p_vaddr, to = from + header->p_memsz;
        if (header->p_type != PT_LOAD)
            continue;
        begin = from < begin ? from : begin;
        end = to > end ? to : end;
        inside |= from <= search->address && search->address < to;
    }
    if (!inside)
        return 0;
    search->begin = begin & ~(uintptr_t)4095;
    search->end = end;
    search->name = info->dlpi_name;
    return 1;
}

static bool find(const void *address, struct search *search)
{
    *search = (struct search){.address = (uintptr_t)address};
    if (!find_object)
        return shim_loaded_walk(look_into, search) == 1;
    struct found_object found;
    if (find_object((void *)(uintptr_t)address, &found) != 0)
        return false;
    search->begin = (uintptr_t)found.begin;
    search->end = (uintptr_t)found.end;
    search->name = found.map->l_name;
    return true;
}

const char *shim_module_name(const void *address)
{
    struct search search;
    return find(address, &search) ? search.name : NULL;
}

void shim_module_find(const void *address, struct shim_module *out)
{
    struct search search;
    *out = (struct shim_module){0};
    if (find(address, &search)) {
        out->begin = search.begin;
        out->end = search.end;
    }
}

const void *shim_module_map(const void *address)
{
    struct found_object found;
    if (!find_object || find_object((void *)(uintptr_t)address, &found) != 0)
        return NULL;
    return found.map;
}

bool shim_module_holds(const void *address, const void *other)
{
    struct shim_module module;
    shim_module_find(address, &module);
    return shim_module_contains(&module, (uintptr_t)other);
}

/* --- By contents --------------------------------------------------------------------------- */

/* The bytes read lie in the first page, which is mapped whole in every object. */
enum { PAGE_BYTES = 4096, HEAD_WORDS = 128, ID_WORDS = 4 };

typedef uint64_t pair __attribute__((vector_size(16)));

static uint64_t mix(uint64_t hash, pair words)
{
    hash = (hash ^ words[0]) * 0x9e3779b97f4a7c15u;
    return (hash ^ hash >> 29 ^ words[1]) * 0xbf58476d1ce4e5b9u;
}

/* Computes sums and sums of sums: two additions for two words. A kilobyte takes some 20 ns. */
static uint64_t hash_words(uintptr_t at, int words)
{
    pair sum = {0}, sums = {0}, sum2 = {0}, sums2 = {0}, word, word2;
    for (const char *from = (const char *)at, *end = from + 8 * words; from < end; from += 32) {
        memcpy(&word, from, sizeof word);
        memcpy(&word2, from + sizeof word, sizeof word2);
        sum += word;
        sum2 += word2;
        sums += sum;
        sums2 += sum2;
    }
    return mix(mix(mix(mix((uint64_t)words, sum), sum2), sums), sums2);
}

/* The offset of the build id in the first page; 0: none lies there. */
static size_t find_build_id(const char *page, const ElfW(Phdr) * note)
{
    size_t at = note->p_offset, end = at + note->p_filesz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) head;
        memcpy(&head, page + at, sizeof head);
        size_t name = at + sizeof head, id = name + ((head.n_namesz + 3) & ~3u);
        bool fits = head.n_namesz == 4 && head.n_descsz >= 16 && head.n_descsz < PAGE_BYTES;
        if (fits && head.n_type == NT_GNU_BUILD_ID && id + head.n_descsz <= end &&
            !memcmp(page + name, "GNU", 4))
            return id + 8 * ID_WORDS <= PAGE_BYTES ? id : 0;
        size_t align = note->p_align == 8 ? 8 : 4;
        at = (id + head.n_descsz + align - 1) & ~(align - 1);
    }
    return 0;
}

void shim_module_mark(struct shim_module *module)
{
    const char *page = (const char *)module->begin;
    size_t id = 0;
    ElfW(Ehdr) head;
    if (!module->begin)
        return;
    memcpy(&head, page, sizeof head);
    bool elf = !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_phentsize == sizeof(ElfW(Phdr)) &&
               head.e_phoff + head.e_phnum * sizeof(ElfW(Phdr)) <= PAGE_BYTES;
    for (int i = 0; elf && !id && i < head.e_phnum; i++) {
        ElfW(Phdr) header;
        memcpy(&header, page + head.e_phoff + (size_t)i * sizeof header, sizeof header);
        if (header.p_type == PT_NOTE && header.p_offset < PAGE_BYTES &&
            header.p_filesz <= PAGE_BYTES - header.p_offset)
            id = find_build_id(page, &header);
    }
    module->mark_at = (uint16_t)id;
    module->mark_words = id ? ID_WORDS : HEAD_WORDS;
    module->mark = hash_words(module->begin + module->mark_at, module->mark_words);
}

bool shim_module_same(const struct shim_module *marked, const struct shim_module *now)
{
    return marked->begin == now->begin && marked->end == now->end &&
           (!now->begin ||
            hash_words(now->begin + marked->mark_at, marked->mark_words) == marked->mark);
}
