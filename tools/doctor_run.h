/* SPDX-License-Identifier: MIT */
/* Runs the program with the library preloaded, and hears what it loaded and multiplied. */
#ifndef DOCTOR_RUN_H
#define DOCTOR_RUN_H

#include "doctor_objects.h"

/*
 * Runs argv in the environment of this process, with the library and the witness (witness.c)
 * preloaded and an account kept (XGEMM_ACCOUNT); standard streams and signals are the program's.
 * Waits for it. What the library says goes to where XGEMM_LOG says, else to a file that is read and
 * removed.
 * What its processes had loaded at their ends is added to *objects. False, with errno: nothing
 * could be run, for lack of a folder for the files or of a process.
 */
bool doctor_run_start(struct doctor_run *run, const struct doctor_preload *preload,
                      char *const argv[], struct doctor_objects *objects);

#endif
