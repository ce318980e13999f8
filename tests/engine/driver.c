/* SPDX-License-Identifier: MIT */
/* The fake driver itself: order, faults, limits, and that it ends a test which misuses it. */
#include <signal.h>
#include <sys/wait.h>

#include "kernels/kabi.h"
#include "src/device/drv.h"
#include "tests/support/guarded.h"

enum { COUNT = 1000 };

static struct fakecuda fake;
static struct xg_drv drv;
static CUcontext context;

#define MUST(function, ...) XT_CHECK(drv.function(__VA_ARGS__) == CUDA_SUCCESS)

/* A chain over two streams, ordered by one event; without it, some order gives another answer. */
static int chain(bool ordered)
{
    CUstream first, second;
    CUevent event;
    CUdeviceptr dev;
    uint32_t *host;
    MUST(cuStreamCreate, &first, CU_STREAM_NON_BLOCKING);
    MUST(cuStreamCreate, &second, CU_STREAM_NON_BLOCKING);
    MUST(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    MUST(cuMemAlloc, &dev, COUNT * 4);
    MUST(cuMemHostAlloc, (void **)&host, COUNT * 4, 0);
    MUST(cuMemsetD32Async, dev, 1, COUNT, first);
    MUST(cuMemsetD32Async, dev, 2, COUNT, first);
    MUST(cuEventRecord, event, first);
    if (ordered)
        MUST(cuStreamWaitEvent, second, event, 0);
    MUST(cuMemcpyDtoHAsync, host, dev, COUNT * 4, second);
    MUST(cuStreamSynchronize, second);
    int value = (int)host[COUNT - 1];
    MUST(cuMemFree, dev);
    MUST(cuMemFreeHost, host);
    MUST(cuEventDestroy, event);
    MUST(cuStreamDestroy, first);
    MUST(cuStreamDestroy, second);
    return value;
}

static void test_order(void)
{
    int wrong = 0;
    for (unsigned seed = 0; seed < 100; seed++) {
        fake.reset(seed);
        XT_CHECK(chain(true) == 2, "seed %u", seed);
        wrong += chain(false) != 2;
    }
    XT_CHECK(wrong > 10, "only %d of 100 unordered chains were caught", wrong);
}

/* Whether a copy down has run when the call that queues it returns: sometimes, so never rely on it.
 */
static void test_timing(void)
{
    int early = 0, late = 0;
    CUstream stream;
    CUdeviceptr dev;
    uint32_t *host;
    MUST(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    MUST(cuMemAlloc, &dev, 4);
    MUST(cuMemHostAlloc, (void **)&host, 4, 0);
    for (unsigned seed = 0; seed < 200; seed++) {
        fake.reset(seed);
        MUST(cuMemsetD32Async, dev, seed, 1, stream);
        MUST(cuMemcpyDtoHAsync, host, dev, 4, stream);
        bool ran = fake.calls("exec") == 2;
        early += ran;
        late += !ran;
        MUST(cuStreamSynchronize, stream);
        XT_CHECK(*host == seed, "%u", *host);
    }
    XT_CHECK(early > 5 && late > 50, "%d early, %d late", early, late);
    MUST(cuMemFreeHost, host);
    MUST(cuMemFree, dev);
    MUST(cuStreamDestroy, stream);
}

static void test_events(void)
{
    CUstream stream;
    CUevent event;
    int not_ready = 0;
    MUST(cuStreamCreate, &stream, 0);
    MUST(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    MUST(cuEventQuery, event);
    MUST(cuEventSynchronize, event);
    MUST(cuStreamWaitEvent, stream, event, 0);
    for (unsigned seed = 0; seed < 50; seed++) {
        fake.reset(seed);
        MUST(cuEventRecord, event, stream);
        CUresult result;
        while ((result = drv.cuEventQuery(event)) == CUDA_ERROR_NOT_READY)
            not_ready++;
        XT_CHECK(result == CUDA_SUCCESS);
    }
    XT_CHECK(not_ready > 0);
    MUST(cuEventDestroy, event);
    MUST(cuStreamDestroy, stream);
}

static void test_memory(void)
{
    CUdeviceptr dev, more;
    size_t available, total, rest;
    uint32_t pageable[2] = {7, 0};
    struct fakecuda_live live;
    CUstream stream;
    MUST(cuMemGetInfo, &available, &total);
    MUST(cuMemAlloc, &dev, 1 << 20);
    MUST(cuMemGetInfo, &rest, &total);
    XT_CHECK(available - rest == 1 << 20);
    XT_CHECK(drv.cuMemAlloc(&more, total) == CUDA_ERROR_OUT_OF_MEMORY);
    MUST(cuStreamCreate, &stream, 0);
    fake.reset(1);
    MUST(cuMemcpyHtoDAsync, dev, &pageable[0], 4, stream);
    MUST(cuMemcpyDtoHAsync, &pageable[1], dev, 4, stream);
    XT_CHECK(pageable[1] == 7, "a copy to pageable memory has ended when it returns");
    fake.live(&live);
    XT_CHECK(live.pageable == 2 && live.dev == 1 && live.dev_bytes == 1 << 20 && live.streams == 1);
    MUST(cuStreamDestroy, stream);
    MUST(cuMemFree, dev);
    fake.live(&live);
    XT_CHECK(live.dev == 0 && live.dev_bytes == 0 && live.streams == 0 && live.contexts == 1);
}

static void test_faults(void)
{
    CUdeviceptr dev = 0;
    CUstream stream;
    size_t available, total;
    fake.reset(1);
    fake.fail("cuMemAlloc", 2, FX_CODE_NOMEM, FAKECUDA_ONCE);
    MUST(cuMemAlloc, &dev, 16);
    MUST(cuMemFree, dev);
    XT_CHECK(drv.cuMemAlloc(&dev, 16) == CUDA_ERROR_OUT_OF_MEMORY);
    MUST(cuMemAlloc, &dev, 16);
    XT_CHECK(fake.calls("cuMemAlloc") == 3 && fake.calls(NULL) == 4 && fake.faults(NULL) == 1);
    fake.fail(NULL, 1, FX_CODE_UNKNOWN, FAKECUDA_ALWAYS);
    XT_CHECK(drv.cuMemGetInfo(&available, &total) == CUDA_ERROR_UNKNOWN);
    XT_CHECK(drv.cuMemGetInfo(&available, &total) == CUDA_ERROR_UNKNOWN);
    fake.reset(1);
    MUST(cuMemGetInfo, &available, &total);

    /* A fault in what a stream executes shows later, loses the context, and memory is still freed.
     */
    MUST(cuStreamCreate, &stream, 0);
    fake.fail("exec", 1, FX_CODE_LAUNCH_FAILED, FAKECUDA_ONCE);
    drv.cuMemsetD32Async(dev, 1, 4, stream);
    XT_CHECK(drv.cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
    XT_CHECK(drv.cuMemGetInfo(&available, &total) == CUDA_ERROR_LAUNCH_FAILED);
    XT_CHECK(drv.cuMemFree(dev) == CUDA_ERROR_LAUNCH_FAILED);
    XT_CHECK(drv.cuStreamDestroy(stream) == CUDA_ERROR_LAUNCH_FAILED);
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(live.dev == 0 && live.streams == 0 && live.reclaimed == 0);
}

/* What a child of this process does must end it with SIGABRT. */
static void must_abort(const char *what, void (*misuse)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        /* The child opens nothing: it runs on its own copy of a driver that was never started. */
        if (!freopen("/dev/null", "w", stderr))
            _exit(XT_HARD);
        signal(SIGABRT, SIG_DFL);
        if (xg_drv_open(&drv) == XG_OK && !drv.cuDevicePrimaryCtxRetain(&context, 0) &&
            !drv.cuCtxPushCurrent(context))
            misuse();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    XT_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s: status %d", what, status);
}

static void misuse_bounds(void)
{
    CUdeviceptr dev;
    CUstream stream;
    drv.cuMemAlloc(&dev, 100);
    drv.cuStreamCreate(&stream, 0);
    drv.cuMemsetD32Async(dev, 0, 26, stream);
}

static void misuse_freed(void)
{
    CUdeviceptr dev;
    drv.cuMemAlloc(&dev, 100);
    drv.cuMemFree(dev);
    drv.cuMemFree(dev);
}

static void misuse_guard(void)
{
    char *host;
    drv.cuMemHostAlloc((void **)&host, 100, 0);
    host[100] = 1;
    drv.cuMemFreeHost(host);
}

static void misuse_padding(void)
{
    CUdeviceptr dev;
    CUstream stream;
    CUmodule module;
    CUfunction function;
    struct xg_sgemm_args args = {.lda = 4, .ldb = 4, .ldc = 4, .m = 4, .n = 4, .k = 3, .alpha = 1};
    void *parameters[] = {&args};
    drv.cuMemAlloc(&dev, 256);
    args.a = dev;
    args.b = dev + 64;
    args.c = dev + 128;
    drv.cuStreamCreate(&stream, 0);
    drv.cuModuleLoadData(&module, "");
    drv.cuMemsetD32Async(dev, 0x3f800000, 64, stream);
    if (drv.cuModuleGetFunction(&function, module, "xg_sgemm_vectorized_sm75_64x64x16_nn"))
        _exit(0);
    drv.cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, stream, parameters, NULL);
    drv.cuStreamSynchronize(stream);
}

int main(void)
{
    fx_watchdog();
    must_abort("a write behind the end", misuse_bounds);
    must_abort("a second free", misuse_freed);
    must_abort("a page-locked guard written", misuse_guard);
    must_abort("padding that is not zero", misuse_padding);

    fake = fx_fake();
    if (xg_drv_open(&drv) != XG_OK)
        return XT_HARD;
    size_t bytes;
    XT_CHECK(drv.cuMemGetInfo(&bytes, &bytes) == CUDA_ERROR_INVALID_CONTEXT);
    MUST(cuDevicePrimaryCtxRetain, &context, 0);
    MUST(cuCtxPushCurrent, context);
    test_order();
    test_timing();
    test_events();
    test_memory();
    test_faults();
    MUST(cuCtxPopCurrent, &context);
    MUST(cuDevicePrimaryCtxRelease, 0);
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(live.contexts == 0 && live.reclaimed == 0);
    return xt_done();
}
