/* SPDX-License-Identifier: MIT */
/* Loads the CUDA driver and turns its results into statuses. */
#include "device/drv.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/aside.h"

#define XG_STRING(text) #text
#define XG_STRING_OF(macro) XG_STRING(macro)

static char start_failure[XG_DRV_WHY_BYTES]; /* empty: none; only xg_drv_open writes it */

static enum xg_status fill_table(struct xg_drv *drv)
{
/* Pointers to objects and functions differ in ISO C; POSIX allows this use of dlsym's result. */
#define XG_DRV_LOOK_UP(function)                                                                   \
    *(void **)&drv->function = dlsym(drv->library, XG_STRING_OF(function));
#define XG_DRV_LOAD(function)                                                                      \
    XG_DRV_LOOK_UP(function)                                                                       \
    if (!drv->function) {                                                                          \
        snprintf(start_failure, sizeof start_failure, "the CUDA driver lacks %s",                  \
                 XG_STRING_OF(function));                                                          \
        xg_log(XG_LOG_INFO, "%s: no GPU", start_failure);                                          \
        return XG_ERR_NOTFOUND;                                                                    \
    }
    XG_DRV_FUNCTIONS(XG_DRV_LOAD)
    XG_DRV_OPTIONAL(XG_DRV_LOOK_UP)
#undef XG_DRV_LOAD
#undef XG_DRV_LOOK_UP
    return XG_OK;
}

/* --- End ----------------------------------------------------------------------------------- */

static _Atomic bool ended;
static void (*exit_function)(void); /* NULL: none */

void xg_drv_at_exit(void (*function)(void))
{
    exit_function = function;
}

void xg_drv_register_exit(void)
{
    if (exit_function)
        atexit(exit_function);
}

void xg_drv_end(void)
{
    atomic_store(&ended, true);
}

bool xg_drv_ended(void)
{
    return atomic_load_explicit(&ended, memory_order_relaxed);
}

/* --- Start --------------------------------------------------------------------------------- */

static const struct {
    int code;
    const char *advice;
} start_advice[] = {
    {3, "the driver's kernel module is missing, or its devices are closed to this user"},
    {34, "a toolkit's stub library is in the driver's place: take it out of LD_LIBRARY_PATH"},
    {35, "the driver is too old: a newer one is needed"},
    {36, "the driver is too old: a newer one is needed"},
    {46, "another process has the device to itself"},
    {101, "CUDA_VISIBLE_DEVICES may name a device that is not there"},
    {802, "the system is not ready: is nvidia-fabricmanager running?"},
    {803, "driver library and kernel module are of different versions: restart the machine"},
    {804, "this device takes no compatibility driver: take it out of LD_LIBRARY_PATH"},
    {999, "nvidia-smi may tell more"},
};

const char *xg_drv_start_failure(void)
{
    return start_failure[0] ? start_failure : NULL;
}

static const char *error_name(const struct xg_drv *drv, CUresult result)
{
    const char *name = NULL;
    if (!drv->cuGetErrorName || drv->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "unknown error";
    return name;
}

static void describe_start(const struct xg_drv *drv, CUresult result)
{
    const char *advice = NULL;
    for (size_t i = 0; i < sizeof start_advice / sizeof start_advice[0]; i++)
        if (start_advice[i].code == (int)result)
            advice = start_advice[i].advice;
    snprintf(start_failure, sizeof start_failure, "cuInit: %s, %d%s%s", error_name(drv, result),
             (int)result, advice ? ": " : "", advice ? advice : "");
}

struct xg_library *xg_drv_find_library(xg_library_find_function *find, const void *what, int skip,
                                       int most_ms)
{
    xg_aside_add(-1);
    struct xg_library *library = xg_library_find(find, what, skip, most_ms);
    xg_aside_add(1);
    return library;
}

void *xg_drv_load(bool at_end, char why[XG_DRV_WHY_BYTES])
{
    enum { END_MS = 1000 };
    static const char name[] = "libcuda.so.1";
    void *handle = NULL;
    struct xg_library *library =
        xg_drv_find_library(xg_library_find_named, name, 0, at_end ? END_MS : 0);
    /* RTLD_LOCAL: the program's own symbol look-ups must not find the driver because of us. */
    if (library && (at_end || !xg_drv_ended()))
        handle = xg_library_open_named(library, name, RTLD_NOW | RTLD_LOCAL);
    why[0] = '\0';
    if (!handle) {
        snprintf(why, XG_DRV_WHY_BYTES, "no CUDA driver: %s", library ? library->why : "no memory");
        xg_log(XG_LOG_INFO, "%s", why);
    }
    xg_library_free(library);
    return handle;
}

enum xg_status xg_drv_open(struct xg_drv *drv)
{
    memset(drv, 0, sizeof *drv);
    drv->library = xg_drv_load(false, start_failure);
    if (!drv->library)
        return XG_ERR_NOTFOUND;
    xg_drv_register_exit();
    enum xg_status status = xg_drv_ended() ? XG_ERR_LOST : fill_table(drv);
    if (status != XG_OK)
        goto empty;

    CUresult result = drv->cuInit(0);
    xg_drv_register_exit();
    if (result == CUDA_ERROR_NO_DEVICE) {
        snprintf(start_failure, sizeof start_failure, "the CUDA driver finds no device");
        xg_log(XG_LOG_INFO, "%s", start_failure);
        status = XG_ERR_NOTFOUND;
    } else if (result != CUDA_SUCCESS) {
        describe_start(drv, result);
        xg_log(XG_LOG_INFO, "%s", start_failure);
        status = XG_ERR_DRIVER;
    }
    if (status == XG_OK)
        return XG_OK;
empty:
    xg_drv_close(drv);
    return status;
}

void xg_drv_close(struct xg_drv *drv)
{
    memset(drv, 0, sizeof *drv);
}

/* --- Stream capture ------------------------------------------------------------------------ */

enum { UNKNOWN_MODE = -1 };

int xg_drv_relax(const struct xg_drv *drv)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (!drv->cuThreadExchangeStreamCaptureMode ||
        XG_DRV_CALL(drv, cuThreadExchangeStreamCaptureMode, &mode) != CUDA_SUCCESS)
        return UNKNOWN_MODE;
    return (int)mode;
}

void xg_drv_unrelax(const struct xg_drv *drv, int before)
{
    CUstreamCaptureMode mode = (CUstreamCaptureMode)before;
    if (before != UNKNOWN_MODE)
        (void)XG_DRV_CALL(drv, cuThreadExchangeStreamCaptureMode, &mode);
}

bool xg_drv_capture_forbids(CUresult result)
{
    return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
           result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

/* --- Results ------------------------------------------------------------------------------- */

enum xg_status xg_drv_status(const struct xg_drv *drv, CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return XG_OK;
    if (xg_drv_ended())
        return XG_ERR_LOST;
    xg_log(XG_LOG_INFO, "%s: %s (%d)", call, error_name(drv, result), (int)result);
    if (xg_drv_capture_forbids(result))
        return XG_ERR_CAPTURE;

    switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return XG_ERR_NOMEM;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_OPERATING_SYSTEM:
    case CUDA_ERROR_UNKNOWN:
        return XG_ERR_DRIVER;
    default:
        /*
         * Illegal address, launch failure, ECC, NVLink, deinitialized at exit, and errors that
         * newer drivers add: after these no call on the context works again, so giving it up loses
         * nothing.
         */
        return XG_ERR_LOST;
    }
}
