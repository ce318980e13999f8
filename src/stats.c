/* SPDX-License-Identifier: MIT */
/* The account of all calls: fixed tables, printed at exit by a handler registered at the first
 * call. */
/*
 * Nothing is allocated while the program runs: the tables are static, and pages of them that are
 * never used cost nothing. atexit is called at the first call counted, never in a constructor, so
 * that a program that multiplies nothing is left alone. Calls made by exit handlers and destructors
 * that run after ours are computed but not counted.
 */
#include "stats.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "conf.h"
#include "log.h"

enum { ACCOUNTS = 64, SHAPES = 1024, SHAPES_PRINTED = 20 };

/* Calls of one name that ran in one place for one reason. */
struct account {
    const char *symbol;
    enum xg_place place;
    enum xg_reason reason;
    long calls;
    double flops, bytes, seconds;
};

struct shape {
    const char *symbol, *kernel;
    enum xg_place place;
    int64_t m, n, k;
    bool transa, transb, beta_zero;
    long calls;
    double flops, seconds;
};

static struct account accounts[ACCOUNTS];
static struct shape shapes[SHAPES]; /* open addressing; calls == 0: free */
static int account_count, shape_count;
static long shapes_dropped; /* calls whose shape found the table full */
static double longest_spin_s;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t report_once = PTHREAD_ONCE_INIT;

const char *xg_reason_text(enum xg_reason reason)
{
    static const char *const texts[XG_REASON_COUNT] = {
        [XG_REASON_MODE] = "XGEMM_MODE",
        [XG_REASON_SMALL] = "too small",
        [XG_REASON_MODEL] = "cost model",
        [XG_REASON_EARNING] = "GPU start-up not earned yet",
        [XG_REASON_STARTING] = "GPU starting",
        [XG_REASON_BUSY] = "GPU busy",
        [XG_REASON_MEMORY] = "does not fit device memory",
        [XG_REASON_FORKED] = "forked child",
        [XG_REASON_NO_GPU] = "no usable GPU",
        [XG_REASON_FAILED] = "GPU failed",
        [XG_REASON_DEGENERATE] = "nothing to multiply",
    };

    return (unsigned)reason < XG_REASON_COUNT ? texts[reason] : "unknown";
}

const char *xg_place_text(enum xg_place place)
{
    return place == XG_PLACE_CPU ? "CPU" : place == XG_PLACE_GPU ? "GPU" : "both";
}

static double flops_of(const struct xg_sgemm *call)
{
    return call->m > 0 && call->n > 0 && call->k > 0 ? xg_sgemm_flops(call) : 0.0;
}

static double gflops_per_s(double flops, double seconds)
{
    return seconds > 0.0 ? flops / seconds * 1e-9 : 0.0;
}

static void account_add(const struct xg_call_record *record)
{
    struct account *row = accounts;

    while (row < accounts + account_count &&
           (row->place != record->place || row->reason != record->reason ||
            strcmp(row->symbol, record->symbol) != 0))
        row++;
    if (row == accounts + ACCOUNTS)
        row--; /* more names than there are: nothing is lost from the sums */
    if (row == accounts + account_count) {
        *row = (struct account){record->symbol, record->place, record->reason, 0, 0.0, 0.0, 0.0};
        account_count++;
    }
    row->calls++;
    row->flops += flops_of(&record->call);
    row->bytes += (double)record->up_bytes + (double)record->down_bytes;
    row->seconds += record->seconds;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool shape_matches(const struct shape *shape, const struct xg_call_record *record)
{
    const struct xg_sgemm *call = &record->call;

    return shape->m == call->m && shape->n == call->n && shape->k == call->k &&
           shape->transa == call->transa && shape->transb == call->transb &&
           shape->beta_zero == (call->beta == 0.0f) && shape->place == record->place &&
           same_text(shape->symbol, record->symbol) && same_text(shape->kernel, record->kernel);
}

static void shape_add(const struct xg_call_record *record)
{
    const struct xg_sgemm *call = &record->call;
    uint64_t hash =
        (((uint64_t)call->m * 0x9e3779b97f4a7c15u + (uint64_t)call->n) * 0xbf58476d1ce4e5b9u +
         (uint64_t)call->k) *
        0x94d049bb133111ebu;
    size_t slot = (size_t)(hash >> 40) % SHAPES;

    while (shapes[slot].calls && !shape_matches(&shapes[slot], record))
        slot = (slot + 1) % SHAPES;
    if (!shapes[slot].calls) {
        /* Kept a quarter empty, so that a search ends soon. */
        if (shape_count >= SHAPES / 4 * 3) {
            shapes_dropped++;
            return;
        }
        shape_count++;
        shapes[slot] = (struct shape){
            .symbol = record->symbol,
            .kernel = record->kernel,
            .place = record->place,
            .m = call->m,
            .n = call->n,
            .k = call->k,
            .transa = call->transa,
            .transb = call->transb,
            .beta_zero = call->beta == 0.0f,
        };
    }
    shapes[slot].calls++;
    shapes[slot].flops += flops_of(call);
    shapes[slot].seconds += record->seconds;
}

static void clear(void)
{
    memset(accounts, 0, sizeof accounts);
    memset(shapes, 0, sizeof shapes);
    account_count = shape_count = 0;
    shapes_dropped = 0;
    longest_spin_s = 0.0;
    xg_compare_clear();
}

/* Around fork the lock is held, so that the child finds the tables whole; it starts from nothing.
 */
static void fork_prepare(void)
{
    pthread_mutex_lock(&lock);
}

static void fork_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void fork_child(void)
{
    clear();
    pthread_mutex_unlock(&lock);
}

/* Written to memory first, so that reports of several processes do not mix in one file. */
static void report_at_exit(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return;
    xg_stats_print(out);
    if (fclose(out) == 0 && size > 0)
        xg_log_text(text, size);
    free(text);
}

static void report_register(void)
{
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    atexit(report_at_exit);
}

static void log_call(const struct xg_call_record *record)
{
    const struct xg_sgemm *call = &record->call;
    char predicted[96] = "";

    if (record->predicted_cpu_s > 0.0 || record->predicted_gpu_s > 0.0)
        snprintf(predicted, sizeof predicted, ", predicted CPU %.3g ms, GPU %.3g ms",
                 1e3 * record->predicted_cpu_s, 1e3 * record->predicted_gpu_s);
    xg_log(XG_LOG_CALL, "%s %lldx%lldx%lld %c%c beta=%g: %s%s%s, %.4g ms (%.4g GFLOP/s)%s: %s",
           record->symbol, (long long)call->m, (long long)call->n, (long long)call->k,
           call->transa ? 'T' : 'N', call->transb ? 'T' : 'N', (double)call->beta,
           xg_place_text(record->place), record->kernel ? " " : "",
           record->kernel ? record->kernel : "", 1e3 * record->seconds,
           gflops_per_s(flops_of(call), record->seconds), predicted,
           xg_reason_text(record->reason));
}

void xg_stats_add(const struct xg_call_record *record)
{
    if (xg_log_enabled(XG_LOG_CALL))
        log_call(record);
    if (!xg_conf_get()->stats)
        return;
    pthread_once(&report_once, report_register);
    pthread_mutex_lock(&lock);
    account_add(record);
    shape_add(record);
    longest_spin_s = fmax(longest_spin_s, record->spin_s);
    pthread_mutex_unlock(&lock);
}

void xg_stats_add_compare(const struct xg_compare_record *record)
{
    pthread_once(&report_once, report_register);
    pthread_mutex_lock(&lock);
    xg_compare_add(record);
    pthread_mutex_unlock(&lock);
}

static void print_accounts(FILE *out)
{
    struct account total = {0};
    long gpu_calls = 0;

    for (int i = 0; i < account_count; i++) {
        total.calls += accounts[i].calls;
        total.flops += accounts[i].flops;
        total.seconds += accounts[i].seconds;
        gpu_calls += accounts[i].place == XG_PLACE_CPU ? 0 : accounts[i].calls;
    }
    fprintf(out, "xgemm: %ld products, %.3f GFLOP in %.3f s; %ld on the GPU, %ld on the CPU\n",
            total.calls, total.flops * 1e-9, total.seconds, gpu_calls, total.calls - gpu_calls);
    fprintf(out, "  %-5s %-28s %-22s %9s %12s %9s %10s %9s\n", "where", "why", "name", "calls",
            "GFLOP", "GB moved", "seconds", "GFLOP/s");
    for (int i = 0; i < account_count; i++) {
        const struct account *row = &accounts[i];

        fprintf(out, "  %-5s %-28s %-22s %9ld %12.3f %9.3f %10.4f %9.1f\n",
                xg_place_text(row->place), xg_reason_text(row->reason), row->symbol, row->calls,
                row->flops * 1e-9, row->bytes * 1e-9, row->seconds,
                gflops_per_s(row->flops, row->seconds));
    }
}

/* The used row that took longest of those not yet printed (marked in printed); NULL when none. */
static const struct shape *longest_shape(const bool *printed)
{
    const struct shape *longest = NULL;

    for (int i = 0; i < SHAPES; i++) {
        if (shapes[i].calls && !printed[i] && (!longest || shapes[i].seconds > longest->seconds))
            longest = &shapes[i];
    }
    return longest;
}

static void print_shapes(FILE *out)
{
    bool printed[SHAPES] = {false};
    int lines = 0;

    fprintf(out, "  shapes that took longest, of %d (row-major)\n", shape_count);
    fprintf(out, "  %-22s %7s %7s %7s %5s %4s  %-5s %-16s %9s %10s %9s\n", "name", "m", "n", "k",
            "trans", "beta", "where", "kernel", "calls", "mean ms", "GFLOP/s");
    for (; lines < SHAPES_PRINTED; lines++) {
        const struct shape *s = longest_shape(printed);

        if (!s)
            break;
        printed[s - shapes] = true;
        fprintf(out, "  %-22s %7lld %7lld %7lld    %c%c %4s  %-5s %-16s %9ld %10.4f %9.1f\n",
                s->symbol, (long long)s->m, (long long)s->n, (long long)s->k, s->transa ? 'T' : 'N',
                s->transb ? 'T' : 'N', s->beta_zero ? "0" : "any", xg_place_text(s->place),
                s->kernel ? s->kernel : "-", s->calls, 1e3 * s->seconds / (double)s->calls,
                gflops_per_s(s->flops, s->seconds));
    }
    if (shapes_dropped)
        fprintf(out, "  and %ld products of shapes that found the table full\n", shapes_dropped);
}

/* What helps, where the CPU library's threads keep the cores for long. */
static void print_spin(FILE *out)
{
    static const double long_s = 0.01;
    if (longest_spin_s >= long_s)
        fprintf(out,
                "  OpenBLAS's threads spin for %.0f ms after a product and take the cores that "
                "staging needs;\n  OPENBLAS_THREAD_TIMEOUT=20, which xgemm-run sets, lets them "
                "sleep\n",
                1e3 * longest_spin_s);
}

void xg_stats_print(FILE *out)
{
    pthread_mutex_lock(&lock);
    if (account_count > 0) {
        print_accounts(out);
        print_shapes(out);
        print_spin(out);
    }
    xg_compare_print(out);
    pthread_mutex_unlock(&lock);
}
