/* SPDX-License-Identifier: MIT */
/* Sends each call where the policy says, learns from what it cost, and reports it. */
#include "dispatch.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "calibration.h"
#include "clock.h"
#include "conf.h"
#include "cores.h"
#include "engine.h"
#include "judge.h"
#include "policy.h"
#include "spare.h"
#include "spin.h"
#include "stats.h"
#include "trace.h"

/* What the process knows of its machine, and has learnt so far. */
static struct {
    pthread_mutex_t lock;
    _Atomic bool opened;
    bool device_known; /* the machine's device is the engine's, no longer the reference */
    int cores;         /* that the process may use; written before opened */
    struct xg_policy policy;
    struct xg_memo memo; /* of policy.machine, under the lock like it */
} learnt = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Products below are not ours; negative: not known yet. */
static _Atomic double floor_mnk = -1;

/* Shapes may be kept on the CPU: not in a phase on the GPU, where each would wake threads. */
static _Atomic bool keeps;

/*
 * What application threads compute with at the moment: the products under way, and the cores that
 * those on the CPU use. A product on the GPU leaves these to them.
 */
static _Atomic int under_way, cpu_cores;

static pthread_once_t learnt_once = PTHREAD_ONCE_INIT;

/* fork() while another thread holds the lock would leave it locked in the child for ever. */
static void lock_learnt(void)
{
    pthread_mutex_lock(&learnt.lock);
}

static void unlock_learnt(void)
{
    pthread_mutex_unlock(&learnt.lock);
}

/* The threads whose products were under way are not there. */
static void unlock_in_child(void)
{
    atomic_store_explicit(&under_way, 0, memory_order_relaxed);
    atomic_store_explicit(&cpu_cores, 0, memory_order_relaxed);
    unlock_learnt();
}

static void init_learnt(void)
{
    pthread_atfork(lock_learnt, unlock_learnt, unlock_in_child);
}

/*
 * The machine is looked at when the first product comes that is ours, and what is on file for it is
 * not taken where the choice must not depend on measurements.
 */
static void open_machine(const struct xg_conf *conf, const struct xg_cpu *cpu)
{
    if (atomic_load_explicit(&learnt.opened, memory_order_acquire))
        return;
    /*
     * Without the lock: naming the library takes the dynamic linker's lock, which a thread whose
     * constructor calls us may hold while it waits for ours. Two threads may both get here.
     */
    struct xg_machine machine;
    int cores = xg_cores_count();
    xg_machine_init(&machine, cores);
    if (conf->mode != XG_MODE_CPU && !conf->reproducible)
        xg_calibration_load(&machine, cores, cpu->library ? cpu->library(cpu->ctx) : NULL);
    lock_learnt();
    machine.memo = &learnt.memo;
    if (!learnt.opened) {
        learnt.policy.machine = machine;
        learnt.cores = cores;
    }
    atomic_store_explicit(&learnt.opened, true, memory_order_release);
    unlock_learnt();
}

static void set_floor_locked(const struct xg_conf *conf)
{
    atomic_store_explicit(&floor_mnk,
                          xg_policy_floor_mnk(&learnt.policy, conf, xg_engine_state_get()),
                          memory_order_relaxed);
}

/* In reproducible mode shapes are placed before the device is open, and so by the reference. */
static void take_device_locked(const struct xg_conf *conf)
{
    struct xg_machine_device device;
    learnt.device_known = true;
    if (!conf->reproducible && xg_engine_device(&device))
        xg_machine_set_device(&learnt.policy.machine, &device);
}

/* --- Is it ours? --------------------------------------------------------------------------- */

/*
 * Shapes that stay on the CPU (xg_learn_key, 24 bits), and how many calls more before they are
 * looked at again (8 bits). 0: free. Small, for initial-exec thread storage is scarce in programs
 * that open this library late.
 */
enum { KEPT_SHAPES = 64, KEPT_CALLS = 100, KEPT_BITS = 8 };

static _Thread_local uint32_t kept[KEPT_SHAPES] __attribute__((tls_model("initial-exec")));

/* When one of them last ran on this thread that may have left threads spinning; 0: none since it
 * last asked. */
static _Thread_local double kept_s __attribute__((tls_model("initial-exec")));

static uint32_t *kept_place(uint32_t key)
{
    return &kept[(key * 0x9e3779b1u >> 16) % KEPT_SHAPES];
}

static void keep(const struct xg_sgemm *call)
{
    uint32_t key = xg_learn_key(call->m, call->n, call->k);
    *kept_place(key) = key << KEPT_BITS | KEPT_CALLS;
}

/* Takes one call off the shape's allowance; false where there is none. */
static bool is_kept(int64_t m, int64_t n, int64_t k)
{
    uint32_t key = xg_learn_key(m, n, k), *place = kept_place(key);
    if (*place >> KEPT_BITS != key || *place == key << KEPT_BITS)
        return false;
    --*place;
    if ((double)m * (double)n * (double)k > XG_MACHINE_ALONE_MNK)
        kept_s = xg_clock_s();
    return true;
}

bool xg_dispatch_wants(int64_t m, int64_t n, int64_t k)
{
    double floor = atomic_load_explicit(&floor_mnk, memory_order_relaxed);
    if (floor < 0) {
        const struct xg_conf *conf = xg_conf_get();
        pthread_once(&learnt_once, init_learnt);
        lock_learnt();
        set_floor_locked(conf);
        unlock_learnt();
        floor = atomic_load_explicit(&floor_mnk, memory_order_relaxed);
    }
    if ((double)m * (double)n * (double)k < floor)
        return false;
    return floor == 0 || !atomic_load_explicit(&keeps, memory_order_relaxed) || !is_kept(m, n, k);
}

const char *xg_dispatch_cpu_blas(void)
{
    return xg_conf_get()->cpu_blas;
}

/* --- The two sides ------------------------------------------------------------------------- */

static void compute_on_cpu(const struct xg_cpu *cpu, const struct xg_decision *decision)
{
    int cores = decision->cpu_threads;
    bool spares =
        xg_engine_state_get() == XG_ENGINE_STARTING && xg_spare_begin(cpu, cores, learnt.cores);
    atomic_fetch_add_explicit(&cpu_cores, cores, memory_order_relaxed);
    cpu->whole(cpu->ctx);
    atomic_fetch_sub_explicit(&cpu_cores, cores, memory_order_relaxed);
    if (spares)
        xg_spare_end(cpu, cores);
}

/* As many as there are where none computes: what was measured of staging then holds. */
static int cores_left(void)
{
    int used = atomic_load_explicit(&cpu_cores, memory_order_relaxed);
    if (used <= 0)
        return INT_MAX;
    return learnt.cores - used > 1 ? learnt.cores - used : 1;
}

static void run_cpu(const struct xg_sgemm *call, const struct xg_conf *conf,
                    const struct xg_cpu *cpu, const struct xg_decision *decision,
                    struct xg_call_record *record)
{
    double begin = xg_clock_s();
    compute_on_cpu(cpu, decision);
    double end = xg_clock_s();
    record->place = XG_PLACE_CPU;
    lock_learnt();
    xg_policy_observe(&learnt.policy, XG_SIDE_CPU, call, decision, end - begin, end);
    set_floor_locked(conf);
    bool quiet = atomic_load_explicit(&floor_mnk, memory_order_relaxed) > 0;
    unlock_learnt();
    if (decision->wakes && cpu->pool == XG_POOL_OPENBLAS &&
        xg_engine_state_get() == XG_ENGINE_READY)
        record->spin_s = xg_spin_seconds(cpu->pool);
    if (decision->settled && quiet)
        keep(call);
}

/* Why the engine did not compute it. */
static enum xg_reason reason_declined(const struct xg_gemm_result *result)
{
    if (xg_engine_state_get() != XG_ENGINE_READY)
        return XG_REASON_NO_GPU;
    return result->busy ? XG_REASON_BUSY : XG_REASON_MEMORY;
}

/* True when C is computed; false when the GPU declined and the CPU has yet to. */
static bool run_gpu(const struct xg_sgemm *call, const struct xg_conf *conf,
                    const struct xg_cpu *cpu, const struct xg_decision *decision,
                    struct xg_call_record *record)
{
    struct xg_gemm_result result;
    struct xg_patience patience = {.takes_s = decision->gpu_s,
                                   .waits_s = decision->wait ? HUGE_VAL : decision->waits_s,
                                   .threads = cores_left()};
    double begin = xg_clock_s();
    enum xg_status status = xg_engine_gemm(call, conf, cpu, &patience, &result);
    double end = xg_clock_s();
    record->kernel = result.kernel;
    record->up_bytes = result.up_bytes;
    record->down_bytes = result.down_bytes;
    record->waited_s = result.waited_s;
    if (status == XG_DECLINED) {
        record->reason = reason_declined(&result);
        return false;
    }
    if (status != XG_OK) {
        record->place = result.tiles_done ? XG_PLACE_BOTH : XG_PLACE_CPU;
        record->reason = XG_REASON_FAILED;
        return true;
    }
    record->place = XG_PLACE_GPU;
    lock_learnt();
    xg_policy_observe(&learnt.policy, XG_SIDE_GPU, call, decision, end - begin - result.waited_s,
                      end);
    unlock_learnt();
    return true;
}

/* --- Compare ------------------------------------------------------------------------------- */

/* A copy of C without its padding, for the GPU to work on while the CPU has the caller's. NULL: no
 * memory. */
static float *copy_of_c(const struct xg_sgemm *call)
{
    float *copy = malloc((size_t)call->m * (size_t)call->n * sizeof *copy);
    for (int64_t i = 0; copy && call->beta != 0 && i < call->m; i++)
        memcpy(copy + i * call->n, call->c + i * call->ldc, (size_t)call->n * sizeof *copy);
    return copy;
}

static void no_cpu_whole(void *ctx)
{
    (void)ctx;
}

static void no_cpu_part(void *ctx, const struct xg_sgemm *part)
{
    (void)ctx, (void)part;
}

/* Both sides compute; the caller gets the CPU's C. */
static void run_both(const struct xg_sgemm *call, const struct xg_conf *conf,
                     const struct xg_cpu *cpu, struct xg_call_record *record)
{
    /* The GPU's side must not be helped by the CPU here: a failure would be hidden. */
    static const struct xg_cpu none = {.whole = no_cpu_whole, .part = no_cpu_part};
    struct xg_sgemm on_gpu = *call;
    struct xg_judge *judge = malloc(sizeof *judge);
    on_gpu.c = copy_of_c(call);
    on_gpu.ldc = call->n;
    enum xg_status status = XG_ERR_NOMEM;
    double gpu_seconds = 0;
    struct xg_gemm_result result = {0};
    if (judge && on_gpu.c) {
        xg_judge_init(judge, call);
        double begin = xg_clock_s();
        status = xg_engine_gemm(&on_gpu, conf, &none, NULL, &result);
        gpu_seconds = xg_clock_s() - begin;
    }
    double begin = xg_clock_s();
    cpu->whole(cpu->ctx);
    double cpu_seconds = xg_clock_s() - begin;
    record->place = status == XG_OK ? XG_PLACE_BOTH : XG_PLACE_CPU;
    record->kernel = result.kernel;
    record->up_bytes = result.up_bytes;
    record->down_bytes = result.down_bytes;
    record->waited_s = result.waited_s;
    if (status == XG_OK) {
        struct xg_compare_record compared = {
            .symbol = record->symbol,
            .call = *call,
            .kernel = result.kernel,
            .cpu_seconds = cpu_seconds,
            .gpu_seconds = gpu_seconds,
            .cpu_error = xg_judge_error(judge, call->c, call->ldc),
            .gpu_error = xg_judge_error(judge, on_gpu.c, on_gpu.ldc),
        };
        xg_stats_add_compare(&compared);
    } else {
        record->reason = status == XG_DECLINED ? reason_declined(&result) : XG_REASON_FAILED;
    }
    free(on_gpu.c);
    free(judge);
}

/* --- One call ------------------------------------------------------------------------------ */

static void decide(const struct xg_sgemm *call, const struct xg_conf *conf,
                   const struct xg_cpu *cpu, double begin, struct xg_decision *decision)
{
    open_machine(conf, cpu);
    enum xg_engine_state state = xg_engine_state_get();
    struct xg_situation now = {
        .now_s = begin,
        .state = state,
        .cpu_threads = cpu->threads ? cpu->threads(cpu->ctx) : 0,
        .under_way = atomic_load_explicit(&under_way, memory_order_relaxed),
        .cores_left = cores_left(),
        .spin_s = xg_spin_seconds(cpu->pool),
    };
    lock_learnt();
    if (state == XG_ENGINE_READY && !learnt.device_known)
        take_device_locked(conf);
    if (kept_s > 0 && now.cpu_threads != 1)
        xg_policy_observe_kept(&learnt.policy, kept_s);
    kept_s = 0;
    xg_policy_decide(&learnt.policy, conf, call, &now, decision);
    atomic_store_explicit(&keeps, learnt.policy.phase.side == XG_SIDE_CPU, memory_order_relaxed);
    unlock_learnt();
}

void xg_dispatch_sgemm(const char *symbol, const struct xg_sgemm *call, const struct xg_cpu *cpu)
{
    int saved_errno = errno, cancel_state;
    /* A thread that is cancelled in mid-product would leave workers on its stack and locks taken.
     */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    const struct xg_conf *conf = xg_conf_get();
    bool told = conf->stats || conf->trace || conf->verbose >= 1;
    pthread_once(&learnt_once, init_learnt);
    double begin = xg_clock_s();

    struct xg_decision decision;
    atomic_fetch_add_explicit(&under_way, 1, memory_order_relaxed);
    decide(call, conf, cpu, begin, &decision);
    struct xg_call_record record = {
        .symbol = symbol,
        .call = *call,
        .place = decision.place,
        .reason = decision.reason,
        .predicted_cpu_s = decision.cpu_s,
        .predicted_gpu_s = decision.gpu_s,
    };
    if (decision.start)
        xg_engine_start(conf);
    if (decision.wait && decision.place != XG_PLACE_CPU) {
        enum xg_engine_state state = xg_engine_wait(conf);
        if (state != XG_ENGINE_READY) {
            record.place = XG_PLACE_CPU;
            record.reason = state == XG_ENGINE_FORKED     ? XG_REASON_FORKED
                            : state == XG_ENGINE_STARTING ? XG_REASON_STARTING
                                                          : XG_REASON_NO_GPU;
        }
    }
    if (record.place == XG_PLACE_BOTH)
        run_both(call, conf, cpu, &record);
    else if (record.place == XG_PLACE_CPU || !run_gpu(call, conf, cpu, &decision, &record))
        run_cpu(call, conf, cpu, &decision, &record);
    atomic_fetch_sub_explicit(&under_way, 1, memory_order_relaxed);

    if (told) {
        record.seconds = xg_clock_s() - begin;
        xg_stats_add(&record);
        xg_trace_add(&record, begin);
    }
    pthread_setcancelstate(cancel_state, NULL);
    errno = saved_errno;
}
