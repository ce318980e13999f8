/* SPDX-License-Identifier: MIT */
/* Everything that changes a program's memory without privilege, as functions on a range of pages.
 */
#ifndef WRITERS_H
#define WRITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Anonymous memory, parts of which writers replace by other mappings. */
struct ground {
    char *at;
    size_t pages, page_bytes;
    bool huge;
    int file;    /* a memfd of the same size, mapped by some writers over a part */
    char *alias; /* the file's other mapping, through which pages change without a fault of `at` */
    uint64_t seed;
};

struct writer {
    const char *name;
    /* False: not possible here. Afterwards the range is mapped and readable. */
    bool (*run)(struct ground *ground, size_t first, size_t count);
    int weight; /* how often the fuzz draws it */
};

extern const struct writer writers[];
extern const int writer_count;

void ground_init(struct ground *ground, size_t pages, bool huge);
void ground_fini(struct ground *ground);

/* All of it anew. */
void ground_renew(struct ground *ground);

/* 0 to below - 1. */
size_t ground_draw(struct ground *ground, size_t below);

/* The first time, says why the tests of something are left out. */
void writers_skip(bool *said, const char *what);

#endif
