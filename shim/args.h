/* SPDX-License-Identifier: MIT */
/* The arguments of one call of BLAS or LAPACK: as passed, checked, and as the engine takes them. */
#ifndef SHIM_ARGS_H
#define SHIM_ARGS_H

#include <stdint.h>

#include "signature.h"
#include "src/base/xg.h"
#include "symbols.h"

/* Fortran passes integers by address; the address of an int64_t serves a library of either
 * width. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "an int64_t must begin with its low half");

/* alpha or beta of the C interface, in the operation's type or in that of its real part. */
union shim_scalar {
    float s;
    double d;
    const void *c, *z; /* two numbers, real and imaginary part */
};

/* struct shim_gemm_cblas, struct shim_gemm_fortran and so on hold an operation's arguments as they
 * were passed. Fortran compilers append the lengths; they are garbage if C called. */
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

enum { SHIM_WORDS_MOST = 26 };

struct shim_call {
    const struct shim_symbol *symbol; /* its op and interface select a member */
    union {
#define SHIM_MEMBERS(op, OP, context)                                                              \
    struct shim_##op##_cblas op##_cblas;                                                           \
    struct shim_##op##_fortran op##_fortran;
        SHIM_OPERATIONS(SHIM_MEMBERS, )
#undef SHIM_MEMBERS
        uintptr_t words[SHIM_WORDS_MOST]; /* of LAPACK */
#define SHIM_MEMBER(list, ...) struct shim_##list list;
        SHIM_LISTS(SHIM_MEMBER)
#undef SHIM_MEMBER
    };
};

struct shim_args {
    union { /* valid if illegal == 0 */
        struct {
            struct xg_problem problem; /* of several groups, the first */
            struct xg_batch batch;     /* the problem's batch, if it has one */
        };
        struct xg_routine routine; /* of LAPACK's names */
    };
    int illegal;    /* number of the first argument that the BLAS standard forbids, or 0; of
                     * LAPACK's names 1 if the caller's library must decide */
    bool extension; /* R or 114 (conjugate, not transposed): some libraries reject it; a GEMV that
                     * only libraries and the built-in loop compute */
};

/* Gets the dimensions of the normalised problem, or those of a routine's A and 0, unchecked, from
 * integers of int_bytes (4 or 8). */
void shim_args_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                    int64_t *k);

/* Reads the call with integers of int_bytes (4 or 8) into *args. Follows no matrix pointer. */
void shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args);

/* A scalar and its type, which is the operation's or that of its real part. */
struct shim_scalar_at {
    const void *at;
    enum xg_type type;
};

/* The arguments of any call in the terms of the BLAS standard, unchecked. Letters are in upper
 * case. A field is 0 if the operation lacks the argument, or if a number of the C interface means
 * no letter. */
struct shim_terms {
    enum xg_op op;
    enum xg_type type;
    bool cblas; /* order was passed, and counts as the first argument */
    int order;  /* as passed; 102 for Fortran */
    char side, uplo, diag;
    union {
        char transa, trans;
    };
    char transb;
    int64_t m, n, k, lda, ldb, ldc, stridea, strideb, stridec, batch_size;
    struct shim_scalar_at alpha, beta;
    const void *a, *b, *c;
    void *result; /* the operand among a, b and c that is written */
    /* GEMM_BATCH's arrays as passed: the C interface has numbers instead of letters. */
    const void *transa_array, *transb_array, *m_array, *n_array, *k_array;
    const void *lda_array, *ldb_array, *ldc_array, *alpha_array, *beta_array, *group_size;
    const void *const *a_array, *const *b_array;
    void *const *c_array;
    int64_t group_count;
};

/* The memory to which a call of shim_args_write points. */
struct shim_written {
    struct shim_terms terms;
    union shim_number {
        float c[2];
        double z[2];
    } alpha, beta; /* in the operation's type, as both interfaces accept them */
};

/* Whether shim_args_write can: Fortran has no GEMV with a conjugate that is not transposed, and no
 * call computes one as dot products. */
bool shim_args_can_write(const struct xg_problem *problem, const struct shim_symbol *symbol);

/* Writes the call of `symbol` that computes the problem, stored by columns unless only the rows
 * have a call; `symbol` has the problem's operation and type. Fills *written, which must live as
 * long as the call. */
void shim_args_write(const struct xg_problem *problem, const struct shim_symbol *symbol,
                     struct shim_written *written, struct shim_call *call);

/* Indexed by a symbol's op and the type of the C interface; the last entry is Fortran's for all
 * types. */
typedef int shim_forward_function(void (*function)(void), const struct shim_call *call);
extern shim_forward_function *const shim_forward[SHIM_OP_COUNT][XG_TYPE_COUNT + 1];

/* Whether some libraries lack the operation. Other operations then compute it for callers that are
 * not bound to it. */
bool shim_args_optional(int op);

/* Whether shim_args_write knows the operation. */
bool shim_args_writable(int op);

/* Passes the call on, argument for argument, to a function with its symbol's signature. Returns the
 * result of a routine: OpenBLAS's and f2c's return 0, which a C program may read; Fortran's return
 * nothing. */
static inline int shim_args_forward(void (*function)(void), const struct shim_call *call)
{
    const struct shim_symbol *symbol = call->symbol;
    int way = symbol->interface == SHIM_FORTRAN ? XG_TYPE_COUNT : (int)symbol->type;
    return shim_forward[symbol->op][way](function, call);
}

#endif
