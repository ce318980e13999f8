/* SPDX-License-Identifier: MIT */
/* Asks a BLAS library who made it, how many threads it has and how wide its integers are. */
#ifndef DOCTOR_BLAS_H
#define DOCTOR_BLAS_H

#include "doctor_facts.h"

/*
 * Loads the file (a path, or a name that the dynamic linker finds) in a process of its own and asks
 * it, in the environment as it is. path of *blas is the file that was loaded, where one was.
 */
void doctor_blas_read(struct doctor_blas *blas, const char *file);

#endif
