/* SPDX-License-Identifier: MIT */
/* Which settings are not understood, which cannot do what they ask for, and what files give. */
#ifndef DOCTOR_SETTINGS_H
#define DOCTOR_SETTINGS_H

#include "doctor_facts.h"

/* Reads environment and configuration files, as the library does, and looks whether the files and
 * libraries that they name are there. What configuration files give is in the environment then. */
void doctor_settings_read(struct doctor_settings *settings);

#endif
