/* SPDX-License-Identifier: MIT */
/* An account in a file that is mapped (XGEMM_ACCOUNT): it outlives its process, however that ends.
 */
#ifndef XG_MAPPING_H
#define XG_MAPPING_H

#include "base/xg.h"
#include "report/account.h"

/*
 * The file holds one struct xg_account (account.h), which its process writes and never reads. Each
 * process that multiplies has one of its own in the folder, under its id, with ".1", ".2" and so on
 * appended where a file of that name is there: the process has gone on by exec, or has an id that
 * another one had.
 *
 * Whoever reads it while the process multiplies may find a product in some sums and not yet in
 * others, and after SIGKILL the last one so. Nothing is locked.
 */

/*
 * *out: *account's file in the folder, mapped, as it is now. pid, program and begin are those of
 * the process and of now, and are put into *account. Every page of it has its place on the disk, so
 * that no write to it can raise SIGBUS, unless somebody truncates the file; no descriptor stays
 * open; a child of fork does not inherit the mapping. From one thread at a time.
 * XG_ERR_SYSTEM (errno says why), and nothing left behind: no such folder, no right, no space.
 */
enum xg_status xg_mapping_create(const char *folder, struct xg_account *account,
                                 struct xg_account **out);

/* Writes to *mapping what a call has changed in *account. */
void xg_mapping_update(struct xg_account *mapping, const struct xg_account *account,
                       const struct xg_account_change *change);

/*
 * Reads such a file, which a process may be writing. XG_ERR_NOTFOUND: there is none, or it is no
 * account. XG_DECLINED: it is an account of another version, which account->version tells, and
 * nothing else does. *account is undefined then.
 */
enum xg_status xg_mapping_read(const char *path, struct xg_account *account);

#endif
