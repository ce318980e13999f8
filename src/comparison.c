/* SPDX-License-Identifier: MIT */
/* Computes a product on the CPU and on the GPU and compares both results. */
#include "comparison.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine.h"
#include "report/compare.h"
#include "report/stats.h"
#include "verify/accuracy.h"

/* Copies C without its padding, the instances of a batch one below the other. The GPU works on the
 * copy while the CPU has the caller's C. Only the referenced triangle of a triangular C is copied;
 * the rest is undefined. NULL: no memory. */
static void *copy_of_c(const struct xg_problem *call)
{
    size_t elem_bytes = xg_problem_elem_bytes(call);
    char *copy = malloc((size_t)call->m * (size_t)call->n * elem_bytes);
    for (int64_t i = 0; copy && !xg_problem_beta_zero(call) && i < call->m; i++) {
        int64_t begin, end;
        xg_problem_row(call, i, 0, call->n, &begin, &end);
        memcpy(copy + (size_t)(i * call->n + begin) * elem_bytes, xg_problem_c_at(call, i, begin),
               (size_t)(end - begin) * elem_bytes);
    }
    return copy;
}

static void no_cpu_whole(void *ctx)
{
    (void)ctx;
}

static void no_cpu_part(void *ctx, const struct xg_problem *part)
{
    (void)ctx, (void)part;
}

enum xg_status xg_comparison_compute(const char *symbol, const struct xg_problem *call,
                                     const struct xg_conf *conf, const struct xg_cpu *cpu,
                                     struct xg_shelter *shelter, struct xg_result *result)
{
    static const struct xg_cpu none = {.whole = no_cpu_whole, .part = no_cpu_part};
    struct xg_problem on_gpu = *call;
    struct xg_accuracy *accuracy = malloc(sizeof *accuracy);
    struct xg_batch batch;
    on_gpu.c = copy_of_c(call);
    on_gpu.ldc = call->n;
    if (call->batch) {
        batch = *call->batch;
        batch.c = NULL;
        batch.stride_c = xg_problem_instance_rows(call) * call->n;
        on_gpu.batch = &batch;
    }
    enum xg_status status = XG_ERR_NOMEM;
    double gpu_seconds = 0;
    *result = (struct xg_result){0};
    if (accuracy && on_gpu.c) {
        xg_accuracy_init(accuracy, call);
        double begin = xg_clock_s();
        status = xg_engine_compute(&on_gpu, conf, &none, NULL, result);
        gpu_seconds = xg_clock_s() - begin;
    }
    xg_shelter_leave(shelter);
    double begin = xg_clock_s();
    cpu->whole(cpu->ctx);
    double cpu_seconds = xg_clock_s() - begin;
    xg_shelter_enter_again(shelter);
    if (status == XG_OK) {
        struct xg_compare_record compared = {
            .symbol = symbol,
            .call = *call,
            .kernel = result->kernel,
            .cpu_seconds = cpu_seconds,
            .gpu_seconds = gpu_seconds,
            .cpu_error = xg_accuracy_error(accuracy, call),
            .gpu_error = xg_accuracy_error(accuracy, &on_gpu),
        };
        xg_stats_add_compare(&compared);
    }
    free(on_gpu.c);
    free(accuracy);
    return status;
}
