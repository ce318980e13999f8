/* SPDX-License-Identifier: MIT */
/* Reads the preloaded libraries. */
#include "doctor.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

/* A name without a slash is searched as a library; its file is not opened here. */
static void read_entry(struct doctor_preload *preload, const char *entry)
{
    struct doctor_elf elf;
    const char *name = xg_file_name(entry);
    if (doctor_text_is_library(entry)) {
        preload->twice = true;
        return;
    }
    if (strchr(entry, '/')) {
        if (!doctor_elf_read(&elf, entry))
            doctor_texts_add(&preload->missing, "%s", entry);
        else if (doctor_names_any(&elf.defines) || elf.vendor)
            doctor_texts_add(&preload->rivals, "%s", entry);
        doctor_elf_fini(&elf);
    } else if (!strncmp(name, "libnvblas", 9) || strstr(name, "blas") || strstr(name, "mkl") ||
               strstr(name, "libblis")) {
        doctor_texts_add(&preload->rivals, "%s", entry);
    }
}

static void read_list(struct doctor_preload *preload, char *list)
{
    char *rest = list;
    for (char *entry; (entry = strsep(&rest, ": \t\n"));)
        if (*entry)
            read_entry(preload, entry);
}

void doctor_preload_read(struct doctor_preload *preload)
{
    struct doctor_elf elf;
    const char *environment = getenv("LD_PRELOAD");
    char *list = environment ? strdup(environment) : NULL;
    FILE *file = fopen("/etc/ld.so.preload", "re");
    char line[4096];
    *preload = (struct doctor_preload){0};
    library_find(preload->library, sizeof preload->library);
    preload->library_path_bad = strpbrk(preload->library, ": ") != NULL;
    preload->library_usable =
        doctor_elf_read(&elf, preload->library) && elf.native && doctor_names_any(&elf.defines);
    doctor_elf_fini(&elf);
    if (list)
        read_list(preload, list);
    free(list);
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "#")] = '\0';
        read_list(preload, line);
    }
    if (file)
        fclose(file);
}
