/* SPDX-License-Identifier: MIT */
/* GETRF and GEQRF by our panels, and the routines that begin with them: factors and pivots are
 * LAPACK's, in every shape; singular matrices and failures leave the operands; without panels
 * cuSOLVER factorizes. Contract 1.3 (doc/contract.md). */
#include <string.h>

#include "kernels/lapack/panel_kabi.h"
#include "lane.h"
#include "src/compute/cublas.h"
#include "src/pipeline/factor.h"
#include "tests/support/factors.h"

/* Panels need all of these: a loaded libcublas, results that may depend on it, a device with
 * clusters that is not newer than Hopper, code for it, and a handle of cuBLAS. */
enum lack { NOTHING, LIBRARY, FREEDOM, HOPPER, NEWER, CODE, HANDLE, LACKS };

/* A matrix, and the pivots or tau that the routine writes beside it. */
struct matrix {
    struct xg_routine routine;
    double *before;
    void *beside;
};

static struct fakecuda fake;
static struct xg_lane *lane;
static enum lack lacking;

static double uniform(void)
{
    return rand() / (double)RAND_MAX - 0.5;
}

/* special: for LU small integers, so that many pivots are equal; for QR mostly zeros, so that many
 * reflectors do nothing. */
static double element(enum xg_routine_name name, int64_t i, int64_t j, bool special)
{
    if (name == XG_ROUTINE_GEQRF)
        return special && (i > j || j % 3 == 1) ? 0 : uniform();
    return special ? rand() % 3 - 1 : uniform();
}

static struct matrix matrix_of(enum xg_routine_name name, enum xg_type type, int64_t m, int64_t n,
                               bool special)
{
    struct matrix x = {.routine = {.name = name, .type = type, .m = m, .n = n, .pivot_bytes = 8}};
    const int64_t steps = m < n ? m : n, ld = m + 1;
    void *a = xt_alloc((size_t)(ld * n), xg_type_bytes(type));
    x.before = xt_alloc((size_t)(m * n), sizeof *x.before);
    x.beside = xt_alloc((size_t)steps, sizeof(int64_t));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            xt_set(type, a, i + j * ld, element(name, i, j, special));
            x.before[i + j * m] = xt_get(type, a, i + j * ld);
        }
    x.routine.operand[XG_SLOT_A] = (struct xg_matrix){a, m, n, ld};
    x.routine.operand[name == XG_ROUTINE_GEQRF ? XG_SLOT_TAU : XG_SLOT_PIVOTS] =
        (struct xg_matrix){x.beside, steps, 1, steps};
    return x;
}

static void matrix_free(struct matrix *x)
{
    free(x->routine.operand[XG_SLOT_A].at);
    free(x->before);
    free(x->beside);
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

static struct xt_factors factors_of(const struct matrix *x)
{
    const struct xg_matrix *a = &x->routine.operand[XG_SLOT_A];
    return (struct xt_factors){x->routine.type, a->rows,   a->columns, a->ld,
                               a->at,           x->beside, x->before};
}

/* The first pivot is the first of the largest elements; later ones depend on roundings. */
static void check_lu(const struct matrix *x)
{
    const struct xt_factors factors = factors_of(x);
    const int64_t first = *(const int64_t *)x->beside - 1;
    for (int64_t i = 0; i < first && first < factors.m; i++)
        XT_CHECK(fabs(x->before[i]) < fabs(x->before[first]), "not the first of equal pivots");
    xt_lu_check(&factors, 1, "LU");
}

/* by_panels: our panels factorize, and cuSOLVER is not called. */
static void check(enum xg_routine_name name, enum xg_type type, int64_t m, int64_t n, bool special,
                  bool by_panels)
{
    const bool qr = name == XG_ROUTINE_GEQRF;
    const char *panels = qr ? "qr_panel" : "lu_panel";
    struct matrix x = matrix_of(name, type, m, n, special);
    struct xg_result result;
    fake.reset(1);
    if (lacking == HANDLE)
        fake.fail("cublasCreate", 1, FX_CODE_NOMEM, FAKECUDA_ALWAYS);
    enum xg_status status = xg_routine_run_verified(lane, &x.routine, 1, &result);
    XT_CHECK(!strcmp(result.kernel, by_panels ? panels : "cuSOLVER"), "%s", result.kernel);
    XT_CHECK((fake.calls(qr ? "cusolverDnXgeqrf" : "cusolverDnXgetrf") == 0) == by_panels,
             "%lldx%lld by panels", (long long)m, (long long)n);
    if (status == XG_OK) {
        XT_CHECK(result.verdict == XG_VERDICT_RIGHT, "%lldx%lld", (long long)m, (long long)n);
        const struct xt_factors factors = factors_of(&x);
        XT_CHECK(qr || xt_lu_info(&factors) == 0, "a singular matrix");
        if (qr)
            xt_qr_check(&factors, 1, "QR");
        else
            check_lu(&x);
    } else {
        XT_CHECK(status == XG_DECLINED && special && !qr, "%s", xg_status_name(status));
        check_before(&x, "singular");
    }
    matrix_free(&x);
}

static void test_shapes(enum xg_routine_name name)
{
    static const int64_t shapes[][2] = {{1, 1},     {3, 5},     {31, 33},   {33, 31},   {64, 64},
                                        {100, 128}, {128, 128}, {129, 129}, {130, 400}, {400, 130},
                                        {257, 257}, {300, 290}, {2100, 40}, {40, 2100}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int special = 0; special <= 1; special++) {
            check(name, XG_TYPE_D, shapes[i][0], shapes[i][1], special, true);
            check(name, XG_TYPE_S, shapes[i][0], shapes[i][1], special, true);
        }
}

/* The device has 16 multiprocessors: a panel has at most 16 blocks of 512 rows. The lane's memory
 * grows to what these matrices need. */
static void test_tall(enum xg_routine_name name)
{
    check(name, XG_TYPE_D, 4097, 3, false, true);
    check(name, XG_TYPE_D, 8192, 2, false, true);
    check(name, XG_TYPE_D, 8193, 2, false, false);
}

/* The second step reads pivots of 8 bytes; the caller's have 4. */
static void test_solve(enum xg_type type)
{
    enum { N = 140, COLUMNS = 3 };
    struct matrix x = matrix_of(XG_ROUTINE_GETRF, type, N, N, false);
    int32_t pivots[N];
    double b[N * COLUMNS];
    struct xg_result result;
    for (int64_t i = 0; i < (int64_t)N * COLUMNS; i++)
        xt_set(type, b, i, cos((double)i));
    x.routine.name = XG_ROUTINE_GESV;
    x.routine.k = COLUMNS;
    x.routine.pivot_bytes = sizeof *pivots;
    x.routine.operand[XG_SLOT_PIVOTS].at = pivots;
    x.routine.operand[XG_SLOT_B] = (struct xg_matrix){b, N, COLUMNS, N};
    fake.reset(1);
    XT_CHECK(xg_routine_run_verified(lane, &x.routine, 1, &result) == XG_OK);
    XT_CHECK(result.verdict == XG_VERDICT_RIGHT && fake.calls("cusolverDnXgetrf") == 0 &&
             fake.calls("cusolverDnXgetrs") == 1);
    for (int i = 0; i < N; i++)
        ((int64_t *)x.beside)[i] = pivots[i];
    check_lu(&x);
    matrix_free(&x);
}

static void test_singular(void)
{
    struct matrix x = matrix_of(XG_ROUTINE_GETRF, XG_TYPE_D, 150, 150, false);
    const struct xg_matrix *a = &x.routine.operand[XG_SLOT_A];
    struct xg_result result;
    for (int64_t i = 0; i < 150; i++) {
        xt_set(XG_TYPE_D, a->at, i + 140 * a->ld, 0);
        x.before[i + 140 * 150] = 0;
    }
    XT_CHECK(xg_routine_run(lane, &x.routine, &result) == XG_DECLINED);
    check_before(&x, "a column of zeros");
    matrix_free(&x);
}

/* cuSOLVER's next step reads these reflectors. */
static void test_least_squares(enum xg_type type)
{
    enum { M = 260, N = 140 };
    struct matrix x = matrix_of(XG_ROUTINE_GEQRF, type, M, N, false);
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
        double sum = 0; /* a_j times the residual: they are orthogonal */
        for (int64_t i = 0; i < M; i++)
            sum += x.before[i + j * M] * rest[i];
        XT_CHECK_LE(fabs(sum), 1e4 * (type == XG_TYPE_D ? DBL_EPSILON : (double)FLT_EPSILON));
    }
    matrix_free(&x);
}

/* least: the smallest number of calls of the function. */
static void test_faults(enum xg_routine_name name, const char *function, long least)
{
    enum { CALLS_MOST = 100 };
    struct matrix x = matrix_of(name, XG_TYPE_D, 150, 150, false);
    enum xg_status status = XG_ERR_DRIVER;
    for (long nth = 1; status != XG_OK && nth < CALLS_MOST; nth++) {
        struct xg_result result;
        fake.reset(1);
        fake.fail(function, nth, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
        status = xg_routine_run(lane, &x.routine, &result);
        XT_CHECK((status == XG_OK) == (fake.faults(function) == 0 && nth > least), "%s %ld",
                 function, nth);
        if (status != XG_OK)
            check_before(&x, function);
    }
    XT_CHECK(status == XG_OK, "%s: never right", function);
    matrix_free(&x);
}

static int queries;

/* The device runs clusters of 16 blocks of the panel's two kernels, but not of the kernel that
 * applies a panel. */
static CUresult CUDAAPI fewer_clusters(int *out, CUfunction function, const CUlaunchConfig *config)
{
    (void)function;
    *out = config->gridDimX < XG_PANEL_CLUSTER_MOST || ++queries < 3;
    return CUDA_SUCCESS;
}

/* cuSOLVER factorizes complex matrices, and matrices with more rows than the clusters of any of the
 * kernels have. */
static void test_limits(void)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    double a[2 * 8 * 8], tau[2 * 8];
    struct xg_routine routine = {.name = XG_ROUTINE_GEQRF, .type = XG_TYPE_Z, .m = 8, .n = 8};
    struct xg_result result;
    lane = fx_lane_open(&conf, 2, &dev);
    fake.reset(1);
    dev->drv.cuOccupancyMaxActiveClusters = fewer_clusters;
    queries = 0;
    check(XG_ROUTINE_GEQRF, XG_TYPE_D, 4096, 2, false, true);
    check(XG_ROUTINE_GEQRF, XG_TYPE_D, 4097, 2, false, false);
    for (size_t i = 0; i < sizeof a / sizeof a[0]; i++)
        a[i] = uniform();
    routine.operand[XG_SLOT_A] = (struct xg_matrix){a, 8, 8, 8};
    routine.operand[XG_SLOT_TAU] = (struct xg_matrix){tau, 8, 1, 8};
    XT_CHECK(xg_routine_run(lane, &routine, &result) == XG_OK);
    XT_CHECK(!strcmp(result.kernel, "cuSOLVER"), "%s", result.kernel);
    fx_lane_close(lane, dev);
}

static void test_panels(enum xg_routine_name name)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    lane = fx_lane_open(&conf, 2, &dev);
    check(name, XG_TYPE_D, 130, 400, false, true); /* in memory of exactly this size */
    test_tall(name);
    test_shapes(name);
    for (int type = XG_TYPE_S; type <= XG_TYPE_D; type++)
        (name == XG_ROUTINE_GEQRF ? test_least_squares : test_solve)((enum xg_type)type);
    if (name == XG_ROUTINE_GETRF)
        test_singular();
    test_faults(name, "cuLaunchKernel", 10);
    test_faults(name, "cublasDgemm", name == XG_ROUTINE_GETRF ? 4 : 2);
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
    if (lack == HOPPER || lack == NEWER) {
        dev->facts.sm = lack == HOPPER ? 86 : 100;
        dev->facts.generation = xg_generation_find(dev->facts.sm, NULL);
    }
    if (lack == CODE)
        dev->drv.cuFuncGetAttribute = old_code;
    lacking = lack;
    check(XG_ROUTINE_GETRF, XG_TYPE_D, 70, 70, false, false);
    check(XG_ROUTINE_GEQRF, XG_TYPE_D, 70, 70, false, false);
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
    test_limits();
    test_panels(XG_ROUTINE_GETRF);
    test_panels(XG_ROUTINE_GEQRF);
    return xt_done();
}
