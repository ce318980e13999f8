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

#include "product.h"
#include "src/compute/backend.h"
#include "src/compute/residue.h"
#include "src/decide/select.h"

enum { SIDE_MAX = 300, K_MAX = 1100, PAD_MAX = 8, TRANSPOSES = 4 };
/* More than one slice of k. */
enum { DEEP_M = 2, DEEP_N = 3, DEEP_K = XG_RESIDUE_DEPTH_MAX + 70 };
enum { STORED = 256 + DEEP_K * (DEEP_N + PAD_MAX) };
_Static_assert(STORED >= 256 + (K_MAX + PAD_MAX) * (SIDE_MAX + PAD_MAX), "smaller");

static struct product p = {.type = XG_TYPE_D, .seed = 20, .least = 0x1p-1073};
static struct xg_residue opened[2]; /* the rows of the table that the device runs */
static int opened_count;
static struct xg_mem_dev scratch;

static const struct {
    struct product_kind kind;
    bool serves; /* integers, at every k from 64 on, whatever is drawn */
} kinds[] = {
    {{"uniform", "U(-1,1)", "U(-1,1)"}, true},
    {{"positive", "U(0,1)", "U(0,1)"}, true},
    {{"integers", "integers", "integers"}, true},
    {{"wide", "exponents +-30", "U(-1,1)"}, false},
    {{"widest", "exponents +-400", "exponents +-400"}, false},
    {{"graded", "graded to 2^+-400", "graded to 2^+-400"}, true},
    {{"sparse A", "30 % by 30 %", "U(-1,1)"}, false},
    {{"sparse", "30 % by 30 %", "30 % by 30 %"}, false},
    {{"diagonal A", "diagonal by dense", "U(-1,1)"}, false},
    {{"rows of zeros", "zero rows, cols", "zero rows, cols"}, true},
    {{"outlier A", "outlier 2^10", "U(-1,1)"}, false},
    {{"large A", "near the largest", "near the largest"}, true},
    {{"subnormal A", "subnormal A", "subnormal A"}, true},
    {{"NaN in A", "NaN", "U(-1,1)"}, false},
    {{"NaN in B", "U(-1,1)", "NaN"}, false},
    {{"infinity in A", "infinities", "U(-1,1)"}, false},
    {{"infinities", "infinities", "infinities"}, false},
};

/* Sets the bound to this many units. Where integers serve, unwanted elements must not change. */
static void set_bound(double units, bool integers)
{
    p.bound = units * 0x1p-53;
    p.rest = integers ? REST_KEPT : REST_ANY;
}

/* One product by each row in every transpose and several leading dimensions: the same bits where
 * integers serve, because these are exact. A form is a row and a transpose. */
static void run(int number, int64_t m, int64_t n, int64_t k, int turn)
{
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-0.5, 0.7}};
    const double alpha = scalars[turn % 3][0], beta = scalars[turn % 3][1];
    const struct product_kind *kind = &kinds[number].kind;
    const bool integers = kinds[number].serves && k >= 64;
    const bool exact = !strcmp(kind->name, "integers") && alpha == 1 && beta == 0;
    product_draw(&p, kind, m, n, k);
    set_bound(exact ? 0 : integers ? 2.5 : (double)k + 4, integers);
    p.wanted = product_draw_wanted(&p, 128, 256, turn);
    for (int form = 0; form < opened_count * TRANSPOSES; form++) {
        const struct xg_gemm_args stored =
            product_store_form(&p, turn, form % TRANSPOSES, alpha, beta);
        const struct xg_dgemm_args args = {.a = stored.a,
                                           .b = stored.b,
                                           .c = stored.c,
                                           .lda = stored.lda,
                                           .ldb = stored.ldb,
                                           .ldc = stored.ldc,
                                           .m = m,
                                           .n = n,
                                           .k = k,
                                           .alpha = alpha,
                                           .beta = beta,
                                           .transa = stored.transa,
                                           .transb = stored.transb,
                                           .split = 1,
                                           .wanted = stored.wanted};
        must(xg_residue_dgemm(&opened[form / TRANSPOSES], &args, scratch.ptr, p.stream), "product");
        product_down(&p);
        product_check(&p, alpha, beta, "%s, form %d", kind->name, form);
        const long other = product_other_bits(&p, form == 0);
        XT_CHECK(form == 0 || other == 0 || !integers, "%s, %ld,%ld,%ld, form %d: other bits",
                 kind->name, (long)m, (long)n, (long)k, form);
    }
}

/* Operands of several panels. A NaN in the last panel of one of them leaves products of the others
 * to integers, which the bound tells from the native kernel. */
static void run_panels(const struct xg_residue *residue, bool nan_in_b)
{
    enum { M = 270, N = 210, K = 100, PANEL_M = 128, PANEL_N = 80 };
    struct xg_split_operand operands[2];
    p.wanted.kind = XG_TRIANGLE_ALL;
    product_draw(&p, &kinds[1].kind, M, N, K);
    p.a[(M - 1) * K] = nan_in_b ? p.a[0] : NAN;
    p.b[N - 1] = nan_in_b ? NAN : p.b[0];
    product_sum(&p);
    const struct xg_gemm_args args = product_store_form(&p, 0, 0, 1, 0);
    xg_residue_operand_init(&operands[0], scratch.ptr, M, K, PANEL_M);
    xg_residue_operand_init(&operands[1], operands[0].end, N, K, PANEL_N);
    const struct xg_split_range whole_a = {&operands[0], {args.a, args.lda, true}, 0, M};
    const struct xg_split_range whole_b = {&operands[1], {args.b, args.ldb, false}, 0, N};
    must(xg_residue_panels(residue, &whole_a, p.stream), "split");
    must(xg_residue_panels(residue, &whole_b, p.stream), "split");
    for (int part = 0; part < 4; part++) {
        struct xg_split_range rows = whole_a, columns = whole_b;
        struct xg_residue_result result = {
            .c = args.c, .ldc = args.ldc, .alpha = 1, .results = operands[1].end};
        rows.row = part / 2 ? PANEL_M : 0;
        rows.rows = part / 2 ? M - PANEL_M : PANEL_M;
        rows.source.data += (size_t)(rows.row * args.lda) * sizeof(double);
        columns.row = part % 2 ? PANEL_N : 0;
        columns.rows = part % 2 ? N - PANEL_N : PANEL_N;
        columns.source.data += (size_t)columns.row * sizeof(double);
        result.c += (size_t)(rows.row * args.ldc + columns.row) * sizeof(double);
        must(xg_residue_product(residue, &rows, &columns, &result, p.stream), "product");
    }
    product_down(&p);
    set_bound(K + 4, false);
    product_check(&p, 1, 0, "panels");
    double worst = 0;
    for (int64_t i = 0; i < (nan_in_b ? M : PANEL_M); i++)
        for (int64_t j = 0; j < (nan_in_b ? PANEL_N : N); j++) {
            const double value = product_get(&p, p.result, p.on_c.first + i * p.on_c.ld + j);
            const long double off = fabsl((long double)value - p.sum[i * N + j]);
            worst = fmax(worst, (double)(off / p.absolute[i * N + j] * 0x1p53L));
        }
    XT_CHECK_LE(worst, 2.5, "panels without a NaN: %.3g units", worst);
}

int main(int argc, char **argv)
{
    static const int shapes[][3] = {{1, 1, 1},       {5, 3, 2},        {129, 257, 65},
                                    {64, 200, 1000}, {257, 130, 127},  {300, 300, 64},
                                    {130, 280, 31},  {270, 210, 1100}, {32, 64, 64}};
    bool quick = argc > 1 && !strcmp(argv[1], "--short");
    struct xg_dev *dev;
    int turn = 0;
    if (xg_backend_open(xg_conf_get(), &dev) != XG_OK)
        return xt_skip("no device");
    if (gpu_is_fake(dev))
        return xt_skip("the fake driver computes with its own loop");
    product_open(&p, dev, STORED, STORED);
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
