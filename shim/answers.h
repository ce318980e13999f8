/* SPDX-License-Identifier: MIT */
/* What is remembered of the objects that call: which BLAS each of them is bound to. */
#ifndef SHIM_ANSWERS_H
#define SHIM_ANSWERS_H

#include "next.h"

/* All of it dies with one of these objects. */
struct shim_answer {
    uint64_t key;               /* of the caller and the name; not 0 */
    struct shim_module caller;  /* what the call seems to come from */
    struct shim_module owner;   /* what it does come from; begin 0: the same */
    struct shim_module library; /* begin 0: it stays loaded */
    struct shim_next next;
};

/*
 * The answer that was kept for the key. False, with *out undefined: there is none, or it is being
 * written. Whether its objects are still those that were there then is the caller's to find out.
 * From any thread; takes no lock, makes no system call.
 */
bool shim_answers_find(uint64_t key, struct shim_answer *out);

/*
 * Keeps an answer, in place of one with the same key or of another one where there are too many.
 * Nothing is kept where another thread writes to the same place. From any thread; takes no lock,
 * and what a thread began to write that is not there in a forked child, however that was made,
 * holds up nobody in it.
 */
void shim_answers_keep(const struct shim_answer *answer);

#endif
