/* SPDX-License-Identifier: MIT */
/*
 * Every row of the kernel table on a device, against double precision, with guards around C.
 * Contract 1.1, 3.2, 3.3 (doc/contract.md).
 */

/*
 * usage: kernels [--short] [--type s|d] [--row NAME] [--seed N] [--report FILE]
 *
 * Each product is judged element by element: |C - exact| <= (k + 3) * u * (|alpha||A||B| +
 * |beta||C|), u being 2^-24, or 2^-53 of double, which any order of k rounded multiplications and
 * additions, and the three roundings of alpha and beta, keep. What the kernel may not read is NaN
 * (C too when beta is 0); what it may not write is compared bit by bit. --short: few sizes, and not
 * cuBLAS: for compute-sanitizer.
 */
#include <assert.h>
#include <math.h>
#include <time.h>

#include "product.h"
#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "src/device/mem.h"
#include "util.h"

/* Numbers of a buffer: the largest operand, its padding, a guard before and behind. */
enum { SIDE_MAX = 300, K_MAX = 1100, PAD_MAX = 8, GUARD = 64 };
enum { BUFFER = 2 * GUARD + PAD_MAX + K_MAX * (SIDE_MAX + PAD_MAX + 4) };

/* What lies in every place that a kernel must not touch: NaNs of either type, told apart by their
 * bits. */
static const uint32_t POISON = 0x7ffcdead;

/* A matrix with its surroundings, on the host, and as much memory on the device. */
struct buffer {
    char *host;
    struct xg_mem_dev dev;
    int64_t first; /* where the matrix begins: behind the guard, and behind an offset */
    int64_t ld;
    int64_t used; /* numbers in use, guards included */
};

struct tally {
    long cases;
    double worst; /* of error / bound; a NaN stays */
};

static struct xg_dev *dev;
static CUstream stream;
static struct buffer buffer_a, buffer_b, buffer_c;
/* What a first and a second run left in buffer_c. */
static _Alignas(double) char back[BUFFER * sizeof(double)], again[BUFFER * sizeof(double)];
static enum xg_type type; /* of the rows under test, and of what lies in the buffers */
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

static size_t elem_bytes(void)
{
    return xg_type_bytes(type);
}

/* As the type has it. */
static double rounded(double x)
{
    return type == XG_TYPE_D ? x : (double)(float)x;
}

static double number(const char *memory, int64_t at)
{
    return type == XG_TYPE_D ? ((const double *)(const void *)memory)[at]
                             : (double)((const float *)(const void *)memory)[at];
}

static void set_number(char *memory, int64_t at, double x)
{
    if (type == XG_TYPE_D)
        ((double *)(void *)memory)[at] = x;
    else
        ((float *)(void *)memory)[at] = (float)x;
}

/* The larger of two; NaN when either is. */
static double worse(double x, double y)
{
    return isnan(x) || x > y ? x : y;
}

/*
 * Lays out (rows,cols) in the buffer and fills it from matrix (cols,rows when trans; NULL: poison),
 * with `pad` numbers between rows. vec4: as XG_KERNEL_VEC4 asks for it; else nothing is aligned.
 * zeros: behind each row, up to the next multiple of 4.
 */
static void buffer_fill(struct buffer *buffer, const double *matrix, int64_t rows, int64_t cols,
                        bool trans, int pad, bool vec4, bool zeros)
{
    int64_t padded = xg_round_up(cols, 4);
    buffer->ld = vec4 ? padded + xg_round_up(pad, 4) : cols + pad;
    buffer->first = GUARD + (vec4 ? 0 : pad % 4);
    buffer->used = buffer->first + rows * buffer->ld + GUARD;
    assert(buffer->used <= BUFFER);
    for (size_t at = 0; at < (size_t)buffer->used * elem_bytes(); at += sizeof POISON)
        memcpy(buffer->host + at, &POISON, sizeof POISON);
    for (int64_t i = 0; i < rows; i++) {
        int64_t row = buffer->first + i * buffer->ld;
        for (int64_t j = 0; matrix && j < cols; j++)
            set_number(buffer->host, row + j, matrix[trans ? j * rows + i : i * cols + j]);
        for (int64_t j = cols; zeros && j < padded; j++)
            set_number(buffer->host, row + j, 0.0);
    }
}

static void buffer_up(struct buffer *buffer)
{
    must(XG_DRV(&dev->drv, cuMemcpyHtoDAsync, buffer->dev.ptr, buffer->host,
                (size_t)buffer->used * elem_bytes(), stream),
         "copy to the device");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "copy to the device");
}

static void buffer_down(char *to, const struct buffer *buffer)
{
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, to, buffer->dev.ptr,
                (size_t)buffer->used * elem_bytes(), stream),
         "copy from the device");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "kernel or copy from the device");
}

static uint64_t buffer_address(const struct buffer *buffer)
{
    return buffer->dev.ptr + (uint64_t)buffer->first * elem_bytes();
}

/* |value - exact| / bound; where exact is no number, 0 if value is what it is, and else NaN. */
static double error_of(double value, long double exact, long double bound)
{
    if (!isfinite(exact))
        return (isnan(exact) ? isnan(value) : value == (double)exact) ? 0.0 : (double)NAN;
    long double off = fabsl((long double)value - exact);
    return off == 0 ? 0.0 : (double)(off / bound);
}

/*
 * Judges what came back against what went up (buffer_c.host). Returns the largest error / bound,
 * NaN when an element is NaN and should not be; *strays: elements changed outside C. What is not
 * wanted is right or as it was.
 */
static double accuracy(const struct product *p, const char *result, double alpha, double beta,
                       long *strays)
{
    double unit = type == XG_TYPE_D ? 0x1p-53 : 0x1p-24;
    double worst = 0.0, bound = (double)(p->k + 3) * unit + p->rounding;
    *strays = 0;
    for (int64_t at = 0; at < buffer_c.used; at++) {
        int64_t i = (at - buffer_c.first) / buffer_c.ld, j = (at - buffer_c.first) % buffer_c.ld;
        size_t byte = (size_t)at * elem_bytes();
        bool changed = memcmp(result + byte, buffer_c.host + byte, elem_bytes()) != 0;
        if (at < buffer_c.first || i >= p->m || j >= p->n) {
            *strays += changed;
            continue;
        }
        if (!changed && !xg_triangle_wants(&p->wanted, i, j))
            continue;
        int64_t e = i * p->n + j;
        long double c0 = beta == 0.0 ? 0.0L : (long double)beta * (long double)p->c[e];
        long double exact = (long double)alpha * p->sum[e] + c0;
        long double scale = fabsl((long double)alpha) * p->absolute[e] + fabsl(c0);
        worst = worse(error_of(number(result, at), exact, bound * scale), worst);
    }
    return worst;
}

/* C(0,1), in a result that is right otherwise: left, wrong, and left where it is wanted. */
static void test_unwanted(struct product *p)
{
    const int64_t at = buffer_c.first + 1;
    const size_t byte = (size_t)at * elem_bytes();
    long strays;
    p->wanted = (struct xg_triangle){.kind = XG_TRIANGLE_LOWER, .diagonal = 0};
    memcpy(back + byte, buffer_c.host + byte, elem_bytes());
    XT_CHECK_LE(accuracy(p, back, 1.0, 0.0, &strays), 1.0, "what is not wanted may be left");
    set_number(back, at, 1e6);
    XT_CHECK(accuracy(p, back, 1.0, 0.0, &strays) > 1.0, "what is not wanted passed wrong");
    p->wanted.kind = XG_TRIANGLE_UPPER;
    memcpy(back + byte, buffer_c.host + byte, elem_bytes());
    XT_CHECK(isnan(accuracy(p, back, 1.0, 0.0, &strays)), "what is wanted passed unwritten");
    p->wanted.kind = XG_TRIANGLE_ALL;
    set_number(back, at, (double)p->sum[1]);
}

/* A result in which something is wrong must not pass: the judge is judged first. */
static void test_accuracy(struct product *p)
{
    long strays;
    p->rounding = 0.0;
    p->wanted.kind = XG_TRIANGLE_ALL;
    product_draw(p, 9, 7, 5);
    buffer_fill(&buffer_c, NULL, p->m, p->n, false, 3, false, false);
    memcpy(back, buffer_c.host, (size_t)buffer_c.used * elem_bytes());
    for (int64_t e = 1; e < p->m * p->n; e++)
        set_number(back, buffer_c.first + e / p->n * buffer_c.ld + e % p->n, (double)p->sum[e]);
    XT_CHECK(isnan(accuracy(p, back, 1.0, 0.0, &strays)), "an element not written passed");
    set_number(back, buffer_c.first, (double)p->sum[0]);
    XT_CHECK_LE(accuracy(p, back, 1.0, 0.0, &strays), 1.0, "the exact result did not pass");
    XT_CHECK(strays == 0, "%ld strays seen of 0", strays);

    const int64_t outside[] = {0, buffer_c.first + p->n, buffer_c.used - 1};
    for (int i = 0; i < 3; i++)
        set_number(back, outside[i], 0.0);
    int64_t last = buffer_c.first + (p->m - 1) * buffer_c.ld + p->n - 1;
    double off = type == XG_TYPE_D ? 0x1p-49 : 0x1p-20;
    set_number(back, last, number(back, last) + (double)p->absolute[p->m * p->n - 1] * off);
    XT_CHECK(accuracy(p, back, 1.0, 0.0, &strays) > 1.0, "an element off by 16 units passed");
    XT_CHECK(strays == 3, "%ld strays seen of 3", strays);
    set_number(back, last, (double)p->sum[p->m * p->n - 1]);
    test_unwanted(p);
    p->sum[0] = INFINITY;
    XT_CHECK(isnan(accuracy(p, back, 1.0, 0.0, &strays)), "a number passed for an infinity");
    p->sum[0] = NAN;
    XT_CHECK(isnan(accuracy(p, back, 1.0, 0.0, &strays)), "a number passed for NaN");
}

static void launch(const struct xg_kernel *row, const struct product *p, bool transa, bool transb,
                   double alpha, double beta, char *result)
{
    struct xg_gemm_args args = {.type = type,
                                .a = buffer_address(&buffer_a),
                                .b = buffer_address(&buffer_b),
                                .c = buffer_address(&buffer_c),
                                .lda = buffer_a.ld,
                                .ldb = buffer_b.ld,
                                .ldc = buffer_c.ld,
                                .m = p->m,
                                .n = p->n,
                                .k = p->k,
                                .alpha = alpha,
                                .beta = beta,
                                .transa = transa,
                                .transb = transb,
                                .wanted = p->wanted};
    buffer_up(&buffer_c);
    gpu_launch(dev, row, &args, stream);
    buffer_down(result, &buffer_c);
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
    p->rounding = row->flags & XG_KERNEL_TF32 ? 0x1p-10 : 0.0;
    static const int pads[] = {0, 1, 6, 7};
    static unsigned draws;
    bool vec4 = row->flags & XG_KERNEL_VEC4, transa = trans >> 1, transb = trans & 1;
    struct tally *tally = &tallies[row - xg_kernel_table][trans];
    draws = draws * 1664525u + 1013904223u; /* so that nothing goes in step with the transposes */
    unsigned turn = draws >> 16;
    draws = draws * 1664525u + 1013904223u;
    p->wanted = draw_wanted(row, p, draws >> 8);
    buffer_fill(&buffer_a, p->a, transa ? p->k : p->m, transa ? p->m : p->k, transa, pads[turn % 4],
                vec4, vec4);
    buffer_fill(&buffer_b, p->b, transb ? p->n : p->k, transb ? p->k : p->n, transb,
                pads[turn / 4 % 4], vec4, vec4);
    buffer_up(&buffer_a);
    buffer_up(&buffer_b);
    for (unsigned s = all_scalars ? 0 : turn % 3; s < SCALARS; s += all_scalars ? 1 : 3) {
        double alpha = rounded(scalars[s].alpha), beta = rounded(scalars[s].beta);
        buffer_fill(&buffer_c, beta == 0.0 ? NULL : p->c, p->m, p->n, false,
                    pads[(turn + s) / 2 % 4], vec4, false);
        launch(row, p, transa, transb, alpha, beta, back);
        long strays;
        double worst = accuracy(p, back, alpha, beta, &strays);
        XT_CHECK_LE(worst, 1.0, "%s %s, %ld,%ld,%ld, alpha %g, beta %g: error %.3g of the bound",
                    row->name, trans_names[trans], (long)p->m, (long)p->n, (long)p->k, alpha, beta,
                    worst);
        XT_CHECK(strays == 0, "%s %s, %ld,%ld,%ld: %ld numbers changed outside C", row->name,
                 trans_names[trans], (long)p->m, (long)p->n, (long)p->k, strays);
        tally->cases++;
        tally->worst = worse(worst, tally->worst);
        if (s + 3 < SCALARS)
            continue;
        launch(row, p, transa, transb, alpha, beta, again);
        XT_CHECK(!memcmp(back, again, (size_t)buffer_c.used * elem_bytes()),
                 "%s %s, %ld,%ld,%ld: other bits the second time", row->name, trans_names[trans],
                 (long)p->m, (long)p->n, (long)p->k);
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
    product_draw(p, m, n, k);
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
        product_draw(p, 67, 131, 37);
        for (int i = 0; i < 6; i++) {
            p->a[(i * 11 + turn) * p->k + (i * 7 + turn) % p->k] = odd[i];
            p->b[(i * 5 + 3 * turn) % p->k * p->n + i * 21 + turn] = odd[(i + turn) % 6];
        }
        product_sum(p);
        test_product(p, true);
    }
    for (size_t r = 0; r < xg_kernel_count; r++) {
        const struct xg_kernel *row = &xg_kernel_table[r];
        product_draw(p, 65, 130, 0);
        if (asked(row) && row->type == (int)type && !(row->flags & XG_KERNEL_RESIDUES))
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
    if (type == XG_TYPE_D)
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

static void copy_far(CUdeviceptr far, char *near, bool up)
{
    CUDA_MEMCPY2D copy = {.WidthInBytes = FAR_COLS * elem_bytes(), .Height = FAR_ROWS};
    copy.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = near;
    copy.srcDevice = copy.dstDevice = far;
    copy.srcPitch = up ? copy.WidthInBytes : FAR_LD * elem_bytes();
    copy.dstPitch = up ? FAR_LD * elem_bytes() : copy.WidthInBytes;
    must(XG_DRV(&dev->drv, cuMemcpy2DAsync, &copy, stream), "copy of far rows");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "kernel or copy of far rows");
}

/* which: 'a' or 'b' is the far operand (trans: as op() turns it), or 'c'. */
static void test_far_row(const struct xg_kernel *row, struct product *p, CUdeviceptr far,
                         char which, bool trans)
{
    p->rounding = row->flags & XG_KERNEL_TF32 ? 0x1p-10 : 0.0;
    p->wanted.kind = XG_TRIANGLE_ALL;
    bool vec4 = row->flags & XG_KERNEL_VEC4, transa = which == 'a' && trans;
    bool transb = which == 'b' && trans;
    buffer_fill(&buffer_a, p->a, transa ? p->k : p->m, transa ? p->m : p->k, transa, 0, vec4, vec4);
    buffer_fill(&buffer_b, p->b, transb ? p->n : p->k, transb ? p->k : p->n, transb, 0, vec4, vec4);
    buffer_fill(&buffer_c, NULL, p->m, p->n, false, 0, vec4, false);
    struct buffer *moved = which == 'a' ? &buffer_a : which == 'b' ? &buffer_b : &buffer_c;
    must(XG_DRV(&dev->drv, cuMemsetD32Async, far, POISON,
                (size_t)FAR_ROWS * FAR_LD * elem_bytes() / sizeof POISON, stream),
         "poison of the far matrix");
    copy_far(far, moved->host + (size_t)moved->first * elem_bytes(), true);
    buffer_up(&buffer_a);
    buffer_up(&buffer_b);
    buffer_up(&buffer_c);
    struct xg_gemm_args args = {.type = type,
                                .a = which == 'a' ? far : buffer_address(&buffer_a),
                                .b = which == 'b' ? far : buffer_address(&buffer_b),
                                .c = which == 'c' ? far : buffer_address(&buffer_c),
                                .lda = which == 'a' ? FAR_LD : buffer_a.ld,
                                .ldb = which == 'b' ? FAR_LD : buffer_b.ld,
                                .ldc = which == 'c' ? FAR_LD : buffer_c.ld,
                                .m = p->m,
                                .n = p->n,
                                .k = p->k,
                                .alpha = 1.0,
                                .transa = transa,
                                .transb = transb};
    gpu_launch(dev, row, &args, stream);
    buffer_down(back, &buffer_c);
    if (which == 'c')
        copy_far(far, back + (size_t)buffer_c.first * elem_bytes(), false);
    long strays;
    double worst = accuracy(p, back, 1.0, 0.0, &strays);
    XT_CHECK_LE(worst, 1.0, "%s, rows of %c%s 2^20 + 4 apart: error %.3g of the bound", row->name,
                which, trans ? " transposed" : "", worst);
    XT_CHECK(strays == 0, "%s, far rows of %c: %ld numbers changed outside C", row->name, which,
             strays);
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
    must(xg_mem_dev_reserve(dev, &far, (size_t)FAR_ROWS * FAR_LD * elem_bytes()), "far matrix");
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        product_draw(p, cases[c].m, cases[c].n, cases[c].k);
        for (size_t r = 0; r < xg_kernel_count; r++) {
            const struct xg_kernel *row = &xg_kernel_table[r];
            if (asked(row) && serves(row, p))
                test_far_row(row, p, far.ptr, cases[c].which, cases[c].trans);
        }
    }
    xg_mem_dev_release(dev, &far);
}

static void print_report(FILE *out, unsigned long seed)
{
    fprintf(out, "Kernels on %s (sm_%d, %d multiprocessors), seed %lu\n", dev->name, dev->facts.sm,
            dev->facts.sm_count, seed);
    fprintf(out, "Largest componentwise error, as a fraction of (k + 3) * 2^-24, 2^-53\n\n");
    fprintf(out, "%-20s %8s %8s %8s %8s %8s\n", "row", "cases", "nn", "nt", "tn", "tt");
    for (size_t r = 0; r < xg_kernel_count; r++) {
        long cases = 0;
        for (int t = 0; t < 4; t++)
            cases += tallies[r][t].cases;
        fprintf(out, "%-20s %8ld", xg_kernel_table[r].name, cases);
        for (int t = 0; t < 4; t++)
            if (tallies[r][t].cases)
                fprintf(out, " %8.4f", tallies[r][t].worst);
            else
                fprintf(out, " %8s", "-");
        fputc('\n', out);
    }
    fprintf(out, "\n%ld checks, %d failed\n", xt_checks, xt_failures);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        die("out of memory");
    return memory;
}

static void open_device(void)
{
    must(xg_dev_enter(dev), "context");
    must(XG_DRV(&dev->drv, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING), "stream");
    dev->facts.cublas = xg_cublas_present(dev);
    dev->facts.scratch_bytes = 64 << 20; /* xg_launch_reserve sees to it */
    struct buffer *buffers[] = {&buffer_a, &buffer_b, &buffer_c};
    for (int i = 0; i < 3; i++) {
        buffers[i]->host = allocate(BUFFER, sizeof(double));
        must(xg_mem_dev_reserve(dev, &buffers[i]->dev, BUFFER * sizeof(double)), "device memory");
    }
}

static void close_device(void)
{
    struct buffer *buffers[] = {&buffer_a, &buffer_b, &buffer_c};
    for (int i = 0; i < 3; i++) {
        free(buffers[i]->host);
        xg_mem_dev_release(dev, &buffers[i]->dev);
    }
    must(XG_DRV(&dev->drv, cuStreamDestroy, stream), "stream");
    xg_dev_leave(dev);
    xg_backend_close(dev);
}

int main(int argc, char **argv)
{
    const char *report = NULL;
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
        else if (value && !strcmp(argv[i], "--report"))
            report = argv[++i];
        else
            die("usage: kernels [--short] [--type s|d] [--row NAME] [--seed N] [--report "
                "FILE]");
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

    printf("%s, seed %lu\n", dev->name, seed);
    struct product product = {.random_state = seed};
    if (!product_allocate(&product, BUFFER))
        die("out of memory");
    open_device();
    for (type = XG_TYPE_S; type <= XG_TYPE_D; type++) {
        if (types && *types != (type == XG_TYPE_D ? 'd' : 's'))
            continue;
        product.type = type;
        test_accuracy(&product);
        test_shapes(&product);
        if (!quick)
            test_far(&product);
    }
    print_report(stdout, seed);
    FILE *file = report ? fopen(report, "w") : NULL;
    if (file)
        print_report(file, seed);
    XT_CHECK(!report || (file && !fclose(file)), "cannot write %s", report);
    close_device();
    product_free(&product);
    return xt_done();
}
