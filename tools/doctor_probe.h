/* SPDX-License-Identifier: MIT */
/* Questions that may crash or hang who asks them, asked in a process of their own. */
#ifndef DOCTOR_PROBE_H
#define DOCTOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>

enum doctor_probe_end {
    DOCTOR_PROBE_ANSWERED,
    DOCTOR_PROBE_CRASHED, /* ended without an answer */
    DOCTOR_PROBE_HUNG,    /* gave none in time, and was ended */
    DOCTOR_PROBE_UNABLE,  /* no process or pipe could be made */
};

/*
 * Runs ask(answer, question) in a child, whose output goes nowhere, and copies what it left in
 * *answer (bytes, no pointers) here. *answer is untouched unless DOCTOR_PROBE_ANSWERED is
 * returned. For a process with one thread.
 */
enum doctor_probe_end doctor_probe(void (*ask)(void *answer, const void *question), void *answer,
                                   size_t bytes, const void *question, double limit_s);

/*
 * Runs a program and gives what it wrote to standard output, to be freed; NULL: it could not be
 * run, or took longer. Its other output goes nowhere, its input is empty. prepare, in the child,
 * changes its environment.
 */
char *doctor_probe_output(char *const argv[], void (*prepare)(void), double limit_s);

#endif
