/* SPDX-License-Identifier: MIT */
/* The kernel table measured: operands on the device, every row beside cuBLAS; table and CSV. */

/*
 * usage: kernels [--rows A,B] [--trans nn|nt|tn|tt|all] [--shapes FILE] [--budget SECONDS]
 *                [--seed N] [--csv FILE] [--commit TEXT]
 *
 * FILE has a shape a line, "m n k"; without it: the squares 512 to 8192. Each cell is warmed up,
 * timed with the device's own events in several batches within the budget (0.5 s; at least one
 * run), and reported as the median of the batches. Operands are random, and rotate through several
 * sets where one would stay in the L2 cache. Every row's result is judged on sampled elements in
 * double precision; a wrong one is marked, and the exit status is 1.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../src/cublas.h"
#include "../src/judge.h"
#include "../src/launch.h"
#include "../src/mem.h"

enum { SHAPES_MAX = 64, SETS_MAX = 512, BATCHES_MAX = 9, ROWS_MAX = 64 };

/* Several times any L2 cache: sets of operands are added until they fill this, or there are
 * SETS_MAX. */
static const size_t ROTATED_BYTES = (size_t)512 << 20;

struct shape {
    int64_t m, n, k;
};

struct cell {
    bool there, right;
    int batches, runs; /* runs a batch */
    double median_us, least_us, error;
};

struct options {
    const char *rows, *csv, *commit;
    bool trans[4];
    double budget_s;
    uint64_t seed;
    struct shape shapes[SHAPES_MAX];
    int shape_count;
};

/* One shape's operands, on the host and in `sets` copies on the device. */
struct operands {
    struct xg_sgemm call; /* host memory */
    float *a, *b, *c;
    size_t a_elems, b_elems, c_elems;
    int sets;
    struct xg_mem_dev dev; /* per set: A, B, C, each 256-byte aligned */
    size_t set_bytes, b_at, c_at;
};

static const char *const trans_names[] = {"nn", "nt", "tn", "tt"};
static struct xg_dev *dev;
static CUstream stream;
static CUevent start_event, stop_event;
/* Not in drv.h's table, because the library needs no times: looked up here. */
static CUresult (*elapsed_ms)(float *, CUevent, CUevent);
static struct cell cells[4][ROWS_MAX][SHAPES_MAX];

static void die(const char *what)
{
    fprintf(stderr, "kernels: %s\n", what);
    exit(2);
}

static void must(enum xg_status status, const char *what)
{
    if (status != XG_OK) {
        fprintf(stderr, "kernels: %s: %s\n", what, xg_status_name(status));
        exit(2);
    }
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        die("out of memory");
    return memory;
}

/* Uniform in (-1, 1), never 0; a splitmix64 step. */
static float draw(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return ((float)(z >> 40) + 0.5f) * 0x1p-23f - 1.0f;
}

/* A random (rows,cols) with rows a multiple of 4 floats apart and zeros between (XG_KERNEL_VEC4).
 */
static float *draw_matrix(int64_t rows, int64_t cols, int64_t *ld, size_t *elems, uint64_t *state)
{
    *ld = xg_round_up(cols, 4);
    *elems = (size_t)rows * (size_t)*ld;
    float *matrix = allocate(*elems, sizeof(float));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            matrix[i * *ld + j] = draw(state);
    return matrix;
}

static size_t align_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static void copy_up(CUdeviceptr to, const float *from, size_t elems)
{
    must(XG_DRV(&dev->drv, cuMemcpyHtoDAsync, to, from, elems * sizeof(float), stream), "copy");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), "copy");
}

static void operands_create(struct operands *o, struct shape shape, int trans, uint64_t *state)
{
    memset(o, 0, sizeof *o);
    bool transa = trans >> 1, transb = trans & 1;
    o->call = (struct xg_sgemm){.transa = transa,
                                .transb = transb,
                                .m = shape.m,
                                .n = shape.n,
                                .k = shape.k,
                                .alpha = 1.0f};
    o->a = draw_matrix(transa ? shape.k : shape.m, transa ? shape.m : shape.k, &o->call.lda,
                       &o->a_elems, state);
    o->b = draw_matrix(transb ? shape.n : shape.k, transb ? shape.k : shape.n, &o->call.ldb,
                       &o->b_elems, state);
    o->call.ldc = xg_round_up(shape.n, 4);
    o->c_elems = (size_t)shape.m * (size_t)o->call.ldc;
    o->c = allocate(o->c_elems, sizeof(float));
    o->call.a = o->a;
    o->call.b = o->b;
    o->call.c = o->c;

    o->b_at = align_up(o->a_elems * sizeof(float));
    o->c_at = o->b_at + align_up(o->b_elems * sizeof(float));
    o->set_bytes = o->c_at + align_up(o->c_elems * sizeof(float));
    size_t sets = 1 + ROTATED_BYTES / o->set_bytes;
    o->sets = sets < SETS_MAX ? (int)sets : SETS_MAX;
    must(xg_mem_dev_reserve(dev, &o->dev, o->set_bytes * (size_t)o->sets), "device memory");
    for (int s = 0; s < o->sets; s++) {
        CUdeviceptr set = o->dev.ptr + o->set_bytes * (size_t)s;
        copy_up(set, o->a, o->a_elems);
        copy_up(set + o->b_at, o->b, o->b_elems);
    }
}

static void operands_destroy(struct operands *o)
{
    xg_mem_dev_release(dev, &o->dev);
    free(o->a);
    free(o->b);
    free(o->c);
}

static void launch(const struct xg_kernel *row, const struct operands *o, int run)
{
    CUdeviceptr set = o->dev.ptr + o->set_bytes * (size_t)(run % o->sets);
    struct xg_sgemm_args args = {.a = set,
                                 .b = set + o->b_at,
                                 .c = set + o->c_at,
                                 .lda = o->call.lda,
                                 .ldb = o->call.ldb,
                                 .ldc = o->call.ldc,
                                 .m = o->call.m,
                                 .n = o->call.n,
                                 .k = o->call.k,
                                 .alpha = 1.0f,
                                 .transa = o->call.transa,
                                 .transb = o->call.transb};
    must(xg_launch_sgemm(dev, row, &args, stream), row->name);
}

/* Seconds of `runs` launches in a row, by the device's clock. */
static double time_runs(const struct xg_kernel *row, const struct operands *o, int runs)
{
    static int turn;
    must(XG_DRV(&dev->drv, cuEventRecord, start_event, stream), "event");
    for (int i = 0; i < runs; i++)
        launch(row, o, turn++);
    must(XG_DRV(&dev->drv, cuEventRecord, stop_event, stream), "event");
    must(XG_DRV(&dev->drv, cuEventSynchronize, stop_event), row->name);
    float ms = 0.0f;
    must(xg_drv_status(&dev->drv, elapsed_ms(&ms, start_event, stop_event), "cuEventElapsedTime"),
         "event");
    return (double)ms * 1e-3;
}

static int compare_doubles(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Runs one row once on poisoned memory and judges the result; then times it. */
static void measure(const struct xg_kernel *row, struct operands *o, const struct xg_judge *judge,
                    double budget_s, struct cell *cell)
{
    must(XG_DRV(&dev->drv, cuMemsetD32Async, o->dev.ptr + o->c_at, 0x7fc00000, o->c_elems, stream),
         "poison");
    launch(row, o, 0);
    must(XG_DRV(&dev->drv, cuMemcpyDtoHAsync, o->c, o->dev.ptr + o->c_at,
                o->c_elems * sizeof(float), stream),
         "copy");
    must(XG_DRV(&dev->drv, cuStreamSynchronize, stream), row->name);
    cell->there = true;
    cell->error = xg_judge_error(judge, o->c, o->call.ldc);
    cell->right = cell->error <= (double)(o->call.k + 3);

    double once_s = time_runs(row, o, 1), batch[BATCHES_MAX] = {once_s};
    cell->batches = cell->runs = 1;
    if (once_s * 2 < budget_s) {
        double share_s = budget_s / BATCHES_MAX;
        cell->runs = once_s * 2 > share_s ? 1 : (int)(share_s / once_s);
        if (cell->runs > 1000)
            cell->runs = 1000;
        cell->batches = (int)(budget_s / (once_s * cell->runs));
        if (cell->batches > BATCHES_MAX)
            cell->batches = BATCHES_MAX;
        for (int i = 0; i < cell->batches; i++)
            batch[i] = time_runs(row, o, cell->runs) / cell->runs;
    }
    qsort(batch, (size_t)cell->batches, sizeof batch[0], compare_doubles);
    cell->median_us = batch[cell->batches / 2] * 1e6;
    cell->least_us = batch[0] * 1e6;
}

static bool row_wanted(const struct options *options, const struct xg_kernel *row)
{
    size_t length = strlen(row->name);
    for (const char *at = options->rows; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, row->name, length) && (!at[length] || at[length] == ','))
            return true;
    }
    return !options->rows;
}

static double tflops(const struct shape *shape, const struct cell *cell)
{
    return 2.0 * (double)shape->m * (double)shape->n * (double)shape->k / cell->median_us * 1e-6;
}

/* The row of the table that is cuBLAS. */
static size_t cublas_row(void)
{
    size_t r = 0;
    while (r + 1 < xg_kernel_count && !(xg_kernel_table[r].flags & XG_KERNEL_CUBLAS))
        r++;
    return r;
}

static void print_header(FILE *out, const char *mark, int argc, char **argv, const char *commit)
{
    int version = 0;
    char line[256] = "", date[32];
    time_t now = time(NULL);
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file) {
        if (!fgets(line, sizeof line, file))
            line[0] = '\0';
        fclose(file);
    }
    line[strcspn(line, "\n")] = '\0';
    must(XG_DRV(&dev->drv, cuDriverGetVersion, &version), "driver version");
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", gmtime(&now));
    fprintf(out, "%sdevice: %s, sm_%d, %d multiprocessors\n", mark, dev->name, dev->facts.sm,
            dev->facts.sm_count);
    fprintf(out, "%sdriver: CUDA %d.%d %s\n", mark, version / 1000, version % 1000 / 10, line);
    fprintf(out, "%sdate: %s\n%scommit: %s\n%scommand:", mark, date, mark, commit, mark);
    for (int i = 0; i < argc; i++)
        fprintf(out, " %s", argv[i]);
    fputc('\n', out);
}

static void print_table(const struct options *options, int trans)
{
    printf("\n%s: TFLOP/s (%% of cuBLAS); median of batches\n%-20s", trans_names[trans], "m,n,k");
    for (int s = 0; s < options->shape_count; s++) {
        char text[64];
        const struct shape *shape = &options->shapes[s];
        snprintf(text, sizeof text, "%lld,%lld,%lld", (long long)shape->m, (long long)shape->n,
                 (long long)shape->k);
        printf(" %18s", text);
    }
    const struct cell *yardstick = cells[trans][cublas_row()];
    for (size_t r = 0; r < xg_kernel_count; r++) {
        const struct cell *row = cells[trans][r];
        if (!row_wanted(options, &xg_kernel_table[r]))
            continue;
        printf("\n%-20s", xg_kernel_table[r].name);
        for (int s = 0; s < options->shape_count; s++) {
            char percent[16] = "";
            if (row[s].there && yardstick[s].there)
                snprintf(percent, sizeof percent, " (%.0f%%)",
                         100.0 * yardstick[s].median_us / row[s].median_us);
            if (row[s].there)
                printf(" %10.3f%-7s%s", tflops(&options->shapes[s], &row[s]), percent,
                       row[s].right ? " " : "!");
            else
                printf(" %10s%-8s", "-", "");
        }
    }
    putchar('\n');
}

/* What selection takes, beside the best of our rows: how much the ranking leaves on the table. */
static void print_selection(const struct options *options, int trans)
{
    printf("\nselected for %s:\n", trans_names[trans]);
    for (int s = 0; s < options->shape_count; s++) {
        const struct shape *shape = &options->shapes[s];
        const struct xg_kernel *chosen =
            xg_select(&dev->facts, XG_MATH_ACCURATE, NULL, shape->m, shape->n, shape->k);
        const struct cell *best = NULL, *taken = NULL;
        const char *best_name = "";
        for (size_t r = 0; r < xg_kernel_count; r++) {
            const struct cell *cell = &cells[trans][r][s];
            if (!cell->there || xg_kernel_table[r].flags & XG_KERNEL_CUBLAS)
                continue;
            if (&xg_kernel_table[r] == chosen)
                taken = cell;
            if (!best || cell->median_us < best->median_us) {
                best = cell;
                best_name = xg_kernel_table[r].name;
            }
        }
        if (taken)
            printf("  %lld,%lld,%lld: %s, %.0f%% of the best (%s)\n", (long long)shape->m,
                   (long long)shape->n, (long long)shape->k, chosen->name,
                   100.0 * best->median_us / taken->median_us, best_name);
    }
}

static void write_csv(const struct options *options, int argc, char **argv)
{
    FILE *out = fopen(options->csv, "w");
    if (!out)
        die("cannot write the CSV file");
    print_header(out, "# ", argc, argv, options->commit);
    fprintf(out, "row,trans,m,n,k,tflops,percent_of_cublas,median_us,least_us,batches,"
                 "runs_per_batch,max_error_2e-24,right\n");
    for (int t = 0; t < 4; t++)
        for (int s = 0; s < options->shape_count; s++)
            for (size_t r = 0; r < xg_kernel_count; r++) {
                const struct shape *shape = &options->shapes[s];
                const struct cell *cell = &cells[t][r][s], *cublas = &cells[t][cublas_row()][s];
                if (!cell->there)
                    continue;
                fprintf(out, "%s,%s,%lld,%lld,%lld,%.4f,", xg_kernel_table[r].name, trans_names[t],
                        (long long)shape->m, (long long)shape->n, (long long)shape->k,
                        tflops(shape, cell));
                if (cublas->there)
                    fprintf(out, "%.2f", 100.0 * cublas->median_us / cell->median_us);
                fprintf(out, ",%.3f,%.3f,%d,%d,%.4f,%d\n", cell->median_us, cell->least_us,
                        cell->batches, cell->runs, cell->error, cell->right);
            }
    if (fclose(out))
        die("cannot write the CSV file");
}

static void read_shapes(struct options *options, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256];
    if (!file)
        die("cannot read the shapes");
    options->shape_count = 0;
    while (fgets(line, sizeof line, file)) {
        long long m, n, k;
        if (sscanf(line, "%lld%*[ ,\t]%lld%*[ ,\t]%lld", &m, &n, &k) != 3)
            continue;
        if (m < 1 || n < 1 || k < 1 || options->shape_count == SHAPES_MAX)
            die("a shape below 1, or too many");
        options->shapes[options->shape_count++] = (struct shape){m, n, k};
    }
    fclose(file);
}

static void parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){
        .commit = "unknown", .trans = {true}, .budget_s = 0.5, .seed = (uint64_t)time(NULL)};
    for (int64_t side = 512; side <= 8192; side *= 2)
        options->shapes[options->shape_count++] = (struct shape){side, side, side};
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!value)
            die("usage: kernels [--rows A,B] [--trans nn|nt|tn|tt|all] [--shapes FILE]\n"
                "               [--budget SECONDS] [--seed N] [--csv FILE] [--commit TEXT]");
        else if (!strcmp(name, "--rows"))
            options->rows = value;
        else if (!strcmp(name, "--trans"))
            for (int t = 0; t < 4; t++)
                options->trans[t] = !strcmp(value, "all") || !strcmp(value, trans_names[t]);
        else if (!strcmp(name, "--shapes"))
            read_shapes(options, value);
        else if (!strcmp(name, "--budget"))
            options->budget_s = strtod(value, NULL);
        else if (!strcmp(name, "--seed"))
            options->seed = strtoull(value, NULL, 0);
        else if (!strcmp(name, "--csv"))
            options->csv = value;
        else if (!strcmp(name, "--commit"))
            options->commit = value;
        else
            die("an option that is not known");
    }
}

static void open_device(void)
{
    if (xg_dev_create(xg_conf_get(), &dev) != XG_OK)
        die("no CUDA device that the kernels serve");
    *(void **)&elapsed_ms = dlsym(dev->drv.library, "cuEventElapsedTime");
    if (!elapsed_ms) /* what newer drivers call it */
        *(void **)&elapsed_ms = dlsym(dev->drv.library, "cuEventElapsedTime_v2");
    if (!elapsed_ms)
        die("the driver lacks cuEventElapsedTime");
    must(xg_dev_enter(dev), "context");
    must(XG_DRV(&dev->drv, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING), "stream");
    must(XG_DRV(&dev->drv, cuEventCreate, &start_event, CU_EVENT_DEFAULT), "event");
    must(XG_DRV(&dev->drv, cuEventCreate, &stop_event, CU_EVENT_DEFAULT), "event");
    dev->facts.cublas = xg_cublas_present(dev);
    if (xg_kernel_count > ROWS_MAX)
        die("more rows than cells");
}

static void close_device(void)
{
    must(XG_DRV(&dev->drv, cuEventDestroy, start_event), "event");
    must(XG_DRV(&dev->drv, cuEventDestroy, stop_event), "event");
    must(XG_DRV(&dev->drv, cuStreamDestroy, stream), "stream");
    xg_dev_leave(dev);
    xg_dev_destroy(dev);
}

int main(int argc, char **argv)
{
    static struct options options;
    static struct xg_judge judge;
    bool right = true;
    parse(&options, argc, argv);
    open_device();
    print_header(stdout, "", argc, argv, options.commit);
    for (int t = 0; t < 4; t++) {
        if (!options.trans[t])
            continue;
        for (int s = 0; s < options.shape_count; s++) {
            const struct shape *shape = &options.shapes[s];
            struct operands operands;
            operands_create(&operands, *shape, t, &options.seed);
            xg_judge_init(&judge, &operands.call);
            for (size_t r = 0; r < xg_kernel_count; r++) {
                const struct xg_kernel *row = &xg_kernel_table[r];
                if (!row_wanted(&options, row) ||
                    !xg_select_serves(row, &dev->facts, shape->m, shape->n, shape->k))
                    continue;
                measure(row, &operands, &judge, options.budget_s, &cells[t][r][s]);
                right &= cells[t][r][s].right;
            }
            operands_destroy(&operands);
        }
        print_table(&options, t);
        print_selection(&options, t);
        fflush(stdout);
    }
    if (options.csv)
        write_csv(&options, argc, argv);
    close_device();
    if (!right)
        fprintf(stderr, "kernels: results marked ! are wrong\n");
    return !right;
}
