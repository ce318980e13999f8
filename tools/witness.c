/* SPDX-License-Identifier: MIT */
/* Preloaded by xgemm-doctor: records at a process's end what it had loaded and bound. */
/*
 * The memory of an ended process cannot be read from outside, and LD_DEBUG writes to a descriptor
 * that a program may close and reuse for its own file. So the process itself reports once, in a
 * destructor, to a file named by its number in the folder XGEMM_DOCTOR_FOLDER.
 *
 * Lines, with a tab after each word:
 *   object PATH                    loaded, in the program's own namespace
 *   apart PATH                     mapped executable, but not among those: dlmopen
 *   binding NAME PATH TARGET       the slot through which the object calls NAME holds a function of
 *                                  TARGET ("=": its own definition); a slot without a call so far
 *                                  is not reported
 *   forward PATH TARGET            a function of libblastrampoline leads to TARGET
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shim/tables.h"
#include "doctor_names.h"
#include "src/base/sandbox.h"

enum { OBJECTS_MAX = 4096, LINE_BYTES = 8192 };

struct object {
    uintptr_t begin, end;
};

static struct {
    struct object objects[OBJECTS_MAX];
    int count;
    int fd;
    char program[4096];
} witness;

static const char *path_of(const struct dl_phdr_info *info)
{
    return info->dlpi_name && *info->dlpi_name ? info->dlpi_name : witness.program;
}

struct target {
    uintptr_t address;
    const char *path;
};

static int visit_target(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct target *target = context;
    (void)size_bytes;
    if (!shim_tables_hold(info, target->address))
        return 0;
    target->path = path_of(info);
    return 1;
}

/* Reports one slot. If its address lies in the object itself and is not the object's definition,
 * the dynamic linker has not bound the slot yet. */
static void tell_slot(const struct dl_phdr_info *info, const ElfW(Sym) * symbol, const char *name,
                      const ElfW(Rela) * slot)
{
    struct target target = {0};
    memcpy(&target.address, (const void *)(info->dlpi_addr + slot->r_offset), sizeof(uintptr_t));
    if (!target.address || !dl_iterate_phdr(visit_target, &target))
        return;
    bool own = symbol->st_shndx != SHN_UNDEF &&
               target.address == info->dlpi_addr + (uintptr_t)symbol->st_value;
    if (own || strcmp(target.path, path_of(info)) != 0)
        dprintf(witness.fd, "binding\t%s\t%s\t%s\n", name, path_of(info), own ? "=" : target.path);
}

static void tell_bindings(const struct dl_phdr_info *info, const struct shim_tables *tables,
                          const struct shim_relocations *slots)
{
    for (size_t i = 0; slots->first && i < slots->count; i++) {
        size_t which = slots->first[i].r_info >> 32;
        if (which == 0)
            continue;
        const ElfW(Sym) *symbol = &tables->symbols[which];
        const char *name = tables->strings + symbol->st_name;
        if (doctor_names_find(name) >= 0)
            tell_slot(info, symbol, name, &slots->first[i]);
    }
}

/* Reports where functions of libblastrampoline lead, one of each width of integers. */
static void tell_forwards(const struct dl_phdr_info *info, const struct shim_tables *tables)
{
    const ElfW(Sym) *symbol = shim_tables_find(tables, "lbt_get_forward");
    const void *(*get)(const char *name, int32_t width, int32_t f2c);
    if (!symbol)
        return;
    *(void **)&get = shim_tables_address(tables, symbol);
    for (int32_t width = 32; width <= 64; width += 32) {
        struct target target = {.address = (uintptr_t)get("dgemm_", width, 0)};
        if (dl_iterate_phdr(visit_target, &target))
            dprintf(witness.fd, "forward\t%s\t%s\n", path_of(info), target.path);
    }
}

static int visit(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    struct shim_tables tables;
    (void)size_bytes;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum && witness.count < OBJECTS_MAX; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X))
            witness.objects[witness.count++] = (struct object){begin, begin + header->p_memsz};
    }
    dprintf(witness.fd, "object\t%s\n", path_of(info));
    if (shim_tables_read(info, &tables))
        tell_forwards(info, &tables);
    /* The rest does not need the hash table. */
    for (int i = 0; i < 2 && tables.symbols && tables.strings; i++)
        tell_bindings(info, &tables, &tables.relocations[i]);
    return 0;
}

static bool is_listed(uintptr_t begin, uintptr_t end)
{
    for (int i = 0; i < witness.count; i++)
        if (begin < witness.objects[i].end && witness.objects[i].begin < end)
            return true;
    return false;
}

/* Reports files that are mapped executable and that dl_iterate_phdr did not list. */
static void tell_apart(void)
{
    static char line[LINE_BYTES];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        char rights[8];
        char *path = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        if (path && sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && rights[2] == 'x' &&
            !is_listed(begin, end))
            dprintf(witness.fd, "apart\t%s\n", path);
    }
    if (maps)
        fclose(maps);
}

__attribute__((destructor)) static void tell(void)
{
    const char *folder = secure_getenv("XGEMM_DOCTOR_FOLDER");
    char path[4096 + 32];
    int error = errno;
    if (!folder || strlen(folder) > 4000 || xg_sandbox_closed())
        return;
    ssize_t length = readlink("/proc/self/exe", witness.program, sizeof witness.program - 1);
    witness.program[length > 0 ? length : 0] = '\0';
    snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid());
    witness.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (witness.fd >= 0) {
        dl_iterate_phdr(visit, NULL);
        tell_apart();
        close(witness.fd);
    }
    errno = error;
}
