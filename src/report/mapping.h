/* SPDX-License-Identifier: MIT */
/* An account in a mapped file (XGEMM_ACCOUNT), which outlives its process however that ends. */
#ifndef XG_MAPPING_H
#define XG_MAPPING_H

#include "base/xg.h"
#include "report/account.h"

/*
 * The file holds one struct xg_account (account.h), which its process writes and never reads. Each
 * process that multiplies has its own file in the folder, named by its id. Where that name is
 * taken, ".1", ".2" and so on are appended: the process has gone on by exec, or an earlier process
 * had the same id.
 *
 * A reader may find a product in some sums and not yet in others while the process multiplies;
 * after SIGKILL that may hold for the last product. Nothing is locked.
 */

/*
 * Creates *account's file in the folder and maps it to *out, with *account's present content. pid,
 * program and begin are set in *account to the process and to now. Every page has its space on the
 * disk, so no write to the mapping can raise SIGBUS unless another program truncates the file. No
 * descriptor stays open, and a child of fork does not inherit the mapping. Called by one thread at
 * a time. XG_ERR_SYSTEM (errno says why) leaves no file behind: no such folder, no permission, no
 * space.
 */
enum xg_status xg_mapping_create(const char *folder, struct xg_account *account,
                                 struct xg_account **out);

/* Writes to *mapping what a call has changed in *account. */
void xg_mapping_update(struct xg_account *mapping, const struct xg_account *account,
                       const struct xg_account_change *change);

/*
 * Reads such a file, which a process may be writing. XG_ERR_NOTFOUND: there is no file, or it is no
 * account. XG_DECLINED: it is an account of another version; only account->version is defined then.
 * With XG_ERR_NOTFOUND *account is undefined.
 */
enum xg_status xg_mapping_read(const char *path, struct xg_account *account);

#endif
