/* SPDX-License-Identifier: MIT */
/* Prints settings, for the launcher and Python: their table, and those of configuration files. */
/*
 * Without an argument, prints shell commands that export each setting that a configuration file
 * gives and the environment does not, and add its name to the variable `configured`. With --null,
 * for the Python package, prints NAME=VALUE and a NUL byte for each. Both print on standard error a
 * line for each misspelt setting and each ignored line of a file. With --all, prints the table;
 * with --help, the part of it that the launcher's own --help contains.
 */
#include <stdbool.h>
#include <string.h>

#include "src/base/conf.h"
#include "src/base/log.h"

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
    printf("export %s=", name);
    print_quoted(value);
    printf("\nconfigured=\"$configured %s\"\n", name);
}

static void print_terminated(void *context, const char *name, const char *value, const char *path,
                             int line)
{
    (void)context, (void)path, (void)line;
    printf("%s=%s%c", name, value, '\0');
}

static void print_fault(void *context, const char *text)
{
    (void)context;
    xg_log(XG_LOG_WARN, "%s", text);
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
    }
    return fflush(stdout) != 0;
}
