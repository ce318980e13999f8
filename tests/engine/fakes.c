/* SPDX-License-Identifier: MIT */
/*
 * The fakes themselves. The driver: order, faults, limits. cuSOLVER where the engine's calls do not
 * show it: calls that it refuses, matrices for which Xgesvdp is wrong, a lost device. Both end a
 * test that misuses them.
 */
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

#include "kernels/kabi.h"
#include "src/compute/solver_library.h"
#include "src/device/drv.h"
#include "tests/fakedrv/cusolver.h"
#include "tests/support/guarded.h"

enum { COUNT = 1000 };

static struct fakecuda fake;
static struct xg_drv drv;
static CUcontext context;

#define MUST(function, ...) XT_CHECK(drv.function(__VA_ARGS__) == CUDA_SUCCESS)

/* Opens the driver, and enters the first device's context. */
static void enter(void)
{
    if (xg_drv_open(&drv) != XG_OK)
        exit(XT_HARD);
    MUST(cuDevicePrimaryCtxRetain, &context, 0);
    MUST(cuCtxPushCurrent, context);
}

static void leave(void)
{
    drv.cuCtxPopCurrent(&context);
    drv.cuDevicePrimaryCtxRelease(0);
}

/* --- The driver ------------------------------------------------------------------------------ */

/* A chain of operations over two streams. One event orders them; without it the result depends on
 * the order in which the streams advance. */
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

/* A copy from the device has sometimes run when the call that queues it returns. */
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

    /* A fault in an operation on a stream shows in a later call and loses the context. Memory is
     * freed all the same. */
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
    struct xg_sgemm_args args = {
        .lda = 4, .ldb = 4, .ldc = 4, .m = 4, .n = 4, .k = 3, .alpha = 1, .split = 1};
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

/* --- cuSOLVER: matrices by columns without padding -------------------------------------------- */

enum { LONG = 9, SHORT = 5 };

enum { LOWER, UPPER };
enum { LEFT, RIGHT };
enum { NO_VECTORS, VECTORS };
enum { TRANS = 1, CONJ_TRANS };

static const struct xg_solver_functions *const api = &xg_solver_functions;
static CUstream stream;
static xg_solver_handle handle;
static xg_solver_params params;

/* The current case. */
static enum xg_type type;
static int cuda_type, real_type;
static struct {
    CUdeviceptr device, info;
    size_t device_bytes, host_bytes;
    char host[1 << 12];
    int lwork;
} work;

#define ON(dev) ((void *)(uintptr_t)(dev))
#define WORK                                                                                       \
    cuda_type, ON(work.device), work.device_bytes, work.host, work.host_bytes, ON(work.info)
#define TYPED_WORK ON(work.device), work.lwork, ON(work.info)
#define REFUSED(function, ...)                                                                     \
    XT_CHECK(function(__VA_ARGS__) == CUSOLVER_STATUS_INVALID_VALUE, #function)

static void choose(enum xg_type chosen)
{
    static const int of_types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
    type = chosen;
    cuda_type = of_types[type];
    real_type = of_types[xg_type_real(type)];
}

/* Allocates device memory, which the end of the context frees. */
static CUdeviceptr there(size_t bytes)
{
    CUdeviceptr memory = 0;
    MUST(cuMemAlloc, &memory, bytes);
    return memory;
}

union numbers {
    float single[2 * LONG * LONG];
    double twice[2 * LONG * LONG];
};

static size_t bytes_of(int m, int n)
{
    return (size_t)(m * n) * xg_type_bytes(type);
}

static union numbers random_numbers(void)
{
    static uint64_t seed = 1;
    union numbers x;
    for (int i = 0; i < 2 * LONG * LONG; i++)
        if (xg_type_is_double(type))
            x.twice[i] = (double)xt_random(&seed);
        else
            x.single[i] = xt_random(&seed);
    return x;
}

static CUdeviceptr up(const union numbers *x)
{
    CUdeviceptr dev = there(sizeof *x);
    MUST(cuMemcpyHtoDAsync, dev, x, sizeof *x, stream);
    MUST(cuStreamSynchronize, stream);
    return dev;
}

static CUdeviceptr random_matrix(void)
{
    union numbers x = random_numbers();
    return up(&x);
}

/* --- cuSOLVER: singular values by Xgesvdp ---------------------------------------------------- */

/* Returns the status; sets the error that the call reports and the length of U's first column. */
static int run_gesvdp(const union numbers *a, int m, int n, bool econ, double *error,
                      double *length)
{
    const bool wide = xg_type_is_double(type);
    CUdeviceptr dev = up(a), u = random_matrix(), v = random_matrix(), s = random_matrix();
    union numbers column;
    double sum = 0;
    XT_CHECK(api->gesvdp_size(handle, params, VECTORS, econ, m, n, cuda_type, ON(dev), m, real_type,
                              ON(s), cuda_type, ON(u), m, cuda_type, ON(v), n, cuda_type,
                              &work.device_bytes, &work.host_bytes) == CUSOLVER_STATUS_SUCCESS);
    work.device = there(work.device_bytes);
    int status = api->gesvdp(handle, params, VECTORS, econ, m, n, cuda_type, ON(dev), m, real_type,
                             ON(s), cuda_type, ON(u), m, cuda_type, ON(v), n, WORK, error);
    MUST(cuMemcpyDtoHAsync, &column, u, bytes_of(m, 1), stream);
    MUST(cuStreamSynchronize, stream);
    for (size_t i = 0; i < bytes_of(m, 1) / (wide ? 8 : 4); i++)
        sum += pow(wide ? column.twice[i] : (double)column.single[i], 2);
    *length = sqrt(sum);
    return status;
}

static void test_gesvdp(int m, int n, bool econ)
{
    union numbers a = random_numbers();
    double error = -1, length;
    XT_CHECK(run_gesvdp(&a, m, n, econ, &error, &length) == CUSOLVER_STATUS_SUCCESS && error == 0);
    XT_CHECK_LE(fabs(length - 1), 1e-5, "%g", length);
    /* For a matrix of lower rank U is wrong, and the reported error shows it. */
    if (m >= n) {
        memcpy(&a, (char *)&a + bytes_of(m, n - 1), bytes_of(m, 1));
        XT_CHECK(run_gesvdp(&a, m, n, econ, &error, &length) == CUSOLVER_STATUS_SUCCESS &&
                 error > 0);
        XT_CHECK(fabs(length - 1) > 1e-5, "%g", length);
    }
    memset(&a, 0xff, bytes_of(1, 1)); /* NaN */
    XT_CHECK(run_gesvdp(&a, m, n, econ, &error, &length) == CUSOLVER_STATUS_EXECUTION_FAILED);
}

/* --- cuSOLVER: calls that it refuses --------------------------------------------------------- */

/* Asks for the workspaces of a square matrix of SHORT rows. */
static void ask_getrf(CUdeviceptr a)
{
    XT_CHECK(api->getrf_size(handle, params, SHORT, SHORT, cuda_type, ON(a), SHORT, cuda_type,
                             &work.device_bytes, &work.host_bytes) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(work.device_bytes % 2 && work.host_bytes % 2 && work.host_bytes <= sizeof work.host,
             "%zu, %zu", work.device_bytes, work.host_bytes);
}

static void test_refused(void)
{
    const int n = SHORT, other = cuda_type ^ 1;
    const int mixed = xg_type_is_double(type) ? CUDA_C_64F : CUDA_C_32F;
    CUdeviceptr a = random_matrix(), b = random_matrix();
    XT_CHECK(api->potrf_size[type](handle, LOWER, n, ON(a), n, &work.lwork) ==
             CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(work.lwork > 0 && work.lwork % 2, "%d", work.lwork);
    work.device = there((size_t)work.lwork * xg_type_bytes(type));
    REFUSED(api->potrf[type], handle, 2, n, ON(a), n, TYPED_WORK);
    REFUSED(api->ormqr[type], handle, LEFT, xg_type_is_complex(type) ? TRANS : CONJ_TRANS, n, n, n,
            ON(a), n, ON(b), ON(b), n, TYPED_WORK);
    ask_getrf(a);
    work.device = there(work.device_bytes);
    REFUSED(api->getrf, handle, params, n, n, cuda_type, ON(a), n - 1, NULL, WORK);
    REFUSED(api->getrf, handle, params, n, 0, cuda_type, ON(a), n, NULL, WORK);
    REFUSED(api->getrf, handle, params, n, n, other, ON(a), n, NULL, WORK);
    REFUSED(api->getrf, handle, NULL, n, n, cuda_type, ON(a), n, NULL, WORK);
    REFUSED(api->getrf, NULL, params, n, n, cuda_type, ON(a), n, NULL, WORK);
    REFUSED(api->getrs, handle, params, 3, n, n, cuda_type, ON(a), n, NULL, cuda_type, ON(b), n,
            ON(work.info));
    REFUSED(api->syevd, handle, params, VECTORS, LOWER, n, cuda_type, ON(a), n,
            xg_type_is_complex(type) ? cuda_type : other, ON(b), WORK);
    REFUSED(api->gesvd, handle, params, 'S', 'S', n, LONG, cuda_type, ON(a), n, real_type, ON(b),
            cuda_type, ON(b), n, cuda_type, ON(b), LONG, WORK);
    REFUSED(api->geev, handle, params, VECTORS, NO_VECTORS, n, cuda_type, ON(a), n, mixed, ON(b),
            cuda_type, ON(b), n, cuda_type, NULL, 1, WORK);
}

/* --- cuSOLVER: handles, and a lost device ----------------------------------------------------- */

static void open_solver(void)
{
    MUST(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    int status = api->create(&handle);
    if (status == CUSOLVER_STATUS_NOT_INITIALIZED)
        exit(xt_failures ? XT_FAIL : xt_skip("no LAPACK"));
    XT_CHECK(status == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(api->create_params(&params) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(api->set_stream(handle, stream) == CUSOLVER_STATUS_SUCCESS);
    work.info = there(sizeof(int));
}

/* Handles are destroyed even if the call fails. */
static void test_handles(void)
{
    xg_solver_handle other = NULL;
    xg_solver_params others = NULL;
    XT_CHECK(api->create(&other) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(api->create_params(&others) == CUSOLVER_STATUS_SUCCESS);
    fake.reset(1);
    fake.fail("cusolverDnDestroy", 2, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
    XT_CHECK(api->destroy(other) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(api->destroy_params(others) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(fake.calls("cusolverDnDestroy") == 1 && fake.calls("cusolverDnDestroyParams") == 1);
}

/* The call that waits reports the loss. Later calls fail; handles are still destroyed. */
static void test_lost(void)
{
    union numbers a = random_numbers();
    double error = -1;
    CUdeviceptr matrix = up(&a), s = random_matrix(), u = random_matrix(), v = random_matrix();
    XT_CHECK(api->gesvdp_size(handle, params, NO_VECTORS, 1, SHORT, SHORT, cuda_type, ON(matrix),
                              SHORT, real_type, ON(s), cuda_type, ON(u), SHORT, cuda_type, ON(v),
                              SHORT, cuda_type, &work.device_bytes,
                              &work.host_bytes) == CUSOLVER_STATUS_SUCCESS);
    work.device = there(work.device_bytes);
    fake.reset(1);
    fake.fail("exec", 1, FX_CODE_LAUNCH_FAILED, FAKECUDA_ONCE);
    XT_CHECK(api->gesvdp(handle, params, NO_VECTORS, 1, SHORT, SHORT, cuda_type, ON(matrix), SHORT,
                         real_type, ON(s), cuda_type, ON(u), SHORT, cuda_type, ON(v), SHORT, WORK,
                         &error) == CUSOLVER_STATUS_EXECUTION_FAILED);
    XT_CHECK(error == -1.0);
    XT_CHECK(api->getrf(handle, params, SHORT, SHORT, cuda_type, ON(matrix), SHORT, NULL, WORK) ==
             CUSOLVER_STATUS_EXECUTION_FAILED);
    api->destroy_params(params);
    api->destroy(handle);
    drv.cuStreamDestroy(stream);
}

static void test_solver(void)
{
    /* Like a program that has a BLAS. */
    if (!dlopen(XG_DEFAULT_CPU_BLAS, RTLD_NOW | RTLD_LOCAL))
        exit(xt_failures ? XT_FAIL : xt_skip("no BLAS"));
    enter();
    open_solver();
    test_handles();
    for (int i = 0; i < XG_TYPE_COUNT; i++) {
        choose((enum xg_type)i);
        for (int econ = 0; econ <= 1; econ++) {
            test_gesvdp(LONG, SHORT, econ);
            test_gesvdp(SHORT, LONG, econ);
        }
        test_refused();
    }
    test_lost();
    leave();
}

/* LAPACK calls BLAS by names that this program interposes, as the library under test does. The
 * fake's LAPACK calls its own BLAS. */
#ifndef XG_SANITIZED
#define INTERPOSE(name)                                                                            \
    void name(void);                                                                               \
    __attribute__((visibility("default"))) void name(void)                                         \
    {                                                                                              \
        fprintf(stderr, "the fake cuSOLVER's LAPACK called an interposed " #name "\n");            \
        abort();                                                                                   \
    }
INTERPOSE(dgemm_)
INTERPOSE(dgemv_)
INTERPOSE(dtrmm_)
#endif

/* --- Misuses that end a test ----------------------------------------------------------------- */

enum solver_misuse { SMALL_WORK, SMALL_HOST, NO_INFO, SHORT_OPERAND, MISALIGNED };
static enum solver_misuse solver_misuse;

static void misuse_solver(void)
{
    choose(XG_TYPE_D);
    open_solver();
    CUdeviceptr a = random_matrix();
    ask_getrf(a);
    if (solver_misuse == SHORT_OPERAND)
        a = there(bytes_of(SHORT, SHORT) - 1);
    work.device = there(work.device_bytes + 1) + (solver_misuse == MISALIGNED);
    work.device_bytes -= solver_misuse == SMALL_WORK;
    work.host_bytes -= solver_misuse == SMALL_HOST;
    if (solver_misuse == NO_INFO)
        work.info = 0;
    api->getrf(handle, params, SHORT, SHORT, cuda_type, ON(a), SHORT, NULL, WORK);
}

static const struct {
    const char *what;
    void (*misuse)(void);
    enum solver_misuse solver;
} misuses[] = {
    {"a write behind the end", misuse_bounds, 0},
    {"a second free", misuse_freed, 0},
    {"a page-locked guard written", misuse_guard, 0},
    {"padding that is not zero", misuse_padding, 0},
    {"a small workspace", misuse_solver, SMALL_WORK},
    {"a small workspace on the host", misuse_solver, SMALL_HOST},
    {"no info", misuse_solver, NO_INFO},
    {"an operand that is too short", misuse_solver, SHORT_OPERAND},
    {"a misaligned workspace", misuse_solver, MISALIGNED},
};

/* Each misuse must end a child process with SIGABRT. The child has its own copy of a driver that
 * this process has not opened. */
static void test_misuses(void)
{
    for (size_t i = 0; i < sizeof misuses / sizeof misuses[0]; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            if (!freopen("/dev/null", "w", stderr))
                _exit(XT_HARD);
            signal(SIGABRT, SIG_DFL);
            enter();
            solver_misuse = misuses[i].solver;
            misuses[i].misuse();
            _exit(XT_PASS);
        }
        waitpid(pid, &status, 0);
        if (misuses[i].misuse == misuse_solver && WIFEXITED(status) &&
            WEXITSTATUS(status) == XT_SKIP)
            return; /* no LAPACK: test_solver says so */
        XT_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s: status %d",
                 misuses[i].what, status);
    }
}

int main(void)
{
    fx_watchdog();
    if (!xg_solver_load()) {
        fprintf(stderr, "run with LD_LIBRARY_PATH=tests/fakedrv\n");
        return XT_HARD;
    }
    test_misuses();
    fake = fx_fake();
    if (xg_drv_open(&drv) != XG_OK)
        return XT_HARD;
    size_t bytes;
    XT_CHECK(drv.cuMemGetInfo(&bytes, &bytes) == CUDA_ERROR_INVALID_CONTEXT);
    enter();
    test_order();
    test_timing();
    test_events();
    test_memory();
    test_faults();
    leave();
    const struct fakecuda_live live = fx_live(&fake);
    XT_CHECK(live.contexts == 0 && live.reclaimed == 0);
    test_solver();
    return xt_done();
}
