/* SPDX-License-Identifier: MIT */
/* The files that a program is made of, and what each has to do with SGEMM. */
#ifndef DOCTOR_OBJECTS_H
#define DOCTOR_OBJECTS_H

#include "doctor_facts.h"

/*
 * A set of files, each read once. They are added with doctor_objects_add as they are heard of, by
 * doctor_objects_list or from what the run told (doctor_run.h); doctor_objects_finish then keeps
 * those that matter. One thread.
 */
struct doctor_objects;

/* NULL: no memory. */
struct doctor_objects *doctor_objects_create(void);
void doctor_objects_destroy(struct doctor_objects *objects);

/* The entry of the file, added where it was not there; NULL: it is no ELF file, or the set is full.
 * It stays where it is until the set is destroyed. */
struct doctor_object *doctor_objects_add(struct doctor_objects *objects, const char *path);

/*
 * Adds the program and what it depends on, as its own dynamic linker says when asked as ldd asks
 * it, for that alone knows its rules; glibc's alone is asked. Nothing of the program runs.
 * Libraries that are not there are noted in *program.
 */
void doctor_objects_list(struct doctor_objects *objects, struct doctor_program *program);

/* Fills facts->objects with those that import, define or hold a SGEMM, or are a BLAS, facts->blas
 * with what the libraries among them say of themselves, and facts->run.cublas_file. */
void doctor_objects_finish(const struct doctor_objects *objects, struct doctor_facts *facts);

#endif
