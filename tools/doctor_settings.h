/* SPDX-License-Identifier: MIT */
/* The settings that are not understood or cannot take effect, and those from files. */
#ifndef DOCTOR_SETTINGS_H
#define DOCTOR_SETTINGS_H

#include "doctor_facts.h"

/* Reads environment and configuration files as the library does, checks that the files and
 * libraries they name exist, and puts the configuration files' settings in the environment. */
void doctor_settings_read(struct doctor_settings *settings);

#endif
