/* SPDX-License-Identifier: MIT */
/* LU and QR by our panels on a device: pivots, factors and info against elimination on the host;
 * reflectors are orthogonal and turn A into R. Contract 1.3 (doc/contract.md). */

/*
 * usage: panels [--short | --time]
 *
 * LU: pivots must be largest elements, within rounding, of what the factors leave of A, and the
 * first of equal ones. Row by row, |P A - L U| <= n eps |L| |U|.
 *
 * QR: |QT a - r| <= (min(m,n) + 10) eps |a| for a column, and |tau vT v - 2| <= 20 eps.
 *
 * Up to 40 columns of a matrix are compared. Memory beside the operands and the workspace must not
 * change, and what is in the workspace before must not matter. --time prints milliseconds and
 * checks nothing.
 */
#include "src/base/clock.h"
#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "src/compute/lu.h"
#include "src/compute/qr.h"
#include "tests/support/factors.h"
#include "util.h"

enum { PAD = 3, BESIDE = 256, MOST = 8192 * 64 };

enum kind {
    RANDOM,
    INTEGERS,
    GRADED,
    TINY,
    HUGE_NUMBERS,
    LARGEST,
    LU_HADAMARD,
    LU_GROWTH,
    LU_SINGULAR,
    QR_IDENTITY,
    QR_UPPER,
    QR_ZEROS,
    QR_EQUAL,
    QR_MIXED,
    QR_STEEP,
    KINDS
};

/* A matrix, and the results: LU or R and reflectors, pivots or tau. */
struct matrix {
    enum xg_type type;
    enum kind kind;
    int64_t m, n, ld, steps;
    double *a; /* (m,n) */
    void *factors, *vector;
    int info;
    char text[96];
};

static struct xg_dev *dev;
static struct xg_lu lus[XG_TYPE_COUNT];
static struct xg_qr qrs[XG_TYPE_COUNT];
static CUstream stream;
static CUdeviceptr device;
static uint64_t random_state = 20;

static double element(enum xg_type type, enum kind kind, int64_t i, int64_t j, int64_t n)
{
    const bool wide = type == XG_TYPE_D;
    const double x = (double)xt_random(&random_state);
    switch (kind) {
    case INTEGERS: /* many pivots are equal */
        return rint(x * 1.4);
    case GRADED:
        return x * pow(10, -(double)((i + j) % (wide ? 40 : 8)));
    case TINY: /* the smallest have few bits */
        return x * (wide ? 1e-312 : 1e-42);
    case HUGE_NUMBERS:
        return x * (wide ? 1e306 : 1e36);
    case LARGEST: /* pivots and columns whose reciprocals underflow */
        return (i == j ? 0.95 : x * 1e-3) * (wide ? DBL_MAX : (double)FLT_MAX);
    case LU_HADAMARD: /* exact powers of two, more and more of them equal */
        return __builtin_popcountll((uint64_t)(i & j)) % 2 ? -1 : 1;
    case LU_GROWTH: /* |U| doubles with each row; after 40 rows the bound would be too wide */
        return j == n - 1 || i == j ? 1 : i > j && j < 40 ? -1 : 0;
    case LU_SINGULAR:
        return j == 1 || j == 3 ? 0 : x;
    case QR_IDENTITY:
        return i == j;
    case QR_UPPER: /* reflectors that do nothing */
        return i <= j ? x : 0;
    case QR_ZEROS:
        return j % 3 == 1 || i % 5 == 0 ? 0 : x;
    case QR_EQUAL: /* rank 2 */
        return j % 2 ? sin((double)i) : cos((double)i);
    case QR_MIXED: /* each column has its own scale */
        return x * pow(10, (wide ? 150.0 : 15.0) * (double)(j % 5 - 2));
    case QR_STEEP: /* below row 0 squares underflow or lose bits */
        return i ? x * (wide ? 1e-158 : 1e-38) : x;
    default:
        return x;
    }
}

/* --- LU -------------------------------------------------------------------------------------- */

/* Eliminates as LAPACK's getf2. Returns the number of leading columns that are exact in any
 * precision: they have integers, and pivots that are powers of two. */
static int64_t eliminate(double *a, int64_t m, int64_t n, int64_t *pivots)
{
    const int64_t steps = m < n ? m : n;
    for (int64_t j = 0; j < steps; j++) {
        int64_t best = j;
        int exponent;
        for (int64_t i = j; i < m; i++)
            if (fabs(a[i + j * m]) > fabs(a[best + j * m]))
                best = i;
        pivots[j] = best + 1;
        if (frexp(fabs(a[best + j * m]), &exponent) != 0.5 || exponent < 1)
            return j;
        for (int64_t k = 0; k < n; k++) {
            const double x = a[j + k * m];
            a[j + k * m] = a[best + k * m];
            a[best + k * m] = x;
        }
        for (int64_t i = j + 1; i < m; i++) {
            const double l = a[i + j * m] / a[j + j * m];
            for (int64_t k = j + 1; k < n && l != 0; k++)
                a[i + k * m] -= l * a[j + k * m];
        }
    }
    return steps;
}

static void check_ties(const char *text, const double *a, int64_t m, int64_t n,
                       const int64_t *pivots)
{
    const int64_t steps = m < n ? m : n;
    double *copy = malloc((size_t)(m * n) * sizeof *copy);
    int64_t *wanted = malloc((size_t)steps * sizeof *wanted);
    if (!copy || !wanted)
        exit(XT_FAIL);
    memcpy(copy, a, (size_t)(m * n) * sizeof *copy);
    const int64_t exact = eliminate(copy, m, n, wanted);
    XT_CHECK(exact == steps || exact >= 32 || m % 64, "%s: exact until column %lld", text,
             (long long)exact);
    for (int64_t j = 0; j < exact; j++)
        XT_CHECK(pivots[j] == wanted[j], "%s: pivot %lld of column %lld, not %lld", text,
                 (long long)pivots[j], (long long)j, (long long)wanted[j]);
    free(copy);
    free(wanted);
}

static struct xt_factors factors_of(const struct matrix *x)
{
    return (struct xt_factors){x->type, x->m, x->n, x->ld, x->factors, x->vector, x->a};
}

static void check_lu(const struct matrix *x)
{
    const struct xt_factors factors = factors_of(x);
    const int zero = xt_lu_info(&factors);
    XT_CHECK(x->info == zero && (x->kind != LU_SINGULAR || x->n < 2 || x->m < 2 || x->info == 2),
             "%s: info %d, not %d", x->text, x->info, zero);
    if (x->kind == LU_HADAMARD)
        check_ties(x->text, x->a, x->m, x->n, x->vector);
    xt_lu_check(&factors, 1 + x->n / 40, x->text);
}

static int64_t open_lu(enum xg_type type)
{
    xg_lu_open(dev, type, &lus[type]);
    return lus[type].panel.rows_most;
}

static size_t lu_work_bytes(enum xg_type type, int64_t m, int64_t n)
{
    (void)type, (void)m, (void)n;
    return XG_LU_WORK_BYTES;
}

static enum xg_status run_lu(const struct matrix *x, CUdeviceptr vector, CUdeviceptr info,
                             CUdeviceptr work)
{
    const struct xg_lu_matrix matrix = {x->type, x->m, x->n, x->ld, device, vector, info, work};
    return xg_lu_run(dev, &lus[x->type], &matrix, stream);
}

/* --- QR -------------------------------------------------------------------------------------- */

static void check_qr(const struct matrix *x)
{
    const struct xt_factors factors = factors_of(x);
    xt_qr_check(&factors, 1 + x->n / 40, x->text);
}

static int64_t open_qr(enum xg_type type)
{
    xg_qr_open(dev, type, &qrs[type]);
    return qrs[type].panel.rows_most;
}

static enum xg_status run_qr(const struct matrix *x, CUdeviceptr vector, CUdeviceptr info,
                             CUdeviceptr work)
{
    const struct xg_qr_matrix matrix = {x->type, x->m, x->n, x->ld, device, vector, work};
    (void)info;
    return xg_qr_run(dev, &qrs[x->type], &matrix, stream);
}

/* --- Both ------------------------------------------------------------------------------------ */

static const struct algorithm {
    const char *name;
    enum kind first, end; /* its own kinds */
    int64_t (*open)(enum xg_type type);
    size_t (*work_bytes)(enum xg_type type, int64_t m, int64_t n);
    enum xg_status (*run)(const struct matrix *x, CUdeviceptr vector, CUdeviceptr info,
                          CUdeviceptr work);
    void (*check)(const struct matrix *x);
} algorithms[] = {
    {"LU", LU_HADAMARD, QR_IDENTITY, open_lu, lu_work_bytes, run_lu, check_lu},
    {"QR", QR_IDENTITY, KINDS, open_qr, xg_qr_work_bytes, run_qr, check_qr},
};

/* In device memory, each with bytes behind it that must not change: A, info, the vector, the
 * workspace. */
struct places {
    CUdeviceptr info, vector, after_vector, work, after_work;
};

static struct places places_of(const struct algorithm *algorithm, const struct matrix *x)
{
    struct places at;
    at.info = device + (size_t)(x->ld * x->n) * xg_type_bytes(x->type);
    at.vector = (at.info + BESIDE + 255) / 256 * 256;
    at.after_vector =
        at.vector +
        (size_t)x->steps * (algorithm->run == run_lu ? sizeof(int64_t) : xg_type_bytes(x->type));
    at.work = (at.after_vector + BESIDE + 255) / 256 * 256;
    at.after_work = at.work + algorithm->work_bytes(x->type, x->m, x->n);
    return at;
}

/* Runs the algorithm, and checks the memory beside the operands. */
static void compute(const struct algorithm *algorithm, struct matrix *x)
{
    const struct places at = places_of(algorithm, x);
    const size_t size = (size_t)(x->ld * x->n) * xg_type_bytes(x->type);
    unsigned char beside[2][BESIDE];
    int changed = 0;
    must(XG_DRV(&dev->drv, cuMemsetD32Async, at.vector, UINT32_MAX,
                (size_t)(at.after_work + BESIDE - at.vector) / 4, stream),
         "NaN");
    must(XG_DRV(&dev->drv, cuMemsetD32Async, at.info, 0, 1, stream), "info");
    must(XG_DRV(&dev->drv, cuMemcpyHtoDAsync, device, x->factors, size, stream), "up");
    must(algorithm->run(x, at.vector, at.info, at.work), algorithm->name);
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, x->factors, device, size, stream), "down");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, x->vector, at.vector,
                (size_t)(at.after_vector - at.vector), stream),
         "the vector");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, &x->info, at.info, sizeof x->info, stream), "info");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, beside[0], at.after_vector, BESIDE, stream),
         "after the vector");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, beside[1], at.after_work, BESIDE, stream),
         "after the workspace");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), algorithm->name);
    for (int i = 0; i < 2 * BESIDE; i++)
        changed += beside[i / BESIDE][i % BESIDE] != 0xff;
    XT_CHECK(changed == 0, "%s: %d bytes beside the vector and the workspace", x->text, changed);
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = x->m; i < x->ld; i++)
            XT_CHECK(xt_get(x->type, x->factors, i + j * x->ld) == 77, "%s: below column %lld",
                     x->text, (long long)j);
}

static void check(const struct algorithm *algorithm, enum xg_type type, enum kind kind, int64_t m,
                  int64_t n)
{
    struct matrix x = {
        .type = type, .kind = kind, .m = m, .n = n, .ld = m + PAD, .steps = m < n ? m : n};
    x.a = malloc((size_t)(m * n) * sizeof *x.a);
    x.factors = malloc((size_t)(x.ld * n) * xg_type_bytes(type));
    x.vector = malloc((size_t)x.steps * sizeof(int64_t));
    if (!x.a || !x.factors || !x.vector)
        exit(XT_FAIL);
    snprintf(x.text, sizeof x.text, "%s, %c, kind %d, %lldx%lld", algorithm->name, "sdcz"[type],
             (int)kind, (long long)m, (long long)n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < x.ld; i++) {
            xt_set(type, x.factors, i + j * x.ld, i < m ? element(type, kind, i, j, n) : 77);
            if (i < m)
                x.a[i + j * m] = xt_get(type, x.factors, i + j * x.ld);
        }
    compute(algorithm, &x);
    algorithm->check(&x);
    free(x.a);
    free(x.factors);
    free(x.vector);
}

/* Milliseconds of a square matrix, the best of several. */
static double measure(const struct algorithm *algorithm, enum xg_type type, int64_t n)
{
    const struct matrix x = {.type = type, .m = n, .n = n, .ld = n, .steps = n};
    const struct places at = places_of(algorithm, &x);
    const size_t size = (size_t)(n * n) * xg_type_bytes(type);
    double best = INFINITY;
    void *a = malloc(size);
    if (!a)
        exit(XT_FAIL);
    for (int64_t i = 0; i < n * n; i++)
        xt_set(type, a, i, (double)xt_random(&random_state));
    for (int i = 0; i < 5; i++) {
        must(XG_DRV(&dev->drv, cuMemcpyHtoDAsync, device, a, size, stream), "up");
        must(XG_DRV(&dev->drv, cuMemsetD32Async, at.info, 0, 1, stream), "info");
        must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "up");
        const int64_t begun = xg_clock_ns();
        must(algorithm->run(&x, at.vector, at.info, at.work), algorithm->name);
        must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), algorithm->name);
        best = fmin(best, (double)(xg_clock_ns() - begun) / 1e6);
    }
    free(a);
    return best;
}

static void check_all(const struct algorithm *algorithm, enum xg_type type, bool quick)
{
    static const int shapes[][2] = {{1, 1},     {5, 3},     {3, 5},     {31, 33},    {33, 31},
                                    {100, 100}, {128, 128}, {129, 130}, {130, 500},  {500, 130},
                                    {257, 257}, {700, 700}, {512, 512}, {2100, 200}, {4096, 64},
                                    {4097, 60}, {8192, 40}, {60, 8192}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            const bool own =
                kind < LU_HADAMARD || (kind >= (int)algorithm->first && kind < (int)algorithm->end);
            if (own && (!quick || (shapes[i][0] % 32 && shapes[i][1] > 32 && kind != TINY)))
                check(algorithm, type, (enum kind)kind, shapes[i][0], shapes[i][1]);
        }
}

int main(int argc, char **argv)
{
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
    for (size_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++)
        for (int type = XG_TYPE_S; type <= XG_TYPE_D; type++) {
            if (algorithms[a].open((enum xg_type)type) == 0)
                return xt_skip("no Hopper");
            for (int64_t n = 64; times && n <= 8192; n *= 2)
                printf("%s %c %5lld %8.3f ms\n", algorithms[a].name, "sd"[type], (long long)n,
                       measure(&algorithms[a], (enum xg_type)type, n));
            if (!times)
                check_all(&algorithms[a], (enum xg_type)type, quick);
        }
    return xt_done();
}
