/* SPDX-License-Identifier: MIT */
/* The file that a tool writes after the program has ended. */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>

/*
 * Tests whether the file can be written, so that an error appears before the run and not an hour
 * later. An existing file keeps its content; no new file is left behind. Returns false, with errno,
 * if it cannot be written.
 */
bool output_is_writable(const char *path);

#endif
