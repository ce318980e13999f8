/* SPDX-License-Identifier: MIT */
/* xgemm-run top: prints a line each second about the products of all the program's processes. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "accounts.h"
#include "src/base/clock.h"
#include "watch.h"

enum { LINE_BYTES = 256 };

struct top {
    char folder[PATH_MAX];
    bool rewrites; /* a terminal: each line replaces the one before */
    double seen_s; /* time of the last reading of the accounts */
    struct xg_account_sums seen;
};

static struct xg_account sum;

static double share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* The most columns of a line: a wrapped line could not be overwritten. */
static int columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
}

static void write_line(const struct top *top, int processes, const struct xg_account_sums *done,
                       double seconds)
{
    char line[LINE_BYTES];

    snprintf(line, sizeof line,
             "xgemm-run: %.0f products/s, GPU %.0f %% (%.0f %% of FLOP), %.0f GFLOP/s, %.2f GB/s, "
             "%d process%s",
             (double)done->calls / seconds, share((double)done->gpu_calls, (double)done->calls),
             share(done->gpu_flops, done->flops), done->flops / seconds * 1e-9,
             done->bytes / seconds * 1e-9, processes, processes == 1 ? "" : "es");
    if (top->rewrites)
        fprintf(stderr, "\r\033[K%.*s", columns(), line);
    else
        fprintf(stderr, "%s\n", line);
}

static void tick(void *ctx)
{
    struct top *top = ctx;
    struct xg_account_sums now;
    int processes = accounts_read(top->folder, &sum);
    double now_s = xg_clock_s();

    xg_account_sum(&sum, &now);
    struct xg_account_sums done = {
        .calls = now.calls - top->seen.calls,
        .gpu_calls = now.gpu_calls - top->seen.gpu_calls,
        .flops = now.flops - top->seen.flops,
        .gpu_flops = now.gpu_flops - top->seen.gpu_flops,
        .bytes = now.bytes - top->seen.bytes,
    };
    write_line(top, processes, &done, now_s - top->seen_s);
    top->seen = now;
    top->seen_s = now_s;
}

static void write_sums(const struct top *top, double seconds)
{
    struct xg_account_sums all;
    int processes = accounts_read(top->folder, &sum);

    xg_account_sum(&sum, &all);
    fprintf(
        stderr,
        "%sxgemm-run: %lld product%s in %d process%s; %lld on the GPU, %.0f %% of FLOP; %.3f s in "
        "products, %.3f s in all\n",
        top->rewrites ? "\r\033[K" : "", (long long)all.calls, all.calls == 1 ? "" : "s", processes,
        processes == 1 ? "" : "es", (long long)all.gpu_calls, share(all.gpu_flops, all.flops),
        all.seconds, seconds);
    if (!processes)
        accounts_tell_none();
    accounts_explain(&sum);
    xg_account_print_absence(&sum, "xgemm-run: ", stderr);
}

void watch_top(struct watch *watch)
{
    static struct top top;
    struct child_end end;

    if (!accounts_folder_make(top.folder, true))
        exit(125);
    watch_set(watch->preloaded, "XGEMM_ACCOUNT", top.folder);
    top.rewrites = isatty(STDERR_FILENO);
    top.seen_s = xg_clock_s();
    const struct child child = {
        .argv = watch->argv, .settings = watch->preloaded, .tick = tick, .ctx = &top};
    if (child_run(&child, &end))
        write_sums(&top, end.seconds);
    accounts_folder_remove(top.folder);
    child_leave(end.status);
}
