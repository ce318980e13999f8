/* SPDX-License-Identifier: MIT */
#include "engine/both_sides.h"

#include <string.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "host/call_memory.h"
#include "report/compare.h"
#include "report/stats.h"
#include "verify/accuracy.h"
#include "verify/residual.h"

/* Copies C without its padding, the instances of a batch one below the other. The GPU works on the
 * copy while the CPU has the caller's C. Only the referenced triangle of a triangular C is copied;
 * the rest is undefined. NULL: no memory. frame: see call_memory.h. */
static void *copy_of_c(const struct xg_problem *call, const void *frame)
{
    size_t elem_bytes = xg_problem_elem_bytes(call);
    char *copy = xg_call_memory_alloc((size_t)call->m * (size_t)call->n * elem_bytes, frame);
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

/* The seconds that the CPU's side takes, outside the shelter. */
static double time_cpu(const struct xg_cpu *cpu, struct xg_shelter *shelter)
{
    double begin = xg_clock_s();
    xg_shelter_leave_to(shelter, cpu);
    return xg_clock_s() - begin;
}

static enum xg_status compare_problem(const char *symbol, const struct xg_problem *call,
                                      const struct xg_conf *conf, const struct xg_cpu *cpu,
                                      struct xg_shelter *shelter, struct xg_result *result)
{
    static const struct xg_cpu none = {.whole = no_cpu_whole, .part = no_cpu_part};
    struct xg_problem on_gpu = *call;
    const void *frame = __builtin_frame_address(0);
    struct xg_accuracy *accuracy = xg_call_memory_alloc(sizeof *accuracy, frame);
    struct xg_batch batch;
    on_gpu.c = copy_of_c(call, frame);
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
        status =
            xg_engine_compute(&(struct xg_call){.problem = &on_gpu}, conf, &none, NULL, result);
        gpu_seconds = xg_clock_s() - begin;
    }
    double cpu_seconds = time_cpu(cpu, shelter);
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
    xg_call_memory_free(on_gpu.c);
    xg_call_memory_free(accuracy);
    return status;
}

/* --- Routines -------------------------------------------------------------------------------- */

static size_t bytes_of(const struct xg_routine *routine, enum xg_slot slot)
{
    struct xg_routine dense = *routine;
    dense.operand[slot].ld = dense.operand[slot].rows;
    return xg_routine_span_bytes(&dense, slot);
}

/* Copies the rows that the routine reads into contiguous columns. */
static void copy_operand(const struct xg_routine *routine, enum xg_slot slot, char *to)
{
    const struct xg_matrix *host = &routine->operand[slot];
    const bool triangle = xg_routine_use(routine->name, slot)->triangle;
    const size_t elem_bytes = bytes_of(routine, slot) / (size_t)(host->rows * host->columns);
    for (int64_t j = 0; j < host->columns; j++) {
        int64_t begin, end;
        xg_matrix_column(host, triangle ? routine->uplo : XG_FULL, j, &begin, &end);
        memcpy(to + (size_t)(j * host->rows + begin) * elem_bytes,
               (const char *)host->at + (size_t)(j * host->ld + begin) * elem_bytes,
               (size_t)(end - begin) * elem_bytes);
    }
}

/* Points *before to copies of the operands that the routine reads, and *on_gpu to other copies and
 * to room for the operands that it writes. Returns the memory to be freed; NULL: there is none.
 * frame: see call_memory.h. */
static void *copy_routine(const struct xg_routine *routine, struct xg_routine *before,
                          struct xg_routine *on_gpu, const void *frame)
{
    size_t bytes = 0;
    for (int i = 0; i < XG_SLOT_COUNT; i++)
        if (routine->operand[i].at)
            bytes += 2 * bytes_of(routine, (enum xg_slot)i);
    char *memory = xg_call_memory_alloc(bytes, frame), *at = memory;
    *before = *on_gpu = *routine;
    for (int i = 0; i < XG_SLOT_COUNT && memory; i++) {
        const enum xg_slot slot = (enum xg_slot)i;
        const struct xg_use *use = xg_routine_use(routine->name, slot);
        const struct xg_matrix *host = &routine->operand[i];
        if (!host->at)
            continue;
        for (int copy = 0; copy < 2; copy++) {
            struct xg_routine *of = copy ? on_gpu : before;
            if (use->in)
                copy_operand(routine, slot, at);
            of->operand[i] = (struct xg_matrix){at, host->rows, host->columns, host->rows};
            at += bytes_of(routine, slot);
        }
    }
    return memory;
}

static double residual_of(const struct xg_routine *before, const struct xg_routine *after)
{
    struct xg_residual residual;
    enum xg_status status = xg_residual_measure(before, after, 0, NULL, 1, &residual);
    return status == XG_OK ? residual.units : XG_COMPARE_UNMEASURED;
}

static enum xg_status compare_routine(const char *symbol, const struct xg_routine *routine,
                                      const struct xg_conf *conf, const struct xg_cpu *cpu,
                                      struct xg_shelter *shelter, struct xg_result *result)
{
    struct xg_routine before, on_gpu;
    void *memory = copy_routine(routine, &before, &on_gpu, __builtin_frame_address(0));
    enum xg_status status = XG_ERR_NOMEM;
    double begin = xg_clock_s();
    *result = (struct xg_result){0};
    if (memory)
        status = xg_engine_compute(&(struct xg_call){.routine = &on_gpu}, conf, NULL, NULL, result);
    double gpu_seconds = xg_clock_s() - begin;
    double cpu_seconds = time_cpu(cpu, shelter);
    if (status == XG_OK) {
        struct xg_compare_record compared = {
            .symbol = symbol,
            .routine = true,
            .call = {.type = routine->type, .m = routine->m, .n = routine->n, .k = routine->k},
            .kernel = result->kernel,
            .cpu_seconds = cpu_seconds,
            .gpu_seconds = gpu_seconds,
            .cpu_error = residual_of(&before, routine),
            .gpu_error = residual_of(&before, &on_gpu),
        };
        xg_stats_add_compare(&compared);
    }
    xg_call_memory_free(memory);
    return status;
}

enum xg_status xg_both_sides_compute(const struct xg_call *call, const struct xg_conf *conf,
                                     const struct xg_cpu *cpu, struct xg_shelter *shelter,
                                     struct xg_result *result)
{
    return call->problem ? compare_problem(call->symbol, call->problem, conf, cpu, shelter, result)
                         : compare_routine(call->symbol, call->routine, conf, cpu, shelter, result);
}
