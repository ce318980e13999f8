/* SPDX-License-Identifier: MIT */
/* The accounts of forked processes that end without exit handlers, for XGEMM_STATS=1. */
#ifndef XG_FORKS_H
#define XG_FORKS_H

#include <stdbool.h>

#include "report/account.h"

/*
 * A worker of Python's multiprocessing ends by _exit or by a signal, so it prints no report. With
 * XGEMM_STATS=1 in the environment, the process in which the library is loaded has memory that its
 * forks share with it. Each fork that multiplies keeps a copy of its account there, and the process
 * adds up these copies at its own end. A program that is started by exec has memory of its own.
 */

/* The number of accounts; those of further forks are lost. */
enum { XG_FORKS = 64 };

/* In a fork: returns the memory for its account, with *account's present content; it is changed by
 * xg_mapping_update (mapping.h). NULL: this process is no fork, or no memory is free. */
struct xg_account *xg_forks_claim(const struct xg_account *account);

/* The fork has printed its account. */
void xg_forks_release(struct xg_account *claimed);

/* What the forks have left. */
struct xg_forks_sum {
    int count;    /* forks that have ended and printed nothing */
    int lost;     /* forks that found no memory */
    bool printed; /* some fork has printed its account */
};

/* Whether there is such memory, and whether this process collects what is in it. The first makes no
 * system call. */
bool xg_forks_are_shared(void);
bool xg_forks_are_collected(void);

/* Adds the accounts of the forks that have ended to *account, each once, in a process that collects
 * them. For one thread at a time. */
void xg_forks_collect(struct xg_account *account, struct xg_forks_sum *sum);

#endif
