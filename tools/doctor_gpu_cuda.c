/* SPDX-License-Identifier: MIT */
/* Queries the driver, loads every kernel once, and times copies over the link. */
#include "doctor.h"

#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/compute/backend.h"
#include "src/compute/image.h"
#include "src/compute/residue.h"
#include "src/compute/split.h"
#include "src/compute/toolkit.h"
#include "src/decide/route.h"
#include "src/device/mem.h"
#include "src/host/library.h"

#define STRING(text) #text
#define STRING_OF(macro) STRING(macro)

/* Gets the file of a library; empty if the dynamic linker does not tell. */
static void name_file(void *library, char path[DOCTOR_PATH_BYTES])
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        doctor_text_set(path, DOCTOR_PATH_BYTES, "%s", map->l_name);
}

static void ask_version(void *library, struct doctor_gpu *gpu)
{
    __typeof__(&cuDriverGetVersion) version;
    *(void **)&version = dlsym(library, "cuDriverGetVersion");
    if (version)
        (void)version(&gpu->driver_version);
}

/* The first function that the library lacks; NULL: none. */
static const char *lacking(void *library)
{
#define LOOK_UP(function)                                                                          \
    if (!dlsym(library, STRING_OF(function)))                                                      \
        return STRING_OF(function);
    XG_DRV_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return NULL;
}

static bool open_driver(struct doctor_gpu *gpu, struct xg_drv *drv)
{
    char why[XG_LIBRARY_WHY_BYTES];
    void *library = xg_library_load("libcuda.so.1", RTLD_NOW | RTLD_LOCAL, why);
    gpu->driver = DOCTOR_DRIVER_ABSENT;
    if (!library) {
        doctor_text_set(gpu->failure, sizeof gpu->failure, "%s", why);
        return false;
    }
    name_file(library, gpu->driver_file);
    ask_version(library, gpu);
    const char *lacks = lacking(library);
    gpu->driver = DOCTOR_DRIVER_LACKS;
    if (lacks) {
        doctor_text_set(gpu->failure, sizeof gpu->failure, "%s", lacks);
        return false;
    }
    enum xg_status status = xg_drv_open(drv);
    const char *failure = xg_drv_start_failure();
    gpu->driver = status == XG_OK             ? DOCTOR_DRIVER_OPEN
                  : status == XG_ERR_NOTFOUND ? DOCTOR_DRIVER_EMPTY
                                              : DOCTOR_DRIVER_FAILED;
    doctor_text_set(gpu->failure, sizeof gpu->failure, "%s", failure ? failure : "");
    return status == XG_OK;
}

static int attribute(const struct xg_drv *drv, CUdevice_attribute which, CUdevice device)
{
    int value = 0;
    return drv->cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

static void ask_devices(const struct xg_drv *drv, struct doctor_gpu *gpu)
{
    __typeof__(&cuDeviceTotalMem) total;
    *(void **)&total = dlsym(drv->library, STRING_OF(cuDeviceTotalMem));
    (void)drv->cuDeviceGetCount(&gpu->device_count);
    for (int i = 0; i < gpu->device_count && i < DOCTOR_DEVICES; i++) {
        struct doctor_device *device = &gpu->devices[i];
        CUdevice handle;
        size_t bytes = 0;
        if (drv->cuDeviceGet(&handle, i) != CUDA_SUCCESS)
            continue;
        (void)drv->cuDeviceGetName(device->name, (int)sizeof device->name, handle);
        device->sm = 10 * attribute(drv, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle) +
                     attribute(drv, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle);
        device->sm_count = attribute(drv, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, handle);
        device->compute_mode = attribute(drv, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, handle);
        if (total && total(&bytes, handle) == CUDA_SUCCESS)
            device->memory_bytes = bytes;
    }
}

enum { COPIES = 4, LINK_BYTES = 32 << 20 };

/* The rate of the fastest of some copies; 0: one failed. */
static double time_copies(struct xg_dev *dev, CUstream stream, bool up, void *host,
                          CUdeviceptr device)
{
    double best_s = INFINITY;
    for (int i = 0; i < COPIES; i++) {
        double begin_s = xg_clock_s();
        enum xg_status status =
            up ? XG_DRV(&dev->drv, cuMemcpyHtoDAsync, device, host, LINK_BYTES, stream)
               : XG_DRV(&dev->drv, cuMemcpyDtoHAsync, host, device, LINK_BYTES, stream);
        if (status == XG_OK)
            status = XG_DRV(&dev->drv, cuStreamSynchronize, stream);
        if (status != XG_OK)
            return 0;
        best_s = fmin(best_s, xg_clock_s() - begin_s);
    }
    return (double)LINK_BYTES / best_s;
}

static void time_link(struct xg_dev *dev, struct doctor_gpu *gpu)
{
    struct xg_mem_dev device = {0};
    CUstream stream = NULL;
    void *host = NULL;
    if (xg_dev_enter(dev) != XG_OK)
        return;
    if (xg_mem_dev_reserve(dev, &device, LINK_BYTES) == XG_OK &&
        xg_mem_pinned_alloc(dev, LINK_BYTES, &host) == XG_OK &&
        XG_DRV(&dev->drv, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING) == XG_OK) {
        memset(host, 1, LINK_BYTES);
        gpu->up_bytes_per_s = time_copies(dev, stream, true, host, device.ptr);
        gpu->down_bytes_per_s = time_copies(dev, stream, false, host, device.ptr);
        XG_DRV(&dev->drv, cuStreamDestroy, stream);
    }
    if (host)
        xg_mem_pinned_free(dev, host);
    xg_mem_dev_release(dev, &device);
    xg_dev_leave(dev);
}

/* Opens the device as the engine does, without the parts that compute on it. */
static bool ask_context(const struct xg_conf *conf, struct doctor_gpu *gpu)
{
    struct xg_dev *dev;
    size_t free_bytes = 0, total_bytes = 0;
    gpu->context = xg_dev_create(conf, &dev);
    if (gpu->context != XG_OK)
        return false;
    gpu->chosen = (int)dev->device;
    if (xg_dev_enter(dev) == XG_OK) {
        if (XG_DRV(&dev->drv, cuMemGetInfo, &free_bytes, &total_bytes) == XG_OK)
            gpu->free_bytes = free_bytes;
        xg_dev_leave(dev);
    }
    time_link(dev, gpu);
    xg_dev_destroy(dev);
    return true;
}

static bool loads(struct xg_dev *dev, const struct xg_kernel *row)
{
    CUfunction function;
    const unsigned emulated = row->flags & (XG_KERNEL_PIECES | XG_KERNEL_RESIDUES);
    struct xg_residue residue;
    struct xg_split split;
    if (emulated)
        return xg_select_emulated(&dev->facts, emulated, row->name) == row &&
               (emulated == XG_KERNEL_PIECES ? xg_split_open(dev, row, &split)
                                             : xg_residue_open(dev, row, &residue)) == XG_OK;
    return dev->facts.sm >= row->sm_min &&
           xg_image_function(dev, row, false, false, &function) == XG_OK;
}

/* The kernel for a large product of this type. cuBLAS is not loaded here, and complex products need
 * it. */
static const char *large_product(const struct xg_dev *dev, const struct xg_conf *conf,
                                 const struct doctor_gpu *gpu, enum xg_type type)
{
    const struct xg_shape shape = {.m = 4096, .n = 4096, .k = 4096, .type = type};
    const struct xg_choice choice =
        xg_route_resident(&dev->facts, conf->math, conf->kernel, &shape);
    if (!gpu->cublas_file[0] && (!choice.row || xg_type_is_complex(type)))
        return "CPU";
    return choice.row ? choice.row->name : "cuBLAS";
}

static void ask_kernels(const struct xg_conf *conf, struct doctor_gpu *gpu)
{
    struct xg_dev *dev;
    for (size_t i = 0; i < xg_image_count; i++)
        gpu->images |= xg_image_fatbin(&xg_image_table[i]).bytes > 0;
    for (size_t i = 0; i < xg_kernel_count; i++)
        gpu->kernels_all += !(xg_kernel_table[i].flags & XG_KERNEL_CUBLAS);
    if (xg_backend_open(conf, &dev) != XG_OK)
        return;
    if (xg_dev_enter(dev) == XG_OK) {
        for (size_t i = 0; i < xg_kernel_count; i++)
            gpu->kernels +=
                !(xg_kernel_table[i].flags & XG_KERNEL_CUBLAS) && loads(dev, &xg_kernel_table[i]);
        xg_dev_leave(dev);
    }
    doctor_text_set(
        gpu->kernel, sizeof gpu->kernel, "single %s, double %s, complex %s, double complex %s",
        large_product(dev, conf, gpu, XG_TYPE_S), large_product(dev, conf, gpu, XG_TYPE_D),
        large_product(dev, conf, gpu, XG_TYPE_C), large_product(dev, conf, gpu, XG_TYPE_Z));
    xg_backend_close(dev);
}

static void ask_toolkit(enum xg_toolkit which, const char *name, char file[DOCTOR_PATH_BYTES],
                        int *version)
{
    void *library = xg_toolkit_open(which);
    int (*property)(int, int *), parts[3] = {0};
    if (!library)
        return;
    name_file(library, file);
    *(void **)&property = dlsym(library, name);
    for (int i = 0; property && i < 3; i++)
        if (property(i, &parts[i]) != 0)
            return;
    *version = 10000 * parts[0] + 100 * parts[1] + parts[2];
}

void doctor_gpu_ask(void *answer, const void *nothing)
{
    struct doctor_gpu *gpu = answer;
    struct xg_drv drv;
    const struct xg_conf *conf = xg_conf_get();
    (void)nothing;
    gpu->chosen = -1;
    ask_toolkit(XG_TOOLKIT_CUBLAS, "cublasGetProperty", gpu->cublas_file, &gpu->cublas_version);
    ask_toolkit(XG_TOOLKIT_CUSOLVER, "cusolverGetProperty", gpu->cusolver_file,
                &gpu->cusolver_version);
    if (!open_driver(gpu, &drv))
        return;
    ask_devices(&drv, gpu);
    if (ask_context(conf, gpu))
        ask_kernels(conf, gpu);
}
