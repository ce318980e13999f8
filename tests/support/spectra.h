/* SPDX-License-Identifier: MIT */
/* Of spectra.c only its failures have a name of their own; routines.h has the rest. */
#ifndef SPECTRA_H
#define SPECTRA_H

int spectra_failures(void);

#endif
