/* SPDX-License-Identifier: MIT */
/* GEQRF and GELS by our panels: a factorization in every shape; failures leave the operands;
 * without panels cuSOLVER factorizes. */
#include <string.h>

#include "lane.h"
#include "src/compute/cublas.h"
#include "src/pipeline/routine.h"
#include "tests/support/reflect.h"

/* Without one of these there are no panels: a libcublas that has been loaded, leave to depend on
 * that, a device with clusters, code for it, a handle of cuBLAS. */
enum lack { NOTHING, LIBRARY, FREEDOM, HOPPER, CODE, HANDLE, LACKS };

static struct fakecuda fake;
static struct xg_lane *lane;
static enum lack lacking;

struct matrix {
    struct xg_routine routine;
    double *before;
    void *tau;
};

/* sparse: many reflectors do nothing. */
static struct matrix matrix_of(enum xg_type type, int64_t m, int64_t n, bool sparse)
{
    struct matrix x = {.routine = {.name = XG_ROUTINE_GEQRF, .type = type, .m = m, .n = n}};
    const int64_t steps = m < n ? m : n, ld = m + 1;
    void *a = calloc((size_t)(ld * n), xg_type_bytes(type));
    x.before = calloc((size_t)(m * n), sizeof *x.before);
    x.tau = calloc((size_t)steps, xg_type_bytes(type));
    if (!a || !x.before || !x.tau)
        exit(99);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            xt_set(type, a, i + j * ld,
                   sparse && (i > j || j % 3 == 1) ? 0 : rand() / (double)RAND_MAX - 0.5);
            x.before[i + j * m] = xt_get(type, a, i + j * ld);
        }
    x.routine.operand[XG_SLOT_A] = (struct xg_matrix){a, m, n, ld};
    x.routine.operand[XG_SLOT_TAU] = (struct xg_matrix){x.tau, steps, 1, steps};
    return x;
}

static void matrix_free(struct matrix *x)
{
    free(x->routine.operand[XG_SLOT_A].at);
    free(x->before);
    free(x->tau);
}

static void check_before(const struct matrix *x, const char *what)
{
    const struct xg_matrix *a = &x->routine.operand[XG_SLOT_A];
    for (int64_t j = 0; j < a->columns; j++)
        for (int64_t i = 0; i < a->rows; i++)
            if (xt_get(x->routine.type, a->at, i + j * a->ld) != x->before[i + j * a->rows]) {
                XT_CHECK(false, "%s: (%lld,%lld) has changed", what, (long long)i, (long long)j);
                return;
            }
}

static void check_factors(const struct matrix *x)
{
    const struct xg_matrix *a = &x->routine.operand[XG_SLOT_A];
    const enum xg_type type = x->routine.type;
    const int64_t m = a->rows, n = a->columns, steps = m < n ? m : n;
    const double eps = type == XG_TYPE_D ? DBL_EPSILON : (double)FLT_EPSILON;
    const struct xt_factors factors = {type, m, n, a->ld, a->at, x->tau, x->before};
    long double *column = malloc((size_t)m * sizeof *column);
    double worst = 0;
    if (!column)
        exit(99);
    for (int64_t k = 0; k < steps; k++)
        XT_CHECK_LE(xt_reflector_error(&factors, k), 1e2 * eps, "%lldx%lld: reflector %lld",
                    (long long)m, (long long)n, (long long)k);
    for (int64_t j = 0; j < n; j++)
        worst = fmax(worst, xt_column_error(&factors, j, column));
    XT_CHECK_LE(worst, (double)(steps + 10) * eps, "%lldx%lld", (long long)m, (long long)n);
    free(column);
}

/* by_panels: whether cuSOLVER is not asked. */
static void check(enum xg_type type, int64_t m, int64_t n, bool sparse, bool by_panels)
{
    struct matrix x = matrix_of(type, m, n, sparse);
    struct xg_result result;
    fake.reset(1);
    if (lacking == HANDLE)
        fake.fail("cublasCreate", 1, FX_CODE_NOMEM, FAKECUDA_ALWAYS);
    enum xg_status status = xg_routine_run_verified(lane, &x.routine, 1, &result);
    XT_CHECK(status == XG_OK && result.verdict == XG_VERDICT_RIGHT, "%lldx%lld: %s", (long long)m,
             (long long)n, xg_status_name(status));
    XT_CHECK(!strcmp(result.kernel, by_panels ? "qr_panel" : "cuSOLVER"), "%s", result.kernel);
    XT_CHECK((fake.calls("cusolverDnXgeqrf") == 0) == by_panels, "%lldx%lld by panels",
             (long long)m, (long long)n);
    if (status == XG_OK)
        check_factors(&x);
    matrix_free(&x);
}

static void test_shapes(void)
{
    static const int64_t shapes[][2] = {{1, 1},     {3, 5},     {31, 33},   {33, 31},   {64, 64},
                                        {100, 128}, {128, 128}, {129, 129}, {130, 400}, {400, 130},
                                        {257, 257}, {300, 290}, {2100, 40}, {40, 700}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int sparse = 0; sparse <= 1; sparse++) {
            check(XG_TYPE_D, shapes[i][0], shapes[i][1], sparse, true);
            check(XG_TYPE_S, shapes[i][0], shapes[i][1], sparse, true);
        }
}

/* The device has 16 multiprocessors: a panel has at most 16 blocks of 512 rows. The lane is new, so
 * that its memory is as large as these matrices need. */
static void test_tall(void)
{
    check(XG_TYPE_D, 4097, 3, false, true);
    check(XG_TYPE_D, 8192, 2, false, true);
    check(XG_TYPE_D, 8193, 2, false, false);
}

/* cuSOLVER's next step takes these reflectors. */
static void test_least_squares(enum xg_type type)
{
    enum { M = 260, N = 140 };
    struct matrix x = matrix_of(type, M, N, false);
    double b[M], rest[M];
    struct xg_result result;
    for (int64_t i = 0; i < M; i++)
        xt_set(type, b, i, cos((double)i));
    x.routine.name = XG_ROUTINE_GELS;
    x.routine.k = 1;
    x.routine.operand[XG_SLOT_B] = (struct xg_matrix){b, M, 1, M};
    fake.reset(1);
    XT_CHECK(xg_routine_run(lane, &x.routine, &result) == XG_OK);
    XT_CHECK(fake.calls("cusolverDnXgeqrf") == 0);
    for (int64_t i = 0; i < M; i++) {
        rest[i] = cos((double)i);
        for (int64_t j = 0; j < N; j++)
            rest[i] -= x.before[i + j * M] * xt_get(type, b, j);
    }
    for (int64_t j = 0; j < N; j++) {
        double sum = 0; /* of a_j and what the solution leaves: they are orthogonal */
        for (int64_t i = 0; i < M; i++)
            sum += x.before[i + j * M] * rest[i];
        XT_CHECK_LE(fabs(sum), 1e4 * (type == XG_TYPE_D ? DBL_EPSILON : (double)FLT_EPSILON));
    }
    matrix_free(&x);
}

static void test_faults(const char *function)
{
    enum { CALLS_MOST = 100 };
    struct matrix x = matrix_of(XG_TYPE_D, 150, 150, false);
    enum xg_status status = XG_ERR_DRIVER;
    for (long nth = 1; status != XG_OK && nth < CALLS_MOST; nth++) {
        struct xg_result result;
        fake.reset(1);
        fake.fail(function, nth, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
        status = xg_routine_run(lane, &x.routine, &result);
        XT_CHECK((status == XG_OK) == (fake.faults(function) == 0 && nth > 2), "%s %ld", function,
                 nth);
        if (status != XG_OK)
            check_before(&x, function);
    }
    XT_CHECK(status == XG_OK, "%s: never right", function);
    matrix_free(&x);
}

static void test_panels(void)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    lane = fx_lane_open(&conf, 2, &dev);
    test_tall();
    test_shapes();
    test_least_squares(XG_TYPE_S);
    test_least_squares(XG_TYPE_D);
    test_faults("cuLaunchKernel");
    test_faults("cublasDgemm");
    fx_lane_close(lane, dev);
}

static CUresult CUDAAPI old_code(int *out, CUfunction_attribute which, CUfunction function)
{
    (void)which, (void)function;
    *out = 80;
    return CUDA_SUCCESS;
}

static void test_without(enum lack lack)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    conf.reproducible = lack == FREEDOM;
    lane = fx_lane_open(&conf, 2, &dev);
    if (lack == HOPPER)
        dev->facts.sm = 86;
    if (lack == CODE)
        dev->drv.cuFuncGetAttribute = old_code;
    lacking = lack;
    check(XG_TYPE_D, 70, 70, false, false);
    lacking = NOTHING;
    fx_lane_close(lane, dev);
}

int main(void)
{
    setenv("FAKECUDA_SM_COUNT", "16", 1);
    fake = fx_fake();
    test_without(LIBRARY);
    xg_cublas_load();
    for (int lack = FREEDOM; lack < LACKS; lack++)
        test_without((enum lack)lack);
    test_panels();
    return xt_done();
}
