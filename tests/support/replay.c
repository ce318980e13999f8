/* SPDX-License-Identifier: MIT */
/* Replays a fixture: threads that take turns by simulated time, two lanes, and the policy. */
/*
 * What is not simulated: that products which run at once slow each other, beyond what their
 * measured times hold; the library's threads that wake up late; products that the dispatcher keeps
 * on the CPU for a hundred calls without asking (they are asked about here).
 */
#include "replay.h"

#include <math.h>
#include <stdlib.h>

#include "src/decide/decide.h"

#define SMALL_MNK 262144.0 /* OpenBLAS computes up to 64^3 on the calling thread */
#define CLOCK_BEGINS_S 1000.0

enum side { SIDE_CPU, SIDE_GPU, SIDE_POLICY };

enum phase {
    PHASE_NOT_YET, /* its first product waits for a product of another thread */
    PHASE_BEGINS,  /* a product, at at_s */
    PHASE_ENGINE,  /* waits for it until at_s */
    PHASE_LANE,    /* waits for one */
    PHASE_RUNS,    /* until at_s */
    PHASE_DONE
};

/* One thread of the program. */
struct worker {
    enum phase phase;
    double at_s;
    size_t product; /* that it is at */
    double began_s, ran_s;
    double takes_s; /* what it is expected to take on a lane */
    long turn;      /* among those that wait for a lane */
    bool on_gpu, asked;
    struct xg_decision decision; /* where asked */
};

struct simulation {
    const struct replay_fixture *fixture;
    enum side side;
    FILE *products; /* or NULL */
    struct worker workers[REPLAY_THREADS_MAX];
    double ready_s, spins_until_s;
    bool started;
    int lanes_busy;
    double ahead_s; /* as in src/engine/engine.c */
    long turns;
    struct xg_policy policy;
    /* A product each: when it began, how long its caller waited for it, and its place. */
    double *began_s, *took_s;
    bool *on_gpu;
};

static const struct replay_product *product_of(const struct simulation *sim,
                                               const struct worker *worker)
{
    return &sim->fixture->products[worker->product];
}

static bool is_small(const struct replay_product *product)
{
    return (double)product->m * (double)product->n * (double)product->k <= SMALL_MNK;
}

static bool is_ready(const struct simulation *sim, double now_s)
{
    return sim->side == SIDE_GPU || (sim->started && now_s >= sim->ready_s);
}

/* --- The policy: all that is asked of it, as src/dispatch.c does ---------------------------- */

/* Products that run or wait for a lane, and the cores that those on the CPU use. */
static int under_way(const struct simulation *sim)
{
    int count = 0;
    for (int i = 0; i < sim->fixture->threads; i++)
        count += sim->workers[i].phase == PHASE_RUNS || sim->workers[i].phase == PHASE_LANE;
    return count;
}

static int cpu_cores(const struct simulation *sim)
{
    int cores = 0;
    for (int i = 0; i < sim->fixture->threads; i++)
        if (sim->workers[i].phase == PHASE_RUNS && !sim->workers[i].on_gpu)
            cores += is_small(product_of(sim, &sim->workers[i])) ? 1 : sim->fixture->cpu_threads;
    return cores;
}

static struct xg_problem call_of(const struct simulation *sim, const struct worker *worker)
{
    const struct replay_product *product = product_of(sim, worker);
    return (struct xg_problem){.alpha = 1.0f,
                               .m = product->m,
                               .lda = product->m,
                               .n = product->n,
                               .ldc = product->n,
                               .k = product->k,
                               .ldb = product->k};
}

/* False: the product is below the policy's floor. */
static bool decide(struct simulation *sim, struct worker *worker, double now_s)
{
    static const struct xg_conf conf; /* the defaults */
    enum xg_engine_state state = is_ready(sim, now_s) ? XG_ENGINE_READY
                                 : sim->started       ? XG_ENGINE_STARTING
                                                      : XG_ENGINE_COLD;
    const struct xg_situation now = {
        .now_s = now_s,
        .state = state,
        .cpu_threads = sim->fixture->cpu_threads,
        .spin_s = sim->fixture->spin_s,
        .under_way = under_way(sim) + 1,
        .cores = sim->fixture->cores,
        .cores_left = (int)fmax(1, sim->fixture->cores - cpu_cores(sim)),
    };
    const struct xg_problem call = call_of(sim, worker);
    if ((double)call.m * (double)call.n * (double)call.k <
        xg_decide_floor_mnk(&sim->policy, &conf, state))
        return false;
    xg_decide(&sim->policy, &conf, &(struct xg_call){.problem = &call}, &now, &worker->decision);
    return true;
}

/* --- The two sides -------------------------------------------------------------------------- */

static void run_cpu(struct simulation *sim, struct worker *worker, double now_s)
{
    const struct replay_product *product = product_of(sim, worker);
    worker->on_gpu = false;
    worker->phase = PHASE_RUNS;
    worker->ran_s = now_s;
    worker->at_s = now_s + product->cpu_s;
    if (sim->fixture->cpu_threads > 1 && !is_small(product))
        sim->spins_until_s = fmax(sim->spins_until_s, worker->at_s + sim->fixture->spin_s);
}

/* Runs a product on its lane. It runs faster from the moment when the threads fall asleep. */
static void run_gpu(struct simulation *sim, struct worker *worker, double now_s)
{
    const struct replay_product *product = product_of(sim, worker);
    double spins_s = fmin(fmax(0.0, sim->spins_until_s - now_s), product->gpu_busy_s);
    sim->lanes_busy++;
    worker->on_gpu = true;
    worker->phase = PHASE_RUNS;
    worker->ran_s = now_s;
    worker->at_s = now_s + spins_s + product->gpu_s * (1.0 - spins_s / product->gpu_busy_s);
}

/* Like acquire_lane in src/engine/engine.c, with unlimited patience. */
static void take_lane(struct simulation *sim, struct worker *worker, double now_s)
{
    bool decided = sim->side == SIDE_POLICY;
    const struct xg_decision *decision = &worker->decision;
    double waits_s = !decided || decision->wait ? HUGE_VAL : decision->waits_s;
    worker->takes_s = decided ? decision->gpu_s : product_of(sim, worker)->gpu_s;
    bool waits = sim->ahead_s / REPLAY_LANES < waits_s;
    if (!is_ready(sim, now_s) || (sim->lanes_busy == REPLAY_LANES && !waits)) {
        run_cpu(sim, worker, now_s);
        return;
    }
    sim->ahead_s += worker->takes_s;
    if (sim->lanes_busy < REPLAY_LANES) {
        run_gpu(sim, worker, now_s);
        return;
    }
    worker->phase = PHASE_LANE;
    worker->turn = sim->turns++;
}

static void give_lane(struct simulation *sim, double takes_s, double now_s)
{
    struct worker *next = NULL;
    sim->lanes_busy--;
    sim->ahead_s = fmax(0.0, sim->ahead_s - takes_s);
    for (int i = 0; i < sim->fixture->threads; i++) {
        struct worker *worker = &sim->workers[i];
        if (worker->phase == PHASE_LANE && (!next || worker->turn < next->turn))
            next = worker;
    }
    if (next)
        run_gpu(sim, next, now_s);
}

/* --- One product ---------------------------------------------------------------------------- */

static void begin(struct simulation *sim, struct worker *worker, double now_s)
{
    worker->began_s = now_s;
    worker->asked = false;
    if (sim->side != SIDE_POLICY) {
        (sim->side == SIDE_GPU ? take_lane : run_cpu)(sim, worker, now_s);
        return;
    }
    worker->asked = decide(sim, worker, now_s);
    if (worker->asked && worker->decision.start && !sim->started) {
        sim->started = true;
        sim->ready_s = now_s + REPLAY_START_S;
    }
    if (!worker->asked || worker->decision.place == XG_PLACE_CPU) {
        run_cpu(sim, worker, now_s);
    } else if (worker->decision.wait && sim->started && !is_ready(sim, now_s)) {
        worker->phase = PHASE_ENGINE;
        worker->at_s = sim->ready_s;
    } else {
        take_lane(sim, worker, now_s);
    }
}

/* Lets the threads begin whose next product waited for this one, also its own thread. */
static void wake(struct simulation *sim, struct worker *ended, double now_s)
{
    const struct replay_fixture *fixture = sim->fixture;
    ptrdiff_t which = (ptrdiff_t)ended->product;
    size_t next = ended->product + 1;
    int thread = fixture->products[which].thread;
    while (next < fixture->count && fixture->products[next].thread != thread)
        next++;
    ended->phase = next < fixture->count ? PHASE_NOT_YET : PHASE_DONE;
    ended->product = next;
    for (int i = 0; i < fixture->threads; i++) {
        struct worker *worker = &sim->workers[i];
        if (worker->phase == PHASE_NOT_YET && product_of(sim, worker)->after == which) {
            worker->phase = PHASE_BEGINS;
            worker->at_s = now_s + product_of(sim, worker)->gap_s;
        }
    }
}

static void print_product(const struct simulation *sim, const struct worker *worker, double now_s)
{
    const struct replay_product *product = product_of(sim, worker);
    fprintf(sim->products, "%.6f,%d,%lld,%lld,%lld,%s,%.1f,%s\n", worker->began_s - CLOCK_BEGINS_S,
            product->thread, (long long)product->m, (long long)product->n, (long long)product->k,
            worker->on_gpu ? "GPU" : "CPU", 1e6 * (now_s - worker->began_s),
            worker->asked ? xg_reason_text(worker->decision.reason) : "not asked");
}

static void end(struct simulation *sim, struct worker *worker, double now_s)
{
    size_t which = worker->product;
    sim->began_s[which] = worker->began_s;
    sim->took_s[which] = now_s - worker->began_s;
    sim->on_gpu[which] = worker->on_gpu;
    if (sim->products)
        print_product(sim, worker, now_s);
    if (worker->on_gpu)
        give_lane(sim, worker->takes_s, now_s);
    const struct xg_problem call = call_of(sim, worker);
    if (worker->asked)
        xg_decide_observe(&sim->policy, worker->on_gpu ? XG_SIDE_GPU : XG_SIDE_CPU,
                          &(struct xg_call){.problem = &call}, &worker->decision,
                          now_s - worker->ran_s, now_s);
    wake(sim, worker, now_s);
}

/* The thread with the earliest event. Ends come before begins at the same time. NULL: all are done.
 */
static struct worker *earliest(struct simulation *sim)
{
    struct worker *found = NULL;
    for (int i = 0; i < sim->fixture->threads; i++) {
        struct worker *worker = &sim->workers[i];
        if (worker->phase != PHASE_BEGINS && worker->phase != PHASE_ENGINE &&
            worker->phase != PHASE_RUNS)
            continue;
        if (!found || worker->at_s < found->at_s ||
            (worker->at_s == found->at_s && worker->phase == PHASE_RUNS &&
             found->phase != PHASE_RUNS))
            found = worker;
    }
    return found;
}

/* --- One way to run the program ------------------------------------------------------------- */

static void simulate(struct simulation *sim, enum side side)
{
    const struct replay_fixture *fixture = sim->fixture;
    sim->side = side;
    xg_model_init(&sim->policy.model, fixture->cores);
    if (fixture->cpu_threads_set)
        xg_model_set_threads(&sim->policy.model, fixture->cpu_threads_set);
    for (int i = 0; i < REPLAY_THREADS_MAX; i++)
        sim->workers[i].phase = PHASE_DONE;
    for (size_t i = fixture->count; i-- > 0;) {
        const struct replay_product *product = &fixture->products[i];
        sim->workers[product->thread] = (struct worker){
            .phase = product->after < 0 ? PHASE_BEGINS : PHASE_NOT_YET,
            .at_s = CLOCK_BEGINS_S + product->gap_s,
            .product = i,
        };
    }
    for (struct worker *worker; (worker = earliest(sim));) {
        if (worker->phase == PHASE_RUNS)
            end(sim, worker, worker->at_s);
        else if (worker->phase == PHASE_BEGINS)
            begin(sim, worker, worker->at_s);
        else
            take_lane(sim, worker, worker->at_s);
    }
}

static struct simulation *create(const struct replay_fixture *fixture)
{
    struct simulation *sim = calloc(1, sizeof *sim);
    if (!sim)
        return NULL;
    sim->fixture = fixture;
    sim->began_s = calloc(fixture->count, sizeof *sim->began_s);
    sim->took_s = calloc(fixture->count, sizeof *sim->took_s);
    sim->on_gpu = calloc(fixture->count, sizeof *sim->on_gpu);
    return sim;
}

static void destroy(struct simulation *sim)
{
    if (!sim)
        return;
    free(sim->began_s);
    free(sim->took_s);
    free(sim->on_gpu);
    free(sim);
}

static bool is_whole(const struct simulation *sim)
{
    return sim && sim->began_s && sim->took_s && sim->on_gpu;
}

/* by: the run that says which products count. */
static struct replay_times times_of(const struct simulation *sim, const struct simulation *by)
{
    struct replay_times times = {0};
    double first_s = HUGE_VAL, last_s = 0;
    for (size_t i = 0; i < sim->fixture->count; i++) {
        first_s = fmin(first_s, sim->began_s[i]);
        last_s = fmax(last_s, sim->began_s[i] + sim->took_s[i]);
        times.products_s += sim->took_s[i];
        if (!by->started || by->began_s[i] >= by->ready_s)
            times.counted_s += sim->took_s[i];
    }
    if (!by->started && sim->side == SIDE_GPU)
        times.counted_s += REPLAY_START_S;
    times.total_s = last_s - first_s;
    return times;
}

static void count_moves(const struct simulation *sim, struct replay_result *result)
{
    int before[REPLAY_THREADS_MAX];
    for (int i = 0; i < REPLAY_THREADS_MAX; i++)
        before[i] = -1;
    for (size_t i = 0; i < sim->fixture->count; i++) {
        const struct replay_product *product = &sim->fixture->products[i];
        result->least_s += fmin(product->cpu_s, product->gpu_s);
        if (sim->on_gpu[i]) {
            double at_s = sim->began_s[i] - CLOCK_BEGINS_S;
            result->gpu_products++;
            if (result->first_gpu_s < 0 || at_s < result->first_gpu_s)
                result->first_gpu_s = at_s;
        }
        if (is_small(product))
            continue;
        int *last = &before[product->thread];
        result->moves += *last >= 0 && *last != sim->on_gpu[i];
        *last = sim->on_gpu[i];
    }
}

bool replay_run(const struct replay_fixture *fixture, struct replay_result *result, FILE *products)
{
    struct simulation *cpu = create(fixture), *gpu = create(fixture), *policy = create(fixture);
    bool whole = is_whole(cpu) && is_whole(gpu) && is_whole(policy);
    *result = (struct replay_result){.first_gpu_s = -1};
    if (whole) {
        policy->products = products;
        simulate(cpu, SIDE_CPU);
        simulate(gpu, SIDE_GPU);
        simulate(policy, SIDE_POLICY);
        result->cpu = times_of(cpu, policy);
        result->gpu = times_of(gpu, policy);
        result->policy = times_of(policy, policy);
        count_moves(policy, result);
    }
    destroy(cpu);
    destroy(gpu);
    destroy(policy);
    return whole;
}
