/* SPDX-License-Identifier: MIT */
/* The account of all calls, printed at exit by a handler registered at the first call. */
/*
 * The tables are static, so that counting allocates nothing while the program runs. atexit is
 * called at the first call counted, never in a constructor, so that nothing changes for a program
 * that multiplies nothing. Calls made by exit handlers and destructors that run after ours are
 * computed but not counted. The destructor adds, with XGEMM_STATS=1 in the environment, the forks
 * that ended without exit handlers (forks.h), and says so if no call was seen.
 */
#include "report/stats.h"

#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sandbox.h"
#include "device/absence.h"
#include "host/fork.h"
#include "host/local_rank.h"
#include "host/shelter.h"
#include "report/account.h"
#include "report/compare.h"
#include "report/forks.h"
#include "report/mapping.h"

static struct xg_account account;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards everything here */
static pthread_once_t prepare_once = PTHREAD_ONCE_INIT, report_once = PTHREAD_ONCE_INIT;

/* The file of XGEMM_ACCOUNT. */
static struct {
    char folder[PATH_MAX];      /* as of the program's first product; empty: none */
    struct xg_account *mapping; /* NULL: no file, or not yet */
    bool tried;
} file;

/* Memory that a fork shares with the process in which the library was loaded. */
static struct {
    struct xg_account *account; /* NULL: none */
    pid_t pid;                  /* the process that has asked for it */
} in_fork;

/*
 * A product that differs from the product before only in its times is a repeat. Repeats have no
 * line each: one line tells how many there were, when another product comes, when a second has
 * passed, or when the process ends. After an end without exit handlers, at most the repeats of the
 * last second have no line. With XGEMM_VERBOSE=2 each product has a line.
 */
static struct {
    struct xg_call_record record; /* symbol NULL: none; its pointers must not be followed */
    long long count;              /* repeats that no line has told */
    double seconds, told_s;
} repeats; /* under the lock */

static void log_last(void);

static void clear_in_child(void)
{
    xg_account_init(&account);
    file.mapping = NULL; /* a child of fork does not inherit it */
    file.tried = false;
    repeats.record.symbol = NULL;
    repeats.count = 0;
    xg_compare_clear();
}

/* The text is formatted in memory, so that reports of processes do not mix in one file. The program
 * may have enabled floating-point traps, which printing must not trigger. */
static void write_report(void (*print)(FILE *out))
{
    char *text = NULL;
    size_t size = 0;
    fenv_t env;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return;
    feholdexcept(&env);
    print(out);
    fesetenv(&env);
    if (fclose(out) == 0 && size > 0)
        xg_log_text(text, size);
    free(text);
}

static bool is_silent(void)
{
    return xg_sandbox_closed() || xg_fork_unannounced();
}

static void report_at_exit(void)
{
    if (is_silent())
        return;
    log_last();
    write_report(xg_stats_print);
    if (in_fork.account && in_fork.pid == getpid())
        xg_forks_release(in_fork.account);
}

static bool watches_fork;

/* The child starts with an empty account. */
static void prepare(void)
{
    const struct xg_fork_watch watch = {.lock = &lock, .in_child = clear_in_child};

    xg_account_init(&account);
    watches_fork = xg_fork_register(&watch);
}

/* Without the fork handler no file may be mapped. */
static void report_register(void)
{
    const char *folder = xg_conf_get()->account;

    pthread_once(&prepare_once, prepare);
    if (watches_fork && folder)
        xg_file_absolute(folder, file.folder);
    atexit(report_at_exit);
}

/* --- Calls --------------------------------------------------------------------------------- */

static void log_call(const struct xg_call_record *record)
{
    const struct xg_problem *call = &record->call;
    static const char *const verdicts[] = {
        [XG_VERDICT_NONE] = "",
        [XG_VERDICT_RIGHT] = ", verified",
        [XG_VERDICT_WRONG] = ", found wrong",
        [XG_VERDICT_UNABLE] = ", not verified",
    };
    char predicted[96] = "", device[16] = "", form[64] = "";

    if (record->predicted_cpu_s > 0.0 || record->predicted_gpu_s > 0.0)
        snprintf(predicted, sizeof predicted, ", predicted CPU %.3g ms, GPU %.3g ms",
                 1e3 * record->predicted_cpu_s, 1e3 * record->predicted_gpu_s);
    if (!record->routine)
        snprintf(form, sizeof form, " %c%c beta=%g", xg_trans_letter(call->transa),
                 xg_trans_letter(call->transb), call->beta);
    if (record->gpu.device > 0)
        snprintf(device, sizeof device, " %d", record->gpu.device);
    double flops = xg_record_flops(record);
    double rate = record->seconds > 0.0 ? flops / record->seconds : 0.0;
    bool tera = rate >= 0.99995e12; /* 1000 GFLOP/s in four digits */

    xg_log(XG_LOG_CALL, "%s %lldx%lldx%lld%s: %s%s%s%s, %.4g ms (%.4g %s)%s%s: %s", record->symbol,
           (long long)call->m, (long long)call->n, (long long)call->k, form,
           xg_place_text(record->place), device, record->gpu.kernel ? " " : "",
           record->gpu.kernel ? record->gpu.kernel : "", 1e3 * record->seconds,
           rate * (tera ? 1e-12 : 1e-9), tera ? "TFLOP/s" : "GFLOP/s", predicted,
           verdicts[record->gpu.verdict], xg_reason_text(record->reason));
}

struct untold {
    long long count;
    double seconds;
};

static const double repeats_told_s = 1;

static bool is_repeat(const struct xg_call_record *a, const struct xg_call_record *b)
{
    return a->symbol && !strcmp(a->symbol, b->symbol) && a->call.m == b->call.m &&
           a->call.n == b->call.n && a->call.k == b->call.k && a->call.transa == b->call.transa &&
           a->call.transb == b->call.transb && a->call.beta == b->call.beta &&
           a->place == b->place && a->reason == b->reason && a->gpu.device == b->gpu.device &&
           a->gpu.kernel == b->gpu.kernel && a->gpu.verdict == b->gpu.verdict;
}

/* Also takes the untold repeats of the product before; count 0: they need no line now. */
static bool has_line_locked(const struct xg_call_record *record, struct untold *untold)
{
    bool same = is_repeat(&repeats.record, record);
    double now_s = xg_clock_s();

    if (same) {
        repeats.count++;
        repeats.seconds += record->seconds;
    }
    *untold = (struct untold){repeats.count, repeats.seconds};
    if (same && now_s - repeats.told_s < repeats_told_s) {
        untold->count = 0;
        return false;
    }
    repeats.record = *record;
    repeats.count = 0;
    repeats.seconds = 0;
    repeats.told_s = now_s;
    return !same;
}

static void log_untold(const struct untold *untold)
{
    if (untold->count > 0)
        xg_log(XG_LOG_CALL, "the same %lld time%s more, %.4g ms each", untold->count,
               untold->count == 1 ? "" : "s", 1e3 * untold->seconds / (double)untold->count);
}

static void log_last(void)
{
    pthread_mutex_lock(&lock);
    const struct untold untold = {repeats.count, repeats.seconds};
    repeats.count = 0;
    pthread_mutex_unlock(&lock);
    log_untold(&untold);
}

static void log_unless_repeated(const struct xg_call_record *record)
{
    struct untold untold;

    pthread_once(&report_once, report_register);
    pthread_mutex_lock(&lock);
    bool line = has_line_locked(record, &untold);
    pthread_mutex_unlock(&lock);
    log_untold(&untold); /* without the lock: the reader of the log may be slow */
    if (line)
        log_call(record);
}

/* Each product of a fork is in the shared memory too, however the fork ends. */
static void update_fork_locked(const struct xg_account_change *change)
{
    const pid_t self = xg_sandbox_closed() ? in_fork.pid : getpid();

    if (in_fork.pid != self) {
        in_fork.pid = self;
        in_fork.account = xg_forks_claim(&account);
    }
    if (in_fork.account)
        xg_mapping_update(in_fork.account, &account, change);
}

/* The first product creates the file: a process that multiplies nothing has none. */
static void update_file_locked(const struct xg_account_change *change)
{
    static int told;

    if (!file.folder[0])
        return;
    if (!file.tried && xg_mapping_create(file.folder, &account, &file.mapping) != XG_OK)
        xg_log_once(&told, "XGEMM_ACCOUNT=%s: cannot write an account there (errno %d)",
                    file.folder, errno);
    file.tried = true;
    if (file.mapping)
        xg_mapping_update(file.mapping, &account, change);
}

void xg_stats_add(const struct xg_call_record *record)
{
    const struct xg_conf *conf = xg_conf_get();

    if (xg_log_enabled(XG_LOG_INFO))
        log_call(record);
    else if (xg_log_enabled(XG_LOG_CALL))
        log_unless_repeated(record);
    if (!xg_conf_counts(conf))
        return;
    pthread_once(&report_once, report_register);
    pthread_mutex_lock(&lock);
    struct xg_account_change change = xg_account_add(&account, record);
    update_file_locked(&change);
    if (conf->stats)
        update_fork_locked(&change);
    pthread_mutex_unlock(&lock);
}

void xg_stats_add_compare(const struct xg_compare_record *record)
{
    pthread_once(&report_once, report_register);
    pthread_mutex_lock(&lock);
    xg_compare_add(record);
    pthread_mutex_unlock(&lock);
}

size_t xg_stats_read(void *to, size_t bytes)
{
    struct xg_shelter shelter;

    if (!xg_conf_keeps_account() || xg_sandbox_closed() || xg_fork_unannounced())
        return 0;
    xg_shelter_enter(&shelter); /* a handler that forks would wait for the lock forever */
    pthread_once(&prepare_once, prepare);
    pthread_mutex_lock(&lock);
    if (account.row_count > 0)
        account.pid = getpid();
    memcpy(to, &account, bytes < sizeof account ? bytes : sizeof account);
    pthread_mutex_unlock(&lock);
    xg_shelter_leave(&shelter);
    return sizeof account;
}

/* --- The report ------------------------------------------------------------------------------ */

/* Says whose account follows, if the process is one of several ranks. */
static void print_rank(FILE *out)
{
    struct xg_local_rank rank;

    if (xg_local_rank_read(&rank, xg_conf_environment, NULL) && rank.world >= 0)
        fprintf(out, "xgemm: rank %d, process %ld:\n", rank.world, (long)getpid());
}

static void print_account(struct xg_account *printed, FILE *out)
{
    /* The program has ended, so the driver may be asked now whether there is a device. */
    if (xg_account_absence(printed) == XG_REASON_EARNING)
        xg_account_explain(printed, xg_absence_find(XG_ABSENCE_DRIVER));
    xg_account_print(printed, 0, out);
}

void xg_stats_print(FILE *out)
{
    pthread_mutex_lock(&lock);
    if (xg_conf_get()->stats && account.row_count > 0) {
        print_rank(out);
        print_account(&account, out);
    }
    xg_compare_print(out);
    pthread_mutex_unlock(&lock);
}

/* Whether another process with this library has started this one. If so, that process or one before
 * it says that it saw nothing: a script starts many programs that do not multiply. */
static bool was_started_by_ours(void)
{
    char path[64], *line = NULL;
    size_t size = 0;
    bool found = false;

    snprintf(path, sizeof path, "/proc/%ld/maps", (long)getppid());
    FILE *maps = fopen(path, "re");
    while (maps && !found && getline(&line, &size, maps) > 0)
        found = strstr(line, "/libxgemm_shim.so") != NULL;
    if (maps)
        fclose(maps);
    free(line);
    return found;
}

static void print_forks(FILE *out)
{
    static struct xg_account all;
    struct xg_forks_sum forks;

    xg_account_init(&all);
    xg_forks_collect(&all, &forks);
    if (forks.count > 0) {
        print_rank(out);
        fprintf(out, "xgemm: %d forked process%s ended by a signal or _exit:\n", forks.count,
                forks.count == 1 ? "" : "es");
        print_account(&all, out);
    }
    if (forks.lost > 0)
        fprintf(out, "xgemm: products of %d more forked processes were not counted\n", forks.lost);
    if (account.row_count == 0 && forks.count == 0 && !forks.printed && !was_started_by_ours())
        fprintf(out,
                "xgemm: no product: %s (process %ld) called no function of BLAS or LAPACK that "
                "this library sees; xgemm-run doctor says why\n",
                program_invocation_short_name, (long)getpid());
}

__attribute__((destructor)) static void report_forks(void)
{
    if (xg_forks_are_shared() && !is_silent() && xg_forks_are_collected() && xg_conf_get()->stats)
        write_report(print_forks);
}
