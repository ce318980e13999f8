/* SPDX-License-Identifier: MIT */
/* Configuration files: their format, and how to read one. Knows no setting. */
/*
 * A line is NAME = value. Blanks around both are ignored. A # at the start of a line or after a
 * blank starts a comment. A value is used as written, without quotes or escapes; it may be empty.
 * Lines end with a line feed or with carriage return and line feed; a byte order mark at the start
 * is ignored. If two lines have one name, the last one counts.
 */
#ifndef XG_CONF_FILE_H
#define XG_CONF_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { XG_CONF_FILE_BYTES = 1 << 16, XG_CONF_FILE_LINES = 256 };

/* A line with a setting, or a fault of the line or of the whole file (number 0). */
struct xg_conf_line {
    int number;
    const char *name, *value; /* in the file's text; NULL in a fault */
    const char *fault;        /* NULL: none */
};

/* Too large for a stack. */
struct xg_conf_file {
    char path[PATH_MAX];
    struct xg_conf_line lines[XG_CONF_FILE_LINES];
    int count;
    char text[XG_CONF_FILE_BYTES + 1];
};

/* Parses the first bytes of file->text, XG_CONF_FILE_BYTES at most; names and values point into it.
 * If the array is full, a fault takes the last place. Pure. */
void xg_conf_file_parse(struct xg_conf_file *file, size_t bytes);

/* How a file was chosen. */
enum xg_conf_file_choice {
    XG_CONF_FILE_NAMED,     /* the user named this very file: it must exist */
    XG_CONF_FILE_INSTALLED, /* installed with the library: the owner of the tree may write it */
    XG_CONF_FILE_FOUND,     /* below the user's home: no other user may own it (xg_file_open) */
};

/*
 * Reads the file at file->path, which must be a regular one of XG_CONF_FILE_BYTES at most. Never
 * waits, because it opens no FIFO. A file that does not exist, or whose folder may not be searched,
 * has no lines, and a fault if the user named it; an unreadable file has a fault too. Makes some
 * system calls; keeps errno.
 */
void xg_conf_file_read(struct xg_conf_file *file, enum xg_conf_file_choice choice);

#endif
