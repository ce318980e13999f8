/* SPDX-License-Identifier: MIT */
/* cuBLAS through dlopen: the fallback for operations without a kernel, and a reference for
 * comparisons. */
#include "compute/cublas.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "compute/toolkit.h"

/* The part of cuBLAS's interface (cublas_api.h) that is used, declared here so that its headers are
 * not needed. */
typedef struct cublasContext *cublas_handle;
enum { CUBLAS_SUCCESS = 0, CUBLAS_ALLOC_FAILED = 3 };
enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum { CUBLAS_FILL_LOWER = 0, CUBLAS_FILL_UPPER = 1 };
enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
/* Pedantic math uses single precision throughout, whatever the environment says. */
enum { CUBLAS_DEFAULT_MATH = 0, CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3 };

/*
 * With several streams cuBLAS takes another path if another stream uses the workspace ("Results
 * reproducibility" in its manual), unless each stream has its own workspace. The size is the same
 * for all devices, so that the path depends on nothing else.
 */
enum { WORKSPACE_BYTES = 4 << 20 };

struct workspace {
    CUstream stream;
    CUdeviceptr memory;
};

struct functions {
    int (*create)(cublas_handle *);
    int (*destroy)(cublas_handle);
    int (*set_math_mode)(cublas_handle, int);
    int (*set_stream)(cublas_handle, CUstream);
    int (*set_workspace)(cublas_handle, void *, size_t);
    /* By type; the dimensions are followed by alpha, a, lda, b, ldb, beta, c, ldc. */
    int (*gemm[XG_TYPE_COUNT])(cublas_handle, int, int, int, int, int, const void *, const void *,
                               int, const void *, int, const void *, void *, int);
    /* Side, triangle, transpose, diagonal, m, n, alpha, a, lda, b, ldb; TRMM also has c, ldc. */
    int (*trmm[XG_TYPE_COUNT])(cublas_handle, int, int, int, int, int, int, const void *,
                               const void *, int, const void *, int, void *, int);
    int (*trsm[XG_TYPE_COUNT])(cublas_handle, int, int, int, int, int, int, const void *,
                               const void *, int, void *, int);
};

/* The functions of the process, written once, under the lock, which protects nothing else. */
static struct functions functions;
static _Atomic int functions_are; /* enum below */
enum { NOT_LOOKED_FOR, FOUND, ABSENT };
static pthread_mutex_t functions_lock = PTHREAD_MUTEX_INITIALIZER;

/* After this many failures the handle is not created again; the cause of fewer may be temporary. */
enum { FAILURES_MAX = 3 };

struct xg_cublas {
    cublas_handle handle;
    bool stream_set; /* false at first: cuBLAS uses stream NULL and its own workspace */
    CUstream stream;
    int math_mode;   /* 0 at first, cuBLAS's default */
    int double_math; /* of products of doubles */
    /* Used if the same call must give the same bits; like cuBLAS's own, not counted in the
     * budget. */
    struct workspace *workspaces;
    size_t workspace_count;
};

/* The routines by type, in the order of enum xg_type. */
enum { GEMM, TRMM, TRSM, ROUTINES };
static const char *const names[ROUTINES][XG_TYPE_COUNT] = {
    [GEMM] = {"cublasSgemm_v2", "cublasDgemm_v2", "cublasCgemm_v2", "cublasZgemm_v2"},
    [TRMM] = {"cublasStrmm_v2", "cublasDtrmm_v2", "cublasCtrmm_v2", "cublasZtrmm_v2"},
    [TRSM] = {"cublasStrsm_v2", "cublasDtrsm_v2", "cublasCtrsm_v2", "cublasZtrsm_v2"},
};

static enum xg_status status_of(int result, const char *call)
{
    if (result == CUBLAS_SUCCESS)
        return XG_OK;
    xg_log(XG_LOG_INFO, "%s: %d", call, result);
    return result == CUBLAS_ALLOC_FAILED ? XG_ERR_NOMEM : XG_ERR_DRIVER;
}

static bool find_one(void *library, const char *name, void *slot)
{
    *(void **)slot = dlsym(library, name);
    if (!*(void **)slot)
        xg_log(XG_LOG_INFO, "cuBLAS lacks %s", name);
    return *(void **)slot;
}

static bool find_in(void *library, struct functions *found)
{
    bool there = find_one(library, "cublasCreate_v2", &found->create) &&
                 find_one(library, "cublasDestroy_v2", &found->destroy) &&
                 find_one(library, "cublasSetMathMode", &found->set_math_mode) &&
                 find_one(library, "cublasSetStream_v2", &found->set_stream) &&
                 find_one(library, "cublasSetWorkspace_v2", &found->set_workspace);
    for (int type = 0; type < XG_TYPE_COUNT && there; type++)
        there = find_one(library, names[GEMM][type], &found->gemm[type]) &&
                find_one(library, names[TRMM][type], &found->trmm[type]) &&
                find_one(library, names[TRSM][type], &found->trsm[type]);
    return there;
}

/*
 * Holds none of our locks, because it takes the dynamic linker's lock. A thread whose constructor
 * multiplies may hold that lock and wait for ours. Threads that call at the same time each find the
 * functions.
 */
void xg_cublas_load(void)
{
    struct functions found;
    if (atomic_load(&functions_are) != NOT_LOOKED_FOR)
        return;
    void *library = xg_toolkit_open(XG_TOOLKIT_CUBLAS);
    bool there = library && find_in(library, &found);
    pthread_mutex_lock(&functions_lock);
    if (atomic_load(&functions_are) == NOT_LOOKED_FOR) {
        if (there)
            functions = found;
        atomic_store(&functions_are, there ? FOUND : ABSENT);
    }
    pthread_mutex_unlock(&functions_lock);
}

bool xg_cublas_is_loaded(void)
{
    return atomic_load(&functions_are) == FOUND;
}

static _Atomic int opening; /* threads in cublasCreate */

bool xg_cublas_opens(void)
{
    return atomic_load(&opening) > 0;
}

/* Does not call the driver after the driver has ended. */
static enum xg_status create_handle(struct xg_cublas *cublas)
{
    atomic_fetch_add(&opening, 1); /* before the check: either the process's end sees the count, or
                                    * the check sees the end */
    enum xg_status status =
        xg_drv_ended() ? XG_ERR_LOST : status_of(functions.create(&cublas->handle), "cublasCreate");
    atomic_fetch_sub(&opening, 1);
    return status;
}

/*
 * Pedantic math does not use tensor cores in double precision, although they are as exact, so
 * default math is faster. But in default math cuBLAS 13 emulates doubles if
 * CUBLAS_EMULATE_DOUBLE_PRECISION asks for it, and other variables choose how exactly.
 */
static int choose_double_math(void)
{
    const char *emulate = secure_getenv("CUBLAS_EMULATE_DOUBLE_PRECISION");
    return emulate && strcmp(emulate, "0") ? CUBLAS_PEDANTIC_MATH : CUBLAS_DEFAULT_MATH;
}

static enum xg_status create(struct xg_cublas **out)
{
    xg_cublas_load();
    if (atomic_load(&functions_are) != FOUND)
        return XG_ERR_NOTFOUND;
    struct xg_cublas *cublas = calloc(1, sizeof *cublas);
    if (!cublas)
        return XG_ERR_NOMEM;
    xg_drv_register_exit();
    cublas->double_math = choose_double_math();
    enum xg_status status = create_handle(cublas);
    if (status == XG_OK)
        *out = cublas;
    else
        free(cublas);
    return status;
}

/* On XG_OK dev->cublas is set. The handle is created without the lock, like the functions; the
 * first one is kept.
 */
enum xg_status xg_cublas_open(struct xg_dev *dev)
{
    pthread_mutex_lock(&dev->image_lock);
    bool there = dev->cublas, absent = dev->cublas_absent;
    pthread_mutex_unlock(&dev->image_lock);
    if (there || absent)
        return there ? XG_OK : XG_ERR_NOTFOUND;
    struct xg_cublas *cublas = NULL;
    enum xg_status status = create(&cublas);
    pthread_mutex_lock(&dev->image_lock);
    if (dev->cublas) {
        status = XG_OK; /* another thread has set it */
    } else if (cublas) {
        dev->cublas = cublas;
        cublas = NULL;
    } else {
        dev->cublas_failures += status == XG_ERR_DRIVER;
        dev->cublas_absent |= status == XG_ERR_NOTFOUND || dev->cublas_failures == FAILURES_MAX;
    }
    pthread_mutex_unlock(&dev->image_lock);
    if (cublas) {
        functions.destroy(cublas->handle);
        free(cublas);
    }
    return status;
}

bool xg_cublas_present(struct xg_dev *dev)
{
    return xg_cublas_open(dev) == XG_OK;
}

/* --- With dev->image_lock held --------------------------------------------------------------- */

/* Finds the stream's own workspace, which is allocated on first use. */
static enum xg_status find_workspace(const struct xg_dev *dev, CUstream stream, CUdeviceptr *out)
{
    struct xg_cublas *cublas = dev->cublas;
    size_t count = cublas->workspace_count;
    for (size_t i = 0; i < count; i++)
        if (cublas->workspaces[i].stream == stream) {
            *out = cublas->workspaces[i].memory;
            return XG_OK;
        }
    struct workspace *grown = realloc(cublas->workspaces, (count + 1) * sizeof *grown);
    if (!grown)
        return XG_ERR_NOMEM;
    cublas->workspaces = grown;
    CUdeviceptr memory = 0;
    enum xg_status status = XG_DRV(&dev->drv, cuMemAlloc, &memory, WORKSPACE_BYTES);
    if (status != XG_OK)
        return status;
    grown[count] = (struct workspace){.stream = stream, .memory = memory};
    cublas->workspace_count++;
    *out = memory;
    return XG_OK;
}

/* cublasSetStream selects cuBLAS's own workspace, so ours is set after it. */
static enum xg_status set_stream(const struct xg_dev *dev, CUstream stream)
{
    struct xg_cublas *cublas = dev->cublas;
    enum xg_status status =
        status_of(functions.set_stream(cublas->handle, stream), "cublasSetStream");
    CUdeviceptr memory = 0;
    if (status == XG_OK && dev->plan_bytes)
        status = find_workspace(dev, stream, &memory);
    if (memory)
        status = status_of(
            functions.set_workspace(cublas->handle, (void *)(uintptr_t)memory, WORKSPACE_BYTES),
            "cublasSetWorkspace");
    return status;
}

/* Skips values that the handle already has, because cuBLAS allocates its workspace again each
 * time. */
static enum xg_status set_handle(const struct xg_dev *dev, int math_mode, CUstream stream)
{
    struct xg_cublas *cublas = dev->cublas;
    enum xg_status status = XG_OK;
    if (!cublas->stream_set || stream != cublas->stream)
        status = set_stream(dev, stream);
    cublas->stream_set = status == XG_OK;
    cublas->stream = stream;
    if (status == XG_OK && math_mode != cublas->math_mode)
        status = status_of(functions.set_math_mode(cublas->handle, math_mode), "cublasSetMathMode");
    cublas->math_mode = status == XG_OK ? math_mode : 0;
    return status;
}

static int operation_of(enum xg_trans trans)
{
    return trans == XG_CONJ_TRANS ? CUBLAS_OP_C : trans == XG_TRANS ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* A scalar in the representation of the type. */
union scalar {
    float single[2];
    double wide[2];
};

static union scalar scalar_of(enum xg_type type, double re, double im)
{
    union scalar scalar;
    if (xg_type_is_double(type)) {
        scalar.wide[0] = re;
        scalar.wide[1] = im;
    } else {
        scalar.single[0] = (float)re;
        scalar.single[1] = (float)im;
    }
    return scalar;
}

static int call_gemm(const struct xg_cublas *cublas, const struct xg_gemm_args *g)
{
    union scalar alpha = scalar_of(g->type, g->alpha, g->alpha_im);
    union scalar beta = scalar_of(g->type, g->beta, 0);
    return functions.gemm[g->type](
        cublas->handle, operation_of(g->transb), operation_of(g->transa), (int)g->n, (int)g->m,
        (int)g->k, &alpha, (const void *)(uintptr_t)g->b, (int)g->ldb,
        (const void *)(uintptr_t)g->a, (int)g->lda, &beta, (void *)(uintptr_t)g->c, (int)g->ldc);
}

/* In column-major order each matrix is its transpose: triangle and side are exchanged. */
static int call_triangular(const struct xg_cublas *cublas, const struct xg_cublas_triangular *t)
{
    union scalar alpha = scalar_of(t->type, t->alpha, t->alpha_im);
    int side = t->structured == XG_OPERAND_A ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
    int triangle = t->stored == XG_UPPER ? CUBLAS_FILL_LOWER : CUBLAS_FILL_UPPER;
    int trans = operation_of(t->trans), m = (int)t->n, n = (int)t->m;
    const void *a = (const void *)(uintptr_t)t->triangle, *b = (const void *)(uintptr_t)t->b;
    void *c = (void *)(uintptr_t)t->c;
    if (t->op == XG_OP_TRSM)
        return functions.trsm[t->type](cublas->handle, side, triangle, trans, t->unit, m, n, &alpha,
                                       a, (int)t->ld, c, (int)t->ldc);
    return functions.trmm[t->type](cublas->handle, side, triangle, trans, t->unit, m, n, &alpha, a,
                                   (int)t->ld, b, (int)t->ldb, c, (int)t->ldc);
}

static bool fit_int(const int64_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sizes[i] > INT32_MAX)
            return false;
    return true;
}

/* On XG_OK dev->image_lock is held, and the handle is set for the type and the stream. */
static enum xg_status begin(struct xg_dev *dev, enum xg_type type, bool tf32, CUstream stream)
{
    enum xg_status status = xg_drv_ended() ? XG_ERR_LOST : xg_cublas_open(dev);
    if (status != XG_OK)
        return status;
    pthread_mutex_lock(&dev->image_lock);
    int math = tf32                      ? CUBLAS_TF32_TENSOR_OP_MATH
               : xg_type_is_double(type) ? dev->cublas->double_math
                                         : CUBLAS_PEDANTIC_MATH;
    status = xg_drv_ended() ? XG_ERR_LOST : set_handle(dev, math, stream);
    if (status != XG_OK)
        pthread_mutex_unlock(&dev->image_lock);
    return status;
}

enum xg_status xg_cublas_gemm(struct xg_dev *dev, const struct xg_gemm_args *gemm, bool tf32,
                              CUstream stream)
{
    const int64_t sizes[] = {gemm->m, gemm->n, gemm->k, gemm->lda, gemm->ldb, gemm->ldc};
    if (!fit_int(sizes, sizeof sizes / sizeof sizes[0]))
        return XG_DECLINED;
    enum xg_status status = begin(dev, gemm->type, tf32, stream);
    if (status != XG_OK)
        return status;
    status = status_of(call_gemm(dev->cublas, gemm), names[GEMM][gemm->type]);
    pthread_mutex_unlock(&dev->image_lock);
    return status;
}

enum xg_status xg_cublas_triangular(struct xg_dev *dev,
                                    const struct xg_cublas_triangular *triangular, CUstream stream)
{
    const struct xg_cublas_triangular *t = triangular;
    const int64_t sizes[] = {t->m, t->n, t->ld, t->ldb, t->ldc};
    if (!fit_int(sizes, sizeof sizes / sizeof sizes[0]))
        return XG_DECLINED;
    enum xg_status status = begin(dev, t->type, false, stream);
    if (status != XG_OK)
        return status;
    status = status_of(call_triangular(dev->cublas, t),
                       names[t->op == XG_OP_TRSM ? TRSM : TRMM][t->type]);
    pthread_mutex_unlock(&dev->image_lock);
    return status;
}

void xg_cublas_fini(struct xg_dev *dev)
{
    if (!dev->cublas)
        return;
    functions.destroy(dev->cublas->handle);
    for (size_t i = 0; i < dev->cublas->workspace_count; i++)
        XG_DRV(&dev->drv, cuMemFree, dev->cublas->workspaces[i].memory);
    xg_cublas_forget(dev);
}

void xg_cublas_forget(struct xg_dev *dev)
{
    if (!dev->cublas)
        return;
    free(dev->cublas->workspaces);
    free(dev->cublas);
    dev->cublas = NULL;
}
