/* SPDX-License-Identifier: MIT */
/* Asks a BLAS library for its vendor, its number of threads and its integer width. */
#ifndef DOCTOR_BLAS_H
#define DOCTOR_BLAS_H

#include "doctor_facts.h"

/* Loads the file (a path, or a name that the dynamic linker finds) in a separate process and asks
 * it in the current environment. Sets path of *blas to the file that was loaded, if any. */
void doctor_blas_read(struct doctor_blas *blas, const char *file);

#endif
