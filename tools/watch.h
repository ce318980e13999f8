/* SPDX-License-Identifier: MIT */
/* What xgemm-run's ab, top and report share: the program, and how it is to be run. */
#ifndef TOOLS_WATCH_H
#define TOOLS_WATCH_H

#include "child.h"

enum { WATCH_SETTINGS = 16 };

struct watch {
    char **argv;
    char *preloaded[WATCH_SETTINGS]; /* settings of a run with the library; ends with NULL */
    char *quiets; /* of those, what is set for the CPU library's threads; NULL: nothing is */
    int turns;
    const char *page;   /* the file that report writes */
    const char *writer; /* the program that writes it */
};

/* Adds NAME and VALUE to a list of settings as "NAME=VALUE", which it returns; malloc's. */
char *watch_set(char *settings[WATCH_SETTINGS], const char *name, const char *value);

/* These do all of a subcommand and leave the process as the program did (child_leave). */
_Noreturn void watch_ab(struct watch *watch);
_Noreturn void watch_top(struct watch *watch);
_Noreturn void watch_report(struct watch *watch);

#endif
