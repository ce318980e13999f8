/* SPDX-License-Identifier: MIT */
#include "host/library_loaded.h"

#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/sandbox.h"

struct loaded {
    const char *name;
    char path[PATH_MAX];
};

/* The dynamic linker makes the address absolute, except in a table that it cannot write. */
static const char *soname_of(const struct dl_phdr_info *object)
{
    const ElfW(Dyn) *entry = NULL, *name = NULL, *strings = NULL;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SONAME)
            name = entry;
        else if (entry->d_tag == DT_STRTAB)
            strings = entry;
    if (!name || !strings)
        return NULL;
    const uintptr_t at = strings->d_un.d_ptr;
    return (const char *)(at < object->dlpi_addr ? at + object->dlpi_addr : at) + name->d_un.d_val;
}

static int match_loaded(struct dl_phdr_info *object, size_t size, void *context)
{
    struct loaded *loaded = context;
    const char *soname = soname_of(object), *path = object->dlpi_name;
    (void)size;
    if (!path || !*path || strlen(path) >= sizeof loaded->path ||
        (strcmp(soname ? soname : xg_file_name(path), loaded->name) != 0 &&
         strcmp(path, loaded->name) != 0))
        return 0;
    strcpy(loaded->path, path);
    return 1;
}

char *xg_library_loaded(const char *name)
{
    /* Allocated before, because dl_iterate_phdr holds a lock of the dynamic linker. */
    struct loaded *loaded = malloc(sizeof *loaded);
    if (!loaded || xg_sandbox_closed()) {
        free(loaded);
        return NULL;
    }
    loaded->name = name;
    char *path = dl_iterate_phdr(match_loaded, loaded) ? strdup(loaded->path) : NULL;
    free(loaded);
    return path;
}
