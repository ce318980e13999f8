/* SPDX-License-Identifier: MIT */
/* Which object a call came from, where the return address does not tell. */
#ifndef SHIM_WHOSE_H
#define SHIM_WHOSE_H

#include <stdint.h>

#include "module.h"

/*
 * The registers with which this thread entered last, by their numbers in the machine's code.
 * Written by the entries (entries.c), of x86-64 alone, before the compiler's code has used them:
 * those that a call may go through when all that pass arguments are taken. In the place of %rcx is
 * what lay in the second word below the stack.
 */
extern _Thread_local uintptr_t shim_entered[16] __attribute__((tls_model("initial-exec")));

/*
 * An address in the object that called us, of a call that returns to `returns`, and that object.
 *
 * A function that ends in a call may end in a jump instead (a wrapper compiled with -O2, whose last
 * act is `jmp dgemm_@plt`): then the return address lies in whatever called the wrapper. So the
 * instruction before the return address is read: which function did it call? From there jumps are
 * followed, for as long as there is nothing else: the last one, which leads here, is the caller's.
 * Where they end in other code, that is taken for the caller's; where it cannot be told what was
 * called, or that was us, the return address. A call for which the dynamic linker has just bound
 * the reference tells itself whose that is.
 *
 * For the thread that was just entered. Takes no lock; makes a system call where the function was
 * called through memory that another register than the instruction pointer points to. On other
 * machines than x86-64 it is the return address.
 */
const void *shim_whose(const void *returns, struct shim_module *module);

#endif
