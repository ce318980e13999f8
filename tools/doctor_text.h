/* SPDX-License-Identifier: MIT */
/* Text in arrays of fixed size; text that does not fit is cut. */
#ifndef DOCTOR_TEXT_H
#define DOCTOR_TEXT_H

#include <stddef.h>

#include "doctor_facts.h"

/* Like snprintf, but returns nothing. */
void doctor_text_set(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a line; drops it if there is no room. */
void doctor_texts_add(struct doctor_texts *texts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds the text as it is, if the condition holds. */
void doctor_texts_add_if(struct doctor_texts *texts, bool holds, const char *text);

/* The part after the last slash. */
const char *doctor_text_basename(const char *path);

/* Whether the path is that of this library, libxgemm_shim, of any version. */
bool doctor_text_is_library(const char *path);

#endif
