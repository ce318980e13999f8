/* SPDX-License-Identifier: MIT */
/* The accounts of all processes of a program: their folder and their sum. */
#ifndef TOOLS_ACCOUNTS_H
#define TOOLS_ACCOUNTS_H

#include <limits.h>
#include <stdbool.h>

#include "src/report/account.h"

/*
 * Makes a folder that only this user may read: in TMPDIR or, if that is not set, in memory
 * (/dev/shm) if in_memory is true and there is room, else in /tmp. Returns false, prints the reason
 * and sets errno if the folder cannot be made.
 */
bool accounts_folder_make(char path[PATH_MAX], bool in_memory);

/* Removes the folder with its content. Processes that still map a file in it go on. */
void accounts_folder_remove(const char *path);

/* Sets *sum to the sum of all accounts in the folder and returns the number of their processes.
 * Skips accounts of another version, and prints that the first time. */
int accounts_read(const char *path, struct xg_account *sum);

/* Finds out why products of *sum wait for a start of the GPU although none of them met a GPU. If
 * there is no GPU here, that becomes their reason. May ask the driver, in a separate process. */
void accounts_explain(struct xg_account *sum);

/* Prints that no process has left an account, unless one was skipped. */
void accounts_tell_none(void);

#endif
