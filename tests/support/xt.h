/* SPDX-License-Identifier: MIT */
/* Used by every C test: checks that print and count, a seeded generator, the exit codes. */
#ifndef XT_H
#define XT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Automake's exit codes: 0 pass, 1 fail, 77 skip, 99 the test itself is broken. */
enum { XT_PASS = 0, XT_FAIL = 1, XT_SKIP = 77, XT_HARD = 99 };

/* Shared by all files of a program. */
__attribute__((weak, visibility("hidden"))) int xt_failures;
__attribute__((weak, visibility("hidden"))) long xt_checks;

#define XT_CHECK(condition, ...)                                                                   \
    do {                                                                                           \
        xt_checks++;                                                                               \
        if (!(condition)) {                                                                        \
            if (xt_failures++ < 20) {                                                              \
                fprintf(stderr, "%s:%d: %s:", __FILE__, __LINE__, #condition);                     \
                fprintf(stderr, " " __VA_ARGS__);                                                  \
                fputc('\n', stderr);                                                               \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* NaN fails, because the comparison is false. */
#define XT_CHECK_LE(value, bound, ...) XT_CHECK((value) <= (bound), __VA_ARGS__)

/* Zeroed memory for the caller to free. Ends the test without memory. */
static inline void *xt_alloc(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory && count && bytes)
        exit(XT_HARD);
    return memory;
}

/* Waits for a child of fork(), which must end with exit status 0. */
static inline void xt_child_wait(pid_t child, const char *what)
{
    int status = -1;
    XT_CHECK(waitpid(child, &status, 0) == child && status == 0, "%s: status %#x", what,
             (unsigned)status);
}

/* Uniform in (-1, 1), never 0; a splitmix64 step. */
static inline float xt_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return ((float)(z >> 40) + 0.5f) * 0x1p-23f - 1.0f;
}

/* The exit code of a test that lacks something: it fails under XGEMM_TEST_REQUIRE_GPU=1, and is
 * skipped otherwise. */
static inline int xt_skip(const char *why)
{
    const char *require = getenv("XGEMM_TEST_REQUIRE_GPU");
    fprintf(stderr, "skipped: %s\n", why);
    return require && !strcmp(require, "1") ? XT_FAIL : XT_SKIP;
}

static inline int xt_done(void)
{
    printf("%ld checks, %d failed\n", xt_checks, xt_failures);
    return xt_failures || !xt_checks ? XT_FAIL : XT_PASS;
}

#endif
