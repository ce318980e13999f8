/* SPDX-License-Identifier: MIT */
/* Where the library is that these programs stand beside. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the path of the library: what XGEMM_SHIM_LIB names, there or not; else the one of the
 * build tree, or of the installation (<prefix>/libexec/<package> beside <prefix>/lib), that this
 * program lies in; else the one that was configured. False, and an empty path: there is none.
 */
bool library_find(char *path, size_t size);

/* Writes the path of a file that lies beside this program, or in `folder` beside it; false: none
 * does. */
bool library_beside(char *path, size_t size, const char *folder, const char *name);

#endif
