/* SPDX-License-Identifier: MIT */
/* LAPACK's routines on a device, host to host, in the units of LAPACK's own testers. Contract 1.3
 * (doc/contract.md). */
#include "src/pipeline/factor.h"
#include "src/pipeline/least_squares.h"

#include <math.h>

#include "src/base/clock.h"
#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "src/pipeline/lane.h"
#include "tests/gpu/util.h"
#include "tests/support/dense.h"
#include "tests/support/routines.h"

static struct xg_lane *lane;
static long declined;
static double deviation; /* a residual in units of its bound (verify/residual.h) */

static enum xg_status run(const struct xg_routine *routine)
{
    struct xg_result result;
    double begin = xg_clock_s();
    enum xg_status status = xg_routine_run_verified(lane, routine, 1, &result);
    xg_least_squares_finish(routine, &result);
    deviation = fmax(deviation, result.deviation);
    declined += status == XG_DECLINED;
    XT_CHECK(status == XG_OK, "%s of %lld by %lld: %s", judge_text(routine), (long long)routine->m,
             (long long)routine->n, xg_status_name(status));
    printf("%s %lld %lld: %.3f ms, %.2g of the bound\n", judge_text(routine), (long long)routine->m,
           (long long)routine->n, 1e3 * (xg_clock_s() - begin), result.deviation);
    return status;
}

static void test_type(enum xg_type type, int64_t n, int64_t pad)
{
    const int64_t wide = n + n / 3 + 1;
    for (int lower = 0; lower <= 1; lower++) {
        const enum xg_uplo uplo = lower ? XG_LOWER : XG_UPPER;
        rx_cholesky(run, type, uplo, n, 33, pad);
        rx_triangle(run, type, uplo, lower, n, pad);
        rx_eigen(run, type, uplo, n, pad, true, lower, RX_RANDOM);
        rx_eigen(run, type, uplo, n, pad, lower, true, RX_DEFICIENT);
        rx_some_eigen(run, type, uplo, n, pad, lower, n / 3, n / 2);
        rx_generalized(run, type, uplo, n, pad, true, 1 + lower);
    }
    rx_general(run, type, n, pad, false);
    rx_general(run, type, n, pad, true);
    rx_lu(run, type, n, n, 33, pad, 8);
    rx_lu(run, type, wide, n, 7, pad, 4);
    rx_lu(run, type, n, wide, 7, pad, 4);
    rx_qr(run, type, wide, n, 33, pad);
    rx_squares(run, type, 2 * n, n, 33, pad);
    for (int vectors = XG_VECTORS_NONE; vectors <= XG_VECTORS_ALL; vectors++)
        for (int spectrum = RX_RANDOM; spectrum <= RX_DEFICIENT; spectrum++) {
            rx_singular(run, type, wide, n, pad, (enum xg_vectors)vectors,
                        (enum rx_spectrum)spectrum);
            rx_singular(run, type, n, wide, pad, (enum xg_vectors)vectors,
                        (enum rx_spectrum)spectrum);
        }
    rx_singular(run, type, 2500, n, pad, XG_VECTORS_THIN, RX_GRADED);
}

int main(void)
{
    static const int64_t sizes[] = {2, 33, 300};
    const struct xg_conf *conf = xg_conf_get();
    struct xg_dev *dev;
    xg_cublas_load();
    if (xg_backend_open(conf, &dev) != XG_OK)
        return xt_skip("no GPU");
    if (gpu_is_fake(dev))
        return xt_skip("the fake driver");
    must(xg_lane_create(dev, 8, &lane), "lane");
    for (int type = XG_TYPE_S; type < XG_TYPE_COUNT; type++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            test_type((enum xg_type)type, sizes[i], i % 2 ? 3 : 0);
    rx_balanced(run, XG_TYPE_D, 200);
    rx_balanced(run, XG_TYPE_Z, 200);
    printf("largest residual: %.2g units of n eps, %.2g of the bound; %ld calls declined\n",
           rx_worst(), deviation, declined);
    xg_lane_destroy(lane);
    xg_backend_close(dev);
    return xt_done();
}
