/* SPDX-License-Identifier: MIT */
/* Shared by the fuzz targets: the entry, values made of bytes, a check that ends the process. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The entry for libFuzzer and tests/fuzz/driver.c. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many inputs reached the target's main check; the driver fails if too few did. */
extern long fuzz_reached;

/* A failure ends the process, so that a fuzzer keeps the input. */
#define FUZZ_CHECK(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The rest of the input; reads after its end give zeros. */
struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t fuzz_byte(struct fuzz_bytes *bytes)
{
    if (!bytes->left)
        return 0;
    bytes->left--;
    return *bytes->at++;
}

static inline uint64_t fuzz_word(struct fuzz_bytes *bytes, int count)
{
    uint64_t word = 0;
    for (int i = 0; i < count; i++)
        word = word << 8 | fuzz_byte(bytes);
    return word;
}

/* A string, ended by a zero byte of the input or its end; at most size - 1 characters. */
static inline const char *fuzz_string(struct fuzz_bytes *bytes, char *text, size_t size)
{
    size_t length = 0;
    uint8_t byte;
    while (length + 1 < size && bytes->left && (byte = fuzz_byte(bytes)))
        text[length++] = (char)byte;
    text[length] = '\0';
    return text;
}

#endif
