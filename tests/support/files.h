/* SPDX-License-Identifier: MIT */
#ifndef XT_FILES_H
#define XT_FILES_H

#include <dirent.h>

#include "tests/support/xt.h"

/* The file's text, as much as there is room for; empty where there is no file. Returns text. */
static inline const char *xt_read(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    return text;
}

/* How many entries the folder has; a process that counts its own descriptors counts this look's. */
static inline int xt_entries(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    int count = 0;
    if (!folder)
        exit(XT_HARD);
    while ((entry = readdir(folder)))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

#endif
