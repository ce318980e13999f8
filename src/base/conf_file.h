/* SPDX-License-Identifier: MIT */
/* Configuration files: their lines, and how one is read. Knows no setting. */
/*
 * A line is NAME = value. Blanks around both are left out, and a # at the beginning of a line or
 * behind a blank begins a comment. A value is taken as it is, without quotes or escapes; it may be
 * empty. Lines end with a line feed or with carriage return and line feed; a byte order mark at the
 * beginning is left out. Of two lines of one name the last counts.
 */
#ifndef XG_CONF_FILE_H
#define XG_CONF_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { XG_CONF_FILE_BYTES = 1 << 16, XG_CONF_FILE_LINES = 256 };

/* A line that says something, or a fault: of the line, or of the file as a whole (number 0). */
struct xg_conf_line {
    int number;
    const char *name, *value; /* in the file's text; NULL in a fault */
    const char *fault;        /* NULL: none */
};

/* Large: not for a stack. */
struct xg_conf_file {
    char path[PATH_MAX];
    struct xg_conf_line lines[XG_CONF_FILE_LINES];
    int count;
    char text[XG_CONF_FILE_BYTES + 1];
};

/* Takes the first bytes of file->text, XG_CONF_FILE_BYTES at most, apart; names and values lie in
 * it. Where the array is full a fault takes the last place. Pure. */
void xg_conf_file_parse(struct xg_conf_file *file, size_t bytes);

/* How a file was chosen. */
enum xg_conf_file_choice {
    XG_CONF_FILE_NAMED,     /* by the user, for this very file: it must be there */
    XG_CONF_FILE_INSTALLED, /* with the library: the owner of the tree may write it */
    XG_CONF_FILE_FOUND,     /* below the user's home: it must be no other user's (xg_file_open) */
};

/*
 * Reads the file of file->path, which must be a regular one of XG_CONF_FILE_BYTES at most, and
 * waits for nothing: a FIFO is not opened. One that is not there, or whose folder is closed, has no
 * lines, but a fault where it was named; so has one that cannot be read. Some system calls; keeps
 * errno.
 */
void xg_conf_file_read(struct xg_conf_file *file, enum xg_conf_file_choice choice);

#endif
