/* SPDX-License-Identifier: MIT */
/* Measures this machine for the cost model and keeps the result; `xgemm-run calibrate` runs it. */
/*
 * Both sides compute the same list of products from host to host with cold operands, as programs
 * do: the CPU through the library that XGEMM_CPU_BLAS names or that was configured, the GPU through
 * the engine. The model's figures are then fitted to the medians.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../shim/blas.h"
#include "bench/median.h"
#include "fit.h"
#include "src/base/clock.h"
#include "src/base/file.h"
#include "src/engine/engine.h"
#include "src/host/cores.h"
#include "src/host/library.h"
#include "src/machine/calibration.h"
#include "terminal.h"
#include "wake.h"
#ifdef XG_CUDA
#include "src/compute/backend.h"
#endif

/*
 * Sorted by FLOPs, so that the time of one shape tells whether the next one takes too long. The
 * first is for the GPU only, and separates the cost of a call from that of the work; the CPU's
 * model has no figure to fit to it.
 */
static const int64_t shapes[][3] = {
    {64, 64, 64},      {96, 96, 96},       {128, 128, 128},    {1, 4096, 512},
    {192, 192, 192},   {32, 32, 8192},     {256, 256, 256},    {384, 384, 384},
    {16, 2048, 2048},  {2048, 2048, 16},   {32768, 64, 32},    {512, 512, 512},
    {64, 64, 65536},   {768, 768, 768},    {1024, 1024, 1024}, {64, 8192, 2048},
    {4096, 4096, 64},  {2048, 64, 8192},   {512, 4096, 512},   {1536, 1536, 1536},
    {3000, 777, 1533}, {2048, 2048, 2048}, {3072, 3072, 3072}, {4096, 4096, 4096},
};

enum {
    SHAPES = sizeof shapes / sizeof shapes[0],
    POOL_ELEMS = 20 << 20, /* of each operand; larger than any cache */
    CALLS_MIN = 3,
    CALLS_MAX = 101,
    SAMPLES_MIN = 8
};

static const double shape_s = 0.12, side_s = 8, call_s = 0.4; /* upper bounds, approximate */

/*
 * A larger typical error means that something else ran meanwhile. For a GPU it may also mean that
 * the model does not fit the device, whose own figures are still better than the reference's. So
 * calibration of a GPU fails only if other processes also used more than others_most of the cores.
 */
static const double error_most = 0.30, others_most = 0.6;

_Static_assert((int)SHAPES <= (int)FIT_SAMPLES_MAX, "a sample a shape");

static struct {
    struct shim_blas blas;
    float *a, *b, *c;
    size_t at;
} run;

/* --- The two sides ------------------------------------------------------------------------- */

static bool compute_cpu(const struct xg_problem *call)
{
    shim_blas_compute(&run.blas, call);
    return true;
}

static void cpu_whole(void *ctx)
{
    shim_blas_compute(&run.blas, ctx);
}

static void cpu_part(void *ctx, const struct xg_problem *part)
{
    (void)ctx;
    shim_blas_compute(&run.blas, part);
}

static bool compute_gpu(const struct xg_problem *call)
{
    struct xg_cpu cpu = {.whole = cpu_whole, .part = cpu_part, .ctx = (void *)(uintptr_t)call};
    struct xg_result result;
    return xg_engine_compute(&(struct xg_call){.problem = call}, xg_conf_get(), &cpu, NULL,
                             &result) == XG_OK;
}

static bool open_blas(void)
{
    const char *file = xg_conf_get()->cpu_blas;
    if (!file)
        file = XG_DEFAULT_CPU_BLAS;
    char why[XG_LIBRARY_WHY_BYTES];
    void *library = xg_library_load(file, RTLD_NOW | RTLD_LOCAL, why);
    if (library && shim_blas_search(library, &shim_symbols[SHIM_ID_cblas_sgemm], 4, SHIM_NOTHING,
                                    &run.blas) != SHIM_NOTHING)
        return true;
    fprintf(stderr,
            "xgemm-calibrate: %s cannot be loaded or has no sgemm%s%s; XGEMM_CPU_BLAS names "
            "another library\n",
            file, *why ? ": " : "", why);
    return false;
}

/* Starts the engine and reads the device's properties. */
static bool open_gpu(struct xg_model *model)
{
    double begin = xg_clock_s();
    if (xg_engine_wait(xg_conf_get()) != XG_ENGINE_READY)
        return false;
    model->starts_s[XG_RESOURCE_GPU] = xg_clock_s() - begin;
#ifdef XG_CUDA
    struct xg_dev *dev;
    if (xg_backend_open(xg_conf_get(), &dev) != XG_OK)
        return false;
    model->device = dev->facts;
    xg_model_set_large(model);
    printf("GPU: %s, started in %.2f s\n", dev->name, model->starts_s[XG_RESOURCE_GPU]);
    xg_backend_close(dev);
#endif
    return true;
}

/* --- Measuring ----------------------------------------------------------------------------- */

/* Uniform in (-1, 1): on zeros a kernel draws less power and clocks higher. */
static float *random_pool(void)
{
    float *pool = malloc(POOL_ELEMS * sizeof *pool);
    uint32_t state = 1;
    for (size_t i = 0; pool && i < POOL_ELEMS; i++) {
        state = state * 1664525u + 1013904223u;
        pool[i] = (float)((int32_t)state >> 8) * 0x1p-23f;
    }
    return pool;
}

/* A different place in the pool each time, a multiple of 64 bytes from its beginning. */
static float *place(float *pool, int64_t elems)
{
    size_t room = (size_t)(POOL_ELEMS - elems);
    return pool + run.at * (size_t)elems % (room + 1) / 16 * 16;
}

static struct xg_problem next_call(const int64_t shape[3])
{
    int64_t m = shape[0], n = shape[1], k = shape[2];
    run.at++;
    return (struct xg_problem){.m = m,
                               .n = n,
                               .k = k,
                               .alpha = 1,
                               .a = place(run.a, m * k),
                               .lda = k,
                               .b = place(run.b, k * n),
                               .ldb = n,
                               .c = place(run.c, m * n),
                               .ldc = n};
}

/* The median of some calls after a warm-up call; 0 if a call fails. */
static double measure(bool (*compute)(const struct xg_problem *), const int64_t shape[3])
{
    double seconds[CALLS_MAX], begin = 0;
    int calls = -1;
    while (calls < CALLS_MAX && (calls < CALLS_MIN || xg_clock_s() - begin < shape_s)) {
        struct xg_problem call = next_call(shape);
        double start = xg_clock_s();
        if (!compute(&call))
            return 0;
        if (calls >= 0)
            seconds[calls] = xg_clock_s() - start;
        else
            begin = xg_clock_s();
        calls++;
    }
    return median_sort(seconds, calls);
}

/* On a terminal, shows what is measured and the longest time left, in a line that is rewritten. */
static void tell_progress(enum xg_side side, const int64_t shape[3], double left_s)
{
    char text[16];
    if (!terminal_is(stderr))
        return;
    terminal_duration(text, left_s);
    fprintf(stderr, "\r\033[Kxgemm-calibrate: %s, %lld x %lld x %lld; at most %s left",
            side == XG_SIDE_CPU ? "CPU" : "GPU", (long long)shape[0], (long long)shape[1],
            (long long)shape[2], text);
}

static int measure_side(enum xg_side side, struct fit_sample *samples)
{
    bool (*compute)(const struct xg_problem *) = side == XG_SIDE_CPU ? compute_cpu : compute_gpu;
    double begin = xg_clock_s(), s_per_flop = 0;
    int count = 0;
    for (int i = side == XG_SIDE_CPU; i < SHAPES && xg_clock_s() - begin < side_s; i++) {
        struct xg_problem call = {.m = shapes[i][0], .n = shapes[i][1], .k = shapes[i][2]};
        if (s_per_flop * xg_problem_flops(&call) > call_s)
            continue;
        tell_progress(side, shapes[i], side_s - (xg_clock_s() - begin));
        double seconds = measure(compute, shapes[i]);
        if (terminal_is(stderr))
            fputs("\r\033[K", stderr);
        if (seconds <= 0)
            return 0;
        s_per_flop = seconds / xg_problem_flops(&call);
        samples[count++] = (struct fit_sample){call, seconds};
    }
    return count;
}

/* The time that other processes used on all cores, in seconds from an unknown start; 0: unknown. */
static double others_s(void)
{
    unsigned long long user = 0, nice = 0, system = 0;
    FILE *file = fopen("/proc/stat", "re");
    bool read = file && fscanf(file, "cpu %llu %llu %llu", &user, &nice, &system) == 3;
    if (file)
        fclose(file);
    double own = (double)clock() / (double)CLOCKS_PER_SEC;
    return read ? (double)(user + nice + system) / (double)sysconf(_SC_CLK_TCK) - own : 0;
}

static bool is_disturbed(enum xg_side side, double error, double others)
{
    return error > error_most && (side == XG_SIDE_CPU || others > others_most);
}

static bool calibrate(struct xg_model *model, const struct xg_calibration_key *key,
                      enum xg_side side)
{
    const char *name = side == XG_SIDE_CPU ? "CPU" : "GPU";
    struct fit_sample samples[SHAPES];
    char path[4096];
    if (!xg_calibration_path(path, sizeof path, key, side)) {
        fprintf(stderr, "xgemm-calibrate: neither XDG_CACHE_HOME nor HOME is an absolute path\n");
        return false;
    }
    if (!xg_file_make_folders(path)) {
        fprintf(stderr, "xgemm-calibrate: %s: %s\n", path, strerror(errno));
        return false;
    }
    double begin = xg_clock_s(), others_begin = others_s();
    int count = measure_side(side, samples);
    double others = (others_s() - others_begin) / (xg_clock_s() - begin) / xg_cores_count();
    if (count < SAMPLES_MIN) {
        fprintf(stderr, "xgemm-calibrate: %s: only %d products were measured\n", name, count);
        return false;
    }
    double error = fit_machine(model, side, samples, count);
    printf("%s: %7s %7s %7s %12s %12s\n", name, "m", "n", "k", "measured ms", "predicted ms");
    for (int i = 0; i < count; i++)
        printf("%12lld %7lld %7lld %12.4f %12.4f\n", (long long)samples[i].call.m,
               (long long)samples[i].call.n, (long long)samples[i].call.k, 1e3 * samples[i].seconds,
               1e3 * fit_predict(model, side, &samples[i].call));
    if (side == XG_SIDE_CPU)
        printf("CPU: %.4g GFLOP/s, memory %.3g GB/s, %.3g us per call, %.3g ns per step of k; "
               "typical error %.0f %%\n",
               model->cpu_flops / 1e9, model->cpu_bytes_per_s / 1e9, model->cpu_call_s * 1e6,
               model->cpu_step_s * 1e9, 100 * error);
    else
        printf("GPU: %.3g GB/s up, %.3g GB/s down, kernels as at %.3g GHz, %.3g us per call, %.3g "
               "us to fill; typical error %.0f %%\n",
               model->up_bytes_per_s / 1e9, model->down_bytes_per_s / 1e9,
               model->gpu_clock_hz / 1e9, model->gpu_call_s * 1e6, model->gpu_fill_s * 1e6,
               100 * error);
    if (is_disturbed(side, error, others)) {
        fprintf(stderr,
                "xgemm-calibrate: %s: not stored, because the typical error is above %.0f %%: "
                "other programs ran meanwhile, or clock rates changed; measure again when the "
                "machine is idle\n",
                name, 100 * error_most);
        return false;
    }
    if (!xg_calibration_store(path, key, side, model)) {
        fprintf(stderr, "xgemm-calibrate: %s: %s\n", path, strerror(errno));
        return false;
    }
    printf("%s: stored in %s\n", name, path);
    return true;
}

/* How the threads of CPU libraries should spin follows from this (shim/pools.h). */
static void calibrate_wake(void)
{
    struct xg_wake wake;
    if (!wake_measure(&wake))
        printf("threads: what waking them costs could not be measured\n");
    else
        printf("threads: waking all takes %.3g ms%s\n", 1e-6 * (double)wake.wake_ns,
               wake_keep(&wake) ? "" : "; not stored");
}

int main(int argc, char **argv)
{
    struct xg_calibration_key key;
    struct xg_model model;
    int cores = xg_cores_count();
    (void)argv;
    if (argc > 1) {
        fprintf(stderr, "usage: xgemm-run calibrate\n");
        return EXIT_FAILURE;
    }
    run.a = random_pool();
    run.b = random_pool();
    run.c = random_pool();
    if (!run.a || !run.b || !run.c) {
        fprintf(stderr, "xgemm-calibrate: out of memory\n");
        return EXIT_FAILURE;
    }
    if (!open_blas())
        return EXIT_FAILURE;
    xg_model_init(&model, cores);
    xg_calibration_key_init(&key, cores, shim_blas_file(&run.blas));
    xg_model_set_threads(&model, key.threads < cores ? key.threads : cores);
    printf("CPU: %s, %d usable cores, %s with %d threads\n", key.cpu, cores, key.blas, key.threads);
    calibrate_wake(); /* before the library's threads spin */
    bool good = calibrate(&model, &key, XG_SIDE_CPU);
    if (open_gpu(&model))
        good &= calibrate(&model, &key, XG_SIDE_GPU);
    else
        printf("GPU: none could be started (XGEMM_VERBOSE=2 says why); nothing is stored for it\n");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
