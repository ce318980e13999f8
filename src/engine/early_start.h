/* SPDX-License-Identifier: MIT */
/* Starts the GPU while a program that is remembered to gain loads its libraries. */
#ifndef XG_EARLY_START_H
#define XG_EARLY_START_H

#include "machine/history.h"

/*
 * Call it when a CPU library is being loaded. objects: the dynamic linker's count at this library's
 * own load. If the program's record promises a gain, starts the GPU and the libraries that it
 * needed, on threads of their own; the settings are read there. Asks for no variable but through
 * lookup, because its caller may hold the lock of another getenv. Returns at once; once a process.
 */
void xg_early_start(unsigned long long objects, xg_history_lookup *lookup);

#endif
