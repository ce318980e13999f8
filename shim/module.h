/* SPDX-License-Identifier: MIT */
/* Finds the loaded object that contains an address, without the dynamic linker's lock, and whether
 * an object seen earlier still lies at its address. */
#ifndef SHIM_MODULE_H
#define SHIM_MODULE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * An object and its mapping. Data about an object must not outlive it: later another object may be
 * mapped at its address, under the same name and with the same link map. So an object is identified
 * by its address and by the bytes at its beginning: the linker's hash of its contents (build id)
 * or, without one, the first kilobyte, with headers and symbols. A second copy of the same file
 * counts as the first one; it has the same code.
 */
struct shim_module {
    uintptr_t begin, end; /* bounds of the mapping; begin 0: no object (code made at run time) */
    uint64_t mark;        /* hash of the bytes at the beginning */
    uint16_t mark_at, mark_words;
};

/* The path of the object that contains the address, while a call is in it; "" for the program, NULL
 * for no object. A string of the dynamic linker. No lock on glibc >= 2.35; from any thread. */
const char *shim_module_name(const void *address);

/*
 * Finds the object that contains the address; begin is 0 if none does. Does not set mark. Takes
 * some ten nanoseconds and no lock on glibc >= 2.35; before, it takes the lock of dl_iterate_phdr,
 * which is never held while constructors run. Callable from any thread.
 */
void shim_module_find(const void *address, struct shim_module *out);

/* The dynamic linker's struct link_map of the object that contains the address; NULL: there is
 * none, or glibc is older than 2.35. Otherwise like shim_module_find. */
const void *shim_module_map(const void *address);

/* Whether the address lies in the object's mapping. */
static inline bool shim_module_contains(const struct shim_module *module, uintptr_t address)
{
    return address - module->begin < module->end - module->begin;
}

/* Whether both addresses lie in one object; runs like shim_module_find. */
bool shim_module_holds(const void *address, const void *other);

/* Sets the mark of a module from shim_module_find. The object must stay loaded meanwhile. */
void shim_module_mark(struct shim_module *module);

/* Whether `now`, from shim_module_find, is the same object as `marked`. Neither may be unloaded
 * meanwhile. */
bool shim_module_same(const struct shim_module *marked, const struct shim_module *now);

#endif
