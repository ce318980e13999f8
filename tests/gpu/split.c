/* SPDX-License-Identifier: MIT */
/*
 * FP32 products on tensor cores, on a device: kinds of numbers, shapes, storage; guards around C.
 * Contract 2.1 (doc/contract.md).
 */

/*
 * usage: split [--short]
 *
 * Judged element by element against double precision: |C - exact| <= (k / 64 + 12) * 2^-24 *
 * (|alpha||A||B| + |beta||C|); elements that are not finite there must be the same here. The four
 * transposes, leading dimensions and alignments must give the same bits.
 */
#include <float.h>
#include <math.h>

#include "src/compute/backend.h"
#include "src/compute/split.h"
#include "src/device/mem.h"
#include "util.h"

enum { SIDE_MAX = 700, K_MAX = 1100, PAD_MAX = 8, GUARD = 64, TRANSPOSES = 4, TURNS_MAX = 256 };
enum { BUFFER = 2 * GUARD + PAD_MAX + (K_MAX + PAD_MAX) * (SIDE_MAX + PAD_MAX) };

static const uint32_t POISON = 0x7fc0dead;

static struct xg_dev *dev;
static struct xg_split split;
static long differing;
static CUstream stream;
static CUdeviceptr device_a, device_b, device_c;
static struct xg_mem_dev scratch;
static float host[BUFFER], back[BUFFER], first_bits[SIDE_MAX * SIDE_MAX];
static float a[SIDE_MAX * K_MAX], b[K_MAX * SIDE_MAX], c[SIDE_MAX * SIDE_MAX];
static double sum[SIDE_MAX * SIDE_MAX], absolute[SIDE_MAX * SIDE_MAX];
static uint64_t random_state = 20;

/* --- Kinds of numbers; (i,l): a row of op(A) or a column of op(B), and the place along k ------ */

static float uniform(int64_t i, int64_t l)
{
    (void)i, (void)l;
    return xt_random(&random_state);
}

static float wide(int64_t i, int64_t l)
{
    (void)i, (void)l;
    float sign = xt_random(&random_state) < 0.0f ? -1.0f : 1.0f;
    return sign * exp2f(30.0f * xt_random(&random_state));
}

static float widest(int64_t i, int64_t l)
{
    (void)i, (void)l;
    float sign = xt_random(&random_state) < 0.0f ? -1.0f : 1.0f;
    return sign * exp2f(60.0f * xt_random(&random_state));
}

static float graded(int64_t i, int64_t l)
{
    return ldexpf(uniform(i, l), (int)(i * 7 % 121) - 60);
}

static float sparse(int64_t i, int64_t l)
{
    return (i + l) % 17 ? 0.0f : uniform(i, l);
}

static float diagonal(int64_t i, int64_t l)
{
    return l == i % 300 ? uniform(i, l) : 0.0f;
}

/* Every third row has a single number. */
static float one_or_all(int64_t i, int64_t l)
{
    return i % 3 || l == i % 31 ? uniform(i, l) : 0.0f;
}

static float outlier(int64_t i, int64_t l)
{
    return l == i % 5 ? 1e6f * uniform(i, l) : uniform(i, l);
}

static float large(int64_t i, int64_t l)
{
    return 0.9f * FLT_MAX * uniform(i, l) / K_MAX;
}

static float least(int64_t i, int64_t l)
{
    return 0x1p-130f * uniform(i, l);
}

static float nan_once(int64_t i, int64_t l)
{
    return i == 3 && l == 0 ? NAN : uniform(i, l);
}

static float infinity_once(int64_t i, int64_t l)
{
    return i == 2 && l == 0 ? -INFINITY : uniform(i, l);
}

typedef float (*element)(int64_t i, int64_t l);

static const struct {
    const char *name;
    element a, b;
} kinds[] = {
    {"uniform", uniform, uniform},
    {"wide", wide, wide},
    {"widest", widest, widest},
    {"graded", graded, graded},
    {"sparse A", sparse, uniform},
    {"sparse", sparse, sparse},
    {"diagonal A", diagonal, uniform},
    {"diagonal B", uniform, diagonal},
    {"sparse rows of A", one_or_all, uniform},
    {"sparse, widest A", widest, diagonal},
    {"outlier A", outlier, uniform},
    {"large A", large, uniform},
    {"subnormal A", least, uniform},
    {"NaN in A", nan_once, uniform},
    {"NaN in B", uniform, nan_once},
    {"infinity in A", infinity_once, uniform},
    {"infinities", infinity_once, infinity_once},
};

/* --- One product ------------------------------------------------------------------------------ */

static void copy(CUdeviceptr device, float *memory, bool up, int64_t elems)
{
    size_t bytes = (size_t)elems * sizeof *memory;
    must(up ? XG_DRV(&dev->drv, cuMemcpyHtoDAsync, device, memory, bytes, stream)
            : XG_DRV(&dev->drv, cuMemcpyDtoHAsync, memory, device, bytes, stream),
         "copy");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "kernels or copy");
}

/* matrix (rows,cols), or transposed (cols,rows), or poison where NULL, with ld and offset, up. */
static int64_t put(CUdeviceptr device, const float *matrix, int64_t rows, int64_t cols, bool trans,
                   int pad)
{
    int64_t height = trans ? cols : rows, width = trans ? rows : cols, ld = width + pad;
    for (int64_t at = 0; at < BUFFER; at++)
        memcpy(&host[at], &POISON, sizeof *host);
    for (int64_t i = 0; matrix && i < height; i++)
        for (int64_t j = 0; j < width; j++)
            host[GUARD + pad + i * ld + j] = matrix[trans ? j * cols + i : i * cols + j];
    copy(device, host, true, 2 * GUARD + pad + height * ld);
    return ld;
}

static struct xg_triangle wanted; /* of C */

static void draw(int kind, int64_t m, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++)
            a[i * k + l] = kinds[kind].a(i, l);
    for (int64_t j = 0; j < n; j++)
        for (int64_t l = 0; l < k; l++)
            b[l * n + j] = kinds[kind].b(j, l);
    for (int64_t i = 0; i < m * n; i++) {
        c[i] = xt_random(&random_state);
        sum[i] = absolute[i] = 0.0;
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++) {
                double term = (double)a[i * k + l] * (double)b[l * n + j];
                sum[i * n + j] += term;
                absolute[i * n + j] += fabs(term);
            }
}

/*
 * Result in back, element (i,j) at GUARD + pad + i * ld + j. NaN where they differ in kind; what is
 * not wanted may be as it was.
 */
static double accuracy(int64_t m, int64_t n, int64_t k, float alpha, float beta, int64_t ld,
                       int pad)
{
    double worst = 0.0, units = ((double)k / 64.0 + 12.0) * 0x1p-24;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double old = beta == 0.0f ? 0.0 : (double)beta * (double)c[i * n + j];
            double exact = (double)alpha * sum[i * n + j] + old;
            const float *at = back + GUARD + pad + i * ld + j;
            double got = (double)*at;
            if (!xg_triangle_wants(&wanted, i, j) && !memcmp(at, host + (at - back), sizeof *at))
                continue;
            double bound =
                units * (fabs((double)alpha) * absolute[i * n + j] + fabs(old)) + 0x1p-148;
            if (!isfinite(exact) && (isnan(exact) ? isnan(got) : exact == got))
                continue;
            double error = fabs(got - exact) / bound;
            worst = isnan(error) || error > worst ? error : worst;
        }
    return worst;
}

static long strays(int64_t m, int64_t n, int64_t ld, int pad)
{
    long count = 0;
    for (int64_t at = 0; at < 2 * GUARD + pad + m * ld; at++) {
        int64_t i = (at - GUARD - pad) / ld, j = (at - GUARD - pad) % ld;
        if (at < GUARD + pad || i >= m || j >= n)
            count += memcmp(&back[at], &host[at], sizeof *back) != 0;
    }
    return count;
}

/* All of C, or a triangle that ends at a corner of a tile, of pieces or of FFMA, or beside it. */
static struct xg_triangle draw_wanted(int64_t m, int64_t n, int turn)
{
    const int64_t bm = turn % 2 ? 256 : 64, bn = turn % 2 ? 192 : 64;
    const int64_t i = turn / 6 % xg_ceil_div(m, bm) * bm, j = turn / 2 % xg_ceil_div(n, bn) * bn;
    return gpu_triangle(turn / 3 % 3, i, j, bm, bn, turn / 9 % 3 - 1);
}

/* Counts products of which the bits differ from those by the first row. */
static void compare_rows(int turn, const float *values, size_t count)
{
    static uint64_t hashes[TURNS_MAX];
    uint64_t hash = 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x100000001b3);
    }
    XT_CHECK(turn < TURNS_MAX, "turn %d", turn);
    if (hashes[turn] == 0)
        hashes[turn] = hash | 1;
    differing += hashes[turn] != (hash | 1);
}

static void run(int kind, int64_t m, int64_t n, int64_t k, int turn)
{
    static const int pads[] = {0, 1, 4, 7};
    static const struct {
        float alpha, beta;
    } scalars[] = {{1.0f, 0.0f}, {1.0f, 1.0f}, {-0.5f, 0.7f}};
    float alpha = scalars[turn % 3].alpha, beta = scalars[turn % 3].beta;
    draw(kind, m, n, k);
    wanted = draw_wanted(m, n, turn);
    for (int trans = 0; trans < TRANSPOSES; trans++) {
        int pad_a = pads[(turn + trans) % 4], pad_b = pads[(turn / 4 + trans) % 4];
        int pad_c = pads[(turn + 3 * trans) % 4];
        bool transa = trans >> 1, transb = trans & 1;
        int64_t lda = put(device_a, a, m, k, transa, pad_a);
        int64_t ldb = put(device_b, b, k, n, transb, pad_b);
        int64_t ldc = put(device_c, beta == 0.0f ? NULL : c, m, n, false, pad_c);
        struct xg_sgemm_args args = {.a = device_a + (size_t)(GUARD + pad_a) * sizeof(float),
                                     .b = device_b + (size_t)(GUARD + pad_b) * sizeof(float),
                                     .c = device_c + (size_t)(GUARD + pad_c) * sizeof(float),
                                     .lda = lda,
                                     .ldb = ldb,
                                     .ldc = ldc,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .alpha = alpha,
                                     .beta = beta,
                                     .transa = transa,
                                     .transb = transb,
                                     .wanted = wanted};
        must(xg_split_sgemm(&split, &args, scratch.ptr, stream), "product");
        copy(device_c, back, false, 2 * GUARD + pad_c + m * ldc);
        double worst = accuracy(m, n, k, alpha, beta, ldc, pad_c);
        XT_CHECK_LE(worst, 1.0, "%s, %ld,%ld,%ld, transposes %d: error %.3g of the bound",
                    kinds[kind].name, (long)m, (long)n, (long)k, trans, worst);
        long outside = strays(m, n, ldc, pad_c);
        XT_CHECK(outside == 0, "%s, %ld,%ld,%ld: %ld floats changed outside C", kinds[kind].name,
                 (long)m, (long)n, (long)k, outside);
        long other = 0;
        for (int64_t i = 0; i < m; i++) {
            const float *row = back + GUARD + pad_c + i * ldc;
            if (trans == 0)
                memcpy(first_bits + i * n, row, (size_t)n * sizeof *row);
            other += memcmp(first_bits + i * n, row, (size_t)n * sizeof *row) != 0;
        }
        XT_CHECK(other == 0, "%s, %ld,%ld,%ld, transposes %d: other bits", kinds[kind].name,
                 (long)m, (long)n, (long)k, trans);
    }
    compare_rows(turn, first_bits, (size_t)(m * n));
}

/* An operand split panel by panel is the same operand. */
static void run_panels(int64_t m, int64_t n, int64_t k)
{
    enum { PANEL_M = 128, PANEL_N = 100 };
    struct xg_split_operand operands[2];
    draw(0, m, n, k);
    wanted.kind = XG_TRIANGLE_ALL;
    int64_t lda = put(device_a, a, m, k, false, 0), ldb = put(device_b, b, k, n, false, 0);
    int64_t ldc = put(device_c, NULL, m, n, false, 0);
    size_t skip = GUARD * sizeof(float);
    xg_split_operand_init(&operands[0], scratch.ptr, m, k, PANEL_M);
    xg_split_operand_init(&operands[1], scratch.ptr + xg_split_operand_bytes(m, k, PANEL_M), n, k,
                          PANEL_N);
    for (int64_t row = 0; row < m; row += PANEL_M) {
        struct xg_split_range panel = {
            &operands[0],
            {device_a + skip + (size_t)(row * lda) * sizeof(float), lda, true},
            row,
            xg_min_i64(PANEL_M, m - row)};
        must(xg_split_panels(&split, &panel, stream), "split");
    }
    struct xg_split_range whole_b = {&operands[1], {device_b + skip, ldb, false}, 0, n};
    must(xg_split_panels(&split, &whole_b, stream), "split");
    struct xg_split_range rest = {
        &operands[0],
        {device_a + skip + (size_t)(PANEL_M * lda) * sizeof(float), lda, true},
        PANEL_M,
        m - PANEL_M};
    struct xg_split_range top = {&operands[0], {device_a + skip, lda, true}, 0, PANEL_M};
    struct xg_split_result result = {.c = device_c + skip, .ldc = ldc, .alpha = 1.0f};
    const struct xg_split_kinds all = {.all = true};
    must(xg_split_product(&split, &top, &whole_b, &result, &all, stream), "top");
    result.c += (size_t)(PANEL_M * ldc) * sizeof(float);
    must(xg_split_product(&split, &rest, &whole_b, &result, &all, stream), "rest");
    copy(device_c, back, false, 2 * GUARD + m * ldc);
    double worst = accuracy(m, n, k, 1.0f, 0.0f, ldc, 0);
    XT_CHECK_LE(worst, 1.0, "panels: error %.3g of the bound", worst);
}

/* All products by the kernels of a row, from the same numbers for each row. */
static void run_row(const struct xg_kernel *row, bool quick)
{
    static const int shapes[][3] = {{1, 1, 1},       {5, 3, 2},       {129, 193, 65},
                                    {64, 200, 1000}, {257, 130, 127}, {300, 700, 64},
                                    {520, 390, 31},  {270, 210, 1100}};
    int turn = 0;
    random_state = 20;
    must(xg_split_open(dev, row, &split), "kernels");
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++)
            if (!quick || (s == 2 && (kind < 2 || kind == 6 || kind == 13)))
                run((int)kind, shapes[s][0], shapes[s][1], shapes[s][2], turn++);
    run_panels(500, 230, 150);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"fp16x3", "fp16x3_mma"};
    bool quick = argc > 1 && !strcmp(argv[1], "--short");
    int rows = 0;
    if (xg_backend_open(xg_conf_get(), &dev) != XG_OK)
        return xt_skip("no device");
    must(xg_dev_enter(dev), "context");
    must(XG_DRV(&dev->drv, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING), "stream");
    CUdeviceptr *buffers[] = {&device_a, &device_b, &device_c};
    for (int i = 0; i < 3; i++)
        must(XG_DRV(&dev->drv, cuMemAlloc, buffers[i], sizeof host), "memory");
    must(xg_mem_dev_reserve(dev, &scratch, xg_split_sgemm_bytes(SIDE_MAX, SIDE_MAX, K_MAX) + 4096),
         "memory");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct xg_kernel *row = xg_select_emulated(&dev->facts, XG_KERNEL_PIECES, names[i]);
        if (!row)
            continue;
        differing = 0;
        run_row(row, quick);
        printf("%s: %ld products with other bits than by the first row\n", names[i], differing);
        rows++;
    }
    return rows ? xt_done() : xt_skip("compute capability below 8.0");
}
