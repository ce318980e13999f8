/* SPDX-License-Identifier: MIT */
/* What waking the threads of a pool costs on this machine. */
/*
 * xgemm-run measures it once after each start of the machine (tools/wake.c), and keeps it in the
 * user's cache folder. The cost depends on the machine and on how many threads wake, so a figure
 * counts only for the same start (the kernel's boot_id) and the same number of cores. One of 256
 * files has it, chosen by both, which bounds the folder: in a home that many machines share, a
 * machine may overwrite another one's figure.
 */
#ifndef XG_WAKE_H
#define XG_WAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Integers, because getenv reads them in the program's floating-point environment. */
struct xg_wake {
    uint64_t wake_ns;   /* that a parallel part takes longer if its threads have slept 2 ms */
    uint64_t ticks_khz; /* of OpenBLAS's clock (host/ticks.h) */
    uint64_t round_ps;  /* of libgomp's loop: one look at a word, and one pause of the processor */
    bool guest;         /* a virtual machine: another system decides when the cores run */
};

/* What the figure is valid for. */
struct xg_wake_key {
    char boot[48];
    int cores; /* of the calling thread's affinity mask, as OpenBLAS counts them */
};

enum { XG_WAKE_TEXT_BYTES = 192, XG_WAKE_PATH_BYTES = 1024 };

/* Returns false if the kernel does not say. Keeps errno, as do the other functions. */
bool xg_wake_key_init(struct xg_wake_key *key);

/* The file, below XDG_CACHE_HOME or HOME/.cache, which lookup(ctx, name) returns (getenv-like;
 * NULL: unset). Returns false if neither is absolute, or the path is too long. */
bool xg_wake_path(char path[XG_WAKE_PATH_BYTES], const struct xg_wake_key *key,
                  const char *(*lookup)(void *ctx, const char *name), void *ctx);

/* The file's text; returns its length. The second returns false, and leaves *wake unchanged, if the
 * text is anything else than the first prints for this key. Pure. */
size_t xg_wake_print(char text[XG_WAKE_TEXT_BYTES], const struct xg_wake_key *key,
                     const struct xg_wake *wake);
bool xg_wake_parse(const char *text, const struct xg_wake_key *key, struct xg_wake *wake);

/* Reads the kept figure. Returns false if there is none. Takes no lock and allocates nothing. */
bool xg_wake_load(struct xg_wake *wake, const char *(*lookup)(void *ctx, const char *name),
                  void *ctx);

#endif
