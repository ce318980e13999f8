/* SPDX-License-Identifier: MIT */
/* Asks questions that may crash or hang the process in a separate process. */
#ifndef DOCTOR_PROBE_H
#define DOCTOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>

enum doctor_probe_end {
    DOCTOR_PROBE_ANSWERED,
    DOCTOR_PROBE_CRASHED, /* ended without an answer */
    DOCTOR_PROBE_HUNG,    /* gave no answer in time and was killed */
    DOCTOR_PROBE_UNABLE,  /* no process or pipe could be made */
};

/*
 * Runs ask(answer, question) in a child, whose output is discarded, and copies the child's *answer
 * (bytes, no pointers) here. *answer is untouched unless DOCTOR_PROBE_ANSWERED is returned. For a
 * process with one thread.
 */
enum doctor_probe_end doctor_probe(void (*ask)(void *answer, const void *question), void *answer,
                                   size_t bytes, const void *question, double limit_s);

/*
 * Runs a program and returns its standard output, to be freed; NULL: it could not be run, or took
 * too long. Its other output is discarded and its input is empty. prepare changes the environment
 * in the child.
 */
char *doctor_probe_output(char *const argv[], void (*prepare)(void), double limit_s);

#endif
