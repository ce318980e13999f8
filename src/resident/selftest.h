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
 * Sets pages->way and pages->costs of an opened system. Returns NULL, or why neither way proves
 * anything here (a constant); the way is then OFF. About 5 ms.
 */
const char *xg_selftest_run(struct xg_pages *pages);

#endif
