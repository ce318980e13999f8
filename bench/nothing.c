/* SPDX-License-Identifier: MIT */
/* A CPU library that computes nothing, so that bench/overhead measures only the overhead of a call:
 * both interfaces of SGEMM, and one each of DGEMM, SGEMV and SSYRK. */

/* No function reads its arguments, so none has parameters. */
#define NOTHING(name)                                                                              \
    void name(void);                                                                               \
    __attribute__((visibility("default"))) void name(void) {}

NOTHING(cblas_sgemm)
NOTHING(sgemm_)
NOTHING(cblas_dgemm)
NOTHING(sgemv_)
NOTHING(ssyrk_)
