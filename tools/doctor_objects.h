/* SPDX-License-Identifier: MIT */
/* The files that make up a program, and the intercepted names in each. */
#ifndef DOCTOR_OBJECTS_H
#define DOCTOR_OBJECTS_H

#include "doctor_facts.h"

/*
 * A set of files, each read once. doctor_objects_add adds them when doctor_objects_list or the
 * run's reports (doctor_run.c) name them; doctor_objects_finish then keeps those that matter. For
 * one thread.
 */
struct doctor_objects;

/* NULL: no memory. */
struct doctor_objects *doctor_objects_create(void);
void doctor_objects_destroy(struct doctor_objects *objects);

/* The entry of the file, added if it is missing; NULL: it is not an ELF file, or the set is full.
 * The entry stays in place until the set is destroyed. */
struct doctor_object *doctor_objects_add(struct doctor_objects *objects, const char *path);

/*
 * Adds the program and its dependencies, as its own dynamic linker lists them when asked as by ldd,
 * because only that linker knows its rules; only glibc's is asked. Runs nothing of the program.
 * Adds missing libraries to *program.
 */
void doctor_objects_list(struct doctor_objects *objects, struct doctor_program *program);

/* Sets facts->objects to those that import, define or contain an intercepted name or are a BLAS,
 * facts->blas to what the libraries among them report, and facts->run.cublas_file. */
void doctor_objects_finish(const struct doctor_objects *objects, struct doctor_facts *facts);

#endif
