/* SPDX-License-Identifier: MIT */
/* Text in arrays of fixed size. */
#include "doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void doctor_text_set(char *to, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(to, size, format, arguments);
    va_end(arguments);
}

void doctor_texts_add(struct doctor_texts *texts, const char *format, ...)
{
    va_list arguments;
    if (texts->count == DOCTOR_TEXTS)
        return;
    va_start(arguments, format);
    vsnprintf(texts->text[texts->count++], DOCTOR_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

void doctor_texts_add_if(struct doctor_texts *texts, bool holds, const char *text)
{
    if (holds)
        doctor_texts_add(texts, "%s", text);
}

bool doctor_text_is_library(const char *path)
{
    return !strncmp(xg_file_name(path), "libxgemm_shim.", 14);
}
