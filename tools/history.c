/* SPDX-License-Identifier: MIT */
/* Lists, explains and forgets what is remembered of programs: xgemm-run history. */
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "src/base/conf.h"
#include "src/base/file.h"
#include "src/machine/history.h"
#include "src/machine/program.h"

static uint64_t machine; /* the hash of this one */

/* --- Records ---------------------------------------------------------------------------------- */

static const char *names_of(unsigned needs, char text[64])
{
    snprintf(text, 64, "%s%s%s", needs & 1u << XG_RESOURCE_GPU ? "GPU" : "no",
             needs & 1u << XG_RESOURCE_CUBLAS ? ", cuBLAS" : "",
             needs & 1u << XG_RESOURCE_CUSOLVER ? ", cuSOLVER" : "");
    return text;
}

static const char *day_of(int64_t time_s, char text[16])
{
    const time_t seconds = (time_t)time_s;
    struct tm date;
    text[0] = '\0';
    if (gmtime_r(&seconds, &date))
        strftime(text, 16, "%Y-%m-%d", &date);
    return text;
}

static void print_head(void)
{
    puts("program   last run    runs  took s  on CPU s  gains s  first s  MiB   starts early");
}

static bool holds(const struct xg_past *past)
{
    return xg_past_holds(past, machine, (int64_t)time(NULL));
}

static void print_record(const struct xg_past *past)
{
    char day[16], names[64];
    printf("%08llx  %-10s %5u %7.2f %9.2f %8.2f %8.2f %4u   %s\n",
           (unsigned long long)(past->id >> 32), day_of(past->time_s, day), past->runs,
           1e-3 * past->wall_ms, 1e-3 * ((double)past->wall_ms + past->saved_ms),
           1e-3 * past->gain_ms, 1e-3 * past->first_ms, past->device_mib,
           names_of(holds(past) ? xg_past_promise(past) : 0, names));
}

/* Why a record does, or does not, start the GPU early. */
static void explain(const struct xg_past *past)
{
    const double gain_s = 1e-3 * past->gain_ms, price_s = 1e-3 * past->price_ms;
    if (!holds(past))
        printf("Its last run had another GPU, driver or version of this library, or was not in the "
               "last %d days, so nothing starts early.\n",
               XG_PAST_DAYS);
    else if (past->bars & XG_PAST_FORKS)
        puts("A run forked before it used the GPU. Its children may want the GPU, which a started "
             "parent would deny them, so nothing starts early until --forget.");
    else if (past->bars & XG_PAST_SETTINGS)
        puts(
            "A run changed its settings (XGEMM_*, CUDA_*) after it had loaded its BLAS, so nothing "
            "starts early until --forget.");
    else if (xg_past_is_vain(past))
        printf("Its last start was in vain: the GPU would have saved %.2f s, and the start takes "
               "%.2f s. So nothing starts early, and the next start waits until as much was "
               "missed.\n",
               gain_s, price_s);
    else if (xg_past_promise(past))
        printf("A ready GPU is believed to save at least %.2f s, and the starts take %.2f s, "
               "mostly beside imports: they begin when its BLAS is loaded.\n",
               gain_s, price_s);
    else
        printf("A ready GPU is believed to save %.2f s, and the starts take %.2f s: %s, so nothing "
               "starts early.\n",
               gain_s, price_s,
               gain_s < XG_PAST_NEEDED * price_s
                   ? "less than half of it"
                   : "but runs that started early did not tell how they ended");
}

static int list(const struct xg_history *history)
{
    struct xg_past records[XG_HISTORY_RECORDS];
    int total = 0;
    for (int file = 0; file < XG_HISTORY_FILES; file++) {
        int count = xg_history_read(history, file, records);
        for (int i = 0; i < count; i++) {
            if (!total++)
                print_head();
            print_record(&records[i]);
        }
    }
    printf(total ? "%d remembered in %s\n" : "%d programs remembered in %s\n", total,
           history->folder);
    return 0;
}

static int forget_all(const struct xg_history *history)
{
    struct xg_past records[XG_HISTORY_RECORDS];
    int total = 0;
    for (int file = 0; file < XG_HISTORY_FILES; file++)
        for (int i = xg_history_read(history, file, records); i-- > 0;)
            total += xg_history_forget(history, records[i].id);
    printf("%d forgotten\n", total);
    return 0;
}

/* Finds a record by the number that the list has. */
static bool find_listed(const struct xg_history *history, const char *number, struct xg_past *past)
{
    struct xg_past records[XG_HISTORY_RECORDS];
    char *end;
    const unsigned long long wanted = strtoull(number, &end, 16);
    if (strlen(number) != 8 || *end)
        return false;
    for (int file = 0; file < XG_HISTORY_FILES; file++)
        for (int i = xg_history_read(history, file, records); i-- > 0;)
            if (records[i].id >> 32 == wanted) {
                *past = records[i];
                return true;
            }
    return false;
}

/* Starters, and the programs that they become with the same arguments, from their folder. */
static const char *const starters[][2] = {
    {"R", "exec/R"},           {"R", "../lib*/R/bin/exec/R"},
    {"Rscript", "exec/R"},     {"Rscript", "../lib*/R/bin/exec/R"},
    {"octave", "octave-cli*"}, {"octave", "../libexec/octave/*/exec/*/octave-gui"},
};
enum { STARTERS = sizeof starters / sizeof starters[0] };

/* Finds the record of an executable with the command's arguments. Returns false if there is none;
 * sets *told if the programs of this interpreter have identities. */
static bool find_record(const struct xg_history *history, const char *executable,
                        const struct command *command, struct xg_past *past, bool *told)
{
    static struct xg_program program;
    char real[PATH_MAX];
    const size_t length = realpath(executable, real)
                              ? xg_program_write(&program, real, command->argc, command->argv)
                              : 0;
    *told |= length > 0;
    return length && xg_history_find(history, xg_history_hash(history, program.text, length), past);
}

static bool find_started(const struct xg_history *history, const struct command *command,
                         struct xg_past *past, bool *told)
{
    char starter[PATH_MAX], pattern[2 * PATH_MAX];
    bool found = false;
    glob_t files;
    for (size_t i = 0; realpath(command->path, starter) && i < STARTERS && !found; i++) {
        const char *name = xg_file_name(starter);
        snprintf(pattern, sizeof pattern, "%.*s%s", (int)(name - starter), starter, starters[i][1]);
        if (strcmp(name, starters[i][0]) != 0 || glob(pattern, 0, NULL, &files) != 0)
            continue;
        for (size_t j = 0; j < files.gl_pathc && !found; j++)
            found = find_record(history, files.gl_pathv[j], command, past, told);
        globfree(&files);
    }
    return found;
}

static bool find_program(const struct xg_history *history, int count, char **words,
                         struct xg_past *past)
{
    static struct command command;
    bool found, told = false;
    command_find(&command, count, (const char *const *)words);
    do
        found = find_started(history, &command, past, &told);
    while (!found && command_follow(&command));
    if (command.state != COMMAND_FOUND) {
        fprintf(stderr, "xgemm-run: history: %s: not found\n", command.argv[0]);
        exit(125);
    }
    if (found || find_record(history, command.path, &command, past, &told))
        return true;
    puts(told ? "Nothing is remembered of it."
              : "It is not told apart from others: code given as text, standard input, a notebook, "
                "a worker, a script that is not there, or a program that a shell's script starts. "
                "The list has a number for each program that is remembered.");
    return false;
}

static int look(const struct xg_history *history, bool forgets, int count, char **words)
{
    struct xg_past past;
    if (!(count == 1 && find_listed(history, words[0], &past)) &&
        !find_program(history, count, words, &past))
        return 1;
    if (forgets) {
        bool forgotten = xg_history_forget(history, past.id);
        puts(forgotten ? "Forgotten." : "The file could not be replaced.");
        return !forgotten;
    }
    print_head();
    print_record(&past);
    explain(&past);
    return 0;
}

int main(int argc, char **argv)
{
    static struct xg_history history;
    bool forgets = argc > 1 && !strcmp(argv[1], "--forget");
    int first = 1 + forgets;
    first += first < argc && !strcmp(argv[first], "--");
    if (!xg_history_open(&history, false, xg_conf_environment)) {
        puts("Nothing is remembered here.");
        return first < argc;
    }
    machine = xg_history_machine(&history);
    int status = first < argc ? look(&history, forgets, argc - first, argv + first)
                 : forgets    ? forget_all(&history)
                              : list(&history);
    return fflush(stdout) != 0 ? 125 : status;
}
