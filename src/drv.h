/* SPDX-License-Identifier: MIT */
/* The CUDA driver as a table of functions, dlopened. The only file that includes <cuda.h>. */
#ifndef XG_DRV_H
#define XG_DRV_H

#include <cuda.h>

#include "xg.h"

/*
 * The driver functions that the library, its tests and its benchmarks cannot do without. <cuda.h>
 * maps each name to its versioned symbol (cuMemAlloc -> cuMemAlloc_v2), for the member, its type
 * and the symbol looked up alike.
 */
#define XG_DRV_FUNCTIONS(X)                                                                        \
    X(cuInit)                                                                                      \
    X(cuDriverGetVersion)                                                                          \
    X(cuGetErrorName)                                                                              \
    X(cuDeviceGetCount)                                                                            \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetName)                                                                             \
    X(cuDeviceGetAttribute)                                                                        \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuDevicePrimaryCtxRelease)                                                                   \
    X(cuCtxPushCurrent)                                                                            \
    X(cuCtxPopCurrent)                                                                             \
    X(cuMemGetInfo)                                                                                \
    X(cuMemAlloc)                                                                                  \
    X(cuMemFree)                                                                                   \
    X(cuMemHostAlloc)                                                                              \
    X(cuMemFreeHost)                                                                               \
    X(cuMemcpyHtoDAsync)                                                                           \
    X(cuMemcpyDtoHAsync)                                                                           \
    X(cuMemcpy2DAsync)                                                                             \
    X(cuMemsetD32Async)                                                                            \
    X(cuStreamCreate)                                                                              \
    X(cuStreamDestroy)                                                                             \
    X(cuStreamSynchronize)                                                                         \
    X(cuStreamWaitEvent)                                                                           \
    X(cuEventCreate)                                                                               \
    X(cuEventDestroy)                                                                              \
    X(cuEventRecord)                                                                               \
    X(cuEventQuery)                                                                                \
    X(cuEventSynchronize)                                                                          \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleUnload)                                                                              \
    X(cuModuleGetFunction)                                                                         \
    X(cuFuncSetAttribute)                                                                          \
    X(cuFuncGetAttribute)                                                                          \
    X(cuLaunchKernel)

/* Those that a driver may lack: NULL then, and what needs them is done otherwise or not at all. */
#define XG_DRV_OPTIONAL(X)                                                                         \
    X(cuPointerGetAttributes) /* CUDA 7.0: what the caller has page-locked */                      \
    X(cuLaunchKernelEx)       /* CUDA 11.8: blocks in clusters */                                  \
    X(cuTensorMapEncodeTiled) /* CUDA 12.0: products of pieces */

struct xg_drv {
    void *library;
#define XG_DRV_MEMBER(function) __typeof__(&function) function;
    XG_DRV_FUNCTIONS(XG_DRV_MEMBER)
    XG_DRV_OPTIONAL(XG_DRV_MEMBER)
#undef XG_DRV_MEMBER
};

/*
 * Loads libcuda.so.1, fills the table and calls cuInit (0.1 to 0.3 s on a real driver).
 * Returns XG_OK; XG_ERR_NOTFOUND where there is no driver, one of XG_DRV_FUNCTIONS is
 * missing or no device is there (logged at XG_LOG_INFO: not having a GPU is no fault);
 * XG_ERR_DRIVER where cuInit fails. On failure *drv is empty. Not from two threads at once.
 */
enum xg_status xg_drv_open(struct xg_drv *drv);

/*
 * What the last xg_drv_open's cuInit failed with, and what may help; NULL where it did not fail.
 * For the thread that called it.
 */
const char *xg_drv_start_failure(void);

/* The library stays loaded (it does not survive being unloaded); only the table is emptied. */
void xg_drv_close(struct xg_drv *drv);

/*
 * A driver result as a status. XG_OK for CUDA_SUCCESS, XG_ERR_NOMEM for out of memory, XG_ERR_LOST
 * for errors after which the context is gone (illegal address, launch failure, ECC, deinitialized
 * at exit, and the like), XG_ERR_DRIVER otherwise. Logs what is not success, naming the call.
 */
enum xg_status xg_drv_status(const struct xg_drv *drv, CUresult result, const char *call);

/* XG_DRV(drv, cuMemFree, ptr): calls through the table, yields a status. */
#define XG_DRV(drv, function, ...) xg_drv_status((drv), (drv)->function(__VA_ARGS__), #function)

#endif
