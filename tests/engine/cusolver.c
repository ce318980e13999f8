/* SPDX-License-Identifier: MIT */
/* The fake cuSOLVER where the engine's calls do not show what it does: what it refuses, what ends
 * a test, when Xgesvdp is wrong, and a device that is lost. */
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

#include "src/device/dev.h"
#include "tests/fakedrv/cusolver.h"
#include "tests/support/guarded.h"

enum { LOWER, UPPER };
enum { LEFT, RIGHT };
enum { NO_VECTORS, VECTORS };
enum { TRANS = 1, CONJ_TRANS };

#define FUNCTIONS(X)                                                                               \
    X(Create)                                                                                      \
    X(Destroy)                                                                                     \
    X(SetStream)                                                                                   \
    X(CreateParams)                                                                                \
    X(DestroyParams)                                                                               \
    X(Xgetrf_bufferSize)                                                                           \
    X(Xgetrf)                                                                                      \
    X(Xgetrs)                                                                                      \
    X(Xsyevd)                                                                                      \
    X(Xgesvd)                                                                                      \
    X(Xgesvdp_bufferSize)                                                                          \
    X(Xgesvdp)                                                                                     \
    X(Xgeev)

static struct {
#define MEMBER(function) __typeof__(&cusolverDn##function) function;
    FUNCTIONS(MEMBER)
    /* Of each type. */
    __typeof__(&cusolverDnSpotrf_bufferSize) potrf_bufferSize[XG_TYPE_COUNT];
    __typeof__(&cusolverDnSpotrf) potrf[XG_TYPE_COUNT];
    __typeof__(&cusolverDnSormqr) ormqr[XG_TYPE_COUNT];
} api;

static struct fakecuda fake;
static const struct xg_drv *drv;
static CUstream stream;
static cusolverDnHandle_t handle;
static cusolverDnParams_t params;

/* The case at hand. */
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
#define MUST(function, ...) XT_CHECK(drv->function(__VA_ARGS__) == CUDA_SUCCESS)
#define REFUSED(function, ...)                                                                     \
    XT_CHECK(function(__VA_ARGS__) == CUSOLVER_STATUS_INVALID_VALUE, #function)

static void choose(enum xg_type chosen)
{
    static const int of_types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
    type = chosen;
    cuda_type = of_types[type];
    real_type = of_types[xg_type_real(type)];
}

/* Memory on the device, which the end of its context frees. */
static CUdeviceptr there(size_t bytes)
{
    CUdeviceptr memory = 0;
    MUST(cuMemAlloc, &memory, bytes);
    return memory;
}

/* --- Matrices, by columns without padding ---------------------------------------------------- */

enum { LONG = 9, SHORT = 5 };

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

/* --- Singular values by Xgesvdp -------------------------------------------------------------- */

/* Returns the status; the error that the call tells, and the length of U's first column. */
static int run_gesvdp(const union numbers *a, int m, int n, bool econ, double *error,
                      double *length)
{
    const bool wide = xg_type_is_double(type);
    CUdeviceptr dev = up(a), u = random_matrix(), v = random_matrix(), s = random_matrix();
    union numbers column;
    double sum = 0;
    XT_CHECK(api.Xgesvdp_bufferSize(handle, params, VECTORS, econ, m, n, cuda_type, ON(dev), m,
                                    real_type, ON(s), cuda_type, ON(u), m, cuda_type, ON(v), n,
                                    cuda_type, &work.device_bytes,
                                    &work.host_bytes) == CUSOLVER_STATUS_SUCCESS);
    work.device = there(work.device_bytes);
    int status = api.Xgesvdp(handle, params, VECTORS, econ, m, n, cuda_type, ON(dev), m, real_type,
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
    /* Of lower rank: wrong, and it says so. */
    if (m >= n) {
        memcpy(&a, (char *)&a + bytes_of(m, n - 1), bytes_of(m, 1));
        XT_CHECK(run_gesvdp(&a, m, n, econ, &error, &length) == CUSOLVER_STATUS_SUCCESS &&
                 error > 0);
        XT_CHECK(fabs(length - 1) > 1e-5, "%g", length);
    }
    memset(&a, 0xff, bytes_of(1, 1)); /* NaN */
    XT_CHECK(run_gesvdp(&a, m, n, econ, &error, &length) == CUSOLVER_STATUS_EXECUTION_FAILED);
}

/* --- What it refuses ------------------------------------------------------------------------- */

/* The workspaces of a square matrix of SHORT rows. */
static void ask_getrf(CUdeviceptr a)
{
    XT_CHECK(api.Xgetrf_bufferSize(handle, params, SHORT, SHORT, cuda_type, ON(a), SHORT, cuda_type,
                                   &work.device_bytes,
                                   &work.host_bytes) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(work.device_bytes % 2 && work.host_bytes % 2 && work.host_bytes <= sizeof work.host,
             "%zu, %zu", work.device_bytes, work.host_bytes);
}

static void test_refused(void)
{
    const int n = SHORT, other = cuda_type ^ 1;
    const int mixed = xg_type_is_double(type) ? CUDA_C_64F : CUDA_C_32F;
    CUdeviceptr a = random_matrix(), b = random_matrix();
    XT_CHECK(api.potrf_bufferSize[type](handle, LOWER, n, ON(a), n, &work.lwork) ==
             CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(work.lwork > 0 && work.lwork % 2, "%d", work.lwork);
    work.device = there((size_t)work.lwork * xg_type_bytes(type));
    REFUSED(api.potrf[type], handle, 2, n, ON(a), n, TYPED_WORK);
    REFUSED(api.ormqr[type], handle, LEFT, xg_type_is_complex(type) ? TRANS : CONJ_TRANS, n, n, n,
            ON(a), n, ON(b), ON(b), n, TYPED_WORK);
    ask_getrf(a);
    work.device = there(work.device_bytes);
    REFUSED(api.Xgetrf, handle, params, n, n, cuda_type, ON(a), n - 1, NULL, WORK);
    REFUSED(api.Xgetrf, handle, params, n, 0, cuda_type, ON(a), n, NULL, WORK);
    REFUSED(api.Xgetrf, handle, params, n, n, other, ON(a), n, NULL, WORK);
    REFUSED(api.Xgetrf, handle, NULL, n, n, cuda_type, ON(a), n, NULL, WORK);
    REFUSED(api.Xgetrf, NULL, params, n, n, cuda_type, ON(a), n, NULL, WORK);
    REFUSED(api.Xgetrs, handle, params, 3, n, n, cuda_type, ON(a), n, NULL, cuda_type, ON(b), n,
            ON(work.info));
    REFUSED(api.Xsyevd, handle, params, VECTORS, LOWER, n, cuda_type, ON(a), n,
            xg_type_is_complex(type) ? cuda_type : other, ON(b), WORK);
    REFUSED(api.Xgesvd, handle, params, 'S', 'S', n, LONG, cuda_type, ON(a), n, real_type, ON(b),
            cuda_type, ON(b), n, cuda_type, ON(b), LONG, WORK);
    REFUSED(api.Xgeev, handle, params, VECTORS, NO_VECTORS, n, cuda_type, ON(a), n, mixed, ON(b),
            cuda_type, ON(b), n, cuda_type, NULL, 1, WORK);
}

/* --- What ends a test, each in a child process, which begins with the device closed ----------- */

enum misuse { SMALL_WORK, SMALL_HOST, NO_INFO, SHORT_OPERAND, MISALIGNED, MISUSES };

static void misuse(enum misuse kind)
{
    CUdeviceptr a = random_matrix();
    ask_getrf(a);
    if (kind == SHORT_OPERAND)
        a = there(bytes_of(SHORT, SHORT) - 1);
    work.device = there(work.device_bytes + 1) + (kind == MISALIGNED);
    work.device_bytes -= kind == SMALL_WORK;
    work.host_bytes -= kind == SMALL_HOST;
    if (kind == NO_INFO)
        work.info = 0;
    api.Xgetrf(handle, params, SHORT, SHORT, cuda_type, ON(a), SHORT, NULL, WORK);
}

static struct xg_dev *begin(void)
{
    struct xg_dev *dev;
    struct xg_conf conf = fx_conf();
    if (xg_dev_create(&conf, &dev) != XG_OK || xg_dev_enter(dev) != XG_OK)
        exit(XT_HARD);
    drv = &dev->drv;
    MUST(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    int status = api.Create(&handle);
    if (status == CUSOLVER_STATUS_NOT_INITIALIZED)
        exit(xt_skip("no LAPACK"));
    XT_CHECK(status == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(api.CreateParams(&params) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(api.SetStream(handle, stream) == CUSOLVER_STATUS_SUCCESS);
    work.info = there(sizeof(int));
    return dev;
}

/* False where there is no LAPACK. */
static bool must_abort(enum misuse kind)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(XT_HARD);
        signal(SIGABRT, SIG_DFL);
        choose(XG_TYPE_D);
        begin();
        misuse(kind);
        _exit(XT_PASS);
    }
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == XT_SKIP)
        return false;
    XT_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "misuse %d: status %d", (int)kind,
             status);
    return true;
}

/* --- Handles, and a device that is lost ------------------------------------------------------- */

/* Handles are given back even if that fails. */
static void test_handles(void)
{
    cusolverDnHandle_t other = NULL;
    cusolverDnParams_t others = NULL;
    XT_CHECK(api.Create(&other) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(api.CreateParams(&others) == CUSOLVER_STATUS_SUCCESS);
    fake.reset(1);
    fake.fail("cusolverDnDestroy", 2, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
    XT_CHECK(api.Destroy(other) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(api.DestroyParams(others) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(fake.calls("cusolverDnDestroy") == 1 && fake.calls("cusolverDnDestroyParams") == 1);
}

/* The call that waits tells of it; later ones fail, and handles are given back all the same. */
static void test_lost(struct xg_dev *dev)
{
    union numbers a = random_numbers();
    double error = -1;
    CUdeviceptr matrix = up(&a), s = random_matrix(), u = random_matrix(), v = random_matrix();
    XT_CHECK(api.Xgesvdp_bufferSize(handle, params, NO_VECTORS, 1, SHORT, SHORT, cuda_type,
                                    ON(matrix), SHORT, real_type, ON(s), cuda_type, ON(u), SHORT,
                                    cuda_type, ON(v), SHORT, cuda_type, &work.device_bytes,
                                    &work.host_bytes) == CUSOLVER_STATUS_SUCCESS);
    work.device = there(work.device_bytes);
    fake.reset(1);
    fake.fail("exec", 1, FX_CODE_LAUNCH_FAILED, FAKECUDA_ONCE);
    XT_CHECK(api.Xgesvdp(handle, params, NO_VECTORS, 1, SHORT, SHORT, cuda_type, ON(matrix), SHORT,
                         real_type, ON(s), cuda_type, ON(u), SHORT, cuda_type, ON(v), SHORT, WORK,
                         &error) == CUSOLVER_STATUS_EXECUTION_FAILED);
    XT_CHECK(error == -1.0);
    XT_CHECK(api.Xgetrf(handle, params, SHORT, SHORT, cuda_type, ON(matrix), SHORT, NULL, WORK) ==
             CUSOLVER_STATUS_EXECUTION_FAILED);
    api.DestroyParams(params);
    api.Destroy(handle);
    drv->cuStreamDestroy(stream);
    xg_dev_leave(dev);
    xg_dev_destroy(dev);
}

/* --- The whole ------------------------------------------------------------------------------- */

static void load(void *library, const char *name, void *member)
{
    if (!fakecuda_symbol(library, name, member)) {
        fprintf(stderr, "no %s\n", name);
        exit(XT_HARD);
    }
}

static void load_all(void)
{
    void *library = dlopen("libcusolver.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s: run with LD_LIBRARY_PATH=tests/fakedrv\n", dlerror());
        exit(XT_HARD);
    }
#define LOAD(function) load(library, "cusolverDn" #function, &api.function);
    FUNCTIONS(LOAD)
#define LOAD_TYPED(T, ormqr_name)                                                                  \
    load(library, "cusolverDn" #T "potrf_bufferSize", &api.potrf_bufferSize[XG_TYPE_##T]);         \
    load(library, "cusolverDn" #T "potrf", &api.potrf[XG_TYPE_##T]);                               \
    load(library, "cusolverDn" #T ormqr_name, &api.ormqr[XG_TYPE_##T]);
    LOAD_TYPED(S, "ormqr")
    LOAD_TYPED(D, "ormqr")
    LOAD_TYPED(C, "unmqr")
    LOAD_TYPED(Z, "unmqr")
}

/* The names of BLAS by which LAPACK calls what this program interposes, as the library under test
 * does: the fake's own finds its own. */
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

int main(void)
{
    fx_watchdog();
    load_all();
    for (int kind = 0; kind < MISUSES; kind++)
        if (!must_abort((enum misuse)kind))
            return xt_skip("no LAPACK");
    /* From here on as in a program that has a BLAS. */
    if (!dlopen(XG_DEFAULT_CPU_BLAS, RTLD_NOW | RTLD_LOCAL))
        return xt_skip("no BLAS");
    fake = fx_fake();
    struct xg_dev *dev = begin();
    test_handles();
    for (int i = 0; i < XG_TYPE_COUNT; i++) {
        choose((enum xg_type)i);
        for (int econ = 0; econ <= 1; econ++) {
            test_gesvdp(LONG, SHORT, econ);
            test_gesvdp(SHORT, LONG, econ);
        }
        test_refused();
    }
    test_lost(dev);
    return xt_done();
}
