/* SPDX-License-Identifier: MIT */
/* Products while the program captures a stream into a CUDA graph: the product is computed and the
 * capture stays valid. Contract 7.4. */
#include <pthread.h>
#include <unistd.h>

#include "scenario.h"
#include "src/engine/engine.h"
#include "src/pipeline/pipeline.h"
#include "tests/support/guarded.h"

static struct fakecuda fake;
static struct xg_conf conf;

/* The program's own driver calls. */
static struct {
    struct xg_drv drv;
    CUresult (*begin)(CUstream stream, CUstreamCaptureMode mode);
    CUresult (*end)(CUstream stream, CUgraph *graph);
    CUresult (*exchange)(CUstreamCaptureMode *mode);
    CUcontext context;
    CUstream stream;
} program;

static void begin(void)
{
    fake = fx_fake();
    conf = fx_conf();
    conf.stage_threads = 2;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    XT_CHECK(library && fakecuda_symbol(library, "cuStreamBeginCapture_v2", &program.begin) &&
             fakecuda_symbol(library, "cuStreamEndCapture", &program.end) &&
             fakecuda_symbol(library, "cuThreadExchangeStreamCaptureMode", &program.exchange));
    XT_CHECK(xg_drv_open(&program.drv) == XG_OK);
    XT_CHECK(!program.drv.cuDevicePrimaryCtxRetain(&program.context, 0) &&
             !program.drv.cuCtxPushCurrent(program.context) &&
             !program.drv.cuStreamCreate(&program.stream, CU_STREAM_NON_BLOCKING));
}

static void capture(CUstreamCaptureMode mode)
{
    XT_CHECK(program.begin(program.stream, mode) == CUDA_SUCCESS, "no capture");
}

static void check_captured(const char *when)
{
    CUgraph graph = NULL;
    CUresult result = program.end(program.stream, &graph);
    XT_CHECK(result == CUDA_SUCCESS && graph, "%s: the program's graph is lost, %d", when, result);
}

/* Sets the mode of this thread, and the default mode of later threads. */
static CUstreamCaptureMode take_mode(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    XT_CHECK(program.exchange(&mode) == CUDA_SUCCESS);
    return mode;
}

/* The product is right, whichever side computes it. */
static enum xg_status run(uint64_t seed)
{
    const struct fx_shape shape = {150, 140, 60 + (int64_t)seed % 3 * 300, false, true, 1, 0.5f, 1};
    struct fx_product product = fx_product_create(&shape, seed);
    struct xg_cpu cpu = fx_product_cpu(&product);
    struct xg_result result;
    enum xg_status status =
        xg_engine_compute(&(struct xg_call){.problem = &product.call}, &conf, &cpu, NULL, &result);
    XT_CHECK(status != XG_DECLINED);
    fx_product_check(&product, 1, "capture");
    XT_CHECK((status < 0) == (product.count.wholes || product.count.parts), "%s",
             xg_status_name(status));
    fx_product_destroy(&product);
    return status;
}

static void *run_on_thread(void *seed)
{
    XT_CHECK(run((uint64_t)(uintptr_t)seed) == XG_OK, "on a thread that captures nothing");
    XT_CHECK(take_mode() == CU_STREAM_CAPTURE_MODE_GLOBAL, "the thread's mode is another one");
    return NULL;
}

/* A product's first calls of each kind: memory, page-locked memory, kernels. */
static void product_while_capturing(void)
{
    begin();
    XT_CHECK(xg_engine_wait(&conf) == XG_ENGINE_READY, "state %d", xg_engine_state_get());
    capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    pthread_join(xt_thread_start(run_on_thread, (void *)(uintptr_t)1), NULL);
    check_captured("another thread multiplies");
    for (uint64_t mode = 0; mode < 3; mode++) {
        capture((CUstreamCaptureMode)mode);
        XT_CHECK(run(2 + mode) == XG_OK, "the thread that captures multiplies, mode %d", (int)mode);
        check_captured("the same thread multiplies");
    }
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY, "state %d", xg_engine_state_get());
}

static void start_while_capturing(void)
{
    begin();
    capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    XT_CHECK(xg_engine_wait(&conf) == XG_ENGINE_READY, "state %d", xg_engine_state_get());
    check_captured("the engine starts");
    XT_CHECK(run(1) == XG_OK);
}

/* The engine is given up after a failure while the program captures: it frees its resources. */
static void end_while_capturing(void)
{
    begin();
    XT_CHECK(xg_engine_wait(&conf) == XG_ENGINE_READY, "state %d", xg_engine_state_get());
    XT_CHECK(run(1) == XG_OK);
    capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    for (int i = 0; i < 3; i++) {
        fake.fail("cuLaunchKernel", 1, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
        XT_CHECK(run(2) == XG_ERR_DRIVER);
    }
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_NONE, "state %d", xg_engine_state_get());
    check_captured("the engine ends");
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(!live.dev && !live.pinned && live.streams == 1 && !live.events && !live.modules &&
                 !live.reclaimed,
             "objects are left");
}

/* The thread's own mode is restored, whatever happens to the product. */
static void mode_stays(void)
{
    begin();
    XT_CHECK(xg_engine_wait(&conf) == XG_ENGINE_READY, "state %d", xg_engine_state_get());
    XT_CHECK(take_mode() == CU_STREAM_CAPTURE_MODE_GLOBAL);
    for (int i = 0; i < 6; i++) {
        CUstreamCaptureMode mode = (CUstreamCaptureMode)(i % 3);
        XT_CHECK(program.exchange(&mode) == CUDA_SUCCESS);
        if (i >= 3)
            fake.fail(i == 3 ? "cuMemHostAlloc" : "cuLaunchKernel", 1, FX_CODE_NOMEM,
                      FAKECUDA_ONCE);
        XT_CHECK((run((uint64_t)i) == XG_OK) == (i < 3 || i == 3), "product %d", i);
        CUstreamCaptureMode after = take_mode();
        XT_CHECK((int)after == i % 3, "mode %d, not %d", (int)after, i % 3);
    }
}

/* An error caused by a capture never counts as a device failure. */
static void codes(void)
{
    enum { FIRST = 900, LAST = 908, NOT_ANY_MORE = 909 };
    begin();
    XT_CHECK(xg_engine_wait(&conf) == XG_ENGINE_READY, "state %d", xg_engine_state_get());
    for (int code = FIRST; code <= LAST; code++) {
        fake.fail("cuLaunchKernel", 1, code, FAKECUDA_ONCE);
        XT_CHECK(run((uint64_t)code) == XG_ERR_CAPTURE, "code %d", code);
        XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY, "code %d", code);
        fake.reset((unsigned)code);
    }
    /* The wait for running operations then ends when the capture ends. */
    fake.fail("cuLaunchKernel", 1, FIRST, FAKECUDA_ONCE);
    for (long nth = 1; nth < 10; nth++)
        fake.fail("cuEventQuery", nth, FIRST, FAKECUDA_ONCE);
    XT_CHECK(run(1) == XG_ERR_CAPTURE);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY);
    fake.reset(1);
    XT_CHECK(run(1) == XG_OK);
    fake.fail("cuLaunchKernel", 1, NOT_ANY_MORE, FAKECUDA_ONCE);
    XT_CHECK(run(1) == XG_ERR_LOST);
}

/* A start that a capture forbids is tried again, a limited number of times. */
static void start_again(void)
{
    begin();
    fake.fail("cuModuleLoadData", 1, 906, FAKECUDA_ONCE);
    fake.fail("cuStreamCreate", 1, 906, FAKECUDA_ONCE);
    XT_CHECK(xg_engine_wait(&conf) == XG_ENGINE_COLD, "state %d", xg_engine_state_get());
    XT_CHECK(xg_engine_wait(&conf) == XG_ENGINE_READY, "state %d", xg_engine_state_get());
    XT_CHECK(run(1) == XG_ERR_CAPTURE, "a kernel that may not be loaded now");
    XT_CHECK(run(1) == XG_OK);
}

static void start_never(void)
{
    begin();
    fake.fail("cuStreamCreate", 1, 906, FAKECUDA_ALWAYS);
    int starts = 0;
    while (xg_engine_wait(&conf) == XG_ENGINE_COLD && starts < 10)
        starts++;
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_NONE && starts == 2, "%d starts", starts);
}

static const struct fx_scenario scenarios[] = {
    {"product_while_capturing", product_while_capturing, "", NULL, NULL},
    {"start_while_capturing", start_while_capturing, "", NULL, NULL},
    {"end_while_capturing", end_while_capturing, "", "products run on the CPU", NULL},
    {"mode_stays", mode_stays, "", "the CPU completed it", NULL},
    {"codes", codes, "", "device lost", NULL},
    {"start_again", start_again, "", NULL, NULL},
    {"start_never", start_never, "", "could not be started", NULL},
};

FX_SCENARIO_MAIN(scenarios)
