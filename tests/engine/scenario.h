/* SPDX-License-Identifier: MIT */
/* Tests of what a process does once: each scenario runs in a process and an environment of its own.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/xt.h"

struct fx_scenario {
    const char *name;
    void (*run)(void);
    const char *environment; /* "NAME=VALUE NAME=VALUE" on top of the caller's */
    /* What the process writes to standard error must hold this, and nothing at all where it is
     * NULL. */
    const char *says;
    const char *says_too;
};

static inline void fx_set_environment(const char *environment)
{
    char copy[256], *rest = copy, *item;
    snprintf(copy, sizeof(copy), "%s", environment);
    while ((item = strsep(&rest, " "))) {
        char *value = strchr(item, '=');
        if (!value)
            continue;
        *value++ = '\0';
        setenv(item, value, 1);
    }
}

/* Reads what the file descriptor gives, up to size - 1 bytes; waits for its end. */
static inline void fx_read_all(int fd, char *text, size_t size)
{
    size_t length = 0;
    char rest[256];
    for (;;) {
        char *to = length + 1 < size ? text + length : rest;
        size_t room = length + 1 < size ? size - 1 - length : sizeof(rest);
        ssize_t got = read(fd, to, room);
        if (got <= 0)
            break;
        if (to != rest)
            length += (size_t)got;
    }
    text[length] = '\0';
}

/* Runs the scenario in a child process that starts afresh, and judges its end and its words. */
static inline void fx_scenario_spawn(const struct fx_scenario *scenario)
{
    static char text[1 << 16];
    int ends[2], status = 0;
    if (pipe(ends))
        exit(XT_HARD);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        fx_set_environment(scenario->environment);
        execl("/proc/self/exe", "fakedrv", scenario->name, (char *)NULL);
        _exit(XT_HARD);
    }
    close(ends[1]);
    fx_read_all(ends[0], text, sizeof(text));
    close(ends[0]);
    waitpid(pid, &status, 0);
    bool said = scenario->says ? strstr(text, scenario->says) &&
                                     (!scenario->says_too || strstr(text, scenario->says_too))
                               : !text[0];
    XT_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %#x", scenario->name,
             (unsigned)status);
    XT_CHECK(said, "%s: does not say what it should", scenario->name);
    if (status || !said)
        fprintf(stderr, "--- %s says:\n%s---\n", scenario->name, text);
}

/* All scenarios, each in its process; or, with its name as argument, one of them in this one.
 */
static inline int fx_scenario_main(const struct fx_scenario *scenarios, size_t count, int argc,
                                   char **argv)
{
    for (size_t i = 0; i < count; i++) {
        if (argc < 2) {
            fx_scenario_spawn(&scenarios[i]);
        } else if (!strcmp(argv[1], scenarios[i].name)) {
            scenarios[i].run();
            return xt_failures || !xt_checks ? XT_FAIL : XT_PASS;
        }
    }
    return argc < 2 ? xt_done() : XT_HARD;
}

#define FX_SCENARIO_MAIN(scenarios)                                                                \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return fx_scenario_main(scenarios, sizeof(scenarios) / sizeof(scenarios)[0], argc, argv);  \
    }

#endif
