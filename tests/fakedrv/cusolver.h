/* SPDX-License-Identifier: MIT */
/* Constants of cuSOLVER's interface. The fake and its test include this. */
#ifndef CUSOLVER_H
#define CUSOLVER_H

/* The members of cusolverStatus_t that the fake returns. */
enum {
    CUSOLVER_STATUS_SUCCESS = 0,
    CUSOLVER_STATUS_NOT_INITIALIZED = 1,
    CUSOLVER_STATUS_ALLOC_FAILED = 2,
    CUSOLVER_STATUS_INVALID_VALUE = 3,
    CUSOLVER_STATUS_EXECUTION_FAILED = 6,
};

/* cudaDataType. */
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_C_32F = 4, CUDA_C_64F = 5 };

#endif
