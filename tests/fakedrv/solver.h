/* SPDX-License-Identifier: MIT */
/*
 * The parts of the fake cuSOLVER: a call as data, made from NVIDIA's arguments (cusolver.c),
 * checked and queued (solver_call.c), and computed (solver_run.c) by a reference LAPACK
 * (solver_lapack.c).
 */
#ifndef SOLVER_H
#define SOLVER_H

#include "cusolver.h"
#include "fake.h"

struct cusolverDnContext {
    CUstream stream;
};

enum solver_routine {
    SOLVER_POTRF,
    SOLVER_POTRS,
    SOLVER_POTRI,
    SOLVER_GETRF,
    SOLVER_GETRS,
    SOLVER_GEQRF,
    SOLVER_ORGQR,
    SOLVER_ORMQR,
    SOLVER_SYEVD,
    SOLVER_SYGVD,
    SOLVER_GESVD,
    SOLVER_GESVDP,
    SOLVER_GEEV,
    SOLVER_TRTRI,
    SOLVER_ROUTINES
};

/* The operands that a routine may have. */
enum {
    SOLVER_A,
    SOLVER_B, /* also C of ORMQR */
    SOLVER_U,
    SOLVER_V,      /* also VT, VR */
    SOLVER_VECTOR, /* S, W, tau */
    SOLVER_PIVOTS,
    SOLVER_OPERANDS
};

/* Stored by columns. */
struct solver_operand {
    void *data; /* a device address until the call is resolved */
    int64_t rows, columns, ld;
    size_t bytes; /* of an element; 0: the call lacks this operand */
    bool input;   /* only read */
};

/* The letter for a value that NVIDIA's enum lacks. */
enum { SOLVER_ILLEGAL = '?' };

struct solver_call {
    const char *name;
    enum solver_routine routine;
    enum xg_type type;
    bool legal;                   /* its types agree, and its host pointers are not NULL */
    bool typed;                   /* the workspace counts elements, and none is on the host */
    char side, uplo, trans, diag; /* LAPACK's letters; 0: the routine has no such argument */
    char job, job_v;              /* whether vectors are wanted; job_v: VT, VR */
    bool econ;                    /* GESVDP */
    bool complex_values;          /* GEEV of a real matrix */
    int itype;                    /* SYGVD */
    int64_t m, n, k;              /* k: also the number of right-hand sides */
    struct solver_operand operands[SOLVER_OPERANDS];
    void *work, *host_work;
    size_t work_bytes, host_bytes;
    int *info;
    /* GESVDP returns after it has run. */
    double *err_sigma;
    int *status;
};

/* LAPACK's letter for a value of one of NVIDIA's enums, which count from 0. */
char solver_letter(const char *letters, int value);

/* The xg_type of a cudaDataType, or XG_TYPE_COUNT. */
enum xg_type solver_type(int cuda_type);

struct solver_operand solver_matrix(const void *data, int64_t rows, int64_t columns, int64_t ld,
                                    enum xg_type type);
struct solver_operand solver_input(const void *data, int64_t rows, int64_t columns, int64_t ld,
                                   enum xg_type type);
struct solver_operand solver_vector(const void *data, int64_t count, enum xg_type type);

/* The sizes of the call's workspaces. All these functions return a status, count as driver calls
 * and fail by their name, and set the outputs only on success. */
int solver_sizes(struct cusolverDnContext *handle, const struct solver_call *call, size_t *device,
                 size_t *host);
/* The same for a typed function, in elements. */
int solver_lwork(struct cusolverDnContext *handle, const struct solver_call *call, int *lwork);
/* Queues a copy of the call; ends the test if operands or workspaces are too small or misplaced. */
int solver_queue(struct cusolverDnContext *handle, const struct solver_call *call);

/* solver_lapack.c. Opens LAPACK once in the process; false: there is none. The lock is not held. */
bool solver_lapack_open(void);
/* Its function, with Fortran's parameters. */
typedef void (*solver_function)(void);
solver_function solver_lapack(enum solver_routine routine, enum xg_type type);

/* solver_run.c. Computes a call with host addresses, on the thread that executes streams. */
void solver_run(void *call);

#endif
