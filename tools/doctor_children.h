/* SPDX-License-Identifier: MIT */
/* The files that the run's processes execute, and whether the library gets into them. */
#ifndef DOCTOR_CHILDREN_H
#define DOCTOR_CHILDREN_H

#include "doctor_facts.h"

/* Takes the journal of tools/witness_exec.c, which it changes, into the children and the time that
 * is not told of the run; cores_s is known. */
void doctor_children_take(struct doctor_run *run, char *journal);

#endif
