/* SPDX-License-Identifier: MIT */
/* The options of a benchmark, as a table. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

/* What a value is stored as. A flag has no value. */
enum option_kind {
    OPTION_FLAG,   /* bool */
    OPTION_INT,    /* int */
    OPTION_NUMBER, /* uint64_t */
    OPTION_REAL,   /* double */
    OPTION_TEXT,   /* const char *, which points into argv */
};

struct option_row {
    const char *name; /* without --; NULL ends a table */
    enum option_kind kind;
    void *to;
};

/* Stores the values of the options at the beginning of the arguments: --name VALUE or --name=VALUE.
 * Returns the index of the first other argument; 0: an option is unknown or lacks its value. */
int options_read(int argc, char **argv, const struct option_row *rows);

#endif
