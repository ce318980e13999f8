/* SPDX-License-Identifier: MIT */
/* Finds the toolkit's libraries: loaded already, in the dynamic linker's folders, or in a package
 * of pip's. */
#ifndef XG_TOOLKIT_H
#define XG_TOOLKIT_H

enum xg_toolkit { XG_TOOLKIT_CUBLAS, XG_TOOLKIT_CUSOLVER, XG_TOOLKIT_COUNT };

/*
 * dlopens the library of CUDA 13, 12 or 11: one that the process has loaded, else the newest of the
 * linker's folders and the toolkit's, else the newest that pip has installed (nvidia-cublas,
 * nvidia-cublas-cu12 and their kin) beside this library's wheel or in a site-packages folder that
 * the process has loaded an object from. From pip's folders it takes only a regular file that no
 * other user can change or replace. Returns NULL if there is no such library; logs the answer.
 * Takes the dynamic linker's lock and reads folders, so threads that multiply must not call it. The
 * caller owns the handle.
 */
void *xg_toolkit_open(enum xg_toolkit library);

#endif
