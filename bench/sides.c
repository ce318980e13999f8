/* SPDX-License-Identifier: MIT */
/* OpenBLAS, cuBLASXt, a plain offload and this library, each computing a product from host to host.
 */
#include "sides.h"

#include <cblas.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"
#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "src/compute/toolkit.h"
#include "src/decide/route.h"
#include "src/device/mem.h"
#include "src/dispatch.h"
#include "src/engine/engine.h"
#include "tests/support/on_device.h"

static struct {
    struct xg_dev *dev;
    CUstream stream;
    CUresult (*copy_up)(CUdeviceptr, const void *, size_t);
    CUresult (*copy_down)(void *, CUdeviceptr, size_t);
    void *xt;
    int (*xt_sgemm)(void *, int, int, size_t, size_t, size_t, const float *, const float *, size_t,
                    const float *, size_t, const float *, float *, size_t);
} bench;

/* --- The CPU library ----------------------------------------------------------------------- */

static bool compute_cpu(const struct xg_problem *p)
{
    cblas_sgemm(CblasRowMajor, p->transa ? CblasTrans : CblasNoTrans,
                p->transb ? CblasTrans : CblasNoTrans, (int)p->m, (int)p->n, (int)p->k, p->alpha,
                p->a, (int)p->lda, p->b, (int)p->ldb, p->beta, p->c, (int)p->ldc);
    return true;
}

static void cpu_whole(void *ctx)
{
    compute_cpu(ctx);
}

static void cpu_part(void *ctx, const struct xg_problem *part)
{
    (void)ctx;
    compute_cpu(part);
}

/* --- cuBLASXt and the plain offload -------------------------------------------------------- */

/* Finds cublasXtSgemm and makes its handle, on device 0; it is never destroyed. */
static void open_cublasxt(void)
{
    void *library = xg_toolkit_open(XG_TOOLKIT_CUBLAS);
    int (*create)(void **), (*select)(void *, int, int[]);
    int ordinal = 0;
    if (!library)
        return;
    *(void **)&create = dlsym(library, "cublasXtCreate");
    *(void **)&select = dlsym(library, "cublasXtDeviceSelect");
    if (create && select && !create(&bench.xt) && !select(bench.xt, 1, &ordinal))
        *(void **)&bench.xt_sgemm = dlsym(library, "cublasXtSgemm");
}

static bool compute_cublasxt(const struct xg_problem *p)
{
    const float alpha = (float)p->alpha, beta = (float)p->beta;
    return bench.xt_sgemm &&
           bench.xt_sgemm(bench.xt, p->transb, p->transa, (size_t)p->n, (size_t)p->m, (size_t)p->k,
                          &alpha, p->b, (size_t)p->ldb, p->a, (size_t)p->lda, &beta, p->c,
                          (size_t)p->ldc) == 0;
}

static size_t matrix_bytes(int64_t rows, int64_t ld)
{
    return (size_t)(rows * ld) * sizeof(float);
}

/* Whole spans are copied, including the padding, as in a simple program. */
static size_t span_bytes(int64_t rows, int64_t columns, int64_t ld)
{
    return (size_t)((rows - 1) * ld + columns) * sizeof(float);
}

static bool compute_plain(const struct xg_problem *p)
{
    const struct xg_drv *drv = &bench.dev->drv;
    size_t a_bytes = p->transa ? span_bytes(p->k, p->m, p->lda) : span_bytes(p->m, p->k, p->lda);
    size_t b_bytes = p->transb ? span_bytes(p->n, p->k, p->ldb) : span_bytes(p->k, p->n, p->ldb);
    size_t c_bytes = span_bytes(p->m, p->n, p->ldc);
    CUdeviceptr a = 0, b = 0, c = 0;
    bool ok = drv->cuMemAlloc(&a, a_bytes) == CUDA_SUCCESS &&
              drv->cuMemAlloc(&b, b_bytes) == CUDA_SUCCESS &&
              drv->cuMemAlloc(&c, c_bytes) == CUDA_SUCCESS &&
              bench.copy_up(a, p->a, a_bytes) == CUDA_SUCCESS &&
              bench.copy_up(b, p->b, b_bytes) == CUDA_SUCCESS &&
              (p->beta == 0 || bench.copy_up(c, p->c, c_bytes) == CUDA_SUCCESS);
    const struct xg_gemm_args gemm = device_gemm(p, a, b, c);
    ok = ok && xg_cublas_gemm(bench.dev, &gemm, false, NULL) == XG_OK &&
         bench.copy_down(p->c, c, c_bytes) == CUDA_SUCCESS;
    drv->cuMemFree(a);
    drv->cuMemFree(b);
    drv->cuMemFree(c);
    return ok;
}

/* --- This library -------------------------------------------------------------------------- */

static bool compute_gpu(const struct xg_problem *p)
{
    struct xg_cpu cpu = {.whole = cpu_whole, .part = cpu_part, .ctx = (void *)(uintptr_t)p};
    struct xg_result result;
    return xg_engine_compute(&(struct xg_call){.problem = p}, xg_conf_get(), &cpu, NULL, &result) ==
           XG_OK;
}

static bool compute_auto(const struct xg_problem *p)
{
    struct xg_cpu cpu = {.whole = cpu_whole, .part = cpu_part, .ctx = (void *)(uintptr_t)p};
    if (xg_dispatch_wants(xg_problem_kind(p), p->m, p->n, p->k))
        xg_dispatch(&(struct xg_call){.symbol = "cblas_sgemm", .problem = p}, &cpu);
    else
        compute_cpu(p);
    return true;
}

const struct side side_table[SIDE_COUNT] = {
    [SIDE_CPU] = {"cpu", compute_cpu},       [SIDE_CUBLASXT] = {"cublasxt", compute_cublasxt},
    [SIDE_PLAIN] = {"plain", compute_plain}, [SIDE_GPU] = {"gpu", compute_gpu},
    [SIDE_AUTO] = {"auto", compute_auto},
};

/* --- The device ---------------------------------------------------------------------------- */

bool sides_open(void)
{
    const struct xg_conf *conf = xg_conf_get();
    if (xg_backend_open(conf, &bench.dev) != XG_OK || xg_dev_enter(bench.dev) != XG_OK ||
        xg_engine_wait(conf) != XG_ENGINE_READY) {
        fprintf(stderr,
                "no usable GPU, so there is nothing to compare (XGEMM_VERBOSE=2 says why)\n");
        return false;
    }
    *(void **)&bench.copy_up = device_function(bench.dev, "cuMemcpyHtoD_v2", NULL);
    *(void **)&bench.copy_down = device_function(bench.dev, "cuMemcpyDtoH_v2", NULL);
    bench.dev->facts.cublas = xg_cublas_present(bench.dev);
    device_must(XG_DRV(&bench.dev->drv, cuStreamCreate, &bench.stream, CU_STREAM_NON_BLOCKING),
                "stream");
    open_cublasxt();
    return true;
}

struct xg_dev *sides_device(void)
{
    return bench.dev;
}

/* Seconds on the device between two events around work(), which enqueues on bench.stream: the best
 * of three after a warm-up. Ends the program if work() fails. */
static double seconds_of(enum xg_status (*work)(void *arg, CUstream stream), void *arg)
{
    const struct xg_drv *drv = &bench.dev->drv;
    const CUstream stream = bench.stream;
    device_elapsed *elapsed = device_elapsed_function(bench.dev);
    CUevent begin, end;
    double best = INFINITY;
    device_must(XG_DRV(drv, cuEventCreate, &begin, 0), "event");
    device_must(XG_DRV(drv, cuEventCreate, &end, 0), "event");
    for (int i = 0; i < 4; i++) {
        float milliseconds = 0;
        drv->cuEventRecord(begin, stream);
        enum xg_status status = work(arg, stream);
        drv->cuEventRecord(end, stream);
        if (status != XG_OK || drv->cuEventSynchronize(end) != CUDA_SUCCESS ||
            elapsed(&milliseconds, begin, end) != CUDA_SUCCESS)
            device_die("the device fails", xg_status_name(status));
        if (i > 0)
            best = fmin(best, 1e-3 * (double)milliseconds);
    }
    drv->cuEventDestroy(begin);
    drv->cuEventDestroy(end);
    return best;
}

struct link_copy {
    void *host;
    CUdeviceptr device;
    size_t bytes;
};

static enum xg_status copy_up_once(void *arg, CUstream stream)
{
    struct link_copy *copy = arg;
    return XG_DRV(&bench.dev->drv, cuMemcpyHtoDAsync, copy->device, copy->host, copy->bytes,
                  stream);
}

static enum xg_status copy_down_once(void *arg, CUstream stream)
{
    struct link_copy *copy = arg;
    return XG_DRV(&bench.dev->drv, cuMemcpyDtoHAsync, copy->host, copy->device, copy->bytes,
                  stream);
}

void sides_link(struct link_rates *rates)
{
    struct xg_dev *dev = bench.dev;
    struct link_copy copy = {.bytes = (size_t)256 << 20};
    struct xg_mem_dev mem = {0};
    device_must(xg_mem_dev_reserve(dev, &mem, copy.bytes), "device memory");
    device_must(xg_mem_pinned_alloc(dev, copy.bytes, &copy.host), "page-locked memory");
    copy.device = mem.ptr;
    rates->up_bytes_per_s = (double)copy.bytes / seconds_of(copy_up_once, &copy);
    rates->down_bytes_per_s = (double)copy.bytes / seconds_of(copy_down_once, &copy);
    xg_mem_pinned_free(dev, copy.host);
    xg_mem_dev_release(dev, &mem);
}

void sides_print(FILE *out, const char *commit, const struct link_rates *rates)
{
    fprintf(out, "# %s, commit %s; link %.1f GB/s up, %.1f GB/s down; ", bench.dev->name, commit,
            rates->up_bytes_per_s / 1e9, rates->down_bytes_per_s / 1e9);
}

struct kernel_launch {
    struct xg_choice choice;
    struct xg_gemm_args args;
    struct xg_mem_dev memory;
};

static enum xg_status launch_once(void *arg, CUstream stream)
{
    struct kernel_launch *launch = arg;
    return on_device_gemm(bench.dev, &launch->choice, &launch->args, &launch->memory, stream);
}

double sides_kernel_seconds(const struct xg_problem *p, const char **kernel)
{
    const struct xg_conf *conf = xg_conf_get();
    struct xg_dev *dev = bench.dev;
    struct xg_problem padded = *p;
    padded.alpha = 1;
    padded.beta = 0;
    padded.lda = xg_round_up(xg_problem_stored(p, false).columns, 32);
    padded.ldb = xg_round_up(xg_problem_stored(p, true).columns, 32);
    padded.ldc = xg_round_up(p->n, 32);
    size_t a = matrix_bytes(xg_problem_stored(p, false).rows, padded.lda);
    size_t b = matrix_bytes(xg_problem_stored(p, true).rows, padded.ldb);
    size_t c = matrix_bytes(p->m, padded.ldc);
    struct kernel_launch launch = {.args = device_gemm(&padded, 0, 0, 0)};
    struct xg_mem_dev mem = {0};
    const struct xg_shape shape = xg_gemm_shape(&launch.args);
    launch.choice = xg_route_resident(&dev->facts, conf->math, conf->kernel, &shape);
    if (!launch.choice.row || xg_mem_dev_reserve(dev, &mem, a + b + c) != XG_OK)
        return 0;
    launch.args.a = mem.ptr;
    launch.args.b = mem.ptr + a;
    launch.args.c = mem.ptr + a + b;
    /* Operands of 1.1f instead of zeros, because a kernel draws less power on zeros and clocks
     * higher. */
    const struct xg_drv *drv = &dev->drv;
    drv->cuMemsetD32Async(mem.ptr, 0x3f8ccccd, (a + b) / sizeof(float), bench.stream);
    double seconds = 0;
    if (launch_once(&launch, bench.stream) == XG_OK) /* with memory for pieces or residues */
        seconds = seconds_of(launch_once, &launch);
    xg_mem_dev_release(dev, &launch.memory);
    xg_mem_dev_release(dev, &mem);
    *kernel = launch.choice.row->name;
    return seconds;
}
