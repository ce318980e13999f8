/* SPDX-License-Identifier: MIT */
/*
 * Every row of the kernel table on a device, against double precision, with guards around C.
 * Contract 1.1, 3.2, 3.3 (doc/contract.md).
 */

/*
 * usage: kernels [--short] [--type s|d] [--row NAME] [--seed N]
 *
 * Each product is judged element by element: |C - exact| <= (k + 3) * u * (|alpha||A||B| +
 * |beta||C|), u being 2^-24, or 2^-53 of double, which any order of k rounded multiplications and
 * additions, and the three roundings of alpha and beta, keep. What the kernel may not read is NaN
 * (C too when beta is 0); what it may not write is compared bit by bit. --short: few sizes, and not
 * cuBLAS: for compute-sanitizer.
 */
#include <math.h>
#include <time.h>

#include "product.h"
#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "tests/support/on_device.h"

/* Numbers of a matrix with its surroundings: the largest operand, its padding, guards. */
enum { SIDE_MAX = 300, K_MAX = 1100, PAD_MAX = 8 };
enum { BUFFER = 256 + K_MAX * (SIDE_MAX + PAD_MAX + 4) };

struct tally {
    long cases;
    double worst; /* of error / bound; a NaN stays */
};

static struct xg_dev *dev;
static char *again; /* a second result */
static struct tally tallies[128][4];
static bool quick;        /* --short */
static const char *only;  /* --row */
static const char *types; /* --type */

static const struct {
    double alpha, beta;
} scalars[] = {{1.0, 0.0}, {1.0, 1.0},  {1.0, 0.7},  {0.5, 0.0}, {0.5, 1.0},
               {0.5, 0.7}, {-1.3, 0.0}, {-1.3, 1.0}, {-1.3, 0.7}};
static const char *const trans_names[] = {"nn", "nt", "tn", "tt"};
enum { SCALARS = sizeof scalars / sizeof scalars[0] };

static void die(const char *what)
{
    fprintf(stderr, "kernels: %s\n", what);
    exit(XT_HARD);
}

static const struct product_kind numbers = {"", "U(-1,1)", "U(-1,1)"};

/* The bound of a row's error. TF32 rounds each factor once more. */
static void set_bound(struct product *p, const struct xg_kernel *row)
{
    const double unit = p->type == XG_TYPE_D ? 0x1p-53 : 0x1p-24;
    p->bound = (double)(p->k + 3) * unit + (row && row->flags & XG_KERNEL_TF32 ? 0x1p-10 : 0.0);
}

/* The larger of two; NaN when either is. */
static double worse(double x, double y)
{
    return isnan(x) || x > y ? x : y;
}

/* In a right result C(0,1) is left, wrong, and left although it is wanted. */
static void test_unwanted(struct product *p)
{
    const int64_t at = p->on_c.first + 1;
    const size_t byte = (size_t)at * product_bytes(p);
    long strays;
    p->wanted = (struct xg_triangle){.kind = XG_TRIANGLE_LOWER, .diagonal = 0};
    memcpy(p->result + byte, p->on_c.host + byte, product_bytes(p));
    XT_CHECK_LE(product_accuracy(p, 1.0, 0.0, &strays), 1.0,
                "unwanted elements may keep their values");
    product_set(p, p->result, at, 1e6);
    XT_CHECK(product_accuracy(p, 1.0, 0.0, &strays) > 1.0,
             "wrong values of unwanted elements passed");
    p->wanted.kind = XG_TRIANGLE_UPPER;
    memcpy(p->result + byte, p->on_c.host + byte, product_bytes(p));
    XT_CHECK(isnan(product_accuracy(p, 1.0, 0.0, &strays)), "what is wanted passed unwritten");
    p->wanted.kind = XG_TRIANGLE_ALL;
    product_set(p, p->result, at, (double)p->sum[1]);
}

/* Tests the judge first: a result with an error must not pass. */
static void test_accuracy(struct product *p)
{
    long strays;
    p->wanted.kind = XG_TRIANGLE_ALL;
    product_draw(p, &numbers, 9, 7, 5);
    set_bound(p, NULL);
    product_store_c(p, 0, 3, false);
    memcpy(p->result, p->on_c.host, (size_t)p->on_c.used * product_bytes(p));
    for (int64_t e = 1; e < p->m * p->n; e++)
        product_set(p, p->result, p->on_c.first + e / p->n * p->on_c.ld + e % p->n,
                    (double)p->sum[e]);
    XT_CHECK(isnan(product_accuracy(p, 1.0, 0.0, &strays)), "an element not written passed");
    product_set(p, p->result, p->on_c.first, (double)p->sum[0]);
    XT_CHECK_LE(product_accuracy(p, 1.0, 0.0, &strays), 1.0, "the exact result did not pass");
    XT_CHECK(strays == 0, "%ld strays seen of 0", strays);

    const int64_t outside[] = {0, p->on_c.first + p->n, p->on_c.used - 1};
    for (int i = 0; i < 3; i++)
        product_set(p, p->result, outside[i], 0.0);
    int64_t last = p->on_c.first + (p->m - 1) * p->on_c.ld + p->n - 1;
    double off = p->type == XG_TYPE_D ? 0x1p-49 : 0x1p-20;
    product_set(p, p->result, last,
                product_get(p, p->result, last) + (double)p->absolute[p->m * p->n - 1] * off);
    XT_CHECK(product_accuracy(p, 1.0, 0.0, &strays) > 1.0, "an element off by 16 units passed");
    XT_CHECK(strays == 3, "%ld strays seen of 3", strays);
    product_set(p, p->result, last, (double)p->sum[p->m * p->n - 1]);
    test_unwanted(p);
    p->sum[0] = INFINITY;
    XT_CHECK(isnan(product_accuracy(p, 1.0, 0.0, &strays)), "a number passed for an infinity");
    p->sum[0] = NAN;
    XT_CHECK(isnan(product_accuracy(p, 1.0, 0.0, &strays)), "a number passed for NaN");
}

static void enqueue(const struct xg_kernel *row, const struct xg_gemm_args *args, CUstream stream)
{
    static struct xg_mem_dev memory; /* products follow each other */
    const struct xg_shape shape = xg_gemm_shape(args);
    const struct xg_choice choice = xg_select_row(row, &dev->facts, &shape);
    must(on_device_gemm(dev, &choice, args, &memory, stream), row->name);
}

static void launch(const struct xg_kernel *row, struct product *p, const struct xg_gemm_args *args)
{
    product_up(p, &p->on_c);
    enqueue(row, args, p->stream);
    product_down(p);
}

/* All of C, or a triangle that ends at a corner of some tile, or one diagonal beside it. */
static struct xg_triangle draw_wanted(const struct xg_kernel *row, const struct product *p,
                                      unsigned number)
{
    const int64_t bm = xg_max_i64(row->bm, 1), bn = xg_max_i64(row->bn, 1); /* cuBLAS has none */
    const int64_t i = number / 3 % 64 % xg_ceil_div(p->m, bm) * bm;
    const int64_t j = number / 192 % 64 % xg_ceil_div(p->n, bn) * bn;
    return gpu_triangle((int)(number % 3), i, j, bm, bn, number / 12288 % 3 - (int64_t)1);
}

/* One row, one pair of transposes: all alphas and betas, and the last of them twice. */
static void test_row(const struct xg_kernel *row, struct product *p, int trans, bool all_scalars)
{
    static const int pads[] = {0, 1, 6, 7};
    static unsigned draws;
    bool vec4 = row->flags & XG_KERNEL_VEC4, transa = trans >> 1, transb = trans & 1;
    struct tally *tally = &tallies[row - xg_kernel_table][trans];
    draws = draws * 1664525u + 1013904223u; /* so that the draws do not follow the transposes */
    unsigned turn = draws >> 16;
    draws = draws * 1664525u + 1013904223u;
    p->wanted = draw_wanted(row, p, draws >> 8);
    set_bound(p, row);
    product_store_factors(p, transa, transb, pads[turn % 4], pads[turn / 4 % 4], vec4);
    for (unsigned s = all_scalars ? 0 : turn % 3; s < SCALARS; s += all_scalars ? 1 : 3) {
        const double alpha = product_rounded(p, scalars[s].alpha);
        const double beta = product_rounded(p, scalars[s].beta);
        product_store_c(p, beta, pads[(turn + s) / 2 % 4], vec4);
        const struct xg_gemm_args args = product_args(p, transa, transb, alpha, beta);
        launch(row, p, &args);
        const double worst = product_check(p, alpha, beta, "%s %s, alpha %g, beta %g", row->name,
                                           trans_names[trans], alpha, beta);
        tally->cases++;
        tally->worst = worse(worst, tally->worst);
        if (s + 3 < SCALARS)
            continue;
        const size_t bytes = (size_t)p->on_c.used * product_bytes(p);
        memcpy(again, p->result, bytes);
        launch(row, p, &args);
        XT_CHECK(!memcmp(p->result, again, bytes), "%s %s, %ld,%ld,%ld: other bits the second time",
                 row->name, trans_names[trans], (long)p->m, (long)p->n, (long)p->k);
    }
}

static bool asked(const struct xg_kernel *row)
{
    return only ? !strcmp(only, row->name) : !(quick && row->flags & XG_KERNEL_CUBLAS);
}

static bool serves(const struct xg_kernel *row, const struct product *p)
{
    const struct xg_shape shape = {.m = p->m, .n = p->n, .k = p->k, .type = p->type};
    return xg_select_row(row, &dev->facts, &shape).row;
}

/* Every row that serves the product (of those asked for), every transpose. */
static void test_product(struct product *p, bool all_scalars)
{
    for (size_t r = 0; r < xg_kernel_count; r++) {
        const struct xg_kernel *row = &xg_kernel_table[r];
        if (!asked(row) || !serves(row, p))
            continue;
        for (int trans = 0; trans < 4; trans++)
            test_row(row, p, trans, all_scalars);
    }
}

static void test_shape(struct product *p, int64_t m, int64_t n, int64_t k, bool all_scalars)
{
    product_draw(p, &numbers, m, n, k);
    test_product(p, all_scalars);
}

/*
 * Of double: NaN and infinities go where they belong and nowhere else, 0 times infinity among them;
 * and no steps of k at all (which cuBLAS's leading dimensions do not allow here).
 */
static void test_double(struct product *p)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0.0, 1e-310, 1e300};
    for (int turn = 0; turn < 6; turn++) {
        product_draw(p, &numbers, 67, 131, 37);
        for (int i = 0; i < 6; i++) {
            p->a[(i * 11 + turn) * p->k + (i * 7 + turn) % p->k] = odd[i];
            p->b[(i * 5 + 3 * turn) % p->k * p->n + i * 21 + turn] = odd[(i + turn) % 6];
        }
        product_sum(p);
        test_product(p, true);
    }
    for (size_t r = 0; r < xg_kernel_count; r++) {
        const struct xg_kernel *row = &xg_kernel_table[r];
        product_draw(p, &numbers, 65, 130, 0);
        if (asked(row) && row->type == (int)p->type && !(row->flags & XG_KERNEL_RESIDUES))
            test_row(row, p, (int)r % 4, true);
    }
}

static void test_shapes(struct product *p)
{
    static const int sides[] = {1,  2,  3,  4,  5,  7,   8,   15,  16,  17,
                                31, 33, 63, 64, 65, 100, 127, 129, 130, 257};
    static const int long_k[] = {1, 2, 9, 31, 257, 1000, 1024, 1097};
    static const int few[][3] = {{1, 1, 1}, {33, 31, 17}, {64, 60, 64}, {130, 257, 9}};
    enum { SIDES = sizeof sides / sizeof sides[0], LONG = sizeof long_k / sizeof long_k[0] };
    if (p->type == XG_TYPE_D)
        test_double(p);
    for (size_t i = 0; quick && i < sizeof few / sizeof few[0]; i++)
        test_shape(p, few[i][0], few[i][1], few[i][2], false);
    if (quick)
        return;
    for (int i = 0; i < SIDES; i++) {
        test_shape(p, sides[i], sides[i], sides[i], true);
        /* Each side meets each other one, m and n and k in turn; the strides are prime to SIDES. */
        for (int mix = 1; mix <= 3; mix++)
            test_shape(p, sides[i], sides[(3 * i + 7 * mix) % SIDES],
                       sides[(11 * i + 9 * mix) % SIDES], false);
    }
    for (int i = 0; i < LONG; i++) {
        test_shape(p, 1 + 43 * i % 67, 130 - 17 * i, long_k[i], false);
        test_shape(p, 257, 1 + i, long_k[i], false);
        test_shape(p, 1 + i, 259, long_k[i], false);
    }
}

/*
 * Offsets beyond 2^31 elements: a matrix of 3000 rows of 8 numbers, 2^20 + 4 floats apart, as A, as
 * B or as C. What lies between the rows is poison.
 */
enum { FAR_ROWS = 3000, FAR_COLS = 8, FAR_LD = (1 << 20) + 4 };

static void copy_far(const struct product *p, CUdeviceptr far, char *near, bool up)
{
    CUDA_MEMCPY2D copy = {.WidthInBytes = FAR_COLS * product_bytes(p), .Height = FAR_ROWS};
    copy.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = near;
    copy.srcDevice = copy.dstDevice = far;
    copy.srcPitch = up ? copy.WidthInBytes : FAR_LD * product_bytes(p);
    copy.dstPitch = up ? FAR_LD * product_bytes(p) : copy.WidthInBytes;
    must(XG_DRV(&dev->drv, cuMemcpy2DAsync, &copy, p->stream), "copy of far rows");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, p->stream), "kernel or copy of far rows");
}

/* which: 'a' or 'b' is the far operand (trans: as op() turns it), or 'c'. */
static void test_far_row(const struct xg_kernel *row, struct product *p, CUdeviceptr far,
                         char which, bool trans)
{
    p->wanted.kind = XG_TRIANGLE_ALL;
    bool vec4 = row->flags & XG_KERNEL_VEC4, transa = which == 'a' && trans;
    bool transb = which == 'b' && trans;
    set_bound(p, row);
    product_store_factors(p, transa, transb, 0, 0, vec4);
    product_store_c(p, 0, 0, vec4);
    product_up(p, &p->on_c);
    struct product_matrix *moved = which == 'a' ? &p->on_a : which == 'b' ? &p->on_b : &p->on_c;
    const size_t far_bytes = (size_t)FAR_ROWS * FAR_LD * product_bytes(p);
    must(XG_DRV(&dev->drv, cuMemsetD32Async, far, PRODUCT_POISON, far_bytes / sizeof PRODUCT_POISON,
                p->stream),
         "poison of the far matrix");
    copy_far(p, far, moved->host + (size_t)moved->first * product_bytes(p), true);
    struct xg_gemm_args args = product_args(p, transa, transb, 1, 0);
    *(which == 'a' ? &args.a : which == 'b' ? &args.b : &args.c) = far;
    *(which == 'a' ? &args.lda : which == 'b' ? &args.ldb : &args.ldc) = FAR_LD;
    enqueue(row, &args, p->stream);
    product_down(p);
    if (which == 'c')
        copy_far(p, far, p->result + (size_t)p->on_c.first * product_bytes(p), false);
    const double worst = product_check(p, 1, 0, "%s, rows of %c%s 2^20 + 4 apart", row->name, which,
                                       trans ? " transposed" : "");
    struct tally *tally = &tallies[row - xg_kernel_table][2 * transa + transb];
    tally->cases++;
    tally->worst = worse(worst, tally->worst);
}

static void test_far(struct product *p)
{
    static const struct {
        char which;
        bool trans;
        int64_t m, n, k;
    } cases[] = {{'a', false, FAR_ROWS, 5, FAR_COLS},
                 {'a', true, FAR_COLS, 5, FAR_ROWS},
                 {'b', false, 5, FAR_COLS, FAR_ROWS},
                 {'b', true, 5, FAR_ROWS, FAR_COLS},
                 {'c', false, FAR_ROWS, FAR_COLS, 5}};
    size_t free_bytes = 0, total_bytes = 0;
    struct xg_mem_dev far = {0};
    must(XG_DRV(&dev->drv, cuMemGetInfo, &free_bytes, &total_bytes), "free memory");
    if (free_bytes < (size_t)32 << 30) {
        printf("offsets beyond 2^31 elements: not tested, the device has less than 32 GiB free\n");
        return;
    }
    must(xg_mem_dev_reserve(dev, &far, (size_t)FAR_ROWS * FAR_LD * product_bytes(p)), "far matrix");
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        product_draw(p, &numbers, cases[c].m, cases[c].n, cases[c].k);
        for (size_t r = 0; r < xg_kernel_count; r++) {
            const struct xg_kernel *row = &xg_kernel_table[r];
            if (asked(row) && serves(row, p))
                test_far_row(row, p, far.ptr, cases[c].which, cases[c].trans);
        }
    }
    xg_mem_dev_release(dev, &far);
}

static void print_tallies(void)
{
    printf("Largest componentwise error, as a fraction of (k + 3) * 2^-24, 2^-53\n\n");
    printf("%-20s %8s %8s %8s %8s %8s\n", "row", "cases", "nn", "nt", "tn", "tt");
    for (size_t r = 0; r < xg_kernel_count; r++) {
        long cases = 0;
        for (int t = 0; t < 4; t++)
            cases += tallies[r][t].cases;
        printf("%-20s %8ld", xg_kernel_table[r].name, cases);
        for (int t = 0; t < 4; t++)
            if (tallies[r][t].cases)
                printf(" %8.4f", tallies[r][t].worst);
            else
                printf(" %8s", "-");
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    unsigned long seed = (unsigned long)time(NULL);
    for (int i = 1; i < argc; i++) {
        bool value = i + 1 < argc;
        if (!strcmp(argv[i], "--short"))
            quick = true;
        else if (value && !strcmp(argv[i], "--type"))
            types = argv[++i];
        else if (value && !strcmp(argv[i], "--row"))
            only = argv[++i];
        else if (value && !strcmp(argv[i], "--seed"))
            seed = strtoul(argv[++i], NULL, 0);
        else
            die("usage: kernels [--short] [--type s|d] [--row NAME] [--seed N]");
    }
    if (types && strcmp(types, "s") && strcmp(types, "d"))
        die("no such type");
    if (only && !xg_select_find(only))
        die("no such row");
    if (xg_kernel_count > sizeof tallies / sizeof tallies[0])
        die("more rows than tallies");
    if (xg_backend_open(xg_conf_get(), &dev) != XG_OK)
        return xt_skip("no CUDA device that the kernels serve");
    if (gpu_is_fake(dev))
        return xt_skip("the fake driver computes with its own loop");

    printf("Kernels on %s (sm_%d, %d multiprocessors), seed %lu\n", dev->name, dev->facts.sm,
           dev->facts.sm_count, seed);
    struct product product = {.seed = seed};
    product_open(&product, dev, BUFFER, BUFFER);
    again = malloc(BUFFER * sizeof(double));
    if (!again)
        die("out of memory");
    dev->facts.cublas = xg_cublas_present(dev);
    for (product.type = XG_TYPE_S; product.type <= XG_TYPE_D; product.type++) {
        if (types && *types != (product.type == XG_TYPE_D ? 'd' : 's'))
            continue;
        test_accuracy(&product);
        test_shapes(&product);
        if (!quick)
            test_far(&product);
    }
    print_tallies();
    product_close(&product);
    xg_backend_close(dev);
    free(again);
    return xt_done();
}
