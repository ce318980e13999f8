/* SPDX-License-Identifier: MIT */
/*
 * The accuracy of strict and accurate arithmetic on a device, and of the emulated kernels that are
 * chosen by name, beside cuBLAS and the CPU's BLAS; and of doubles by residues beside the native
 * kernel. Contract 1.1, 2.1, 6.2 (doc/contract.md).
 */

/*
 * usage: accuracy [--side N] [--k-min K] [--k-max K] [--seed N]
 *
 * Products of N x N (2048) results and k from 1 to K (65536), of operands from a table of
 * distributions (distribution.h), the transposes in turn. Floats are computed by the row that
 * selection takes under XGEMM_MATH=strict and =accurate, by cuBLAS in pedantic mode and by the CPU
 * BLAS that the build found; doubles by cuBLAS, by the native kernel, which is one sum in order of
 * k, and by residues. Results are poisoned before, and compared with sums in higher precision on 32
 * rows of C: 65536 elements. The errors are componentwise, |C - exact| / (|A||B|), in units of
 * 2^-24 or 2^-53; largest, root of the mean square, and mean with its sign.
 *
 * It fails if the largest or the rms error of a side is more than `worse` times that of cuBLAS (for
 * doubles, that of the native kernel if it runs); if a product of k = 1 is not the correctly
 * rounded one; if a sum that is exact in the type, such as a product with a permutation, comes out
 * inexact, or a scaling by powers of two changes a bit; if NaN, infinity, overflow, subnormal
 * numbers or zeros are not what the higher precision says; if a second run, another stream or other
 * leading dimensions give other bits; and if both kernels of residues do.
 */
#include <dlfcn.h>
#include <math.h>

#include "accuracy_line.h"
#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "src/compute/residue.h"
#include "src/compute/split.h"
#include "src/decide/route.h"
#include "src/device/mem.h"
#include "src/host/cores.h"
#include "tests/support/on_device.h"
#include "util.h"

enum { SIDE_MIN = REFERENCE_ROWS, RUNS = 100, K_SPECIAL = 1024, PAD_MAX = 64 };
enum { MMA_DEPTH_MIN = 128 }; /* selection's, for pieces */

/* The depths of doubles begin with the smallest for which selection considers residues. */
static const int64_t float_depths[] = {1, 2, 3, 15, 16, 17, 31, 64, 127, 128, 1000, 4096, 65536};
static const int64_t double_depths[] = {64, 127, 1000, 4096};
enum {
    FLOAT_DEPTHS = sizeof float_depths / sizeof float_depths[0],
    DOUBLE_DEPTHS = sizeof double_depths / sizeof double_depths[0]
};

typedef void cblas_sgemm_function(int order, int transa, int transb, int m, int n, int k,
                                  float alpha, const float *a, int lda, const float *b, int ldb,
                                  float beta, float *c, int ldc);

static struct {
    int64_t side, k_min, k_max;
    uint64_t seed;
} options = {.side = 2048, .k_max = 65536, .seed = 1};

static struct xg_dev *dev;
static CUstream streams[2];
static struct xg_team *team;
static cblas_sgemm_function *cpu_blas; /* NULL: not found */
static struct xg_split split;          /* fp16x3_mma; its device is NULL if the row does not run */
static struct xg_residue residues[SIDES_MAX]; /* by side, likewise */

static int own_rows; /* lines on which accurate is not strict's row */

/* The product at work: its type's sides, operands here and on the device, exact sums, sampled rows
 * of results. */
static const struct side *sides;
static int side_count;
static struct xg_problem call;
static struct reference reference;
static void *operand_a, *operand_b;
static void *sampled[SIDES_MAX]; /* (REFERENCE_ROWS,side) */
static struct xg_mem_dev dev_a, dev_b, dev_c;

static void die(const char *what)
{
    fprintf(stderr, "accuracy: %s\n", what);
    exit(XT_HARD);
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        die("out of memory");
    return memory;
}

static void choose_type(enum xg_type type)
{
    call.type = type;
    sides = accuracy_sides(type, &side_count);
}

/* Bytes of so many numbers. */
static size_t bytes_of(int64_t numbers)
{
    return (size_t)numbers * xg_type_bytes(call.type);
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

/* Copies rows of `cols` numbers to the device, or from it; strides are leading dimensions. */
static void copy(bool up, CUdeviceptr there, int64_t there_ld, void *here, int64_t here_ld,
                 int64_t rows, int64_t cols, CUstream stream)
{
    CUDA_MEMCPY2D copy = {.WidthInBytes = bytes_of(cols),
                          .Height = (size_t)rows,
                          .srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                          .dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
                          .srcHost = here,
                          .dstHost = here,
                          .srcDevice = there,
                          .dstDevice = there,
                          .srcPitch = bytes_of(up ? here_ld : there_ld),
                          .dstPitch = bytes_of(up ? there_ld : here_ld)};
    must(XG_DRV(&dev->drv, cuMemcpy2DAsync, &copy, stream), "copy");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), up ? "copy up" : "kernel or copy down");
}

static void operands_up(int64_t lda, int64_t ldb)
{
    copy(true, dev_a.ptr, lda, operand_a, call.lda, rows_of('a'), call.lda, streams[0]);
    copy(true, dev_b.ptr, ldb, operand_b, call.ldb, rows_of('b'), call.ldb, streams[0]);
}

/* Draws the operands of one product and puts them on the device. */
static void draw(const struct distribution *distribution, int64_t k, int trans, uint64_t seed)
{
    call = (struct xg_problem){.type = call.type,
                               .transa = trans >> 1,
                               .transb = trans & 1,
                               .m = options.side,
                               .n = options.side,
                               .k = k,
                               .alpha = 1.0,
                               .a = operand_a,
                               .b = operand_b,
                               .ldc = xg_round_up(options.side, 4)};
    call.lda = xg_round_up(cols_of('a'), 4);
    call.ldb = xg_round_up(cols_of('b'), 4);
    distribution_fill(distribution, team, seed, &call);
    operands_up(call.lda, call.ldb);
}

static void draw_with_reference(const struct distribution *distribution, int64_t k, int trans)
{
    draw(distribution, k, trans, options.seed + (uint64_t)(distribution - distribution_table));
    if (!reference_create(&reference, &call, team))
        die("out of memory");
}

/* --- The sides ----------------------------------------------------------------------------- */

/* Its row is NULL if the side is not there. */
static struct xg_choice choice_of(int side)
{
    static const enum xg_math maths[] = {[STRICT] = XG_MATH_STRICT, [ACCURATE] = XG_MATH_ACCURATE};
    const struct xg_shape shape = {.m = call.m, .n = call.n, .k = call.k, .type = call.type};
    const enum how how = sides[side].how;
    if (how == STRICT || how == ACCURATE)
        return xg_route_resident(&dev->facts, maths[how], NULL, &shape);
    if (how != EMULATED)
        return xg_select_row(xg_select_find(sides[side].row), &dev->facts, &shape);
    const bool pieces = call.type == XG_TYPE_S;
    if (pieces ? !split.dev || call.k < MMA_DEPTH_MIN : !residues[side].dev)
        return (struct xg_choice){0};
    const unsigned flag = pieces ? XG_KERNEL_PIECES : XG_KERNEL_RESIDUES;
    return (struct xg_choice){.row = xg_select_emulated(&dev->facts, flag, sides[side].row),
                              .slices = 1};
}

static struct xg_gemm_args args_of(void)
{
    return (struct xg_gemm_args){.type = call.type,
                                 .a = dev_a.ptr,
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
static enum xg_status launch(int side, const struct xg_choice *choice,
                             const struct xg_gemm_args *args, CUstream stream)
{
    static struct xg_mem_dev memory; /* products follow each other */
    struct xg_split *const engine_split = dev->split;
    struct xg_residue *const engine_residue = dev->residue;
    if (sides[side].how == EMULATED) {
        dev->split = &split;
        dev->residue = &residues[side];
    }
    enum xg_status status = on_device_gemm(dev, choice, args, &memory, stream);
    dev->split = engine_split;
    dev->residue = engine_residue;
    if (status != XG_DECLINED)
        must(status, choice->row->name);
    return status;
}

/* Fills C with NaN of either type. */
static void poison_c(size_t elems)
{
    must(XG_DRV(&dev->drv, cuMemsetD32Async, dev_c.ptr, 0x7ff80000,
                bytes_of((int64_t)elems) / sizeof(uint32_t), streams[0]),
         "poison");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, streams[0]), "poison");
}

/* Copies the sampled rows of C to the device, or from it. */
static void copy_sampled(bool up, void *here)
{
    for (int r = 0; r < REFERENCE_ROWS; r++)
        copy(up, dev_c.ptr + bytes_of(reference.row[r] * call.ldc), call.ldc,
             (char *)here + bytes_of(r * call.n), call.n, 1, call.n, streams[0]);
}

static void compute_on_cpu(float *to, float *c0)
{
    enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
    for (int64_t e = 0; e < REFERENCE_ROWS * call.n; e++)
        to[e] = c0 ? c0[e] : NAN;
    cpu_blas(ROW_MAJOR, NO_TRANS, call.transb ? TRANS : NO_TRANS, REFERENCE_ROWS, (int)call.n,
             (int)call.k, (float)call.alpha, reference.a, (int)call.k, call.b, (int)call.ldb,
             (float)call.beta, to, (int)call.n);
}

/* Fills sampled[side]; false if the side is not there. c0: the sampled rows of C before, when
 * call.beta is not 0. */
static bool compute(int side, float *c0)
{
    if (sides[side].how == CPU_BLAS) {
        if (cpu_blas)
            compute_on_cpu(sampled[side], c0);
        return cpu_blas;
    }
    const struct xg_choice choice = choice_of(side);
    if (!choice.row)
        return false;
    poison_c((size_t)(call.m * call.ldc));
    if (c0)
        copy_sampled(true, c0);
    struct xg_gemm_args args = args_of();
    must(launch(side, &choice, &args, streams[0]), choice.row->name);
    copy_sampled(false, sampled[side]);
    return true;
}

/* --- The table ----------------------------------------------------------------------------- */

/* One line: all sides on the operands that lie ready, judged by the rule. */
static void accuracy(const char *name, enum distribution_rule rule, float *c0)
{
    struct line line = {.name = name,
                        .rule = rule,
                        .call = &call,
                        .reference = &reference,
                        .sampled = sampled,
                        .c0 = c0};
    for (int side = 0; side < side_count; side++)
        line.there[side] = compute(side, c0);
    if (call.type == XG_TYPE_S) {
        line.strict = choice_of(STRICT_SIDE).row;
        line.accurate = choice_of(ACCURATE_SIDE).row;
        own_rows += rule != RULE_SPECIAL && line.accurate != line.strict;
        XT_CHECK(line.strict && line.accurate, "no row for strict or accurate");
    }
    accuracy_line_score(&line);
    accuracy_line_print(&line);
    accuracy_line_judge(&line, strstr(dev->name, "Fake"));
    reference_destroy(&reference);
}

/* Every distribution of the rule. */
static void test_distributions(enum distribution_rule rule, int64_t k)
{
    static int trans[XG_TYPE_COUNT];
    const int count = call.type == XG_TYPE_D ? distribution_doubles_count : distribution_count;
    for (int d = 0; d < count; d++) {
        if (distribution_table[d].rule != rule)
            continue;
        const int turn = trans[call.type]++ % 4;
        if (k < options.k_min)
            continue;
        draw_with_reference(&distribution_table[d], k, turn);
        accuracy(distribution_table[d].name, rule, NULL);
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
    float *c0 = allocate(bytes_of(REFERENCE_ROWS * options.side));
    for (int64_t e = 0; e < REFERENCE_ROWS * options.side; e++)
        c0[e] = xt_random(&state) * 10.0f;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        draw_with_reference(&distribution_table[0], k, (int)c % 4);
        call.alpha = cases[c].alpha;
        call.beta = cases[c].beta;
        accuracy(cases[c].name, RULE_CUBLAS, cases[c].beta == 0.0f ? NULL : c0);
    }
    free(c0);
}

/* --- Scaling -------------------------------------------------------------------------------- */

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

/* Scaling rows of op(A) and columns of op(B) by powers of two scales C and changes no other bit. */
static void test_scaling(int64_t k)
{
    const size_t bytes = bytes_of(REFERENCE_ROWS * options.side);
    float *before[SIDES_MAX] = {NULL};
    draw_with_reference(&distribution_table[0], k, 0);
    for (int side = STRICT_SIDE; side < side_count; side++) {
        before[side] = allocate(bytes);
        if (compute(side, NULL))
            memcpy(before[side], sampled[side], bytes);
    }
    scale_operand(operand_a, 'a', call.lda, call.transa);
    scale_operand(operand_b, 'b', call.ldb, !call.transb);
    operands_up(call.lda, call.ldb);
    for (int side = STRICT_SIDE; side < side_count; side++) {
        long changed = 0;
        const bool there = compute(side, NULL);
        const float *after = sampled[side];
        for (int64_t e = 0; there && e < REFERENCE_ROWS * call.n; e++) {
            int exponent =
                exponent_of(reference.row[e / call.n], 'a') + exponent_of(e % call.n, 'b');
            changed += !(after[e] == ldexpf(before[side][e], exponent));
        }
        if (there)
            printf("%s: %ld elements changed by a scaling with powers of two\n", sides[side].name,
                   changed);
        XT_CHECK(changed == 0, "%s: a scaling by powers of two changes %ld elements",
                 sides[side].name, changed);
        free(before[side]);
    }
    reference_destroy(&reference);
}

/* --- The same bits ------------------------------------------------------------------------- */

/* C after one launch on a poisoned C, without gaps; false if the row declines the leading
 * dimensions. */
static bool run_whole(int side, const struct xg_gemm_args *args, CUstream stream, float *to)
{
    const struct xg_choice choice = choice_of(side);
    poison_c((size_t)(args->m * args->ldc));
    if (launch(side, &choice, args, stream) != XG_OK)
        return false;
    copy(false, args->c, args->ldc, to, args->n, args->m, args->n, stream);
    return true;
}

static void test_bits_of(int side, int trans, float *first, float *again)
{
    /* Added to lda, ldb and ldc; a row may decline leading dimensions that are not multiples of 4.
     */
    static const int64_t pads[][3] = {
        {4, 8, PAD_MAX}, {PAD_MAX, 4, 12}, {0, 0, 4}, {1, 3, 2}, {5, 1, 7}};
    enum { PADS = sizeof pads / sizeof pads[0] };
    draw(&distribution_table[0], xg_min_i64(K_SPECIAL, options.k_max), trans, options.seed);
    size_t bytes = (size_t)(call.m * call.n) * sizeof(float);
    int other_runs = 0, other_lds = 0, declined = 0;
    struct xg_gemm_args args = args_of();
    run_whole(side, &args, streams[0], first);
    for (int run = 1; run < RUNS; run++) {
        run_whole(side, &args, streams[run % 2], again);
        other_runs += memcmp(first, again, bytes) != 0;
    }
    for (int p = 0; p < PADS; p++) {
        args.lda = call.lda + pads[p][0];
        args.ldb = call.ldb + pads[p][1];
        args.ldc = call.ldc + pads[p][2];
        operands_up(args.lda, args.ldb);
        if (run_whole(side, &args, streams[0], again))
            other_lds += memcmp(first, again, bytes) != 0;
        else
            declined++;
    }
    printf("%-9s %s: %s, other bits in %d of %d runs on two streams, under %d of %d leading "
           "dimensions\n",
           sides[side].name, accuracy_line_trans_name(&call), choice_of(side).row->name, other_runs,
           RUNS - 1, other_lds, PADS - declined);
    XT_CHECK(other_runs == 0 && other_lds == 0 && declined < PADS, "%s: not the same bits",
             sides[side].name);
}

static void test_bits(void)
{
    const size_t bytes = bytes_of(options.side * options.side);
    float *first = allocate(bytes), *again = allocate(bytes);
    printf("\n");
    for (int side = STRICT_SIDE; side <= ACCURATE_SIDE; side++)
        for (int trans = 0; trans < 4; trans += 3)
            test_bits_of(side, trans, first, again);
    free(first);
    free(again);
}

/* --- The program --------------------------------------------------------------------------- */

static int64_t depth_max(enum xg_type type)
{
    return type == XG_TYPE_D ? xg_min_i64(options.k_max, double_depths[DOUBLE_DEPTHS - 1])
                             : options.k_max;
}

/* Bytes of A or of B at the type's largest k, in either storage, with the widest leading
 * dimension. */
static size_t operand_bytes(enum xg_type type)
{
    const int64_t rows = xg_max_i64(options.side, depth_max(type));
    const int64_t cols = xg_min_i64(options.side, depth_max(type)) + PAD_MAX + 4;
    return (size_t)(rows * cols) * xg_type_bytes(type);
}

static void open_emulated(void)
{
    int count;
    const struct side *doubles = accuracy_sides(XG_TYPE_D, &count);
    const struct xg_kernel *row = xg_select_emulated(
        &dev->facts, XG_KERNEL_PIECES, accuracy_sides(XG_TYPE_S, &count)[MMA_SIDE].row);
    if (row && xg_split_open(dev, row, &split) != XG_OK)
        printf("%s does not run here\n", row->name);
    for (int side = OZAKI_SIDE; side <= OZAKI_MMA_SIDE; side++) {
        row = xg_select_emulated(&dev->facts, XG_KERNEL_RESIDUES, doubles[side].row);
        if (row && xg_residue_open(dev, row, &residues[side]) != XG_OK)
            printf("%s: not here\n", row->name);
    }
}

static void open_all(void)
{
    must(xg_dev_enter(dev), "context");
    for (int i = 0; i < 2; i++)
        must(XG_DRV(&dev->drv, cuStreamCreate, &streams[i], CU_STREAM_NON_BLOCKING), "stream");
    dev->facts.cublas = xg_cublas_present(dev);
    must(xg_team_create(xg_cores_count(), &team), "threads");
    open_emulated();
    void *library = dlopen(XG_DEFAULT_CPU_BLAS, RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&cpu_blas = dlsym(library, "cblas_sgemm");
    /* Operands, and what accurate may make of them. */
    size_t free_bytes = xg_mem_dev_available(dev, &dev_a);
    while (options.k_max > 4096 && 6 * operand_bytes(XG_TYPE_S) > free_bytes)
        options.k_max /= 2;
    size_t bytes = operand_bytes(XG_TYPE_S);
    if (operand_bytes(XG_TYPE_D) > bytes)
        bytes = operand_bytes(XG_TYPE_D);
    operand_a = allocate(bytes);
    operand_b = allocate(bytes);
    for (int side = 0; side < SIDES_MAX; side++)
        sampled[side] = allocate((size_t)(REFERENCE_ROWS * options.side) * sizeof(double));
    must(xg_mem_dev_reserve(dev, &dev_a, bytes), "device memory");
    must(xg_mem_dev_reserve(dev, &dev_b, bytes), "device memory");
    must(xg_mem_dev_reserve(dev, &dev_c,
                            (size_t)(options.side * (options.side + PAD_MAX + 4)) * sizeof(double)),
         "device memory");
}

static void close_all(void)
{
    xg_mem_dev_release(dev, &dev_a);
    xg_mem_dev_release(dev, &dev_b);
    xg_mem_dev_release(dev, &dev_c);
    for (int side = 0; side < SIDES_MAX; side++)
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
        else if (!strcmp(argv[i], "--k-min"))
            options.k_min = strtoll(value, NULL, 10);
        else if (!strcmp(argv[i], "--k-max"))
            options.k_max = strtoll(value, NULL, 10);
        else if (!strcmp(argv[i], "--seed"))
            options.seed = strtoull(value, NULL, 0);
        else
            options.side = 0;
    }
    if (options.side < SIDE_MIN || options.k_max < 16)
        die("usage: accuracy [--side N] [--k-min K] [--k-max K] [--seed N]; N >= 32, max >= 16");
}

static void test_floats(void)
{
    const int64_t k = xg_min_i64(K_SPECIAL, options.k_max);
    choose_type(XG_TYPE_S);
    printf("Error in units of 2^-24 of |A||B|; max and rms at most %.2f (strict), %.2f (accurate, "
           "where it has a row of its own) times cuBLAS's.\n\n",
           sides[STRICT_SIDE].worse_max, sides[ACCURATE_SIDE].worse_max);
    accuracy_line_print_head(call.type);
    for (int depth = 0; depth < FLOAT_DEPTHS && float_depths[depth] <= options.k_max; depth++)
        test_distributions(RULE_CUBLAS, float_depths[depth]);
    test_scalars(k);
    printf("\nExact: every element is the exact sum.\n");
    test_distributions(RULE_EXACT, k);
    printf("\nSpecial values: elements of the wrong kind, of %ld\n",
           (long)(REFERENCE_ROWS * options.side));
    test_distributions(RULE_SPECIAL, k);
    test_scaling(k);
    test_bits();
}

static void test_doubles(void)
{
    const int64_t k_max = depth_max(XG_TYPE_D), k = xg_min_i64(K_SPECIAL, k_max);
    if (k_max < double_depths[0])
        return;
    choose_type(XG_TYPE_D);
    printf(
        "\nDouble precision. Error in units of 2^-53 of |A||B|; by residues max at most %.2f and "
        "rms %.2f times those of %s.\n",
        sides[OZAKI_SIDE].worse_max, sides[OZAKI_SIDE].worse_rms, sides[NATIVE_SIDE].name);
    accuracy_line_print_head(call.type);
    for (int depth = 0; depth < DOUBLE_DEPTHS && double_depths[depth] <= k_max; depth++)
        test_distributions(RULE_CUBLAS, double_depths[depth]);
    test_distributions(RULE_EXACT, k);
    test_distributions(RULE_SPECIAL, k);
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
    test_floats();
    test_doubles();
    printf("Accurate has a row of its own on %d lines.\n", own_rows);
    close_all();
    return xt_done();
}
