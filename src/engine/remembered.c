/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "engine/remembered.h"

#include <errno.h>
#include <fenv.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/sandbox.h"
#include "decide/tuning.h"
#include "device/absence.h"
#include "host/fork.h"
#include "machine/program.h"

/* FOUND: the record is read, but not yet whether it counts. */
enum { NOT_YET, FINDING, FOUND, CONFIRMING, CONFIRMED };

static _Atomic int look;

/* Written by the look, read once it is confirmed; `past` then by the thread that writes records. */
static struct {
    struct xg_program described;
    size_t length; /* 0: the program is not told apart */
    struct xg_past past;
    uint64_t settings; /* hash of the environment's settings when the BLAS was loaded; 0: no load */
    int64_t started_ms;
    bool counted; /* this run is in the record */
} program;

static _Atomic unsigned promised;    /* a set of resources */
static _Atomic int64_t last_gain_us; /* of a program that gained less than a start takes */
static _Atomic unsigned bars;
static _Atomic bool gpu_used;

/* The sums of this run. Microseconds: atomic integers, because a signal handler may leave a call
 * that notes. */
static struct {
    _Atomic int64_t gain_us[XG_RESOURCE_SETS], takes_us[XG_RESOURCE_COUNT];
    _Atomic int64_t saved_us, first_us, all_us, due_us;
    _Atomic bool writing;
} run;

static bool move_on(int from, int to)
{
    return atomic_compare_exchange_strong(&look, &from, to);
}

static int64_t today(void)
{
    enum { DAY_S = 86400 };
    return time(NULL) / DAY_S;
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

static void before_fork(void)
{
    if (!atomic_load(&gpu_used))
        atomic_fetch_or(&bars, XG_PAST_FORKS);
}

static void forget(void)
{
    program.length = 0;
    program.past = (struct xg_past){0};
    atomic_store(&promised, 0);
    atomic_store(&last_gain_us, 0);
}

bool xg_remembered_find(bool at_load, xg_history_lookup *lookup)
{
    /* A child of fork has no record: it may be one of many workers. */
    static const struct xg_fork_watch watch = {.before = before_fork, .in_child = forget};
    struct xg_history history;
    int error = errno;
    if (xg_sandbox_closed() || !move_on(NOT_YET, FINDING))
        return false;
    program.settings = at_load ? hash_settings() : 0;
    program.length = xg_program_describe(&program.described, &program.started_ms);
    if (program.length && !xg_fork_register(&watch))
        program.length = 0;
    if (program.length && xg_history_open(&history, false, lookup))
        xg_history_find(&history, xg_history_hash(&history, program.described.text, program.length),
                        &program.past);
    atomic_store(&look, FOUND);
    errno = error;
    return program.length && xg_past_promise(&program.past);
}

static bool remembers(const struct xg_conf *conf)
{
    return conf->mode == XG_MODE_AUTO && !conf->reproducible && conf->history == XG_HISTORY_ON;
}

static bool open_history(struct xg_history *history, bool make)
{
    return !xg_sandbox_closed() && xg_history_open(history, make, xg_conf_environment);
}

void xg_remembered_confirm(const struct xg_conf *conf)
{
    struct xg_history history;
    int error = errno;
    if (!move_on(FOUND, CONFIRMING))
        return;
    if (!remembers(conf) || !program.length)
        forget();
    else if (program.past.id &&
             (!open_history(&history, false) ||
              !xg_past_holds(&program.past, xg_history_machine(&history), today())))
        program.past = (struct xg_past){0};
    const unsigned needs = xg_past_promise(&program.past);
    atomic_store(&promised, needs);
    atomic_store(&last_gain_us, needs ? 0 : 1000 * (int64_t)program.past.gain_ms);
    atomic_store(&look, CONFIRMED);
    errno = error;
}

unsigned xg_remembered_promise(void)
{
    return atomic_load(&promised);
}

void xg_remembered_at_call(const struct xg_conf *conf)
{
    const bool before = !xg_remembered_find(false, xg_conf_environment) && program.settings;
    if (before && (program.settings != hash_settings() || xg_conf_keeps_account()))
        atomic_fetch_or(&bars, XG_PAST_SETTINGS);
    xg_remembered_confirm(conf);
}

void xg_remembered_see(struct xg_situation *now)
{
    now->promised = atomic_load_explicit(&promised, memory_order_relaxed);
    now->last_gain_s = 1e-6 * (double)atomic_load_explicit(&last_gain_us, memory_order_relaxed);
}

/* --- This run --------------------------------------------------------------------------------- */

static void begin_note(const double takes_s[XG_RESOURCE_COUNT])
{
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        atomic_store(&run.takes_us[i], (int64_t)(1e6 * takes_s[i]));
    atomic_store(&run.due_us, (int64_t)(1e6 * takes_s[XG_RESOURCE_GPU]));
    atomic_store(&run.first_us, (int64_t)(1e6 * (passed_s())));
}

void xg_remembered_note(const struct xg_ledger *ledger, const double takes_s[XG_RESOURCE_COUNT])
{
    double all_s = 0, saved_s = 0;
    for (unsigned set = 1; set < XG_RESOURCE_SETS; set++) {
        const double gain_s = ledger->missed_s[set] + ledger->saved_s[set];
        atomic_store_explicit(&run.gain_us[set], (int64_t)(1e6 * gain_s), memory_order_relaxed);
        all_s += gain_s;
        saved_s += ledger->saved_s[set];
    }
    if (!(all_s > 0))
        return;
    if (!atomic_load_explicit(&run.all_us, memory_order_relaxed))
        begin_note(takes_s);
    atomic_store_explicit(&run.all_us, (int64_t)(1e6 * all_s) + 1, memory_order_relaxed);
    atomic_store_explicit(&run.saved_us, (int64_t)(1e6 * saved_s), memory_order_relaxed);
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
    struct xg_history history;
    if (!program.length || !open_history(&history, true))
        return;
    program.past.id = xg_history_hash(&history, program.described.text, program.length);
    program.past.machine = xg_history_machine(&history);
    xg_history_store(&history, &program.past);
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
                                .bars = atomic_load(&bars),
                                .promised = atomic_load(&promised),
                                .ended = ended,
                                .device_mib = program.past.device_mib};
    for (int set = 0; set < XG_RESOURCE_SETS; set++)
        shown.gain_s[set] = 1e-6 * (double)atomic_load(&run.gain_us[set]);
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        shown.takes_s[i] = 1e-6 * (double)atomic_load(&run.takes_us[i]);
    xg_past_learn(&program.past, &shown, today());
    program.past.runs += !program.counted;
    program.counted = true;
    store();
}

void xg_remembered_take(void)
{
    if (!begin_write())
        return;
    xg_past_take(&program.past, today());
    store();
    atomic_store(&run.writing, false);
}

void xg_remembered_write(size_t device_bytes)
{
    if (!atomic_load(&gpu_used) && xg_absence_find(XG_ABSENCE_FILES) != XG_REASON_EARNING)
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
    const bool used = atomic_load(&gpu_used) || atomic_load(&promised);
    fenv_t environment;
    feholdexcept(&environment); /* the program may have enabled traps */
    if (program.length && atomic_load(&look) == CONFIRMED && (used || program.counted) &&
        begin_write())
        write_record(true);
    fesetenv(&environment);
}

/* --- Start times ------------------------------------------------------------------------------ */

void xg_remembered_starts(const struct xg_conf *conf, double takes_s[XG_RESOURCE_COUNT])
{
    struct xg_history history;
    if (remembers(conf) && open_history(&history, false))
        xg_history_starts(&history, takes_s);
}

void xg_remembered_start_took(const struct xg_conf *conf, enum xg_resource resource, double seconds)
{
    static const double expected_s[XG_RESOURCE_COUNT] = {XG_TUNING_GPU_S, XG_TUNING_CUBLAS_S,
                                                         XG_TUNING_CUSOLVER_S};
    struct xg_history history;
    if (resource == XG_RESOURCE_GPU)
        atomic_store(&gpu_used, true);
    if (remembers(conf) && open_history(&history, true))
        xg_history_start_took(&history, resource, expected_s[resource], seconds);
}
