/* SPDX-License-Identifier: MIT */
/* Runs a program and watches it: the subcommands of xgemm-run that stay while the program runs. */
/*
 * usage: xgemm-watch ab|top|report|estimate [-n TURNS] [-p LD_PRELOAD] [-s NAME=VALUE] [-o FILE]
 *        [-w WRITER] [-g GPU] PROGRAM [ARGUMENT...]
 * Only xgemm-run starts it, with arguments that it has checked. -p is LD_PRELOAD for a run with the
 * library, -s another setting of that run, -w the program that writes a report into FILE,
 * -g part of a GPU's name.
 */
#include "watch.h"
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accounts.h"
#include "output.h"
#include "src/base/clock.h"

char *watch_set(char *settings[WATCH_SETTINGS], const char *name, const char *value)
{
    size_t size = strlen(name) + strlen(value) + 2;
    char *setting = malloc(size);
    int last = 0;

    while (settings[last])
        last++;
    if (!setting || last >= WATCH_SETTINGS - 1) {
        fputs("xgemm-run: too many settings\n", stderr);
        exit(125);
    }
    snprintf(setting, size, "%s=%s", name, value);
    return settings[last] = setting;
}

/* --- top: a line each second about the products of all the program's processes --------------- */

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

/* The characters of a line that fit, up to a comma. */
static int fit(const char *line)
{
    int length = (int)strlen(line), most = columns();

    if (length <= most)
        return length;
    for (length = most; length > 0 && line[length] != ','; length--)
        ;
    return length > 0 ? length : most;
}

static void write_line(const struct top *top, int processes, const struct xg_account_sums *done,
                       double seconds)
{
    char line[LINE_BYTES];

    snprintf(line, sizeof line,
             "%.0f products/s, GPU %.0f %% (%.0f %% of FLOP), %.0f GFLOP/s, %.2f GB/s, "
             "%d process%s",
             (double)done->calls / seconds, share((double)done->gpu_calls, (double)done->calls),
             share(done->gpu_flops, done->flops), done->flops / seconds * 1e-9,
             done->bytes / seconds * 1e-9, processes, processes == 1 ? "" : "es");
    if (top->rewrites)
        fprintf(stderr, "\r\033[K%.*s", fit(line), line);
    else
        fprintf(stderr, "xgemm-run: %s\n", line);
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
    if (top->rewrites)
        fputs("\r\033[K", stderr);
    terminal_say(stderr,
                 "%lld product%s in %d process%s; %lld on the GPU, %.0f %% of FLOP; %.3f s in "
                 "products, %.3f s in all",
                 (long long)all.calls, all.calls == 1 ? "" : "s", processes,
                 processes == 1 ? "" : "es", (long long)all.gpu_calls,
                 share(all.gpu_flops, all.flops), all.seconds, seconds);
    if (!processes)
        accounts_tell_none();
    accounts_explain(&sum);
    const char *absence = xg_account_absence_text(&sum);
    if (absence)
        terminal_say(stderr, "%s", absence);
}

static _Noreturn void watch_top(struct watch *watch)
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

/* --- report: runs the program with a trace, from which a page is written --------------------- */

static bool is_plain(const char *word)
{
    size_t plain = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%");
    return plain > 0 && !word[plain];
}

/* The command as a user would type it. Quotes enclose words that a shell would split, and a first
 * word that the writer would take for an option. */
static char *command_line(char *const *argv)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (int i = 0; out && argv[i]; i++) {
        const char *quote = is_plain(argv[i]) && (i || *argv[i] != '-') ? "" : "'";
        fprintf(out, "%s%s", i ? " " : "", quote);
        for (const char *at = argv[i]; *at; at++)
            fputs(*quote && *at == '\'' ? "'\\''" : (char[]){*at, '\0'}, out);
        fputs(quote, out);
    }
    return out && fclose(out) == 0 ? text : strdup(argv[0]);
}

static _Noreturn void refuse(const char *what)
{
    fprintf(stderr, "xgemm-run: %s: %s\n", what, strerror(errno));
    exit(125);
}

/* The page's name for the writer, allocated by malloc. "-" is standard output; "./" precedes any
 * other name that begins with "-", because the writer would take it for an option. */
static char *check_page(const char *page)
{
    char *name = NULL;

    if (strcmp(page, "-") && !output_is_writable(page))
        refuse(page);
    if (asprintf(&name, "%s%s", page[0] == '-' && page[1] ? "./" : "", page) < 0)
        refuse(page);
    return name;
}

/* Sums of the accounts of all processes, which lose nothing, however a process ends. */
struct report_sum {
    long long products;
    const char *absence; /* the reason why there is no GPU, if the traces lack it; else NULL */
};

static struct report_sum read_sum(const char *accounts)
{
    struct xg_account_sums sums;

    accounts_read(accounts, &sum);
    xg_account_sum(&sum, &sums);
    bool open = xg_account_absence(&sum) == XG_REASON_EARNING;
    accounts_explain(&sum);
    enum xg_reason reason = xg_account_absence(&sum);
    return (struct report_sum){(long long)sums.calls, open && xg_reason_is_absence(reason)
                                                          ? xg_reason_text(reason)
                                                          : NULL};
}

static bool write_page(const struct watch *watch, const char *page, const char *folder,
                       const struct child_end *end)
{
    static char *no_settings[] = {NULL};
    char status[16], seconds[32], products[32], accounts[PATH_MAX + 16];
    snprintf(accounts, sizeof accounts, "%s/account", folder);
    const struct report_sum report = read_sum(accounts);
    const char *argv[] = {
        watch->writer, "-o",   page,        "--command", command_line(watch->argv),
        "--status",    status, "--seconds", seconds,     "--products",
        products,      folder, NULL,        NULL,        NULL};
    if (report.absence)
        memcpy(argv + 11, (const char *[]){"--absence", report.absence, folder}, 3 * sizeof *argv);
    const struct child child = {
        .argv = (char *const *)argv, .settings = no_settings, .input = "/dev/null"};
    struct child_end written;

    snprintf(status, sizeof status, "%d", child_exit_status(end->status));
    snprintf(seconds, sizeof seconds, "%.6f", end->seconds);
    snprintf(products, sizeof products, "%lld", report.products);
    return child_run(&child, &written) && written.status == 0;
}

static _Noreturn void watch_report(struct watch *watch)
{
    char folder[PATH_MAX], below[PATH_MAX + 16];
    struct child_end end;

    char *page = check_page(watch->page);
    if (!accounts_folder_make(folder, false))
        exit(125);
    snprintf(below, sizeof below, "%s/account", folder);
    errno = EINVAL;
    /* XGEMM_TRACE replaces %p by the process's id; no escape stands for a percent sign. */
    if (strstr(folder, "%p") || mkdir(below, 0700)) {
        int error = errno;
        accounts_folder_remove(folder);
        errno = error;
        refuse(folder);
    }
    watch_set(watch->preloaded, "XGEMM_ACCOUNT", below);
    snprintf(below, sizeof below, "%s/%%p.json", folder);
    watch_set(watch->preloaded, "XGEMM_TRACE", below);

    const struct child child = {.argv = watch->argv, .settings = watch->preloaded};
    bool told = true;
    if (child_run(&child, &end)) {
        told = write_page(watch, page, folder, &end);
        fprintf(stderr, "xgemm-run: the report %s %s\n", told ? "is" : "could not be written to",
                watch->page);
    }
    accounts_folder_remove(folder);
    free(page);
    child_leave(told || end.status ? end.status : 125 << 8);
}

/* --- The arguments --------------------------------------------------------------------------- */

/* Takes "NAME=VALUE", a setting for the CPU library's threads. */
static void set_quiet(struct watch *watch, const char *setting)
{
    char *before = watch->quiets;
    const char *value = strchr(setting, '=');
    char *name = strndup(setting, strcspn(setting, "="));

    watch_set(watch->preloaded, name ? name : setting, value ? value + 1 : "");
    free(name);
    if (asprintf(&watch->quiets, "%s%s%s", before ? before : "", before ? " " : "", setting) < 0)
        watch->quiets = before;
    else
        free(before);
}

static const struct {
    const char *name;
    void (*run)(struct watch *watch);
} commands[] = {
    {"ab", watch_ab}, {"top", watch_top}, {"report", watch_report}, {"estimate", watch_estimate}};

/* Our files must not get the number of a closed standard descriptor; the program finds that
 * descriptor closed. */
static void reserve_standard(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct watch watch = {.turns = 1};
    int option;

    reserve_standard();
    optind = 2;
    while ((option = getopt(argc, argv, "+n:p:s:o:w:g:")) != -1) {
        switch (option) {
        case 'n':
            watch.turns = atoi(optarg);
            break;
        case 'p':
            watch_set(watch.preloaded, "LD_PRELOAD", optarg);
            break;
        case 's':
            set_quiet(&watch, optarg);
            break;
        case 'o':
            watch.page = optarg;
            break;
        case 'w':
            watch.writer = optarg;
            break;
        case 'g':
            watch.gpu = optarg;
            break;
        default:
            return 125;
        }
    }
    watch.argv = argv + optind;
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(argv[1], commands[i].name))
            commands[i].run(&watch);
    fputs("xgemm-run: xgemm-watch is started by xgemm-run, not by hand\n", stderr);
    return 125;
}
