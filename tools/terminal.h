/* SPDX-License-Identifier: MIT */
/* Output for people only: colours and progress, on a terminal. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum terminal_colour { TERMINAL_PLAIN, TERMINAL_BOLD, TERMINAL_RED, TERMINAL_GREEN };

/* Whether `file` is a terminal on which text can be overwritten, according to TERM. */
bool terminal_is(FILE *file);

/* The sequence that begins the colour or, for TERMINAL_PLAIN, ends it. Empty if `file` is not such
 * a terminal, or if NO_COLOR is set and not empty (no-color.org). */
const char *terminal_colour(FILE *file, enum terminal_colour colour);

enum { TERMINAL_WIDTH = 80 };

/* Writes words from `column` on, in lines of at most TERMINAL_WIDTH, indents all lines but the
 * first, and ends the last one. */
void terminal_wrap(FILE *file, const char *text, int column, int indent);

/* Writes a message "xgemm-run: TEXT": wrapped on a terminal, on one line elsewhere. */
void terminal_say(FILE *file, const char *form, ...) __attribute__((format(printf, 2, 3)));

/* Writes the time left in words: "12 s", "3 min"; at most 16 bytes. */
void terminal_duration(char *text, double seconds);

#endif
