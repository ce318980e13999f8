/* SPDX-License-Identifier: MIT */
/* Remembers the BLAS that each calling object is bound to. */
#ifndef SHIM_ANSWERS_H
#define SHIM_ANSWERS_H

#include "next.h"

/* An answer is invalid once one of these objects is unloaded, or in another turn. */
struct shim_answer {
    uint64_t key;               /* of the caller and the name; not 0 */
    uint64_t turn;              /* shim_trampoline_turn when the search began */
    struct shim_module caller;  /* the object that the call seems to come from */
    struct shim_module owner;   /* the object that called; begin 0: the same as caller */
    struct shim_module library; /* the library found; begin 0: it stays loaded */
    struct shim_next next;
};

/*
 * Gets the answer kept for the key. Returns false, with *out undefined, if there is none or a
 * thread is writing it. The caller must check that its objects are still the same. Callable from
 * any thread; takes no lock and makes no system call.
 */
bool shim_answers_find(uint64_t key, struct shim_answer *out);

/*
 * Keeps an answer. It replaces one with the same key, or another one if there are too many. Keeps
 * nothing if another thread writes to the same slot. Callable from any thread; takes no lock. In a
 * forked child, however it was made, an unfinished write of a thread of the parent blocks no
 * thread.
 */
void shim_answers_keep(const struct shim_answer *answer);

#endif
