/* SPDX-License-Identifier: MIT */
/* Tests of things that a process does once: each scenario runs in its own process and environment.
 * Also what several of them need: threads that compute products, and a slow library. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/engine/engine.h"
#include "tests/support/guarded.h"
#include "tests/support/threads.h"

static inline void fx_nap_us(long us)
{
    const struct timespec nap = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&nap, NULL);
}

/* --- A library that takes 20 ms for each product, whose threads spin -------------------------- */

static inline void fx_slow_whole(void *ctx)
{
    ++*(long *)ctx;
    fx_nap_us(20000);
}

static inline void fx_slow_part(void *ctx, const struct xg_problem *part)
{
    fx_slow_whole(ctx);
    xg_cpu_compute(part);
}

/* *wholes counts the products that it computed. */
static inline struct xg_cpu fx_slow_cpu(long *wholes)
{
    return (struct xg_cpu){.whole = fx_slow_whole, .part = fx_slow_part, .ctx = wholes};
}

static inline int fx_sixteen(void *ctx)
{
    (void)ctx;
    return 16;
}

/* --- Threads that compute products on the engine --------------------------------------------- */

enum { FX_WORKERS = 8, FX_DEVICES_MOST = 3 };

struct fx_worker {
    const struct xg_conf *conf;
    const struct xg_patience *patience;
    int products;
    int right, declined;     /* of the products; a declined one is untouched */
    int on[FX_DEVICES_MOST]; /* products on each device */
    uint64_t seed;
};

static inline enum xg_status fx_worker_run(struct fx_worker *worker, const struct fx_shape *shape)
{
    struct fx_product product = fx_product_create(shape, worker->seed++);
    struct xg_cpu cpu = fx_product_cpu(&product);
    struct xg_result result;
    enum xg_status status = xg_engine_compute(&(struct xg_call){.problem = &product.call},
                                              worker->conf, &cpu, worker->patience, &result);
    if (status == XG_DECLINED)
        worker->declined += fx_untouched(&product);
    else
        worker->right += fx_error(&product, 1) <= 1.0 && fx_padding_intact(&product);
    if (status == XG_OK)
        worker->on[result.device]++;
    fx_product_destroy(&product);
    return status;
}

/* The main function of a thread: computes the worker's products. */
static inline void *fx_work(void *worker)
{
    for (int i = 0; i < ((struct fx_worker *)worker)->products; i++) {
        const struct fx_shape shape = {30 + 17 * i, 120 - 9 * (i % 10), 40 + i, i & 1, i & 2, 1, 1,
                                       i % 3};
        fx_worker_run(worker, &shape);
    }
    return NULL;
}

/* Runs FX_WORKERS copies of the worker at once, and returns the sums of their counts. Each product
 * must be right or declined. */
static inline struct fx_worker fx_workers_run(const struct fx_worker *worker)
{
    struct fx_worker workers[FX_WORKERS], sum = {0};
    for (int i = 0; i < FX_WORKERS; i++) {
        workers[i] = *worker;
        workers[i].seed = 100 * (uint64_t)i;
    }
    xt_threads_run(FX_WORKERS, fx_work, workers, sizeof workers[0]);
    for (int i = 0; i < FX_WORKERS; i++) {
        XT_CHECK(workers[i].right + workers[i].declined == worker->products,
                 "thread %d: %d right, %d declined", i, workers[i].right, workers[i].declined);
        sum.right += workers[i].right;
        sum.declined += workers[i].declined;
        for (int d = 0; d < FX_DEVICES_MOST; d++)
            sum.on[d] += workers[i].on[d];
    }
    return sum;
}

/* --- Scenarios ------------------------------------------------------------------------------- */

struct fx_scenario {
    const char *name;
    void (*run)(void);
    const char *environment; /* "NAME=VALUE NAME=VALUE", added to the caller's */
    /* The process must write this to standard error; NULL: it must write nothing. */
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

/* Reads the file descriptor to its end, and keeps the first size - 1 bytes. */
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

/* Runs the scenario in a new process, and checks its exit status and its messages. */
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

/* Runs all scenarios, each in a new process, or in this process the one that argv names. */
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
