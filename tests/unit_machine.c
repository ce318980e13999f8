/* SPDX-License-Identifier: MIT */
/* machine: predictions against measured times, and which side they favour. */
#include <math.h>

#include "src/machine.h"
#include "xt.h"

static struct xg_sgemm shape(int64_t m, int64_t n, int64_t k)
{
    return (struct xg_sgemm){.m = m, .n = n, .k = k, .alpha = 1.0f};
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
    struct xg_machine machine;
    xg_machine_init(&machine, 16);
    for (int i = 0; i < MEASURED; i++) {
        struct xg_sgemm call = shape(measured[i].m, measured[i].n, measured[i].k);
        double cpu_ms = 1e3 * xg_machine_cpu_seconds(&machine, &call);
        double gpu_ms = 1e3 * xg_machine_gpu_seconds(&machine, XG_MATH_ACCURATE, &call);
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

/* Never below what the link allows, and near its floor for large products. */
static void test_gpu_floor(void)
{
    struct xg_machine machine;
    xg_machine_init(&machine, 16);
    for (int64_t size = 1; size <= 16384; size *= 2) {
        struct xg_sgemm call = shape(size, size, size);
        const struct xg_kernel *row =
            xg_select(&machine.device, XG_MATH_ACCURATE, NULL, size, size, size);
        double kernel = xg_select_cycles(row, &machine.device, size, size, size);
        double floor = fmax(8.0 * (double)(size * size) / machine.up_bytes_per_s,
                            kernel / machine.gpu_clock_hz);
        double predicted = xg_machine_gpu_seconds(&machine, XG_MATH_ACCURATE, &call);
        XT_CHECK(predicted > floor, "%ld", (long)size);
        XT_CHECK(size < 8192 || predicted < 1.3 * floor, "%ld: %g of %g", (long)size, predicted,
                 floor);
    }
}

static void test_extremes(void)
{
    static const int64_t sizes[] = {1, 7, 4096, INT32_MAX, (int64_t)1 << 40};
    struct xg_machine machine;
    for (int cores = 0; cores <= 256; cores = 2 * cores + 1) {
        xg_machine_init(&machine, cores);
        for (int i = 0; i < 125; i++) {
            struct xg_sgemm call = shape(sizes[i % 5], sizes[i / 5 % 5], sizes[i / 25]);
            double cpu = xg_machine_cpu_seconds(&machine, &call);
            double gpu = xg_machine_gpu_seconds(&machine, XG_MATH_STRICT, &call);
            XT_CHECK(isfinite(cpu) && cpu > 0.0, "%d cores: %g", cores, cpu);
            XT_CHECK(isfinite(gpu) && gpu > 0.0, "%d cores: %g", cores, gpu);
        }
    }
}

/* A device that no kernel serves is predicted too, and not as a fast one. */
static void test_no_kernel(void)
{
    const struct xg_sgemm call = shape(4096, 4096, 4096);
    struct xg_machine machine;
    xg_machine_init(&machine, 16);
    double with = xg_machine_gpu_seconds(&machine, XG_MATH_ACCURATE, &call);
    machine.device.images = false;
    double without = xg_machine_gpu_seconds(&machine, XG_MATH_ACCURATE, &call);
    XT_CHECK(isfinite(without) && without > with, "%g, %g", without, with);
    machine.device.cublas = true;
    double library = xg_machine_gpu_seconds(&machine, XG_MATH_ACCURATE, &call);
    XT_CHECK(library > 0.3 * with && library < 2.0 * with, "cuBLAS: %g, ours: %g", library, with);
}

static void test_even(void)
{
    struct xg_machine machine;
    xg_machine_init(&machine, 16);
    double last = INFINITY;
    for (double scale = 0.1; scale < 1e4; scale *= 2) {
        double even = xg_machine_even_mnk(&machine, scale);
        XT_CHECK(even >= 0.0 && even <= last, "%g: %g", scale, even);
        last = even;
    }
    XT_CHECK(last == 0.0, "%g", last);
}

/* An opened device takes the reference's place; what was measured on one like it stays. */
static void test_device(void)
{
    struct xg_machine machine, before;
    xg_machine_init(&before, 16);
    struct xg_machine_device device = {
        .facts = before.device, .clock_hz = 1.98e9, .link_bytes_per_s = 63e9};
    machine = before;
    xg_machine_set_device(&machine, &device);
    XT_CHECK(fabs(machine.gpu_clock_hz / before.gpu_clock_hz - 1) < 1e-9 &&
                 fabs(machine.up_bytes_per_s / before.up_bytes_per_s - 1) < 1e-9,
             "the reference is not what it was: %g, %g", machine.gpu_clock_hz,
             machine.up_bytes_per_s);
    device.link_bytes_per_s = 15.75e9;
    device.facts.sm_count = 66;
    xg_machine_set_device(&machine, &device);
    XT_CHECK(machine.device.sm_count == 66, "%d", machine.device.sm_count);
    XT_CHECK(fabs(machine.up_bytes_per_s / 12e9 - 1) < 1e-9 &&
                 machine.down_bytes_per_s == machine.up_bytes_per_s,
             "%g", machine.up_bytes_per_s);
    const struct xg_sgemm call = shape(8192, 8192, 8192);
    XT_CHECK(xg_machine_gpu_seconds(&machine, XG_MATH_STRICT, &call) >
                 1.5 * xg_machine_gpu_seconds(&before, XG_MATH_STRICT, &call),
             "half a device is as fast");
    machine = before;
    device = (struct xg_machine_device){.facts = before.device};
    xg_machine_set_device(&machine, &device);
    XT_CHECK(machine.gpu_clock_hz == before.gpu_clock_hz &&
                 machine.up_bytes_per_s == before.up_bytes_per_s,
             "a device that says nothing");
    machine.gpu_measured = true;
    machine.gpu_clock_hz = 1e9;
    machine.up_bytes_per_s = 7e9;
    device.clock_hz = 2e9;
    xg_machine_set_device(&machine, &device);
    XT_CHECK(machine.gpu_clock_hz == 1e9 && machine.up_bytes_per_s == 7e9, "measured, and lost");
    device.facts.sm_count = 20;
    xg_machine_set_device(&machine, &device);
    XT_CHECK(machine.gpu_clock_hz > 1.8e9 && !machine.gpu_measured, "measured on another device");
}

int main(void)
{
    test_fit();
    test_gpu_floor();
    test_extremes();
    test_no_kernel();
    test_even();
    test_device();
    return xt_done();
}
