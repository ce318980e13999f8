/* SPDX-License-Identifier: MIT */
/* What is written for eyes alone: colours and progress, on a terminal. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum terminal_colour { TERMINAL_PLAIN, TERMINAL_BOLD, TERMINAL_RED, TERMINAL_GREEN };

/* True where `file` is a terminal that can be written over, by TERM. */
bool terminal_is(FILE *file);

/* The sequence that begins the colour, or with TERMINAL_PLAIN ends it; empty where `file` is no
 * such terminal, and where NO_COLOR is set to anything but nothing (no-color.org). */
const char *terminal_colour(FILE *file, enum terminal_colour colour);

enum { TERMINAL_WIDTH = 80 };

/* Writes words from `column` on in lines of at most TERMINAL_WIDTH, those after the first indented,
 * and ends the line. */
void terminal_wrap(FILE *file, const char *text, int column, int indent);

/* A message "xgemm-run: TEXT": wrapped on a terminal, on one line elsewhere. */
void terminal_say(FILE *file, const char *form, ...) __attribute__((format(printf, 2, 3)));

/* The wait that is left, in words: "12 s", "3 min"; at most 16 bytes are written. */
void terminal_duration(char *text, double seconds);

#endif
