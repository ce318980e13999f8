/* SPDX-License-Identifier: MIT */
/* The functions of a libcusolver, found once for the process. Only solver*.c call them. */
#ifndef XG_SOLVER_LIBRARY_H
#define XG_SOLVER_LIBRARY_H

#include "base/problem.h"
#include "device/drv.h"

/* The part of cuSOLVER's interface (cusolverDn.h) that solver*.c use. It is declared here, so that
 * the build needs no header of cuSOLVER's. */
typedef struct cusolverDnContext *xg_solver_handle;
typedef struct cusolverDnParams *xg_solver_params;
typedef const void *xg_solver_in;
typedef void *xg_solver_inout;

extern struct xg_solver_functions {
    int (*create)(xg_solver_handle *);
    int (*destroy)(xg_solver_handle);
    int (*set_stream)(xg_solver_handle, CUstream);
    int (*create_params)(xg_solver_params *);
    int (*destroy_params)(xg_solver_params);

    /* The generic interface: one function for all types. Sizes are bytes on the device and host. */
    int (*potrs)(xg_solver_handle, xg_solver_params, int, int64_t, int64_t, int, xg_solver_in,
                 int64_t, int, xg_solver_inout, int64_t, xg_solver_inout);
    int (*getrf_size)(xg_solver_handle, xg_solver_params, int64_t, int64_t, int, xg_solver_in,
                      int64_t, int, size_t *, size_t *);
    int (*getrf)(xg_solver_handle, xg_solver_params, int64_t, int64_t, int, xg_solver_inout,
                 int64_t, xg_solver_inout, int, xg_solver_inout, size_t, xg_solver_inout, size_t,
                 xg_solver_inout);
    int (*getrs)(xg_solver_handle, xg_solver_params, int, int64_t, int64_t, int, xg_solver_in,
                 int64_t, xg_solver_in, int, xg_solver_inout, int64_t, xg_solver_inout);
    int (*geqrf_size)(xg_solver_handle, xg_solver_params, int64_t, int64_t, int, xg_solver_in,
                      int64_t, int, xg_solver_in, int, size_t *, size_t *);
    int (*geqrf)(xg_solver_handle, xg_solver_params, int64_t, int64_t, int, xg_solver_inout,
                 int64_t, int, xg_solver_inout, int, xg_solver_inout, size_t, xg_solver_inout,
                 size_t, xg_solver_inout);
    int (*syevd_size)(xg_solver_handle, xg_solver_params, int, int, int64_t, int, xg_solver_in,
                      int64_t, int, xg_solver_in, int, size_t *, size_t *);
    int (*syevd)(xg_solver_handle, xg_solver_params, int, int, int64_t, int, xg_solver_inout,
                 int64_t, int, xg_solver_inout, int, xg_solver_inout, size_t, xg_solver_inout,
                 size_t, xg_solver_inout);
    int (*gesvd_size)(xg_solver_handle, xg_solver_params, signed char, signed char, int64_t,
                      int64_t, int, xg_solver_in, int64_t, int, xg_solver_in, int, xg_solver_in,
                      int64_t, int, xg_solver_in, int64_t, int, size_t *, size_t *);
    int (*gesvd)(xg_solver_handle, xg_solver_params, signed char, signed char, int64_t, int64_t,
                 int, xg_solver_inout, int64_t, int, xg_solver_inout, int, xg_solver_inout, int64_t,
                 int, xg_solver_inout, int64_t, int, xg_solver_inout, size_t, xg_solver_inout,
                 size_t, xg_solver_inout);
    int (*gesvdp_size)(xg_solver_handle, xg_solver_params, int, int, int64_t, int64_t, int,
                       xg_solver_in, int64_t, int, xg_solver_in, int, xg_solver_in, int64_t, int,
                       xg_solver_in, int64_t, int, size_t *, size_t *);
    int (*gesvdp)(xg_solver_handle, xg_solver_params, int, int, int64_t, int64_t, int,
                  xg_solver_inout, int64_t, int, xg_solver_inout, int, xg_solver_inout, int64_t,
                  int, xg_solver_inout, int64_t, int, xg_solver_inout, size_t, xg_solver_inout,
                  size_t, xg_solver_inout, double *);

    int (*geev_size)(xg_solver_handle, xg_solver_params, int, int, int64_t, int, xg_solver_in,
                     int64_t, int, xg_solver_in, int, xg_solver_in, int64_t, int, xg_solver_in,
                     int64_t, int, size_t *, size_t *); /* NULL before cuSOLVER 11.7.1 */
    int (*geev)(xg_solver_handle, xg_solver_params, int, int, int64_t, int, xg_solver_inout,
                int64_t, int, xg_solver_inout, int, xg_solver_inout, int64_t, int, xg_solver_inout,
                int64_t, int, xg_solver_inout, size_t, xg_solver_inout, size_t, xg_solver_inout);
    int (*trtri_size)(xg_solver_handle, int, int, int64_t, int, xg_solver_inout, int64_t, size_t *,
                      size_t *); /* NULL in the first versions of 11 */
    int (*trtri)(xg_solver_handle, int, int, int64_t, int, xg_solver_inout, int64_t,
                 xg_solver_inout, size_t, xg_solver_inout, size_t, xg_solver_inout);

    /* The older interface: one function for each type. Sizes are elements. */
    int (*potrf_size[XG_TYPE_COUNT])(xg_solver_handle, int, int, xg_solver_in, int, int *);
    int (*potrf[XG_TYPE_COUNT])(xg_solver_handle, int, int, xg_solver_inout, int, xg_solver_inout,
                                int, xg_solver_inout);
    int (*potri_size[XG_TYPE_COUNT])(xg_solver_handle, int, int, xg_solver_in, int, int *);
    int (*potri[XG_TYPE_COUNT])(xg_solver_handle, int, int, xg_solver_inout, int, xg_solver_inout,
                                int, xg_solver_inout);
    int (*orgqr_size[XG_TYPE_COUNT])(xg_solver_handle, int, int, int, xg_solver_in, int,
                                     xg_solver_in, int *);
    int (*orgqr[XG_TYPE_COUNT])(xg_solver_handle, int, int, int, xg_solver_inout, int, xg_solver_in,
                                xg_solver_inout, int, xg_solver_inout);
    int (*ormqr_size[XG_TYPE_COUNT])(xg_solver_handle, int, int, int, int, int, xg_solver_in, int,
                                     xg_solver_in, xg_solver_in, int, int *);
    int (*ormqr[XG_TYPE_COUNT])(xg_solver_handle, int, int, int, int, int, xg_solver_in, int,
                                xg_solver_in, xg_solver_inout, int, xg_solver_inout, int,
                                xg_solver_inout);
    int (*sygvd_size[XG_TYPE_COUNT])(xg_solver_handle, int, int, int, int, xg_solver_in, int,
                                     xg_solver_in, int, xg_solver_in, int *);
    int (*sygvd[XG_TYPE_COUNT])(xg_solver_handle, int, int, int, int, xg_solver_inout, int,
                                xg_solver_inout, int, xg_solver_inout, xg_solver_inout, int,
                                xg_solver_inout);
} xg_solver_functions;

/* Loads a libcusolver and finds its functions, once for the process. Takes the dynamic linker's
 * lock and some hundred milliseconds. False: there is no usable libcusolver. From any thread. */
bool xg_solver_load(void);

#endif
