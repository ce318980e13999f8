/* SPDX-License-Identifier: MIT */
/* How the test of the fake cuSOLVER calls it: each function found, called in the type of the case
 * at hand, and made to fail first. */
#ifndef FAKEDRV_SOLVER_H
#define FAKEDRV_SOLVER_H

#include <dlfcn.h>

#include "src/device/dev.h"
#include "tests/fakedrv/cusolver.h"
#include "tests/support/columns.h"
#include "tests/support/guarded.h"

/* LAPACK's own testers allow 30 of the units of columns_ratio. */
enum { GOOD = 30 };

enum { LOWER, UPPER };
enum { NO_TRANS, TRANS, CONJ_TRANS };
enum { LEFT, RIGHT };
enum { NO_VECTORS, VECTORS };

#define ANY_FUNCTIONS(X)                                                                           \
    X(Create)                                                                                      \
    X(Destroy)                                                                                     \
    X(SetStream)                                                                                   \
    X(CreateParams)                                                                                \
    X(DestroyParams)                                                                               \
    X(Xpotrs)                                                                                      \
    X(Xgetrf_bufferSize)                                                                           \
    X(Xgetrf)                                                                                      \
    X(Xgetrs)                                                                                      \
    X(Xgeqrf_bufferSize)                                                                           \
    X(Xgeqrf)                                                                                      \
    X(Xsyevd_bufferSize)                                                                           \
    X(Xsyevd)                                                                                      \
    X(Xgesvd_bufferSize)                                                                           \
    X(Xgesvd)                                                                                      \
    X(Xgesvdp_bufferSize)                                                                          \
    X(Xgesvdp)                                                                                     \
    X(Xgeev_bufferSize)                                                                            \
    X(Xgeev)                                                                                       \
    X(Xtrtri_bufferSize)                                                                           \
    X(Xtrtri)

static struct {
#define MEMBER(function) __typeof__(&cusolverDn##function) function;
    ANY_FUNCTIONS(MEMBER)
} api;

/* The functions of each type, by the names of real ones. */
#define TYPED_FUNCTIONS(X)                                                                         \
    X(potrf_bufferSize)                                                                            \
    X(potrf)                                                                                       \
    X(potri_bufferSize)                                                                            \
    X(potri)                                                                                       \
    X(orgqr_bufferSize)                                                                            \
    X(orgqr)                                                                                       \
    X(ormqr_bufferSize)                                                                            \
    X(ormqr)                                                                                       \
    X(sygvd_bufferSize)                                                                            \
    X(sygvd)

static struct {
#define TYPED_MEMBER(function) __typeof__(&cusolverDnS##function) function;
    TYPED_FUNCTIONS(TYPED_MEMBER)
} typed[XG_TYPE_COUNT];

static struct fakecuda fake;
static cusolverDnHandle_t handle;
static cusolverDnParams_t params;
static uint64_t seed = 1;

/* The case at hand. */
static enum xg_type type;
static int cuda_type, real_type;
static struct {
    CUdeviceptr device, info;
    size_t device_bytes, host_bytes;
    void *host;
    int lwork;
} work;

static inline void choose(enum xg_type chosen)
{
    static const int of_types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
    type = chosen;
    cuda_type = of_types[type];
    real_type = of_types[xg_type_real(type)];
}

#define ON(dev) ((void *)(uintptr_t)(dev))
#define WORK                                                                                       \
    cuda_type, ON(work.device), work.device_bytes, work.host, work.host_bytes, ON(work.info)
#define TYPED_WORK ON(work.device), work.lwork, ON(work.info)

/* --- Calls ----------------------------------------------------------------------------------- */

/* "cusolverDn" and a function; of a typed one, the name that its type has. */
static inline const char *full_name(const char *function, bool of_type)
{
    static const char *const complex_names[][2] = {
        {"orgqr", "ungqr"}, {"ormqr", "unmqr"}, {"sygvd", "hegvd"}};
    static char name[64];
    char letter[2] = {of_type ? "SDCZ"[type] : '\0'};
    snprintf(name, sizeof(name), "cusolverDn%s%s", letter, function);
    for (int i = 0; of_type && xg_type_is_complex(type) && i < 3; i++)
        if (!strncmp(function, complex_names[i][0], 5))
            memcpy(name + strlen("cusolverDnC"), complex_names[i][1], 5);
    return name;
}

/* The next call of it fails. */
static inline const char *fail(const char *name)
{
    fake.reset((unsigned long)seed++);
    fake.fail(name, 1, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
    return name;
}

/* Calls the function twice: the first time it is told to fail. */
#define CALL_AS(name, function, failure, ...)                                                      \
    do {                                                                                           \
        const char *called = fail(name);                                                           \
        XT_CHECK(function(__VA_ARGS__) == (failure), "%s, told to fail", called);                  \
        XT_CHECK(function(__VA_ARGS__) == CUSOLVER_STATUS_SUCCESS, "%s", called);                  \
        XT_CHECK(fake.calls(called) == 2 && fake.faults(called) == 1, "%s, counted", called);      \
    } while (0)
#define CALL(function, ...)                                                                        \
    CALL_AS(full_name(#function, false), api.function, CUSOLVER_STATUS_EXECUTION_FAILED,           \
            __VA_ARGS__)
#define CALL_TYPED(function, ...)                                                                  \
    CALL_AS(full_name(#function, true), typed[type].function, CUSOLVER_STATUS_EXECUTION_FAILED,    \
            __VA_ARGS__)

/* The workspaces of a function of any type, asked for and allocated. */
#define ASK(function, ...)                                                                         \
    do {                                                                                           \
        CALL(function##_bufferSize, handle, params, __VA_ARGS__, cuda_type, &work.device_bytes,    \
             &work.host_bytes);                                                                    \
        allocate_work();                                                                           \
    } while (0)
#define ASK_TYPED(function, ...)                                                                   \
    do {                                                                                           \
        CALL_TYPED(function##_bufferSize, handle, __VA_ARGS__, &work.lwork);                       \
        XT_CHECK(work.lwork > 0 && work.lwork % 2, "%d", work.lwork);                              \
        work.device = columns_there((size_t)work.lwork * xg_type_bytes(type));                     \
    } while (0)
#define REFUSED(function, ...)                                                                     \
    XT_CHECK(function(__VA_ARGS__) == CUSOLVER_STATUS_INVALID_VALUE, #function)

static inline void allocate_work(void)
{
    XT_CHECK(work.device_bytes % 2 && work.host_bytes % 2, "%zu, %zu", work.device_bytes,
             work.host_bytes);
    work.device = columns_there(work.device_bytes);
    work.host = columns_here(work.host_bytes);
}

/* Frees what a case has allocated. */
static inline void forget(void)
{
    columns_forget();
    work.info = columns_there(sizeof(int));
}

static inline int info(void)
{
    int value = -99;
    COLUMNS_MUST(cuMemcpyDtoHAsync, &value, work.info, sizeof(value), columns_all.stream);
    COLUMNS_MUST(cuStreamSynchronize, columns_all.stream);
    return value;
}

#define JUDGE(ratio, what, ...)                                                                    \
    do {                                                                                           \
        double judged = (ratio);                                                                   \
        XT_CHECK_LE(judged, GOOD, "%c " what ": %g", "sdcz"[type], __VA_ARGS__, judged);           \
    } while (0)

/* --- The device ------------------------------------------------------------------------------ */

static inline struct xg_dev *begin(void)
{
    struct xg_dev *dev;
    struct xg_conf conf = fx_conf();
    if (xg_dev_create(&conf, &dev) != XG_OK || xg_dev_enter(dev) != XG_OK)
        exit(XT_HARD);
    columns_all.drv = &dev->drv;
    COLUMNS_MUST(cuStreamCreate, &columns_all.stream, CU_STREAM_NON_BLOCKING);
    int status = api.Create(&handle);
    if (status == CUSOLVER_STATUS_NOT_INITIALIZED)
        exit(xt_skip("no LAPACK"));
    XT_CHECK(status == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(api.CreateParams(&params) == CUSOLVER_STATUS_SUCCESS);
    XT_CHECK(api.SetStream(handle, columns_all.stream) == CUSOLVER_STATUS_SUCCESS);
    work.info = columns_there(sizeof(int));
    return dev;
}

static inline void load(void *library, const char *name, void *member)
{
    if (!fakecuda_symbol(library, name, member)) {
        fprintf(stderr, "no %s\n", name);
        exit(XT_HARD);
    }
}

static inline void load_all(void)
{
    void *library = dlopen("libcusolver.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s: run with LD_LIBRARY_PATH=tests/fakedrv\n", dlerror());
        exit(XT_HARD);
    }
#define LOAD(function) load(library, "cusolverDn" #function, &api.function);
    ANY_FUNCTIONS(LOAD)
    for (int i = 0; i < XG_TYPE_COUNT; i++) {
        type = (enum xg_type)i;
#define LOAD_TYPED(function) load(library, full_name(#function, true), &typed[i].function);
        TYPED_FUNCTIONS(LOAD_TYPED)
    }
}

#endif
