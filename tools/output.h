/* SPDX-License-Identifier: MIT */
/* The file that a tool writes when the program has ended. */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>

/*
 * Whether the file can be written, which is tried: to find out after an hour that it cannot helps
 * nobody. What is there keeps its content; where nothing is, nothing is left. False: errno says
 * why.
 */
bool output_is_writable(const char *path);

#endif
