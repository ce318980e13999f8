/* SPDX-License-Identifier: MIT */
/* Finds out whether the process has loaded a library. */
#ifndef XG_LIBRARY_LOADED_H
#define XG_LIBRARY_LOADED_H

/* The path by which the process has loaded the library, named by a path or by a name without a
 * folder. The caller frees it. NULL: it has not, the process is closed (base/sandbox.h), or there
 * is no memory. Waits for no lock that dlopen holds while it opens files. From any thread. */
char *xg_library_loaded(const char *name);

#endif
