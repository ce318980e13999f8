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
#include "src/compute/split.h"
#include "product.h"
#include "src/compute/backend.h"
#include "src/decide/select.h"

enum { SIDE_MAX = 700, K_MAX = 1100, PAD_MAX = 8, TRANSPOSES = 4, ROWS_MAX = 2 };
enum { STORED = 256 + (K_MAX + PAD_MAX) * (SIDE_MAX + PAD_MAX) };

static struct product p = {
    .type = XG_TYPE_S, .seed = 20, .least = 0x1p-148, .rest = REST_RIGHT_OR_KEPT};
static struct xg_mem_dev scratch;

/* The kernels of a row of the table. */
static struct opened {
    const struct xg_kernel *row;
    struct xg_split split;
    long differing; /* products of which the bits differ from those by the row before */
} opened[ROWS_MAX];
static int opened_count;

static const struct product_kind kinds[] = {
    {"uniform", "U(-1,1)", "U(-1,1)"},
    {"wide", "exponents +-30", "exponents +-30"},
    {"widest", "circulant 2^40", "circulant 2^40"},
    {"graded", "graded rows, cols", "graded rows, cols"},
    {"sparse A", "10 % by dense", "U(-1,1)"},
    {"sparse", "30 % by 30 %", "30 % by 30 %"},
    {"diagonal A", "diagonal by dense", "U(-1,1)"},
    {"diagonal B", "U(-1,1)", "diagonal of 2^i"},
    {"sparse rows of A", "sparse rows in dense", "U(-1,1)"},
    {"sparse, widest A", "circulant 2^40", "diagonal of 2^i"},
    {"outlier A", "outlier 2^30", "U(-1,1)"},
    {"large A", "near the largest", "near the largest"},
    {"subnormal A", "subnormal A", "subnormal A"},
    {"NaN in A", "NaN", "U(-1,1)"},
    {"NaN in B", "U(-1,1)", "NaN"},
    {"infinity in A", "infinities", "U(-1,1)"},
    {"infinities", "infinities", "infinities"},
};

static void set_bound(void)
{
    p.bound = ((double)p.k / 64 + 12) * 0x1p-24;
}

/* One transpose by the kernels of one row. */
static void run_form(struct opened *by, const char *kind, int turn, int trans)
{
    static const double scalars[][2] = {{1, 0}, {1, 1}, {-0.5, 0.7}};
    const double alpha = scalars[turn % 3][0], beta = product_rounded(&p, scalars[turn % 3][1]);
    const struct xg_gemm_args form = product_store_form(&p, turn, trans, alpha, beta);
    const struct xg_sgemm_args args = {.a = form.a,
                                       .b = form.b,
                                       .c = form.c,
                                       .lda = form.lda,
                                       .ldb = form.ldb,
                                       .ldc = form.ldc,
                                       .m = form.m,
                                       .n = form.n,
                                       .k = form.k,
                                       .alpha = (float)form.alpha,
                                       .beta = (float)form.beta,
                                       .transa = form.transa,
                                       .transb = form.transb,
                                       .wanted = form.wanted};
    must(xg_split_sgemm(&by->split, &args, scratch.ptr, p.stream), "product");
    product_down(&p);
    product_check(&p, alpha, beta, "%s, transposes %d", kind, trans);
    const long other = product_other_bits(&p, trans == 0);
    XT_CHECK(trans == 0 || other == 0, "%s, %ld,%ld,%ld, transposes %d: other bits", kind,
             (long)p.m, (long)p.n, (long)p.k, trans);
    by->differing += trans == 0 && other && by > opened;
}

static void run(const struct product_kind *kind, int64_t m, int64_t n, int64_t k, int turn)
{
    product_draw(&p, kind, m, n, k);
    set_bound();
    /* Of tiles of pieces or of FFMA. */
    p.wanted = product_draw_wanted(&p, turn % 2 ? 256 : 64, turn % 2 ? 192 : 64, turn);
    for (struct opened *by = opened; by < opened + opened_count; by++)
        for (int trans = 0; trans < TRANSPOSES; trans++)
            run_form(by, kind->name, turn, trans);
}

/* An operand split panel by panel is the same operand. */
static void run_panels(const struct xg_split *split, int64_t m, int64_t n, int64_t k)
{
    enum { PANEL_M = 128, PANEL_N = 100 };
    struct xg_split_operand operands[2];
    p.wanted.kind = XG_TRIANGLE_ALL;
    product_draw(&p, &kinds[0], m, n, k);
    set_bound();
    const struct xg_gemm_args args = product_store_form(&p, 0, 0, 1, 0);
    xg_split_operand_init(&operands[0], scratch.ptr, m, k, PANEL_M);
    xg_split_operand_init(&operands[1], operands[0].end, n, k, PANEL_N);
    for (int64_t row = 0; row < m; row += PANEL_M) {
        struct xg_split_range panel = {
            &operands[0],
            {args.a + (size_t)(row * args.lda) * sizeof(float), args.lda, true},
            row,
            xg_min_i64(PANEL_M, m - row)};
        must(xg_split_panels(split, &panel, p.stream), "split");
    }
    struct xg_split_range whole_b = {&operands[1], {args.b, args.ldb, false}, 0, n};
    must(xg_split_panels(split, &whole_b, p.stream), "split");
    struct xg_split_range rest = {
        &operands[0],
        {args.a + (size_t)(PANEL_M * args.lda) * sizeof(float), args.lda, true},
        PANEL_M,
        m - PANEL_M};
    struct xg_split_range top = {&operands[0], {args.a, args.lda, true}, 0, PANEL_M};
    struct xg_split_result result = {.c = args.c, .ldc = args.ldc, .alpha = 1.0f};
    const struct xg_split_kinds all = {.all = true};
    must(xg_split_product(split, &top, &whole_b, &result, &all, p.stream), "top");
    result.c += (size_t)(PANEL_M * args.ldc) * sizeof(float);
    must(xg_split_product(split, &rest, &whole_b, &result, &all, p.stream), "rest");
    product_down(&p);
    product_check(&p, 1, 0, "panels");
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"fp16x3", "fp16x3_mma"};
    static const int shapes[][3] = {{1, 1, 1},       {5, 3, 2},       {129, 193, 65},
                                    {64, 200, 1000}, {257, 130, 127}, {300, 700, 64},
                                    {520, 390, 31},  {270, 210, 1100}};
    bool quick = argc > 1 && !strcmp(argv[1], "--short");
    struct xg_dev *dev;
    int turn = 0;
    if (xg_backend_open(xg_conf_get(), &dev) != XG_OK)
        return xt_skip("no device");
    product_open(&p, dev, STORED, STORED);
    must(xg_mem_dev_reserve(dev, &scratch, xg_split_sgemm_bytes(SIDE_MAX, SIDE_MAX, K_MAX) + 4096),
         "memory");
    for (int i = 0; i < ROWS_MAX; i++) {
        struct opened *by = &opened[opened_count];
        by->row = xg_select_emulated(&dev->facts, XG_KERNEL_PIECES, names[i]);
        if (!by->row)
            continue;
        must(xg_split_open(dev, by->row, &by->split), "kernels");
        opened_count++;
    }
    if (opened_count == 0)
        return xt_skip("compute capability below 8.0");
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++)
            if (!quick || (s == 2 && (kind < 2 || kind == 6 || kind == 13)))
                run(&kinds[kind], shapes[s][0], shapes[s][1], shapes[s][2], turn++);
    for (struct opened *by = opened; by < opened + opened_count; by++) {
        run_panels(&by->split, 500, 230, 150);
        printf("%s: %ld products with other bits than by the first row\n", by->row->name,
               by->differing);
    }
    return xt_done();
}
