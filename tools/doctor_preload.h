/* SPDX-License-Identifier: MIT */
/* The library, and the other preloaded libraries. */
#ifndef DOCTOR_PRELOAD_H
#define DOCTOR_PRELOAD_H

#include "doctor_facts.h"

/*
 * Takes the library from XGEMM_SHIM_LIB, or from the build tree or the installation that this
 * program lies in, and reads LD_PRELOAD and /etc/ld.so.preload.
 */
void doctor_preload_read(struct doctor_preload *preload);

#endif
