/* SPDX-License-Identifier: MIT */
/* The program that was named: which file it is, who interprets it, what kind of file that is. */
#ifndef DOCTOR_PROGRAM_H
#define DOCTOR_PROGRAM_H

#include "doctor_facts.h"

/* Finds and reads the program as execvp would; it is not started. name NULL: none was given. */
void doctor_program_read(struct doctor_program *program, const char *name);

#endif
