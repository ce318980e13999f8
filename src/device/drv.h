/* SPDX-License-Identifier: MIT */
/* The CUDA driver as a table of functions, dlopened. The only file that includes <cuda.h>. */
#ifndef XG_DRV_H
#define XG_DRV_H

#include <cuda.h>

#include "base/xg.h"
#include "host/library.h"

/*
 * The driver functions that the library, its tests and its benchmarks require. <cuda.h> maps each
 * name to its versioned symbol (cuMemAlloc -> cuMemAlloc_v2), alike for the member, its type and
 * the symbol looked up.
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

/* Functions that a driver may lack (NULL): their users find another way or do nothing. */
#define XG_DRV_OPTIONAL(X)                                                                         \
    X(cuDevicePrimaryCtxGetState)   /* CUDA 7.0: whether the program uses the device itself */     \
    X(cuPointerGetAttributes)       /* CUDA 7.0: the caller's page-locked memory */                \
    X(cuLaunchKernelEx)             /* CUDA 11.8: blocks in clusters */                            \
    X(cuOccupancyMaxActiveClusters) /* CUDA 11.8: LU and QR */                                     \
    X(cuTensorMapEncodeTiled)       /* CUDA 12.0: products of pieces */                            \
    X(cuThreadExchangeStreamCaptureMode) /* CUDA 10.1: calls while the program captures */

struct xg_drv {
    void *library;
#define XG_DRV_MEMBER(function) __typeof__(&function) function;
    XG_DRV_FUNCTIONS(XG_DRV_MEMBER)
    XG_DRV_OPTIONAL(XG_DRV_MEMBER)
#undef XG_DRV_MEMBER
};

/* Calls xg_library_find (host/library.h). The end of the process does not wait for it; call
 * xg_drv_ended before opening what was found. */
struct xg_library *xg_drv_find_library(xg_library_find_function *find, const void *what, int skip,
                                       int most_ms);

/*
 * Loads libcuda.so.1, which stays loaded, if its file is sound and is read without a pause of 30 s.
 * NULL: why says why. at_end: the process ends; finding and reading the file take a second at most.
 * From any thread.
 */
enum { XG_DRV_WHY_BYTES = XG_LIBRARY_WHY_BYTES + 32 };
void *xg_drv_load(bool at_end, char why[XG_DRV_WHY_BYTES]);

/*
 * Loads libcuda.so.1, fills the table and calls cuInit (0.1 to 0.3 s on a real driver). Returns
 * XG_OK; XG_ERR_NOTFOUND if there is no driver, one of XG_DRV_FUNCTIONS is missing or there is no
 * device (logged at XG_LOG_INFO: a missing GPU is no error); XG_ERR_DRIVER if cuInit fails. On
 * failure *drv is empty. Not from two threads at once.
 */
enum xg_status xg_drv_open(struct xg_drv *drv);

/*
 * The reason why the last xg_drv_open failed, and advice; NULL if it did not fail.
 * Only for the thread that called it.
 */
const char *xg_drv_start_failure(void);

/*
 * The driver registers exit handlers when it is loaded and in cuInit. They crash if they run while
 * a thread of ours is inside the driver. `function` is registered after both, so that it runs
 * before them, once or twice. Call this before xg_drv_open, from the same thread.
 */
void xg_drv_at_exit(void (*function)(void));

/* Registers function again, after the handlers of a library that was opened since (cuBLAS). */
void xg_drv_register_exit(void);

/* From here on nothing calls the driver: XG_DRV yields XG_ERR_LOST. From any thread. */
void xg_drv_end(void);
bool xg_drv_ended(void);

/*
 * While a thread of the program captures a stream into a graph in the default mode, an allocation
 * or an event query of any thread fails, and the graph is lost. Calls of a thread whose own mode is
 * relaxed do no harm, and ours have nothing to do with the program's streams. So every thread is
 * relaxed while it makes our calls. xg_drv_relax returns the argument of xg_drv_unrelax, which ends
 * it. The pairs nest and cannot fail.
 */
int xg_drv_relax(const struct xg_drv *drv);
void xg_drv_unrelax(const struct xg_drv *drv, int before);

/* True if a capture made a call fail: the codes that xg_drv_status maps to XG_ERR_CAPTURE. Pure. */
bool xg_drv_capture_forbids(CUresult result);

/* Empties the table. The library stays loaded, because it does not survive being unloaded. */
void xg_drv_close(struct xg_drv *drv);

/*
 * Maps a driver result to a status: XG_OK for CUDA_SUCCESS, XG_ERR_NOMEM for out of memory,
 * XG_ERR_LOST for errors after which the context is gone (illegal address, launch failure, ECC,
 * deinitialized at exit, and the like), XG_ERR_CAPTURE if a stream capture of the program forbids
 * the call, XG_ERR_DRIVER otherwise. Logs failures with the name of the call.
 */
enum xg_status xg_drv_status(const struct xg_drv *drv, CUresult result, const char *call);

/* XG_DRV_CALL(drv, cuMemFree, ptr): calls through the table until xg_drv_end; yields the result. */
#define XG_DRV_CALL(drv, function, ...)                                                            \
    (xg_drv_ended() ? CUDA_ERROR_DEINITIALIZED : (drv)->function(__VA_ARGS__))

/* The same, yielding a status. */
#define XG_DRV(drv, function, ...)                                                                 \
    xg_drv_status((drv), XG_DRV_CALL(drv, function, __VA_ARGS__), #function)

#endif
