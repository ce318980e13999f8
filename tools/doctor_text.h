/* SPDX-License-Identifier: MIT */
/* Text in arrays of fixed size: what does not fit is cut. */
#ifndef DOCTOR_TEXT_H
#define DOCTOR_TEXT_H

#include <stddef.h>

#include "doctor_facts.h"

/* Like snprintf, with nothing returned. */
void doctor_text_set(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a line; dropped where there is no room. */
void doctor_texts_add(struct doctor_texts *texts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The part behind the last slash. */
const char *doctor_text_basename(const char *path);

#endif
