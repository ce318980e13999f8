/* SPDX-License-Identifier: MIT */
/* The accounts of all processes of a program: the folder that they are in, and their sum. */
#ifndef TOOLS_ACCOUNTS_H
#define TOOLS_ACCOUNTS_H

#include <limits.h>
#include <stdbool.h>

#include "src/report/account.h"

/*
 * Makes a folder that this user alone may read, in TMPDIR; where that is not set, in memory
 * (/dev/shm) if in_memory is true and there is room, else in /tmp. False, said why, and in errno:
 * it cannot be made.
 */
bool accounts_folder_make(char path[PATH_MAX], bool in_memory);

/* Removes it with all that is in it. Processes that still map a file there go on. */
void accounts_folder_remove(const char *path);

/* *sum: of all accounts in the folder. How many processes they are of. Those of another version are
 * left out, which is said the first time. */
int accounts_read(const char *path, struct xg_account *sum);

/* Finds out why products of *sum are said to wait for a start of the GPU, where none of them met
 * one: where there is no GPU here, that is their reason from then on. The driver may be asked, in a
 * process of its own. */
void accounts_explain(struct xg_account *sum);

/* Says that no process has left an account, unless one was left out. */
void accounts_tell_none(void);

#endif
