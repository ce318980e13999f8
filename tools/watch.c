/* SPDX-License-Identifier: MIT */
/* Runs a program and watches it: the subcommands of xgemm-run that stay while the program runs. */
/*
 * usage: xgemm-watch ab|top|report [-n TURNS] [-p LD_PRELOAD] [-s NAME=VALUE] [-o FILE] [-w WRITER]
 *        PROGRAM [ARGUMENT...]
 * Only xgemm-run starts it, with arguments that it has checked. -p is LD_PRELOAD for a run with the
 * library, -s another setting of that run, -w the program that writes a report into FILE.
 */
#include "watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
} commands[] = {{"ab", watch_ab}, {"top", watch_top}, {"report", watch_report}};

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
    while ((option = getopt(argc, argv, "+n:p:s:o:w:")) != -1) {
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
        default:
            return 125;
        }
    }
    watch.argv = argv + optind;
    for (size_t i = 0; optind < argc && i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(argv[1], commands[i].name))
            commands[i].run(&watch);
    fputs("xgemm-run: xgemm-watch is started by xgemm-run, not by hand\n", stderr);
    return 125;
}
