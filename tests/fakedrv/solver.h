/* SPDX-License-Identifier: MIT */
/*
 * The fake cuSOLVER's rooms: a call as data (cusolver.c and cusolver_typed.c make it from NVIDIA's
 * arguments), checked and queued (solver_call.c), computed (solver_run.c) by a reference LAPACK
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

/* By columns. */
struct solver_operand {
    void *data; /* a device address until the call is resolved */
    int64_t rows, columns, ld;
    size_t bytes; /* of an element; 0: the call has no such operand */
    bool input;   /* only read */
};

/* A letter that an enum of NVIDIA's does not name. */
enum { SOLVER_ILLEGAL = '?' };

struct solver_call {
    const char *name;
    enum solver_routine routine;
    enum xg_type type;
    bool legal;                   /* its types fit, its pointers for the host are there */
    bool typed;                   /* workspace in elements, and none on the host */
    char side, uplo, trans, diag; /* LAPACK's letters; 0: the routine has none */
    char job, job_v;              /* of vectors; job_v: of VT, VR */
    bool econ;                    /* of GESVDP */
    bool complex_values;          /* of GEEV of a real matrix */
    int itype;                    /* of SYGVD */
    int64_t m, n, k;              /* k: also right-hand sides */
    struct solver_operand operands[SOLVER_OPERANDS];
    void *work, *host_work;
    size_t work_bytes, host_bytes;
    int *info;
    /* Of GESVDP, which returns when it has run. */
    double *err_sigma;
    int *status;
};

/* LAPACK's letter for a member of an enum of NVIDIA's that counts from 0. */
char solver_letter(const char *letters, int value);

/* An xg_type for a cudaDataType; XG_TYPE_COUNT where there is none. */
enum xg_type solver_type(int cuda_type);

struct solver_operand solver_matrix(const void *data, int64_t rows, int64_t columns, int64_t ld,
                                    enum xg_type type);
struct solver_operand solver_input(const void *data, int64_t rows, int64_t columns, int64_t ld,
                                   enum xg_type type);
struct solver_operand solver_vector(const void *data, int64_t count, enum xg_type type);

/* What the call needs; all these functions return a status, are one to the driver's call counts and
 * faults by their name, and set the outputs only on success. */
int solver_sizes(struct cusolverDnContext *handle, const struct solver_call *call, size_t *device,
                 size_t *host);
/* The same of a typed function, in elements. */
int solver_lwork(struct cusolverDnContext *handle, const struct solver_call *call, int *lwork);
/* Queues a copy of the call; ends the test where operands or workspaces are not what it needs. */
int solver_queue(struct cusolverDnContext *handle, const struct solver_call *call);

/* solver_lapack.c. Once a process; false where there is no LAPACK. Not under the fake's lock. */
bool solver_lapack_open(void);
/* Its function, of Fortran's parameters. */
typedef void (*solver_function)(void);
solver_function solver_lapack(enum solver_routine routine, enum xg_type type);

/* solver_run.c. Computes a call whose operands are host addresses, on the thread of the streams. */
void solver_run(void *call);

#endif
