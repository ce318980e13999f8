/* SPDX-License-Identifier: MIT */
/* machine: predictions against measured times, and which side they favour. */
#include <math.h>

#include "src/decide/model.h"
#include "src/decide/route.h"
#include "tests/support/xt.h"

static struct xg_problem shape(int64_t m, int64_t n, int64_t k)
{
    return (struct xg_problem){.m = m, .n = n, .k = k, .alpha = 1.0f};
}

/* One H200 and 16 cores: OpenBLAS on 16 threads, and this library's pipeline; milliseconds. */
static const struct {
    int64_t m, n, k;
    double cpu_ms, gpu_ms;
} measured[] = {
    {64, 64, 64, 0.0036, 0.048},    {128, 128, 128, 0.041, 0.049}, {192, 192, 192, 0.054, 0.060},
    {256, 256, 256, 0.111, 0.066},  {512, 512, 512, 0.43, 0.115},  {1024, 1024, 1024, 2.1, 0.287},
    {2048, 2048, 2048, 14.3, 0.92}, {4096, 4096, 4096, 107, 3.15}, {8192, 8192, 8192, 830, 11.9},
    {8192, 4096, 64, 7.0, 2.64},    {64, 8192, 8192, 12.3, 5.9},   {100000, 64, 64, 2.4, 0.76},
    {128, 128, 100000, 13.8, 2.35}, {3000, 777, 1533, 7.8, 0.625}, {512, 4096, 1024, 4.6, 0.555},
};

enum { MEASURED = sizeof measured / sizeof measured[0] };

static void test_fit(void)
{
    struct xg_model model;
    xg_model_init(&model, 16);
    for (int i = 0; i < MEASURED; i++) {
        struct xg_problem call = shape(measured[i].m, measured[i].n, measured[i].k);
        double cpu_ms = 1e3 * xg_model_cpu_seconds(&model, &call);
        double gpu_ms = 1e3 * xg_model_gpu_seconds(&model, XG_MATH_ACCURATE, &call);
        XT_CHECK(cpu_ms >= measured[i].cpu_ms / 1.6 && cpu_ms <= measured[i].cpu_ms * 1.6,
                 "%ld,%ld,%ld: CPU %.3g of %.3g ms", (long)call.m, (long)call.n, (long)call.k,
                 cpu_ms, measured[i].cpu_ms);
        XT_CHECK(gpu_ms >= measured[i].gpu_ms / 1.2 && gpu_ms <= measured[i].gpu_ms * 1.2,
                 "%ld,%ld,%ld: GPU %.3g of %.3g ms", (long)call.m, (long)call.n, (long)call.k,
                 gpu_ms, measured[i].gpu_ms);
        /* Where one side is faster by more than a tenth, it is the predicted one. */
        double ratio = measured[i].gpu_ms / measured[i].cpu_ms;
        XT_CHECK(fabs(log(ratio)) < 0.1 || (gpu_ms < cpu_ms) == (ratio < 1.0),
                 "%ld,%ld,%ld: the wrong side", (long)call.m, (long)call.n, (long)call.k);
    }
}

/* GEMV by OpenBLAS on that host, which reads the matrix at 145 to 200 GB/s; and on one core. */
static void test_gemv(void)
{
    static const struct {
        int64_t m, k;
        double ms;
    } rows[] = {{9000, 9000, 2.2}, {5000, 5000, 0.6}, {20000, 4096, 1.95}, {60000, 800, 1.3}};
    struct xg_model model, alone;
    xg_model_init(&model, 16);
    xg_model_init(&alone, 1);
    for (int i = 0; i < 4; i++)
        for (int type = XG_TYPE_S; type < XG_TYPE_COUNT; type++) {
            const double bytes = (double)xg_type_bytes((enum xg_type)type);
            struct xg_problem call = shape(rows[i].m, 1, rows[i].k);
            call.op = XG_OP_GEMV, call.type = (enum xg_type)type;
            const double ms = 1e3 * xg_model_cpu_seconds(&model, &call) * 4 / bytes;
            XT_CHECK(ms >= rows[i].ms / 1.6 && ms <= rows[i].ms * 1.6, "row %d: %g ms", i, ms);
            XT_CHECK(1e3 * xg_model_cpu_seconds(&alone, &call) * 4 / bytes > 5 * ms);
        }
}

/* A product by cuBLAS takes as long as its operands' way through the device's memory. */
static void test_library(void)
{
    struct xg_model model;
    xg_model_init(&model, 16);
    for (int type = XG_TYPE_S; type < XG_TYPE_COUNT; type++)
        for (int64_t k = 4096; k <= 32768; k *= 2) {
            const struct xg_shape thin = {.m = 1, .n = 16384, .k = k, .type = (enum xg_type)type};
            const double seconds =
                xg_select_library_cycles(&model.device, &thin) / model.gpu_clock_hz;
            const double rate = 16384.0 * (double)k * (double)xg_type_bytes(thin.type) / seconds;
            XT_CHECK(rate > 1e12 && rate < 6e12, "type %d: %g bytes per second", type, rate);
        }
}

/* Never below what the link allows, and near its floor for large products. */
static void test_gpu_floor(void)
{
    struct xg_model model;
    xg_model_init(&model, 16);
    for (int64_t size = 1; size <= 16384; size *= 2) {
        struct xg_problem call = shape(size, size, size);
        const struct xg_shape square = {.m = size, .n = size, .k = size, .type = XG_TYPE_S};
        double kernel = xg_route_resident(&model.device, XG_MATH_ACCURATE, NULL, &square).cycles;
        double floor =
            fmax(8.0 * (double)(size * size) / model.up_bytes_per_s, kernel / model.gpu_clock_hz);
        double predicted = xg_model_gpu_seconds(&model, XG_MATH_ACCURATE, &call);
        XT_CHECK(predicted > floor, "%ld", (long)size);
        XT_CHECK(size < 8192 || predicted < 1.3 * floor, "%ld: %g of %g", (long)size, predicted,
                 floor);
    }
}

static void test_extremes(void)
{
    static const int64_t sizes[] = {1, 7, 4096, INT32_MAX, (int64_t)1 << 40};
    struct xg_model model;
    for (int cores = 0; cores <= 256; cores = 2 * cores + 1) {
        xg_model_init(&model, cores);
        for (int i = 0; i < 125; i++) {
            struct xg_problem call = shape(sizes[i % 5], sizes[i / 5 % 5], sizes[i / 25]);
            double cpu = xg_model_cpu_seconds(&model, &call);
            double gpu = xg_model_gpu_seconds(&model, XG_MATH_STRICT, &call);
            XT_CHECK(isfinite(cpu) && cpu > 0.0, "%d cores: %g", cores, cpu);
            XT_CHECK(isfinite(gpu) && gpu > 0.0, "%d cores: %g", cores, gpu);
        }
    }
}

/* A device that no kernel serves is predicted too, and not as a fast one. */
static void test_no_kernel(void)
{
    const struct xg_problem call = shape(4096, 4096, 4096);
    struct xg_model model;
    xg_model_init(&model, 16);
    double with = xg_model_gpu_seconds(&model, XG_MATH_ACCURATE, &call);
    model.device.images = false;
    double without = xg_model_gpu_seconds(&model, XG_MATH_ACCURATE, &call);
    XT_CHECK(isfinite(without) && without > with, "%g, %g", without, with);
    model.device.cublas = true;
    double library = xg_model_gpu_seconds(&model, XG_MATH_ACCURATE, &call);
    XT_CHECK(library > 0.3 * with && library < 2.0 * with, "cuBLAS: %g, ours: %g", library, with);
}

static void test_even(void)
{
    struct xg_model model;
    xg_model_init(&model, 16);
    double last = INFINITY;
    for (double scale = 0.1; scale < 1e4; scale *= 2) {
        double even = xg_model_even_mnk(&model, scale);
        XT_CHECK(even >= 0.0 && even <= last, "%g: %g", scale, even);
        last = even;
    }
    XT_CHECK(last == 0.0, "%g", last);
}

/* An opened device takes the reference's place; what was measured on one like it stays. */
static void test_device(void)
{
    struct xg_model model, before;
    xg_model_init(&before, 16);
    struct xg_model_device device = {
        .facts = before.device, .clock_hz = 1.98e9, .link_bytes_per_s = 63e9};
    model = before;
    xg_model_set_device(&model, &device);
    XT_CHECK(fabs(model.gpu_clock_hz / before.gpu_clock_hz - 1) < 1e-9 &&
                 fabs(model.up_bytes_per_s / before.up_bytes_per_s - 1) < 1e-9,
             "the reference is not what it was: %g, %g", model.gpu_clock_hz, model.up_bytes_per_s);
    device.link_bytes_per_s = 15.75e9;
    device.facts.sm_count = 66;
    xg_model_set_device(&model, &device);
    XT_CHECK(model.device.sm_count == 66, "%d", model.device.sm_count);
    XT_CHECK(fabs(model.up_bytes_per_s / 12e9 - 1) < 1e-9 &&
                 model.down_bytes_per_s == model.up_bytes_per_s,
             "%g", model.up_bytes_per_s);
    const struct xg_problem call = shape(8192, 8192, 8192);
    XT_CHECK(xg_model_gpu_seconds(&model, XG_MATH_STRICT, &call) >
                 1.5 * xg_model_gpu_seconds(&before, XG_MATH_STRICT, &call),
             "half a device is as fast");
    model = before;
    device = (struct xg_model_device){.facts = before.device};
    xg_model_set_device(&model, &device);
    XT_CHECK(model.gpu_clock_hz == before.gpu_clock_hz &&
                 model.up_bytes_per_s == before.up_bytes_per_s,
             "a device that says nothing");
    model.gpu_measured = true;
    model.gpu_clock_hz = 1e9;
    model.up_bytes_per_s = 7e9;
    device.clock_hz = 2e9;
    xg_model_set_device(&model, &device);
    XT_CHECK(model.gpu_clock_hz == 1e9 && model.up_bytes_per_s == 7e9, "measured, and lost");
    device.facts.sm_count = 20;
    xg_model_set_device(&model, &device);
    XT_CHECK(model.gpu_clock_hz > 1.8e9 && !model.gpu_measured, "measured on another device");
}

int main(void)
{
    test_fit();
    test_gpu_floor();
    test_gemv();
    test_library();
    test_extremes();
    test_no_kernel();
    test_even();
    test_device();
    return xt_done();
}
