/* SPDX-License-Identifier: MIT */
#include "forecast.h"

#include <math.h>
#include <stdlib.h>

#include "src/decide/decide.h"
#include "src/decide/tuning.h"

/* A thread of the program: how much later than on the CPU its last call ended. */
struct thread {
    bool known;
    double shift_s;
};

struct run {
    struct xg_policy policy;
    double begun_s[XG_RESOURCE_COUNT]; /* of starts; HUGE_VAL: not yet */
    double free_s[XG_POLICY_LANES];    /* when the lanes are free again */
    unsigned used;                     /* resources of calls on the GPU */
    struct thread *threads;
    double now_s; /* the latest begin so far: the policy's clock never goes back */
};

static double ready_s(const struct run *run, int resource)
{
    return run->begun_s[resource] + run->policy.model.starts_s[resource];
}

static int state_of(const struct run *run, int resource, double now_s)
{
    return now_s >= ready_s(run, resource) ? 2 : now_s >= run->begun_s[resource];
}

static struct xg_situation look(const struct run *run, const struct xg_tape_call *call, int cores)
{
    static const enum xg_engine_state engine[] = {XG_ENGINE_COLD, XG_ENGINE_STARTING,
                                                  XG_ENGINE_READY};
    static const enum xg_library_state library[] = {XG_LIBRARY_COLD, XG_LIBRARY_UNDER_WAY,
                                                    XG_LIBRARY_READY};
    return (struct xg_situation){
        .now_s = run->now_s,
        .absence = XG_REASON_EARNING,
        .state = engine[state_of(run, XG_RESOURCE_GPU, run->now_s)],
        .cublas = library[state_of(run, XG_RESOURCE_CUBLAS, run->now_s)],
        .cusolver = library[state_of(run, XG_RESOURCE_CUSOLVER, run->now_s)],
        .cpu_threads = call->cpu_threads,
        .spin_s = call->spin_s,
        .pool_is_shared = call->pool_is_shared,
        .under_way = call->under_way,
        .cores = cores,
        .cores_left = call->cores_left,
    };
}

/* When all that the call needs is ready. */
static double all_ready_s(const struct run *run, unsigned needs)
{
    double latest_s = 0;
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        if (needs & 1u << i)
            latest_s = fmax(latest_s, ready_s(run, i));
    return latest_s;
}

/* What a call takes on the CPU: a start beside it slows it down. */
static double cpu_s(const struct run *run, const struct xg_tape_call *call)
{
    double left_s = 0;
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        if (run->begun_s[i] <= run->now_s)
            left_s = fmax(left_s, ready_s(run, i) - run->now_s);
    return call->seconds + XG_TUNING_BESIDE * fmin(left_s, call->seconds / (1 - XG_TUNING_BESIDE));
}

/* Runs a call, and returns its end. */
static double run_call(struct run *run, const struct xg_tape_call *from, int cores, bool *on_gpu)
{
    struct xg_batch batch = from->batch;
    struct xg_problem problem = from->problem;
    if (!from->is_routine && batch.count)
        problem.batch = &batch;
    const struct xg_call call = {.problem = from->is_routine ? NULL : &problem,
                                 .routine = from->is_routine ? &from->routine : NULL};
    static const struct xg_conf conf; /* the defaults */
    const struct xg_situation now = look(run, from, cores);
    struct xg_decision decision;
    xg_decide(&run->policy, &conf, &call, &now, &decision);
    for (int i = 0; decision.start && i < XG_RESOURCE_COUNT; i++)
        if (decision.needs & 1u << i)
            run->begun_s[i] = fmin(run->begun_s[i], run->now_s);

    double *lane = &run->free_s[run->free_s[1] < run->free_s[0]];
    double begin_s = run->now_s;
    *on_gpu = decision.place == XG_PLACE_GPU;
    if (*on_gpu && decision.wait)
        begin_s = fmax(begin_s, all_ready_s(run, decision.needs));
    *on_gpu = *on_gpu && *lane - begin_s <= decision.waits_s;
    double takes_s = cpu_s(run, from);
    if (*on_gpu) {
        begin_s = fmax(begin_s, *lane);
        takes_s = decision.model_s[XG_SIDE_GPU] + decision.loops_s;
        *lane = begin_s + takes_s;
        run->used |= decision.needs;
    }
    xg_decide_observe(&run->policy, *on_gpu ? XG_SIDE_GPU : XG_SIDE_CPU, &call, &decision, takes_s,
                      begin_s + takes_s);
    return begin_s + takes_s;
}

static int thread_count(const struct xg_tape_call *calls, size_t count)
{
    int most = 0;
    for (size_t i = 0; i < count; i++)
        most = calls[i].thread > most ? calls[i].thread : most;
    return most + 1;
}

/* A thread's first call comes after the last call, of any thread, that had ended before it. */
static struct thread *find_thread(struct run *run, const struct xg_tape_call *calls, size_t at,
                                  const double *ends_s)
{
    struct thread *thread = &run->threads[calls[at].thread];
    double last_s = 0;
    for (size_t i = 0; !thread->known && i < at; i++) {
        const double end_s = calls[i].begin_s + calls[i].seconds;
        if (end_s > calls[at].begin_s || end_s < last_s)
            continue;
        last_s = end_s;
        thread->shift_s = ends_s[i] - end_s;
    }
    thread->known = true;
    return thread;
}

bool forecast_run(const struct xg_tape_call *calls, size_t count, int cores, const struct gpu *gpu,
                  bool ready, struct forecast *forecast)
{
    struct run *run = calloc(1, sizeof *run);
    double *ends_s = calloc(count + 1, sizeof *ends_s), plain_s = 0, last_s = 0;
    const struct xg_model_device device = gpu_describe(gpu);
    bool whole = run && ends_s;
    *forecast = (struct forecast){0};
    if (whole)
        whole = (run->threads = calloc((size_t)thread_count(calls, count), sizeof *run->threads)) !=
                NULL;
    if (whole) {
        xg_model_init(&run->policy.model, cores);
        xg_model_leave_exit(&run->policy.model);
        xg_model_set_device(&run->policy.model, &device);
        for (int i = 0; i < XG_RESOURCE_COUNT; i++)
            run->begun_s[i] = ready ? -HUGE_VAL : HUGE_VAL;
    }
    for (size_t i = 0; whole && i < count; i++) {
        const struct xg_tape_call *call = &calls[i];
        struct thread *thread = find_thread(run, calls, i, ends_s);
        bool on_gpu;
        run->now_s = fmax(run->now_s, call->begin_s + thread->shift_s);
        ends_s[i] = run_call(run, call, cores, &on_gpu);
        thread->shift_s = ends_s[i] - (call->begin_s + call->seconds);
        plain_s = fmax(plain_s, call->begin_s + call->seconds);
        last_s = fmax(last_s, ends_s[i]);
        forecast->gpu_calls += on_gpu;
    }
    forecast->saved_s = plain_s - last_s;
    for (int i = 0; whole && i < XG_RESOURCE_COUNT; i++)
        forecast->starts_s += run->used & 1u << i ? run->policy.model.starts_s[i] : 0;
    if (run)
        free(run->threads);
    free(run);
    free(ends_s);
    return whole;
}
