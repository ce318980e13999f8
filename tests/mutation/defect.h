/* SPDX-License-Identifier: MIT */
/* Which deliberate defect this process has: the one that XG_DEFECT names, or none. */
#ifndef MUTATION_DEFECT_H
#define MUTATION_DEFECT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* From any thread. Asks the environment at each call: a test may change it. */
static inline bool defect_is(const char *name)
{
    const char *set = getenv("XG_DEFECT");
    return set && !strcmp(set, name);
}

#endif
