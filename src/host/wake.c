/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "host/wake.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { FILES = 256 };

/* Reads a file into a text; empty if it cannot be read or is longer. A FIFO is empty. */
static void read_text(const char *path, char *text, size_t size)
{
    ssize_t got = xg_file_read_front(path, text, size);
    text[got > 0 && (size_t)got < size ? got : 0] = '\0';
}

bool xg_wake_key_init(struct xg_wake_key *key)
{
    cpu_set_t mask;
    int error = errno;
    read_text("/proc/sys/kernel/random/boot_id", key->boot, sizeof key->boot);
    key->boot[strcspn(key->boot, "\n")] = '\0';
    key->cores = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 0;
    errno = error;
    return key->boot[0] && key->cores > 0;
}

static int print_key(char text[XG_WAKE_TEXT_BYTES], const struct xg_wake_key *key)
{
    return snprintf(text, XG_WAKE_TEXT_BYTES, "xgemm-wake=2\nboot=%s\ncores=%d\n", key->boot,
                    key->cores);
}

bool xg_wake_path(char path[XG_WAKE_PATH_BYTES], const struct xg_wake_key *key,
                  const char *(*lookup)(void *ctx, const char *name), void *ctx)
{
    char text[XG_WAKE_TEXT_BYTES], name[32];
    uint32_t hash = 2166136261u; /* FNV-1a */
    int length = print_key(text, key);
    for (int i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    snprintf(name, sizeof name, "xgemm/wake-%02x", (unsigned)(hash % FILES));
    return xg_file_below(path, XG_WAKE_PATH_BYTES, lookup(ctx, "XDG_CACHE_HOME"),
                         lookup(ctx, "HOME"), "/.cache", name);
}

size_t xg_wake_print(char text[XG_WAKE_TEXT_BYTES], const struct xg_wake_key *key,
                     const struct xg_wake *wake)
{
    int length = print_key(text, key);
    length += snprintf(text + length, XG_WAKE_TEXT_BYTES - (size_t)length,
                       "wake_ns=%llu\nticks_khz=%llu\nround_ps=%llu\nguest=%d\n",
                       (unsigned long long)wake->wake_ns, (unsigned long long)wake->ticks_khz,
                       (unsigned long long)wake->round_ps, wake->guest);
    return (size_t)length;
}

/* The number after a name in the text; 0 if it is not there. */
static uint64_t number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static bool is_between(uint64_t number, uint64_t least, uint64_t most)
{
    return number >= least && number <= most;
}

bool xg_wake_parse(const char *text, const struct xg_wake_key *key, struct xg_wake *wake)
{
    char printed[XG_WAKE_TEXT_BYTES];
    struct xg_wake read = {.wake_ns = number_after(text, "\nwake_ns="),
                           .ticks_khz = number_after(text, "\nticks_khz="),
                           .round_ps = number_after(text, "\nround_ps="),
                           .guest = number_after(text, "\nguest=") != 0};
    if (!is_between(read.wake_ns, 1, 10000000000) ||
        !is_between(read.ticks_khz, 100000, 10000000) || !is_between(read.round_ps, 100, 1000000))
        return false;
    xg_wake_print(printed, key, &read);
    if (strcmp(printed, text) != 0)
        return false;
    *wake = read;
    return true;
}

bool xg_wake_load(struct xg_wake *wake, const char *(*lookup)(void *ctx, const char *name),
                  void *ctx)
{
    struct xg_wake_key key;
    char path[XG_WAKE_PATH_BYTES], text[XG_WAKE_TEXT_BYTES];
    int error = errno;
    bool known = xg_wake_key_init(&key) && xg_wake_path(path, &key, lookup, ctx);
    if (known)
        read_text(path, text, sizeof text);
    errno = error;
    return known && xg_wake_parse(text, &key, wake);
}
