/* SPDX-License-Identifier: MIT */
/* A function of a real BLAS in the process: checks it, keeps it loaded, and calls it. */
#ifndef SHIM_BLAS_H
#define SHIM_BLAS_H

#include "args.h"
#include "module.h"
#include "scope.h"
#include "threads.h"

struct shim_blas {
    void (*function)(
        void); /* NULL: there is none, and the built-in loop of src/reference/cpu.h serves */
    const struct shim_symbol *symbol; /* the name under which it was found */
    int int_bytes;                    /* bytes of its integers: 4 or 8 */
    bool trampoline;                  /* it is a function of libblastrampoline (trampoline.h) */
    struct shim_threads threads;      /* set by shim_blas_keep or shim_blas_accept_scope */
};

/* The distance between a candidate and what a call needs. Below SHIM_FORWARDS the call can be
 * passed on argument for argument; from there on it is translated. */
enum {
    SHIM_OTHER_NAME = 1,
    SHIM_FORWARDS = 2,
    SHIM_OTHER_INTERFACE = 2,
    SHIM_OTHER_WIDTH = 4,
    SHIM_NOTHING = 8, /* more than any sum of the above */
};

/* Takes an address that a look-up of symbol returned. Returns false, with *blas untouched, if it is
 * no real BLAS function: NULL, this library, or another copy of it. Callable from any thread. */
bool shim_blas_accept(void *address, const struct shim_symbol *symbol, struct shim_blas *blas);

/* Does the same for an address whose integers have the symbol's width, whatever its library is. */
bool shim_blas_accept_as(void *address, const struct shim_symbol *symbol, struct shim_blas *blas);

/* Does the same with a result of shim_scope_find; does not ask the dynamic linker. */
bool shim_blas_accept_scope(const struct shim_scope *scope, const struct shim_symbol *symbol,
                            struct shim_blas *blas);

/* Distance of a function of the symbol's routine from the symbol with integers of int_bytes. */
int shim_blas_distance(const struct shim_blas *blas, const struct shim_symbol *symbol,
                       int int_bytes);

/*
 * Searches a dlopen handle for the spelling of the symbol's routine that is nearest to it with
 * integers of int_bytes, and copies it to *blas if it is nearer than `best`. Returns the distance
 * of the function that *blas then holds. Takes no function of libblastrampoline, because that may
 * lead to this library later.
 */
int shim_blas_search(void *handle, const struct shim_symbol *symbol, int int_bytes, int best,
                     struct shim_blas *blas);

/* Keeps one reference to the function's library forever, because addresses are cached and must not
 * dangle. Also finds the functions that report the library's number of threads. */
void shim_blas_keep(struct shim_blas *blas);

/* The file that contains the function; NULL: there is no function. Takes no lock of the dynamic
 * linker; valid while the function is. */
const char *shim_blas_file(const struct shim_blas *blas);

/* The threads of a product (shim_threads_count), and their owner. The built-in loop computes on the
 * caller's thread alone. */
int shim_blas_threads(const struct shim_blas *blas, const struct xg_problem *problem);
enum shim_pool shim_blas_pool(const struct shim_blas *blas);

/* Passes the call on argument for argument, and returns a routine's result. Interface and integer
 * width must match (see SHIM_FORWARDS). */
int shim_blas_forward(const struct shim_blas *blas, const struct shim_call *call);

/* Computes any normalised problem of the function's operation and type. Uses the built-in loop if
 * there is no function, or if the problem's integers do not fit its integers. */
void shim_blas_compute(const struct shim_blas *blas, const struct xg_problem *problem);

#endif
