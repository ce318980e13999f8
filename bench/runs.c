/* SPDX-License-Identifier: MIT */
/*
 * Measures the pipeline's computation without transfers: the runs of a plan with all panels on the
 * device, compared with the single cuBLAS call of a program with its matrices on the device.
 *
 *   bench/runs --math strict,accurate ssyrk:4096 dsyrk:4096 dgemm:4096
 *
 * --whole: one run instead of the plan's runs, which are cut for arriving panels.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "device.h"
#include "median.h"
#include "random.h"
#include "src/compute/backend.h"
#include "src/compute/cublas.h"
#include "src/compute/runner.h"
#include "src/compute/toolkit.h"
#include "src/decide/planner.h"
#include "src/device/mem.h"
#include "src/pipeline/pipe.h"

static const char *const default_cases[] = {
    "sgemm:4096",    "ssyrk:2048", "ssyrk:4096", "ssyrk:4096:ut", "ssyrk:4096:ln",
    "ssyrk:4096:lt", "ssyrk:8192", "dsyrk:2048", "dsyrk:4096",    "dsyrk:8192",
};

static struct {
    int turns;
    unsigned math_mask; /* one bit for each enum xg_math */
    const char *csv, *commit, *kernel;
    bool whole; /* a plan of one run */
} options = {
    .turns = 5, .math_mask = 1u << XG_MATH_STRICT | 1u << XG_MATH_ACCURATE, .commit = "unknown"};

static const struct {
    const char *name;
    enum xg_math math;
} maths[] = {{"strict", XG_MATH_STRICT}, {"accurate", XG_MATH_ACCURATE}};
enum { MATHS = sizeof maths / sizeof maths[0] };

static struct xg_dev *dev;
static CUstream streams[1 + XG_PIPE_RUN_STREAMS]; /* the timed stream, and those of runs */
static CUevent fork_event, join_events[XG_PIPE_RUN_STREAMS];
static void *cublas_handle, *cublas_library;

static void must(enum xg_status status, const char *what)
{
    if (status == XG_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, xg_status_name(status));
    exit(EXIT_FAILURE);
}

/* --- Opening ------------------------------------------------------------------------------- */

static void open_all(void)
{
    must(xg_backend_open(xg_conf_get(), &dev), "device");
    must(xg_dev_enter(dev), "context");
    for (int i = 0; i <= XG_PIPE_RUN_STREAMS; i++)
        streams[i] = device_stream(dev);
    must(XG_DRV(&dev->drv, cuEventCreate, &fork_event, CU_EVENT_DISABLE_TIMING), "event");
    for (int i = 0; i < XG_PIPE_RUN_STREAMS; i++)
        must(XG_DRV(&dev->drv, cuEventCreate, &join_events[i], CU_EVENT_DISABLE_TIMING), "event");
    int (*create)(void **) = NULL, (*set_stream)(void *, CUstream) = NULL;
    if ((cublas_library = xg_toolkit_open(XG_TOOLKIT_CUBLAS))) {
        *(void **)&create = dlsym(cublas_library, "cublasCreate_v2");
        *(void **)&set_stream = dlsym(cublas_library, "cublasSetStream_v2");
    }
    if (!create || !set_stream || create(&cublas_handle) || set_stream(cublas_handle, streams[0]))
        must(XG_ERR_NOTFOUND, "cuBLAS");
}

/* --- A problem on the device --------------------------------------------------------------- */

/* Converts a column-major call to the row-major problem, like the shim. */
static struct xg_problem problem_of(const struct blas_call *call)
{
    enum xg_type type = call->type == 'd' ? XG_TYPE_D : XG_TYPE_S;
    struct xg_problem p = {.type = type, .alpha = 1, .k = call->k, .ldc = blas_c(call).rows};
    if (call->routine->family == BLAS_SYRK) {
        p.op = XG_OP_SYRK;
        p.uplo = call->letters[0] == 'u' ? XG_LOWER : XG_UPPER;
        p.transa = call->letters[1] == 'n';
        p.transb = !p.transa;
        p.m = p.n = call->n;
        p.lda = p.ldb = blas_a(call).rows;
    } else {
        p.op = XG_OP_GEMM;
        p.transa = call->letters[1] != 'n';
        p.transb = call->letters[0] != 'n';
        p.m = call->n;
        p.n = call->m;
        p.lda = blas_b(call).rows;
        p.ldb = blas_a(call).rows;
    }
    return p;
}

/* The plan and its product; the operands as cuBLAS reads them, and in the plan's memory.
 */
struct resident {
    struct blas_call call;
    struct xg_problem problem;
    struct xg_plan plan;
    struct xg_route route;
    struct xg_runner product;
    struct xg_mem_dev operands, memory;
    void *refusals;
    void *function; /* cuBLAS's */
};

static size_t operand_bytes(const struct blas_call *call, struct blas_extent extent)
{
    return (size_t)extent.rows * (size_t)extent.columns * blas_elem_bytes(call->type);
}

static void upload_random(CUdeviceptr to, const struct blas_call *call, struct blas_extent extent)
{
    size_t elems = (size_t)extent.rows * (size_t)extent.columns;
    if (elems == 0)
        return;
    float *matrix = random_matrix(elems);
    double *wide = call->type == 'd' ? malloc(elems * sizeof *wide) : NULL;
    for (size_t i = 0; wide && i < elems; i++)
        wide[i] = (double)matrix[i] + 0x1p-30 * (double)matrix[elems - 1 - i];
    must(XG_DRV(&dev->drv, cuMemcpyHtoDAsync, to, wide ? (void *)wide : matrix,
                operand_bytes(call, extent), streams[0]),
         "copy");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, streams[0]), "copy");
    free(wide);
    free(matrix);
}

/* Copies a stored matrix of (rows,columns) with contiguous rows to its location in the plan's
 * memory. */
static void place(const struct resident *r, CUdeviceptr from, CUdeviceptr to, int64_t rows,
                  int64_t columns, int64_t ld)
{
    size_t bytes = xg_problem_elem_bytes(&r->problem);
    must(xg_mem_dev_copy(dev, to, (size_t)ld * bytes, from, (size_t)columns * bytes,
                         (size_t)columns * bytes, (size_t)rows, streams[0]),
         "copy");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, streams[0]), "copy");
}

/* Places the operands like the pipeline; rows whose length is not a multiple of 4 are followed by
 * zeros. */
static void place_operands(struct resident *r)
{
    const struct xg_problem *p = &r->problem;
    const struct xg_plan *plan = &r->plan;
    size_t bytes = xg_problem_elem_bytes(p);
    size_t words = (plan->a_elems + plan->b_elems) * bytes / sizeof(uint32_t);
    must(XG_DRV(&dev->drv, cuMemsetD32Async, r->memory.ptr, 0, words, streams[0]), "zeros");
    const struct blas_call *call = &r->call;
    bool gemm = p->op == XG_OP_GEMM;
    CUdeviceptr second = r->operands.ptr + operand_bytes(call, blas_a(call));
    CUdeviceptr a = gemm ? second : r->operands.ptr, b = r->operands.ptr;
    place(r, a, r->memory.ptr, p->transa ? p->k : p->m, p->transa ? p->m : p->k, plan->lda);
    if (!plan->b_is_a)
        place(r, b, r->memory.ptr + plan->a_elems * bytes, p->transb ? p->n : p->k,
              p->transb ? p->k : p->n, plan->ldb);
}

/* Plans all of C in one tile, like a program with its matrices on the device. */
static void plan_whole(struct xg_plan *plan, const struct xg_problem *p)
{
    struct xg_plan whole = *plan;
    whole.loads = calloc(2, sizeof *whole.loads);
    whole.runs = calloc(1, sizeof *whole.runs);
    whole.tiles = calloc(1, sizeof *whole.tiles);
    if (!whole.loads || !whole.runs || !whole.tiles)
        must(XG_ERR_NOMEM, "plan");
    whole.sweeps = false;
    whole.tm = p->m, whole.tn = p->n, whole.tk = p->k;
    whole.mt = whole.nt = whole.kt = 1;
    whole.a_slots = 1;
    whole.b_slots = !whole.b_is_a;
    whole.load_count = whole.b_is_a ? 1 : 2;
    whole.run_count = whole.tile_count = 1;
    whole.loads[1].b = true;
    whole.runs[0].first = whole.runs[0].last = true;
    whole.tiles[0] = (struct xg_plan_tile){.rows = p->m, .columns = p->n, .ld = xg_plan_ld(p->n)};
    whole.c_slots = 1;
    whole.tile_elems = xg_plan_matrix_elems(p->m, xg_plan_ld(p->n));
    whole.device_bytes = (size_t)xg_plan_bytes(&whole);
    xg_plan_fini(plan);
    *plan = whole;
}

/* False if the plan does not keep the operands whole on the device. */
static bool resident_create(struct resident *r, enum xg_math math)
{
    const struct blas_call *call = &r->call;
    const struct xg_plan_limits limits = {.device_bytes = xg_mem_dev_available(dev, &r->memory),
                                          .row_bytes = (size_t)4 << 20};
    size_t a = operand_bytes(call, blas_a(call)), b = operand_bytes(call, blas_b(call));
    r->problem = problem_of(call);
    must(xg_mem_dev_reserve(dev, &r->operands, a + b + operand_bytes(call, blas_c(call))),
         "memory");
    upload_random(r->operands.ptr, call, blas_a(call));
    upload_random(r->operands.ptr + a, call, blas_b(call));
    must(xg_plan_init(&r->plan, &r->problem, &limits), "plan");
    if (r->plan.resident && options.whole)
        plan_whole(&r->plan, &r->problem);
    if (!r->plan.resident || r->plan.device_bytes > limits.device_bytes)
        return false;
    struct xg_device_facts facts = dev->facts;
    facts.cublas = xg_cublas_present(dev);
    xg_route_decide(&r->route, &facts, math, options.kernel, &r->problem);
    r->product =
        (struct xg_runner){.dev = dev, .call = &r->problem, .plan = &r->plan, .route = &r->route};
    size_t bytes = r->plan.device_bytes;
    size_t of_pieces = r->route.pieces ? xg_runner_split_bytes(&r->plan, &r->problem) : 0;
    bool splits = r->route.pieces && of_pieces <= limits.device_bytes;
    must(xg_mem_dev_reserve(dev, &r->memory, splits ? of_pieces : bytes), "memory");
    must(xg_mem_pinned_alloc(dev, XG_RUNNER_REFUSALS * sizeof(uint32_t), &r->refusals), "memory");
    r->product.base = r->memory.ptr;
    r->product.refusals = r->refusals;
    must(xg_runner_init(&r->product, splits), "product");
    place_operands(r);
    char name[32];
    blas_name(call, BLAS_CUBLAS, name, sizeof name);
    if (!(r->function = dlsym(cublas_library, name)))
        must(XG_ERR_NOTFOUND, name);
    r->call.a = (const void *)(uintptr_t)r->operands.ptr;
    r->call.b = (const void *)(uintptr_t)(r->operands.ptr + a);
    r->call.c = (void *)(uintptr_t)(r->operands.ptr + a + b);
    return true;
}

static void resident_destroy(struct resident *r)
{
    xg_runner_fini(&r->product);
    xg_plan_fini(&r->plan);
    xg_mem_pinned_free(dev, r->refusals);
    xg_mem_dev_release(dev, &r->memory);
    xg_mem_dev_release(dev, &r->operands);
}

/* --- What is timed -------------------------------------------------------------------------- */

static CUdeviceptr tile_address(const struct resident *r, const struct xg_plan_tile *tile)
{
    const struct xg_plan *plan = &r->plan;
    size_t elems = plan->a_elems + plan->b_elems + (size_t)tile->slot * plan->tile_elems;
    return r->memory.ptr + elems * (size_t)plan->elem_bytes;
}

static void each_waits(CUstream stream)
{
    must(XG_DRV(&dev->drv, cuEventRecord, fork_event, stream), "event");
    for (int i = 0; i < XG_PIPE_RUN_STREAMS; i++)
        must(XG_DRV(&dev->drv, cuStreamWaitEvent, streams[1 + i], fork_event, 0), "event");
}

static void wait_for_each(CUstream stream)
{
    for (int i = 0; i < XG_PIPE_RUN_STREAMS; i++) {
        must(XG_DRV(&dev->drv, cuEventRecord, join_events[i], streams[1 + i]), "event");
        must(XG_DRV(&dev->drv, cuStreamWaitEvent, stream, join_events[i], 0), "event");
    }
}

/* Enqueues splits and runs, the latter on as many streams as in the pipeline. Tiles that share a
 * slot use one stream, because no copy down separates them here. */
static enum xg_status run_plan(void *arg, CUstream stream)
{
    struct resident *r = arg;
    if (r->product.split)
        for (int64_t i = 0; i < r->plan.load_count; i++)
            must(xg_runner_arrived(&r->product, &r->plan.loads[i], stream), "split");
    each_waits(stream);
    for (int64_t i = 0; i < r->plan.run_count; i++) {
        const struct xg_plan_run *run = &r->plan.runs[i];
        must(xg_runner_run(&r->product, run, tile_address(r, &r->plan.tiles[run->tile]),
                           streams[1 + r->plan.tiles[run->tile].slot % XG_PIPE_RUN_STREAMS]),
             "run");
    }
    wait_for_each(stream);
    return XG_OK;
}

static enum xg_status run_cublas(void *arg, CUstream stream)
{
    (void)stream; /* cuBLAS has it */
    struct resident *r = arg;
    return blas_run(&r->call, BLAS_CUBLAS, r->function, cublas_handle) ? XG_ERR_DRIVER : XG_OK;
}

/* --- Judging -------------------------------------------------------------------------------- */

static double element(const struct resident *r, const void *matrix, int64_t at)
{
    return r->call.type == 'd' ? ((const double *)matrix)[at] : (double)((const float *)matrix)[at];
}

static void *download(CUdeviceptr from, size_t bytes)
{
    void *matrix = malloc(bytes);
    if (!matrix)
        must(XG_ERR_NOMEM, "result");
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, matrix, from, bytes, streams[0]), "copy");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, streams[0]), "copy");
    return matrix;
}

/* |C - C_cublas| / |C_cublas| of the last complete tile. */
static double distance(const struct resident *r)
{
    const struct xg_plan_tile *tile = &r->plan.tiles[r->plan.tile_count - 1];
    size_t bytes = (size_t)(tile->rows * tile->ld) * xg_problem_elem_bytes(&r->problem);
    void *ours = download(tile_address(r, tile), bytes);
    void *theirs =
        download((CUdeviceptr)(uintptr_t)r->call.c, operand_bytes(&r->call, blas_c(&r->call)));
    double apart = 0, norm = 0;
    for (int64_t i = 0; i < tile->rows; i++)
        for (int64_t j = 0; j < tile->columns; j++) {
            int64_t row = tile->row + i, column = tile->column + j;
            if (r->problem.uplo != XG_FULL && (r->problem.uplo == XG_LOWER) != (row >= column) &&
                row != column)
                continue;
            double right = element(r, theirs, row * r->problem.ldc + column);
            double off = element(r, ours, i * tile->ld + j) - right;
            apart += off * off;
            norm += right * right;
        }
    free(ours);
    free(theirs);
    return sqrt(apart / norm);
}

/* --- Reporting ------------------------------------------------------------------------------ */

/* False: a wrong result. */
static bool measure(const char *text, int math, FILE *csv)
{
    enum { TURNS_MAX = 99 };
    static struct resident r;
    double ours[TURNS_MAX], theirs[TURNS_MAX];
    r = (struct resident){0};
    blas_parse(&r.call, text);
    if (!resident_create(&r, maths[math].math)) {
        printf("%-22s %-9s not resident\n", text, maths[math].name);
        return true;
    }
    for (int turn = 0; turn < options.turns; turn++) {
        ours[turn] = device_seconds(dev, streams[0], run_plan, &r);
        theirs[turn] = device_seconds(dev, streams[0], run_cublas, &r);
    }
    double apart = distance(&r), flops = blas_flops(&r.call) * 1e-12;
    double own = median_sort(ours, options.turns), cublas = median_sort(theirs, options.turns);
    bool right = apart <= (r.call.type == 'd' ? 1e-13 : 1e-5);
    const char *row = r.product.kernel ? r.product.kernel->name : "-";
    printf("%-22s %-9s %-20s %5lld %9.4f %8.2f %9.4f %8.2f %7.3f%s\n", text, maths[math].name, row,
           (long long)r.plan.tile_count, 1e3 * own, flops / own, 1e3 * cublas, flops / cublas,
           cublas / own, right ? "" : " WRONG");
    fflush(stdout);
    if (csv)
        fprintf(csv, "%s,%s,%s,%lld,%.5f,%.3f,%.5f,%.3f,%.4f,%.3g\n", text, maths[math].name, row,
                (long long)r.plan.tile_count, 1e3 * own, flops / own, 1e3 * cublas, flops / cublas,
                cublas / own, apart);
    resident_destroy(&r);
    return right;
}

static bool parse_options(int argc, char **argv)
{
    static const struct option names[] = {{"turns", 1, NULL, 't'},
                                          {"math", 1, NULL, 'm'},
                                          {"kernel", 1, NULL, 'k'},
                                          {"csv", 1, NULL, 'c'},
                                          {"commit", 1, NULL, 'i'},
                                          {"whole", 0, NULL, 'w'},
                                          {0}};
    for (int which; (which = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (which) {
        case 't':
            options.turns = atoi(optarg);
            break;
        case 'm':
            options.math_mask = 0;
            for (int math = 0; math < MATHS; math++)
                if (strstr(optarg, maths[math].name))
                    options.math_mask |= 1u << maths[math].math;
            break;
        case 'k':
            options.kernel = optarg;
            break;
        case 'w':
            options.whole = true;
            break;
        case 'c':
            options.csv = optarg;
            break;
        case 'i':
            options.commit = optarg;
            break;
        default:
            return false;
        }
    return options.turns > 0 && options.turns < 100 && options.math_mask;
}

int main(int argc, char **argv)
{
    struct blas_call call;
    bool right = parse_options(argc, argv);
    const char *const *cases = optind < argc ? (const char *const *)(argv + optind) : default_cases;
    int count =
        optind < argc ? argc - optind : (int)(sizeof default_cases / sizeof default_cases[0]);
    for (int i = 0; right && i < count; i++)
        right = blas_parse(&call, cases[i]) && strchr("sd", call.type) &&
                (call.routine->family == BLAS_GEMM || call.routine->family == BLAS_SYRK);
    if (!right) {
        fprintf(stderr,
                "usage: runs [--whole] [--math strict,accurate] [--kernel NAME] [--turns N] "
                "[--csv FILE] [--commit ID] [CALL...]\nA CALL: ssyrk:4096, dsyrk:4096x512:lt, "
                "dgemm:100x200x300:tn\n");
        return EXIT_FAILURE;
    }
    open_all();
    FILE *csv = options.csv ? fopen(options.csv, "w") : NULL;
    FILE *heads[] = {stdout, csv};
    for (int i = 0; i < 2 && heads[i]; i++)
        fprintf(heads[i], "# %s, commit %s; ms on the device, medians of %d turns\n", dev->name,
                options.commit, options.turns);
    printf("%-22s %-9s %-20s %5s %9s %8s %9s %8s %7s\n", "call", "math", "first row", "tiles", "ms",
           "TFLOP/s", "cuBLAS ms", "TFLOP/s", "x");
    if (csv)
        fprintf(csv, "call,math,row,tiles,ms,tflops,cublas_ms,cublas_tflops,ratio,apart\n");
    for (int i = 0; i < count; i++)
        for (int math = 0; math < MATHS; math++)
            if (options.math_mask & 1u << maths[math].math &&
                (maths[math].math == XG_MATH_STRICT || cases[i][0] == 's'))
                right &= measure(cases[i], math, csv);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
