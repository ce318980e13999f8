/* SPDX-License-Identifier: MIT */
/* GELSD and GELSS through a lane: which of the two sides decides the rank, and what it finds then.
 */
#include "src/pipeline/least_squares.h"

#include "lane.h"
#include "src/compute/cublas.h"
#include "src/compute/solver_library.h"
#include "src/pipeline/factor.h"

static struct fakecuda fake;
static struct xg_lane *lane;

static enum xg_status compute(const struct xg_routine *routine, struct xg_result *result)
{
    enum xg_status status = xg_routine_run(lane, routine, result);
    XT_CHECK(!result->decomposed || (status == XG_OK && result->factored));
    xg_least_squares_finish(routine, result);
    return status;
}

/* A system of 16 equations with the singular values 1, 1/2, 1/4 and so on. */
struct halves {
    double a[16 * 8], b[16], s[8];
    int64_t rank;
    struct xg_routine routine;
};

static void open_halves(struct halves *h, enum xg_routine_name name, double rcond)
{
    enum { M = 16, N = 8 };
    *h = (struct halves){.rank = -1};
    for (int j = 0; j < N; j++)
        h->a[j * M + j] = ldexp(1, -j);
    for (int i = 0; i < M; i++)
        h->b[i] = i + 1;
    h->routine = (struct xg_routine){.name = name,
                                     .type = XG_TYPE_D,
                                     .uplo = XG_UPPER,
                                     .m = M,
                                     .n = N,
                                     .k = 1,
                                     .operand = {[XG_SLOT_A] = {h->a, M, N, M},
                                                 [XG_SLOT_B] = {h->b, M, 1, M},
                                                 [XG_SLOT_W] = {h->s, N, 1, N}},
                                     .rcond = rcond,
                                     .decomposes = true,
                                     .rank = &h->rank,
                                     .pivot_bytes = sizeof h->rank};
    if (!xg_least_squares_open(&h->routine, __builtin_frame_address(0)))
        exit(XT_HARD);
}

/* Closes it. rank -1: the CPU must go on, and the caller's operands are unchanged. */
static void check_halves(struct halves *h, int64_t rank)
{
    const char *what = xg_routine_text(h->routine.name, XG_TYPE_D);
    XT_CHECK(h->rank == rank, "%s: rank %lld, not %lld", what, (long long)h->rank, (long long)rank);
    for (int i = 0; i < 8; i++) {
        const double x = rank < 0 ? i + 1 : i < rank ? ldexp(i + 1, i) : 0;
        XT_CHECK_LE(fabs(h->b[i] - x), 1e-12 * x, "%s, rank %lld: x[%d] is %g", what,
                    (long long)rank, i, h->b[i]);
        XT_CHECK_LE(fabs(h->s[i] - (rank < 0 ? 0 : ldexp(1, -i))), 1e-15, "%s: s[%d]", what, i);
        XT_CHECK(rank >= 0 || h->a[i * 17] == ldexp(1, -i), "%s: A was written", what);
    }
    xg_least_squares_close(&h->routine);
}

/* LAPACK's bounds differ: GELSD's rcond counts only below 1. With a value at the bound rounding
 * errors decide the rank, so the CPU's library must. */
static void test_rank(void)
{
    static const struct {
        enum xg_routine_name name;
        double rcond;
        int64_t rank;
    } cases[] = {{XG_ROUTINE_GELSD, -1, 8},    {XG_ROUTINE_GELSS, -1, 8},
                 {XG_ROUTINE_GELSD, 0.1, 4},   {XG_ROUTINE_GELSS, 0.1, 4},
                 {XG_ROUTINE_GELSD, 2, 8},     {XG_ROUTINE_GELSS, 2, 0},
                 {XG_ROUTINE_GELSD, 0.25, -1}, {XG_ROUTINE_GELSS, 0.25, -1},
                 {XG_ROUTINE_GELSS, 1, -1},    {XG_ROUTINE_GELSS, 0, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct halves h;
        struct xg_result result;
        open_halves(&h, cases[i].name, cases[i].rcond);
        XT_CHECK(compute(&h.routine, &result) == XG_OK);
        XT_CHECK(result.factored == (cases[i].rank < 0));
        check_halves(&h, cases[i].rank);
    }
}

/* R and Qᴴ B are complete, and the caller's operands unchanged. Then the next call is solved. */
static void check_factored(struct halves *h, const char *what)
{
    struct xg_result result;
    const double *r = h->routine.operand[XG_SLOT_U].at, *qb = h->routine.operand[XG_SLOT_V].at;
    for (int i = 0; i < 8; i++)
        XT_CHECK_LE(fabs(qb[i] / r[i * 9] * h->a[i * 17] - (i + 1)), 1e-12, "%s: row %d", what, i);
    h->a[7 * 17] = 0x1p-7;
    check_halves(h, -1);
    fake.reset(1);
    open_halves(h, XG_ROUTINE_GELSS, -1);
    XT_CHECK(compute(&h->routine, &result) == XG_OK && !result.factored);
    check_halves(h, 8);
}

static struct xg_solver_functions solver_functions;

/* Computes R's conjugate transpose: exchanges the vectors. */
static int exchange(xg_solver_handle handle, xg_solver_params params, int mode, int thin, int64_t m,
                    int64_t n, int a_type, void *a, int64_t lda, int w_type, void *w, int u_type,
                    void *u, int64_t ldu, int v_type, void *v, int64_t ldv, int type, void *work,
                    size_t work_bytes, void *host, size_t host_bytes, void *info,
                    double *perturbation)
{
    return solver_functions.gesvdp(handle, params, mode, thin, m, n, a_type, a, lda, w_type, w,
                                   v_type, v, ldv, u_type, u, ldu, type, work, work_bytes, host,
                                   host_bytes, info, perturbation);
}

/* The device leaves R and Qᴴ B to the CPU: it is not asked for R's singular values, fails, is not
 * exact, or computes them wrong, which verification finds. */
static void test_factored(void)
{
    struct halves h;
    struct xg_result result;
    open_halves(&h, XG_ROUTINE_GELSD, -1);
    h.routine.decomposes = false;
    XT_CHECK(compute(&h.routine, &result) == XG_OK && result.factored);
    check_factored(&h, "not asked");
    open_halves(&h, XG_ROUTINE_GELSS, -1);
    fake.fail("cusolverDnXgesvdp", 1, FX_CODE_UNKNOWN, FAKECUDA_ONCE);
    XT_CHECK(compute(&h.routine, &result) == XG_OK && result.factored);
    check_factored(&h, "fails");
    open_halves(&h, XG_ROUTINE_GELSD, -1);
    h.a[7 * 17] = 1e-300;
    XT_CHECK(compute(&h.routine, &result) == XG_OK && result.factored);
    check_factored(&h, "not exact");
    open_halves(&h, XG_ROUTINE_GELSS, -1);
    h.a[7 * 16] = 1; /* R is not symmetric */
    solver_functions = xg_solver_functions;
    xg_solver_functions.gesvdp = exchange;
    XT_CHECK(xg_routine_run_verified(lane, &h.routine, 1, &result) == XG_ERR_WRONG);
    XT_CHECK(result.verdict == XG_VERDICT_WRONG && result.factored);
    xg_solver_functions = solver_functions;
    check_factored(&h, "wrong");
}

/* LAPACK scales such an A or B, and treats A = 0 separately. The device declines. */
static void test_scale(void)
{
    static const struct {
        double a, b;
        enum xg_status status;
    } scales[] = {{1, 1, XG_OK},
                  {1, 0, XG_OK},
                  {1e100, 1e-100, XG_OK},
                  {0, 1, XG_DECLINED},
                  {1e-150, 1, XG_DECLINED},
                  {1e150, 1, XG_DECLINED},
                  {NAN, 1, XG_DECLINED},
                  {1, INFINITY, XG_DECLINED},
                  {1, 1e-150, XG_DECLINED},
                  {1, 1e150, XG_DECLINED}};
    static const enum xg_routine_name names[] = {XG_ROUTINE_GELS, XG_ROUTINE_GELSD,
                                                 XG_ROUTINE_GELSS};
    for (size_t turn = 0; turn < 3 * sizeof scales / sizeof scales[0]; turn++) {
        struct halves h, before;
        struct xg_result result;
        open_halves(&h, names[turn % 3], -1);
        for (size_t i = 0; i < sizeof h.a / sizeof h.a[0]; i++)
            h.a[i] *= scales[turn / 3].a;
        for (size_t i = 0; i < sizeof h.b / sizeof h.b[0]; i++)
            h.b[i] *= scales[turn / 3].b;
        before = h;
        if (h.routine.name == XG_ROUTINE_GELS)
            h.routine.rank = NULL;
        enum xg_status status = compute(&h.routine, &result);
        XT_CHECK(status == scales[turn / 3].status && !result.factored, "turn %zu: %s", turn,
                 xg_status_name(status));
        XT_CHECK(status == XG_OK || (!memcmp(h.a, before.a, sizeof h.a) &&
                                     !memcmp(h.b, before.b, sizeof h.b) && h.rank == -1),
                 "turn %zu: an operand has changed", turn);
        xg_least_squares_close(&before.routine);
    }
}

int main(void)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    fake = fx_fake();
    xg_cublas_load();
    lane = fx_lane_open(&conf, 3, &dev);
    test_rank();
    test_factored();
    test_scale();
    fx_lane_close(lane, dev);
    xg_conf_fini(&conf);
    return xt_done();
}
