/* SPDX-License-Identifier: MIT */
/* Reads ELF files from disk. */
/* shim/scope.c reads the same tables as mapped by the dynamic linker, which vouches for them. Here
 * they come from an unchecked file, so every offset is checked before it is used. */
#include "doctor.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/elf_file.h"

enum { NEEDED_MAX = 1024, MKL_SCAN_BYTES = 1 << 30 };

struct image {
    const unsigned char *bytes;
    size_t size;
    const ElfW(Ehdr) * head;
};

/* The values of PT_DYNAMIC by tag, those above DT_NUM apart; addresses are the file's. */
struct tables {
    ElfW(Addr) of[DT_NUM], gnu_hash;
    size_t count; /* number of symbols */
};

/* --- Places in the file -------------------------------------------------------------------- */

/* `count` elements of `size` bytes at the offset; NULL if some of them lie outside the file. */
static const void *at_offset(const struct image *image, size_t offset, size_t size, size_t count)
{
    size_t bytes;
    if (__builtin_mul_overflow(size, count, &bytes) || offset > image->size ||
        bytes > image->size - offset ||
        offset % (size > 4   ? 8
                  : size > 1 ? 4
                             : 1))
        return NULL;
    return image->bytes + offset;
}

static const ElfW(Phdr) * program_headers(const struct image *image, int *count)
{
    *count = image->head->e_phnum;
    if (image->head->e_phentsize != sizeof(ElfW(Phdr)))
        return NULL;
    return at_offset(image, image->head->e_phoff, sizeof(ElfW(Phdr)), (size_t)*count);
}

/* The same for the address at which the file would map them. */
static const void *at_address(const struct image *image, ElfW(Addr) address, size_t size,
                              size_t count)
{
    int headers;
    const ElfW(Phdr) *header = program_headers(image, &headers);
    for (int i = 0; header && i < headers; i++)
        if (header[i].p_type == PT_LOAD && address >= header[i].p_vaddr &&
            address - header[i].p_vaddr < header[i].p_filesz)
            return at_offset(image, header[i].p_offset + (address - header[i].p_vaddr), size,
                             count);
    return NULL;
}

/* A string that ends inside its table; NULL: none. */
static const char *string_at(const char *strings, size_t strings_bytes, size_t offset)
{
    if (!strings || offset >= strings_bytes ||
        !memchr(strings + offset, '\0', strings_bytes - offset))
        return NULL;
    return strings + offset;
}

/* --- Names --------------------------------------------------------------------------------- */

bool doctor_elf_has_names(const struct doctor_elf *elf)
{
    return doctor_names_any(&elf->imports) || doctor_names_any(&elf->defines) ||
           doctor_names_any(&elf->inside) || doctor_names_any(&elf->unseen) || elf->mkl_inside ||
           elf->nameless;
}

/* Recognises libraries by a function that no other library has. Prefixes and suffixes are those of
 * PyPI and of 64-bit integers. */
static const struct {
    const char *part;
    enum doctor_vendor vendor;
} marks[] = {
    {"openblas_get_config", DOCTOR_VENDOR_OPENBLAS},
    {"mkl_get_version", DOCTOR_VENDOR_MKL},
    {"MKL_Get_Version", DOCTOR_VENDOR_MKL},
    {"bli_info_get_version_str", DOCTOR_VENDOR_BLIS},
    {"ATL_buildinfo", DOCTOR_VENDOR_ATLAS},
    {"flexiblas_get_version", DOCTOR_VENDOR_FLEXIBLAS},
    {"lbt_get_forward", DOCTOR_VENDOR_TRAMPOLINE},
};

static void take_definition(struct doctor_elf *elf, const char *name, int visibility)
{
    int id = doctor_names_find(name);
    doctor_names_add(&elf->defines, id);
    if (visibility == STV_PROTECTED)
        doctor_names_add(&elf->protects, id);
    elf->spells |= doctor_names_find_unseen(name) >= 0;
    elf->kit |= strstr(name, "axpy") != NULL || strstr(name, "lamch") != NULL;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (!strncmp(name + (strncmp(name, "scipy_", 6) ? 0 : 6), marks[i].part,
                     strlen(marks[i].part)))
            elf->vendor = marks[i].vendor;
}

static void name_vendor(struct doctor_elf *elf, const char *path)
{
    const char *name = xg_file_name(path);
    if (elf->vendor == DOCTOR_VENDOR_MKL && strncmp(name, "libmkl_", 7) != 0) {
        elf->vendor = DOCTOR_VENDOR_NONE;
        elf->mkl_inside = true;
    } else if (!strncmp(name, "libnvblas", 9))
        elf->vendor = DOCTOR_VENDOR_NVBLAS;
    else if (!strncmp(name, "libgslcblas", 11))
        elf->vendor = DOCTOR_VENDOR_GSL;
    else if (!strncmp(name, "libmkl_", 7))
        elf->vendor = DOCTOR_VENDOR_MKL;
    else if (!elf->vendor && doctor_names_blas(&elf->defines) && elf->kit)
        elf->vendor = DOCTOR_VENDOR_OTHER;
}

const char *doctor_vendor_text(enum doctor_vendor vendor)
{
    static const char *const texts[] = {
        [DOCTOR_VENDOR_NONE] = "no BLAS",
        [DOCTOR_VENDOR_OPENBLAS] = "OpenBLAS",
        [DOCTOR_VENDOR_MKL] = "MKL",
        [DOCTOR_VENDOR_BLIS] = "BLIS",
        [DOCTOR_VENDOR_ATLAS] = "ATLAS",
        [DOCTOR_VENDOR_FLEXIBLAS] = "FlexiBLAS",
        [DOCTOR_VENDOR_TRAMPOLINE] = "libblastrampoline",
        [DOCTOR_VENDOR_NVBLAS] = "NVBLAS",
        [DOCTOR_VENDOR_GSL] = "GSL's BLAS",
        [DOCTOR_VENDOR_OTHER] = "BLAS of unknown origin (usually reference BLAS)",
    };
    return texts[vendor];
}

/* --- The dynamic section ------------------------------------------------------------------- */

static void take_entry(struct tables *tables, struct doctor_elf *elf, const ElfW(Dyn) * entry)
{
    if (entry->d_tag >= 0 && entry->d_tag < DT_NUM)
        tables->of[entry->d_tag] = entry->d_un.d_val;
    else if (entry->d_tag == DT_GNU_HASH)
        tables->gnu_hash = entry->d_un.d_ptr;
    elf->symbolic |= entry->d_tag == DT_SYMBOLIC ||
                     (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_SYMBOLIC));
}

/* The number of symbols in the hash tables: up to the last defined symbol. */
static size_t count_hashed(const struct image *image, const struct tables *tables)
{
    const uint32_t *hash =
        tables->of[DT_HASH] ? at_address(image, tables->of[DT_HASH], 4, 2) : NULL;
    if (hash)
        return hash[1];
    hash = tables->gnu_hash ? at_address(image, tables->gnu_hash, 4, 4) : NULL;
    if (!hash)
        return 0;
    uint32_t buckets = hash[0], first = hash[1], words = hash[2], last = 0;
    size_t ahead = 4 + (size_t)words * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *table = at_address(image, tables->gnu_hash, 4, ahead + buckets);
    for (uint32_t i = 0; table && i < buckets; i++)
        last = table[ahead + i] > last ? table[ahead + i] : last;
    if (!table || last < first)
        return first;
    for (;; last++) {
        size_t at = ahead + buckets + (last - first);
        table = at_address(image, tables->gnu_hash, 4, at + 1);
        if (!table)
            return 0;
        if (table[at] & 1)
            return (size_t)last + 1;
    }
}

/* The number of symbols in relocations, which also name undefined symbols. */
static size_t count_relocated(const struct image *image, ElfW(Addr) address, size_t bytes)
{
    size_t count = bytes / sizeof(ElfW(Rela)), last = 0;
    const ElfW(Rela) *rela = address ? at_address(image, address, sizeof *rela, count) : NULL;
    for (size_t i = 0; rela && i < count; i++)
        last = rela[i].r_info >> 32 > last ? rela[i].r_info >> 32 : last;
    return last + 1;
}

/* The file does not store the number of symbols. */
static size_t count_symbols(const struct image *image, const struct tables *tables)
{
    size_t counts[] = {count_hashed(image, tables),
                       count_relocated(image, tables->of[DT_RELA], tables->of[DT_RELASZ]),
                       count_relocated(image, tables->of[DT_JMPREL], tables->of[DT_PLTRELSZ])};
    size_t most = counts[0] > counts[1] ? counts[0] : counts[1];
    return most > counts[2] ? most : counts[2];
}

static void read_symbols(const struct image *image, const struct tables *tables,
                         const char *strings, struct doctor_elf *elf)
{
    size_t count = tables->count;
    const ElfW(Sym) *symbols = at_address(image, tables->of[DT_SYMTAB], sizeof *symbols, count);
    for (size_t i = 0; symbols && i < count; i++) {
        const char *name = string_at(strings, tables->of[DT_STRSZ], symbols[i].st_name);
        if (!name || (symbols[i].st_info >> 4) == STB_LOCAL)
            continue;
        if (symbols[i].st_shndx == SHN_UNDEF) {
            doctor_names_add(&elf->imports, doctor_names_find(name));
            doctor_names_add(&elf->unseen, doctor_names_find_unseen(name));
        } else
            take_definition(elf, name, symbols[i].st_other & 3);
    }
}

/* Finds the names that the file defines and has a relocation for: its own calls of them can be
 * intercepted. */
static void read_relocations(const struct image *image, const struct tables *tables,
                             const char *strings, ElfW(Addr) address, size_t bytes,
                             struct doctor_elf *elf)
{
    size_t count = bytes / sizeof(ElfW(Rela));
    const ElfW(Rela) *rela = address ? at_address(image, address, sizeof *rela, count) : NULL;
    const ElfW(Sym) *symbols =
        at_address(image, tables->of[DT_SYMTAB], sizeof *symbols, tables->count);
    for (size_t i = 0; rela && symbols && i < count; i++) {
        size_t which = rela[i].r_info >> 32;
        if (which == 0 || which >= tables->count)
            continue;
        const char *name = string_at(strings, tables->of[DT_STRSZ], symbols[which].st_name);
        if (name && symbols[which].st_shndx != SHN_UNDEF)
            doctor_names_add(&elf->interposes, doctor_names_find(name));
    }
}

static void add_needed(struct doctor_elf *elf, const char *name)
{
    if (!name || elf->needed_count == NEEDED_MAX)
        return;
    char **grown = realloc(elf->needed, (size_t)(elf->needed_count + 1) * sizeof *grown);
    char *copy = grown ? strdup(name) : NULL;
    if (grown)
        elf->needed = grown;
    if (copy)
        elf->needed[elf->needed_count++] = copy;
}

/* The text may be missing. */
static void set_text(char to[256], const char *text)
{
    doctor_text_set(to, 256, "%s", text ? text : "");
}

static void read_dynamic(const struct image *image, const ElfW(Phdr) * header,
                         struct doctor_elf *elf)
{
    struct tables tables = {0};
    size_t count = header->p_filesz / sizeof(ElfW(Dyn));
    const ElfW(Dyn) *entry = at_offset(image, header->p_offset, sizeof *entry, count);
    if (!entry)
        return;
    for (size_t i = 0; i < count && entry[i].d_tag != DT_NULL; i++)
        take_entry(&tables, elf, &entry[i]);
    const char *strings = at_address(image, tables.of[DT_STRTAB], 1, tables.of[DT_STRSZ]);
    if (!strings)
        return;
    for (size_t i = 0; i < count && entry[i].d_tag != DT_NULL; i++)
        if (entry[i].d_tag == DT_NEEDED)
            add_needed(elf, string_at(strings, tables.of[DT_STRSZ], entry[i].d_un.d_val));
    if (tables.of[DT_SONAME])
        set_text(elf->soname, string_at(strings, tables.of[DT_STRSZ], tables.of[DT_SONAME]));
    tables.count = count_symbols(image, &tables);
    read_symbols(image, &tables, strings, elf);
    read_relocations(image, &tables, strings, tables.of[DT_JMPREL], tables.of[DT_PLTRELSZ], elf);
    read_relocations(image, &tables, strings, tables.of[DT_RELA], tables.of[DT_RELASZ], elf);
}

/* --- The file ------------------------------------------------------------------------------ */

/* Reads functions in the table that strip removes. */
static void read_symtab(const struct image *image, struct doctor_elf *elf)
{
    const ElfW(Shdr) *section = NULL;
    size_t count = image->head->e_shnum;
    if (image->head->e_shentsize == sizeof *section)
        section = at_offset(image, image->head->e_shoff, sizeof *section, count);
    for (size_t i = 0; section && i < count; i++) {
        size_t symbol_count = section[i].sh_size / sizeof(ElfW(Sym));
        if (section[i].sh_type != SHT_SYMTAB || section[i].sh_link >= count)
            continue;
        const ElfW(Shdr) *names = &section[section[i].sh_link];
        const char *strings = at_offset(image, names->sh_offset, 1, names->sh_size);
        const ElfW(Sym) *symbols =
            at_offset(image, section[i].sh_offset, sizeof *symbols, symbol_count);
        for (size_t j = 0; strings && symbols && j < symbol_count; j++) {
            const char *name = string_at(strings, names->sh_size, symbols[j].st_name);
            if (name && symbols[j].st_shndx != SHN_UNDEF && (symbols[j].st_info & 15) == STT_FUNC)
                doctor_names_add(&elf->inside, doctor_names_find(name));
        }
    }
    doctor_names_remove(&elf->inside, &elf->defines);
}

static bool holds(const struct image *image, const char *text)
{
    return image->size <= MKL_SCAN_BYTES &&
           memmem(image->bytes, image->size, text, strlen(text)) != NULL;
}

/* Whether the file has the message of a BLAS's or LAPACK's own XERBLA, which stays when strip has
 * removed the names: of OpenBLAS, of BLIS, and of the reference libraries. */
static bool holds_xerbla(const struct image *image)
{
    static const char *const messages[] = {" ** On entry to %6s parameter number ",
                                           "** On entry to %6s, parameter number %2i ",
                                           "' ** On entry to ', A, ' parameter number '"};
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++)
        if (holds(image, messages[i]))
            return true;
    return false;
}

static void read_image(const struct image *image, const char *path, struct doctor_elf *elf)
{
    int count;
    elf->elf = true;
    elf->native = xg_elf_file_is_native(image->head);
    if (!elf->native)
        return;
    const ElfW(Phdr) *header = program_headers(image, &count);
    for (int i = 0; header && i < count; i++) {
        if (header[i].p_type == PT_INTERP)
            set_text(elf->interpreter,
                     string_at(at_offset(image, header[i].p_offset, 1, header[i].p_filesz),
                               header[i].p_filesz, 0));
        if (header[i].p_type == PT_DYNAMIC)
            read_dynamic(image, &header[i], elf);
    }
    /* A static position-independent program has a dynamic section that no dynamic linker reads. */
    elf->dynamic = elf->interpreter[0] != '\0';
    elf->program = image->head->e_type == ET_EXEC || elf->dynamic || !elf->soname[0];
    read_symtab(image, elf);
    name_vendor(elf, path);
    elf->mkl_inside |= !doctor_names_any(&elf->imports) && elf->vendor != DOCTOR_VENDOR_MKL &&
                       (holds(image, "Intel(R) oneAPI Math Kernel Library Version") ||
                        holds(image, "Intel(R) Math Kernel Library Version"));
    elf->nameless = !elf->vendor && !doctor_elf_has_names(elf) && holds_xerbla(image);
}

bool doctor_elf_read(struct doctor_elf *elf, const char *path)
{
    struct stat status;
    struct image image;
    *elf = (struct doctor_elf){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    void *bytes = MAP_FAILED;
    bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    if (regular && status.st_size >= (off_t)sizeof(ElfW(Ehdr)))
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return regular;
    image = (struct image){bytes, (size_t)status.st_size, bytes};
    if (!memcmp(image.bytes, ELFMAG, SELFMAG))
        read_image(&image, path, elf);
    munmap(bytes, image.size);
    return true;
}

void doctor_elf_fini(struct doctor_elf *elf)
{
    for (int i = 0; i < elf->needed_count; i++)
        free(elf->needed[i]);
    free(elf->needed);
    *elf = (struct doctor_elf){0};
}
