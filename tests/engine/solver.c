/* SPDX-License-Identifier: MIT */
/* What a lane learns from GESDD of matrices for which Xgesvdp is not exact; POTRF without the
 * kernel that mirrors a triangle. */
#include "lane.h"
#include "src/pipeline/routine.h"

enum { M = 20, N = 12 };

static struct fakecuda fake;
static struct xg_lane *lane;

/* Whether a call with m rows tries Xgesvdp. exact: of full rank, else of rank 1. */
static bool tries(int64_t m, bool exact)
{
    double a[M * N], u[M * N], v[N * N], w[N];
    const struct xg_routine routine = {.name = XG_ROUTINE_GESDD,
                                       .type = XG_TYPE_D,
                                       .vectors = XG_VECTORS_THIN,
                                       .m = m,
                                       .n = N,
                                       .operand = {[XG_SLOT_A] = {a, m, N, m},
                                                   [XG_SLOT_U] = {u, m, N, m},
                                                   [XG_SLOT_V] = {v, N, N, N},
                                                   [XG_SLOT_W] = {w, N, 1, N}}};
    struct xg_result result;
    for (int64_t i = 0; i < m * N; i++)
        a[i] = 1 + (exact && i % (m + 1) == 0 ? (double)i : 0);
    fake.reset(1);
    XT_CHECK(xg_routine_run(lane, &routine, &result) == XG_OK);
    XT_CHECK(w[0] > 1 && (w[N - 1] > 1e-6) == exact, "%g, %g", w[0], w[N - 1]);
    return fake.calls("cusolverDnXgesvdp") > 0;
}

static void test_learnt(void)
{
    /* Two inexact ones, seven that do without, a trial, and so on. */
    for (int call = 0; call < 20; call++)
        XT_CHECK(tries(M, false) == (call < 2 || (call - 2) % 8 == 7), "call %d", call);
    /* Exact ones of the shape are found by the next trial, others at once. */
    for (int call = 0; call < 12; call++)
        XT_CHECK(tries(M, true) == (call >= 5), "exact call %d", call);
    tries(M, false);
    tries(M, false);
    XT_CHECK(tries(M - 1, false) && tries(M, false), "another shape");
}

static void test_no_mirror(void)
{
    enum { SIDE = 9 };
    double a[SIDE * SIDE];
    const struct xg_routine routine = {.name = XG_ROUTINE_POTRF,
                                       .type = XG_TYPE_D,
                                       .uplo = XG_UPPER,
                                       .m = SIDE,
                                       .n = SIDE,
                                       .operand = {[XG_SLOT_A] = {a, SIDE, SIDE, SIDE}}};
    struct xg_result result;
    for (int i = 0; i < SIDE * SIDE; i++)
        a[i] = i % (SIDE + 1) ? 0.25 : SIDE;
    fake.reset(1);
    fake.fail("cuModuleLoadData", 1, FX_CODE_UNKNOWN, FAKECUDA_ALWAYS);
    XT_CHECK(xg_routine_run_verified(lane, &routine, 1, &result) == XG_OK);
    XT_CHECK(result.verdict == XG_VERDICT_RIGHT && fake.faults("cuModuleLoadData") > 0);
    XT_CHECK(fake.calls("cuLaunchKernel") == 0, "kernels that mirror");
    fake.reset(1);
}

int main(void)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    fake = fx_fake();
    for (int reproducible = 0; reproducible <= 1; reproducible++) {
        conf.reproducible = reproducible;
        lane = fx_lane_open(&conf, 3, &dev);
        test_no_mirror();
        if (reproducible)
            for (int call = 0; call < 5; call++)
                XT_CHECK(tries(M, false), "reproducible call %d", call);
        else
            test_learnt();
        fx_lane_close(lane, dev);
    }
    return xt_done();
}
