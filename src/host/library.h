/* SPDX-License-Identifier: MIT */
/* Finds the file of a library, and looks at it and at those that it needs, before the dynamic
 * linker opens them. */
/*
 * The dynamic linker holds its lock while it opens, maps and constructs a library; dlopen, dlsym
 * and exit of all threads wait for that. It opens any file of the name: a FIFO without a writer, a
 * file on a file system that does not answer, a file that is cut short. Therefore a separate
 * thread, which does not take the lock that dlopen holds, first finds the files in the same order,
 * checks them and reads them from the disk. It is abandoned if that takes too long.
 */
#ifndef XG_LIBRARY_H
#define XG_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

enum { XG_LIBRARY_PARTS = 5, XG_LIBRARY_WHY_BYTES = 512 };

struct xg_library_search;

struct xg_library {
    int count; /* of files to open, in this order, the library's own last; 0: no library */
    char *files[XG_LIBRARY_PARTS];
    char why[XG_LIBRARY_WHY_BYTES]; /* the first reason not to load a file; empty: none was found */
    int skip;                       /* for find */
    struct xg_library_search *search; /* while find runs */
};

/* Looks for files with xg_library_look. `what` must stay valid forever. */
typedef void xg_library_find_function(struct xg_library *library, const void *what);

/*
 * Calls find on a separate thread, with library->skip set, and waits until it is done. A thread
 * that reads no byte for 30 s is abandoned, and no later call loads the file that it reads; then
 * find is called again, without that file. If most_ms is not 0, the search ends after that time in
 * any case, and there is no library. Uses the calling thread, without a limit, if no thread can be
 * created. Takes the dynamic linker's lock for a moment. The search ends early in a closed process
 * (base/sandbox.h). The caller frees the result; NULL: no memory. From any thread.
 */
struct xg_library *xg_library_find(xg_library_find_function *find, const void *what, int skip,
                                   int most_ms);
void xg_library_free(struct xg_library *library);

/* For find: looks for one library by its name (a string), as dlopen of this code would. */
xg_library_find_function xg_library_find_named;

/* In find: false if the search is over, because the thread was abandoned or the process is closed:
 * find returns. */
bool xg_library_goes_on(const struct xg_library *library);

/*
 * In find: looks at a file, named by a path, or by a name that is searched as dlopen of this code
 * would search it: one that is loaded, else in the folders of RPATH, LD_LIBRARY_PATH and RUNPATH,
 * in ld.so.cache and in the system's folders, in this order (in no glibc-hwcaps). Looks at the
 * libraries that it needs, too, except loaded ones and those that are not found. True: all are
 * sound; the file is appended to library->files. False: it is not there, or must not be loaded, for
 * a reason that is logged and kept. xg_library_drop removes what was appended.
 */
bool xg_library_look(struct xg_library *library, const char *name);
void xg_library_drop(struct xg_library *library);

/*
 * Opens the files with dlopen and returns the library's own handle, which the caller owns. NULL:
 * there are none, or dlopen failed; library->why says why. The second, for a library that was
 * searched by its name, has dlopen search for it if no file of that name was found, because the
 * dynamic linker may have other folders.
 */
void *xg_library_open(struct xg_library *library, int flags);
void *xg_library_open_named(struct xg_library *library, const char *name, int flags);

/* Finds and opens a library by a name, which must stay valid, or a path. NULL: why says why. */
void *xg_library_load(const char *name, int flags, char why[XG_LIBRARY_WHY_BYTES]);

/* The handle of a library that the process has loaded, by its name without a folder; NULL: none.
 * Opens no file. */
void *xg_library_open_loaded(const char *name);

#endif
