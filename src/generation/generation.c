/* SPDX-License-Identifier: MIT */
/* Finds a device's generation in the list of src/Makefile.inc, which is ascending. */
#include "generation/generation.h"

#include <stddef.h>
#include <string.h>

#define X(name) extern const struct xg_generation xg_##name;
XG_GENERATIONS
#undef X

#define X(name) &xg_##name,
static const struct xg_generation *const generations[] = {XG_GENERATIONS};
#undef X

const struct xg_generation *xg_generation_find(int sm, const char *device_name)
{
    const struct xg_generation *found = generations[0];
    for (size_t i = 1; i < sizeof generations / sizeof generations[0]; i++)
        if (generations[i]->sm <= sm)
            found = generations[i];
    return found->geforce && device_name && strstr(device_name, "GeForce") ? found->geforce : found;
}
