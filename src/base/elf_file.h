/* SPDX-License-Identifier: MIT */
/* Checks and reads the file of a library before the dynamic linker maps it. */
/*
 * The dynamic linker trusts the file: a page that its headers promise and that the file lacks
 * raises SIGBUS, and opening a FIFO waits for a writer.
 */
#ifndef XG_ELF_FILE_H
#define XG_ELF_FILE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xg_elf {
    XG_ELF_SOUND,
    XG_ELF_ABSENT,  /* cannot be opened */
    XG_ELF_FOREIGN, /* for another machine: the dynamic linker's search skips it */
    XG_ELF_UNSOUND, /* must not be loaded */
};

/* Called before each read of some 100 KiB. False: nothing more is read. */
typedef bool xg_elf_file_goes_on(void *context);

struct xg_elf_file {
    int fd; /* -1: none */
    xg_elf_file_goes_on *goes_on;
    void *context; /* of goes_on */
    uint64_t size;
    ElfW(Ehdr) head;
    ElfW(Phdr) * parts;
    ElfW(Dyn) * entries;
    size_t entry_count;
    uint64_t strings, strings_bytes; /* the dynamic section's strings in the file */
};

/* True if a file with this header is for this machine. Pure. */
bool xg_elf_file_is_native(const ElfW(Ehdr) * head);

/*
 * Opens the file. XG_ELF_SOUND: it is a regular file, a shared library of this machine, and has all
 * bytes of its segments and of the tables that the dynamic section names. Otherwise *why, a
 * constant, is the reason. Waits for no writer, but for a file system that does not answer. Call
 * xg_elf_file_close in any case; it closes nothing in a closed process (base/sandbox.h).
 */
enum xg_elf xg_elf_file_open(struct xg_elf_file *file, const char *path,
                             xg_elf_file_goes_on *goes_on, void *context, const char **why);
void xg_elf_file_close(struct xg_elf_file *file);

/* The nth string of the dynamic section with this tag (DT_NEEDED, DT_RUNPATH), which the caller
 * frees; NULL: there is none, or no memory. The file must be sound. */
char *xg_elf_file_string(const struct xg_elf_file *file, int64_t tag, int nth);

/* Reads what loading needs, so that it is in memory: the segments without code for GPUs. False: the
 * disk failed, the file shrank, goes_on returned false, or there is no memory. The file must be
 * sound. */
bool xg_elf_file_read(const struct xg_elf_file *file);

#endif
