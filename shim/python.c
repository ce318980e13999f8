/* SPDX-License-Identifier: MIT */
/* The two functions by which the Python package keeps and reads the account of its own process. */
/*
 * Python calls them through ctypes (python/xgemm_shim/_account.py). The account is in the process's
 * memory: it needs no file, and nothing of it remains however the process ends.
 */
#include <stddef.h>

#include "src/base/conf.h"
#include "src/report/stats.h"

#define EXPORTED __attribute__((visibility("default")))

/* Must be called before the first product. */
EXPORTED void xgemm_account_keep(void);
void xgemm_account_keep(void)
{
    xg_conf_keep_account();
}

EXPORTED size_t xgemm_account_read(void *to, size_t bytes);
size_t xgemm_account_read(void *to, size_t bytes)
{
    return xg_stats_read(to, bytes);
}
