/* SPDX-License-Identifier: MIT */
/* The files that the run's processes execute, and whether the library is loaded into them. */
#ifndef DOCTOR_CHILDREN_H
#define DOCTOR_CHILDREN_H

#include "doctor_facts.h"

/* Reads the journal of tools/witness_exec.c, which it changes, and sets the run's children and
 * untold_s. run->cores_s must be set. */
void doctor_children_take(struct doctor_run *run, char *journal);

#endif
