/* SPDX-License-Identifier: MIT */
/* Runs the program with the library preloaded and reads what it loaded and multiplied. */
#ifndef DOCTOR_RUN_H
#define DOCTOR_RUN_H

#include "doctor_objects.h"

/*
 * Runs argv in this process's environment, with the library and the witness (witness.c) preloaded
 * and an account kept (XGEMM_ACCOUNT). The program gets the standard streams and signals. Waits for
 * its end. The library's messages go to XGEMM_LOG or, without it, to a file that is read and
 * removed. Adds the objects that the processes had loaded at their ends to *objects. Returns false,
 * with errno, if the program could not be run, because a folder for the files or a process could
 * not be made.
 */
bool doctor_run_start(struct doctor_run *run, const struct doctor_preload *preload,
                      char *const argv[], struct doctor_objects *objects);

#endif
