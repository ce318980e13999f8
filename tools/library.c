/* SPDX-License-Identifier: MIT */
/* Finds the library, and reads the kernels' fatbins from its file. */
#include "library.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/images.h"
#include "kernels/table.h"

bool library_beside(char *path, size_t size, const char *folder, const char *name)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    int written = snprintf(path, size, "%s/%s%s", self, folder, name);
    return written > 0 && (size_t)written < size && access(path, R_OK) == 0;
}

bool library_find(char *path, size_t size)
{
    static const char *const folders[] = {"../.libs/", "../../lib/", "../../lib64/"};
    /* A run-time package lacks the link that the linker uses. */
    static const char *const names[] = {"libxgemm_shim.so", "libxgemm_shim.so.0"};
    const char *named = getenv("XGEMM_SHIM_LIB");
    if (named && *named) {
        int written = snprintf(path, size, "%s", named);
        return written > 0 && (size_t)written < size;
    }
    for (size_t i = 0; i < 2 * sizeof folders / sizeof folders[0]; i++)
        if (library_beside(path, size, folders[i / 2], names[i % 2]))
            return true;
    for (size_t i = 0; i < 2; i++) {
        int written = snprintf(path, size, "%s/%s", XG_LIBDIR, names[i]);
        if (written > 0 && (size_t)written < size && access(path, R_OK) == 0)
            return true;
    }
    *path = '\0';
    return false;
}

/* --- The fatbins, so that an installation has them once; kernels/images.S describes their layout
 */

struct entry {
    char name[XG_IMAGES_NAME_BYTES];
    uint64_t begin, bytes;
};

/* The section, mapped until the process ends; bytes 0: there is none of this version. */
static struct {
    const unsigned char *begin;
    size_t bytes;
} section;

static bool lies_in(uint64_t begin, uint64_t bytes, uint64_t all)
{
    return begin <= all && bytes <= all - begin;
}

/* The header of a named section in the file, which may be any file; NULL: none. */
static const Elf64_Shdr *find_header(const unsigned char *file, size_t size, const char *name)
{
    Elf64_Ehdr elf;
    if (size < sizeof elf)
        return NULL;
    memcpy(&elf, file, sizeof elf);
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_shentsize != sizeof(Elf64_Shdr) || elf.e_shoff % sizeof(uint64_t) ||
        !lies_in(elf.e_shoff, (uint64_t)elf.e_shnum * sizeof(Elf64_Shdr), size) ||
        elf.e_shstrndx >= elf.e_shnum)
        return NULL;
    const Elf64_Shdr *headers = (const void *)(file + elf.e_shoff);
    const Elf64_Shdr *names = &headers[elf.e_shstrndx];
    size_t length = strlen(name) + 1;
    for (int i = 0; i < elf.e_shnum && lies_in(names->sh_offset, names->sh_size, size); i++)
        if (lies_in(headers[i].sh_name, length, names->sh_size) &&
            !memcmp(file + names->sh_offset + headers[i].sh_name, name, length) &&
            lies_in(headers[i].sh_offset, headers[i].sh_size, size))
            return &headers[i];
    return NULL;
}

static void map_section(void)
{
    char path[PATH_MAX];
    struct stat status;
    int file = library_find(path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (file < 0)
        return;
    size_t size = fstat(file, &status) == 0 && S_ISREG(status.st_mode) ? (size_t)status.st_size : 0;
    void *mapped = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (mapped == MAP_FAILED)
        return;
    const Elf64_Shdr *header = find_header(mapped, size, "xg_images");
    const char *version = header ? (const char *)mapped + header->sh_offset : "";
    size_t index_bytes = XG_IMAGES_NAME_BYTES + xg_image_count * sizeof(struct entry);
    if (!header || header->sh_size < index_bytes || header->sh_offset % 64 ||
        strncmp(version, PACKAGE_VERSION, XG_IMAGES_NAME_BYTES)) {
        munmap(mapped, size);
        return;
    }
    section.begin = (const unsigned char *)version;
    section.bytes = header->sh_size;
}

struct xg_fatbin xg_image_fatbin(const struct xg_image *image)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, map_section);
    const struct entry *entries = (const void *)(section.begin + XG_IMAGES_NAME_BYTES);
    for (size_t i = 0; section.bytes && i < xg_image_count; i++)
        if (!strncmp(entries[i].name, image->name, XG_IMAGES_NAME_BYTES) &&
            lies_in(entries[i].begin, entries[i].bytes, section.bytes))
            return (struct xg_fatbin){section.begin + entries[i].begin, entries[i].bytes};
    return (struct xg_fatbin){NULL, 0};
}
