/* SPDX-License-Identifier: MIT */
/* Finds the library that these programs belong to. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the path of the library: the value of XGEMM_SHIM_LIB, even if no such file exists; else
 * the library of the build tree or installation that contains this program
 * (<prefix>/libexec/<package> beside <prefix>/lib); else the configured one. Returns false, with an
 * empty path, if there is none.
 */
bool library_find(char *path, size_t size);

/* Writes the path of a file beside this program, or in `folder` beside it; false: there is none. */
bool library_beside(char *path, size_t size, const char *folder, const char *name);

#endif
