/* SPDX-License-Identifier: MIT */
/* What doctor keeps of the account of products. */
#ifndef DOCTOR_ACCOUNT_H
#define DOCTOR_ACCOUNT_H

#include "doctor_facts.h"
#include "src/report/account.h"

/* Sets run->rows to those of the account, as many as there is room for. Pure. */
void doctor_account_take(struct doctor_run *run, const struct xg_account *account);

#endif
