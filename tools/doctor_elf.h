/* SPDX-License-Identifier: MIT */
/* One ELF file on disk: its kind, its dependencies, and the intercepted names in it. */
#ifndef DOCTOR_ELF_H
#define DOCTOR_ELF_H

#include <stdbool.h>

#include "doctor_names.h"

enum doctor_vendor {
    DOCTOR_VENDOR_NONE, /* no BLAS */
    DOCTOR_VENDOR_OPENBLAS,
    DOCTOR_VENDOR_MKL,
    DOCTOR_VENDOR_BLIS,
    DOCTOR_VENDOR_ATLAS,
    DOCTOR_VENDOR_FLEXIBLAS,
    DOCTOR_VENDOR_TRAMPOLINE, /* libblastrampoline */
    DOCTOR_VENDOR_NVBLAS,
    DOCTOR_VENDOR_GSL,
    DOCTOR_VENDOR_OTHER, /* has the names, but no sign of the vendor */
};

struct doctor_elf {
    bool elf;     /* an ELF file at all; if not, nothing else is set */
    bool native;  /* of this machine's class, byte order and processor */
    bool program; /* can be started: fixed address, interpreter, or static position-independent */
    bool dynamic; /* the dynamic linker loads it */
    char interpreter[256]; /* empty: none */
    char soname[256];      /* empty: none */
    bool symbolic;         /* linked with -Bsymbolic: binds to itself first */
    struct doctor_names imports;
    struct doctor_names defines;    /* names that it exports */
    struct doctor_names protects;   /* of `defines`: protected, so its own calls cannot be taken */
    struct doctor_names interposes; /* of `defines`: its own calls still go through the dynamic
                                     * linker */
    struct doctor_names inside;     /* names inside it that the dynamic linker does not see */
    bool kit;        /* exports other names of BLAS or LAPACK too, as their libraries do */
    bool mkl_inside; /* contains MKL but is not a library of MKL */
    enum doctor_vendor vendor;
    char **needed; /* the libraries that it needs by name */
    int needed_count;
};

/* Reads a file, which may be damaged in any way. Returns false, with *elf zeroed, if the file
 * cannot be opened. doctor_elf_fini frees what *elf holds. */
bool doctor_elf_read(struct doctor_elf *elf, const char *path);
void doctor_elf_fini(struct doctor_elf *elf);

/* Whether the file uses or has one of the names. */
bool doctor_elf_has_names(const struct doctor_elf *elf);

/* "OpenBLAS"; never NULL. */
const char *doctor_vendor_text(enum doctor_vendor vendor);

#endif
