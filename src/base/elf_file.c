/* SPDX-License-Identifier: MIT */
#include "base/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sandbox.h"

#if defined(__x86_64__)
#define NATIVE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define NATIVE_MACHINE EM_AARCH64
#elif defined(__powerpc64__)
#define NATIVE_MACHINE EM_PPC64
#elif defined(__riscv)
#define NATIVE_MACHINE EM_RISCV
#else
#define NATIVE_MACHINE EM_NONE /* any */
#endif

bool xg_elf_file_is_native(const ElfW(Ehdr) * head)
{
    const int order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    return head->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           head->e_ident[EI_DATA] == order &&
           (NATIVE_MACHINE == EM_NONE || head->e_machine == NATIVE_MACHINE);
}

/* --- Bytes of the file ----------------------------------------------------------------------- */

static bool is_inside(const struct xg_elf_file *file, uint64_t offset, uint64_t bytes)
{
    return offset <= file->size && bytes <= file->size - offset;
}

static bool read_at(const struct xg_elf_file *file, void *to, size_t bytes, uint64_t offset)
{
    for (size_t done = 0; done < bytes;) {
        if (!file->goes_on(file->context))
            return false;
        ssize_t got =
            pread(file->fd, (char *)to + done, bytes - done, (off_t)(offset + (uint64_t)done));
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* A copy of `count` elements, which the caller frees; NULL: some are outside, or no memory. */
static void *copy_table(const struct xg_elf_file *file, uint64_t offset, size_t count, size_t size)
{
    void *table = is_inside(file, offset, (uint64_t)count * size) ? malloc(count * size + 1) : NULL;
    if (table && !read_at(file, table, count * size, offset)) {
        free(table);
        table = NULL;
    }
    return table;
}

/* The offset in the file of bytes that it maps at an address; 0: not all of them are there. */
static uint64_t offset_of(const struct xg_elf_file *file, uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < file->head.e_phnum; i++) {
        const ElfW(Phdr) *part = &file->parts[i];
        const uint64_t at = address - part->p_vaddr;
        if (part->p_type == PT_LOAD && at < part->p_filesz && bytes <= part->p_filesz - at)
            return part->p_offset + at;
    }
    return 0;
}

/* --- Checks ---------------------------------------------------------------------------------- */

static const char cut_short[] = "the file is cut short", not_library[] = "not a shared library";

/* Looks before it opens, because opening a device may have effects. */
static enum xg_elf open_regular(struct xg_elf_file *file, const char *path, const char **why)
{
    struct stat status;
    *why = strerror(ENOENT);
    if (stat(path, &status) != 0)
        return XG_ELF_ABSENT;
    if (S_ISREG(status.st_mode))
        file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (S_ISREG(status.st_mode) && file->fd < 0)
        return XG_ELF_ABSENT;
    *why = "not a regular file";
    if (file->fd < 0 || fstat(file->fd, &status) != 0 || !S_ISREG(status.st_mode))
        return XG_ELF_UNSOUND;
    file->size = (uint64_t)status.st_size;
    return XG_ELF_SOUND;
}

static enum xg_elf check_head(struct xg_elf_file *file, const char **why)
{
    const ElfW(Ehdr) *head = &file->head;
    *why = "not an ELF file";
    if (file->size < sizeof *head || !read_at(file, &file->head, sizeof *head, 0) ||
        memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return XG_ELF_UNSOUND;
    *why = "for another machine";
    if (!xg_elf_file_is_native(head))
        return XG_ELF_FOREIGN;
    *why = not_library;
    return head->e_type == ET_DYN && head->e_phentsize == sizeof(ElfW(Phdr)) ? XG_ELF_SOUND
                                                                             : XG_ELF_UNSOUND;
}

/* The dynamic linker reads no others. */
static bool is_read(const ElfW(Phdr) * part)
{
    return part->p_type == PT_LOAD || part->p_type == PT_DYNAMIC || part->p_type == PT_TLS;
}

static enum xg_elf check_parts(struct xg_elf_file *file, const char **why)
{
    const ElfW(Phdr) *dynamic = NULL;
    *why = cut_short;
    file->parts = copy_table(file, file->head.e_phoff, file->head.e_phnum, sizeof *file->parts);
    if (!file->parts)
        return XG_ELF_UNSOUND;
    for (int i = 0; i < file->head.e_phnum; i++) {
        if (is_read(&file->parts[i]) &&
            !is_inside(file, file->parts[i].p_offset, file->parts[i].p_filesz))
            return XG_ELF_UNSOUND;
        if (file->parts[i].p_type == PT_DYNAMIC)
            dynamic = &file->parts[i];
    }
    *why = not_library;
    if (!dynamic)
        return XG_ELF_UNSOUND;
    file->entry_count = dynamic->p_filesz / sizeof *file->entries;
    file->entries = copy_table(file, dynamic->p_offset, file->entry_count, sizeof *file->entries);
    return file->entries ? XG_ELF_SOUND : XG_ELF_UNSOUND;
}

static uint64_t value_of(const struct xg_elf_file *file, int64_t tag, int nth)
{
    for (size_t i = 0; i < file->entry_count && file->entries[i].d_tag != DT_NULL; i++)
        if (file->entries[i].d_tag == tag && nth-- == 0)
            return file->entries[i].d_un.d_val;
    return UINT64_MAX;
}

/* The tables that the dynamic linker reads in any library. In a file of which only the beginning
 * was written, the rest zeros, they are missing. */
static enum xg_elf check_tables(struct xg_elf_file *file, const char **why)
{
    *why = "the file is damaged";
    file->strings_bytes = value_of(file, DT_STRSZ, 0);
    file->strings = offset_of(file, value_of(file, DT_STRTAB, 0), file->strings_bytes);
    return file->strings && offset_of(file, value_of(file, DT_SYMTAB, 0), sizeof(ElfW(Sym)))
               ? XG_ELF_SOUND
               : XG_ELF_UNSOUND;
}

enum xg_elf xg_elf_file_open(struct xg_elf_file *file, const char *path,
                             xg_elf_file_goes_on *goes_on, void *context, const char **why)
{
    *file = (struct xg_elf_file){.fd = -1, .goes_on = goes_on, .context = context};
    enum xg_elf found = open_regular(file, path, why);
    if (found == XG_ELF_SOUND)
        found = check_head(file, why);
    if (found == XG_ELF_SOUND)
        found = check_parts(file, why);
    if (found == XG_ELF_SOUND)
        found = check_tables(file, why);
    return found;
}

void xg_elf_file_close(struct xg_elf_file *file)
{
    if (file->fd >= 0 && !xg_sandbox_closed())
        close(file->fd);
    free(file->parts);
    free(file->entries);
    *file = (struct xg_elf_file){.fd = -1};
}

char *xg_elf_file_string(const struct xg_elf_file *file, int64_t tag, int nth)
{
    enum { LONGEST = 1 << 16 };
    const uint64_t at = value_of(file, tag, nth);
    if (at >= file->strings_bytes)
        return NULL;
    const uint64_t left = file->strings_bytes - at;
    const size_t bytes = left < LONGEST ? (size_t)left : LONGEST;
    char *text = copy_table(file, file->strings + at, bytes, 1);
    if (text)
        text[bytes] = '\0';
    return text;
}

/* --- Reading --------------------------------------------------------------------------------- */

struct range {
    uint64_t begin, end;
};

/* The sections that hold code for GPUs: most of a library of CUDA. The driver reads them later, and
 * only those that a program uses. */
enum { GPU_SECTIONS = 2 };
static const char *const gpu_sections[GPU_SECTIONS] = {".nv_fatbin", ".cask_resource"};

/* A file may lack its table of sections. */
static void find_gpu_code(const struct xg_elf_file *file, struct range ranges[GPU_SECTIONS])
{
    const ElfW(Ehdr) *head = &file->head;
    ElfW(Shdr) *sections = NULL;
    if (head->e_shentsize == sizeof *sections && head->e_shstrndx < head->e_shnum)
        sections = copy_table(file, head->e_shoff, head->e_shnum, sizeof *sections);
    for (int i = 0; sections && i < head->e_shnum; i++) {
        const uint64_t at = sections[head->e_shstrndx].sh_offset + sections[i].sh_name;
        char name[16] = "";
        if (is_inside(file, at, sizeof name))
            (void)read_at(file, name, sizeof name, at);
        for (int j = 0; j < GPU_SECTIONS; j++)
            if (!strncmp(name, gpu_sections[j], sizeof name))
                ranges[j] = (struct range){sections[i].sh_offset,
                                           sections[i].sh_offset + sections[i].sh_size};
    }
    free(sections);
}

bool xg_elf_file_read(const struct xg_elf_file *file)
{
    enum { STEP_BYTES = 128 << 10, MOST_BYTES = 1 << 30 }; /* a step stays in a core's cache */
    uint64_t done = 0;
    struct range skipped[GPU_SECTIONS] = {{0}};
    char *buffer = malloc(STEP_BYTES);
    bool read = buffer;
    find_gpu_code(file, skipped);
    for (int i = 0; read && i < file->head.e_phnum; i++) {
        uint64_t at = file->parts[i].p_offset, end = at + file->parts[i].p_filesz;
        while (read && file->parts[i].p_type == PT_LOAD && at < end && done < MOST_BYTES) {
            const size_t bytes = end - at < STEP_BYTES ? (size_t)(end - at) : STEP_BYTES;
            read = read_at(file, buffer, bytes, at);
            at += bytes;
            done += bytes;
            for (int j = 0; j < GPU_SECTIONS; j++)
                if (at >= skipped[j].begin && at < skipped[j].end)
                    at = skipped[j].end;
        }
    }
    free(buffer);
    return read;
}
