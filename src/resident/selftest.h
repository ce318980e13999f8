/* SPDX-License-Identifier: MIT */
/* Finds out, once per process, what this kernel reports of pages, and what tracking them costs. */
/*
 * PAGEMAP_SCAN asks for written pages. Kernels before July 2026 do not count a page that no longer
 * exists as written, so they report a freed or moved page as unchanged. The self-test makes every
 * kind of change to memory of its own, and accepts a way only if it finds all of them.
 */
#ifndef XG_SELFTEST_H
#define XG_SELFTEST_H

#include "resident/pages.h"

/*
 * xg_pages_open, and the choice of pages->way and pages->costs; otherwise the tracker is closed.
 * About 5 ms.
 */
bool xg_selftest_open(struct xg_pages *pages, const struct xg_pages_system *system, void *self);

#endif
