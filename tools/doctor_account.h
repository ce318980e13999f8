/* SPDX-License-Identifier: MIT */
/* Reads the account of products that the library writes at a program's end (XGEMM_STATS=1). */
#ifndef DOCTOR_ACCOUNT_H
#define DOCTOR_ACCOUNT_H

#include "doctor_facts.h"

/*
 * Takes the lines of `text`, which is changed, into run->rows (the same place, reason and name of
 * several processes added up) and what is no account into run->messages. Pure.
 */
void doctor_account_read(struct doctor_run *run, char *text);

#endif
