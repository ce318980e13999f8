/* SPDX-License-Identifier: MIT */
/* What the system says of GPU and driver without opening one. */
#ifndef DOCTOR_SYSTEM_H
#define DOCTOR_SYSTEM_H

#include "doctor_facts.h"

/* Reads /sys, /dev, /proc and the environment; what is not there says nothing. */
void doctor_system_read(struct doctor_system *system);

#endif
