/* SPDX-License-Identifier: MIT */
/* The functions by which the packages of Python and Julia keep and read their process's account. */
/*
 * Python calls them through ctypes (python/xgemm_shim/_account.py), Julia through ccall
 * (julia/XGEMM.jl). The account is in the process's memory: it needs no file, and nothing of it
 * remains however the process ends.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/conf.h"
#include "src/report/account.h"
#include "src/report/stats.h"
#include "src/report/thread_sums.h"

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

/* Writes the account so far as XGEMM_STATS=1 prints it, at most `bytes` of it, with a zero at the
 * end. Returns the length of the whole; 0 before the first product and without memory. */
EXPORTED size_t xgemm_account_text(char *to, size_t bytes);
size_t xgemm_account_text(char *to, size_t bytes)
{
    char *text = NULL;
    size_t length = 0;
    struct xg_account *account = malloc(sizeof *account);
    FILE *out = open_memstream(&text, &length);
    if (account && out && xg_stats_read(account, sizeof *account))
        xg_account_print(account, 0, out);
    if (!out || fclose(out))
        length = 0;
    if (bytes)
        snprintf(to, bytes, "%s", length ? text : "");
    free(text);
    free(account);
    return length;
}

/* Returns the sums of this thread's calls (src/report/thread_sums.h); NULL without memory. */
EXPORTED void *xgemm_account_thread(void);
void *xgemm_account_thread(void)
{
    return xg_thread_sums_own();
}
