/* SPDX-License-Identifier: MIT */
/* Prints settings, for the launcher and Python: their table, those of configuration files, and how
 * long the CPU library's threads should spin. */
/*
 * Without an argument, prints shell commands that export each setting that a configuration file
 * gives and the environment does not, and add its name to the variable `configured`; then one that
 * sets the variable `spins` to the variables that shorten the spin of the CPU library's threads, if
 * they are to be shortened; given a path, also one that sets `library` to its real path. With
 * --null, for the Python package, prints NAME=VALUE and a NUL byte for each of both. Both forms
 * print on standard error a line for each misspelt setting and each ignored line of a file. With
 * --all, prints the table; with --help, the part of it that the launcher's own --help contains.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shim/pools.h"
#include "src/base/conf.h"
#include "src/base/log.h"
#include "wake.h"

/* Prints text in single quotes; a quote inside it goes between two quoted parts. */
static void print_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    putchar('\'');
}

static void print_given(void *context, const char *name, const char *value, const char *path,
                        int line)
{
    (void)context, (void)path, (void)line;
    (void)setenv(name, value, 1); /* for the spins */
    printf("export %s=", name);
    print_quoted(value);
    printf("\nconfigured=\"$configured %s\"\n", name);
}

static void print_terminated(void *context, const char *name, const char *value, const char *path,
                             int line)
{
    (void)context, (void)path, (void)line;
    (void)setenv(name, value, 1);
    printf("%s=%s%c", name, value, '\0');
}

static void print_library(const char *path)
{
    char *real = realpath(path, NULL);
    fputs("library=", stdout);
    print_quoted(real ? real : path);
    putchar('\n');
    free(real);
}

static void print_fault(void *context, const char *text)
{
    (void)context;
    xg_log(XG_LOG_WARN, "%s", text);
}

/* The library reports settings that are not understood. */
static void ignore(void *context, const char *text)
{
    (void)context, (void)text;
}

/* Measures what a wake costs only if a variable depends on it that the user has not set. */
static void print_spins(bool null)
{
    struct xg_conf conf;
    struct xg_wake wake;
    xg_conf_parse(&conf, xg_conf_environment, ignore, NULL);
    const bool own_spin = getenv(SHIM_POOLS_POWER);
    const bool own_rounds = getenv(SHIM_POOLS_ROUNDS) || getenv("OMP_WAIT_POLICY");
    const enum shim_wish wish = shim_pools_wish(
        conf.spin, conf.mode, getenv("CUDA_VISIBLE_DEVICES"), shim_pools_have_device());
    const bool known = wish == SHIM_WISH_BY_WAKE && !(own_spin && own_rounds) && wake_find(&wake);
    const int power = own_spin ? 0 : shim_pools_power(wish, known ? &wake : NULL);
    const long rounds = own_rounds ? 0 : shim_pools_rounds(wish, known ? &wake : NULL);
    const char end = null ? '\0' : ' ';
    fputs(null ? "" : "spins='", stdout);
    if (power)
        printf("%s=%d%c", SHIM_POOLS_POWER, power, end);
    if (rounds)
        printf("%s=%ld%c", SHIM_POOLS_ROUNDS, rounds, end);
    fputs(null ? "" : "'\n", stdout);
    xg_conf_fini(&conf);
}

int main(int argc, char **argv)
{
    static struct xg_conf_files files;
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "--all"))) {
        xg_conf_print_help(stdout, !strcmp(argv[1], "--help"));
    } else {
        bool null = argc > 1 && !strcmp(argv[1], "--null");
        xg_conf_files_read(&files, XG_CONF_SYSTEM_FILE);
        xg_conf_files_report(&files, print_fault, NULL);
        xg_conf_environment_report(print_fault, NULL);
        xg_conf_files_visit(&files, null ? print_terminated : print_given, NULL);
        print_spins(null);
        if (argc > 1 && argv[1][0] == '/')
            print_library(argv[1]);
    }
    return fflush(stdout) != 0;
}
