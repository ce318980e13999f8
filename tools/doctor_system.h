/* SPDX-License-Identifier: MIT */
/* Facts about the GPU and the driver that the system tells without opening one. */
#ifndef DOCTOR_SYSTEM_H
#define DOCTOR_SYSTEM_H

#include "doctor_facts.h"

/* Reads /sys, /dev, /proc and the environment; missing files leave their facts empty. */
void doctor_system_read(struct doctor_system *system);

#endif
