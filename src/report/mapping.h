/* SPDX-License-Identifier: MIT */
/* An account in a mapped file (XGEMM_ACCOUNT), which outlives its process however that ends. */
#ifndef XG_MAPPING_H
#define XG_MAPPING_H

#include <limits.h>

#include "base/xg.h"
#include "report/account.h"

/*
 * The file holds one struct xg_account (account.h), which its process writes and never reads. Each
 * process that multiplies has its own file in the folder, named by its id. If that name is taken,
 * because the process has called exec or an earlier process had the same id, ".1", ".2" and so on
 * are appended.
 *
 * A reader may find a product in some sums and not yet in others while the process multiplies;
 * after SIGKILL that may hold for the last product. Nothing is locked.
 */

/*
 * Creates a file of `bytes` in the folder, named by the process's id, writes the content to its
 * beginning, and maps it to *out. What xg_mapping_create says of its file holds for this one. path:
 * memory for the name.
 */
enum xg_status xg_mapping_open(const char *folder, char path[PATH_MAX], const void *content,
                               size_t content_bytes, size_t bytes, void **out);

/*
 * Creates *account's file in the folder and maps it to *out, with *account's present content. pid,
 * program and begin are set in *account to the process and to now. Every page has its space on the
 * disk, so no write to the mapping can raise SIGBUS unless another program truncates the file. No
 * descriptor stays open, and a child of fork does not inherit the mapping. For one thread at a
 * time. Returns XG_OK, or XG_ERR_SYSTEM with errno (no such folder, no permission, no space) and no
 * file left behind.
 */
enum xg_status xg_mapping_create(const char *folder, struct xg_account *account,
                                 struct xg_account **out);

/* Writes to *mapping what a call has changed in *account. */
void xg_mapping_update(struct xg_account *mapping, const struct xg_account *account,
                       const struct xg_account_change *change);

/*
 * Reads such a file, which a process may be writing. Returns XG_OK; XG_ERR_NOTFOUND if there is no
 * file or it is no account: *account is then undefined; XG_DECLINED if it is an account of another
 * version: then only account->version is defined.
 */
enum xg_status xg_mapping_read(const char *path, struct xg_account *account);

#endif
