/* SPDX-License-Identifier: MIT */
/* Shared by xgemm-run's ab, top, report and estimate: the program, and how to run it. */
#ifndef TOOLS_WATCH_H
#define TOOLS_WATCH_H

#include "child.h"

enum { WATCH_SETTINGS = 16 };

struct watch {
    char **argv;
    char *preloaded[WATCH_SETTINGS]; /* settings of a run with the library; NULL ends the list */
    char *quiets;                    /* those for the CPU library's threads, as text; NULL: none */
    int turns;
    const char *gpu;    /* part of the names that estimate prints; NULL: all */
    const char *page;   /* the file that report writes */
    const char *writer; /* the program that writes it */
};

/* Adds "NAME=VALUE" to a list of settings and returns it; allocated by malloc. */
char *watch_set(char *settings[WATCH_SETTINGS], const char *name, const char *value);

/* Each runs its subcommand and ends this process as the program ended (child_leave). */
_Noreturn void watch_ab(struct watch *watch);
_Noreturn void watch_estimate(struct watch *watch);

#endif
