/* SPDX-License-Identifier: MIT */
/* A setting as data: its name, its accepted values, and the field that it fills. */
#ifndef XG_SETTING_H
#define XG_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum xg_setting_kind {
    XG_SETTING_ELSEWHERE,  /* no field: other code reads it, from the environment only */
    XG_SETTING_CHOICE,     /* an enum: the index of a word in choices */
    XG_SETTING_INT,        /* int in [0, max] */
    XG_SETTING_FRACTION,   /* double in [0, 1] */
    XG_SETTING_OPERATIONS, /* uint64_t, one bit per name: "sgemm,dgemm" */
    XG_SETTING_SIZE,       /* int64_t bytes in [0, max], with a suffix K, M, G or T (1024-based) */
    XG_SETTING_STRING,     /* const char *, unchanged */
    XG_SETTING_ORDINALS,   /* const char *, checked: "0" or "0,2,3" */
};

enum { XG_SETTING_CHOICES = 4, XG_SETTING_NAME_BYTES = 64 };

struct xg_setting {
    const char *name;
    enum xg_setting_kind kind;
    size_t offset; /* of the field */
    int64_t max;
    const char *choices[XG_SETTING_CHOICES + 1]; /* in the enum's order; the first is the default */
    const char *accepts;                         /* for help and messages */
    const char *help;                            /* NULL: not for users */
    bool common;                                 /* most users need only these */
};

/* True if the text is a value of the setting. Pure. */
bool xg_setting_takes(const struct xg_setting *setting, const char *text);

/* Stores a value at fields + offset, a string as a copy. Returns false and stores nothing if the
 * text is not a value or there is no memory. */
bool xg_setting_store(const struct xg_setting *setting, const char *text, void *fields);

/* Frees the copy that xg_setting_store made, and stores NULL there. */
void xg_setting_clear(const struct xg_setting *setting, void *fields);

/* The default, for help and messages: a zeroed field's value. */
const char *xg_setting_default(const struct xg_setting *setting);

/* Finds the setting of that name among the count settings of a table; NULL: none. Pure. */
const struct xg_setting *xg_setting_find(const struct xg_setting *table, int count,
                                         const char *name);

/*
 * Finds the setting that a misspelt name most likely means: with the fewest letters wrong, missing,
 * extra, or exchanged with a neighbour, at most a third of the name. Upper and lower case are
 * equal, and the prefix XGEMM_ may be missing. NULL: none is near. Pure.
 */
const struct xg_setting *xg_setting_nearest(const struct xg_setting *table, int count,
                                            const char *name);

/* Writes name, values, default and help of each setting with help, or only of the common ones, as
 * xgemm-run --help prints them. */
void xg_setting_print(const struct xg_setting *table, int count, bool common, FILE *out);

#endif
