/* SPDX-License-Identifier: MIT */
/* Host to host: compares this library with OpenBLAS, cuBLASXt, a plain offload, and the floor. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device.h"
#include "median.h"
#include "options.h"
#include "shapes.h"
#include "shim/pools.h"
#include "sides.h"
#include "src/base/clock.h"
#include "src/device/mem.h"
#include "src/verify/accuracy.h"

enum { NN, NT, TN, TT };

static const struct shape default_shapes[] = {
    {64, 64, 64, NN, 0, 0},       {128, 128, 128, NN, 0, 0},    {256, 256, 256, NN, 0, 0},
    {512, 512, 512, NN, 0, 0},    {1024, 1024, 1024, NN, 0, 0}, {2048, 2048, 2048, NN, 0, 0},
    {4096, 4096, 4096, NN, 0, 0}, {8192, 8192, 8192, NN, 0, 0}, {8192, 4096, 64, NN, 0, 0},
    {64, 8192, 8192, NN, 0, 0},   {100000, 64, 64, NN, 0, 0},   {128, 128, 100000, NN, 0, 0},
    {3000, 777, 1533, NN, 0, 0},  {4096, 4096, 4096, NT, 0, 0}, {4096, 4096, 4096, TN, 0, 0},
    {4096, 4096, 4096, TT, 0, 0}, {4096, 4096, 4096, NN, 0, 1}, {4096, 4096, 4096, NN, 5, 1},
};

static struct {
    double budget_s; /* for timed calls per side and shape, in all turns */
    double cpu_limit_s, rival_limit_s;
    int turns; /* for each side, alternating */
    int random;
    bool locked; /* operands in page-locked memory */
    uint64_t seed;
    const char *shapes, *csv, *commit;
} options = {.budget_s = 0.5,
             .cpu_limit_s = 3,
             .rival_limit_s = 3,
             .turns = 1,
             .seed = 1,
             .commit = "unknown"};

/* --- Operands ------------------------------------------------------------------------------ */

/* Buffer sets are used in turn, so that no side finds the last call's operands in a cache. */
enum { SETS_MAX = 8 };

struct operands {
    struct xg_problem call[SETS_MAX];
    int sets;
};

/* The next of a xorshift sequence; *state is not 0. */
static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Elements uniform in (-1, 1): repeats one random block at odd offsets. */
static float *random_matrix(size_t elems)
{
    enum { BLOCK_ELEMS = 1 << 20 };
    static float *block;
    static uint64_t state = 88172645463325252u;
    if (!block) {
        block = malloc(BLOCK_ELEMS * sizeof *block);
        for (size_t i = 0; block && i < BLOCK_ELEMS; i++)
            block[i] = (float)((double)(random_next(&state) >> 40) * 0x1p-23 - 1.0);
    }
    float *matrix = malloc(elems * sizeof *matrix);
    if (!block || !matrix) {
        fprintf(stderr, "no memory\n");
        exit(EXIT_FAILURE);
    }
    for (size_t at = 0; at < elems;) {
        size_t from = random_next(&state) % (BLOCK_ELEMS / 2);
        size_t count = BLOCK_ELEMS - from < elems - at ? BLOCK_ELEMS - from : elems - at;
        memcpy(matrix + at, block + from, count * sizeof *matrix);
        at += count;
    }
    return matrix;
}

static float *create_matrix(size_t elems)
{
    float *matrix = random_matrix(elems);
    void *locked;
    if (!options.locked)
        return matrix;
    device_must(xg_mem_pinned_alloc(sides_device(), elems * sizeof *matrix, &locked),
                "page-locked memory");
    memcpy(locked, matrix, elems * sizeof *matrix);
    free(matrix);
    return locked;
}

static void destroy_matrix(const float *matrix)
{
    void *memory = (void *)(uintptr_t)matrix;
    if (options.locked)
        xg_mem_pinned_free(sides_device(), memory);
    else
        free(memory);
}

static void operands_create(struct operands *operands, const struct shape *shape)
{
    struct xg_problem call = shapes_problem(shape, XG_TYPE_S, 1);
    call.beta = shape->beta;
    size_t a = (size_t)(xg_problem_stored(&call, false).rows * call.lda);
    size_t b = (size_t)(xg_problem_stored(&call, true).rows * call.ldb);
    size_t c = (size_t)(call.m * call.ldc);
    double wanted = 512e6 / (double)((a + b + c) * sizeof(float));
    operands->sets = (int)fmin(fmax(wanted, 2), SETS_MAX);
    for (int s = 0; s < operands->sets; s++) {
        operands->call[s] = call;
        operands->call[s].a = create_matrix(a);
        operands->call[s].b = create_matrix(b);
        operands->call[s].c = create_matrix(c);
    }
}

static void operands_destroy(struct operands *operands)
{
    for (int s = 0; s < operands->sets; s++) {
        destroy_matrix(operands->call[s].a);
        destroy_matrix(operands->call[s].b);
        destroy_matrix(operands->call[s].c);
    }
}

/* --- Measuring ----------------------------------------------------------------------------- */

enum { TURNS_MAX = 25 };

struct measured {
    double turn_s[TURNS_MAX]; /* a turn's median; sorted by summarise */
    int turns;                /* turns done; 0: not measured */
    double median_s, spread;  /* median of the turns; (most - least) / median. NAN: not measured */
    double error;             /* 2^-24 of |A||B| + |C| */
};

/* Measures a turn of a side. False: the side failed. */
static bool measure_turn(const struct side *side, const struct operands *operands,
                         struct measured *measured)
{
    /* Enough calls to fill the budget: OpenBLAS's threads spin for longer than 200 small products
     * take.
     */
    enum { CALLS_MAX = 100001 };
    static double seconds[CALLS_MAX];
    static struct xg_accuracy accuracy;
    bool first = measured->turns == 0;
    if (first)
        xg_accuracy_init(&accuracy, &operands->call[0]);
    if (!side->compute(&operands->call[0]))
        return false;
    if (first)
        measured->error = xg_accuracy_error(&accuracy, &operands->call[0]);
    int calls = 0, least = options.turns < 3 ? 3 : 1;
    double begin = xg_clock_s(), budget_s = options.budget_s / options.turns;
    do {
        double start = xg_clock_s();
        side->compute(&operands->call[(calls + 1) % operands->sets]);
        seconds[calls++] = xg_clock_s() - start;
    } while (calls < CALLS_MAX && (calls < least || xg_clock_s() - begin < budget_s) &&
             xg_clock_s() - begin < 20);
    measured->turn_s[measured->turns++] = median_sort(seconds, calls);
    return true;
}

static void summarise(struct measured *measured)
{
    measured->median_s = measured->spread = NAN;
    if (!measured->turns) {
        measured->error = NAN;
        return;
    }
    measured->median_s = median_sort(measured->turn_s, measured->turns);
    double most_s = measured->turn_s[measured->turns - 1];
    measured->spread = (most_s - measured->turn_s[0]) / measured->median_s;
}

struct row {
    struct shape shape;
    struct measured side[SIDE_COUNT];
    double floor_s, kernel_s;
    const char *kernel;
};

static double cpu_guess_s(const struct shape *shape)
{
    return 2.0 * (double)shape->m * (double)shape->n * (double)shape->k / 9e11;
}

/*
 * Waits until OpenBLAS's threads stop spinning after a product, because otherwise they occupy cores
 * during the next side's time.
 */
static void settle(void)
{
    const double longest_s = 0.6; /* 2^30 ticks take 0.41 */
    double spins_s = fmin(1.5 * shim_pools_spin_s(SHIM_POOL_OPENBLAS), longest_s);
    const struct timespec while_s = {0, (long)(1e9 * spins_s) + 1000000};
    nanosleep(&while_s, NULL);
}

static bool is_wanted(int side, const struct shape *shape)
{
    bool rival = side == SIDE_CPU || side == SIDE_CUBLASXT || side == SIDE_PLAIN;
    double limit_s = side == SIDE_CPU ? options.cpu_limit_s : options.rival_limit_s;
    double share = side == SIDE_CPU ? 1 : 0.3;
    return !rival || share * cpu_guess_s(shape) < limit_s;
}

static void measure_row(struct row *row, const struct link_rates *rates)
{
    const struct shape *shape = &row->shape;
    struct operands operands;
    operands_create(&operands, shape);
    memset(row->side, 0, sizeof row->side);
    for (int turn = 0; turn < options.turns; turn++)
        for (int side = 0; side < SIDE_COUNT; side++) {
            if (!is_wanted(side, shape))
                continue;
            if (!measure_turn(&side_table[side], &operands, &row->side[side]) && turn > 0)
                fprintf(stderr, "%s: not in turn %d\n", side_table[side].name, turn + 1);
            if (side == SIDE_CPU)
                settle();
        }
    for (int side = 0; side < SIDE_COUNT; side++)
        summarise(&row->side[side]);
    double m = (double)shape->m, n = (double)shape->n, k = (double)shape->k;
    row->kernel = "none";
    row->kernel_s = sides_kernel_seconds(&operands.call[0], &row->kernel);
    row->floor_s = fmax(row->kernel_s, fmax(4 * (m * k + k * n) / rates->up_bytes_per_s,
                                            4 * m * n / rates->down_bytes_per_s));
    operands_destroy(&operands);
}

/* --- Reporting ----------------------------------------------------------------------------- */

static void print_head(FILE *csv)
{
    printf("%-28s %9s %9s %9s %9s %9s %9s | %7s %7s %7s %7s | %s\n", "m,n,k", "cpu", "cublasxt",
           "plain", "gpu", "auto", "floor", "x floor", "x cpu", "x xt", "regret", "kernel");
    if (csv)
        fprintf(
            csv,
            "m,n,k,transa,transb,pad,beta,cpu_ms,cublasxt_ms,plain_ms,gpu_ms,auto_ms,"
            "floor_ms,kernel_ms,kernel,cpu_error,gpu_error,cpu_spread,gpu_spread,auto_spread\n");
}

static void print_row(const struct row *row, FILE *csv)
{
    const struct shape *shape = &row->shape;
    char name[64];
    snprintf(name, sizeof name, "%ld,%ld,%ld %s%s%s", (long)shape->m, (long)shape->n,
             (long)shape->k, shapes_trans_names[shape->trans], shape->pad ? " pad" : "",
             shape->beta != 0 ? " beta" : "");
    double ms[SIDE_COUNT];
    for (int side = 0; side < SIDE_COUNT; side++)
        ms[side] = 1e3 * row->side[side].median_s;
    double floor_ms = 1e3 * row->floor_s;
    printf("%-28s %9.4f %9.3f %9.3f %9.4f %9.4f %9.4f | %7.2f %7.1f %7.1f %7.2f | %s %s\n", name,
           ms[SIDE_CPU], ms[SIDE_CUBLASXT], ms[SIDE_PLAIN], ms[SIDE_GPU], ms[SIDE_AUTO], floor_ms,
           ms[SIDE_GPU] / floor_ms, ms[SIDE_CPU] / ms[SIDE_GPU], ms[SIDE_CUBLASXT] / ms[SIDE_GPU],
           ms[SIDE_AUTO] / fmin(ms[SIDE_CPU], ms[SIDE_GPU]), row->kernel,
           row->side[SIDE_GPU].error <= (double)shape->k + 3 ? "" : "WRONG");
    fflush(stdout);
    if (csv)
        fprintf(csv,
                "%ld,%ld,%ld,%d,%d,%ld,%g,%.5f,%.5f,%.5f,%.5f,%.5f,%.5f,%.5f,%s,%.3f,%.3f,"
                "%.2f,%.2f,%.2f\n",
                (long)shape->m, (long)shape->n, (long)shape->k, shape->trans >> 1, shape->trans & 1,
                (long)shape->pad, (double)shape->beta, ms[SIDE_CPU], ms[SIDE_CUBLASXT],
                ms[SIDE_PLAIN], ms[SIDE_GPU], ms[SIDE_AUTO], floor_ms, 1e3 * row->kernel_s,
                row->kernel, row->side[SIDE_CPU].error, row->side[SIDE_GPU].error,
                row->side[SIDE_CPU].spread, row->side[SIDE_GPU].spread,
                row->side[SIDE_AUTO].spread);
}

/* --- Shapes -------------------------------------------------------------------------------- */

static int64_t log_uniform(uint64_t *state, double least, double most)
{
    double u = (double)(random_next(state) >> 11) * 0x1p-53;
    return (int64_t)(least * pow(most / least, u));
}

/* Lists the products to measure. False if the file cannot be read or is empty. */
static bool list_shapes(struct shapes *shapes)
{
    uint64_t state = options.seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < options.random; i++) {
        struct shape shape = {0};
        shape.m = log_uniform(&state, 8, 8192);
        shape.n = log_uniform(&state, 8, 8192);
        shape.k = log_uniform(&state, 8, 8192);
        shapes_add(shapes, &shape, 1u << NN);
    }
    size_t defaults = sizeof default_shapes / sizeof default_shapes[0];
    for (size_t i = 0; i < defaults && !options.random && !options.shapes; i++)
        shapes_add(shapes, &default_shapes[i], 1u << default_shapes[i].trans);
    if (options.random || !options.shapes)
        return true;
    bool read = shapes_read(shapes, options.shapes, 1u << NN);
    if (read && !shapes->count)
        fprintf(stderr, "%s: no shapes\n", options.shapes);
    return read && shapes->count;
}

static void usage(FILE *out)
{
    fprintf(
        out,
        "usage: host [--shapes FILE | --random N [--seed S]] [--csv FILE] [--commit ID]\n"
        "            [--budget SECONDS] [--turns N]   (per side: time and turns of the calls)\n"
        "            [--cpu-limit SECONDS] [--rival-limit SECONDS]\n"
        "            [--locked]   (operands in page-locked memory)\n"
        "A line of FILE: m n k [nn|nt|tn|tt|all [pad [beta]]]. Times are medians of the turns, in "
        "ms.\n");
}

static bool parse(int argc, char **argv)
{
    const struct option_row rows[] = {{"shapes", OPTION_TEXT, &options.shapes},
                                      {"random", OPTION_INT, &options.random},
                                      {"seed", OPTION_NUMBER, &options.seed},
                                      {"csv", OPTION_TEXT, &options.csv},
                                      {"commit", OPTION_TEXT, &options.commit},
                                      {"budget", OPTION_REAL, &options.budget_s},
                                      {"cpu-limit", OPTION_REAL, &options.cpu_limit_s},
                                      {"rival-limit", OPTION_REAL, &options.rival_limit_s},
                                      {"locked", OPTION_FLAG, &options.locked},
                                      {"turns", OPTION_INT, &options.turns},
                                      {0}};
    return options_read(argc, argv, rows) == argc && options.turns >= 1 &&
           options.turns <= TURNS_MAX;
}

int main(int argc, char **argv)
{
    if (!parse(argc, argv)) {
        usage(stderr);
        return EXIT_FAILURE;
    }
    struct shapes shapes = {0};
    if (!list_shapes(&shapes))
        return EXIT_FAILURE;
    FILE *csv = options.csv ? fopen(options.csv, "w") : NULL;
    if (options.csv && !csv) {
        perror(options.csv);
        return EXIT_FAILURE;
    }
    if (!sides_open())
        return EXIT_FAILURE;
    struct link_rates rates;
    sides_link(&rates);
    FILE *heads[] = {stdout, csv};
    for (int i = 0; i < 2 && heads[i]; i++) {
        sides_print(heads[i], options.commit, &rates);
        fprintf(heads[i], "medians of %d turns in ms\n", options.turns);
    }
    print_head(csv);

    struct row row;
    double log_regret = 0, worst_regret = 0;
    for (int i = 0; i < shapes.count; i++) {
        row.shape = shapes.at[i];
        measure_row(&row, &rates);
        print_row(&row, csv);
        double best = fmin(row.side[SIDE_CPU].median_s, row.side[SIDE_GPU].median_s);
        double regret = row.side[SIDE_AUTO].median_s / best;
        log_regret += log(regret);
        worst_regret = fmax(worst_regret, regret);
    }
    printf("auto over min(cpu, gpu): geometric mean %.3f, worst %.2f over %d shapes\n",
           exp(log_regret / shapes.count), worst_regret, shapes.count);
    if (csv)
        fclose(csv);
    shapes_free(&shapes);
    return EXIT_SUCCESS;
}
