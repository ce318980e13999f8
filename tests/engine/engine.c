/* SPDX-License-Identifier: MIT */
/*
 * The engine of the process on the fake driver: start, sharing, failures, fork, exit. Contract 7.3,
 * 7.4, 8.2, 8.4, 8.5, 9.2, 9.3, 10.1 (doc/contract.md).
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "scenario.h"
#include "src/device/drv.h"
#include "src/engine/engine.h"
#include "src/pipeline/pipeline.h"
#include "tests/support/guarded.h"
#include "tests/support/threads.h"

static struct fakecuda fake;
static struct xg_conf conf;
static const struct fx_shape shape = {150, 140, 60, false, true, 1, 0.5f, 1};

static void begin(void)
{
    fake = fx_fake();
    conf = fx_conf();
    conf.stage_threads = 2;
}

static void wait_until(enum xg_engine_state wanted)
{
    XT_CHECK(xg_engine_wait(&conf) == wanted, "state %d", xg_engine_state_get());
}

static void begin_ready(void)
{
    begin();
    wait_until(XG_ENGINE_READY);
}

static void check_state(enum xg_engine_state wanted)
{
    XT_CHECK(xg_engine_state_get() == wanted, "state %d", xg_engine_state_get());
}

static const struct xg_patience none = {.takes_s = 1, .waits_s = 0, .threads = 8};

/* Runs and checks the product. If the engine declines it, C must be untouched. */
static enum xg_status run_product(struct fx_product *product, bool wait)
{
    struct xg_cpu cpu = fx_product_cpu(product);
    struct xg_result result;
    enum xg_status status = xg_engine_compute(&(struct xg_call){.problem = &product->call}, &conf,
                                              &cpu, wait ? NULL : &none, &result);
    if (status == XG_DECLINED)
        XT_CHECK(fx_untouched(product), "declined, but C is touched");
    else
        fx_product_check(product, 1, "engine");
    XT_CHECK((status < 0) == (product->count.wholes || product->count.parts),
             "%s, and the CPU computed %ld and %ld", xg_status_name(status), product->count.wholes,
             product->count.parts);
    return status;
}

static enum xg_status run_shape(const struct fx_shape *of, bool wait, uint64_t seed)
{
    struct fx_product product = fx_product_create(of, seed);
    enum xg_status status = run_product(&product, wait);
    fx_product_destroy(&product);
    return status;
}

static enum xg_status run(bool wait)
{
    return run_shape(&shape, wait, 1);
}

static void *release_main(void *unused)
{
    fx_nap_us(200000);
    fake.release();
    return unused;
}

/* The start continues while this thread waits for it. */
static void release_later(void)
{
    pthread_detach(xt_thread_start(release_main, NULL));
}

static void start_in_background(void)
{
    begin();
    check_state(XG_ENGINE_COLD);
    XT_CHECK(run(true) == XG_DECLINED, "a cold engine computes");
    XT_CHECK(fake.calls("cuInit") == 0, "a cold engine is started by a product");
    errno = ENOTTY;
    xg_engine_start(&conf);
    XT_CHECK(errno == ENOTTY, "errno %d", errno);
    XT_CHECK(xg_engine_state_get() == XG_ENGINE_STARTING, "the start is waited for: state %d",
             xg_engine_state_get());
    XT_CHECK(run(true) == XG_DECLINED, "a starting engine computes");
    xg_engine_start(&conf);
    release_later();
    XT_CHECK(xg_engine_wait(&conf) == XG_ENGINE_READY, "the start was not waited for: state %d",
             xg_engine_state_get());
    XT_CHECK(run(true) == XG_OK, "no product");
    XT_CHECK(run(false) == XG_OK, "no product");
    XT_CHECK(fake.calls("cuInit") == 1, "%ld starts", fake.calls("cuInit"));
}

/* Longer than the watchdog lets a scenario run. */
enum { FOREVER_MS = 1000000 };

/* One product waits for a start that hangs; later products do not wait. A start that ends late
 * still serves. */
static void slow_start(void)
{
    begin();
    conf.timeout_ms = 300;
    double began_s = xg_clock_s();
    wait_until(XG_ENGINE_STARTING);
    double first_s = xg_clock_s() - began_s;
    XT_CHECK(first_s >= 0.29, "waited for %g s", first_s);
    struct xg_conf longer = conf;
    longer.timeout_ms = FOREVER_MS;
    for (int i = 0; i < 50; i++) /* as many waits would last longer than the watchdog allows */
        XT_CHECK(xg_engine_wait(&longer) == XG_ENGINE_STARTING, "state %d", xg_engine_state_get());
    XT_CHECK(run(true) == XG_DECLINED, "a starting engine computes");
    fake.release();
    while (xg_engine_state_get() == XG_ENGINE_STARTING)
        fx_nap_us(1000);
    wait_until(XG_ENGINE_READY);
    XT_CHECK(run(true) == XG_OK, "no product");
}

static void no_engine(void)
{
    begin();
    wait_until(XG_ENGINE_NONE);
    wait_until(XG_ENGINE_NONE);
    XT_CHECK(run(true) == XG_DECLINED, "no engine, but a product");
    XT_CHECK(fake.calls("cuInit") == 1, "%ld starts", fake.calls("cuInit"));
    fx_nothing_left(&fake);
}

static void three_failures(void)
{
    begin_ready();
    /* Failures that are not consecutive do not end the engine. */
    for (int i = 0; i < 5; i++) {
        fake.fail("cuLaunchKernel", 1, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
        XT_CHECK(run(true) == XG_ERR_DRIVER, "failure %d", i);
        XT_CHECK(run(true) == XG_OK, "after failure %d", i);
    }
    fake.fail("cuMemcpyHtoDAsync", 1, FX_CODE_UNKNOWN, FAKECUDA_ALWAYS);
    for (int i = 0; i < 3; i++) {
        XT_CHECK(xg_engine_state_get() == XG_ENGINE_READY, "given up after %d", i);
        XT_CHECK(run(true) == XG_ERR_DRIVER, "failure %d", i);
    }
    check_state(XG_ENGINE_NONE);
    XT_CHECK(run(true) == XG_DECLINED, "given up, but a product");
    fx_nothing_left(&fake);
}

static void lost_context(void)
{
    begin_ready();
    fake.fail("exec", 5, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY);
    XT_CHECK(run(true) == XG_ERR_LOST, "the loss was not noticed");
    check_state(XG_ENGINE_NONE);
    XT_CHECK(run(true) == XG_DECLINED, "lost, but a product");
    fx_nothing_left(&fake);
}

/* Longer than any operation takes on a busy machine, so that a slow one is not taken for a hang. */
enum { HANG_MS = 3000 };

/* From operation HANG_AT on the device executes nothing: the CPU completes the product, and the
 * device gets no other product. */
static void hung_device(void)
{
    static const struct fx_shape large = {700, 600, 100, false, false, 1, 0.5f, 1};
    begin();
    conf.timeout_ms = HANG_MS;
    wait_until(XG_ENGINE_READY);
    XT_CHECK(run_shape(&large, true, 1) == XG_OK, "no product");
    fake.fail("exec", atol(getenv("HANG_AT")), FAKECUDA_HANG, FAKECUDA_ONCE);
    double began_s = xg_clock_s();
    XT_CHECK(run_shape(&large, true, 2) == XG_ERR_HUNG, "the hang was not noticed");
    double seconds = xg_clock_s() - began_s;
    XT_CHECK(seconds >= 1e-3 * HANG_MS, "noticed after %g s", seconds);
    check_state(XG_ENGINE_NONE);
    XT_CHECK(run(true) == XG_DECLINED, "hung, but a product");
}

/* A LAPACK routine waits with a longer limit. Its wait ends when a product finds that the device
 * hangs. */
static void hung_beside(void)
{
    struct xg_dev *dev;
    CUstream stream;
    CUevent event;
    CUdeviceptr word;
    int before;
    begin();
    conf.timeout_ms = HANG_MS;
    wait_until(XG_ENGINE_READY);
    XT_CHECK(xg_engine_hold(0, &dev) && xg_dev_begin(dev, &before) == XG_OK);
    XT_CHECK(XG_DRV(&dev->drv, cuMemAlloc, &word, 4) == XG_OK);
    XT_CHECK(XG_DRV(&dev->drv, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING) == XG_OK);
    XT_CHECK(XG_DRV(&dev->drv, cuEventCreate, &event, CU_EVENT_DISABLE_TIMING) == XG_OK);
    fake.fail("exec", 1, FAKECUDA_HANG, FAKECUDA_ONCE);
    XT_CHECK(run(true) == XG_ERR_HUNG, "the hang was not noticed");
    XT_CHECK(XG_DRV(&dev->drv, cuMemsetD32Async, word, 0, 1, stream) == XG_OK);
    XT_CHECK(XG_DRV(&dev->drv, cuEventRecord, event, stream) == XG_OK);
    XT_CHECK(xg_dev_await(dev, event, 0, HUGE_VAL) == XG_ERR_HUNG, "the event came");
    xg_dev_end(dev, before);
    xg_engine_let_go(0);
}

/* A failure is followed by a hang: the wait for running operations ends. */
static void hung_failure(void)
{
    begin();
    conf.timeout_ms = HANG_MS;
    wait_until(XG_ENGINE_READY);
    fake.fail("exec", 2, FAKECUDA_HANG, FAKECUDA_ONCE);
    fake.fail("cuMemcpyDtoHAsync", 1, FX_CODE_UNKNOWN, FAKECUDA_ALWAYS);
    fake.fail("cuMemcpy2DAsync", 1, FX_CODE_UNKNOWN, FAKECUDA_ALWAYS);
    XT_CHECK(run(true) == XG_ERR_HUNG, "the hang was not noticed");
    check_state(XG_ENGINE_NONE);
}

enum { PRODUCTS = 10 };

/* Several threads at once. */
static struct fx_worker run_threads(const struct xg_patience *patience)
{
    return fx_workers_run(
        &(struct fx_worker){.conf = &conf, .patience = patience, .products = PRODUCTS});
}

/* The blocks of two lanes, and a little more. */
static const size_t PINNED_MAX_BYTES = 129 << 20;

static void many_threads(void)
{
    begin_ready();
    const int right = run_threads(NULL).right;
    XT_CHECK(right == FX_WORKERS * PRODUCTS, "%d right", right);
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(live.pinned_bytes > 0 && live.pinned_bytes < PINNED_MAX_BYTES,
             "contract 10.1: %zu bytes are page-locked", live.pinned_bytes);
}

static void busy_declines(void)
{
    begin_ready();
    const struct fx_worker sum = run_threads(&none);
    XT_CHECK(sum.right && sum.declined, "%d right, %d declined", sum.right, sum.declined);
}

/*
 * Eight threads share two lanes: at most seven are ahead of a thread, and each lane computes half
 * of them. With patience for all of them no product is declined; with patience for one and a half
 * some are.
 */
static void patience_counts(void)
{
    static const struct xg_patience for_all = {.takes_s = 1, .waits_s = 4, .threads = 8};
    static const struct xg_patience for_some = {.takes_s = 1, .waits_s = 1.5, .threads = 8};
    /* A thread that waits without limit also counts for the threads behind it. */
    static const struct xg_patience always = {.takes_s = 1, .waits_s = HUGE_VAL, .threads = 8};
    begin_ready();
    int declined = run_threads(&for_all).declined;
    XT_CHECK(declined == 0, "%d declined, with patience for all", declined);
    declined = run_threads(&always).declined;
    XT_CHECK(declined == 0, "%d declined, with patience without end", declined);
    declined = run_threads(&for_some).declined;
    XT_CHECK(declined > 0 && declined < FX_WORKERS * PRODUCTS, "%d declined", declined);
}

/* The device is lost while several threads compute products. */
static void threads_lose(void)
{
    begin_ready();
    fake.fail("exec", 200, FX_CODE_LAUNCH_FAILED, FAKECUDA_STICKY);
    const int computed = run_threads(NULL).right;
    XT_CHECK(computed > 0 && computed < FX_WORKERS * PRODUCTS, "%d computed", computed);
    check_state(XG_ENGINE_NONE);
    fx_nothing_left(&fake);
}

static sem_t kept, give_back;
static atomic_int kept_right;

static void keep_lane(void *ctx)
{
    sem_post(&kept);
    sem_wait(&give_back);
    fx_cpu_whole(ctx);
}

static void *fail_and_keep_lane(void *shape_of_it)
{
    struct fx_product product = fx_product_create(shape_of_it, 1);
    struct xg_cpu cpu = fx_product_cpu(&product);
    cpu.whole = keep_lane;
    struct xg_result result;
    enum xg_status status =
        xg_engine_compute(&(struct xg_call){.problem = &product.call}, &conf, &cpu, NULL, &result);
    kept_right += status == XG_ERR_DRIVER && fx_error(&product, 1) <= 1.0;
    fx_product_destroy(&product);
    return NULL;
}

enum { LANE_MS = 700 }; /* a thread waits four times as long for a lane */

/* No lane becomes free: one product waits for a lane, and later ones do not wait until a lane is
 * free again. */
static void lost_lanes(void)
{
    static struct fx_shape small = {70, 60, 50, false, false, 1, 0, 0};
    begin();
    conf.timeout_ms = LANE_MS;
    wait_until(XG_ENGINE_READY);
    fake.fail("cuLaunchKernel", 1, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
    fake.fail("cuLaunchKernel", 2, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
    const struct xt_threads threads =
        xt_threads_start(XG_POLICY_LANES, fail_and_keep_lane, &small, 0);
    for (int i = 0; i < XG_POLICY_LANES; i++)
        sem_wait(&kept);
    double began_s = xg_clock_s();
    XT_CHECK(run(true) == XG_DECLINED, "a product without a lane");
    double first_s = xg_clock_s() - began_s;
    XT_CHECK(first_s >= 4e-3 * LANE_MS, "waited for %g s", first_s);
    for (int i = 0; i < 50; i++) /* as many waits would last longer than the watchdog allows */
        XT_CHECK(run(true) == XG_DECLINED, "a product without a lane");
    for (int i = 0; i < XG_POLICY_LANES; i++)
        sem_post(&give_back);
    xt_threads_join(&threads);
    XT_CHECK(kept_right == XG_POLICY_LANES, "%d right", kept_right);
    XT_CHECK(run(true) == XG_OK, "the lanes are back");
}

/* A child of fork must find no engine, make no driver call and not wait. It allocates nothing,
 * because the thread sanitizer's allocator may hold locks that nothing in the child releases. */
static void fork_and_check(void)
{
    struct fx_product product = fx_product_create(&shape, 1);
    pid_t pid = fork();
    if (pid == 0) {
        bool right = xg_engine_state_get() == XG_ENGINE_FORKED &&
                     xg_engine_wait(&conf) == XG_ENGINE_FORKED &&
                     run_product(&product, true) == XG_DECLINED && fake.forked_calls() == 0;
        xg_engine_start(&conf);
        right = right && xg_engine_state_get() == XG_ENGINE_FORKED && fake.forked_calls() == 0;
        _exit(right ? 0 : 1);
    }
    xt_child_wait(pid, "the child");
    fx_product_destroy(&product);
}

static void fork_children(void)
{
    struct fx_worker worker = {.conf = &conf, .products = 40};
    begin();
    xg_engine_start(&conf);
    fork_and_check(); /* while the engine starts */
    wait_until(XG_ENGINE_READY);
    XT_CHECK(run(true) == XG_OK, "before the fork");
    const pthread_t thread = xt_thread_start(fx_work, &worker);
    for (int i = 0; i < 10; i++)
        fork_and_check(); /* while another thread is in the engine */
    pthread_join(thread, NULL);
    XT_CHECK(worker.right == 40, "%d right", worker.right);
    XT_CHECK(run(true) == XG_OK, "after the fork");
}

/* If the parent has not started the engine, the child may start one. */
static void fork_before_start(void)
{
    begin();
    pid_t pid = fork();
    if (pid == 0)
        _exit(xg_engine_wait(&conf) == XG_ENGINE_READY && run(true) == XG_OK ? 0 : 1);
    xt_child_wait(pid, "the child");
}

static void callers_context(void)
{
    struct xg_drv drv;
    CUcontext own = NULL, current = NULL;
    begin_ready();
    CUresult (*get_current)(CUcontext *) = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    XT_CHECK(library && fakecuda_symbol(library, "cuCtxGetCurrent", &get_current), "no symbol");
    XT_CHECK(xg_drv_open(&drv) == XG_OK, "no driver");
    XT_CHECK(run(true) == XG_OK, "no context");
    XT_CHECK(get_current(&current) == CUDA_SUCCESS && !current, "a context was left behind");
    XT_CHECK(drv.cuDevicePrimaryCtxRetain(&own, 1) == CUDA_SUCCESS, "no second device");
    XT_CHECK(drv.cuCtxPushCurrent(own) == CUDA_SUCCESS, "no context");
    XT_CHECK(run(true) == XG_OK, "with the program's context");
    fake.fail("cuLaunchKernel", 1, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
    XT_CHECK(run(true) == XG_ERR_DRIVER, "with the program's context, failing");
    XT_CHECK(get_current(&current) == CUDA_SUCCESS && current == own, "not the program's context");
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

/* The engine's threads take no signals: a signal that the program's only thread blocks stays
 * pending. */
static void signals_stay(void)
{
    sigset_t set, before, after;
    begin();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, on_signal);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    wait_until(XG_ENGINE_READY);
    XT_CHECK(run(true) == XG_OK, "no product");
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < SIGRTMAX; i++)
        XT_CHECK(sigismember(&before, i) == sigismember(&after, i), "signal %d", i);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR1);
    fx_nap_us(50000);
    XT_CHECK(signals == 0, "another thread took the signal");
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    XT_CHECK(signals == 1, "%d signals", (int)signals);
}

static void exit_while_starting(void)
{
    begin();
    xg_engine_start(&conf);
    check_state(XG_ENGINE_STARTING);
    exit(xt_failures ? XT_FAIL : XT_PASS);
}

static void product_at_exit(void)
{
    /* Registered before the engine's own handlers, therefore runs after them. */
    enum xg_status status = run(true);
    if (xt_failures || (status != XG_OK && status != XG_DECLINED && status >= 0))
        _exit(XT_FAIL);
}

static void exit_while_computing(void)
{
    static struct fx_worker worker = {.conf = &conf, .products = 10000};
    begin();
    atexit(product_at_exit);
    wait_until(XG_ENGINE_READY);
    xt_thread_start(fx_work, &worker);
    fx_nap_us(100000);
    exit(xt_failures ? XT_FAIL : XT_PASS);
}

static void old_device(void)
{
    begin_ready();
    XT_CHECK(run(true) == XG_OK, "no product");
    XT_CHECK(fake.calls("cublasSgemm") > 0, "not by cuBLAS");
    fake.fail("cublasSgemm", 1, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
    XT_CHECK(run(true) < 0, "cuBLAS failed, and it was not noticed");
}

static void forced_cublas(void)
{
    begin();
    conf.kernel = "cublas";
    wait_until(XG_ENGINE_READY);
    XT_CHECK(run(true) == XG_OK, "no product");
    XT_CHECK(fake.calls("cublasSgemm") > 0, "not by cuBLAS");
}

/* Each stream gets a workspace. If cuBLAS refuses one of them, the next product sets it again. */
static void reproducible_cublas(void)
{
    static const char *const refusing[] = {"cublasSetWorkspace", "cublasSetStream"};
    begin();
    conf.kernel = "cublas";
    conf.reproducible = true;
    wait_until(XG_ENGINE_READY);
    for (size_t i = 0; i < sizeof(refusing) / sizeof(refusing[0]); i++) {
        fake.fail(refusing[i], 1, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
        XT_CHECK(run(true) < 0, "%s failed, and it was not noticed", refusing[i]);
    }
    XT_CHECK(run(true) == XG_OK, "no product afterwards");
    XT_CHECK(fake.calls("cublasSetWorkspace") > 0, "no workspaces");
}

static const struct fx_scenario scenarios[] = {
    {"start_in_background", start_in_background, "FAKECUDA_INIT_MS=-1", NULL, NULL},
    {"no_device", no_engine, "FAKECUDA_DEVICES=0", NULL, NULL},
    {"no_start", no_engine, "FAKECUDA_FAIL=cuInit:1:999", "could not be started",
     "999: nvidia-smi"},
    {"no_start", no_engine, "FAKECUDA_FAIL=cuInit:1:3", "NOT_INITIALIZED, 3: ", "kernel module"},
    {"no_start", no_engine, "FAKECUDA_FAIL=cuInit:1:34", "34: ", "stub library"},
    {"no_start", no_engine, "FAKECUDA_FAIL=cuInit:1:46", "46: ", "another process"},
    {"no_start", no_engine, "FAKECUDA_FAIL=cuInit:1:101", "101: ", "CUDA_VISIBLE_DEVICES"},
    {"no_start", no_engine, "FAKECUDA_FAIL=cuInit:1:802", "802: ", "nvidia-fabricmanager"},
    {"no_start", no_engine, "FAKECUDA_FAIL=cuInit:1:803", "803: ", "different versions"},
    {"no_start", no_engine, "FAKECUDA_FAIL=cuInit:1:804", "804: ", "compatibility"},
    {"no_start", no_engine, "FAKECUDA_FAIL=cuInit:1:1000", "unknown error, 1000)", "on the CPU"},
    {"no_context", no_engine, "FAKECUDA_FAIL=cuDevicePrimaryCtxRetain:1:2", "could not be started",
     NULL},
    {"no_memory_info", no_engine, "FAKECUDA_FAIL=cuMemGetInfo:1:719:sticky", "could not be started",
     NULL},
    {"no_streams", no_engine, "FAKECUDA_FAIL=cuStreamCreate:3:2", "could not be started", NULL},
    {"three_failures", three_failures, "", "the CPU completed it", "on the CPU from here on"},
    {"lost_context", lost_context, "", "on the CPU from here on", NULL},
    {"slow_start", slow_start, "FAKECUDA_INIT_MS=-1", NULL, NULL},
    {"hung_device", hung_device, "HANG_AT=1", "does not answer", "on the CPU from here on"},
    {"hung_device", hung_device, "HANG_AT=8", "does not answer", "on the CPU from here on"},
    {"hung_device", hung_device, "HANG_AT=15", "does not answer", "on the CPU from here on"},
    {"hung_device", hung_device, "HANG_AT=8 FAKECUDA_SEED=5", "does not answer",
     "on the CPU from here on"},
    {"hung_beside", hung_beside, "", "does not answer", "on the CPU from here on"},
    {"hung_failure", hung_failure, "", "does not answer", "on the CPU from here on"},
    {"many_threads", many_threads, "", NULL, NULL},
    {"patience_counts", patience_counts, "FAKECUDA_DELAY_US=300", NULL, NULL},
    {"busy_declines", busy_declines, "FAKECUDA_DELAY_US=300", NULL, NULL},
    {"threads_lose", threads_lose, "", "on the CPU from here on", NULL},
    {"lost_lanes", lost_lanes, "", "the CPU completed it", NULL},
    {"fork_children", fork_children, "FAKECUDA_INIT_MS=100", NULL, NULL},
    {"fork_before_start", fork_before_start, "", NULL, NULL},
    {"callers_context", callers_context, "FAKECUDA_DEVICES=2", "the CPU completed it", NULL},
    {"signals_stay", signals_stay, "", NULL, NULL},
    {"exit_while_starting", exit_while_starting, "FAKECUDA_INIT_MS=300", NULL, NULL},
    {"exit_while_computing", exit_while_computing, "", "", NULL},
    {"old_device", old_device, "FAKECUDA_SM=70", "the CPU completed it", NULL},
    {"forced_cublas", forced_cublas, "", NULL, NULL},
    {"reproducible_cublas", reproducible_cublas, "", "the CPU completed it", NULL},
};

FX_SCENARIO_MAIN(scenarios)
