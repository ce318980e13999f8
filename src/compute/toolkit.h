/* SPDX-License-Identifier: MIT */
/* Where the toolkit's libraries are: loaded already, where the dynamic linker looks, or in a
 * package of pip's. */
#ifndef XG_TOOLKIT_H
#define XG_TOOLKIT_H

enum xg_toolkit { XG_TOOLKIT_CUBLAS, XG_TOOLKIT_CUSOLVER, XG_TOOLKIT_COUNT };

/*
 * dlopens the library of CUDA 13, 12 or 11: one that the process has loaded, else the newest of the
 * linker's folders and the toolkit's, else the newest that pip has installed (nvidia-cublas,
 * nvidia-cublas-cu12 and their kin) beside this library's wheel or in a site-packages folder that
 * the process has loaded an object from. There only a regular file is taken that no other user can
 * change or replace. NULL where there is none; the answer is logged. Takes the dynamic linker's
 * lock and reads folders: not for a thread that multiplies. The handle is the caller's.
 */
void *xg_toolkit_open(enum xg_toolkit library);

#endif
