/* SPDX-License-Identifier: MIT */
/* The process's only engine: its devices, and when they may be used. */
#include "engine/engine.h"

#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sandbox.h"
#include "compute/backend.h"
#include "compute/cublas.h"
#include "decide/staging.h"
#include "device/teardown.h"
#include "engine/devices.h"
#include "engine/remembered.h"
#include "host/aside.h"
#include "host/cores.h"
#include "host/fork.h"
#include "host/shelter.h"
#include "host/team.h"
#include "pipeline/factor.h"
#include "pipeline/lane.h"
#include "pipeline/least_squares.h"
#include "pipeline/pipeline.h"
#include "verify/verify.h"

/* The number of attempts at a start while stream captures of the program forbid it. The first
 * device is tried again when a later product wants it, another device after a pause. */
enum { STARTS_MAX = 3, START_PAUSE_MS = 100 };

static _Atomic int engine_state = XG_ENGINE_COLD;
static _Atomic bool engine_used;
static _Atomic bool exiting; /* the driver may be gone */
/* Threads that may be in the driver with a product; the start's are counted in aside.c. */
static _Atomic int products_inside;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* the state changed, or a lane became free */
    struct xg_devices devices;
    bool coming; /* devices may still be added */
    /* The first device; all others are of its kind. Written only before the state is READY. */
    struct xg_model_device described;
    double timeout_s;  /* likewise */
    double moved_s;    /* when a lane was last taken or freed */
    bool stuck;        /* no lane was taken or freed for too long */
    double ahead_s;    /* expected time of all calls that have a lane or wait for one */
    int cores;         /* cores that the process may use */
    int asked_threads; /* XGEMM_STAGE_THREADS */
    int starts;
    bool waited_out; /* the start took longer than callers wait */
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

enum xg_engine_state xg_engine_state_get(void)
{
    return (enum xg_engine_state)atomic_load_explicit(&engine_state, memory_order_acquire);
}

bool xg_engine_used(void)
{
    return atomic_load_explicit(&engine_used, memory_order_relaxed);
}

bool xg_engine_device(struct xg_model_device *out)
{
    if (xg_engine_state_get() != XG_ENGINE_READY)
        return false;
    *out = engine.described;
    return true;
}

static void set_state_locked(enum xg_engine_state state)
{
    /* The states FORKED and, at the end of the process, NONE are final. */
    if (atomic_load(&engine_state) != XG_ENGINE_FORKED && !atomic_load(&exiting))
        atomic_store_explicit(&engine_state, state, memory_order_release);
    pthread_cond_broadcast(&engine.changed);
}

/* --- Start --------------------------------------------------------------------------------- */

/*
 * A context does not survive fork, the child has no other threads, and one of them may hold the
 * lock: the child only records that it must not use any of this. If the engine was COLD, and no
 * library of the toolkit was being loaded, the child may start it.
 */
static void after_fork_in_child(void)
{
    atomic_store(&products_inside, 0);
    bool loading = xg_aside_count() > 0;
    xg_aside_reset();
    if (loading || atomic_load(&engine_state) != XG_ENGINE_COLD)
        atomic_store(&engine_state, XG_ENGINE_FORKED);
}

/*
 * Longer than any start takes. The wait must end: the dynamic linker holds its lock while it runs a
 * library's constructor. A constructor that calls us would wait here for a start that waits for
 * that lock in its dlopen.
 */
enum { START_WAIT_S = 5 };

void xg_engine_start_deadline(struct timespec *until, const struct xg_conf *conf, double most_s)
{
    double limit_s =
        conf->timeout_ms > 0 ? fmin(START_WAIT_S, 1e-3 * conf->timeout_ms) : START_WAIT_S;
    xg_clock_deadline(until, fmin(limit_s, most_s));
}

/* Waits for the start to end. Returns the state then, or STARTING if it takes too long. After one
 * such timeout, of a call without a limit of its own, no call waits. */
static enum xg_engine_state wait_for_start(const struct xg_conf *conf, double most_s)
{
    enum xg_engine_state state;
    struct timespec until;
    int failed = 0;
    xg_engine_start_deadline(&until, conf, most_s);
    pthread_mutex_lock(&engine.lock);
    while ((state = xg_engine_state_get()) == XG_ENGINE_STARTING && !failed && !engine.waited_out)
        failed = pthread_cond_timedwait(&engine.changed, &engine.lock, &until);
    engine.waited_out |= failed && state == XG_ENGINE_STARTING && most_s == HUGE_VAL;
    pthread_mutex_unlock(&engine.lock);
    if (failed && state == XG_ENGINE_STARTING)
        xg_log(XG_LOG_INFO, "the GPU starts slowly: products run on the CPU until it is ready");
    return state;
}

/* Long enough for most products and for each step of a start, except the creation of the cuBLAS
 * handle, which makes many driver calls and reads the library's file. */
static const int64_t EXIT_WAIT_NS = 500000000, EXIT_WAIT_CUBLAS_NS = 5000000000;

static bool is_inside(bool start_too)
{
    return atomic_load(&products_inside) + (start_too ? xg_aside_inside() : 0) > 0;
}

static void wait_until_outside(bool start_too)
{
    int64_t begin_ns = xg_clock_ns();
    int cancel_state;
    /* A thread cancelled in the nap would leave exit(), and the process would live on. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    while (is_inside(start_too) &&
           xg_clock_ns() - begin_ns <
               (start_too && xg_cublas_opens() ? EXIT_WAIT_CUBLAS_NS : EXIT_WAIT_NS))
        xg_clock_nap_us(200);
    pthread_setcancelstate(cancel_state, NULL);
}

/*
 * Runs at the end of the process, before the driver's own exit handlers (drv.h). From here on,
 * products run on the CPU. It lets products on a lane, and the current step of a start, end. It
 * frees nothing, because the kernel does. It takes no lock, because the thread that calls exit()
 * may hold the lock, and uses no floating-point arithmetic, because the program may have enabled
 * traps.
 */
static void at_exit(void)
{
    if (xg_sandbox_closed() || atomic_load(&engine_state) == XG_ENGINE_FORKED ||
        xg_fork_unannounced())
        return; /* before any write: a child may share the memory */
    if (atomic_exchange(&exiting, true))
        return;
    atomic_store(&engine_state, XG_ENGINE_NONE);
    xg_remembered_end();
    wait_until_outside(false);
    xg_drv_end();
    wait_until_outside(true);
    xg_teardown_leave(XG_TEARDOWN_FILES);
}

static pthread_once_t register_once = PTHREAD_ONCE_INIT;
static bool fork_registered;

static void register_handlers(void)
{
    xg_clock_init_condition(&engine.changed); /* no thread waits before a start */
    fork_registered = xg_fork_register(&(struct xg_fork_watch){.in_child = after_fork_in_child});
    atexit(at_exit);
}

/* Failures of a device at the end of the process are not warnings. */
static enum xg_log_level loudness(void)
{
    return atomic_load(&exiting) ? XG_LOG_INFO : XG_LOG_WARN;
}

/* A machine without a GPU is no error; it is reported only if the user asked for a GPU. */
static void tell_failed_start(const struct xg_conf *conf, enum xg_status status)
{
    enum xg_log_level level = loudness();
    const char *why = xg_drv_start_failure();
    if (status != XG_ERR_NOTFOUND)
        xg_log(level, "the GPU could not be started (%s): products run on the CPU",
               why ? why : xg_status_name(status));
    else if (xg_conf_insists(conf))
        xg_log(level, "XGEMM_MODE=%s, but there is no usable GPU (%s): products run on the CPU",
               conf->mode == XG_MODE_GPU ? "gpu" : "compare",
               why ? why : "no such device, or no kernel for it; XGEMM_VERBOSE=2 says more");
}

/* Opens the first device that works. *taken: the number of devices tried. If none works, returns
 * the last failure that is not XG_ERR_NOTFOUND, if there is one. */
static enum xg_status open_first(const struct xg_conf *conf, const int *ordinals, int count,
                                 int threads, struct xg_device *device, int *taken)
{
    enum xg_status worst = XG_ERR_NOTFOUND, status = XG_ERR_NOTFOUND;
    for (*taken = 0; *taken < count && status != XG_OK && status != XG_ERR_CAPTURE;) {
        status = xg_devices_open(conf, ordinals[(*taken)++], threads, device);
        worst = status == XG_ERR_NOTFOUND ? worst : status;
    }
    return worst;
}

static bool same_kind(const struct xg_dev *dev)
{
    const struct xg_model_device *first = &engine.described;
    return !strcmp(dev->name, first->name) && dev->facts.sm_count == first->facts.sm_count &&
           dev->facts.cublas == first->facts.cublas && dev->facts.pieces == first->facts.pieces &&
           dev->facts.residues == first->facts.residues;
}

/* Pauses outside the driver, so that the process's end need not wait for the pause. False: the end
 * has begun. */
static bool pause_start(void)
{
    xg_aside_add(-1);
    xg_clock_nap_us(START_PAUSE_MS * 1000L);
    xg_aside_add(1); /* before the check, as in xg_engine_compute */
    return atomic_load(&engine_state) == XG_ENGINE_READY;
}

static enum xg_status open_other(const struct xg_conf *conf, int ordinal, int threads,
                                 struct xg_device *device)
{
    enum xg_status status = xg_devices_open(conf, ordinal, threads, device);
    for (int i = 1; i < STARTS_MAX && status == XG_ERR_CAPTURE && pause_start(); i++)
        status = xg_devices_open(conf, ordinal, threads, device);
    return status;
}

static void end_others(void)
{
    pthread_mutex_lock(&engine.lock);
    engine.coming = false;
    if (xg_engine_state_get() == XG_ENGINE_READY && !xg_devices_lanes(&engine.devices)) {
        xg_log(loudness(), "no GPU is left: products run on the CPU from here on");
        set_state_locked(XG_ENGINE_NONE);
    }
    pthread_mutex_unlock(&engine.lock);
}

/*
 * Opens the other devices while products run on the first. All must be of its kind, so that all
 * figures hold for each; a device that fails is skipped. The engine stays READY until all were
 * tried.
 */
static void open_others(const struct xg_conf *conf, const int *ordinals, int count, int threads)
{
    for (int i = 0; i < count && xg_engine_state_get() == XG_ENGINE_READY; i++) {
        struct xg_device device;
        enum xg_status status = open_other(conf, ordinals[i], threads, &device);
        if (status == XG_OK && !same_kind(device.dev)) {
            xg_devices_close(&device);
            xg_log(XG_LOG_WARN, "ignoring device %d of XGEMM_DEVICES: not a %s like the first",
                   ordinals[i], engine.described.name);
        } else if (status == XG_OK) {
            pthread_mutex_lock(&engine.lock);
            engine.devices.at[engine.devices.count++] = device;
            pthread_cond_broadcast(&engine.changed);
            pthread_mutex_unlock(&engine.lock);
        } else if (!atomic_load(&exiting)) {
            xg_log(XG_LOG_WARN, "ignoring device %d of XGEMM_DEVICES: %s", ordinals[i],
                   xg_status_name(status));
        }
    }
    end_others();
}

static void start(const struct xg_conf *conf)
{
    int ordinals[XG_DEVICES_MAX], taken;
    int count = xg_devices_read_ordinals(conf->devices, ordinals);
    int cores = xg_cores_count(), threads = xg_staging_threads(conf->stage_threads, cores);
    xg_teardown_prepare(conf); /* before the driver starts: the program may end at any time */
    xg_drv_at_exit(at_exit);
    xg_remembered_started(true);
    double begun_s = xg_clock_s();
    struct xg_device first;
    enum xg_status status = open_first(conf, ordinals, count, threads, &first, &taken);
    const double took_s = xg_clock_s() - begun_s;
    bool again = status == XG_ERR_CAPTURE && ++engine.starts < STARTS_MAX; /* one start at a time */
    if (status != XG_OK && !again)
        tell_failed_start(conf, status);
    pthread_mutex_lock(&engine.lock);
    if (status == XG_OK) {
        const struct xg_dev *dev = first.dev;
        engine.devices.at[0] = first;
        engine.devices.count = 1;
        engine.coming = taken < count;
        engine.timeout_s = dev->timeout_s;
        engine.described = (struct xg_model_device){.facts = dev->facts,
                                                    .clock_hz = 1e3 * dev->clock_khz,
                                                    .link_bytes_per_s = dev->link_bytes_per_s};
        snprintf(engine.described.name, sizeof engine.described.name, "%s", dev->name);
    }
    engine.cores = cores;
    engine.asked_threads = conf->stage_threads;
    atomic_store(&engine_used, status == XG_OK);
    set_state_locked(status == XG_OK ? XG_ENGINE_READY : again ? XG_ENGINE_COLD : XG_ENGINE_NONE);
    pthread_mutex_unlock(&engine.lock);
    if (status != XG_OK) {
        xg_remembered_started(false);
        return;
    }
    xg_log(XG_LOG_INFO, "the GPU started in %.3f s", took_s);
    xg_remembered_start_took(conf, XG_RESOURCE_GPU, took_s);
    open_others(conf, ordinals + taken, count - taken, threads);
}

void xg_engine_watch(void)
{
    pthread_once(&register_once, register_handlers);
}

void xg_engine_start(const struct xg_conf *conf)
{
    int saved_errno = errno, cold = XG_ENGINE_COLD;
    xg_engine_watch();
    if (!atomic_compare_exchange_strong(&engine_state, &cold, XG_ENGINE_STARTING))
        return;
    if (!fork_registered || !xg_aside_run(start, conf)) {
        xg_log(XG_LOG_WARN, "no memory or thread to start the GPU with: products run on the CPU");
        pthread_mutex_lock(&engine.lock);
        set_state_locked(XG_ENGINE_NONE);
        pthread_mutex_unlock(&engine.lock);
    }
    errno = saved_errno;
}

enum xg_engine_state xg_engine_wait_most(const struct xg_conf *conf, double most_s)
{
    if (xg_engine_state_get() == XG_ENGINE_COLD)
        xg_engine_start(conf);
    enum xg_engine_state state = xg_engine_state_get();
    return state == XG_ENGINE_STARTING ? wait_for_start(conf, most_s) : state;
}

enum xg_engine_state xg_engine_wait(const struct xg_conf *conf)
{
    return xg_engine_wait_most(conf, HUGE_VAL);
}

/* --- Lanes --------------------------------------------------------------------------------- */

/* Reports a lost device. If no other device exists or is still coming, the engine ends too. */
static void tell_lost_locked(enum xg_status status)
{
    bool others = xg_devices_lanes(&engine.devices);
    if (xg_engine_state_get() != XG_ENGINE_READY)
        return;
    if (others || engine.coming) {
        xg_log(loudness(), "one of the GPUs failed (%s): products run on %s; results are complete",
               xg_status_name(status),
               others ? "the others from here on" : "the CPU until another one is ready");
        return;
    }
    xg_log(loudness(),
           "the GPU failed (%s): products run on the CPU from here on; results are complete",
           xg_status_name(status));
    set_state_locked(XG_ENGINE_NONE);
}

static void count_locked(struct xg_device *device, enum xg_status status, enum xg_verdict verdict)
{
    static int warned;
    bool silent = status >= XG_OK || status == XG_ERR_CAPTURE || status == XG_ERR_WRONG;
    if (xg_devices_count(device, status, verdict))
        tell_lost_locked(status);
    else if (!silent && !device->lost && !atomic_load(&exiting))
        xg_log_once(&warned, "a product failed on the GPU (%s): the CPU completed it",
                    xg_status_name(status));
}

static void leave_locked(double takes_s)
{
    engine.ahead_s = fmax(0.0, engine.ahead_s - takes_s);
}

static bool detach_locked(struct xg_device *device, struct xg_device *held)
{
    return !atomic_load(&exiting) && xg_devices_detach(device, held);
}

static void release_lane(const struct xg_devices_place *place, double takes_s,
                         enum xg_status status, enum xg_verdict verdict)
{
    struct xg_device *device = &engine.devices.at[place->device], held;
    pthread_mutex_lock(&engine.lock);
    device->slots[place->slot].busy = false;
    engine.moved_s = xg_clock_s();
    engine.stuck = false;
    leave_locked(takes_s);
    count_locked(device, status, verdict);
    bool detached = detach_locked(device, &held);
    /* One lane serves one caller: waking the others too takes cores from the copying threads. */
    if (xg_engine_state_get() == XG_ENGINE_READY && !device->lost)
        pthread_cond_signal(&engine.changed);
    else
        pthread_cond_broadcast(&engine.changed);
    pthread_mutex_unlock(&engine.lock);
    if (detached)
        xg_devices_close(&held); /* takes long; products on other devices go on */
}

/* The threads of a lane that work: its share of all lanes' threads, and no more than cores left. */
static int share_of(const struct xg_patience *patience, int devices, int busy)
{
    int share = xg_staging_share(engine.asked_threads, engine.cores, devices, busy);
    return patience && patience->threads < share ? patience->threads : share;
}

static enum xg_status create_lane(struct xg_dev *dev, struct xg_lane **lane)
{
    return xg_lane_create(dev, xg_staging_threads(engine.asked_threads, engine.cores), lane);
}

/*
 * Waits until a lane is freed or the state changes. False: the caller's patience ends (end_s), or
 * no lane was freed for so long that the holders must be stuck inside the driver, beyond our
 * timeouts, or have left, for example by siglongjmp from a fault's handler. After one such timeout
 * no thread waits.
 */
static bool wait_for_release_locked(double end_s)
{
    enum { TIMEOUTS = 4 };
    struct timespec until;
    double left_s = end_s - xg_clock_s(), stuck_s = TIMEOUTS * engine.timeout_s;
    xg_clock_deadline(&until, fmax(0.0, fmin(left_s, stuck_s)));
    int failed = pthread_cond_timedwait(&engine.changed, &engine.lock, &until);
    engine.stuck |= failed && xg_clock_s() - engine.moved_s >= stuck_s;
    return !engine.stuck && !(failed && left_s <= stuck_s);
}

/*
 * Takes a lane for this thread alone, with its share of the threads among the busy lanes. Creates
 * lanes that the start did not create. Returns XG_DECLINED if no lane is free soon enough, if there
 * is no lane, or if the engine is not ready; otherwise the result of xg_lane_create. patience: as
 * for xg_engine_compute.
 */
static enum xg_status acquire_lane(const struct xg_patience *patience,
                                   struct xg_devices_place *place)
{
    double takes_s = patience ? patience->takes_s : 0.0;
    bool found = false;
    pthread_mutex_lock(&engine.lock);
    double waits_s = engine.ahead_s / fmax(1, xg_devices_lanes(&engine.devices));
    bool waits = !engine.stuck && (!patience || waits_s < patience->waits_s);
    double end_s = patience && patience->most_s > 0.0 ? xg_clock_s() + patience->most_s : HUGE_VAL;
    engine.ahead_s += takes_s;
    while (xg_engine_state_get() == XG_ENGINE_READY &&
           !(found = xg_devices_pick(&engine.devices, place)) && waits &&
           xg_devices_lanes(&engine.devices) > 0)
        waits = wait_for_release_locked(end_s);
    struct xg_device *device = found ? &engine.devices.at[place->device] : NULL;
    if (found) {
        device->slots[place->slot].busy = true;
        engine.moved_s = xg_clock_s();
        engine.stuck = false;
    } else {
        leave_locked(takes_s);
    }
    int busy = xg_devices_busy(&engine.devices);
    int devices = xg_devices_lanes(&engine.devices) / XG_DEVICES_LANES;
    pthread_mutex_unlock(&engine.lock);
    if (!found)
        return XG_DECLINED;
    /* The slot is busy, so no other thread reads its lane. */
    struct xg_lane **lane = &device->slots[place->slot].lane;
    enum xg_status status = *lane ? XG_OK : create_lane(device->dev, lane);
    if (status == XG_OK)
        xg_lane_limit(*lane, share_of(patience, devices, busy));
    else
        release_lane(place, takes_s, status, XG_VERDICT_NONE);
    return status;
}

/* --- For others ---------------------------------------------------------------------------- */

bool xg_engine_hold(int number, struct xg_dev **dev)
{
    *dev = NULL;
    pthread_mutex_lock(&engine.lock);
    bool there = xg_engine_state_get() == XG_ENGINE_READY && number < engine.devices.count;
    if (there && !engine.devices.at[number].lost) {
        engine.devices.at[number].held++;
        *dev = engine.devices.at[number].dev;
    }
    pthread_mutex_unlock(&engine.lock);
    return there;
}

void xg_engine_let_go(int number)
{
    struct xg_device held;
    pthread_mutex_lock(&engine.lock);
    engine.devices.at[number].held--;
    bool detached = detach_locked(&engine.devices.at[number], &held);
    pthread_mutex_unlock(&engine.lock);
    if (detached)
        xg_devices_close(&held);
}

/* --- Calls --------------------------------------------------------------------------------- */

/* Whether the next call is one of the sample that is verified, and its number. */
static bool is_sampled(const struct xg_conf *conf, uint64_t *number)
{
    static _Atomic uint64_t calls;
    if (!(conf->verify > 0) || conf->mode == XG_MODE_COMPARE)
        return false;
    *number = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return xg_verify_samples(*number, conf->verify);
}

static enum xg_status run_verified(struct xg_lane *lane, const struct xg_call *call,
                                   const struct xg_conf *conf, const struct xg_cpu *cpu,
                                   struct xg_result *result)
{
    uint64_t number;
    bool sampled = is_sampled(conf, &number);
    if (call->routine)
        return sampled ? xg_routine_run_verified(lane, call->routine, number, result)
                       : xg_routine_run(lane, call->routine, result);
    if (sampled)
        return xg_pipeline_run_verified(lane, call->problem, conf->math, conf->kernel, cpu, number,
                                        result);
    return xg_pipeline_run(lane, call->problem, conf->math, conf->kernel, cpu, result);
}

static enum xg_status run_on_lane(const struct xg_call *call, const struct xg_conf *conf,
                                  const struct xg_cpu *cpu, const struct xg_patience *patience,
                                  struct xg_result *result)
{
    struct xg_devices_place place;
    double begin = xg_clock_s();
    enum xg_status status = acquire_lane(patience, &place);
    double waited_s = xg_clock_s() - begin;
    if (status == XG_DECLINED) {
        result->busy = true;
        return status;
    }
    if (status != XG_OK) {
        if (call->problem)
            cpu->whole(cpu->ctx);
        return status;
    }
    struct xg_lane *lane = engine.devices.at[place.device].slots[place.slot].lane;
    status = run_verified(lane, call, conf, cpu, result);
    result->waited_s = waited_s;
    result->device = place.device;
    release_lane(&place, patience ? patience->takes_s : 0.0, status, result->verdict);
    return status;
}

enum xg_status xg_engine_compute(const struct xg_call *call, const struct xg_conf *conf,
                                 const struct xg_cpu *cpu, const struct xg_patience *patience,
                                 struct xg_result *result)
{
    *result = (struct xg_result){0};
    if (xg_engine_state_get() != XG_ENGINE_READY)
        return XG_DECLINED;
    /* Counted before the check: at_exit sees the count, or the check sees at_exit. */
    atomic_fetch_add(&products_inside, 1);
    enum xg_status status = atomic_load(&engine_state) == XG_ENGINE_READY
                                ? run_on_lane(call, conf, cpu, patience, result)
                                : XG_DECLINED;
    atomic_fetch_sub(&products_inside, 1);
    if (call->routine)
        xg_least_squares_finish(call->routine, result);
    return status;
}
