/* SPDX-License-Identifier: MIT */
/* One ELF file as it lies on disk: what it is, what it needs, which SGEMM names are in it. */
#ifndef DOCTOR_ELF_H
#define DOCTOR_ELF_H

#include <stdbool.h>

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
    DOCTOR_VENDOR_OTHER, /* has the names, and nothing that says whose they are */
};

/* Masks have a bit for each name of SGEMM, the first of enum shim_id (shim/symbols.h). */
struct doctor_elf {
    bool elf;     /* an ELF file at all; nothing else is set where it is not */
    bool native;  /* of this machine's class, byte order and processor */
    bool program; /* can be started: fixed address, or an interpreter, or a position-independent one
                     that is static */
    bool dynamic; /* the dynamic linker has a part in it */
    char interpreter[256]; /* empty: none */
    char soname[256];      /* empty: none */
    bool symbolic;         /* linked with -Bsymbolic: looks into itself first */
    unsigned imports;      /* names that it wants from others */
    unsigned defines;      /* names that it offers */
    unsigned protects;     /* of those: protected, so that its own calls cannot be taken */
    unsigned interposes;   /* of those: its own calls go through the dynamic linker all the same */
    unsigned inside;       /* names that are in it, but not for the dynamic linker */
    bool kit;              /* offers more of BLAS than SGEMM */
    bool mkl_inside;       /* MKL is in it, and it is no library of MKL's */
    enum doctor_vendor vendor;
    char **needed; /* what it names among what it needs */
    int needed_count;
};

/*
 * Reads a file, which may be damaged in any way. False where it cannot be opened; *elf is zeroed
 * then. What it holds is freed with doctor_elf_fini.
 */
bool doctor_elf_read(struct doctor_elf *elf, const char *path);
void doctor_elf_fini(struct doctor_elf *elf);

/* "OpenBLAS"; never NULL. */
const char *doctor_vendor_text(enum doctor_vendor vendor);

#endif
