/* SPDX-License-Identifier: MIT */
/* Finds libcublas: already loaded, in the dynamic linker's folders, or in a pip package. */
#ifndef XG_LIBCUBLAS_H
#define XG_LIBCUBLAS_H

/*
 * Opens libcublas of version 13, 12 or 11: one that the process has loaded, else the newest in the
 * linker's folders and the toolkit's, else the newest that pip has installed (nvidia-cublas,
 * nvidia-cublas-cu12) beside this library's wheel or in a site-packages folder from which the
 * process has loaded an object. From pip's packages it opens only a regular file that no other user
 * can change or replace. Returns NULL if there is none, and logs the result. It takes the dynamic
 * linker's lock and reads folders, so do not call it on a thread that multiplies. The caller owns
 * the handle.
 */
void *xg_libcublas_open(void);

#endif
