/* SPDX-License-Identifier: MIT */
/* xgemm-run report: runs the program with a trace and has a page written from that. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "accounts.h"
#include "output.h"
#include "watch.h"

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
struct sum {
    long long products;
    const char *absence; /* the reason why there is no GPU, if the traces lack it; else NULL */
};

static struct sum read_sum(const char *accounts)
{
    static struct xg_account account;
    struct xg_account_sums sums;

    accounts_read(accounts, &account);
    xg_account_sum(&account, &sums);
    bool open = xg_account_absence(&account) == XG_REASON_EARNING;
    accounts_explain(&account);
    enum xg_reason reason = xg_account_absence(&account);
    return (struct sum){(long long)sums.calls,
                        open && xg_reason_is_absence(reason) ? xg_reason_text(reason) : NULL};
}

static bool write_page(const struct watch *watch, const char *page, const char *folder,
                       const struct child_end *end)
{
    static char *no_settings[] = {NULL};
    char status[16], seconds[32], products[32], accounts[PATH_MAX + 16];
    snprintf(accounts, sizeof accounts, "%s/account", folder);
    const struct sum sum = read_sum(accounts);
    const char *argv[] = {
        watch->writer, "-o",   page,        "--command", command_line(watch->argv),
        "--status",    status, "--seconds", seconds,     "--products",
        products,      folder, NULL,        NULL,        NULL};
    if (sum.absence)
        memcpy(argv + 11, (const char *[]){"--absence", sum.absence, folder}, 3 * sizeof *argv);
    const struct child child = {
        .argv = (char *const *)argv, .settings = no_settings, .input = "/dev/null"};
    struct child_end written;

    snprintf(status, sizeof status, "%d", child_exit_status(end->status));
    snprintf(seconds, sizeof seconds, "%.6f", end->seconds);
    snprintf(products, sizeof products, "%lld", sum.products);
    return child_run(&child, &written) && written.status == 0;
}

void watch_report(struct watch *watch)
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
