/* SPDX-License-Identifier: MIT */
/* Random calls of LAPACK's routines, and their judge, which measures the same errors as LAPACK's
 * testers. */
#ifndef ROUTINES_H
#define ROUTINES_H

#include "src/base/routine.h"
#include "src/base/xg.h"

/* Computes a routine. If it does not return XG_OK, the checks of its result are skipped. */
typedef enum xg_status rx_run(const struct xg_routine *routine);

/* The spectrum of the matrices of rx_eigen and rx_singular. */
enum rx_spectrum { RX_RANDOM, RX_GRADED /* 1 to 1e-16 */, RX_DEFICIENT /* half the rank */ };

/*
 * Each runs the routines of one family on random matrices with guards in their padding, and checks
 * residuals and orthogonality in units of n eps, order, and that nothing else was written. pad:
 * elements added to each leading dimension. pivot_bytes: 4 or 8.
 */
void rx_cholesky(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t k,
                 int64_t pad);
void rx_triangle(rx_run *run, enum xg_type type, enum xg_uplo uplo, bool unit, int64_t n,
                 int64_t pad);
void rx_lu(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t k, int64_t pad,
           int pivot_bytes);
void rx_qr(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t k, int64_t pad);
/* m >= n; GELS, GELSD and GELSS with R's singular values, and R and Qᴴ B alone. */
void rx_squares(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t k, int64_t pad);
void rx_eigen(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad,
              bool vectors, bool in_place, enum rx_spectrum spectrum);
/* `count` of the eigenvalues, and their vectors, from the one with index `first` on. */
void rx_some_eigen(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad,
                   bool vectors, int64_t first, int64_t count);
void rx_generalized(rx_run *run, enum xg_type type, enum xg_uplo uplo, int64_t n, int64_t pad,
                    bool vectors, int itype);
void rx_general(rx_run *run, enum xg_type type, int64_t n, int64_t pad, bool vectors);
/* The eigenvalues of D B D⁻¹ are those of B, to 1e-10 of the largest. D is diagonal, with powers of
 * 2 from 2^-30 to 2^30; without balancing no digit is correct. type: of double precision. */
void rx_balanced(rx_run *run, enum xg_type type, int64_t n);
void rx_singular(rx_run *run, enum xg_type type, int64_t m, int64_t n, int64_t pad,
                 enum xg_vectors vectors, enum rx_spectrum spectrum);

/* The largest residual seen so far, in units of n eps. */
double rx_worst(void);

#endif
