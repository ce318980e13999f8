/* SPDX-License-Identifier: MIT */
#ifndef XT_FILES_H
#define XT_FILES_H

#include <dirent.h>
#include <limits.h>

#include "tests/support/xt.h"

/* Reads at most size - 1 bytes of the file into text; none if there is no file. Returns text. */
static inline const char *xt_read(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    return text;
}

/* Writes the text as the whole file. Ends the test if that fails. */
static inline void xt_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file))
        exit(XT_HARD);
}

/* The path of a name in the folder; valid until the next call. */
static inline const char *xt_path(const char *folder, const char *name)
{
    static char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Removes the folder and all that is in it. */
static inline void xt_remove(const char *folder)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    XT_CHECK(system(command) == 0, "%s", command);
}

/* Counts the folder's entries. In /proc/self/fd it also counts the descriptor that it opens. */
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
