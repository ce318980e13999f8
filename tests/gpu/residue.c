/* SPDX-License-Identifier: MIT */
/*
 * DGEMM by residues, on a device: kinds of numbers, shapes, storage; guards around C. Contract 2.1
 * (doc/contract.md).
 */

/*
 * usage: residue [--short]
 *
 * Judged element by element against long double: where integers serve, |C - exact| <= 2.5 * 2^-53 *
 * (|alpha||A||B| + |beta||C|), else (k + 4) of these units; sums of integers are exact; elements
 * that are not finite there must be the same here. The four transposes, leading dimensions and
 * alignments must give the same bits.
 */
#include <math.h>

#include "src/compute/backend.h"
#include "src/compute/residue.h"
#include "src/decide/select.h"
#include "src/device/mem.h"
#include "util.h"

enum { SIDE_MAX = 300, K_MAX = 1100, PAD_MAX = 8, GUARD = 64, TRANSPOSES = 4 };
/* More than one slice of k. */
enum { DEEP_M = 2, DEEP_N = 3, DEEP_K = XG_RESIDUE_DEPTH_MAX + 70 };
enum { BUFFER = 2 * GUARD + PAD_MAX + DEEP_K * (DEEP_N + PAD_MAX) };
_Static_assert(BUFFER >= 2 * GUARD + PAD_MAX + (K_MAX + PAD_MAX) * (SIDE_MAX + PAD_MAX), "smaller");

static const uint64_t POISON = UINT64_C(0x7ff8dead0000beef);

static struct xg_dev *dev;
static struct xg_residue opened[2]; /* the rows of the table that the device runs */
static int opened_count;
static CUstream stream;
static CUdeviceptr device_a, device_b, device_c;
static struct xg_mem_dev scratch;
static double host[BUFFER], back[BUFFER], first_bits[SIDE_MAX * SIDE_MAX];
static double a[SIDE_MAX * K_MAX], b[K_MAX * SIDE_MAX], c[SIDE_MAX * SIDE_MAX];
static long double sum[SIDE_MAX * SIDE_MAX], absolute[SIDE_MAX * SIDE_MAX];
static uint64_t random_state = 20;
static struct xg_triangle wanted; /* of C */

/* --- Kinds of numbers; (i,l): a row of op(A) or a column of op(B), and the place along k ------ */

/* All 53 bits are drawn. */
static double uniform(int64_t i, int64_t l)
{
    (void)i, (void)l;
    return (double)xt_random(&random_state) + 0x1p-24 * (double)xt_random(&random_state) +
           0x1p-48 * (double)xt_random(&random_state);
}

static double positive(int64_t i, int64_t l)
{
    return fabs(uniform(i, l));
}

static double integer(int64_t i, int64_t l)
{
    return rint(uniform(i, l) * 0x1p20);
}

static double wide(int64_t i, int64_t l)
{
    return uniform(i, l) * exp2(3.0 * uniform(i, l));
}

static double widest(int64_t i, int64_t l)
{
    return uniform(i, l) * exp2(300.0 * uniform(i, l));
}

static double graded(int64_t i, int64_t l)
{
    return ldexp(uniform(i, l), (int)(i * 7 % 121) * 4 - 240);
}

static double sparse(int64_t i, int64_t l)
{
    return (i + l) % 3 ? 0.0 : uniform(i, l);
}

static double diagonal(int64_t i, int64_t l)
{
    return l == i % 300 ? uniform(i, l) : 0.0;
}

static double zero_rows(int64_t i, int64_t l)
{
    return i % 3 ? uniform(i, l) : 0.0;
}

static double outlier(int64_t i, int64_t l)
{
    return l == i % 5 ? 1e6 * uniform(i, l) : uniform(i, l);
}

static double large(int64_t i, int64_t l)
{
    return 0x1p1010 * uniform(i, l) / K_MAX;
}

static double least(int64_t i, int64_t l)
{
    return 0x1p-1060 * uniform(i, l);
}

static double nan_once(int64_t i, int64_t l)
{
    return i == 3 && l == 0 ? NAN : uniform(i, l);
}

static double infinity_once(int64_t i, int64_t l)
{
    return i == 2 && l == 0 ? -INFINITY : uniform(i, l);
}

typedef double (*element)(int64_t i, int64_t l);

static const struct {
    const char *name;
    element a, b;
    bool serves; /* at every k from 64 on, whatever is drawn */
} kinds[] = {
    {"uniform", uniform, uniform, true},
    {"positive", positive, positive, true},
    {"integers", integer, integer, true},
    {"wide", wide, uniform, true},
    {"widest", widest, widest, false},
    {"graded", graded, graded, true},
    {"sparse A", sparse, uniform, true},
    {"sparse", sparse, sparse, false},
    {"diagonal A", diagonal, uniform, false},
    {"rows of zeros", zero_rows, uniform, true},
    {"outlier A", outlier, uniform, false},
    {"large A", large, uniform, true},
    {"subnormal A", least, uniform, true},
    {"NaN in A", nan_once, uniform, false},
    {"NaN in B", uniform, nan_once, false},
    {"infinity in A", infinity_once, uniform, false},
    {"infinities", infinity_once, infinity_once, false},
};

/* --- One product ------------------------------------------------------------------------------ */

static void copy(CUdeviceptr device, double *memory, bool up, int64_t elems)
{
    size_t bytes = (size_t)elems * sizeof *memory;
    must(up ? XG_DRV(&dev->drv, cuMemcpyHtoDAsync, device, memory, bytes, stream)
            : XG_DRV(&dev->drv, cuMemcpyDtoHAsync, memory, device, bytes, stream),
         "copy");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "kernels or copy");
}

/* matrix (rows,cols), or transposed (cols,rows), or poison where NULL, with ld and offset, up. */
static int64_t put(CUdeviceptr device, const double *matrix, int64_t rows, int64_t cols, bool trans,
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

static void add_up(int64_t m, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < m * n; i++)
        sum[i] = absolute[i] = 0.0L;
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++) {
                long double term = (long double)a[i * k + l] * (long double)b[l * n + j];
                sum[i * n + j] += term;
                absolute[i * n + j] += fabsl(term);
            }
}

static void draw(int kind, int64_t m, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++)
            a[i * k + l] = kinds[kind].a(i, l);
    for (int64_t j = 0; j < n; j++)
        for (int64_t l = 0; l < k; l++)
            b[l * n + j] = kinds[kind].b(j, l);
    for (int64_t i = 0; i < m * n; i++)
        c[i] = uniform(0, 0);
    add_up(m, n, k);
}

/* The largest error of the wanted elements of the result in `back`, whose element (i,j) is at GUARD
 * + pad + i * ld + j, in bounds of `units` * 2^-53. Where integers serve, a changed unwanted
 * element gives NaN. */
static double accuracy(int64_t m, int64_t n, double alpha, double beta, int64_t ld, int pad,
                       double units, bool integers)
{
    double worst = 0.0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            long double old = beta == 0.0 ? 0.0L : (long double)beta * (long double)c[i * n + j];
            long double exact = (long double)alpha * sum[i * n + j] + old;
            const double *at = back + GUARD + pad + i * ld + j;
            if (!xg_triangle_wants(&wanted, i, j)) {
                if (integers && memcmp(at, host + (at - back), sizeof *at))
                    worst = NAN;
                continue;
            }
            long double bound = (long double)units * 0x1p-53L *
                                    (fabsl((long double)alpha) * absolute[i * n + j] + fabsl(old)) +
                                0x1p-1073L;
            if (!isfinite((double)exact) && (isnan(exact) ? isnan(*at) : (double)exact == *at))
                continue;
            double error = (double)(fabsl((long double)*at - exact) / bound);
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

/* All of C, or a triangle that ends at a corner of a tile, or beside it. */
static struct xg_triangle draw_wanted(int64_t m, int64_t n, int turn)
{
    const int64_t bm = 128, bn = 256;
    const int64_t i = turn / 6 % xg_ceil_div(m, bm) * bm, j = turn / 2 % xg_ceil_div(n, bn) * bn;
    return gpu_triangle(turn / 3 % 3, i, j, bm, bn, turn / 9 % 3 - 1);
}

/* One product by each row in every transpose and several leading dimensions: the same bits where
 * integers serve, because these are exact. A form is a row and a transpose. */
static void run(int kind, int64_t m, int64_t n, int64_t k, int turn)
{
    static const int pads[] = {0, 1, 4, 7};
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-0.5, 0.7}};
    const double alpha = scalars[turn % 3][0], beta = scalars[turn % 3][1];
    const bool integers = kinds[kind].serves && k >= 64;
    const bool exact = kinds[kind].a == integer && alpha == 1 && beta == 0;
    const double units = exact ? 0 : integers ? 2.5 : (double)k + 4;
    draw(kind, m, n, k);
    wanted = draw_wanted(m, n, turn);
    for (int form = 0; form < opened_count * TRANSPOSES; form++) {
        const int trans = form % TRANSPOSES;
        int pad_a = pads[(turn + trans) % 4], pad_b = pads[(turn / 4 + trans) % 4];
        int pad_c = pads[(turn + 3 * trans) % 4];
        bool transa = trans >> 1, transb = trans & 1;
        int64_t lda = put(device_a, a, m, k, transa, pad_a);
        int64_t ldb = put(device_b, b, k, n, transb, pad_b);
        int64_t ldc = put(device_c, beta == 0.0 ? NULL : c, m, n, false, pad_c);
        const struct xg_dgemm_args args = {.a = device_a + (size_t)(GUARD + pad_a) * sizeof *a,
                                           .b = device_b + (size_t)(GUARD + pad_b) * sizeof *b,
                                           .c = device_c + (size_t)(GUARD + pad_c) * sizeof *c,
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
                                           .split = 1,
                                           .wanted = wanted};
        must(xg_residue_dgemm(&opened[form / TRANSPOSES], &args, scratch.ptr, stream), "product");
        copy(device_c, back, false, 2 * GUARD + pad_c + m * ldc);
        double worst = accuracy(m, n, alpha, beta, ldc, pad_c, units, integers);
        XT_CHECK_LE(worst, 1.0, "%s, %ld,%ld,%ld, form %d: error %.3g of the bound",
                    kinds[kind].name, (long)m, (long)n, (long)k, form, worst);
        long outside = strays(m, n, ldc, pad_c);
        XT_CHECK(outside == 0, "%s, %ld,%ld,%ld: %ld doubles changed outside C", kinds[kind].name,
                 (long)m, (long)n, (long)k, outside);
        long other = 0;
        for (int64_t i = 0; i < m; i++) {
            const double *row = back + GUARD + pad_c + i * ldc;
            if (form == 0)
                memcpy(first_bits + i * n, row, (size_t)n * sizeof *row);
            other += memcmp(first_bits + i * n, row, (size_t)n * sizeof *row) != 0;
        }
        XT_CHECK(other == 0 || !integers, "%s, %ld,%ld,%ld, form %d: other bits", kinds[kind].name,
                 (long)m, (long)n, (long)k, form);
    }
}

/* Operands of several panels. A NaN in the last panel of one of them leaves products of the others
 * to integers, which the bound tells from the native kernel. */
static void run_panels(const struct xg_residue *residue, bool nan_in_b)
{
    enum { M = 270, N = 210, K = 100, PANEL_M = 128, PANEL_N = 80 };
    struct xg_residue_operand operands[2];
    draw(1, M, N, K);
    a[(M - 1) * K] = nan_in_b ? a[0] : NAN;
    b[N - 1] = nan_in_b ? NAN : b[0];
    add_up(M, N, K);
    wanted.kind = XG_TRIANGLE_ALL;
    const int64_t lda = put(device_a, a, M, K, false, 0), ldb = put(device_b, b, K, N, false, 0);
    const int64_t ldc = put(device_c, NULL, M, N, false, 0);
    const size_t skip = GUARD * sizeof *a, first_rows = PANEL_M, first_columns = PANEL_N;
    const size_t a_bytes = xg_residue_operand_bytes(M, K, PANEL_M);
    xg_residue_operand_init(&operands[0], scratch.ptr, M, K, PANEL_M);
    xg_residue_operand_init(&operands[1], scratch.ptr + a_bytes, N, K, PANEL_N);
    const struct xg_residue_range whole_a = {&operands[0], {device_a + skip, lda, true}, 0, M};
    const struct xg_residue_range whole_b = {&operands[1], {device_b + skip, ldb, false}, 0, N};
    must(xg_residue_panels(residue, &whole_a, stream), "split");
    must(xg_residue_panels(residue, &whole_b, stream), "split");
    for (int part = 0; part < 4; part++) {
        struct xg_residue_range rows = whole_a, columns = whole_b;
        struct xg_residue_result result = {.c = device_c + skip,
                                           .ldc = ldc,
                                           .alpha = 1,
                                           .results = scratch.ptr + a_bytes +
                                                      xg_residue_operand_bytes(N, K, PANEL_N)};
        rows.row = part / 2 ? (int64_t)first_rows : 0;
        rows.rows = part / 2 ? M - (int64_t)first_rows : (int64_t)first_rows;
        rows.source.data += (size_t)(rows.row * lda) * sizeof *a;
        columns.row = part % 2 ? (int64_t)first_columns : 0;
        columns.rows = part % 2 ? N - (int64_t)first_columns : (int64_t)first_columns;
        columns.source.data += (size_t)columns.row * sizeof *b;
        result.c += (size_t)(rows.row * ldc + columns.row) * sizeof *c;
        must(xg_residue_product(residue, &rows, &columns, &result, stream), "product");
    }
    copy(device_c, back, false, 2 * GUARD + M * ldc);
    const int64_t exact_rows = nan_in_b ? M : (int64_t)first_rows;
    const int64_t exact_columns = nan_in_b ? (int64_t)first_columns : N;
    double worst = accuracy(M, N, 1, 0, ldc, 0, K + 4, false);
    XT_CHECK_LE(worst, 1.0, "panels: error %.3g of the bound", worst);
    worst = 0;
    for (int64_t i = 0; i < exact_rows; i++)
        for (int64_t j = 0; j < exact_columns; j++)
            worst = fmax(worst,
                         (double)(fabsl((long double)back[GUARD + i * ldc + j] - sum[i * N + j]) /
                                  absolute[i * N + j] * 0x1p53L));
    XT_CHECK_LE(worst, 2.5, "panels without a NaN: %.3g units", worst);
}

int main(int argc, char **argv)
{
    static const int shapes[][3] = {{1, 1, 1},       {5, 3, 2},        {129, 257, 65},
                                    {64, 200, 1000}, {257, 130, 127},  {300, 300, 64},
                                    {130, 280, 31},  {270, 210, 1100}, {32, 64, 64}};
    bool quick = argc > 1 && !strcmp(argv[1], "--short");
    int turn = 0;
    if (xg_backend_open(xg_conf_get(), &dev) != XG_OK)
        return xt_skip("no device");
    if (gpu_is_fake(dev))
        return xt_skip("the fake driver computes with its own loop");
    must(xg_dev_enter(dev), "context");
    for (size_t i = 0; i < xg_kernel_count; i++) {
        const struct xg_kernel *row = &xg_kernel_table[i];
        if (!(row->flags & XG_KERNEL_RESIDUES) ||
            xg_select_emulated(&dev->facts, XG_KERNEL_RESIDUES, row->name) != row)
            continue;
        enum xg_status status = xg_residue_open(dev, row, &opened[opened_count]);
        opened_count += status == XG_OK;
        if (status != XG_DECLINED) /* an old driver makes no tensor maps */
            must(status, row->name);
    }
    if (opened_count == 0)
        return xt_skip("compute capability below 8.0");
    must(XG_DRV(&dev->drv, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING), "stream");
    CUdeviceptr *buffers[] = {&device_a, &device_b, &device_c};
    for (int i = 0; i < 3; i++)
        must(XG_DRV(&dev->drv, cuMemAlloc, buffers[i], sizeof host), "memory");
    size_t bytes = xg_residue_dgemm_bytes(SIDE_MAX, SIDE_MAX, K_MAX);
    size_t deep_bytes = xg_residue_dgemm_bytes(DEEP_M, DEEP_N, DEEP_K);
    must(xg_mem_dev_reserve(dev, &scratch, bytes > deep_bytes ? bytes : deep_bytes), "memory");
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++, turn++)
            if (!quick || s == 2 || s == 1 || s == 8)
                run((int)kind, shapes[s][0], shapes[s][1], shapes[s][2], turn);
    for (int i = 0; i < 3; i++) /* each pair of scalars */
        run(0, DEEP_M, DEEP_N, DEEP_K, 54 + i);
    for (int i = 0; i < 2 * opened_count; i++)
        run_panels(&opened[i / 2], i % 2);
    return xt_done();
}
