/* SPDX-License-Identifier: MIT */
/* The account of XGEMM_MODE=compare: per shape, times of both sides and errors of each. */
#ifndef XG_COMPARE_H
#define XG_COMPARE_H

#include <stdio.h>

#include "stats.h"

/* All three are called with the lock of stats.c held. */
void xg_compare_add(const struct xg_compare_record *record);
void xg_compare_clear(void);

/* Writes the table; nothing when no call was added. */
void xg_compare_print(FILE *out);

#endif
