/* SPDX-License-Identifier: MIT */
/* QR by our panels on a device: the reflectors are orthogonal, and they turn A into R. Contract 1.3
 * (doc/contract.md). */

/*
 * usage: qr [--short | --time]
 *
 * In up to 40 columns |QT a - r| <= (min(m,n) + 10) eps |a|, and |tau vT v - 2| <= 20 eps. Memory
 * beside the matrix, tau and the workspace must not change, and what is in the workspace before
 * must not matter. --time prints milliseconds and checks nothing.
 */
#include "src/compute/qr.h"
#include "src/base/clock.h"
#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "tests/support/reflect.h"
#include "util.h"

enum { PAD = 3, BESIDE = 256, MOST = 8192 * 64 };

enum kind {
    RANDOM,
    INTEGERS,
    IDENTITY,
    UPPER,
    ZEROS,
    EQUAL,
    GRADED,
    MIXED,
    TINY,
    HUGE_NUMBERS,
    LARGEST,
    STEEP,
    KINDS
};

static struct xg_dev *dev;
static struct xg_qr qrs[XG_TYPE_COUNT];
static CUstream stream;
static CUdeviceptr device;
static uint64_t random_state = 20;

static double element(enum xg_type type, enum kind kind, int64_t i, int64_t j)
{
    const bool wide = type == XG_TYPE_D;
    const double x = (double)xt_random(&random_state);
    switch (kind) {
    case INTEGERS:
        return rint(x * 1.4);
    case IDENTITY:
        return i == j;
    case UPPER: /* reflectors that do nothing */
        return i <= j ? x : 0;
    case ZEROS:
        return j % 3 == 1 || i % 5 == 0 ? 0 : x;
    case EQUAL: /* rank 2 */
        return j % 2 ? sin((double)i) : cos((double)i);
    case GRADED:
        return x * pow(10, -(double)(i % (wide ? 40 : 8)));
    case MIXED: /* each column has a scale of its own */
        return x * pow(10, (wide ? 150.0 : 15.0) * (double)(j % 5 - 2));
    case TINY: /* the smallest have few bits */
        return x * (wide ? 1e-312 : 1e-42);
    case HUGE_NUMBERS:
        return x * (wide ? 1e306 : 1e36);
    case LARGEST: /* beyond the last power of two with a normal reciprocal */
        return (i == j ? 0.95 : x * 1e-3) * (wide ? DBL_MAX : (double)FLT_MAX);
    case STEEP: /* the squares of what is below row 0 underflow, or lose bits */
        return i ? x * (wide ? 1e-158 : 1e-38) : x;
    default:
        return x;
    }
}

static void check(enum xg_type type, enum kind kind, int64_t m, int64_t n)
{
    const int64_t ld = m + PAD, steps = m < n ? m : n;
    const size_t bytes = xg_type_bytes(type), size = (size_t)(ld * n) * bytes;
    const double eps = type == XG_TYPE_D ? DBL_EPSILON : (double)FLT_EPSILON;
    double *a = malloc((size_t)(m * n) * sizeof *a);
    unsigned char beside[2][BESIDE];
    long double *column = malloc((size_t)m * sizeof *column);
    void *qr = malloc(size), *tau = malloc((size_t)steps * bytes);
    if (!a || !column || !qr || !tau)
        exit(XT_FAIL);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < ld; i++) {
            xt_set(type, qr, i + j * ld, i < m ? element(type, kind, i, j) : 77);
            if (i < m)
                a[i + j * m] = xt_get(type, qr, i + j * ld);
        }
    const size_t work_bytes = xg_qr_work_bytes(type, m, n);
    const CUdeviceptr after_tau = device + size + 256 + (size_t)steps * bytes;
    const struct xg_qr_matrix matrix = {
        .type = type,
        .m = m,
        .n = n,
        .ld = ld,
        .a = device,
        .tau = device + size + 256,
        .work = (after_tau + BESIDE + 255) / 256 * 256,
    };
    const CUdeviceptr after_work = matrix.work + work_bytes;
    must(XG_DRV(&dev->drv, cuMemsetD32Async, matrix.tau, UINT32_MAX,
                (size_t)(after_work + BESIDE - matrix.tau) / 4, stream),
         "NaN");
    must(XG_DRV(&dev->drv, cuMemcpyHtoDAsync, device, qr, size, stream), "up");
    must(xg_qr_run(dev, &qrs[type], &matrix, stream), "QR");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, qr, device, size, stream), "down");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, tau, matrix.tau, (size_t)steps * bytes, stream),
         "tau");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, beside[0], after_tau, BESIDE, stream), "after tau");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, beside[1], after_work, BESIDE, stream), "after work");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "QR");

    const struct xt_factors factors = {type, m, n, ld, qr, tau, a};
    double worst = 0, crooked = 0;
    int changed = 0;
    char text[96];
    snprintf(text, sizeof text, "%c, kind %d, %lldx%lld", "sdcz"[type], (int)kind, (long long)m,
             (long long)n);
    for (int64_t k = 0; k < steps; k++)
        crooked = fmax(crooked, xt_reflector_error(&factors, k));
    for (int i = 0; i < 2 * BESIDE; i++)
        changed += beside[i / BESIDE][i % BESIDE] != 0xff;
    XT_CHECK(changed == 0, "%s: %d bytes beside tau and the workspace", text, changed);
    XT_CHECK_LE(crooked, 20 * eps, "%s: reflectors, %.3g units", text, crooked / eps);
    for (int64_t j = 0; j < n; j += 1 + n / 40)
        worst = fmax(worst, xt_column_error(&factors, j, column));
    XT_CHECK_LE(worst, (double)(steps + 10) * eps, "%s: %.3g units", text, worst / eps);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = m; i < ld; i++)
            XT_CHECK(xt_get(type, qr, i + j * ld) == 77, "%s: below column %lld", text,
                     (long long)j);
    free(a);
    free(column);
    free(qr);
    free(tau);
}

/* Milliseconds of a square matrix, the best of several. */
static double measure(enum xg_type type, int64_t n)
{
    const size_t bytes = xg_type_bytes(type), size = (size_t)(n * n) * bytes;
    const struct xg_qr_matrix matrix = {.type = type,
                                        .m = n,
                                        .n = n,
                                        .ld = n,
                                        .a = device,
                                        .tau = device + size,
                                        .work = device + size + (size_t)(n + 32) / 32 * 256};
    double best = INFINITY;
    void *a = malloc(size);
    if (!a)
        exit(XT_FAIL);
    for (int64_t i = 0; i < n * n; i++)
        xt_set(type, a, i, (double)xt_random(&random_state));
    for (int i = 0; i < 5; i++) {
        must(XG_DRV(&dev->drv, cuMemcpyHtoDAsync, device, a, size, stream), "up");
        must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "up");
        const int64_t begun = xg_clock_ns();
        must(xg_qr_run(dev, &qrs[type], &matrix, stream), "QR");
        must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "QR");
        best = fmin(best, (double)(xg_clock_ns() - begun) / 1e6);
    }
    free(a);
    return best;
}

int main(int argc, char **argv)
{
    static const int shapes[][2] = {{1, 1},     {5, 3},     {3, 5},     {31, 33},    {33, 31},
                                    {100, 100}, {128, 128}, {129, 130}, {130, 500},  {500, 130},
                                    {257, 257}, {700, 700}, {512, 512}, {2100, 200}, {4096, 64},
                                    {4097, 60}, {8192, 40}, {60, 8192}};
    const bool quick = argc > 1 && !strcmp(argv[1], "--short");
    const bool times = argc > 1 && !strcmp(argv[1], "--time");
    xg_cublas_load();
    if (xg_backend_open(xg_conf_get(), &dev) != XG_OK)
        return xt_skip("no device");
    if (gpu_is_fake(dev))
        return xt_skip("the fake driver computes with its own loop");
    must(xg_dev_enter(dev), "context");
    must(XG_DRV(&dev->drv, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING), "stream");
    must(XG_DRV(&dev->drv, cuMemAlloc, &device,
                (size_t)(times ? 8192 * 4100 : MOST) * sizeof(double) * 4),
         "memory");
    for (int type = XG_TYPE_S; type <= XG_TYPE_D; type++) {
        xg_qr_open(dev, (enum xg_type)type, &qrs[type]);
        if (qrs[type].panel.rows_most == 0)
            return xt_skip("no Hopper");
        for (int64_t n = 64; times && n <= 8192; n *= 2)
            printf("%c %5lld %8.3f ms\n", "sd"[type], (long long)n, measure((enum xg_type)type, n));
        for (size_t i = 0; !times && i < sizeof shapes / sizeof shapes[0]; i++)
            for (int kind = 0; kind < KINDS; kind++)
                if (!quick || (shapes[i][0] % 32 && shapes[i][1] > 32 && kind < EQUAL))
                    check((enum xg_type)type, (enum kind)kind, shapes[i][0], shapes[i][1]);
    }
    return xt_done();
}
