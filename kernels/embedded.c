/* SPDX-License-Identifier: MIT */
/* The fatbins that images.S embeds in the program or library with this object. */
#include "images.h"
#include "table.h"

#define XG_DECLARE(folder, name)                                                                   \
    extern const unsigned char xg_image_##name[], xg_image_##name##_end[];
XG_IMAGES(XG_DECLARE)

#define XG_BOUNDS(folder, name) {xg_image_##name, xg_image_##name##_end},

struct xg_fatbin xg_image_fatbin(const struct xg_image *image)
{
    static const struct {
        const unsigned char *begin, *end;
    } bounds[] = {XG_IMAGES(XG_BOUNDS)};
    size_t i = (size_t)(image - xg_image_table);
    return (struct xg_fatbin){bounds[i].begin, (size_t)(bounds[i].end - bounds[i].begin)};
}
