/* SPDX-License-Identifier: MIT */
/* Rows of the kernel table on operands in device memory. */
#include "resident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "median.h"
#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "src/decide/route.h"
#include "src/host/cores.h"
#include "src/host/team.h"
#include "tests/support/on_device.h"

enum { BATCHES_MAX = 9, RUNS_MAX = 1000, SETS_MAX = 1 << 16 };

/* Several times the size of any L2 cache: sets of operands are added until they fill this. */
static const size_t ROTATED_BYTES = (size_t)512 << 20;

static struct xg_dev *dev;
static struct xg_team *team; /* draws operands */
static CUstream stream;
static CUevent start_event, stop_event;
static device_elapsed *elapsed_ms;

struct xg_dev *resident_open(void)
{
    if (xg_backend_open(xg_conf_get(), &dev) != XG_OK)
        device_die("device", "no device that the kernels support");
    elapsed_ms = device_elapsed_function(dev);
    device_must(xg_dev_enter(dev), "context");
    device_must(XG_DRV(&dev->drv, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING), "stream");
    device_must(XG_DRV(&dev->drv, cuEventCreate, &start_event, CU_EVENT_DEFAULT), "event");
    device_must(XG_DRV(&dev->drv, cuEventCreate, &stop_event, CU_EVENT_DEFAULT), "event");
    device_must(xg_team_create(xg_cores_count(), &team), "threads");
    dev->facts.cublas = xg_cublas_present(dev);
    return dev;
}

void resident_close(void)
{
    device_must(XG_DRV(&dev->drv, cuEventDestroy, start_event), "event");
    device_must(XG_DRV(&dev->drv, cuEventDestroy, stop_event), "event");
    device_must(XG_DRV(&dev->drv, cuStreamDestroy, stream), "stream");
    xg_team_destroy(team);
    xg_dev_leave(dev);
    xg_backend_close(dev);
}

/* --- Operands ------------------------------------------------------------------------------ */

/* Zeros. */
static void *allocate(size_t elems, size_t elem_bytes)
{
    void *matrix = calloc(elems, elem_bytes);
    if (!matrix)
        device_die("operands", "out of memory");
    return matrix;
}

struct drawing {
    void *matrix;
    enum xg_type type;
    int64_t rows, cols, ld;
    uint64_t seed;
};

/* Draws numbers uniform in (-1, 1), never 0, by splitmix64 with a separate state for each row. */
static void draw_rows(void *arg, int worker)
{
    const struct drawing *d = arg;
    for (int64_t i = worker; i < d->rows; i += xg_team_size(team)) {
        uint64_t state = d->seed + (uint64_t)i * 0x632be59bd9b4e019u;
        for (int64_t j = 0; j < d->cols; j++) {
            uint64_t z = (state += 0x9e3779b97f4a7c15u);
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            z ^= z >> 31;
            if (d->type == XG_TYPE_D)
                ((double *)d->matrix)[i * d->ld + j] = ((double)(z >> 12) + 0.5) * 0x1p-51 - 1.0;
            else
                ((float *)d->matrix)[i * d->ld + j] = ((float)(z >> 41) + 0.5f) * 0x1p-22f - 1.0f;
        }
    }
}

static void *draw_matrix(enum xg_type type, int64_t rows, int64_t cols, int64_t ld, uint64_t *seed)
{
    void *matrix = allocate((size_t)(rows * ld), xg_type_bytes(type));
    struct drawing drawing = {matrix, type, rows, cols, ld, *seed};
    *seed = *seed * 0x5851f42d4c957f2du + 0x14057b7ef767814fu;
    xg_team_run(team, xg_team_size(team), draw_rows, &drawing);
    return matrix;
}

static size_t align_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static void copy_up(CUdeviceptr to, const void *from, size_t bytes)
{
    device_must(XG_DRV(&dev->drv, cuMemcpyHtoDAsync, to, from, bytes, stream), "copy");
    device_must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "copy");
}

/* Copies the first set to all others; each copy doubles the number of filled sets. */
static void copy_sets(const struct resident *r)
{
    for (int done = 1; done < r->sets; done *= 2) {
        size_t sets = (size_t)(2 * done < r->sets ? done : r->sets - done);
        device_must(xg_mem_dev_copy(dev, r->dev.ptr + r->set_bytes * (size_t)done, r->set_bytes,
                                    r->dev.ptr, r->set_bytes, r->set_bytes, sets, stream),
                    "copy of a set");
    }
    device_must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "copy of a set");
}

void resident_create(struct resident *r, enum xg_type type, const struct shape *shape,
                     int64_t ld_multiple, uint64_t *seed)
{
    memset(r, 0, sizeof *r);
    size_t bytes = xg_type_bytes(type);
    r->call = shapes_problem(shape, type, ld_multiple);
    const struct xg_extent a = xg_problem_stored(&r->call, false);
    const struct xg_extent b = xg_problem_stored(&r->call, true);
    r->a_elems = (size_t)(a.rows * r->call.lda);
    r->b_elems = (size_t)(b.rows * r->call.ldb);
    r->c_elems = (size_t)(shape->m * r->call.ldc);
    r->call.a = r->a = draw_matrix(type, a.rows, a.columns, r->call.lda, seed);
    r->call.b = r->b = draw_matrix(type, b.rows, b.columns, r->call.ldb, seed);
    r->call.c = r->c = allocate(r->c_elems, bytes);
    xg_accuracy_init(&r->accuracy, &r->call);

    r->b_at = align_up(r->a_elems * bytes);
    r->c_at = r->b_at + align_up(r->b_elems * bytes);
    r->set_bytes = r->c_at + align_up(r->c_elems * bytes);
    size_t sets = 1 + ROTATED_BYTES / r->set_bytes;
    r->sets = sets < SETS_MAX ? (int)sets : SETS_MAX;
    device_must(xg_mem_dev_reserve(dev, &r->dev, r->set_bytes * (size_t)r->sets), "device memory");
    copy_up(r->dev.ptr, r->a, r->a_elems * bytes);
    copy_up(r->dev.ptr + r->b_at, r->b, r->b_elems * bytes);
    copy_up(r->dev.ptr + r->c_at, r->c, r->c_elems * bytes);
    copy_sets(r);
}

void resident_destroy(struct resident *r)
{
    xg_mem_dev_release(dev, &r->dev);
    free(r->a);
    free(r->b);
    free(r->c);
}

/* --- Launching ----------------------------------------------------------------------------- */

static struct xg_mem_dev memory; /* of the products, which run one after the other */

/* Returns XG_OK or XG_DECLINED. run: the set of operands, modulo their number. */
static enum xg_status launch(const struct xg_kernel *row, const struct resident *r, int run)
{
    CUdeviceptr set = r->dev.ptr + r->set_bytes * (size_t)(run % r->sets);
    struct xg_gemm_args gemm = device_gemm(&r->call, set, set + r->b_at, set + r->c_at);
    const struct xg_shape shape = xg_gemm_shape(&gemm);
    struct xg_choice choice = xg_select_row(row, &dev->facts, &shape);
    enum xg_status status = on_device_gemm(dev, &choice, &gemm, &memory, stream);
    if (status != XG_DECLINED)
        device_must(status, row->name);
    return status;
}

const struct xg_kernel *resident_row(const struct resident *r, enum xg_math math)
{
    struct xg_shape shape = xg_shape_of(&r->call, r->call.m, r->call.n, r->call.k);
    shape.unaligned = r->call.lda % 4 || r->call.ldb % 4 || r->call.ldc % 4;
    return xg_route_resident(&dev->facts, math, NULL, &shape).row;
}

/* Seconds of `runs` consecutive launches, by the device's clock. */
static double time_runs(const struct xg_kernel *row, const struct resident *r, int runs)
{
    static int turn;
    device_must(XG_DRV(&dev->drv, cuEventRecord, start_event, stream), "event");
    for (int i = 0; i < runs; i++, turn = (turn + 1) % SETS_MAX)
        launch(row, r, turn);
    device_must(XG_DRV(&dev->drv, cuEventRecord, stop_event, stream), "event");
    device_must(XG_DRV(&dev->drv, cuEventSynchronize, stop_event), row->name);
    float ms = 0.0f;
    device_must(
        xg_drv_status(&dev->drv, elapsed_ms(&ms, start_event, stop_event), "cuEventElapsedTime"),
        "event");
    return (double)ms * 1e-3;
}

/* Checks one run on poisoned memory; false if the row declines the operands. */
static bool judge_row(const struct xg_kernel *row, const struct resident *r, struct timing *timing)
{
    size_t bytes = r->c_elems * xg_type_bytes(r->call.type);
    device_must(
        XG_DRV(&dev->drv, cuMemsetD32Async, r->dev.ptr + r->c_at, 0x7ff80000, bytes / 4, stream),
        "poison");
    if (launch(row, r, 0) != XG_OK)
        return false;
    device_must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, r->c, r->dev.ptr + r->c_at, bytes, stream),
                "copy");
    device_must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), row->name);
    timing->there = true;
    struct xg_problem computed = r->call;
    computed.c = r->c;
    timing->error = xg_accuracy_error(&r->accuracy, &computed);
    return true;
}

/* Chooses the numbers of batches and runs that fill the budget, from the time of one run. */
static void deal_budget(struct timing *timing, double once_s, double budget_s)
{
    double share_s = budget_s / BATCHES_MAX;
    timing->runs = timing->batches = 1;
    if (once_s * 2 >= budget_s)
        return;
    if (once_s * 2 < share_s)
        timing->runs = share_s / once_s < RUNS_MAX ? (int)(share_s / once_s) : RUNS_MAX;
    double batches = budget_s / (once_s * timing->runs);
    timing->batches = batches < BATCHES_MAX ? (int)batches : BATCHES_MAX;
}

void resident_measure(const struct resident *r, const struct xg_kernel *const *rows, int count,
                      double budget_s, struct timing *timings)
{
    double batch[RESIDENT_TOGETHER][BATCHES_MAX];
    int batches = BATCHES_MAX;
    memset(timings, 0, (size_t)count * sizeof timings[0]);
    for (int i = 0; i < count; i++) {
        if (!judge_row(rows[i], r, &timings[i]))
            continue;
        deal_budget(&timings[i], time_runs(rows[i], r, 1), budget_s);
        batches = timings[i].batches < batches ? timings[i].batches : batches;
    }
    for (int b = 0; b < batches; b++)
        for (int turn = 0; turn < count; turn++) {
            int i = b % 2 ? count - 1 - turn : turn;
            if (timings[i].there)
                batch[i][b] = time_runs(rows[i], r, timings[i].runs) / timings[i].runs;
        }
    for (int i = 0; i < count; i++) {
        if (!timings[i].there)
            continue;
        timings[i].batches = batches;
        timings[i].median_us = median_sort(batch[i], batches) * 1e6;
        timings[i].least_us = batch[i][0] * 1e6;
    }
}
