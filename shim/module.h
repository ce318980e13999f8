/* SPDX-License-Identifier: MIT */
/* Which loaded object an address lies in, told without the dynamic linker's lock, and whether an
 * object that was seen earlier is still the one that lies there. */
#ifndef SHIM_MODULE_H
#define SHIM_MODULE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * An object where it is mapped. What is remembered of one must die with it: another one may be
 * mapped at its address later, under the same name and with the same link map. So an object is
 * known by its place and by what lies at its beginning: the linker's hash of its contents (build
 * id), and where there is none the first kilobyte, headers and symbols. A second copy of the same
 * file passes for the first one, which has the same code.
 */
struct shim_module {
    uintptr_t begin, end; /* of what is mapped; begin 0: no object (code made at run time) */
    uint64_t mark;        /* hash of what lies at the beginning */
    uint16_t mark_at, mark_words;
};

/* The path of an object that a call is in, while it is; "" for the program. A string of the dynamic
 * linker's. NULL: the address is in no object. From any thread, without a lock on glibc >= 2.35. */
const char *shim_module_name(const void *address);

/*
 * The object that the address lies in; begin is 0 where it is in none. mark is not set. Some ten
 * nanoseconds, no lock, on glibc >= 2.35; before, the lock of dl_iterate_phdr, which is never held
 * while constructors run. From any thread.
 */
void shim_module_find(const void *address, struct shim_module *out);

/* The dynamic linker's struct link_map of the object that the address lies in; NULL: none, or a
 * glibc before 2.35. As above. */
const void *shim_module_map(const void *address);

/* Whether the address lies in what is mapped of the object. */
static inline bool shim_module_contains(const struct shim_module *module, uintptr_t address)
{
    return address - module->begin < module->end - module->begin;
}

/* Whether both addresses lie in one object; as shim_module_find. */
bool shim_module_holds(const void *address, const void *other);

/* Takes the mark of a module that shim_module_find gave, while it cannot be unloaded. */
void shim_module_mark(struct shim_module *module);

/* Whether `now`, from shim_module_find, is the object that `marked` was. Neither may be unloaded
 * meanwhile. */
bool shim_module_same(const struct shim_module *marked, const struct shim_module *now);

#endif
