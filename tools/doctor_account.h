/* SPDX-License-Identifier: MIT */
/* Copies the part of the account of products that doctor keeps. */
#ifndef DOCTOR_ACCOUNT_H
#define DOCTOR_ACCOUNT_H

#include "doctor_facts.h"
#include "src/report/account.h"

/* Sets run->rows to the account's rows, as many as fit. Pure. */
void doctor_account_take(struct doctor_run *run, const struct xg_account *account);

#endif
