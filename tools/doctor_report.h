/* SPDX-License-Identifier: MIT */
/* Writes what was found: for people, and as JSON. */
#ifndef DOCTOR_REPORT_H
#define DOCTOR_REPORT_H

#include <stdio.h>

#include "doctor_diagnosis.h"

/* Both write facts and findings; whether that went well shows in ferror(out). */
void doctor_report_write(FILE *out, const struct doctor_facts *facts,
                         const struct doctor_finding *findings, int count);
void doctor_json_write(FILE *out, const struct doctor_facts *facts,
                       const struct doctor_finding *findings, int count);

/* How many of the findings are something to mend. */
int doctor_findings_to_mend(const struct doctor_finding *findings, int count);

/* Words that both use. "libgomp's threads"; never NULL. */
const char *doctor_pool_text(enum xg_pool pool);
/* "cblas_sgemm, sgemm_" of a mask, cut to size. */
void doctor_names_text(unsigned mask, char *text, size_t size);

#endif
