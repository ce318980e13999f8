/* SPDX-License-Identifier: MIT */
/* Queries the terminal and the environment. */
#include "terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool terminal_is(FILE *file)
{
    const char *kind = getenv("TERM");
    return isatty(fileno(file)) && kind && *kind && strcmp(kind, "dumb") != 0;
}

const char *terminal_colour(FILE *file, enum terminal_colour colour)
{
    static const char *const sequences[] = {[TERMINAL_PLAIN] = "\033[0m",
                                            [TERMINAL_BOLD] = "\033[1m",
                                            [TERMINAL_RED] = "\033[31m",
                                            [TERMINAL_GREEN] = "\033[32m"};
    const char *forbidden = getenv("NO_COLOR");
    return terminal_is(file) && !(forbidden && *forbidden) ? sequences[colour] : "";
}

void terminal_wrap(FILE *file, const char *text, int column, int indent)
{
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column + 1 + length > TERMINAL_WIDTH && column > indent) {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', file);
}

void terminal_say(FILE *file, const char *form, ...)
{
    static const char prefix[] = "xgemm-run: ";
    char text[8192];
    va_list args;
    va_start(args, form);
    vsnprintf(text, sizeof text, form, args);
    va_end(args);
    fputs(prefix, file);
    if (terminal_is(file))
        terminal_wrap(file, text, sizeof prefix - 1, sizeof prefix - 1);
    else
        fprintf(file, "%s\n", text);
}

void terminal_duration(char *text, double seconds)
{
    if (seconds < 120.0)
        snprintf(text, 16, "%.0f s", seconds < 1.0 ? 1.0 : seconds);
    else
        snprintf(text, 16, "%.0f min", seconds / 60.0 < 1e6 ? seconds / 60.0 : 1e6);
}
