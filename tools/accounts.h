/* SPDX-License-Identifier: MIT */
/* The accounts of all processes of a program: the folder that they are in, and their sum. */
#ifndef TOOLS_ACCOUNTS_H
#define TOOLS_ACCOUNTS_H

#include <limits.h>
#include <stdbool.h>

#include "src/report/account.h"

/*
 * Makes a folder that this user alone may read, in TMPDIR; where that is not set, in memory
 * (/dev/shm) if in_memory is true and there is room, else in /tmp. False, said why: it cannot be
 * made.
 */
bool accounts_folder_make(char path[PATH_MAX], bool in_memory);

/* Removes it with all that is in it. Processes that still map a file there go on. */
void accounts_folder_remove(const char *path);

/* What is said where nothing is found. */
#define ACCOUNTS_NONE                                                                              \
    "xgemm-run: no SGEMM call was intercepted in any process; xgemm-run doctor with the program "  \
    "says why\n"

/* *sum: of all accounts in the folder. How many processes they are of. */
int accounts_read(const char *path, struct xg_account *sum);

#endif
