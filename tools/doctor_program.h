/* SPDX-License-Identifier: MIT */
/* The named program: its file, its interpreter, and the kind of file. */
#ifndef DOCTOR_PROGRAM_H
#define DOCTOR_PROGRAM_H

#include "doctor_facts.h"

/* Finds and reads the program as execvp would, without starting it. name NULL: none was given. */
void doctor_program_read(struct doctor_program *program, const char *name);

#endif
