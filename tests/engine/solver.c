/* SPDX-License-Identifier: MIT */
/* GESDD of matrices for which Xgesvdp is not exact: those of lower rank are deflated, and from
 * graded ones a lane learns; GESDD of floats in double precision; POTRF without the kernel that
 * mirrors a triangle. */
#include <complex.h>
#include <math.h>

#include "lane.h"
#include "src/compute/cublas.h"
#include "src/pipeline/factor.h"

enum { M = 20, N = 12 };

static struct fakecuda fake;
static struct xg_lane *lane;

static bool without_cublas;

enum kind { EXACT, GRADED, DEFICIENT /* of rank 1 */ };

/* A routine of an (m,n) matrix A without padding. */
static struct xg_routine routine_of(enum xg_routine_name name, enum xg_type type, int64_t m,
                                    int64_t n, void *a)
{
    return (struct xg_routine){.name = name,
                               .type = type,
                               .uplo = XG_LOWER,
                               .vectors = XG_VECTORS_THIN,
                               .m = m,
                               .n = n,
                               .k = 1,
                               .pivot_bytes = 4,
                               .operand = {[XG_SLOT_A] = {a, m, n, m}}};
}

/* Element i of the matrix with m rows. */
static double element(enum kind kind, int64_t m, int64_t i)
{
    const bool diagonal = i % (m + 1) == 0;
    const double graded = diagonal ? 2 * pow(10, -(double)(i / m)) : 0;
    return kind == GRADED ? graded : kind == EXACT && diagonal ? 1 + (double)i : 1;
}

/* Whether a call with m rows tries Xgesvdp. */
static bool tries(int64_t m, enum kind kind)
{
    double a[M * N], u[M * N], v[N * N], w[N];
    struct xg_routine routine = routine_of(XG_ROUTINE_GESDD, XG_TYPE_D, m, N, a);
    struct xg_result result;
    routine.operand[XG_SLOT_U] = (struct xg_matrix){u, m, N, m};
    routine.operand[XG_SLOT_V] = (struct xg_matrix){v, N, N, N};
    routine.operand[XG_SLOT_W] = (struct xg_matrix){w, N, 1, N};
    for (int64_t i = 0; i < m * N; i++)
        a[i] = element(kind, m, i);
    fake.reset(1);
    if (without_cublas)
        fake.fail("cublasCreate", 1, FX_CODE_NOMEM, FAKECUDA_ALWAYS);
    XT_CHECK(xg_routine_run_verified(lane, &routine, 1, &result) == XG_OK);
    XT_CHECK(result.verdict == XG_VERDICT_RIGHT, "kind %d", kind);
    XT_CHECK(w[0] > 1 && (w[N - 1] > 1e-6) == (kind == EXACT), "%g, %g", w[0], w[N - 1]);
    const bool tried = fake.calls("cusolverDnXgesvdp") > 0;
    XT_CHECK((fake.calls("cusolverDnXgesvd") > 0) == (kind == GRADED || !tried || without_cublas),
             "kind %d by gesvd", kind);
    return tried;
}

/* Runs a call of floats. Returns its status; *wide: the eigenvalues of doubles were computed. */
static enum xg_status run_floats(enum xg_type type, enum kind kind, enum xg_vectors vectors,
                                 bool *wide)
{
    float a[2 * M * N], u[2 * M * M], v[2 * N * N], w[N];
    const int64_t parts = xg_type_parts(type), columns = vectors == XG_VECTORS_ALL ? M : N;
    struct xg_routine routine = routine_of(XG_ROUTINE_GESDD, type, M, N, a);
    struct xg_result result;
    routine.vectors = vectors;
    routine.operand[XG_SLOT_U] = (struct xg_matrix){u, M, columns, M};
    routine.operand[XG_SLOT_V] = (struct xg_matrix){v, N, N, N};
    routine.operand[XG_SLOT_W] = (struct xg_matrix){w, N, 1, N};
    if (vectors == XG_VECTORS_NONE)
        routine.operand[XG_SLOT_U].at = routine.operand[XG_SLOT_V].at = NULL;
    for (int64_t i = 0; i < parts * M * N; i++)
        a[i] = (float)element(kind, M, i / parts);
    enum xg_status status = xg_routine_run_verified(lane, &routine, 1, &result);
    XT_CHECK(status != XG_OK || result.verdict == XG_VERDICT_RIGHT, "type %d, kind %d", type, kind);
    *wide = fake.calls("cusolverDnXsyevd") > 0;
    if (status == XG_OK)
        XT_CHECK((fake.calls("cusolverDnXgesvdp") + fake.calls("cusolverDnXgesvd") > 0) == !*wide,
                 "type %d, kind %d: both ways", type, kind);
    return status;
}

/* Whether a call of floats runs in double precision. */
static bool widens(enum xg_type type, enum kind kind, enum xg_vectors vectors)
{
    bool wide;
    fake.reset(1);
    XT_CHECK(run_floats(type, kind, vectors, &wide) == XG_OK);
    return wide;
}

/* Floats of any rank, graded or not, are computed in double precision where that is fast. */
static void test_floats(struct xg_dev *dev, bool reproducible)
{
    const int kept = dev->facts.fp64_ratio;
    for (int turn = 0; turn < 18; turn++) {
        const enum kind kind = turn % 3;
        const enum xg_vectors vectors = turn / 3 % 3;
        const enum xg_type type = turn / 9 ? XG_TYPE_C : XG_TYPE_S;
        XT_CHECK(widens(type, kind, vectors) == !reproducible, "type %d, kind %d", type, kind);
        for (int slow = 0; slow <= 64; slow += 32) {
            dev->facts.fp64_ratio = slow;
            XT_CHECK(!widens(type, kind, vectors), "doubles take %d times as long", slow);
        }
        dev->facts.fp64_ratio = kept;
    }
}

/* Doubles need more memory: with less of it Xgesvdp runs. The lane has none yet. */
static void test_memory(struct xg_dev *dev, bool reproducible)
{
    const size_t kept = dev->budget_bytes, used = atomic_load(&dev->used_bytes);
    size_t counts[3] = {0}; /* declined, in single precision, in double precision */
    int way = 0;
    for (size_t bytes = 1 << 10; bytes <= 1 << 18; bytes += 1 << 11) {
        bool wide = false;
        dev->budget_bytes = used + bytes;
        fake.reset(1);
        enum xg_status status = run_floats(XG_TYPE_S, EXACT, XG_VECTORS_THIN, &wide);
        const int now = status == XG_OK ? 1 + wide : 0;
        XT_CHECK(status == XG_OK || status == XG_DECLINED, "%s", xg_status_name(status));
        XT_CHECK(now >= way, "%zu bytes: way %d after %d", bytes, now, way);
        way = now;
        counts[way]++;
    }
    dev->budget_bytes = kept;
    XT_CHECK(counts[0] && counts[1] && !counts[2] == reproducible, "%zu, %zu, %zu", counts[0],
             counts[1], counts[2]);
}

/* GEBAL isolates an eigenvalue if a row, or a column, is 0 outside the diagonal; so the CPU
 * computes such a matrix. */
static void test_reducible(void)
{
    enum { SIDE = 8 };
    for (int which = 0; which < 3; which++)
        for (int zero = 0; zero < SIDE; zero++) {
            double a[SIDE * SIDE], w[2 * SIDE];
            for (int i = 0; i < SIDE * SIDE; i++) {
                const int row = i % SIDE, column = i / SIDE;
                const bool isolated = which && (which == 1 ? row : column) == zero;
                a[i] = row == column ? 3 + row : isolated ? 0 : 1.0 / (1 + row + 2 * column);
            }
            struct xg_routine routine = routine_of(XG_ROUTINE_GEEV, XG_TYPE_D, SIDE, SIDE, a);
            struct xg_result result;
            routine.vectors = XG_VECTORS_NONE;
            routine.operand[XG_SLOT_W] = (struct xg_matrix){w, SIDE, 1, SIDE};
            routine.operand[XG_SLOT_WI] = (struct xg_matrix){w + SIDE, SIDE, 1, SIDE};
            XT_CHECK(xg_routine_run(lane, &routine, &result) == (which ? XG_DECLINED : XG_OK),
                     "%d: %d", which, zero);
        }
}

/* The device has no handle of cuBLAS yet. */
static void test_without_cublas(void)
{
    bool wide;
    without_cublas = true;
    XT_CHECK(tries(M - 2, DEFICIENT));
    fake.reset(1);
    fake.fail("cublasCreate", 1, FX_CODE_NOMEM, FAKECUDA_ALWAYS);
    XT_CHECK(run_floats(XG_TYPE_S, EXACT, XG_VECTORS_THIN, &wide) == XG_OK && !wide);
    without_cublas = false;
}

static void test_deflated(void)
{
    for (int call = 0; call < 5; call++)
        XT_CHECK(tries(M, DEFICIENT), "call %d", call);
}

static void test_learnt(void)
{
    /* Two graded ones, seven that do without, a trial, and so on. */
    for (int call = 0; call < 20; call++)
        XT_CHECK(tries(M, GRADED) == (call < 2 || (call - 2) % 8 == 7), "call %d", call);
    /* Exact ones of the shape are found by the next trial, others at once. */
    for (int call = 0; call < 12; call++)
        XT_CHECK(tries(M, EXACT) == (call >= 5), "exact call %d", call);
    tries(M, GRADED);
    tries(M, GRADED);
    XT_CHECK(tries(M - 1, GRADED) && tries(M, GRADED), "another shape");
}

/* Operands that no factorization of LAPACK's leaves: a factor whose diagonal is not real, and
 * pivots above their rows. */
static void test_strange_factors(void)
{
    enum { SIDE = 5 };
    double _Complex a[SIDE * SIDE], b[SIDE] = {1, 2, 3, 4, 5};
    int32_t pivots[SIDE] = {3, 1, 3, 4, 5};
    struct xg_routine routine = routine_of(XG_ROUTINE_POTRS, XG_TYPE_Z, SIDE, SIDE, a);
    struct xg_result result;
    routine.operand[XG_SLOT_B] = (struct xg_matrix){b, SIDE, 1, SIDE};
    for (int i = 0; i < SIDE * SIDE; i++)
        a[i] = i % (SIDE + 1) ? 0.25 : 3 + 2 * I;
    XT_CHECK(xg_routine_run_verified(lane, &routine, 1, &result) == XG_OK);
    XT_CHECK(result.verdict == XG_VERDICT_RIGHT, "potrs");
    routine.name = XG_ROUTINE_POTRI;
    routine.operand[XG_SLOT_B].at = NULL;
    XT_CHECK(xg_routine_run_verified(lane, &routine, 1, &result) == XG_DECLINED, "potri");
    routine.name = XG_ROUTINE_GETRS;
    routine.operand[XG_SLOT_B].at = b;
    routine.operand[XG_SLOT_PIVOTS] = (struct xg_matrix){pivots, SIDE, 1, SIDE};
    XT_CHECK(xg_routine_run_verified(lane, &routine, 1, &result) == XG_DECLINED, "pivots");
    pivots[1] = 2;
    XT_CHECK(xg_routine_run_verified(lane, &routine, 1, &result) == XG_OK, "pivots");
}

/* Contract 9.6: a right solution raises no alarm. getrf leaves a small U beside L, whose elements
 * are up to 1. The squares of this one underflow. */
static void test_small_factor(void)
{
    enum { SIDE = 5 };
    double a[SIDE * SIDE], b[SIDE] = {1, 2, 3, 4, 5};
    int32_t pivots[SIDE] = {1, 2, 3, 4, 5};
    struct xg_routine routine = routine_of(XG_ROUTINE_GETRS, XG_TYPE_D, SIDE, SIDE, a);
    struct xg_result result;
    routine.operand[XG_SLOT_B] = (struct xg_matrix){b, SIDE, 1, SIDE};
    routine.operand[XG_SLOT_PIVOTS] = (struct xg_matrix){pivots, SIDE, 1, SIDE};
    for (int i = 0; i < SIDE * SIDE; i++)
        a[i] = i % SIDE > i / SIDE ? 0.25 : i % SIDE == i / SIDE ? 3e-300 : 1e-300;
    XT_CHECK(xg_routine_run_verified(lane, &routine, 1, &result) == XG_OK);
    XT_CHECK(result.verdict == XG_VERDICT_UNABLE, "getrs: verdict %d", result.verdict);
    routine.name = XG_ROUTINE_GETRI;
    routine.operand[XG_SLOT_B].at = NULL;
    XT_CHECK(xg_routine_run_verified(lane, &routine, 1, &result) == XG_OK);
    XT_CHECK(result.verdict == XG_VERDICT_UNABLE, "getri: verdict %d", result.verdict);
}

static void test_no_kernels(void)
{
    enum { SIDE = 9 };
    bool wide;
    double a[SIDE * SIDE];
    struct xg_routine routine = routine_of(XG_ROUTINE_POTRF, XG_TYPE_D, SIDE, SIDE, a);
    struct xg_result result;
    routine.uplo = XG_UPPER;
    for (int i = 0; i < SIDE * SIDE; i++)
        a[i] = i % (SIDE + 1) ? 0.25 : SIDE;
    fake.reset(1);
    fake.fail("cuModuleLoadData", 1, FX_CODE_UNKNOWN, FAKECUDA_ALWAYS);
    XT_CHECK(xg_routine_run_verified(lane, &routine, 1, &result) == XG_OK);
    XT_CHECK(result.verdict == XG_VERDICT_RIGHT && fake.faults("cuModuleLoadData") > 0);
    XT_CHECK(run_floats(XG_TYPE_S, EXACT, XG_VECTORS_THIN, &wide) == XG_OK && !wide);
    XT_CHECK(fake.calls("cuLaunchKernel") == 0, "kernels that mirror or cast");
    fake.reset(1);
}

int main(void)
{
    struct xg_conf conf = fx_conf();
    struct xg_dev *dev;
    fake = fx_fake();
    xg_cublas_load();
    for (int reproducible = 0; reproducible <= 1; reproducible++) {
        conf.reproducible = reproducible;
        lane = fx_lane_open(&conf, 3, &dev);
        test_no_kernels();
        test_strange_factors();
        test_small_factor();
        test_reducible();
        test_without_cublas();
        test_floats(dev, reproducible);
        if (reproducible) {
            for (int call = 0; call < 5; call++)
                XT_CHECK(tries(M, GRADED), "reproducible call %d", call);
        } else {
            test_learnt();
            test_deflated();
        }
        fx_lane_close(lane, dev);
        lane = fx_lane_open(&conf, 3, &dev);
        test_memory(dev, reproducible);
        fx_lane_close(lane, dev);
    }
    return xt_done();
}
