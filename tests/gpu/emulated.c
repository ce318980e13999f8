/* SPDX-License-Identifier: MIT */
/*
 * Products on tensor cores by pieces (FP32) and by residues (FP64), on a device: kinds of numbers,
 * shapes, storage; guards around C. Contract 2.1 (doc/contract.md).
 */

/*
 * usage: emulated [--short] [pieces | residues]
 *
 * Judged element by element against long double, |C - exact| in units of 2^-24 or 2^-53 times
 * |alpha||A||B| + |beta||C|: pieces at most k / 64 + 12 units; residues 2.5 units where integers
 * serve, else k + 4. Sums of integers by residues are exact. An element whose exact value is not
 * finite must have that value. The four transposes, leading dimensions and alignments must give the
 * same bits; so must all rows of residues where integers serve, because these are exact.
 */
#include <math.h>

#include "product.h"
#include "src/compute/backend.h"
#include "src/compute/residue.h"
#include "src/compute/split.h"
#include "src/decide/select.h"
#include "tests/support/on_device.h"

enum { SIDE_MAX = 700, K_MAX = 1100, PAD_MAX = 8, TRANSPOSES = 4, ROWS_MAX = 2 };
/* Residues: more than one slice of k. */
enum { DEEP_M = 2, DEEP_N = 3, DEEP_K = XG_RESIDUE_DEPTH_MAX + 70 };
enum { STORED = 256 + (K_MAX + PAD_MAX) * (SIDE_MAX + PAD_MAX) };
_Static_assert(STORED >= 256 + DEEP_K * (DEEP_N + PAD_MAX), "smaller");

static struct product p = {.seed = 20};
static bool doubles; /* by residues, else by pieces */
static struct xg_dev *dev;
static struct xg_mem_dev memory; /* of pieces or residues */

/* The kernels of a row of the table. */
static struct opened {
    const struct xg_kernel *row;
    struct xg_split split;
    struct xg_residue residue;
    long differing; /* products by pieces whose bits differ from those of the first row */
} opened[ROWS_MAX];
static int opened_count;

static const struct {
    struct product_kind kind;
    bool serves; /* integers serve these doubles at every k from 64 on, whatever is drawn */
} kinds[] = {
    {{"uniform", "U(-1,1)", "U(-1,1)"}, true},
    {{"wide", "exponents +-30", "exponents +-30"}, false},
    {{"widest", "circulant 2^40", "circulant 2^40"}, false},
    {{"graded", "graded rows, cols", "graded rows, cols"}, true},
    {{"positive", "U(0,1)", "U(0,1)"}, true},
    {{"integers", "integers", "integers"}, true},
    {{"sparse A", "10 % by dense", "U(-1,1)"}, false},
    {{"sparse", "30 % by 30 %", "30 % by 30 %"}, false},
    {{"diagonal A", "diagonal by dense", "U(-1,1)"}, false},
    {{"diagonal B", "U(-1,1)", "diagonal of 2^i"}, false},
    {{"sparse rows of A", "sparse rows in dense", "U(-1,1)"}, false},
    {{"sparse, widest A", "circulant 2^40", "diagonal of 2^i"}, false},
    {{"rows of zeros", "zero rows, cols", "zero rows, cols"}, true},
    {{"NaN in A", "NaN", "U(-1,1)"}, false},
    {{"NaN in B", "U(-1,1)", "NaN"}, false},
    {{"infinity in A", "infinities", "U(-1,1)"}, false},
    {{"infinities", "infinities", "infinities"}, false},
    {{"outlier A", "outlier 2^30", "U(-1,1)"}, false},
    {{"large A", "near the largest", "near the largest"}, true},
    {{"subnormal A", "subnormal A", "subnormal A"}, true},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Where integers serve, elements that are not wanted must not change. */
static void set_bound(bool integers, bool exact)
{
    const double k = (double)p.k;
    p.bound = doubles ? (exact ? 0 : integers ? 2.5 : k + 4) * 0x1p-53 : (k / 64 + 12) * 0x1p-24;
    p.rest = !doubles ? REST_RIGHT_OR_KEPT : integers ? REST_KEPT : REST_ANY;
}

static void launch(struct opened *by, const struct xg_gemm_args *args)
{
    const struct xg_choice choice = {.row = by->row, .slices = 1};
    dev->split = &by->split;
    dev->residue = &by->residue;
    must(on_device_gemm(dev, &choice, args, &memory, p.stream), by->row->name);
    product_down(&p);
}

/* One product by each row, in every transpose and several leading dimensions. */
static void run(int number, int64_t m, int64_t n, int64_t k, int turn)
{
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-0.5, 0.7}};
    const double alpha = scalars[turn % 3][0], beta = product_rounded(&p, scalars[turn % 3][1]);
    const char *kind = kinds[number].kind.name;
    const bool integers = doubles && kinds[number].serves && k >= 64;
    product_draw(&p, &kinds[number].kind, m, n, k);
    set_bound(integers, !strcmp(kind, "integers") && alpha == 1 && beta == 0);
    /* The tiles of residues, of pieces or of FFMA. */
    p.wanted = doubles    ? product_draw_wanted(&p, 128, 256, turn)
               : turn % 2 ? product_draw_wanted(&p, 256, 192, turn)
                          : product_draw_wanted(&p, 64, 64, turn);
    for (int form = 0; form < opened_count * TRANSPOSES; form++) {
        struct opened *by = &opened[form / TRANSPOSES];
        const int trans = form % TRANSPOSES;
        const struct xg_gemm_args args = product_store_form(&p, turn, trans, alpha, beta);
        launch(by, &args);
        product_check(&p, alpha, beta, "%s, %s, transposes %d", kind, by->row->name, trans);
        const long other = product_other_bits(&p, doubles ? form == 0 : trans == 0);
        XT_CHECK(other == 0 || (doubles ? form == 0 || !integers : trans == 0),
                 "%s, %s, %ld,%ld,%ld, transposes %d: other bits", kind, by->row->name, (long)m,
                 (long)n, (long)k, trans);
        by->differing += trans == 0 && other && by > opened;
    }
}

/* --- Panels ---------------------------------------------------------------------------------- */

/* An operand that is split panel by panel gives the same product. */
static void run_panels_of_pieces(const struct xg_split *split)
{
    enum { M = 500, N = 230, K = 150, PANEL_M = 128, PANEL_N = 100 };
    struct xg_split_operand operands[2];
    p.wanted.kind = XG_TRIANGLE_ALL;
    product_draw(&p, &kinds[0].kind, M, N, K);
    set_bound(false, false);
    const struct xg_gemm_args args = product_store_form(&p, 0, 0, 1, 0);
    must(xg_mem_dev_reserve(dev, &memory,
                            xg_split_operand_bytes(M, K, PANEL_M) +
                                xg_split_operand_bytes(N, K, PANEL_N)),
         "memory");
    xg_split_operand_init(&operands[0], memory.ptr, M, K, PANEL_M);
    xg_split_operand_init(&operands[1], operands[0].end, N, K, PANEL_N);
    for (int64_t row = 0; row < M; row += PANEL_M) {
        struct xg_split_range panel = {
            &operands[0],
            {args.a + (size_t)(row * args.lda) * sizeof(float), args.lda, true},
            row,
            xg_min_i64(PANEL_M, M - row)};
        must(xg_split_panels(split, &panel, p.stream), "split");
    }
    struct xg_split_range whole_b = {&operands[1], {args.b, args.ldb, false}, 0, N};
    must(xg_split_panels(split, &whole_b, p.stream), "split");
    struct xg_split_range rest = {
        &operands[0],
        {args.a + (size_t)(PANEL_M * args.lda) * sizeof(float), args.lda, true},
        PANEL_M,
        M - PANEL_M};
    struct xg_split_range top = {&operands[0], {args.a, args.lda, true}, 0, PANEL_M};
    struct xg_split_result result = {.c = args.c, .ldc = args.ldc, .alpha = 1.0f};
    const struct xg_split_kinds all = {.all = true};
    must(xg_split_product(split, &top, &whole_b, &result, &all, p.stream), "top");
    result.c += (size_t)(PANEL_M * args.ldc) * sizeof(float);
    must(xg_split_product(split, &rest, &whole_b, &result, &all, p.stream), "rest");
    product_down(&p);
    product_check(&p, 1, 0, "panels");
}

/* A NaN in the last panel of one operand leaves products of the other panels to integers: their
 * bound is below the native kernel's error. */
static void run_panels_of_residues(const struct xg_residue *residue, bool nan_in_b)
{
    enum { M = 270, N = 210, K = 100, PANEL_M = 128, PANEL_N = 80, POSITIVE = 4 };
    struct xg_split_operand operands[2];
    p.wanted.kind = XG_TRIANGLE_ALL;
    product_draw(&p, &kinds[POSITIVE].kind, M, N, K);
    p.a[(M - 1) * K] = nan_in_b ? p.a[0] : NAN;
    p.b[N - 1] = nan_in_b ? NAN : p.b[0];
    product_sum(&p);
    const struct xg_gemm_args args = product_store_form(&p, 0, 0, 1, 0);
    must(xg_mem_dev_reserve(dev, &memory,
                            xg_residue_operand_bytes(M, K, PANEL_M) +
                                xg_residue_operand_bytes(N, K, PANEL_N) +
                                xg_residue_results_bytes(M, N)),
         "memory");
    xg_residue_operand_init(&operands[0], memory.ptr, M, K, PANEL_M);
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
    set_bound(false, false);
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

/* --- Both --------------------------------------------------------------------------------------
 */

/* The rows that the device runs. */
static void open_rows(void)
{
    const unsigned flag = doubles ? XG_KERNEL_RESIDUES : XG_KERNEL_PIECES;
    opened_count = 0;
    for (size_t i = 0; i < xg_kernel_count; i++) {
        const struct xg_kernel *row = &xg_kernel_table[i];
        struct opened *by = &opened[opened_count];
        if (!(row->flags & flag) || xg_select_emulated(&dev->facts, flag, row->name) != row)
            continue;
        enum xg_status status =
            doubles ? xg_residue_open(dev, row, &by->residue) : xg_split_open(dev, row, &by->split);
        by->row = row;
        opened_count += status == XG_OK;
        if (status == XG_DECLINED) /* an old driver makes no tensor maps */
            printf("%s does not run here\n", row->name);
        else
            must(status, row->name);
    }
}

static void test_type(bool quick)
{
    static const int shapes[][3] = {{1, 1, 1},      {5, 3, 2},       {32, 64, 64},
                                    {129, 257, 65}, {64, 200, 1000}, {257, 130, 127},
                                    {300, 300, 64}, {520, 390, 31},  {270, 210, 1100},
                                    {300, 700, 64}, {130, 280, 31}};
    enum { SHAPES = sizeof shapes / sizeof shapes[0], QUICK_SHAPES = 4 };
    int turn = 0;
    p.type = doubles ? XG_TYPE_D : XG_TYPE_S;
    p.least = doubles ? 0x1p-1073 : 0x1p-148;
    for (int s = quick && !doubles ? QUICK_SHAPES - 1 : 0; s < (quick ? QUICK_SHAPES : SHAPES); s++)
        for (int kind = 0; kind < KINDS; kind++)
            run(kind, shapes[s][0], shapes[s][1], shapes[s][2], turn++);
    for (int i = 0; doubles && i < 3; i++) /* each pair of scalars */
        run(0, DEEP_M, DEEP_N, DEEP_K, i);
    for (struct opened *by = opened; by < opened + opened_count; by++) {
        for (int nan_in_b = 0; doubles && nan_in_b < 2; nan_in_b++)
            run_panels_of_residues(&by->residue, nan_in_b);
        if (!doubles)
            run_panels_of_pieces(&by->split);
        if (by > opened)
            printf("%s: %ld products with other bits than by %s\n", by->row->name, by->differing,
                   opened->row->name);
    }
}

int main(int argc, char **argv)
{
    const bool quick = argc > 1 && !strcmp(argv[1], "--short");
    const char *only = argc > 1 + quick ? argv[1 + quick] : NULL;
    int tested = 0;
    if (xg_backend_open(xg_conf_get(), &dev) != XG_OK)
        return xt_skip("no device");
    if (gpu_is_fake(dev))
        return xt_skip("the fake driver computes with its own loop");
    product_open(&p, dev, STORED, STORED);
    for (int type = 0; type < 2; type++) {
        doubles = type;
        open_rows();
        if (opened_count == 0 || (only && strcmp(only, doubles ? "residues" : "pieces")))
            continue;
        test_type(quick);
        tested++;
    }
    return tested ? xt_done() : xt_skip("compute capability below 8.0");
}
