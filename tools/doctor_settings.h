/* SPDX-License-Identifier: MIT */
/* Which XGEMM_* variables are not understood, and which cannot do what they ask for. */
#ifndef DOCTOR_SETTINGS_H
#define DOCTOR_SETTINGS_H

#include "doctor_facts.h"

/* Reads the environment, as the library does, and looks whether files and libraries are there. */
void doctor_settings_read(struct doctor_settings *settings);

#endif
