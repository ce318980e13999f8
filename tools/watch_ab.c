/* SPDX-License-Identifier: MIT */
/* xgemm-run ab: compares runs on the program's own CPU library with runs on the GPU, in turns. */
/*
 * The first side changes from turn to turn, so that a machine that gets slower or faster meanwhile
 * favours neither. Every run counts, including the first ones with cold caches; their times are
 * listed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accounts.h"
#include "rank.h"
#include "terminal.h"
#include "watch.h"

enum side { CPU, PRELOADED, SIDES };

enum { TEXT_BYTES = 4096 };

/* A difference with a smaller p counts as real. */
#define P_REAL 0.05

/* Seconds that it takes to count a product that is otherwise too small to be looked at; measured
 * with products of 4 x 4 x 4. */
#define COUNTING_S 1.3e-6

static struct {
    double seconds[SIDES][RANK_MAX];
    int status[SIDES][RANK_MAX];
    int count[SIDES];
    enum side order[SIDES * RANK_MAX];    /* of the runs */
    struct xg_account accounts[RANK_MAX]; /* of each preloaded run, summed over all processes */
    int processes[RANK_MAX];              /* processes that multiplied in it */
    char folder[PATH_MAX];                /* for the accounts of the current run */
    int failure; /* exit status, as of waitpid, if the program could not be started; else 0 */
    int signal;  /* the signal that ended the runs early; 0: none */
} runs;

/* Each run reads a file from its start. The program gets no input that can be read only once. */
static const char *choose_input(void)
{
    struct stat input;

    if (fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode))
        return "/proc/self/fd/0";
    return isatty(STDIN_FILENO) ? NULL : "/dev/null";
}

/* False: there must be no further run. */
static bool run(const struct watch *watch, enum side side)
{
    char *settings[WATCH_SETTINGS] = {NULL};
    struct child_end end;
    int at = runs.count[side];

    if (side == PRELOADED) {
        memcpy(settings, watch->preloaded, sizeof settings);
        if (!accounts_folder_make(runs.folder, true))
            exit(125);
    }
    char *added = side == CPU ? watch_set(settings, "XGEMM_MODE", "cpu")
                              : watch_set(settings, "XGEMM_ACCOUNT", runs.folder);
    const struct child child = {.argv = watch->argv, .settings = settings, .input = choose_input()};
    child_settle();
    bool started = child_run(&child, &end);
    free(added);
    if (side == PRELOADED) {
        runs.processes[at] = accounts_read(runs.folder, &runs.accounts[at]);
        accounts_folder_remove(runs.folder);
    }
    runs.failure = started ? 0 : end.status;
    runs.signal = end.signal;
    if (!started || runs.signal)
        return false; /* an interrupted run does not count; write_result says so */
    runs.status[side][at] = end.status;
    runs.seconds[side][at] = end.seconds;
    runs.order[runs.count[CPU] + runs.count[PRELOADED]] = side;
    runs.count[side]++;
    return true;
}

/* On a terminal, prints which run begins and the time left, estimated from earlier runs. It uses a
 * separate line, because the program writes to the terminal too. */
static void tell_progress(enum side side, int turns)
{
    int done = runs.count[CPU] + runs.count[PRELOADED];
    double left_s = 0;
    char text[16];
    if (!terminal_is(stderr))
        return;
    fprintf(stderr, "xgemm-run: run %d of %d, %s", done + 1, SIDES * turns,
            side == CPU ? "CPU library" : "preloaded");
    if (runs.count[CPU] && runs.count[PRELOADED]) {
        for (int i = 0; i < SIDES; i++)
            left_s += rank_median(runs.seconds[i], runs.count[i]) * (turns - runs.count[i]);
        terminal_duration(text, left_s);
        fprintf(stderr, ", about %s left", text);
    }
    fputc('\n', stderr);
}

static void run_all(const struct watch *watch)
{
    /* Reports a folder that cannot be made before the first run, which needs no folder. */
    if (!accounts_folder_make(runs.folder, true))
        exit(125);
    accounts_folder_remove(runs.folder);
    for (int turn = 0; turn < watch->turns; turn++)
        for (int i = 0; i < SIDES; i++) {
            enum side side = (enum side)((turn + i) % SIDES);
            tell_progress(side, watch->turns);
            if (!run(watch, side))
                return;
        }
}

/* --- Results ------------------------------------------------------------------------------- */

/* Writes "3" or, if runs differ, "0 (4 of 5 runs), 139 (1 of 5 runs)". */
static void write_statuses(enum side side, FILE *out)
{
    int count = runs.count[side];
    bool written[RANK_MAX] = {false};

    for (int i = 0; i < count; i++) {
        int same = 0;
        if (written[i])
            continue;
        for (int j = i; j < count; j++) {
            if (runs.status[side][j] != runs.status[side][i])
                continue;
            written[j] = true;
            same++;
        }
        fprintf(out, "%s%d", i ? ", " : "", child_exit_status(runs.status[side][i]));
        if (same < count)
            fprintf(out, " (%d of %d runs)", same, count);
    }
}

/* Times of a program that always fails the same way are still compared. */
static bool end_alike(void)
{
    for (int side = 0; side < SIDES; side++)
        for (int i = 0; i < runs.count[side]; i++)
            if (runs.status[side][i] != runs.status[CPU][0])
                return false;
    return true;
}

static void write_side(const char *name, enum side side)
{
    const double *seconds = runs.seconds[side];
    int count = runs.count[side];
    double least = seconds[0], most = seconds[0];

    for (int i = 1; i < count; i++) {
        least = seconds[i] < least ? seconds[i] : least;
        most = seconds[i] > most ? seconds[i] : most;
    }
    char text[TEXT_BYTES];
    FILE *out = fmemopen(text, sizeof text, "w");
    if (!out)
        return;
    fprintf(out, "%s %.3f s", name, rank_median(seconds, count));
    if (count > 1)
        fprintf(out, " (median of %d runs, %.3f to %.3f)", count, least, most);
    fputs(", exit status ", out);
    write_statuses(side, out);
    fclose(out);
    terminal_say(stderr, "%s", text);
}

static void write_order(void)
{
    char text[SIDES * RANK_MAX * 24] = "in order:";
    size_t at = strlen(text);
    int next[SIDES] = {0};

    for (int i = 0; i < runs.count[CPU] + runs.count[PRELOADED]; i++) {
        enum side side = runs.order[i];
        int written = snprintf(text + at, sizeof text - at, "%s %s %.3f", i ? "," : "",
                               side == CPU ? "CPU" : "preloaded", runs.seconds[side][next[side]++]);
        at += (size_t)written < sizeof text - at ? (size_t)written : 0;
    }
    terminal_say(stderr, "%s", text);
}

static void write_verdict(void)
{
    int cpu = runs.count[CPU], preloaded = runs.count[PRELOADED], few = 1;
    int least = cpu < preloaded ? cpu : preloaded;

    while (rank_p_least(few) > P_REAL)
        few++;
    if (least < few) {
        terminal_say(stderr, "a test for chance needs %d runs of each kind (-n %d)", few, few);
        return;
    }
    double p = rank_p(runs.seconds[CPU], cpu, runs.seconds[PRELOADED], preloaded);
    terminal_say(
        stderr,
        "the difference %s: p = %.2g (exact two-sided Mann-Whitney test; real if p is at most %g)",
        p <= P_REAL ? "is real" : "may be chance", p, P_REAL);
}

/* The preloaded run whose time is the median, or the next shorter one. */
static int median_run(void)
{
    const double *seconds = runs.seconds[PRELOADED];
    int count = runs.count[PRELOADED], found = 0;

    for (int i = 0; i < count; i++) {
        int below = 0;
        for (int j = 0; j < count; j++)
            below += seconds[j] < seconds[i] || (seconds[j] == seconds[i] && j < i);
        found = below == (count - 1) / 2 ? i : found;
    }
    return found;
}

static void write_spread_of_places(int run)
{
    char many[64] = "", spread[128] = "";
    int64_t least = INT64_MAX, most = 0;

    for (int i = 0; i < runs.count[PRELOADED]; i++) {
        struct xg_account_sums sums;
        xg_account_sum(&runs.accounts[i], &sums);
        least = sums.gpu_calls < least ? sums.gpu_calls : least;
        most = sums.gpu_calls > most ? sums.gpu_calls : most;
    }
    if (runs.count[PRELOADED] > 1)
        snprintf(many, sizeof many, " in preloaded run %d, the run with the median time", run + 1);
    if (most > least)
        snprintf(spread, sizeof spread, " (on the GPU in all runs: %lld to %lld products)",
                 (long long)least, (long long)most);
    terminal_say(stderr, "%d process%s multiplied%s%s%s", runs.processes[run],
                 runs.processes[run] == 1 ? "" : "es", many, spread, *many ? ":" : "");
}

static void write_account(void)
{
    int run = median_run(), seen = 0;

    for (int i = 0; i < runs.count[PRELOADED]; i++)
        seen += runs.processes[i] > 0;
    if (!seen) {
        accounts_tell_none();
        return;
    }
    write_spread_of_places(run);
    xg_account_print(&runs.accounts[run], terminal_is(stderr) ? TERMINAL_WIDTH : 0, stderr);
    struct xg_account_sums sums;
    xg_account_sum(&runs.accounts[run], &sums);
    double counting_s = COUNTING_S * (double)sums.calls;
    if (counting_s > 0.01 * runs.seconds[PRELOADED][run])
        terminal_say(
            stderr,
            "counting these products took up to %.3f s of this time; without ab it takes none",
            counting_s);
}

/* Counts the preloaded runs that saw products, and those that had products on the GPU. */
static void count_products(long long *seen, long long *on_gpu)
{
    *seen = *on_gpu = 0;
    for (int i = 0; i < runs.count[PRELOADED]; i++) {
        struct xg_account_sums sums;
        xg_account_sum(&runs.accounts[i], &sums);
        *seen += sums.calls > 0;
        *on_gpu += sums.gpu_calls > 0;
    }
}

/* Writes one sentence, the first line. */
static void write_sentence(double cpu_s, double preloaded_s)
{
    int cpu = runs.count[CPU], preloaded = runs.count[PRELOADED];
    int least = cpu < preloaded ? cpu : preloaded;
    bool enough = rank_p_least(least) <= P_REAL;
    bool real =
        enough && rank_p(runs.seconds[CPU], cpu, runs.seconds[PRELOADED], preloaded) <= P_REAL;
    long long seen, on_gpu;

    count_products(&seen, &on_gpu);
    enum terminal_colour colour = !real || !end_alike() ? TERMINAL_BOLD
                                  : preloaded_s < cpu_s ? TERMINAL_GREEN
                                                        : TERMINAL_RED;
    char ratio[64];
    snprintf(ratio, sizeof ratio, "%.3g times as %s with the library",
             preloaded_s < cpu_s ? cpu_s / preloaded_s : preloaded_s / cpu_s,
             preloaded_s < cpu_s ? "fast" : "slow");
    bool absent = xg_reason_is_absence(xg_account_absence(&runs.accounts[median_run()]));
    terminal_say(
        stderr, "verdict: %s%s%s%s", terminal_colour(stderr, colour),
        !end_alike()
            ? "the runs ended with different statuses, so neither side can be called faster"
        : !enough || !(cpu_s > 0 && preloaded_s > 0)
            ? "too few runs to say whether the library makes a difference"
        : !real ? "no difference beyond chance"
                : ratio,
        !seen        ? ", and no product was counted."
        : on_gpu > 0 ? "."
        : absent     ? ", and there is no GPU here."
                     : ", and no product ran on the GPU.",
        terminal_colour(stderr, TERMINAL_PLAIN));
}

static void write_result(const struct watch *watch)
{
    if (runs.signal)
        fprintf(stderr, "xgemm-run: interrupted in run %d of %d, which is not counted\n",
                runs.count[CPU] + runs.count[PRELOADED] + 1, SIDES * watch->turns);
    if (!runs.count[CPU] || !runs.count[PRELOADED])
        return;
    double cpu_s = rank_median(runs.seconds[CPU], runs.count[CPU]);
    double preloaded_s = rank_median(runs.seconds[PRELOADED], runs.count[PRELOADED]);
    accounts_explain(&runs.accounts[median_run()]);
    write_sentence(cpu_s, preloaded_s);
    write_side("CPU library", CPU);
    write_side("preloaded", PRELOADED);
    if (!end_alike()) {
        fputs(
            "xgemm-run: the runs ended with different statuses, so their times are not compared\n",
            stderr);
    } else {
        if (preloaded_s > 0)
            fprintf(stderr, "xgemm-run: %.3g times as fast\n", cpu_s / preloaded_s);
        write_verdict();
    }
    if (runs.count[CPU] + runs.count[PRELOADED] > SIDES)
        write_order();
    if (watch->quiets)
        terminal_say(stderr,
                     "the preloaded runs had %s, which may be part of the difference (--keep-env)",
                     watch->quiets);
    write_account();
}

/* The status of the first preloaded run that did not succeed. */
static int choose_status(void)
{
    if (runs.signal)
        return runs.signal; /* in waitpid's form */
    for (int i = 0; i < runs.count[PRELOADED]; i++)
        if (runs.status[PRELOADED][i])
            return runs.status[PRELOADED][i];
    return runs.failure;
}

void watch_ab(struct watch *watch)
{
    if (watch->turns < 1 || watch->turns > RANK_MAX)
        exit(125);
    run_all(watch);
    write_result(watch);
    child_leave(choose_status());
}
