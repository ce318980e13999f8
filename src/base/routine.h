/* SPDX-License-Identifier: MIT */
/* A call of a LAPACK routine as data: the routine, its sizes and its operands in host memory. */
#ifndef XG_ROUTINE_H
#define XG_ROUTINE_H

#include "base/problem.h"

/* The routines that the engine computes; each has a row in routine.c. */
enum xg_routine_name {
    XG_ROUTINE_POTRF, /* A = L Lᴴ or Uᴴ U */
    XG_ROUTINE_POTRS, /* A X = B from potrf's factor */
    XG_ROUTINE_POSV,  /* both */
    XG_ROUTINE_POTRI, /* the inverse from potrf's factor */
    XG_ROUTINE_GETRF, /* A = P L U */
    XG_ROUTINE_GETRS, /* op(A) X = B from getrf's factors */
    XG_ROUTINE_GESV,  /* both, op(A) = A */
    XG_ROUTINE_GETRI, /* the inverse from getrf's factors */
    XG_ROUTINE_TRTRI, /* the inverse of a triangle */
    XG_ROUTINE_GEQRF, /* A = Q R */
    XG_ROUTINE_ORGQR, /* the first columns of geqrf's Q; UNGQR for complex types */
    XG_ROUTINE_ORMQR, /* B = op(Q) B or B op(Q); UNMQR for complex types */
    XG_ROUTINE_GELS,  /* X of the least || A X - B ||; m >= n, A has full rank */
    XG_ROUTINE_GELSD, /* for least squares: A = Q R and Qᴴ B; m >= n */
    XG_ROUTINE_GELSS, /* the same */
    XG_ROUTINE_SYEVD, /* eigenvalues, and vectors, of a symmetric or Hermitian A */
    XG_ROUTINE_SYGVD, /* the same of A x = w B x */
    XG_ROUTINE_GEEV,  /* eigenvalues, and right eigenvectors, of any square A */
    XG_ROUTINE_GESDD, /* singular values, and vectors, of A */
    XG_ROUTINE_COUNT
};

/*
 * The operands of all routines. Matrices are column-major.
 *
 * - A, B: as in LAPACK.
 * - U: GESDD's left singular vectors, (m, m) or (m, min(m, n)). SYEVD and SYGVD: the eigenvectors,
 *   n rows and a column for each of W's values; n of them may be written over A. GELSD's and
 *   GELSS's R, (n, n), of which only the upper triangle is written.
 * - V: GESDD's right singular vectors as rows, LAPACK's VT: (n, n) or (min(m, n), n). GEEV's
 *   eigenvectors, (n, n); of a real A a conjugate pair has two columns, as in LAPACK. GELSD's and
 *   GELSS's Qᴴ B. Their R and Qᴴ B lie in A and B, until pipeline/least_squares.h lends memory.
 * - TAU: the scalar factors of Q's reflectors.
 * - PIVOTS: integers of pivot_bytes.
 * - W: eigenvalues or singular values, which are complex for GEEV of a complex A, else real.
 * - WI: the imaginary parts of GEEV's eigenvalues of a real A; W holds the real parts.
 */
enum xg_slot {
    XG_SLOT_A,
    XG_SLOT_B,
    XG_SLOT_U,
    XG_SLOT_V,
    XG_SLOT_TAU,
    XG_SLOT_PIVOTS,
    XG_SLOT_W,
    XG_SLOT_WI,
    XG_SLOT_COUNT
};

/* A column-major matrix, ld >= rows; a vector has one column. */
struct xg_matrix {
    void *at; /* NULL: the call has no such operand */
    int64_t rows, columns, ld;
};

/* The vectors that GESDD writes. */
enum xg_vectors { XG_VECTORS_NONE, XG_VECTORS_THIN /* min(m, n) of each */, XG_VECTORS_ALL };

/* The arguments have been checked as LAPACK requires, and m, n, k >= 1. */
struct xg_routine {
    enum xg_routine_name name;
    enum xg_type type;
    enum xg_uplo uplo;       /* of a triangular or symmetric A */
    bool unit;               /* TRTRI: ones stand for A's diagonal */
    enum xg_trans trans;     /* GETRS, ORMQR */
    bool right;              /* ORMQR: B op(Q) */
    enum xg_vectors vectors; /* SYEVD, SYGVD, GEEV: none or all */
    bool polar;              /* GESDD: declined where only gesvd is exact */
    int itype;               /* SYGVD: 1 to 3, as LAPACK's */
    bool rotates;            /* SYEVD, GESDD: the caller's routine is SYEV or GESVD */
    int64_t first;           /* SYEVD: the number of W's first value, from 0, in ascending order */
    int64_t m, n;            /* of A; ORMQR: of B */
    int64_t k;               /* right-hand sides; ORGQR, ORMQR: reflectors */
    struct xg_matrix operand[XG_SLOT_COUNT];
    double rcond;    /* GELSD, GELSS */
    void *rank;      /* GELSD, GELSS: the result, of pivot_bytes; NULL: R and Qᴴ B suffice */
    bool decomposes; /* with a rank: the device also computes R's singular values */
    int pivot_bytes; /* 4 or 8 */
};

/* How an operand lies in device memory. */
enum xg_lies {
    XG_LIES_NOWHERE,
    XG_LIES_AS_IS,  /* as in the caller's memory */
    XG_LIES_ALL,    /* a vector of n elements, of which the caller may want some or none */
    XG_LIES_TWICE,  /* with room for a second vector behind it, if the call has WI */
    XG_LIES_BEHIND, /* that second vector, behind the operand `at` */
    XG_LIES_OVER,   /* over the operand `at`, whose elements are no longer needed */
    XG_LIES_TALL,   /* a matrix with fewer rows than columns as its conjugate transpose */
    XG_LIES_LEFT,   /* the singular vectors of that matrix, whether or not the call wants them */
    XG_LIES_RIGHT
};

/* How a routine uses an operand. */
struct xg_use {
    enum xg_lies lies;
    enum xg_slot at; /* the operand itself, unless it lies OVER or BEHIND another one */
    bool in, out;
    bool triangle; /* only the call's triangle is read and written; in SYEVD's A, only read */
    bool real;     /* the elements are real for complex types too */
};

/* The steps of routines on the device. compute/solver_steps.c has a function for each, and says
 * what it needs. */
enum xg_step {
    XG_STEP_NONE,
    XG_STEP_POTRF,
    XG_STEP_POTRS,
    XG_STEP_POTRI,
    XG_STEP_GETRF,
    XG_STEP_GETRS,
    XG_STEP_GETRI,
    XG_STEP_TRTRI,
    XG_STEP_GEQRF,
    XG_STEP_ORGQR,
    XG_STEP_ORMQR,
    XG_STEP_ROTATE,         /* B becomes Qᴴ B */
    XG_STEP_SOLVE_TRIANGLE, /* solves R X = B */
    XG_STEP_SYEVD,
    XG_STEP_SYGVD,
    XG_STEP_GEEV,
    XG_STEP_GESVDP, /* by the polar decomposition, which is not exact for every matrix */
    XG_STEP_GESVD,
    XG_STEP_COUNT
};
enum { XG_ROUTINE_STEPS = 3 };

/* The check of the operands; if they do not pass it, the CPU computes. */
enum xg_before {
    XG_BEFORE_NONE,
    XG_BEFORE_REAL_DIAGONAL, /* a factor's diagonal has no imaginary parts */
    XG_BEFORE_MODERATE,   /* A is not 0, and LAPACK would not scale A or B to avoid an overflow */
    XG_BEFORE_IRREDUCIBLE /* moderate, and no row or column is 0 outside the diagonal */
};

/* What remains after the last step. */
enum xg_finish {
    XG_FINISH_NONE,
    XG_FINISH_FULL_RANK, /* the CPU computes if R has a 0 on its diagonal */
    XG_FINISH_RANK_D,    /* R's singular values decide the rank, as in GELSD */
    XG_FINISH_RANK_S     /* or as in GELSS */
};

/* The calls whose result verify/residual.c can check, if it has a check of the routine: without
 * vectors it has nothing to compare some of the values with, or even all of them. */
enum xg_proof { XG_PROOF_ALWAYS, XG_PROOF_ALL_VALUES, XG_PROOF_VECTORS };

/* What a routine is. */
struct xg_routine_row {
    const char *names[XG_TYPE_COUNT]; /* LAPACK's, without suffix */
    enum xg_step steps[XG_ROUTINE_STEPS];
    struct xg_use uses[XG_SLOT_COUNT];
    /* The second step computes again what the first one has not computed exactly, unless
     * compute/deflation.h can; compute/gram.h may replace both. */
    bool retries;
    enum xg_before before;
    enum xg_finish finish;
    enum xg_proof proof;
};
extern const struct xg_routine_row xg_routine_rows[XG_ROUTINE_COUNT];

/* The use of a slot, whether or not this call has it. */
const struct xg_use *xg_routine_use(enum xg_routine_name name, enum xg_slot slot);

/* LAPACK's name without suffix, such as "dpotrf" and "zungqr"; a static string. */
const char *xg_routine_text(enum xg_routine_name name, enum xg_type type);

/* The type of a slot's elements, and the bytes of one on the device, where pivots have 8. */
enum xg_type xg_routine_slot_type(const struct xg_routine *call, enum xg_slot slot);
size_t xg_routine_slot_bytes(const struct xg_routine *call, enum xg_slot slot);

/* The bytes of memory between an operand's first and last element. */
size_t xg_routine_span_bytes(const struct xg_routine *call, enum xg_slot slot);

/* True if the call has both operands, and their spans (first to last element) share bytes. */
bool xg_routine_overlaps(const struct xg_routine *call, enum xg_slot a, enum xg_slot b);

/* The stored rows [*begin, *end) of a column. */
static inline void xg_matrix_column(const struct xg_matrix *matrix, enum xg_uplo part,
                                    int64_t column, int64_t *begin, int64_t *end)
{
    *begin = part == XG_LOWER && column < matrix->rows ? column : 0;
    *end = part == XG_UPPER && column + 1 < matrix->rows ? column + 1 : matrix->rows;
}

#endif
