/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "engine/remembered.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/sandbox.h"
#include "decide/tuning.h"
#include "device/absence.h"
#include "host/fork.h"
#include "host/shelter.h"
#include "host/stack.h"
#include "machine/program.h"

/* FOUND: the record is read, but not yet whether it counts. */
enum { NOT_YET, FINDING, FOUND, CONFIRMING, CONFIRMED };

static _Atomic int look;

/* Written by the look, read once it is confirmed; `past` then by the thread that writes records. */
static struct {
    struct xg_program described;
    _Atomic size_t length; /* 0: the program is not told apart */
    struct xg_history history;
    struct xg_past past;
    uint64_t settings; /* hash of the environment's settings when the BLAS was loaded; 0: no load */
    int64_t started_ms;
    bool counted; /* this run is in the record */
} program;

static _Atomic unsigned promised; /* a set of resources */
static _Atomic unsigned bars;
static _Atomic bool gpu_started;

/* The sums of this run. Microseconds: atomic integers, because a signal handler may leave a call
 * that notes. */
static struct {
    _Atomic int64_t gain_us[XG_RESOURCE_SETS], takes_us[XG_RESOURCE_COUNT];
    _Atomic int64_t saved_us, first_us, all_us, due_us, cpu_us, cpu_model_us;
    _Atomic bool writing;
} run;

static bool move_on(int from, int to)
{
    return atomic_compare_exchange_strong(&look, &from, to);
}

/* Since the process started. */
static double passed_s(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - 1e-3 * (double)program.started_ms;
}

/* --- The look --------------------------------------------------------------------------------- */

/* FNV-1a over the variables that settings come from. */
static uint64_t hash_settings(void)
{
    uint64_t hash = 14695981039346656037u;
    for (char **entry = environ; entry && *entry; entry++)
        if (!strncmp(*entry, "XGEMM_", 6) || !strncmp(*entry, "CUDA_", 5))
            for (const char *at = *entry; *at; at++)
                hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    return hash ? hash : 1;
}

/* A child of a started GPU computes on the CPU. Until a call has used it, a child may be what the
 * GPU is for. */
static void before_fork(void)
{
    if (!atomic_load(&run.saved_us))
        atomic_fetch_or(&bars, XG_PAST_FORKS);
}

static void forget(void)
{
    program.length = 0;
    program.past = (struct xg_past){0};
    atomic_store(&promised, 0);
}

/* Registers with the thread's signals blocked, because a handler may fork. */
static bool watch_fork(void)
{
    /* A child of fork has no record: it may be one of many workers. */
    static const struct xg_fork_watch watch = {.before = before_fork, .in_child = forget};
    sigset_t blocked, before;
    xg_shelter_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    bool registered = xg_fork_register(&watch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return registered;
}

/* Whether the environment turns the look off; the files of settings are read later. */
static bool is_off(xg_history_lookup *lookup)
{
    const char *history = lookup(NULL, "XGEMM_HISTORY"), *mode = lookup(NULL, "XGEMM_MODE");
    const char *reproducible = lookup(NULL, "XGEMM_REPRODUCIBLE");
    return (history && !strcmp(history, "off")) || (mode && *mode && strcmp(mode, "auto") != 0) ||
           (reproducible && !strcmp(reproducible, "1"));
}

static uint64_t id_of_program(void)
{
    return xg_history_hash(&program.history, program.described.text, program.length);
}

bool xg_remembered_find(bool at_load, xg_history_lookup *lookup)
{
    int error = errno;
    bool may_gain = false;
    /* First of all: what follows may ask for a variable and come here again (shim/environment.c).
     */
    if (xg_sandbox_closed() || !move_on(NOT_YET, FINDING))
        return false;
    if (is_off(lookup)) {
        atomic_store(&look, CONFIRMED);
        return false;
    }
    program.settings = at_load ? hash_settings() : 0;
    program.length = xg_program_describe(&program.described, &program.started_ms);
    if (program.length && !watch_fork())
        program.length = 0;
    if (program.length && xg_history_open(&program.history, false, lookup))
        may_gain = xg_history_find(&program.history, id_of_program(), &program.past) &&
                   xg_past_promise(&program.past);
    atomic_store(&look, FOUND);
    errno = error;
    return may_gain;
}

static bool remembers(const struct xg_conf *conf)
{
    return conf->mode == XG_MODE_AUTO && !conf->reproducible && conf->history == XG_HISTORY_ON;
}

/* The machine's hash, which one look at the system's files gives for the whole process. */
static uint64_t machine_of(const struct xg_history *history)
{
    static _Atomic uint64_t kept;
    uint64_t machine = atomic_load(&kept);
    if (!machine)
        atomic_store(&kept, machine = xg_history_machine(history));
    return machine;
}

static bool open_history(struct xg_history *history, bool make)
{
    return !xg_sandbox_closed() && xg_history_open(history, make, xg_conf_environment);
}

void xg_remembered_confirm(const struct xg_conf *conf)
{
    int error = errno;
    if (!move_on(FOUND, CONFIRMING))
        return;
    if (!remembers(conf) || !program.length) {
        forget();
    } else if (program.past.id &&
               !xg_past_holds(&program.past, machine_of(&program.history), time(NULL))) {
        program.past = (struct xg_past){0};
    }
    atomic_store(&promised, xg_past_promise(&program.past));
    atomic_store(&look, CONFIRMED);
    errno = error;
}

unsigned xg_remembered_promise(void)
{
    return atomic_load_explicit(&promised, memory_order_relaxed);
}

double xg_remembered_cpu_ratio(void)
{
    return atomic_load(&look) == CONFIRMED ? xg_past_cpu_ratio(&program.past) : 1.0;
}

bool xg_remembered_is_vain(void)
{
    return atomic_load(&look) == CONFIRMED && xg_past_is_vain(&program.past);
}

void xg_remembered_at_call(const struct xg_conf *conf)
{
    const bool first = xg_remembered_find(false, xg_conf_environment);
    const bool before = !first && atomic_load(&look) >= FOUND && program.settings;
    if (before && (program.settings != hash_settings() || xg_conf_account_is_wanted()))
        atomic_fetch_or(&bars, XG_PAST_SETTINGS);
    xg_remembered_confirm(conf);
}

/* --- This run --------------------------------------------------------------------------------- */

static void begin_note(const double takes_s[XG_RESOURCE_COUNT])
{
    const double share = xg_remembered_promise() ? XG_PAST_PROVED : XG_PAST_NEEDED;
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        atomic_store(&run.takes_us[i], (int64_t)(1e6 * takes_s[i]));
    atomic_store(&run.due_us, (int64_t)(1e6 * share * takes_s[XG_RESOURCE_GPU]));
}

void xg_remembered_note(const struct xg_ledger *ledger, const double takes_s[XG_RESOURCE_COUNT])
{
    const bool early = xg_remembered_promise();
    double all_s = 0, saved_s = 0;
    for (unsigned set = 1; set < XG_RESOURCE_SETS; set++) {
        /* A run that took the promise shows by what it saved whether it was right. */
        const double missed_s = early ? 0 : ledger->missed_s[set];
        const double gain_s = missed_s + ledger->saved_s[set];
        atomic_store_explicit(&run.gain_us[set], (int64_t)(1e6 * gain_s), memory_order_relaxed);
        all_s += gain_s;
        saved_s += ledger->saved_s[set];
    }
    if (!atomic_load_explicit(&run.takes_us[XG_RESOURCE_GPU], memory_order_relaxed))
        begin_note(takes_s);
    if (!(all_s > 0))
        return;
    if (!atomic_load_explicit(&run.all_us, memory_order_relaxed))
        atomic_store(&run.first_us, (int64_t)(1e6 * passed_s()));
    atomic_store_explicit(&run.all_us, (int64_t)(1e6 * all_s) + 1, memory_order_relaxed);
    atomic_store_explicit(&run.saved_us, (int64_t)(1e6 * saved_s), memory_order_relaxed);
    atomic_store_explicit(&run.cpu_us, (int64_t)(1e6 * ledger->cpu_s), memory_order_relaxed);
    atomic_store_explicit(&run.cpu_model_us, (int64_t)(1e6 * ledger->cpu_model_s),
                          memory_order_relaxed);
}

bool xg_remembered_is_due(void)
{
    return atomic_load_explicit(&run.all_us, memory_order_relaxed) >
               atomic_load_explicit(&run.due_us, memory_order_relaxed) &&
           atomic_load_explicit(&look, memory_order_acquire) == CONFIRMED && program.length;
}

/* --- The record ------------------------------------------------------------------------------- */

static void store(void)
{
    if (!program.length || !program.past.price_ms || !open_history(&program.history, true))
        return;
    program.past.id = id_of_program();
    program.past.machine = machine_of(&program.history);
    xg_history_store(&program.history, &program.past);
}

/* One thread writes at a time; the others need not. */
static bool begin_write(void)
{
    bool free_to = false;
    return atomic_compare_exchange_strong(&run.writing, &free_to, true);
}

static void write_record(bool ended)
{
    struct xg_past_run shown = {.saved_s = 1e-6 * (double)atomic_load(&run.saved_us),
                                .wall_s = passed_s(),
                                .first_s = 1e-6 * (double)atomic_load(&run.first_us),
                                .cpu_s = 1e-6 * (double)atomic_load(&run.cpu_us),
                                .cpu_model_s = 1e-6 * (double)atomic_load(&run.cpu_model_us),
                                .bars = atomic_load(&bars),
                                .promised = xg_remembered_promise(),
                                .started = atomic_load(&gpu_started),
                                .ended = ended,
                                .device_mib = program.past.device_mib};
    for (int set = 0; set < XG_RESOURCE_SETS; set++)
        shown.gain_s[set] = 1e-6 * (double)atomic_load(&run.gain_us[set]);
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        shown.takes_s[i] = 1e-6 * (double)atomic_load(&run.takes_us[i]);
    xg_past_learn(&program.past, &shown, time(NULL));
    program.past.runs += !program.counted;
    program.counted = true;
    store();
}

void xg_remembered_take(void)
{
    if (!begin_write())
        return;
    xg_past_take(&program.past, time(NULL));
    store();
    atomic_store(&run.writing, false);
}

void xg_remembered_write(size_t device_bytes)
{
    if (!atomic_load(&gpu_started) && xg_absence_find(XG_ABSENCE_FILES) != XG_REASON_EARNING)
        program.length = 0; /* no GPU here, so nothing was missed */
    if (!program.length || !begin_write())
        return;
    atomic_store(&run.due_us, 2 * atomic_load(&run.all_us));
    program.past.device_mib = (uint32_t)(device_bytes >> 20);
    write_record(false);
    atomic_store(&run.writing, false);
}

void xg_remembered_end(void)
{
    const bool used = atomic_load(&gpu_started) || xg_remembered_promise();
    fenv_t environment;
    int cancel_state;
    if (xg_stack_is_handlers() || (xg_stack_is_known() && !xg_stack_suffices()))
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    feholdexcept(&environment); /* the program may have enabled traps */
    if (program.length && atomic_load(&look) == CONFIRMED && (used || program.counted) &&
        begin_write())
        write_record(true);
    fesetenv(&environment);
    pthread_setcancelstate(cancel_state, NULL);
}

/* --- Start times ------------------------------------------------------------------------------ */

void xg_remembered_started(bool started)
{
    atomic_store(&gpu_started, started);
}

void xg_remembered_starts(const struct xg_conf *conf, double takes_s[XG_RESOURCE_COUNT])
{
    struct xg_history history;
    if (remembers(conf) && open_history(&history, false))
        xg_history_starts(&history, machine_of(&history), takes_s);
}

void xg_remembered_start_took(const struct xg_conf *conf, enum xg_resource resource, double seconds)
{
    static const double expected_s[XG_RESOURCE_COUNT] = {XG_TUNING_GPU_S, XG_TUNING_CUBLAS_S,
                                                         XG_TUNING_CUSOLVER_S};
    struct xg_history history;
    if (remembers(conf) && open_history(&history, true))
        xg_history_start_took(&history, machine_of(&history), resource, expected_s[resource],
                              seconds);
}
