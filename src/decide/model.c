/* SPDX-License-Identifier: MIT */
/*
 * CPU. A threaded BLAS packs A and B, computes, and writes C; its threads synchronize at every step
 * along k. The time of each part is proportional to a size, so the time of a product is a sum:
 *
 *   t = call + 2mnk / flops + 4(3.4 mn + mk + kn) / bytes + k * step * min(1, min(m, n) / 64)
 *
 * A narrow product keeps few threads busy, which synchronize less, and no product takes longer than
 * on one core. The figures below were fitted to 200 products of 8 to 8192 in each dimension in
 * OpenBLAS 0.3.26 on two hosts with 16 cores (Xeons with AVX-512). The standard deviation of the
 * error is a factor of 1.35 where CPU and GPU are close, and 1.4 over all; runs of one product
 * differ by 1.3. OpenBLAS uses one thread up to 64^3.
 *
 * A GEMV is bound by memory: t = call + max(2mn / flops, matrix / stream). OpenBLAS 0.3.29 read
 * 145 to 166 GB/s on one of these hosts, from 5000 x 5000 to 20000 x 4096 floats.
 *
 * GPU. Operands go up, kernels run and C comes back in overlapping pieces. The longest of the three
 * stages counts whole; of the others only the part that fills and drains the pipeline counts. That
 * part is the first row and column of a grid of pieces, so it falls with the square root of the
 * length. The figure gpu_fill_s says where the fall begins.
 *
 *   t = call + longest + (up + down + kernel - longest) * min(1, sqrt(fill / longest))
 *
 * The kernel's time is selection's prediction for the route's choice. For a batch of small
 * instances it is that of one product with the rows of all, which fill the device together. beta !=
 * 0 moves no more bytes: the host combines. tests/unit/model.c compares both sides with measured
 * times.
 */
#include "decide/model.h"

#include <limits.h>
#include <math.h>

#include "decide/tuning.h"

#define CPU_FLOPS_ALONE 140e9 /* one core, when the others rest */
#define CPU_FLOPS_CORE 60e9   /* what each further core adds */
#define CPU_ALONE_CALL_S 0.5e-6
#define CPU_BYTES_CORE 12e9
#define CPU_BYTES_ALL 91e9
#define CPU_STREAM 1.65      /* GEMV reads so many times as many bytes: it packs nothing */
#define CPU_RESULT_BYTES 3.4 /* a byte of C is read, written and shared: it counts as so many */
#define CPU_CALL_S 14.7e-6
#define CPU_STEP_S 0.092e-6
#define CPU_STEP_EXTENT 64.0

#define COPY_BYTES_CORE 8e9 /* one staging thread */
#define LINK_BYTES (XG_LINK_STAGED_SHARE * XG_REFERENCE_LINK_BYTES_PER_S)
/*
 * Measured on whole programs: exit takes 0.1 to 0.24 s longer if it waits for the kernel to close
 * the context. The start itself runs beside the program and takes part of a core.
 */
#define GPU_PRICE_S 0.22
#define GPU_PRICE_APART_S 0.05

static const struct xg_device_facts reference_device = {.sm = 90,
                                                        .sm_count = 132,
                                                        .smem_block_bytes = 227 << 10,
                                                        .fp64_ratio = 2,
                                                        .clusters = true,
                                                        .images = true};

void xg_model_init(struct xg_model *model, int cores)
{
    if (cores < 1)
        cores = 1;
    const struct xg_generation *generation = xg_generation_find(reference_device.sm, NULL);
    *model = (struct xg_model){
        .up_bytes_per_s = fmin(cores * COPY_BYTES_CORE, LINK_BYTES),
        .down_bytes_per_s = fmin(cores * COPY_BYTES_CORE, LINK_BYTES),
        .gpu_clock_hz = generation->fit->pipeline.clock_hz,
        .gpu_call_s = generation->fit->pipeline.call_s,
        .gpu_fill_s = generation->fit->pipeline.fill_s,
        .starts_s = {XG_TUNING_GPU_S, XG_TUNING_CUBLAS_S, XG_TUNING_CUSOLVER_S},
        .gpu_price_s = GPU_PRICE_S,
        .device = reference_device,
        .gpu_panels = generation->panels,
    };
    model->device.generation = generation;
    model->device.pieces = xg_select_emulated(&reference_device, XG_KERNEL_PIECES, NULL);
    xg_model_set_large(model);
    xg_model_set_threads(model, cores);
}

void xg_model_set_large(struct xg_model *model)
{
    const int64_t side = XG_MODEL_LARGE;
    for (int type = 0; type < XG_TYPE_COUNT; type++) {
        const struct xg_shape shape = {.m = side, .n = side, .k = side, .type = (enum xg_type)type};
        const struct xg_choice choice = xg_select(&model->device, XG_MATH_STRICT, NULL, &shape);
        model->large_cycles[type] =
            choice.row ? choice.cycles : xg_select_library_cycles(&model->device, &shape);
    }
}

void xg_model_set_threads(struct xg_model *model, int threads)
{
    if (threads < 1)
        threads = 1;
    model->cpu_flops = CPU_FLOPS_ALONE + (threads - 1) * CPU_FLOPS_CORE;
    model->cpu_bytes_per_s = fmin(threads * CPU_BYTES_CORE, CPU_BYTES_ALL);
    model->cpu_call_s = threads > 1 ? CPU_CALL_S : CPU_ALONE_CALL_S;
    model->cpu_threads = threads;
    model->cpu_step_s = threads > 1 ? CPU_STEP_S : 0.0;
}

void xg_model_leave_exit(struct xg_model *model)
{
    model->gpu_price_s = GPU_PRICE_APART_S;
}

static bool same_device(const struct xg_device_facts *a, const struct xg_device_facts *b)
{
    return a->sm == b->sm && a->sm_count == b->sm_count &&
           a->smem_block_bytes == b->smem_block_bytes;
}

void xg_model_set_device(struct xg_model *model, const struct xg_model_device *device)
{
    const struct xg_generation *generation = xg_facts_generation(&device->facts);
    const double clock_hz = generation->fit->pipeline.clock_hz;
    bool measured = model->gpu_measured && same_device(&model->device, &device->facts);
    model->device = device->facts;
    xg_model_set_large(model);
    model->gpu_panels = generation->panels;
    if (measured)
        return;
    if (!model->gpu_measured) {
        model->gpu_call_s = generation->fit->pipeline.call_s;
        model->gpu_fill_s = generation->fit->pipeline.fill_s;
    }
    model->gpu_measured = false;
    model->gpu_clock_hz = clock_hz;
    if (device->clock_hz > 0)
        model->gpu_clock_hz = clock_hz / generation->fit->pipeline.clock_most_hz * device->clock_hz;
    if (device->link_bytes_per_s > 0) {
        double link = XG_LINK_STAGED_SHARE * device->link_bytes_per_s;
        model->up_bytes_per_s = fmin(model->up_bytes_per_s, link);
        model->down_bytes_per_s = fmin(model->down_bytes_per_s, link);
    }
}

static double operand_bytes(const struct xg_problem *call)
{
    return xg_problem_up_elems(call) * (double)xg_problem_elem_bytes(call);
}

static double result_bytes(const struct xg_problem *call)
{
    return xg_problem_down_elems(call) * (double)xg_problem_elem_bytes(call);
}

static double flops_alone(const struct xg_model *model)
{
    return fmin(CPU_FLOPS_ALONE, model->cpu_flops);
}

double xg_model_even_mnk(const struct xg_model *model, double scale)
{
    return fmax(0.0, model->gpu_call_s / scale - CPU_ALONE_CALL_S) * flops_alone(model) / 2.0;
}

/* FLOPs of single precision that take as long as the call; a vector register holds half as many
 * doubles. */
static double cpu_flops_of(const struct xg_problem *call)
{
    return xg_problem_flops(call) * (xg_type_is_double(call->type) ? 2.0 : 1.0);
}

double xg_model_cpu_seconds(const struct xg_model *model, const struct xg_problem *call)
{
    double flops = cpu_flops_of(call);
    double streams = operand_bytes(call) / (CPU_STREAM * model->cpu_bytes_per_s);

    if ((double)call->m * (double)call->n * (double)call->k <= XG_MODEL_ALONE_MNK)
        return CPU_ALONE_CALL_S + flops / flops_alone(model);
    if (call->op == XG_OP_GEMV)
        return model->cpu_call_s + fmax(flops / model->cpu_flops, streams);
    double busy = fmin(1.0, (double)xg_min_i64(call->m, call->n) / CPU_STEP_EXTENT);
    double all =
        model->cpu_call_s + flops / model->cpu_flops +
        (operand_bytes(call) + CPU_RESULT_BYTES * result_bytes(call)) / model->cpu_bytes_per_s +
        (double)call->k * model->cpu_step_s * busy;
    return fmin(all, CPU_ALONE_CALL_S + 2.0 * flops / flops_alone(model));
}

/* As fmax and fmin, but without a function call: a decision takes 0.2 us in all. */
static double larger(double x, double y)
{
    return x > y ? x : y;
}

static double smaller(double x, double y)
{
    return x < y ? x : y;
}

/* Makes *one what the device computes as one product: an instance of a batch whose instances run
 * one after the other, or all rows of a batch. */
static void state_as_one(struct xg_problem *one, struct xg_device_facts *facts)
{
    if (xg_problem_is_in_place(one) || xg_type_is_complex(one->type))
        facts->cublas = true; /* such a problem runs there once cuBLAS is loaded */
    if (xg_route_is_one_by_one(one))
        *one = xg_problem_instance(one, 0);
    else if (one->batch)
        facts->pieces = facts->residues = NULL; /* may_emulate in route.c */
    one->batch = NULL;
}

double xg_model_route_seconds(const struct xg_model *model, const struct xg_conf *conf,
                              int staging_threads, const struct xg_problem *call,
                              struct xg_recent *recent, struct xg_route *route)
{
    const struct xg_device_facts *facts = &model->device;
    const struct xg_problem *one = call;
    struct xg_device_facts changed;
    struct xg_problem part;
    if (call->batch || xg_problem_is_in_place(call) || xg_type_is_complex(call->type)) {
        changed = *facts;
        part = *call;
        state_as_one(&part, &changed);
        facts = &changed;
        one = &part;
    }
    xg_route_decide(route, recent, facts, conf->math, conf->kernel, one);
    double cycles =
        route->whole.row ? route->whole.cycles : xg_select_library_cycles(facts, &route->shape);
    double whole = (double)one->m * (double)one->n * (double)one->k;
    double share = xg_problem_products(call) / whole;
    double launches = (double)(xg_problem_instances(call) - 1) *
                      xg_facts_fit(&model->device)->pipeline.instance_s;
    double kernel = larger(share * cycles / model->gpu_clock_hz, launches);
    double copies = COPY_BYTES_CORE * (staging_threads > 1 ? staging_threads : 1);
    double travels = xg_problem_travel_elems(call, false) + xg_problem_travel_elems(call, true);
    double up =
        travels * (double)xg_problem_elem_bytes(call) / smaller(model->up_bytes_per_s, copies);
    double down = result_bytes(call) / smaller(model->down_bytes_per_s, copies);
    double longest = larger(larger(up, down), kernel);
    double hidden = up + down + kernel - longest;

    return model->gpu_call_s + longest + hidden * smaller(1.0, sqrt(model->gpu_fill_s / longest));
}

double xg_model_gpu_seconds(const struct xg_model *model, enum xg_math math,
                            const struct xg_problem *call)
{
    const struct xg_conf conf = {.math = math};
    struct xg_route route;
    return xg_model_route_seconds(model, &conf, INT_MAX, call, NULL, &route);
}
