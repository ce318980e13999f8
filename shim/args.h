/* SPDX-License-Identifier: MIT */
/* The arguments of one call: as they arrived, checked as BLAS checks them, and normalised. */
#ifndef SHIM_ARGS_H
#define SHIM_ARGS_H

#include <stdint.h>

#include "signature.h"
#include "src/base/xg.h"
#include "symbols.h"

/* Fortran's integers come by address: those made here serve a library of either width. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "an int64_t must begin with its low half");

/* alpha or beta of the C interface, by its type: the operation's, or that of its parts. */
union shim_scalar {
    float s;
    double d;
    const void *c, *z; /* two numbers, real and imaginary part */
};

/*
 * struct shim_gemm_cblas, struct shim_gemm_fortran and so on: an operation's arguments as they were
 * passed. The lengths are what Fortran compilers append; garbage when C called.
 */
#define SHIM_STRUCTS(op, OP, context)                                                              \
    struct shim_##op##_cblas {                                                                     \
        int order;                                                                                 \
        SHIM_EACH(OP, SHIM_CBLAS_FIELD)                                                            \
    };                                                                                             \
    struct shim_##op##_fortran {                                                                   \
        SHIM_EACH(OP, SHIM_FORTRAN_FIELD) SHIM_EACH(OP, SHIM_LENGTH_FIELD)                         \
    };
#define SHIM_CBLAS_FIELD(role, name) SHIM_CBLAS_##role(union shim_scalar, union shim_scalar) name;
#define SHIM_FORTRAN_FIELD(role, name) SHIM_FORTRAN_##role name;
#define SHIM_LENGTH_FIELD(role, name) SHIM_LENGTH_##role(size_t name##_length;)
SHIM_OPERATIONS(SHIM_STRUCTS, )

struct shim_call {
    const struct shim_symbol *symbol; /* its op and interface say which of these it is */
    union {
#define SHIM_MEMBERS(op, OP, context)                                                              \
    struct shim_##op##_cblas op##_cblas;                                                           \
    struct shim_##op##_fortran op##_fortran;
        SHIM_OPERATIONS(SHIM_MEMBERS, )
#undef SHIM_MEMBERS
    };
};

struct shim_args {
    struct xg_problem problem; /* valid when illegal == 0; of several groups the first */
    struct xg_batch batch;     /* the problem's, where it has one */
    int illegal;    /* number of the first argument that the BLAS standard refuses, or 0 */
    bool extension; /* R or 114 (conjugate, not transposed): some libraries refuse it */
};

/* The dimensions of the normalised problem, unchecked, from integers of int_bytes (4 or 8). */
void shim_args_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                    int64_t *k);

/* Reads the call with integers of int_bytes (4 or 8) into *args. Follows no matrix pointer. */
void shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args);

/* A problem's scalars in its own type, as both interfaces take them. */
struct shim_numbers {
    union shim_number {
        float s, c[2];
        double d, z[2];
    } alpha, beta;
};

/*
 * The call of `symbol`, one of the problem's operation and type, that computes the problem. It
 * points into *problem and *numbers, which is written.
 */
void shim_args_write(const struct xg_problem *problem, const struct shim_symbol *symbol,
                     struct shim_numbers *numbers, struct shim_call *call);

/* By operation, and type of the C interface; last Fortran's, whose types are called alike. */
typedef void shim_forward_function(void (*function)(void), const struct shim_call *call);
extern shim_forward_function *const shim_forward[XG_OP_COUNT][XG_TYPE_COUNT + 1];

/* Whether there are libraries without the operation: what is not bound is made of others. */
bool shim_args_optional(enum xg_op op);

/* Whether shim_args_write knows the operation. */
bool shim_args_writable(enum xg_op op);

/* Passes the call on, argument for argument, to a function of its symbol's signature. */
static inline void shim_args_forward(void (*function)(void), const struct shim_call *call)
{
    const struct shim_symbol *symbol = call->symbol;
    int way = symbol->interface == SHIM_FORTRAN ? XG_TYPE_COUNT : (int)symbol->type;
    shim_forward[symbol->op][way](function, call);
}

/* What there is of each operation: the above for it alone, with *numbers already written. */
struct shim_operation {
    void (*size)(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n, int64_t *k);
    void (*read)(const struct shim_call *call, int int_bytes, struct shim_args *args);
    void (*write)(const struct xg_problem *problem, const struct shim_numbers *numbers,
                  struct shim_call *call); /* NULL: its calls are passed on, or not made */
    bool optional;
};

/* shim_gemm and so on, each in the file of its name, or of that of which it has the arguments. */
#define SHIM_DECLARE(op, OP, context) extern const struct shim_operation shim_##op;
SHIM_OPERATIONS(SHIM_DECLARE, )
#undef SHIM_DECLARE

#endif
