/* SPDX-License-Identifier: MIT */
/* A function of a real BLAS in the process: judged, kept loaded, and called. */
#ifndef SHIM_BLAS_H
#define SHIM_BLAS_H

#include "args.h"
#include "module.h"
#include "scope.h"
#include "threads.h"

struct shim_blas {
    void (*function)(
        void); /* NULL: there is none, and the built-in loop of src/verify/cpu.h serves */
    const struct shim_symbol *symbol; /* the name that it was found under */
    int int_bytes;                    /* of its integers: 4 or 8 */
    struct shim_threads threads;      /* once it is kept */
};

/*
 * How far a candidate is from what a call needs. Below SHIM_FORWARDS the call can be passed on
 * argument for argument; from there on it is translated.
 */
enum {
    SHIM_OTHER_NAME = 1,
    SHIM_FORWARDS = 2,
    SHIM_OTHER_INTERFACE = 2,
    SHIM_OTHER_WIDTH = 4,
    SHIM_NOTHING = 8, /* more than any sum of the above */
};

/*
 * Takes an address that a look-up of symbol gave. False, with *blas untouched, when it is no real
 * BLAS's: NULL, this library, or another copy of it. From any thread.
 */
bool shim_blas_accept(void *address, const struct shim_symbol *symbol, struct shim_blas *blas);

/* The same for what shim_scope_find gave; does not ask the dynamic linker. */
bool shim_blas_accept_scope(const struct shim_scope *scope, const struct shim_symbol *symbol,
                            struct shim_blas *blas);

/* How far a function of the symbol's routine is from the symbol with integers of int_bytes. */
int shim_blas_distance(const struct shim_blas *blas, const struct shim_symbol *symbol,
                       int int_bytes);

/*
 * Looks in a dlopen handle for the spelling of the symbol's routine that is nearest to it with
 * integers of int_bytes, and takes it into *blas when it is nearer than `best`. Returns the
 * distance of what *blas now holds.
 */
int shim_blas_search(void *handle, const struct shim_symbol *symbol, int int_bytes, int best,
                     struct shim_blas *blas);

/*
 * Holds one reference to the function's library for good, for addresses are cached and must not
 * dangle, and finds what says how many threads it computes with.
 */
void shim_blas_keep(struct shim_blas *blas);

/* The file that the function lies in, without the dynamic linker's lock; valid while the function
 * is. */
const char *shim_blas_file(const struct shim_blas *blas);

/* Passes the call on argument for argument. Same interface and same width only (see
 * SHIM_FORWARDS). */
void shim_blas_forward(const struct shim_blas *blas, const struct shim_call *call);

/* Computes any normalised problem of the function's operation and type, in the built-in loop where
 * there is none, or where the problem's integers do not fit it. */
void shim_blas_compute(const struct shim_blas *blas, const struct xg_problem *p);

#endif
