/* SPDX-License-Identifier: MIT */
/*
 * Host to host, any Level 3 routine: compares this library (preloaded, as in a program) with the
 * program's CPU library, cuBLASXt and the floor.
 *
 *   XGEMM_MODE=gpu LD_PRELOAD=libxgemm_shim.so bench/level3 dgemm:4096
 *
 * --own omits cuBLASXt, and the CPU library computes each result once, untimed: for comparing two
 * builds.
 */
#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blas.h"
#include "device.h"
#include "median.h"
#include "options.h"
#include "random.h"
#include "src/base/clock.h"
#include "src/compute/toolkit.h"
#include "src/device/mem.h"

/* The default cases: triangles, double precision, solves. */
static const char *const default_cases[] = {
    "sgemm:4096",          "ssyrk:2048",     "ssyrk:4096",    "ssyrk:4096:ut", "ssyrk:4096:ln",
    "ssyrk:8192",          "ssyrk:4096x100", "dgemm:512",     "dgemm:1024",    "dgemm:2048",
    "dgemm:4096",          "dgemm:4096:tn",  "dgemm:4096:nt", "dgemm:4096:tt", "dgemm:8192",
    "dgemm:100x5000x3000", "dsyrk:2048",     "dsyrk:4096",    "dsyrk:8192",    "cgemm:2048",
    "zgemm:1024",          "zgemm:2048",     "zgemm:4096",    "zherk:2048",    "ssymm:4096",
    "dsymm:4096",          "dsyr2k:4096",    "strsm:4096",    "strsm:8192",    "dtrsm:4096",
    "dtrsm:4096:rltn",     "dtrsm:8192",     "dtrmm:4096",
};

enum { SIDE_CPU, SIDE_CUBLASXT, SIDE_XGEMM, SIDE_COUNT };

static struct {
    int turns;
    double budget_s; /* for timed calls per side and turn */
    const char *csv, *commit;
    bool own; /* the CPU library once, for its result, and no cuBLASXt */
} options = {.turns = 5, .budget_s = 0.2, .commit = "unknown"};

static struct xg_dev *dev;
static CUstream stream;
static void *cpu_library;
static struct {
    void *library, *handle, *xt_handle;
    int (*create)(void **), (*set_stream)(void *, CUstream);
} cublas;

/* --- Opening ------------------------------------------------------------------------------- */

/* Finds the library whose dgemm_ a program gets without the preload; NULL if there is none. */
static void *find_cpu_library(void)
{
    void *preloaded = dlsym(RTLD_DEFAULT, "dgemm_");
    struct link_map *map = NULL;
    dlinfo(dlopen(NULL, RTLD_NOW), RTLD_DI_LINKMAP, &map);
    for (; map; map = map->l_next) {
        void *library = map->l_name[0] ? dlopen(map->l_name, RTLD_NOW | RTLD_NOLOAD) : NULL;
        void *function = library ? dlsym(library, "dgemm_") : NULL;
        if (function && function != preloaded)
            return library;
        if (library)
            dlclose(library);
    }
    return NULL;
}

static void open_cublas(void)
{
    cublas.library = xg_toolkit_open(XG_TOOLKIT_CUBLAS);
    if (!cublas.library)
        return;
    *(void **)&cublas.create = dlsym(cublas.library, "cublasCreate_v2");
    *(void **)&cublas.set_stream = dlsym(cublas.library, "cublasSetStream_v2");
    if (!cublas.create || !cublas.set_stream || cublas.create(&cublas.handle) ||
        cublas.set_stream(cublas.handle, stream))
        cublas.handle = NULL;
    cublas.xt_handle = device_cublasxt(cublas.library);
}

/* --- Operands ------------------------------------------------------------------------------ */

static size_t extent_bytes(const struct blas_call *call, struct blas_extent extent)
{
    return (size_t)extent.rows * (size_t)extent.columns * blas_elem_bytes(call->type);
}

/* Creates an operand, uniform in (-1, 1); NULL if the routine has no such operand. */
static void *create_operand(const struct blas_call *call, struct blas_extent extent)
{
    size_t bytes = extent_bytes(call, extent);
    float *values = random_matrix(bytes / sizeof(float) + 1);
    if (call->type == 's' || call->type == 'c' || !bytes)
        return values;
    size_t count = bytes / sizeof(double);
    double *wide = malloc(bytes);
    for (size_t i = 0; wide && i < count; i++)
        wide[i] = (double)values[i % (count / 2 + 1)] + 0x1p-30 * (double)values[i / 2];
    free(values);
    if (!wide)
        exit(EXIT_FAILURE);
    return wide;
}

/* Makes the triangle well-conditioned for solves: its diagonal dominates. */
static void make_solvable(const struct blas_call *call, void *a)
{
    struct blas_extent extent = blas_a(call);
    size_t parts = call->type == 'c' || call->type == 'z' ? 2 : 1;
    size_t count = (size_t)extent.rows * (size_t)extent.columns * parts;
    bool wide = call->type == 'd' || call->type == 'z';
    for (size_t i = 0; i < count; i++)
        if (wide)
            ((double *)a)[i] /= extent.rows;
        else
            ((float *)a)[i] /= (float)extent.rows;
    for (int i = 0; i < extent.rows; i++) {
        size_t at = (size_t)i * ((size_t)extent.rows + 1) * parts;
        if (wide)
            ((double *)a)[at] = 2;
        else
            ((float *)a)[at] = 2;
    }
}

struct operands {
    void *a, *b, *before; /* before: the initial C */
    void *c[SIDE_COUNT];  /* one for each side */
    size_t c_bytes;
};

static void operands_create(struct operands *operands, const struct blas_call *call)
{
    operands->a = create_operand(call, blas_a(call));
    operands->b = create_operand(call, blas_b(call));
    operands->before = create_operand(call, blas_c(call));
    operands->c_bytes = extent_bytes(call, blas_c(call));
    if (call->routine->family == BLAS_TRSM)
        make_solvable(call, operands->a);
    for (int side = 0; side < SIDE_COUNT; side++)
        if (!(operands->c[side] = malloc(operands->c_bytes)))
            exit(EXIT_FAILURE);
}

static void operands_destroy(struct operands *operands)
{
    for (int side = 0; side < SIDE_COUNT; side++)
        free(operands->c[side]);
    free(operands->a);
    free(operands->b);
    free(operands->before);
}

/* --- Judging ------------------------------------------------------------------------------- */

static double part_value(const struct blas_call *call, const void *c, size_t at)
{
    return call->type == 's' || call->type == 'c' ? (double)((const float *)c)[at]
                                                  : ((const double *)c)[at];
}

/*
 * |C - C_cpu| / |C_cpu|, in Frobenius norms over the elements that the routine computes; infinite
 * if any other byte has changed.
 */
static double distance(const struct blas_call *call, const struct operands *operands, int side)
{
    struct blas_extent extent = blas_c(call);
    size_t parts = call->type == 'c' || call->type == 'z' ? 2 : 1;
    size_t elem_bytes = blas_elem_bytes(call->type);
    const char *c = operands->c[side], *before = operands->before;
    double apart = 0, norm = 0;
    for (int column = 0; column < extent.columns; column++)
        for (int row = 0; row < extent.rows; row++) {
            size_t at = (size_t)column * (size_t)extent.rows + (size_t)row;
            if (!blas_computes(call, row, column)) {
                if (memcmp(c + at * elem_bytes, before + at * elem_bytes, elem_bytes) != 0)
                    return INFINITY;
                continue;
            }
            for (size_t part = at * parts; part < (at + 1) * parts; part++) {
                double right = part_value(call, operands->c[SIDE_CPU], part);
                double off = part_value(call, c, part) - right;
                apart += off * off;
                norm += right * right;
            }
        }
    return sqrt(apart / norm);
}

/* Whether the distance is within two roundings of FP32 or FP64, scaled for long sums. */
static bool near(const struct blas_call *call, double apart)
{
    return apart <= (call->type == 's' || call->type == 'c' ? 1e-5 : 1e-13);
}

/* --- Measuring ----------------------------------------------------------------------------- */

enum { CALLS_MAX = 2000 };

struct measured {
    double seconds[CALLS_MAX];
    int calls;
    double apart; /* distance from the CPU's result */
    bool able;
};

static void *side_function(const struct blas_call *call, int side)
{
    char name[32];
    blas_name(call, side == SIDE_CUBLASXT ? BLAS_CUBLASXT : BLAS_FORTRAN, name, sizeof name);
    if (side == SIDE_CPU)
        return dlsym(cpu_library, name);
    if (side == SIDE_XGEMM)
        return dlsym(RTLD_DEFAULT, name);
    return cublas.xt_handle ? dlsym(cublas.library, name) : NULL;
}

/* Makes one call of the side into its own C, restored before. Returns seconds; NAN: it failed. */
static double time_call(const struct blas_call *call, const struct operands *operands, int side)
{
    struct blas_call mine = *call;
    mine.a = operands->a;
    mine.b = operands->b;
    mine.c = operands->c[side];
    memcpy(mine.c, operands->before, operands->c_bytes);
    void *function = side_function(call, side);
    double begin_s = xg_clock_s();
    int status = !function || blas_run(&mine, side == SIDE_CUBLASXT ? BLAS_CUBLASXT : BLAS_FORTRAN,
                                       function, cublas.xt_handle);
    return status ? NAN : xg_clock_s() - begin_s;
}

static void measure_turn(const struct blas_call *call, const struct operands *operands, int side,
                         struct measured *measured)
{
    double begin_s = xg_clock_s();
    do {
        double seconds = time_call(call, operands, side);
        measured->able = seconds == seconds;
        if (measured->able)
            measured->seconds[measured->calls++] = seconds;
    } while (measured->able && measured->calls < CALLS_MAX &&
             xg_clock_s() - begin_s < options.budget_s);
}

/* Waits until the CPU library's threads stop spinning, because they occupy cores of the next side.
 */
static void settle(void)
{
    const struct timespec while_s = {0, 250000000};
    nanosleep(&while_s, NULL);
}

struct resident {
    struct blas_call call;
    void *function;
};

static enum xg_status run_resident(void *arg, CUstream its_own)
{
    (void)its_own; /* cuBLAS owns it */
    struct resident *resident = arg;
    return blas_run(&resident->call, BLAS_CUBLAS, resident->function, cublas.handle) ? XG_ERR_DRIVER
                                                                                     : XG_OK;
}

/* Seconds of cuBLAS on operands in device memory; 0 if it fails. The operands are 1.1 everywhere,
 * because a kernel draws less power on zeros and clocks higher. */
static double resident_seconds(const struct blas_call *call)
{
    struct resident resident = {.call = *call};
    struct xg_mem_dev mem = {0};
    char name[32];
    blas_name(call, BLAS_CUBLAS, name, sizeof name);
    resident.function = cublas.handle ? dlsym(cublas.library, name) : NULL;
    size_t a = extent_bytes(call, blas_a(call)), b = extent_bytes(call, blas_b(call));
    size_t total = a + b + extent_bytes(call, blas_c(call));
    if (!resident.function || xg_mem_dev_reserve(dev, &mem, total) != XG_OK)
        return 0;
    dev->drv.cuMemsetD32Async(mem.ptr, 0x3f8ccccd, total / sizeof(float), stream);
    resident.call.a = (const void *)(uintptr_t)mem.ptr;
    resident.call.b = (const void *)(uintptr_t)(mem.ptr + a);
    resident.call.c = (void *)(uintptr_t)(mem.ptr + a + b);
    double seconds = device_seconds(dev, stream, run_resident, &resident);
    xg_mem_dev_release(dev, &mem);
    return seconds;
}

/* --- Reporting ----------------------------------------------------------------------------- */

struct row {
    const char *text;
    struct blas_call call;
    struct measured side[SIDE_COUNT];
    double floor_s, resident_s;
};

static void measure_row(struct row *row, const struct link_rates *rates)
{
    const struct blas_call *call = &row->call;
    struct operands operands;
    operands_create(&operands, call);
    for (int side = 0; side < SIDE_COUNT; side++) {
        struct measured *measured = &row->side[side];
        measured->calls = 0;
        if (options.own && side == SIDE_CUBLASXT)
            continue;
        measured->able = time_call(call, &operands, side) >= 0; /* not timed: a warm-up */
        measured->apart = measured->able ? distance(call, &operands, side) : NAN;
    }
    if (options.own)
        settle();
    for (int turn = 0; turn < options.turns; turn++)
        for (int side = 0; side < SIDE_COUNT; side++) {
            if (row->side[side].able && (side == SIDE_XGEMM || !options.own))
                measure_turn(call, &operands, side, &row->side[side]);
            if (side == SIDE_CPU && !options.own)
                settle();
        }
    row->resident_s = resident_seconds(call);
    row->floor_s = fmax(row->resident_s, fmax(blas_bytes_up(call) / rates->up_bytes_per_s,
                                              blas_bytes_down(call) / rates->down_bytes_per_s));
    operands_destroy(&operands);
}

static void print_head(FILE *csv)
{
    printf("%-22s %10s %10s %10s %17s %8s | %7s %7s %7s\n", "call", "cpu", "cublasxt", "xgemm",
           "least to most", "floor", "x floor", "x cpu", "x xt");
    if (csv)
        fprintf(csv, "call,gflop,cpu_ms,cublasxt_ms,xgemm_ms,xgemm_least_ms,xgemm_most_ms,"
                     "floor_ms,resident_ms,apart\n");
}

static void print_row(struct row *row, FILE *csv)
{
    double ms[SIDE_COUNT];
    for (int side = 0; side < SIDE_COUNT; side++)
        ms[side] = row->side[side].calls
                       ? 1e3 * median_sort(row->side[side].seconds, row->side[side].calls)
                       : NAN;
    const struct measured *own = &row->side[SIDE_XGEMM];
    double least = own->calls ? 1e3 * own->seconds[0] : NAN;
    double most = own->calls ? 1e3 * own->seconds[own->calls - 1] : NAN;
    double floor_ms = 1e3 * row->floor_s;
    printf("%-22s %10.3f %10.3f %10.3f %8.3f %8.3f %8.3f | %7.2f %7.1f %7.1f %s\n", row->text,
           ms[SIDE_CPU], ms[SIDE_CUBLASXT], ms[SIDE_XGEMM], least, most, floor_ms,
           ms[SIDE_XGEMM] / floor_ms, ms[SIDE_CPU] / ms[SIDE_XGEMM],
           ms[SIDE_CUBLASXT] / ms[SIDE_XGEMM], near(&row->call, own->apart) ? "" : "WRONG");
    fflush(stdout);
    if (csv)
        fprintf(csv, "%s,%.3f,%.5f,%.5f,%.5f,%.5f,%.5f,%.5f,%.5f,%.3g\n", row->text,
                1e-9 * blas_flops(&row->call), ms[SIDE_CPU], ms[SIDE_CUBLASXT], ms[SIDE_XGEMM],
                least, most, floor_ms, 1e3 * row->resident_s, own->apart);
}

static bool open_all(void)
{
    if (!(cpu_library = find_cpu_library())) {
        fprintf(stderr,
                "preload the library: there is only one dgemm_, so there is nothing to compare\n");
        return false;
    }
    if (xg_dev_create(xg_conf_get(), &dev) != XG_OK || xg_dev_enter(dev) != XG_OK) {
        fprintf(stderr,
                "no usable GPU, so there is nothing to compare (XGEMM_VERBOSE=2 says why)\n");
        return false;
    }
    stream = device_stream(dev);
    open_cublas();
    return true;
}

int main(int argc, char **argv)
{
    static struct row row;
    static const struct option_row rows[] = {
        {"turns", OPTION_INT, &options.turns}, {"budget", OPTION_REAL, &options.budget_s},
        {"csv", OPTION_TEXT, &options.csv},    {"commit", OPTION_TEXT, &options.commit},
        {"own", OPTION_FLAG, &options.own},    {0}};
    int first = options_read(argc, argv, rows);
    bool parsed = first && options.turns > 0;
    const char *const *cases = first < argc ? (const char *const *)(argv + first) : default_cases;
    int count = first < argc ? argc - first : (int)(sizeof default_cases / sizeof default_cases[0]);
    for (int i = 0; parsed && i < count; i++)
        if (!blas_parse(&row.call, cases[i])) {
            fprintf(stderr, "%s: no call\n", cases[i]);
            parsed = false;
        }
    if (!parsed) {
        fprintf(stderr,
                "usage: level3 [--own] [--turns N] [--budget SECONDS] [--csv FILE] [--commit ID] "
                "[CALL...]\n"
                "A CALL: dgemm:4096, dgemm:100x200x300:tn, ssyrk:4096x64:un, "
                "dtrsm:500x700:llnn\n");
        return EXIT_FAILURE;
    }
    if (!open_all())
        return EXIT_FAILURE;
    FILE *csv = options.csv ? fopen(options.csv, "w") : NULL;
    struct link_rates rates;
    device_link(dev, stream, &rates);
    FILE *heads[] = {stdout, csv};
    for (int i = 0; i < 2 && heads[i]; i++) {
        device_print(heads[i], dev, options.commit, &rates);
        fprintf(heads[i], "medians in ms, %d turns\n", options.turns);
    }
    print_head(csv);
    for (int i = 0; i < count; i++) {
        row.text = cases[i];
        blas_parse(&row.call, cases[i]);
        measure_row(&row, &rates);
        print_row(&row, csv);
    }
    if (csv)
        fclose(csv);
    return EXIT_SUCCESS;
}
