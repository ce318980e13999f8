/* SPDX-License-Identifier: MIT */
/*
 * The accuracy of strict and accurate arithmetic on a device, and of the emulated kernels that are
 * chosen by name, beside cuBLAS and the CPU's BLAS.
 * Contract 1.1, 2.1, 6.2 (doc/contract.md).
 */

/*
 * usage: accuracy [--side N] [--k-max K] [--seed N]
 *
 * Products of N x N (2048) results and k from 1 to K (65536), of operands from a table of
 * distributions (distribution.h), the transposes in turn. Each is computed by the row that
 * selection takes under XGEMM_MATH=strict and =accurate, by cuBLAS in pedantic mode and by the CPU
 * BLAS that the build found, and compared with double precision on 32 rows of C: 65536 elements.
 * Results are poisoned before. The errors are componentwise, |C - exact| / (|A||B|), in units of
 * 2^-24; largest, root of the mean square, and mean with its sign.
 *
 * It fails where the largest or the rms error of ours is more than WORSE times that of cuBLAS;
 * where a product of k = 1 is not the correctly rounded one; where a sum of integers below 2^24, an
 * identity, a permutation or a power of two comes out inexact, or a scaling by powers of two
 * changes a bit; where NaN, infinity, overflow, subnormal numbers or zeros are not what double
 * precision says; and where a second run, another stream or other leading dimensions give other
 * bits.
 */
#include <dlfcn.h>
#include <math.h>

#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "src/compute/launch.h"
#include "src/compute/split.h"
#include "src/decide/route.h"
#include "src/device/mem.h"
#include "src/host/cores.h"
#include "tests/gpu/accuracy_doubles.h"
#include "tests/support/distribution.h"
#include "tests/support/reference.h"
#include "util.h"

enum { SIDE_MIN = REFERENCE_ROWS, RUNS = 100, K_SPECIAL = 1024, PAD_MAX = 64 };

enum side { CPU_BLAS, CUBLAS, STRICT, ACCURATE, MMA, SIDES };
static const char *const side_names[SIDES] = {"CPU BLAS", "cuBLAS", "strict", "accurate",
                                              "fp16x3_mma"};
enum { MMA_DEPTH_MIN = 128 }; /* selection's */

/*
 * How much larger than cuBLAS's an error may be. Accurate: a tie, no more. Strict is one sum in
 * order of k, and so is most of cuBLAS; but that cuts a long k into parts for some transposes (seen
 * on sm_90 for tn from 4096 on, for nt at 65536), whose sums err less, up to 3 times. Where no row
 * but strict's serves accurate (without tensor cores, or for a small k) it is that sum.
 */
static const double WORSE[SIDES] = {[STRICT] = 4.0, [ACCURATE] = 1.10, [MMA] = 1.10};

static const int64_t depths[] = {1, 2, 3, 15, 16, 17, 31, 64, 127, 128, 1000, 4096, 65536};
enum { DEPTHS = sizeof depths / sizeof depths[0] };

typedef void cblas_sgemm_function(int order, int transa, int transb, int m, int n, int k,
                                  float alpha, const float *a, int lda, const float *b, int ldb,
                                  float beta, float *c, int ldc);

static struct {
    int64_t side, k_max;
    uint64_t seed;
} options = {.side = 2048, .k_max = 65536, .seed = 1};

static struct xg_dev *dev;
static CUstream streams[2];
static struct xg_team *team;
static cblas_sgemm_function *cpu_blas; /* NULL: not found */

static int own_rows; /* lines on which accurate is not strict's row */

/* The product at work: operands here and on the device, exact sums, sampled rows of results. */
static struct xg_problem call;
static struct reference reference;
static float *operand_a, *operand_b;
static float *sampled[SIDES]; /* (REFERENCE_ROWS,side) */
static struct xg_mem_dev dev_a, dev_b, dev_c;
static struct xg_split split_mma; /* its device is NULL where the row does not run */

static void die(const char *what)
{
    fprintf(stderr, "accuracy: %s\n", what);
    exit(XT_HARD);
}

/* --- Operands ------------------------------------------------------------------------------ */

static int64_t rows_of(char which)
{
    return which == 'a' ? (call.transa ? call.k : call.m) : (call.transb ? call.n : call.k);
}

static int64_t cols_of(char which)
{
    return which == 'a' ? (call.transa ? call.m : call.k) : (call.transb ? call.k : call.n);
}

/* A host matrix of leading dimension ld to the device with leading dimension to_ld >= ld. */
static void copy_up(CUdeviceptr to, const float *from, int64_t rows, int64_t ld, int64_t to_ld)
{
    CUDA_MEMCPY2D copy = {.WidthInBytes = (size_t)ld * sizeof(float),
                          .Height = (size_t)rows,
                          .srcMemoryType = CU_MEMORYTYPE_HOST,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcHost = from,
                          .dstDevice = to,
                          .srcPitch = (size_t)ld * sizeof(float),
                          .dstPitch = (size_t)to_ld * sizeof(float)};
    must(XG_DRV(&dev->drv, cuMemcpy2DAsync, &copy, streams[0]), "copy up");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, streams[0]), "copy up");
}

/* Draws the operands of one product and puts them on the device. */
static void draw(const struct distribution *distribution, int64_t k, int trans, uint64_t seed)
{
    call = (struct xg_problem){.transa = trans >> 1,
                               .transb = trans & 1,
                               .m = options.side,
                               .n = options.side,
                               .k = k,
                               .alpha = 1.0f,
                               .a = operand_a,
                               .b = operand_b,
                               .ldc = options.side};
    call.lda = xg_round_up(cols_of('a'), 4);
    call.ldb = xg_round_up(cols_of('b'), 4);
    distribution_fill(distribution, team, seed, &call);
    copy_up(dev_a.ptr, operand_a, rows_of('a'), call.lda, call.lda);
    copy_up(dev_b.ptr, operand_b, rows_of('b'), call.ldb, call.ldb);
}

static void draw_with_reference(const struct distribution *distribution, int64_t k, int trans)
{
    draw(distribution, k, trans, options.seed + (uint64_t)(distribution - distribution_table));
    if (!reference_create(&reference, &call, team))
        die("out of memory");
}

/* --- The sides ----------------------------------------------------------------------------- */

/* Its row is NULL where the side is not there. */
static struct xg_choice choice_of(enum side side)
{
    static const enum xg_math maths[] = {[STRICT] = XG_MATH_STRICT, [ACCURATE] = XG_MATH_ACCURATE};
    const struct xg_shape shape = {.m = call.m, .n = call.n, .k = call.k, .type = call.type};
    if (side == CUBLAS)
        return xg_select_row(xg_select_find("cublas"), &dev->facts, &shape);
    return xg_route_resident(&dev->facts, maths[side], NULL, &shape);
}

static struct xg_gemm_args args_of(void)
{
    return (struct xg_gemm_args){.a = dev_a.ptr,
                                 .b = dev_b.ptr,
                                 .c = dev_c.ptr,
                                 .lda = call.lda,
                                 .ldb = call.ldb,
                                 .ldc = call.ldc,
                                 .m = call.m,
                                 .n = call.n,
                                 .k = call.k,
                                 .alpha = call.alpha,
                                 .beta = call.beta,
                                 .transa = call.transa,
                                 .transb = call.transb};
}

/* XG_OK or XG_DECLINED. */
static enum xg_status launch(const struct xg_choice *choice, const struct xg_gemm_args *args,
                             CUstream stream)
{
    static struct xg_mem_dev scratch; /* products follow each other */
    struct xg_gemm_args copy = *args;
    must(xg_launch_reserve(dev, choice, &scratch, &copy), "scratch");
    enum xg_status status = xg_launch_gemm(dev, choice, &copy, stream);
    if (status != XG_DECLINED)
        must(status, choice->row->name);
    return status;
}

static void poison_c(size_t elems)
{
    must(XG_DRV(&dev->drv, cuMemsetD32Async, dev_c.ptr, 0x7fc00000, elems, streams[0]), "poison");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, streams[0]), "poison");
}

/* The sampled rows of C on the device. */
static void copy_sampled(float *to)
{
    for (int r = 0; r < REFERENCE_ROWS; r++)
        must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, to + r * call.n,
                    dev_c.ptr + (uint64_t)(reference.row[r] * call.ldc) * sizeof(float),
                    (size_t)call.n * sizeof(float), streams[0]),
             "copy down");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, streams[0]), "kernel or copy down");
}

static void launch_mma(void)
{
    static struct xg_mem_dev scratch;
    const struct xg_sgemm_args args = {
        dev_a.ptr,        dev_b.ptr,   dev_c.ptr,   call.lda,  call.ldb,
        call.ldc,         call.m,      call.n,      call.k,    (float)call.alpha,
        (float)call.beta, call.transa, call.transb, .split = 1};
    must(xg_mem_dev_reserve(dev, &scratch, xg_split_sgemm_bytes(call.m, call.n, call.k)),
         "scratch");
    must(xg_split_sgemm(&split_mma, &args, scratch.ptr, streams[0]), side_names[MMA]);
}

/* Fills sampled[side]; false where the side is not there. c0: the sampled rows of C before, when
 * call.beta is not 0. */
static bool compute(enum side side, const float *c0)
{
    if (side == CPU_BLAS) {
        enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
        if (!cpu_blas)
            return false;
        for (int64_t e = 0; e < REFERENCE_ROWS * call.n; e++)
            sampled[side][e] = c0 ? c0[e] : NAN;
        cpu_blas(ROW_MAJOR, NO_TRANS, call.transb ? TRANS : NO_TRANS, REFERENCE_ROWS, (int)call.n,
                 (int)call.k, call.alpha, reference.a, (int)call.k, call.b, (int)call.ldb,
                 call.beta, sampled[side], (int)call.n);
        return true;
    }
    const struct xg_choice choice = side == MMA ? (struct xg_choice){0} : choice_of(side);
    if (side == MMA ? !split_mma.dev || call.k < MMA_DEPTH_MIN : !choice.row)
        return false;
    poison_c((size_t)(call.m * call.ldc));
    for (int r = 0; c0 && r < REFERENCE_ROWS; r++)
        copy_up(dev_c.ptr + (uint64_t)(reference.row[r] * call.ldc) * sizeof(float),
                c0 + r * call.n, 1, call.n, call.n);
    struct xg_gemm_args args = args_of();
    if (side == MMA)
        launch_mma();
    else
        must(launch(&choice, &args, streams[0]), choice.row->name);
    copy_sampled(sampled[side]);
    return true;
}

/* --- The table ----------------------------------------------------------------------------- */

static const char *trans_name(void)
{
    static const char *const names[] = {"nn", "nt", "tn", "tt"};
    return names[2 * call.transa + call.transb];
}

static void say_head(void)
{
    printf("\n%-20s %6s %2s", "", "", "");
    for (int side = 0; side < SIDES; side++)
        printf(" | %-26s", side_names[side]);
    printf("\n%-20s %6s %2s", "operands", "k", "");
    for (int side = 0; side < SIDES; side++)
        printf(" | %8s %8s %8s", "max", "rms", "mean");
    printf(" | rows\n");
}

static void say_scores(const char *name, const struct score *scores, const bool *there)
{
    printf("%-20s %6ld %2s", name, (long)call.k, trans_name());
    for (int side = 0; side < SIDES; side++)
        if (there[side])
            printf(" | %8.4g %8.4g %8.1e", scores[side].max, scores[side].rms, scores[side].mean);
        else
            printf(" | %8s %8s %8s", "-", "-", "-");
    printf(" | %s, %s\n", choice_of(STRICT).row->name, choice_of(ACCURATE).row->name);
}

/* One line: all sides on the operands that lie ready, judged by the rule. */
static void accuracy(const char *name, enum distribution_rule rule, const float *c0)
{
    struct score scores[SIDES] = {{0}};
    bool there[SIDES];
    for (int side = 0; side < SIDES; side++) {
        there[side] = compute(side, c0);
        if (there[side])
            scores[side] = reference_score(&reference, sampled[side], call.alpha, call.beta, c0);
    }
    say_scores(name, scores, there);
    bool own_row = choice_of(ACCURATE).row != choice_of(STRICT).row;
    own_rows += own_row;
    XT_CHECK(there[STRICT] && there[ACCURATE], "no row for strict or accurate");
    for (int side = STRICT; side < SIDES; side++) {
        if (!there[side])
            continue;
        const struct score *ours = &scores[side], *cublas = &scores[CUBLAS];
        if (rule == RULE_EXACT)
            XT_CHECK_LE(ours->max, 0.0, "%s, k %ld, %s: not exact, off by %.3g", name, (long)call.k,
                        side_names[side], ours->max);
        else if (there[CUBLAS] && !(side == MMA && strstr(dev->name, "Fake"))) /* it sums doubles */
            XT_CHECK(score_within(ours, cublas, WORSE[own_row || side == MMA ? side : STRICT]),
                     "%s, k %ld, %s: max %.4g, rms %.4g; cuBLAS %.4g, %.4g", name, (long)call.k,
                     side_names[side], ours->max, ours->rms, cublas->max, cublas->rms);
        if (call.k == 1 && rule == RULE_CUBLAS && !c0) {
            long unrounded = (long)reference_unrounded(&reference, sampled[side]);
            XT_CHECK(unrounded == 0, "%s, %s: %ld products of k = 1 are not the rounded ones", name,
                     side_names[side], unrounded);
        }
    }
}

/* Every distribution of the rule. */
static void test_distributions(enum distribution_rule rule, int64_t k)
{
    static int trans;
    for (int d = 0; d < distribution_count; d++) {
        if (distribution_table[d].rule != rule)
            continue;
        draw_with_reference(&distribution_table[d], k, trans++ % 4);
        accuracy(distribution_table[d].name, rule, NULL);
        reference_destroy(&reference);
    }
}

/* alpha and beta: three more roundings, for all sides alike. */
static void test_scalars(int64_t k)
{
    static const struct {
        const char *name;
        float alpha, beta;
    } cases[] = {{"alpha 1, beta 1", 1.0f, 1.0f},
                 {"alpha 0.3, beta 0", 0.3f, 0.0f},
                 {"alpha -1.3, beta 0.7", -1.3f, 0.7f}};
    uint64_t state = options.seed;
    float *c0 = calloc((size_t)(REFERENCE_ROWS * options.side), sizeof *c0);
    if (!c0)
        die("out of memory");
    for (int64_t e = 0; e < REFERENCE_ROWS * options.side; e++)
        c0[e] = xt_random(&state) * 10.0f;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        draw_with_reference(&distribution_table[0], k, (int)c % 4);
        call.alpha = cases[c].alpha;
        call.beta = cases[c].beta;
        accuracy(cases[c].name, RULE_CUBLAS, cases[c].beta == 0.0f ? NULL : c0);
        reference_destroy(&reference);
    }
    free(c0);
}

/* --- Special values, scaling ---------------------------------------------------------------- */

static void test_special(int64_t k)
{
    int trans = 0;
    printf("\nSpecial values: elements of the wrong kind, of %ld\n",
           (long)(REFERENCE_ROWS * options.side));
    for (int d = 0; d < distribution_count; d++) {
        const struct distribution *distribution = &distribution_table[d];
        if (distribution->rule != RULE_SPECIAL)
            continue;
        draw_with_reference(distribution, k, trans++ % 4);
        printf("%-20s %6ld %2s", distribution->name, (long)k, trans_name());
        for (int side = 0; side < SIDES; side++) {
            if (!compute(side, NULL))
                continue;
            long count = (long)reference_misplaced(&reference, sampled[side]);
            printf(" | %s %ld", side_names[side], count);
            XT_CHECK(side < STRICT || count == 0, "%s, %s: %ld elements of the wrong kind",
                     distribution->name, side_names[side], count);
        }
        printf("\n");
        reference_destroy(&reference);
    }
}

/* Row i of op(A) times 2^exponent_of(i, 'a'), column j of op(B) likewise. */
static int exponent_of(int64_t outer, char which)
{
    return (int)(outer * (which == 'a' ? 7 : 11) % 31) - 15;
}

static void scale_operand(float *matrix, char which, int64_t ld, bool outer_along_rows)
{
    for (int64_t i = 0; i < rows_of(which); i++)
        for (int64_t j = 0; j < cols_of(which); j++)
            matrix[i * ld + j] =
                ldexpf(matrix[i * ld + j], exponent_of(outer_along_rows ? j : i, which));
}

/* Scaling rows of op(A) and columns of op(B) by powers of two scales C and changes no bit else. */
static void test_scaling(int64_t k)
{
    int64_t n = options.side;
    float *before[SIDES] = {NULL};
    draw_with_reference(&distribution_table[0], k, 0);
    for (int side = STRICT; side < SIDES; side++) {
        before[side] = malloc((size_t)(REFERENCE_ROWS * n) * sizeof(float));
        if (!before[side])
            die("out of memory");
        if (compute(side, NULL))
            memcpy(before[side], sampled[side], (size_t)(REFERENCE_ROWS * n) * sizeof(float));
    }
    scale_operand(operand_a, 'a', call.lda, call.transa);
    scale_operand(operand_b, 'b', call.ldb, !call.transb);
    copy_up(dev_a.ptr, operand_a, rows_of('a'), call.lda, call.lda);
    copy_up(dev_b.ptr, operand_b, rows_of('b'), call.ldb, call.ldb);
    for (int side = STRICT; side < SIDES; side++) {
        long changed = 0;
        const bool there = compute(side, NULL);
        for (int64_t e = 0; there && e < REFERENCE_ROWS * n; e++) {
            int exponent = exponent_of(reference.row[e / n], 'a') + exponent_of(e % n, 'b');
            changed += !(sampled[side][e] == ldexpf(before[side][e], exponent));
        }
        if (there)
            printf("%s: %ld elements changed by a scaling with powers of two\n", side_names[side],
                   changed);
        XT_CHECK(changed == 0, "%s: a scaling by powers of two changes %ld elements",
                 side_names[side], changed);
        free(before[side]);
    }
    reference_destroy(&reference);
}

/* --- The same bits ------------------------------------------------------------------------- */

/* C after one launch on a poisoned C, tight; false where the row declines the leading dimensions.
 */
static bool run_whole(const struct xg_choice *choice, const struct xg_gemm_args *args,
                      CUstream stream, float *to)
{
    poison_c((size_t)(args->m * args->ldc));
    if (launch(choice, args, stream) != XG_OK)
        return false;
    CUDA_MEMCPY2D copy = {.WidthInBytes = (size_t)args->n * sizeof(float),
                          .Height = (size_t)args->m,
                          .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .srcDevice = args->c,
                          .dstHost = to,
                          .srcPitch = (size_t)args->ldc * sizeof(float),
                          .dstPitch = (size_t)args->n * sizeof(float)};
    must(XG_DRV(&dev->drv, cuMemcpy2DAsync, &copy, stream), "copy down");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), choice->row->name);
    return true;
}

static void test_bits_of(enum side side, int trans, float *first, float *again)
{
    /* What comes to lda, ldb and ldc; a row may decline what is no multiple of 4. */
    static const int64_t pads[][3] = {
        {4, 8, PAD_MAX}, {PAD_MAX, 4, 12}, {0, 0, 4}, {1, 3, 2}, {5, 1, 7}};
    enum { PADS = sizeof pads / sizeof pads[0] };
    draw(&distribution_table[0], xg_min_i64(K_SPECIAL, options.k_max), trans, options.seed);
    const struct xg_choice choice = choice_of(side);
    size_t bytes = (size_t)(call.m * call.n) * sizeof(float);
    int other_runs = 0, other_lds = 0, declined = 0;
    struct xg_gemm_args args = args_of();
    run_whole(&choice, &args, streams[0], first);
    for (int run = 1; run < RUNS; run++) {
        run_whole(&choice, &args, streams[run % 2], again);
        other_runs += memcmp(first, again, bytes) != 0;
    }
    for (int p = 0; p < PADS; p++) {
        args.lda = call.lda + pads[p][0];
        args.ldb = call.ldb + pads[p][1];
        args.ldc = call.ldc + pads[p][2];
        copy_up(dev_a.ptr, operand_a, rows_of('a'), call.lda, args.lda);
        copy_up(dev_b.ptr, operand_b, rows_of('b'), call.ldb, args.ldb);
        if (run_whole(&choice, &args, streams[0], again))
            other_lds += memcmp(first, again, bytes) != 0;
        else
            declined++;
    }
    printf("%-9s %s: %s, other bits in %d of %d runs on two streams, under %d of %d leading "
           "dimensions\n",
           side_names[side], trans_name(), choice.row->name, other_runs, RUNS - 1, other_lds,
           PADS - declined);
    XT_CHECK(other_runs == 0 && other_lds == 0 && declined < PADS, "%s: not the same bits",
             side_names[side]);
}

static void test_bits(void)
{
    size_t elems = (size_t)(options.side * options.side);
    float *first = malloc(elems * sizeof *first), *again = malloc(elems * sizeof *again);
    if (!first || !again)
        die("out of memory");
    printf("\n");
    for (int side = STRICT; side <= ACCURATE; side++)
        for (int trans = 0; trans < 4; trans += 3)
            test_bits_of(side, trans, first, again);
    free(first);
    free(again);
}

/* --- The program --------------------------------------------------------------------------- */

/* Of A or of B at the largest k, in either storage, with the widest leading dimension. */
static size_t operand_bytes(void)
{
    int64_t rows = xg_max_i64(options.side, options.k_max);
    int64_t cols = xg_min_i64(options.side, options.k_max) + PAD_MAX + 4;
    return (size_t)(rows * cols) * sizeof(float);
}

static void open_all(void)
{
    must(xg_dev_enter(dev), "context");
    for (int i = 0; i < 2; i++)
        must(XG_DRV(&dev->drv, cuStreamCreate, &streams[i], CU_STREAM_NON_BLOCKING), "stream");
    dev->facts.cublas = xg_cublas_present(dev);
    dev->facts.scratch_bytes = 64 << 20; /* xg_launch_reserve sees to it */
    must(xg_team_create(xg_cores_count(), &team), "threads");
    const struct xg_kernel *row =
        xg_select_emulated(&dev->facts, XG_KERNEL_PIECES, side_names[MMA]);
    if (row && xg_split_open(dev, row, &split_mma) != XG_OK)
        printf("%s does not run here\n", row->name);
    void *library = dlopen(XG_DEFAULT_CPU_BLAS, RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&cpu_blas = dlsym(library, "cblas_sgemm");
    /* Operands, and what accurate may make of them. */
    size_t free_bytes = xg_mem_dev_available(dev, &dev_a);
    while (options.k_max > 4096 && 6 * operand_bytes() > free_bytes)
        options.k_max /= 2;
    size_t bytes = operand_bytes();
    operand_a = malloc(bytes);
    operand_b = malloc(bytes);
    for (int side = 0; side < SIDES; side++)
        sampled[side] = malloc((size_t)(REFERENCE_ROWS * options.side) * sizeof(float));
    if (!operand_a || !operand_b || !sampled[SIDES - 1])
        die("out of memory");
    must(xg_mem_dev_reserve(dev, &dev_a, bytes), "device memory");
    must(xg_mem_dev_reserve(dev, &dev_b, bytes), "device memory");
    must(xg_mem_dev_reserve(dev, &dev_c,
                            (size_t)(options.side * (options.side + PAD_MAX)) * sizeof(float)),
         "device memory");
}

static void close_all(void)
{
    xg_mem_dev_release(dev, &dev_a);
    xg_mem_dev_release(dev, &dev_b);
    xg_mem_dev_release(dev, &dev_c);
    for (int side = 0; side < SIDES; side++)
        free(sampled[side]);
    free(operand_a);
    free(operand_b);
    xg_team_destroy(team);
    for (int i = 0; i < 2; i++)
        must(XG_DRV(&dev->drv, cuStreamDestroy, streams[i]), "stream");
    xg_dev_leave(dev);
    xg_backend_close(dev);
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--side"))
            options.side = strtoll(value, NULL, 10);
        else if (!strcmp(argv[i], "--k-max"))
            options.k_max = strtoll(value, NULL, 10);
        else if (!strcmp(argv[i], "--seed"))
            options.seed = strtoull(value, NULL, 0);
        else
            options.side = 0;
    }
    if (options.side < SIDE_MIN || options.k_max < 16)
        die("usage: accuracy [--side N] [--k-max K] [--seed N]; N from 32, K "
            "from 16");
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    if (xg_backend_open(xg_conf_get(), &dev) != XG_OK)
        return xt_skip("no CUDA device that the kernels serve");
    if (gpu_is_fake(dev))
        return xt_skip("the fake driver computes with its own loop");
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_all();
    printf("Accuracy on %s (sm_%d), results %ld x %ld, k to %ld, seed %lu, %ld samples a line.\n",
           dev->name, dev->facts.sm, (long)options.side, (long)options.side, (long)options.k_max,
           (unsigned long)options.seed, (long)(REFERENCE_ROWS * options.side));
    printf("Error in units of 2^-24 of |A||B|; max and rms at most %.2f (strict), %.2f (accurate, "
           "where it has a row of its own) times cuBLAS's.\n",
           WORSE[STRICT], WORSE[ACCURATE]);
    int64_t k = xg_min_i64(K_SPECIAL, options.k_max);
    say_head();
    for (int depth = 0; depth < DEPTHS && depths[depth] <= options.k_max; depth++)
        test_distributions(RULE_CUBLAS, depths[depth]);
    test_scalars(k);
    printf("\nExact: every element is the exact sum.\n");
    test_distributions(RULE_EXACT, k);
    test_special(k);
    test_scaling(k);
    test_bits();
    const struct accuracy_doubles doubles = {dev,          streams[0],    team,
                                             options.side, options.k_max, options.seed};
    accuracy_doubles(&doubles);
    printf("Accurate has a row of its own on %d lines.\n", own_rows);
    close_all();
    return xt_done();
}
