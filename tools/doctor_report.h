/* SPDX-License-Identifier: MIT */
/* Writes the facts and findings: for people, and as JSON. */
#ifndef DOCTOR_REPORT_H
#define DOCTOR_REPORT_H

#include <stdio.h>

#include "doctor_diagnosis.h"

/* Write facts and findings; ferror(out) tells whether that failed. */
void doctor_report_write(FILE *out, const struct doctor_facts *facts,
                         const struct doctor_finding *findings, int count);
void doctor_json_write(FILE *out, const struct doctor_facts *facts,
                       const struct doctor_finding *findings, int count);

/* The number of findings that are something to mend. */
int doctor_findings_to_mend(const struct doctor_finding *findings, int count);

/* A name for the pool, as in "libgomp's threads"; never NULL. Both reports use it. */
const char *doctor_pool_text(enum shim_pool pool);

#endif
