/* SPDX-License-Identifier: MIT */
/* The fake driver's devices and contexts. */
#include "fake.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STACK_DEPTH = 16 };

/* Initial-exec: the first access of a thread allocates nothing. */
static _Thread_local CUcontext stack[STACK_DEPTH] __attribute__((tls_model("initial-exec")));
static _Thread_local int depth __attribute__((tls_model("initial-exec")));

CUcontext fake_context(void)
{
    return depth ? stack[depth - 1] : NULL;
}

void fake_context_lose(CUcontext context, CUresult code)
{
    if (context->lost == CUDA_SUCCESS)
        context->lost = code;
    fake_stream_discard(context);
    pthread_cond_broadcast(&fake.changed);
}

static atomic_bool released;

void fakecuda_release(void)
{
    released = true;
}

void fake_await_release(void)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    while (!released)
        nanosleep(&nap, NULL);
}

/* Waits as long as cuInit takes. */
static void init_delay(void)
{
    const struct timespec delay = {fake.init_ms / 1000, fake.init_ms % 1000 * 1000000};
    if (fake.init_ms >= 0)
        nanosleep(&delay, NULL);
    else
        fake_await_release();
}

CUresult CUDAAPI cuInit(unsigned int flags)
{
    CUresult result = fake_enter("cuInit", FAKE_NOTHING);
    if (result == CUDA_SUCCESS) {
        pthread_mutex_unlock(&fake.lock);
        init_delay();
        pthread_mutex_lock(&fake.lock);
        if (fake.exiting)
            fake_abort("cuInit while the driver's exit handlers ran");
        if (flags)
            result = CUDA_ERROR_INVALID_VALUE;
        else if (fake.devices < 1)
            result = CUDA_ERROR_NO_DEVICE;
        else if (!fake.initialized) {
            fake.pid = getpid();
            fake.initialized = true;
        }
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    CUresult result = fake_enter("cuDriverGetVersion", FAKE_NOTHING);
    if (result == CUDA_SUCCESS)
        *version = CUDA_VERSION;
    return fake_leave(result);
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
    static const struct {
        CUresult error;
        const char *name;
    } names[] = {
        {CUDA_SUCCESS, "CUDA_SUCCESS"},
        {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
        {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
        {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED"},
        {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
        {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
        {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
        {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
        {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
    };
    CUresult result = fake_enter("cuGetErrorName", FAKE_NOTHING);
    if (result == CUDA_SUCCESS) {
        *name = NULL;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (names[i].error == error)
                *name = names[i].name;
        if (!*name)
            result = CUDA_ERROR_INVALID_VALUE;
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    CUresult result = fake_enter("cuDeviceGetCount", FAKE_INIT);
    if (result == CUDA_SUCCESS)
        *count = fake.devices;
    return fake_leave(result);
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult result = fake_enter("cuDeviceGet", FAKE_INIT);
    if (result == CUDA_SUCCESS) {
        if (ordinal < 0 || ordinal >= fake.devices)
            result = CUDA_ERROR_INVALID_DEVICE;
        else
            *device = ordinal;
    }
    return fake_leave(result);
}

static bool device_valid(CUdevice device)
{
    return device >= 0 && device < fake.devices;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device)
{
    CUresult result = fake_enter("cuDeviceGetName", FAKE_INIT);
    if (result == CUDA_SUCCESS) {
        if (!device_valid(device) || length < 1)
            result = CUDA_ERROR_INVALID_VALUE;
        else
            snprintf(name, (size_t)length, "Fake GPU %d", fake.mixed ? device : 0);
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    CUresult result = fake_enter("cuDeviceTotalMem", FAKE_INIT);
    if (result == CUDA_SUCCESS) {
        if (!device_valid(device))
            result = CUDA_ERROR_INVALID_DEVICE;
        else
            *bytes = fake.mem_bytes;
    }
    return fake_leave(result);
}

/* Differences between generations: the largest shared memory of a block, and the ratio of FP32's
 * rate to FP64's. */
static const struct generation {
    int sm, block_kib, fp64_ratio;
} generations[] = {{0, 48, 32},  {70, 96, 2},  {75, 64, 32},  {80, 163, 2},
                   {86, 99, 64}, {90, 227, 2}, {120, 99, 64}, {1000, 0, 0}};

static const struct generation *generation(void)
{
    const struct generation *row = generations;
    while (row[1].sm <= fake.sm)
        row++;
    return row;
}

/* The reference GPU's values; -1 for an attribute that no code asks for. */
static int attribute(CUdevice_attribute which)
{
    const struct {
        CUdevice_attribute which;
        int value;
    } values[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, fake.sm / 10},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, fake.sm % 10},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, fake.sm_count},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, generation()->block_kib << 10},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, (generation()->block_kib + 1)
                                                                       << 10},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
        {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, generation()->fp64_ratio},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 60 << 20},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, fake.compute_mode},
        {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i].which == which)
            return values[i].value;
    return -1;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
    CUresult result = fake_enter("cuDeviceGetAttribute", FAKE_INIT);
    if (result == CUDA_SUCCESS) {
        int answer = attribute(which);
        if (!device_valid(device) || answer < 0)
            result = CUDA_ERROR_INVALID_VALUE;
        else
            *value = answer;
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult result = fake_enter("cuDevicePrimaryCtxRetain", FAKE_INIT);
    if (result == CUDA_SUCCESS) {
        if (!device_valid(device))
            result = CUDA_ERROR_INVALID_DEVICE;
        else {
            *context = &fake.contexts[device];
            if ((*context)->refs++ == 0)
                fake.live.contexts++;
        }
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult result = fake_enter("cuDevicePrimaryCtxRelease", FAKE_INIT);
    if (fake_releases(result)) {
        CUcontext context = device_valid(device) ? &fake.contexts[device] : NULL;
        if (!context || !context->refs)
            fake_abort("release of device %d's context, which is not held", device);
        if (--context->refs == 0) {
            fake_stream_reclaim(context);
            fake_module_reclaim(context);
            fake_mem_reclaim(context);
            context->lost = CUDA_SUCCESS;
            fake.live.contexts--;
        }
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context)
{
    CUresult result = fake_enter("cuCtxPushCurrent", FAKE_INIT);
    if (result == CUDA_SUCCESS) {
        if (!context || !context->refs || depth == STACK_DEPTH)
            result = CUDA_ERROR_INVALID_CONTEXT;
        else
            stack[depth++] = context;
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context)
{
    CUresult result = fake_enter("cuCtxPopCurrent", FAKE_INIT);
    if (fake_releases(result)) {
        if (!depth)
            result = CUDA_ERROR_INVALID_CONTEXT;
        else {
            depth--;
            if (context)
                *context = stack[depth];
        }
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    CUresult result = fake_enter("cuCtxGetCurrent", FAKE_INIT);
    if (result == CUDA_SUCCESS)
        *context = fake_context();
    return fake_leave(result);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
    CUresult result = fake_enter("cuCtxSetCurrent", FAKE_INIT);
    if (result == CUDA_SUCCESS) {
        if (depth)
            depth--;
        if (context)
            stack[depth++] = context;
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    CUresult result = fake_enter("cuCtxSynchronize", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        fake_stream_drain();
        result = fake_context()->lost;
    }
    return fake_leave(result);
}
