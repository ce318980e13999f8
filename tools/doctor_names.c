/* SPDX-License-Identifier: MIT */
/* Sets of names, and a hash table of all names. */
#include "doctor_names.h"

#include <stdio.h>
#include <string.h>

enum { SLOTS = 2048, SHOWN = 3 };
_Static_assert(SLOTS > 2 * SHIM_ID_COUNT, "a search ends soon at an empty slot");

/* The slot of a name, or the empty slot in which it belongs. An entry is 1 + an id; 0: empty. */
static size_t slot_of(const short slots[SLOTS], const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    size_t slot = hash % SLOTS;
    while (slots[slot] && strcmp(shim_symbols[slots[slot] - 1].name, name) != 0)
        slot = (slot + 1) % SLOTS;
    return slot;
}

int doctor_names_find(const char *name)
{
    static short slots[SLOTS];
    static bool filled;
    for (int id = 0; !filled && id < SHIM_ID_COUNT; id++)
        slots[slot_of(slots, shim_symbols[id].name)] = (short)(id + 1);
    filled = true;
    return slots[slot_of(slots, name)] - 1;
}

int doctor_names_find_unseen(const char *name)
{
    char fortran[64];
    size_t length = strlen(name);
    if (length == 0 || length > sizeof fortran - 2)
        return -1;
    for (size_t i = 0; i <= length; i++)
        fortran[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    if (fortran[length - 1] != '_')
        memcpy(fortran + length, "_", 2);
    return doctor_names_find(name) < 0 ? doctor_names_find(fortran) : -1;
}

void doctor_names_add(struct doctor_names *names, int id)
{
    if (id >= 0)
        names->words[id / 64] |= UINT64_C(1) << id % 64;
}

void doctor_names_join(struct doctor_names *names, const struct doctor_names *others)
{
    for (size_t i = 0; i < sizeof names->words / sizeof names->words[0]; i++)
        names->words[i] |= others->words[i];
}

void doctor_names_remove(struct doctor_names *names, const struct doctor_names *others)
{
    for (size_t i = 0; i < sizeof names->words / sizeof names->words[0]; i++)
        names->words[i] &= ~others->words[i];
}

int doctor_names_next(const struct doctor_names *names, int id)
{
    while (id < SHIM_ID_COUNT && !(names->words[id / 64] >> id % 64 & 1))
        id++;
    return id;
}

bool doctor_names_any(const struct doctor_names *names)
{
    return doctor_names_next(names, 0) < SHIM_ID_COUNT;
}

bool doctor_names_blas(const struct doctor_names *names)
{
    return doctor_names_next(names, 0) < SHIM_BLAS_COUNT;
}

bool doctor_names_lapack(const struct doctor_names *names)
{
    return doctor_names_next(names, SHIM_BLAS_COUNT) < SHIM_ID_COUNT;
}

bool doctor_names_meet(const struct doctor_names *names, const struct doctor_names *others)
{
    uint64_t common = 0;
    for (size_t i = 0; i < sizeof names->words / sizeof names->words[0]; i++)
        common |= names->words[i] & others->words[i];
    return common != 0;
}

void doctor_names_remove_kinds(struct doctor_names *names, const struct doctor_names *others)
{
    bool blas = doctor_names_blas(others), lapack = doctor_names_lapack(others);
    for (int id = doctor_names_next(names, 0); id < SHIM_ID_COUNT;
         id = doctor_names_next(names, id + 1))
        if (id < SHIM_BLAS_COUNT ? blas : lapack)
            names->words[id / 64] &= ~(UINT64_C(1) << id % 64);
}

void doctor_names_text(const struct doctor_names *names, char *text, size_t size)
{
    size_t at = 0;
    int count = 0;
    text[0] = '\0';
    for (int id = doctor_names_next(names, 0); id < SHIM_ID_COUNT;
         id = doctor_names_next(names, id + 1))
        if (count++ < SHOWN && at < size) {
            snprintf(text + at, size - at, "%s%s", at ? ", " : "", shim_symbols[id].name);
            at += strlen(text + at);
        }
    if (count > SHOWN && at < size)
        snprintf(text + at, size - at, " and %d other%s", count - SHOWN,
                 count == SHOWN + 1 ? "" : "s");
}
