/* SPDX-License-Identifier: MIT */
/* The process's one engine: a device, its lanes, and when they may be used. */
#include "engine.h"

#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "compute/backend.h"
#include "device/teardown.h"
#include "host/cores.h"
#include "host/fork.h"
#include "host/shelter.h"
#include "host/team.h"
#include "pipeline/gemm.h"
#include "pipeline/lane.h"
#include "verify/verify.h"

/*
 * Two calls at once hide each other's start and end; more only share the same link. Each lane keeps
 * its own memory and team.
 */
enum { LANES_MAX = XG_POLICY_LANES };

/* Of the cores at most so many sixteenths, and so many threads: src/pipeline/gemm.c says how many
 * work. */
enum { STAGE_SIXTEENTHS = 13, STAGE_THREADS_MAX = 13 };

enum { FAILURES_MAX = 3 };

/* A start that a stream capture of the program forbade is made again, so often in all. */
enum { STARTS_MAX = 3 };

static _Atomic int engine_state = XG_ENGINE_COLD;
static _Atomic bool engine_used;
static _Atomic bool exiting; /* the driver may be gone, and nobody wants to hear of it */
static _Atomic int inside;   /* threads that may be in the driver: the start's, those on a lane */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* the state, or a lane's being busy */
    struct xg_dev *dev;
    struct xg_model_device described; /* written before the state is READY, and then no more */
    struct {
        struct xg_lane *lane; /* NULL: not created yet */
        bool busy;
    } slots[LANES_MAX];
    struct xg_lane *left[LANES_MAX]; /* to a device that hangs; and it itself */
    struct xg_dev *left_dev;
    long released;  /* times that a lane came free */
    bool stuck;     /* somebody waited for that in vain, and it has not happened since */
    bool hung;      /* what the device holds stays with it */
    double ahead_s; /* what the calls that have a lane or wait for one are expected to take */
    int stage_threads;
    int failures; /* in a row */
    int starts;
    int wrongs;      /* in a row, of the products that were verified */
    bool waited_out; /* the start took longer than anybody waits */
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
    /* A forked child stays one, and the end the end. */
    if (atomic_load(&engine_state) != XG_ENGINE_FORKED && !atomic_load(&exiting))
        atomic_store_explicit(&engine_state, state, memory_order_release);
    pthread_cond_broadcast(&engine.changed);
}

/* --- Start --------------------------------------------------------------------------------- */

/*
 * A context does not survive fork, the threads are not there, and the lock may be held by one of
 * them: the child only learns that it must leave all this alone. A child of a process that had not
 * begun may begin.
 */
static void after_fork_in_child(void)
{
    atomic_store(&inside, 0);
    if (atomic_load(&engine_state) != XG_ENGINE_COLD)
        atomic_store(&engine_state, XG_ENGINE_FORKED);
}

/*
 * Longer than any start takes. The wait must end: the dynamic linker holds its lock while it runs a
 * library's constructor, and a constructor that calls us would wait here for a start that waits, in
 * its dlopen, for that lock.
 */
enum { START_WAIT_S = 5 };

/* On the clock of engine.changed, which nobody sets. */
static void deadline(struct timespec *until, double seconds)
{
    clock_gettime(CLOCK_MONOTONIC, until);
    double whole = floor(seconds);
    until->tv_sec += (time_t)whole;
    until->tv_nsec += (long)(1e9 * (seconds - whole));
    if (until->tv_nsec >= 1000000000) {
        until->tv_sec++;
        until->tv_nsec -= 1000000000;
    }
}

/* Waits for the start to end; the state then, or STARTING when it takes too long. That was found
 * out once is enough: nobody waits after that. */
static enum xg_engine_state wait_for_start(const struct xg_conf *conf)
{
    enum xg_engine_state state;
    struct timespec until;
    int failed = 0;
    deadline(&until,
             conf->timeout_ms > 0 ? fmin(START_WAIT_S, 1e-3 * conf->timeout_ms) : START_WAIT_S);
    pthread_mutex_lock(&engine.lock);
    while ((state = xg_engine_state_get()) == XG_ENGINE_STARTING && !failed && !engine.waited_out)
        failed = pthread_cond_timedwait(&engine.changed, &engine.lock, &until);
    engine.waited_out |= failed && state == XG_ENGINE_STARTING;
    pthread_mutex_unlock(&engine.lock);
    if (failed && state == XG_ENGINE_STARTING)
        xg_log(XG_LOG_INFO, "the GPU takes long to start: products run on the CPU until it has");
    return state;
}

/* Long enough for most products, and for each step of a start. */
enum { EXIT_WAIT_MS = 500 };

static void wait_until_outside(void)
{
    static const struct timespec nap = {.tv_nsec = 200000};
    int64_t end_ns = xg_clock_ns() + EXIT_WAIT_MS * INT64_C(1000000);
    while (atomic_load(&inside) > 0 && xg_clock_ns() < end_ns)
        nanosleep(&nap, NULL);
}

/*
 * The end of the process, before the driver's own exit handlers (drv.h). Products run on the CPU
 * from here on; those on a lane may end, a start goes no further, and nothing is given back: the
 * kernel does that. Without the lock, which the thread that calls exit() may hold, and without
 * floating-point arithmetic, for which the program may have enabled traps.
 */
static void at_exit(void)
{
    if (atomic_load(&engine_state) == XG_ENGINE_FORKED || xg_fork_unannounced())
        return; /* before anything is written: a child may share the memory */
    if (atomic_exchange(&exiting, true))
        return;
    bool starting = atomic_exchange(&engine_state, XG_ENGINE_NONE) == XG_ENGINE_STARTING;
    if (!starting)
        wait_until_outside();
    xg_drv_end();
    wait_until_outside();
    xg_teardown_leave(XG_TEARDOWN_FILES);
}

static pthread_once_t register_once = PTHREAD_ONCE_INIT;
static bool fork_registered;

static void register_handlers(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&engine.changed, &monotonic); /* nobody waits before a start */
    pthread_condattr_destroy(&monotonic);
    fork_registered = xg_fork_register(NULL, after_fork_in_child);
    atexit(at_exit);
}

static int choose_stage_threads(const struct xg_conf *conf)
{
    if (conf->stage_threads > 0)
        return conf->stage_threads;
    int threads = xg_cores_count() * STAGE_SIXTEENTHS / 16;
    return threads < 1 ? 1 : threads > STAGE_THREADS_MAX ? STAGE_THREADS_MAX : threads;
}

/* Not to have a GPU is no fault, and worth no word, but where the user has asked for one. */
static void tell_failed_start(const struct xg_conf *conf, enum xg_status status)
{
    enum xg_log_level level = atomic_load(&exiting) ? XG_LOG_INFO : XG_LOG_WARN;
    const char *why = xg_drv_start_failure();
    if (status != XG_ERR_NOTFOUND)
        xg_log(level, "the GPU could not be started (%s): products run on the CPU",
               why ? why : xg_status_name(status));
    else if (conf->mode == XG_MODE_GPU || conf->mode == XG_MODE_COMPARE)
        xg_log(level, "XGEMM_MODE=%s, but there is no usable GPU (%s): products run on the CPU",
               conf->mode == XG_MODE_GPU ? "gpu" : "compare",
               why ? why : "no such device, or no kernel for it; XGEMM_VERBOSE=2 says more");
}

static void *start_main(void *arg)
{
    const struct xg_conf *conf = arg;
    struct xg_dev *dev = NULL;
    struct xg_lane *lane = NULL;
    fesetenv(FE_DFL_ENV); /* the driver's start must not meet the program's floating-point traps */
    int threads = choose_stage_threads(conf);
    xg_teardown_prepare(conf); /* before the driver: the program may end at any time */
    xg_drv_at_exit(at_exit);
    enum xg_status status = xg_backend_open(conf, &dev);
    if (status == XG_OK)
        status = xg_lane_create(dev, threads, &lane);
    if (status != XG_OK && dev) {
        xg_backend_close(dev);
        dev = NULL;
    }
    bool again = status == XG_ERR_CAPTURE && ++engine.starts < STARTS_MAX; /* one start at a time */
    if (status != XG_OK && !again)
        tell_failed_start(conf, status);
    pthread_mutex_lock(&engine.lock);
    engine.dev = dev;
    if (dev) {
        engine.described = (struct xg_model_device){.facts = dev->facts,
                                                    .clock_hz = 1e3 * dev->clock_khz,
                                                    .link_bytes_per_s = dev->link_bytes_per_s};
        snprintf(engine.described.name, sizeof engine.described.name, "%s", dev->name);
    }
    engine.slots[0].lane = lane;
    engine.stage_threads = threads;
    atomic_store(&engine_used, status == XG_OK);
    set_state_locked(status == XG_OK ? XG_ENGINE_READY : again ? XG_ENGINE_COLD : XG_ENGINE_NONE);
    pthread_mutex_unlock(&engine.lock);
    atomic_fetch_sub(&inside, 1);
    return NULL;
}

static bool create_start_thread(const struct xg_conf *conf)
{
    sigset_t blocked, before;
    pthread_t thread;
    xg_shelter_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    atomic_fetch_add(&inside, 1);
    int failed = pthread_create(&thread, NULL, start_main, (void *)(uintptr_t)conf);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        atomic_fetch_sub(&inside, 1);
    else
        pthread_detach(thread);
    return !failed;
}

void xg_engine_start(const struct xg_conf *conf)
{
    int saved_errno = errno, cold = XG_ENGINE_COLD;
    pthread_once(&register_once, register_handlers);
    if (!atomic_compare_exchange_strong(&engine_state, &cold, XG_ENGINE_STARTING))
        return;
    if (!fork_registered || !create_start_thread(conf)) {
        xg_log(XG_LOG_WARN, "no memory or thread to start the GPU with: products run on the CPU");
        pthread_mutex_lock(&engine.lock);
        set_state_locked(XG_ENGINE_NONE);
        pthread_mutex_unlock(&engine.lock);
    }
    errno = saved_errno;
}

enum xg_engine_state xg_engine_wait(const struct xg_conf *conf)
{
    if (xg_engine_state_get() == XG_ENGINE_COLD)
        xg_engine_start(conf);
    enum xg_engine_state state = xg_engine_state_get();
    return state == XG_ENGINE_STARTING ? wait_for_start(conf) : state;
}

/* --- Lanes --------------------------------------------------------------------------------- */

static int busy_locked(void)
{
    int busy = 0;
    for (int i = 0; i < LANES_MAX; i++)
        busy += engine.slots[i].busy;
    return busy;
}

/* Given up: what the engine holds goes back, once no call is in it. */
static void tear_down_locked(void)
{
    for (int i = 0; i < LANES_MAX; i++) {
        if (engine.slots[i].lane)
            xg_lane_destroy(engine.slots[i].lane);
        engine.slots[i].lane = NULL;
    }
    if (engine.dev)
        xg_backend_close(engine.dev);
    engine.dev = NULL;
}

/* The same where the device does not answer: only threads go. */
static void abandon_locked(void)
{
    for (int i = 0; i < LANES_MAX; i++) {
        if (engine.slots[i].lane)
            xg_lane_abandon(engine.slots[i].lane);
        engine.left[i] = engine.slots[i].lane;
        engine.slots[i].lane = NULL;
    }
    engine.left_dev = engine.dev;
    engine.dev = NULL;
}

static void count_failure_locked(enum xg_status status, enum xg_verdict verdict)
{
    if (verdict == XG_VERDICT_RIGHT)
        engine.wrongs = 0;
    if (status >= XG_OK || status == XG_ERR_CAPTURE) {
        engine.failures = status == XG_OK ? 0 : engine.failures;
        return;
    }
    engine.failures++;
    engine.wrongs += status == XG_ERR_WRONG;
    engine.hung |= status == XG_ERR_HUNG;
    bool give_up = status == XG_ERR_LOST || status == XG_ERR_HUNG ||
                   engine.failures >= FAILURES_MAX || engine.wrongs >= FAILURES_MAX;
    static int warned;
    if (give_up && xg_engine_state_get() == XG_ENGINE_READY) {
        xg_log(atomic_load(&exiting) ? XG_LOG_INFO : XG_LOG_WARN,
               "the GPU failed (%s): products run on the CPU from here on; "
               "results are complete",
               xg_status_name(status));
        set_state_locked(XG_ENGINE_NONE);
    } else if (!give_up && status != XG_ERR_WRONG && !atomic_load(&exiting)) {
        xg_log_once(&warned, "a product failed on the GPU (%s): the CPU completed it",
                    xg_status_name(status));
    }
}

static void leave_locked(double takes_s)
{
    engine.ahead_s = fmax(0.0, engine.ahead_s - takes_s);
}

static void release_lane(int index, double takes_s, enum xg_status status, enum xg_verdict verdict)
{
    pthread_mutex_lock(&engine.lock);
    engine.slots[index].busy = false;
    engine.released++;
    engine.stuck = false;
    leave_locked(takes_s);
    count_failure_locked(status, verdict);
    if (xg_engine_state_get() == XG_ENGINE_NONE && !busy_locked() && engine.dev &&
        !atomic_load(&exiting))
        (engine.hung ? abandon_locked : tear_down_locked)();
    /* One lane serves one caller: to wake the others as well takes cores from those who copy. */
    if (xg_engine_state_get() == XG_ENGINE_READY)
        pthread_cond_signal(&engine.changed);
    else
        pthread_cond_broadcast(&engine.changed);
    pthread_mutex_unlock(&engine.lock);
}

static int free_lane_locked(void)
{
    for (int i = 0; i < LANES_MAX; i++)
        if (!engine.slots[i].busy)
            return i;
    return -1;
}

/* How many of a lane's threads work: of what all lanes have, and of the cores that are left. */
static int share_of(const struct xg_patience *patience, int busy)
{
    int64_t share = xg_ceil_div(engine.stage_threads, busy);
    return (int)(patience ? xg_min_i64(share, patience->threads) : share);
}

/*
 * Waits for a lane to come free, or for less. False: none did for so long that those who have them
 * must be held up inside the driver, where no timeout of ours reaches them, or have left for good:
 * by siglongjmp from the handler of a fault, say. That one thread found it out is enough.
 */
static bool wait_for_release_locked(void)
{
    enum { TIMEOUTS = 4 };
    struct timespec until;
    long released = engine.released;
    deadline(&until, TIMEOUTS * engine.dev->timeout_s);
    int failed = pthread_cond_timedwait(&engine.changed, &engine.lock, &until);
    engine.stuck |= failed && released == engine.released;
    return !engine.stuck;
}

/*
 * *out: a lane for this thread alone, with its share of the threads among the lanes that are busy.
 * Lanes after the first are created when they are needed.
 * XG_DECLINED: none is free soon enough, or the engine is not ready; else what xg_lane_create
 * returned. patience: as for xg_engine_gemm.
 */
static enum xg_status acquire_lane(const struct xg_patience *patience, int *out)
{
    double takes_s = patience ? patience->takes_s : 0.0;
    pthread_mutex_lock(&engine.lock);
    bool waits = !engine.stuck && (!patience || engine.ahead_s / LANES_MAX < patience->waits_s);
    int found = -1;
    engine.ahead_s += takes_s;
    while (xg_engine_state_get() == XG_ENGINE_READY && (found = free_lane_locked()) < 0 && waits)
        waits = wait_for_release_locked();
    if (found >= 0)
        engine.slots[found].busy = true;
    else
        leave_locked(takes_s);
    int busy = busy_locked();
    pthread_mutex_unlock(&engine.lock);
    if (found < 0)
        return XG_DECLINED;
    *out = found;
    /* The slot is busy: no other thread looks at its lane. */
    struct xg_lane **lane = &engine.slots[found].lane;
    enum xg_status status = *lane ? XG_OK : xg_lane_create(engine.dev, engine.stage_threads, lane);
    if (status == XG_OK)
        xg_lane_limit(*lane, share_of(patience, busy));
    else
        release_lane(found, takes_s, status, XG_VERDICT_NONE);
    return status;
}

/* Runs the product, and verifies it where its number is one of those. */
static enum xg_status run_on(struct xg_lane *lane, const struct xg_problem *call,
                             const struct xg_conf *conf, const struct xg_cpu *cpu,
                             struct xg_gemm_result *result)
{
    static _Atomic uint64_t products;
    if (conf->verify > 0 && conf->mode != XG_MODE_COMPARE) {
        uint64_t number = atomic_fetch_add_explicit(&products, 1, memory_order_relaxed);
        if (xg_verify_samples(number, conf->verify))
            return xg_gemm_run_verified(lane, call, conf->math, conf->kernel, cpu, number, result);
    }
    return xg_gemm_run(lane, call, conf->math, conf->kernel, cpu, result);
}

static enum xg_status run_on_lane(const struct xg_problem *call, const struct xg_conf *conf,
                                  const struct xg_cpu *cpu, const struct xg_patience *patience,
                                  struct xg_gemm_result *result)
{
    int lane;
    double begin = xg_clock_s();
    enum xg_status status = acquire_lane(patience, &lane);
    double waited_s = xg_clock_s() - begin;
    if (status == XG_DECLINED) {
        result->busy = true;
        return status;
    }
    if (status != XG_OK) {
        cpu->whole(cpu->ctx);
        return status;
    }
    status = run_on(engine.slots[lane].lane, call, conf, cpu, result);
    result->waited_s = waited_s;
    release_lane(lane, patience ? patience->takes_s : 0.0, status, result->verdict);
    return status;
}

enum xg_status xg_engine_gemm(const struct xg_problem *call, const struct xg_conf *conf,
                              const struct xg_cpu *cpu, const struct xg_patience *patience,
                              struct xg_gemm_result *result)
{
    *result = (struct xg_gemm_result){0};
    if (xg_engine_state_get() != XG_ENGINE_READY)
        return XG_DECLINED;
    atomic_fetch_add(&inside, 1); /* before the look that counts: at_exit sees it, or it at_exit */
    enum xg_status status = atomic_load(&engine_state) == XG_ENGINE_READY
                                ? run_on_lane(call, conf, cpu, patience, result)
                                : XG_DECLINED;
    atomic_fetch_sub(&inside, 1);
    return status;
}
