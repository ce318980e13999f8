/* SPDX-License-Identifier: MIT */
/* Sets of the names that the library intercepts, those of BLAS and those of LAPACK. */
#ifndef DOCTOR_NAMES_H
#define DOCTOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shim/symbols.h"

/* A bit for each enum shim_id (shim/symbols.h). */
struct doctor_names {
    uint64_t words[(SHIM_ID_COUNT + 63) / 64];
};

/* The id of a name; -1: the library does not intercept it. Not for several threads at once. */
int doctor_names_find(const char *name);

/* The id of a Fortran name that MKL also has as `name`, which the library does not intercept: in
 * capitals, or without the last underscore. -1: none. */
int doctor_names_find_unseen(const char *name);

/* Adds an id; -1 adds nothing. */
void doctor_names_add(struct doctor_names *names, int id);
void doctor_names_join(struct doctor_names *names, const struct doctor_names *others);
void doctor_names_remove(struct doctor_names *names, const struct doctor_names *others);

/* The first id of the set from `id` on; SHIM_ID_COUNT: none. */
int doctor_names_next(const struct doctor_names *names, int id);

/* Whether the set has any name, any of BLAS, any of LAPACK; whether two sets have one in common. */
bool doctor_names_any(const struct doctor_names *names);
bool doctor_names_blas(const struct doctor_names *names);
bool doctor_names_lapack(const struct doctor_names *names);
bool doctor_names_meet(const struct doctor_names *names, const struct doctor_names *others);

/* Removes all names of BLAS if `others` has one of them, and likewise those of LAPACK. */
void doctor_names_remove_kinds(struct doctor_names *names, const struct doctor_names *others);

/* Writes "cblas_sgemm, sgemm_ and 7 others". */
void doctor_names_text(const struct doctor_names *names, char *text, size_t size);

#endif
