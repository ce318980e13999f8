/* SPDX-License-Identifier: MIT */
/* A setting as data: its name, what values it takes, and the field that it fills. */
#ifndef XG_SETTING_H
#define XG_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum xg_setting_kind {
    XG_SETTING_ELSEWHERE,  /* no field: others read it, from the environment alone */
    XG_SETTING_CHOICE,     /* an enum: the index of a word in choices */
    XG_SETTING_INT,        /* int in [0, max] */
    XG_SETTING_FRACTION,   /* double in [0, 1] */
    XG_SETTING_OPERATIONS, /* uint64_t, a bit a name: "sgemm,dgemm" */
    XG_SETTING_SIZE,       /* int64_t bytes in [0, max], with a suffix K, M, G or T (1024-based) */
    XG_SETTING_STRING,     /* const char *, as it is */
    XG_SETTING_ORDINALS,   /* const char *, checked: "0" or "0,2,3" */
};

enum { XG_SETTING_CHOICES = 4, XG_SETTING_NAME_BYTES = 64 };

struct xg_setting {
    const char *name;
    enum xg_setting_kind kind;
    size_t offset; /* of the field */
    int64_t max;
    const char *choices[XG_SETTING_CHOICES + 1]; /* in the order of the enum; the first is the
                                                    default */
    const char *accepts;                         /* as help and messages say it */
    const char *default_text;
    const char *help; /* NULL: no user sets it */
    bool common;      /* most users need no other ones */
};

/* Whether the text is a value of the setting. Pure. */
bool xg_setting_takes(const struct xg_setting *setting, const char *text);

/* Stores a value at fields + offset, a string as a copy; false, and nothing stored, for a text that
 * is none, and where there is no memory. */
bool xg_setting_store(const struct xg_setting *setting, const char *text, void *fields);

/* Frees what xg_setting_store copied, and stores NULL there. */
void xg_setting_clear(const struct xg_setting *setting, void *fields);

/* The setting of that name among count of a table; NULL: none. Pure. */
const struct xg_setting *xg_setting_find(const struct xg_setting *table, int count,
                                         const char *name);

/*
 * The setting that a misspelt name most likely means: a letter is wrong, lacks, is one too many, or
 * two have changed places, as seldom as possible and in a third of the name at most. Letters of
 * either case are alike, and the prefix XGEMM_ may lack. NULL: none is near. Pure.
 */
const struct xg_setting *xg_setting_nearest(const struct xg_setting *table, int count,
                                            const char *name);

/* Writes name, values, default and help of each that has help, or of the common ones alone, as
 * xgemm-run --help prints these. */
void xg_setting_print(const struct xg_setting *table, int count, bool common, FILE *out);

#endif
