/* SPDX-License-Identifier: MIT */
/* Sends each call where the policy says, learns from what it cost, and reports it. */
#include "dispatch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf.h"
#include "cores.h"
#include "engine.h"
#include "judge.h"
#include "policy.h"
#include "stats.h"

/* What the process has learnt so far. */
static struct {
    pthread_mutex_t lock;
    struct xg_machine machine;
    double earned_s; /* CPU time that the GPU would have saved, had it been ready */
} learnt = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

static void init_learnt(void)
{
    xg_machine_init(&learnt.machine, xg_cores_count());
    pthread_atfork(lock_learnt, unlock_learnt, unlock_learnt);
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

bool xg_dispatch_wants(int64_t m, int64_t n, int64_t k)
{
    static _Atomic double floor_mnk = -1;
    double floor = atomic_load_explicit(&floor_mnk, memory_order_relaxed);
    if (floor < 0) {
        floor = xg_policy_floor_mnk(xg_conf_get());
        atomic_store_explicit(&floor_mnk, floor, memory_order_relaxed);
    }
    return (double)m * (double)n * (double)k >= floor;
}

const char *xg_dispatch_cpu_blas(void)
{
    return xg_conf_get()->cpu_blas;
}

/* --- The two sides ------------------------------------------------------------------------- */

static void run_cpu(const struct xg_sgemm *call, const struct xg_cpu *cpu,
                    struct xg_call_record *record)
{
    double begin = now_s();
    cpu->whole(cpu->ctx);
    double seconds = now_s() - begin;
    bool earning = record->reason == XG_REASON_EARNING || record->reason == XG_REASON_STARTING;
    double saving = record->predicted_cpu_s - record->predicted_gpu_s;
    lock_learnt();
    xg_policy_observe_cpu(&learnt.machine, call, seconds);
    if (earning && saving > 0)
        learnt.earned_s += saving;
    unlock_learnt();
    record->place = XG_PLACE_CPU;
}

/* True when C is computed; false when the GPU declined and the CPU has yet to. */
static bool run_gpu(const struct xg_sgemm *call, const struct xg_conf *conf,
                    const struct xg_cpu *cpu, bool wait, struct xg_call_record *record)
{
    struct xg_gemm_result result;
    double begin = now_s();
    enum xg_status status = xg_engine_gemm(call, conf, cpu, wait, &result);
    double seconds = now_s() - begin;
    record->kernel = result.kernel;
    record->up_bytes = result.up_bytes;
    record->down_bytes = result.down_bytes;
    if (status == XG_DECLINED) {
        record->reason =
            xg_engine_state_get() == XG_ENGINE_READY ? XG_REASON_BUSY : XG_REASON_NO_GPU;
        return false;
    }
    if (status != XG_OK) {
        record->place = result.tiles_done ? XG_PLACE_BOTH : XG_PLACE_CPU;
        record->reason = XG_REASON_FAILED;
        return true;
    }
    record->place = XG_PLACE_GPU;
    lock_learnt();
    xg_policy_observe_gpu(&learnt.machine, call, seconds);
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
    static const struct xg_cpu none = {no_cpu_whole, no_cpu_part, NULL};
    struct xg_sgemm on_gpu = *call;
    struct xg_judge *judge = malloc(sizeof *judge);
    on_gpu.c = copy_of_c(call);
    on_gpu.ldc = call->n;
    enum xg_status status = XG_ERR_NOMEM;
    double gpu_seconds = 0;
    struct xg_gemm_result result = {0};
    if (judge && on_gpu.c) {
        xg_judge_init(judge, call);
        double begin = now_s();
        status = xg_engine_gemm(&on_gpu, conf, &none, true, &result);
        gpu_seconds = now_s() - begin;
    }
    double begin = now_s();
    cpu->whole(cpu->ctx);
    double cpu_seconds = now_s() - begin;
    record->place = status == XG_OK ? XG_PLACE_BOTH : XG_PLACE_CPU;
    record->kernel = result.kernel;
    record->up_bytes = result.up_bytes;
    record->down_bytes = result.down_bytes;
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
        record->reason = status == XG_DECLINED ? XG_REASON_NO_GPU : XG_REASON_FAILED;
    }
    free(on_gpu.c);
    free(judge);
}

/* --- One call ------------------------------------------------------------------------------ */

static void decide(const struct xg_sgemm *call, const struct xg_conf *conf,
                   struct xg_decision *decision)
{
    lock_learnt();
    xg_policy_decide(&learnt.machine, conf, xg_engine_state_get(), learnt.earned_s, call, decision);
    unlock_learnt();
}

void xg_dispatch_sgemm(const char *symbol, const struct xg_sgemm *call, const struct xg_cpu *cpu)
{
    int saved_errno = errno;
    const struct xg_conf *conf = xg_conf_get();
    pthread_once(&learnt_once, init_learnt);
    double begin = now_s();

    struct xg_decision decision;
    decide(call, conf, &decision);
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
            record.reason = state == XG_ENGINE_FORKED ? XG_REASON_FORKED : XG_REASON_NO_GPU;
        }
    }
    if (record.place == XG_PLACE_BOTH)
        run_both(call, conf, cpu, &record);
    else if (record.place == XG_PLACE_CPU || !run_gpu(call, conf, cpu, decision.wait, &record))
        run_cpu(call, cpu, &record);

    record.seconds = now_s() - begin;
    xg_stats_add(&record);
    errno = saved_errno;
}
