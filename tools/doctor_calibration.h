/* SPDX-License-Identifier: MIT */
/* Finds whether a calibration is kept for this machine, and whether it fits. */
#ifndef DOCTOR_CALIBRATION_H
#define DOCTOR_CALIBRATION_H

#include "doctor_facts.h"

/* blas_file: the CPU library that the program computes with, or NULL. */
void doctor_calibration_read(struct doctor_calibration *calibration, const char *blas_file);

#endif
