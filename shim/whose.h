/* SPDX-License-Identifier: MIT */
/* Finds the object that a call came from if its return address does not tell. */
#ifndef SHIM_WHOSE_H
#define SHIM_WHOSE_H

#include <stdint.h>

#include "module.h"

/*
 * The registers at this thread's last entry, indexed by their numbers in machine code: the
 * registers through which a call may go when all argument registers are taken. The entries
 * (entries.c) write them, on x86-64 only, before the compiler's code uses them. The place of %rcx
 * holds the second word below the stack.
 */
extern _Thread_local uintptr_t shim_entered[16] __attribute__((tls_model("initial-exec")));

/*
 * Returns an address in the object that made the call that returns to `returns`, and sets *module
 * to that object.
 *
 * A function that ends in a call may end in a jump instead (for example a wrapper compiled with -O2
 * that ends in `jmp dgemm_@plt`). Then the return address lies in the wrapper's caller. So this
 * function reads the instruction before the return address to find what it called, and follows
 * jumps from there while the code only jumps. The last jump, which leads here, belongs to the
 * caller. If the jumps end in other code, that code counts as the caller. If the called function is
 * unknown or ours, the result is the return address. If the dynamic linker has just bound the
 * reference for this call, its link map identifies the caller.
 *
 * Only for the thread that was just entered. Takes no lock; makes a system call if the call went
 * through memory that a register addresses. On machines other than x86-64 it returns `returns`.
 */
const void *shim_whose(const void *returns, struct shim_module *module);

/* The target of code that only jumps, as the memory that it jumps through says now. NULL: the code
 * does something else, or the machine is not x86-64. */
const void *shim_whose_jump(const void *code);

/*
 * True if a call, by its frame and the object that made it, comes from inside an outer call. False
 * if its frame is no deeper, or if the same object made both: then the thread has left the outer
 * call, for example by siglongjmp from a signal handler.
 */
bool shim_whose_is_inside(const char *frame, const void *caller, const char *outer_frame,
                          const void *outer_caller);

#endif
