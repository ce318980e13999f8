/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "remembered.h"

#include <errno.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/sandbox.h"
#include "device/absence.h"
#include "device/dev.h"
#include "engine.h"
#include "host/aside.h"
#include "host/fork.h"
#include "library_start.h"
#include "machine/history.h"
#include "machine/program.h"

enum { LOOK_NOT_YET, LOOK_UNDER_WAY, LOOK_DONE };

static _Atomic int look;

/* Written by the look, read once it is done; `past` then by the thread that writes records. */
static struct {
    char text[XG_PROGRAM_TEXT_BYTES];
    size_t length; /* 0: the program is not told apart */
    struct xg_past past;
    uint64_t settings; /* hash of the environment's settings when the BLAS was loaded; 0: no load */
    double started_s;
} program;

static _Atomic unsigned promised;    /* a set of resources */
static _Atomic int64_t last_gain_us; /* of a program that gained less than a start takes */
static _Atomic unsigned bars;

/* The sums of this run. Microseconds: atomic integers, because a signal handler may leave a call
 * that notes. */
static struct {
    _Atomic int64_t gain_us[XG_RESOURCE_SETS], takes_us[XG_RESOURCE_COUNT];
    _Atomic int64_t saved_us, first_us, all_us, due_us;
    _Atomic bool writing;
} run;

/* --- The look --------------------------------------------------------------------------------- */

static int64_t today(void)
{
    enum { DAY_S = 86400 };
    return time(NULL) / DAY_S;
}

static double uptime_s(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

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
    if (xg_engine_state_get() != XG_ENGINE_READY)
        atomic_fetch_or(&bars, XG_PAST_FORKS);
}

/* A child of fork has no record: it may be one of many workers. */
static void forget_in_child(void)
{
    program.length = 0;
    atomic_store(&promised, 0);
}

static void find_past(void)
{
    struct xg_history history;
    program.length = xg_program_describe(program.text, &program.started_s);
    if (!program.length || !xg_history_open(&history, false))
        return;
    const uint64_t id = xg_history_hash(&history, program.text, program.length);
    if (!xg_history_find(&history, id, &program.past))
        return;
    if (!xg_past_holds(&program.past, xg_history_machine(&history), today())) {
        program.past = (struct xg_past){0};
        return;
    }
    const unsigned needs = xg_past_promise(&program.past);
    atomic_store(&promised, needs);
    if (!needs)
        atomic_store(&last_gain_us, 1000 * (int64_t)program.past.gain_ms);
}

/* Returns false if another call looks or has looked. */
static bool look_once(void)
{
    int not_yet = LOOK_NOT_YET;
    if (xg_sandbox_closed() || !atomic_compare_exchange_strong(&look, &not_yet, LOOK_UNDER_WAY))
        return false;
    find_past();
    if (program.length && !xg_fork_register(&(struct xg_fork_watch){.before = before_fork,
                                                                    .in_child = forget_in_child}))
        program.length = 0;
    return true;
}

static bool remembers(const struct xg_conf *conf)
{
    return conf->mode == XG_MODE_AUTO && !conf->reproducible && conf->history == XG_HISTORY_ON;
}

static void end_look(const struct xg_conf *conf)
{
    if (conf && !remembers(conf)) {
        program.length = 0;
        atomic_store(&promised, 0);
        atomic_store(&last_gain_us, 0);
    }
    atomic_store(&look, LOOK_DONE);
}

/* --- The early start -------------------------------------------------------------------------- */

static void store(void)
{
    struct xg_history history;
    if (xg_sandbox_closed() || !program.length || !xg_history_open(&history, true))
        return;
    program.past.id = xg_history_hash(&history, program.text, program.length);
    program.past.machine = xg_history_machine(&history);
    xg_history_store(&history, &program.past);
}

static void start_early(const struct xg_conf *conf)
{
    const unsigned needs = atomic_load(&promised);
    xg_past_take(&program.past, today());
    store();
    atomic_store(&run.writing, false);
    if (needs & 1u << XG_RESOURCE_CUSOLVER) /* beside the driver's start */
        xg_library_start_done(XG_TOOLKIT_CUSOLVER, conf);
    xg_engine_start(conf);
    if (!(needs & 1u << XG_RESOURCE_CUBLAS))
        return;
    xg_aside_add(-1); /* the end of the process need not wait for a wait */
    bool ready = xg_engine_wait(conf) == XG_ENGINE_READY;
    xg_aside_add(1);
    if (ready)
        xg_library_start_done(XG_TOOLKIT_CUBLAS, conf);
}

struct initial {
    unsigned long long left;
    bool has_cuda;
};

static int find_cuda(struct dl_phdr_info *object, size_t size, void *context)
{
    static const char *const names[] = {"libcuda.",     "libcudart.",   "libcublas",
                                        "libcusolver.", "libcusparse.", "libnvJitLink."};
    struct initial *initial = context;
    (void)size;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        initial->has_cuda |= !strncmp(xg_file_name(object->dlpi_name), names[i], strlen(names[i]));
    return initial->has_cuda || --initial->left == 0;
}

/*
 * While the dynamic linker constructs the libraries that the program is linked to, a dlopen on
 * another thread constructs those that both need, and main may begin before they are ready.
 * NVIDIA's libraries need only libc and each other, so they must not be among the program's own.
 */
static bool is_safe(unsigned long long objects_at_load)
{
    struct initial initial = {.left = objects_at_load};
    dl_iterate_phdr(find_cuda, &initial);
    return !initial.has_cuda;
}

void xg_remembered_at_load(unsigned long long objects_at_load)
{
    int error = errno;
    if (look_once()) {
        const struct xg_conf *conf = NULL;
        program.settings = hash_settings();
        if (atomic_load(&promised) && is_safe(objects_at_load)) {
            conf = xg_conf_get();
            atomic_store(&run.writing, true); /* until start_early has stored the record */
        }
        end_look(conf);
        if (conf && (!atomic_load(&promised) || !xg_aside_run(start_early, conf)))
            atomic_store(&run.writing, false);
    }
    errno = error;
}

/* --- Calls ------------------------------------------------------------------------------------ */

void xg_remembered_at_call(const struct xg_conf *conf)
{
    int error = errno;
    const bool first = look_once();
    if (first || atomic_load(&look) == LOOK_DONE)
        end_look(conf);
    if (!first && program.settings && program.settings != hash_settings())
        atomic_fetch_or(&bars, XG_PAST_SETTINGS);
    errno = error;
}

void xg_remembered_starts(const struct xg_conf *conf, double takes_s[XG_RESOURCE_COUNT])
{
    struct xg_history history;
    if (remembers(conf) && xg_history_open(&history, false))
        xg_history_starts(&history, takes_s);
}

void xg_remembered_start_took(const struct xg_conf *conf, enum xg_resource resource, double seconds)
{
    struct xg_history history;
    if (remembers(conf) && !xg_sandbox_closed() && xg_history_open(&history, true))
        xg_history_start_took(&history, resource, seconds);
}

void xg_remembered_see(struct xg_situation *now)
{
    if (atomic_load_explicit(&look, memory_order_acquire) != LOOK_DONE)
        return;
    now->promised = atomic_load_explicit(&promised, memory_order_relaxed);
    now->last_gain_s = 1e-6 * (double)atomic_load_explicit(&last_gain_us, memory_order_relaxed);
}

void xg_remembered_note(const struct xg_ledger *ledger, const double takes_s[XG_RESOURCE_COUNT])
{
    double all_s = 0, all_saved_s = 0;
    for (unsigned set = 1; set < XG_RESOURCE_SETS; set++) {
        const double gain_s = ledger->missed_s[set] + ledger->saved_s[set];
        atomic_store_explicit(&run.gain_us[set], (int64_t)(1e6 * gain_s), memory_order_relaxed);
        all_s += gain_s;
        all_saved_s += ledger->saved_s[set];
    }
    if (!(all_s > 0))
        return;
    if (!atomic_load_explicit(&run.all_us, memory_order_relaxed)) {
        for (int i = 0; i < XG_RESOURCE_COUNT; i++)
            atomic_store(&run.takes_us[i], (int64_t)(1e6 * takes_s[i]));
        atomic_store(&run.due_us, (int64_t)(1e6 * takes_s[XG_RESOURCE_GPU]));
        atomic_store(&run.first_us, (int64_t)(1e6 * (uptime_s() - program.started_s)));
    }
    atomic_store_explicit(&run.all_us, (int64_t)(1e6 * all_s) + 1, memory_order_relaxed);
    atomic_store_explicit(&run.saved_us, (int64_t)(1e6 * all_saved_s), memory_order_relaxed);
}

bool xg_remembered_is_due(void)
{
    return atomic_load_explicit(&run.all_us, memory_order_relaxed) >
               atomic_load_explicit(&run.due_us, memory_order_relaxed) &&
           program.length && atomic_load_explicit(&look, memory_order_acquire) == LOOK_DONE;
}

static uint32_t device_mib(void)
{
    struct xg_dev *dev;
    size_t bytes = 0;
    if (xg_engine_hold(0, &dev) && dev) {
        bytes = atomic_load(&dev->used_bytes);
        xg_engine_let_go(0);
    }
    return (uint32_t)(bytes >> 20);
}

static void learn(bool ended)
{
    struct xg_past_run shown = {.saved_s = 1e-6 * (double)atomic_load(&run.saved_us),
                                .wall_s = uptime_s() - program.started_s,
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
}

static bool counted; /* this run is in the record */

static void write_record(bool ended)
{
    learn(ended);
    program.past.runs += !counted;
    counted = true;
    store();
}

void xg_remembered_write(void)
{
    bool free_to = false;
    if (!xg_engine_used() && xg_absence_find(XG_ABSENCE_FILES) != XG_REASON_EARNING) {
        program.length = 0; /* no GPU here, so nothing was missed */
        return;
    }
    if (!atomic_compare_exchange_strong(&run.writing, &free_to, true))
        return;
    atomic_store(&run.due_us, 2 * atomic_load(&run.all_us));
    program.past.device_mib = device_mib();
    write_record(false);
    atomic_store(&run.writing, false);
}

/* At the process's end: no lock, because the thread may hold one. */
void xg_remembered_end(void)
{
    bool free_to = false;
    if (program.length && atomic_load(&look) == LOOK_DONE &&
        (counted || xg_engine_used() || atomic_load(&promised)) &&
        atomic_compare_exchange_strong(&run.writing, &free_to, true))
        write_record(true);
}
