/* SPDX-License-Identifier: MIT */
/* Measures the kernel table with operands on the device, and compares rows with cuBLAS; tables and
 * CSV. */

/*
 * usage: kernels [--type s|d] [--rows A,B | --math strict,accurate,tf32|all]
 *                [--shapes FILE | --sizes N,N] [--trans nn|nt|tn|tt|all] [--ld padded|tight|all]
 *                [--budget SECONDS] [--seed N] [--csv FILE] [--commit TEXT]
 *
 * Prints every row of the table (or the named ones), with one column per shape; with --math instead
 * the row that selection chooses for each arithmetic beside cuBLAS, one line per shape, and a
 * summary of the ratios.
 *
 * --type d: rows of double precision, alternating with each other and with cublasDgemm; their only
 * arithmetic is strict.
 *
 * FILE: see shapes.h (beta is always 0 here); without it the squares of --sizes, or 512 to 8192.
 * --ld padded: leading dimensions are multiples of 4, as in the host pipeline; tight: rows without
 * space between them, so that most are not aligned; all: both, if they differ.
 *
 * Each cell is warmed up and timed with the device's events in several batches within the budget
 * (0.5 s; at least one run); the median of the batches is reported. Compared kernels alternate.
 * Operands are random, and rotate through several sets if one would stay in the L2 cache. Every
 * result is checked on sampled elements in double precision; a wrong one is marked, and the exit
 * status is 1.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "options.h"
#include "resident.h"
#include "src/decide/route.h"

enum { MATHS = 3, PADDED = 1, TIGHT = 2 };

static const struct {
    const char *name;
    enum xg_math math;
    double units; /* error of a product before it is summed, in 2^-24: 11 bits of each factor */
} maths[MATHS] = {{"strict", XG_MATH_STRICT, 0.0},
                  {"accurate", XG_MATH_ACCURATE, 0.0},
                  {"tf32", XG_MATH_TF32, 0x1p14}};

static const struct {
    const char *name;
    unsigned bit;
    int64_t multiple; /* of the leading dimensions */
} lds[] = {{"padded", PADDED, 4}, {"tight", TIGHT, 1}};

static struct {
    enum xg_type type;
    const char *rows, *csv, *commit;
    unsigned trans_mask, math_mask, ld_mask;
    double budget_s;
    uint64_t seed;
    struct shapes shapes;
    int argc;
    char **argv;
} options;

static struct xg_dev *dev;
static struct timing *cells; /* [row of the table][shape] */

static void die(const char *what)
{
    fprintf(stderr, "kernels: %s\n", what);
    exit(2);
}

static struct timing *cell(size_t row, int shape)
{
    return &cells[row * (size_t)options.shapes.count + (size_t)shape];
}

static bool row_wanted(const struct xg_kernel *row)
{
    size_t length = strlen(row->name);
    if (!(row->flags & XG_KERNEL_CUBLAS) && row->type != (int)options.type)
        return false;
    for (const char *at = options.rows; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, row->name, length) && (!at[length] || at[length] == ','))
            return true;
    }
    return !options.rows;
}

static double tflops(const struct shape *shape, const struct timing *timing)
{
    return 2.0 * (double)shape->m * (double)shape->n * (double)shape->k / timing->median_us * 1e-6;
}

/* Whether the error is possible for k rounded products and sums; false for NaN. */
static bool is_right(const struct shape *shape, const struct timing *timing, double units)
{
    return timing->error <= units + (double)(shape->k + 3);
}

static double row_units(const struct xg_kernel *row)
{
    return row->flags & XG_KERNEL_TF32 ? maths[MATHS - 1].units : 0.0;
}

/* The unit of errors. */
static const char *unit_name(void)
{
    return options.type == XG_TYPE_D ? "2e-53" : "2e-24";
}

/* The row of the table that is cuBLAS. */
static size_t cublas_row(void)
{
    size_t r = 0;
    while (r + 1 < xg_kernel_count && !(xg_kernel_table[r].flags & XG_KERNEL_CUBLAS))
        r++;
    return r;
}

static void print_header(FILE *out, const char *mark)
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
    if (XG_DRV(&dev->drv, cuDriverGetVersion, &version) != XG_OK)
        die("no driver version");
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", gmtime(&now));
    fprintf(out, "%sdevice: %s, sm_%d, %d multiprocessors\n", mark, dev->name, dev->facts.sm,
            dev->facts.sm_count);
    fprintf(out, "%sdriver: CUDA %d.%d %s\n", mark, version / 1000, version % 1000 / 10, line);
    fprintf(out, "%sdate: %s\n%scommit: %s\n%scommand:", mark, date, mark, options.commit, mark);
    for (int i = 0; i < options.argc; i++)
        fprintf(out, " %s", options.argv[i]);
    fputc('\n', out);
}

static FILE *open_csv(void)
{
    FILE *csv = options.csv ? fopen(options.csv, "w") : NULL;
    if (options.csv && !csv)
        die("cannot write the CSV file");
    if (csv)
        print_header(csv, "# ");
    return csv;
}

static void close_csv(FILE *csv)
{
    if (csv && fclose(csv))
        die("cannot write the CSV file");
}

/* --- Every row ----------------------------------------------------------------------------- */

static void print_table(int trans)
{
    printf("\n%s: TFLOP/s (%% of cuBLAS); median of batches\n%-20s", shapes_trans_names[trans],
           "m,n,k");
    for (int s = 0; s < options.shapes.count; s++) {
        char text[64];
        const struct shape *shape = &options.shapes.at[s];
        snprintf(text, sizeof text, "%lld,%lld,%lld", (long long)shape->m, (long long)shape->n,
                 (long long)shape->k);
        if (shape->trans == trans)
            printf(" %18s", text);
    }
    for (size_t r = 0; r < xg_kernel_count; r++) {
        if (!row_wanted(&xg_kernel_table[r]))
            continue;
        printf("\n%-20s", xg_kernel_table[r].name);
        for (int s = 0; s < options.shapes.count; s++) {
            char percent[16] = "";
            const struct timing *timing = cell(r, s), *yardstick = cell(cublas_row(), s);
            if (options.shapes.at[s].trans != trans)
                continue;
            if (timing->there && yardstick->there)
                snprintf(percent, sizeof percent, " (%.0f%%)",
                         100.0 * yardstick->median_us / timing->median_us);
            if (timing->there)
                printf(" %10.3f%-7s%s", tflops(&options.shapes.at[s], timing), percent,
                       is_right(&options.shapes.at[s], timing, row_units(&xg_kernel_table[r]))
                           ? " "
                           : "!");
            else
                printf(" %10s%-8s", "-", "");
        }
    }
    putchar('\n');
}

static struct xg_shape shape_of(const struct shape *shape, int trans)
{
    return (struct xg_shape){.m = shape->m,
                             .n = shape->n,
                             .k = shape->k,
                             .type = options.type,
                             .transa = trans >> 1,
                             .transb = trans & 1};
}

/* Prints the row that selection chooses beside the best row: the loss of the ranking. */
static void print_selection(int trans)
{
    printf("\nselected for %s:\n", shapes_trans_names[trans]);
    for (int s = 0; s < options.shapes.count; s++) {
        const struct shape *shape = &options.shapes.at[s];
        const struct xg_shape wanted = shape_of(shape, trans);
        const struct xg_kernel *chosen =
            xg_route_resident(&dev->facts, XG_MATH_ACCURATE, NULL, &wanted).row;
        const struct timing *best = NULL, *taken = NULL;
        const char *best_name = "";
        for (size_t r = 0; r < xg_kernel_count; r++) {
            const struct timing *timing = cell(r, s);
            if (!timing->there || xg_kernel_table[r].flags & XG_KERNEL_CUBLAS)
                continue;
            if (&xg_kernel_table[r] == chosen)
                taken = timing;
            if (!best || timing->median_us < best->median_us) {
                best = timing;
                best_name = xg_kernel_table[r].name;
            }
        }
        if (taken && shape->trans == trans)
            printf("  %lld,%lld,%lld: %s, %.0f%% of the best (%s)\n", (long long)shape->m,
                   (long long)shape->n, (long long)shape->k, chosen->name,
                   100.0 * best->median_us / taken->median_us, best_name);
    }
}

static void write_rows(void)
{
    FILE *out = open_csv();
    if (!out)
        return;
    fprintf(out,
            "row,trans,m,n,k,tflops,percent_of_cublas,median_us,least_us,batches,"
            "runs_per_batch,max_error_%s,right\n",
            unit_name());
    for (int s = 0; s < options.shapes.count; s++)
        for (size_t r = 0; r < xg_kernel_count; r++) {
            const struct shape *shape = &options.shapes.at[s];
            const struct timing *timing = cell(r, s), *cublas = cell(cublas_row(), s);
            if (!timing->there)
                continue;
            fprintf(out, "%s,%s,%lld,%lld,%lld,%.4f,", xg_kernel_table[r].name,
                    shapes_trans_names[shape->trans], (long long)shape->m, (long long)shape->n,
                    (long long)shape->k, tflops(shape, timing));
            if (cublas->there)
                fprintf(out, "%.2f", 100.0 * cublas->median_us / timing->median_us);
            fprintf(out, ",%.3f,%.3f,%d,%d,%.4f,%d\n", timing->median_us, timing->least_us,
                    timing->batches, timing->runs, timing->error,
                    is_right(shape, timing, row_units(&xg_kernel_table[r])));
        }
    close_csv(out);
}

/* Measures all selected rows, each into its cell; `together` rows alternate. False if a result is
 * wrong. */
static bool measure_shape(int s, const struct resident *operands, int together)
{
    const struct shape *shape = &options.shapes.at[s];
    const struct xg_shape wanted = shape_of(shape, shape->trans);
    const struct xg_kernel *rows[RESIDENT_TOGETHER];
    struct timing timings[RESIDENT_TOGETHER];
    bool right = true;
    int count = 0;
    for (size_t r = 0; r < xg_kernel_count; r++) {
        const struct xg_kernel *row = &xg_kernel_table[r];
        if (row_wanted(row) && xg_select_row(row, &dev->facts, &wanted).row)
            rows[count++] = row;
        if (count < (r + 1 < xg_kernel_count ? together : 1))
            continue;
        resident_measure(operands, rows, count, options.budget_s, timings);
        for (int i = 0; i < count; i++) {
            *cell((size_t)(rows[i] - xg_kernel_table), s) = timings[i];
            right &= !timings[i].there || is_right(shape, &timings[i], row_units(rows[i]));
        }
        count = 0;
    }
    return right;
}

/* False when a result is wrong. */
static bool measure_rows(void)
{
    bool right = true;
    unsigned seen = 0;
    cells = calloc(xg_kernel_count * (size_t)options.shapes.count, sizeof *cells);
    if (!cells)
        die("out of memory");
    for (int s = 0; s < options.shapes.count; s++) {
        const struct shape *shape = &options.shapes.at[s];
        struct resident operands;
        seen |= 1u << shape->trans;
        resident_create(&operands, options.type, shape, options.ld_mask & PADDED ? 4 : 1,
                        &options.seed);
        right &= measure_shape(s, &operands, options.type == XG_TYPE_D ? RESIDENT_TOGETHER : 1);
        resident_destroy(&operands);
    }
    for (int trans = 0; trans < 4; trans++)
        if (seen & 1u << trans) {
            print_table(trans);
            if (options.type == XG_TYPE_S)
                print_selection(trans);
        }
    write_rows();
    free(cells);
    return right;
}

/* --- What selection takes, beside cuBLAS ---------------------------------------------------- */

/* The data of a line, for the summary's lists. */
struct ratio {
    char name[64]; /* shape, transposes, leading dimensions */
    int math;
    double ratio, us;
};

static struct ratio *ratios;
static int ratio_count;

static void add_ratio(const struct shape *shape, int math, const char *ld, double ratio, double us)
{
    struct ratio *more = realloc(ratios, ((size_t)ratio_count + 1) * sizeof *ratios);
    if (!more)
        die("out of memory");
    ratios = more;
    struct ratio *entry = &ratios[ratio_count++];
    *entry = (struct ratio){.math = math, .ratio = ratio, .us = us};
    snprintf(entry->name, sizeof entry->name, "%lld,%lld,%lld %s %s", (long long)shape->m,
             (long long)shape->n, (long long)shape->k, shapes_trans_names[shape->trans], ld);
}

static void report(const struct shape *shape, int math, const char *ld, const char *row,
                   const struct timing *ours, const struct timing *cublas, FILE *csv)
{
    bool right = is_right(shape, ours, maths[math].units);
    double ratio = cublas->median_us / ours->median_us;
    add_ratio(shape, math, ld, ratio, ours->median_us);
    printf("%-34s %-9s %-22s %10.2f %8.3f %10.2f %8.3f %7.3f%s\n", ratios[ratio_count - 1].name,
           maths[math].name, row, ours->median_us, tflops(shape, ours), cublas->median_us,
           tflops(shape, cublas), ratio, right ? "" : " WRONG");
    fflush(stdout);
    if (csv)
        fprintf(csv, "%lld,%lld,%lld,%s,%s,%s,%s,%.3f,%.4f,%.3f,%.4f,%.4f,%d\n",
                (long long)shape->m, (long long)shape->n, (long long)shape->k,
                shapes_trans_names[shape->trans], ld, maths[math].name, row, ours->median_us,
                tflops(shape, ours), cublas->median_us, ratio, ours->error, right);
}

/* Compares each arithmetic's row with cuBLAS for one shape and leading dimension. False: a wrong
 * result.
 */
static bool compare_shape(const struct shape *shape, int ld, FILE *csv)
{
    const struct xg_kernel *rows[MATHS + 1] = {&xg_kernel_table[cublas_row()]};
    struct timing timings[MATHS + 1];
    int rows_count = 1, place[MATHS] = {0};
    bool right = true;
    struct resident operands;
    resident_create(&operands, options.type, shape, lds[ld].multiple, &options.seed);
    for (int math = 0; math < MATHS; math++) {
        const struct xg_kernel *row =
            options.math_mask & 1u << math ? resident_row(&operands, maths[math].math) : NULL;
        if (!row)
            continue;
        while (place[math] < rows_count && rows[place[math]] != row)
            place[math]++;
        if (place[math] == rows_count)
            rows[rows_count++] = row;
    }
    resident_measure(&operands, rows, rows_count, options.budget_s, timings);
    for (int math = 0; math < MATHS; math++)
        if (options.math_mask & 1u << math && timings[place[math]].there) {
            report(shape, math, lds[ld].name, rows[place[math]]->name, &timings[place[math]],
                   &timings[0], csv);
            right &= is_right(shape, &timings[place[math]], maths[math].units);
        }
    resident_destroy(&operands);
    return right && is_right(shape, &timings[0], 0.0);
}

static void print_summary(int math)
{
    double log_sum = 0.0, least = INFINITY;
    int count = 0, below = 0;
    const char *least_name = "";
    for (int i = 0; i < ratio_count; i++) {
        if (ratios[i].math != math)
            continue;
        count++;
        log_sum += log(ratios[i].ratio);
        if (ratios[i].ratio < least) {
            least = ratios[i].ratio;
            least_name = ratios[i].name;
        }
    }
    printf("\n%s: geometric mean of cuBLAS's time / ours %.3f over %d, least %.3f (%s)\n",
           maths[math].name, exp(log_sum / count), count, least, least_name);
    for (int i = 0; i < ratio_count; i++)
        if (ratios[i].math == math && ratios[i].ratio < 0.95) {
            printf("  under 0.95: %-34s %.3f\n", ratios[i].name, ratios[i].ratio);
            below++;
        }
    printf("  %d of %d under 0.95\n", below, count);
}

/* Prints shapes for which an arithmetic that admits more rows is slower, which is a fault of
 * selection. */
static void print_slower(int math, int than)
{
    for (int i = 0; i < ratio_count; i++)
        for (int j = 0; j < ratio_count; j++)
            if (ratios[i].math == math && ratios[j].math == than &&
                !strcmp(ratios[i].name, ratios[j].name) && ratios[i].us > 1.02 * ratios[j].us)
                printf("%s slower than %s: %s, %.2f against %.2f us\n", maths[math].name,
                       maths[than].name, ratios[i].name, ratios[i].us, ratios[j].us);
}

/* False when a result is wrong. */
static bool compare_shapes(void)
{
    bool right = true;
    FILE *csv = open_csv();
    if (!dev->facts.cublas)
        die("cuBLAS is missing, so there is nothing to compare");
    printf("%-34s %-9s %-22s %10s %8s %10s %8s %7s\n", "m,n,k, transposes, ld", "math", "row", "us",
           "TFLOP/s", "cuBLAS us", "TFLOP/s", "ratio");
    if (csv)
        fprintf(csv, "m,n,k,trans,ld,math,row,us,tflops,cublas_us,ratio,max_error_2e-24,right\n");
    for (int s = 0; s < options.shapes.count; s++) {
        const struct shape *shape = &options.shapes.at[s];
        int64_t a_cols = shape->trans >> 1 ? shape->m : shape->k;
        int64_t b_cols = shape->trans & 1 ? shape->k : shape->n;
        bool differ = a_cols % 4 || b_cols % 4 || shape->n % 4;
        for (int ld = 0; ld < (int)(sizeof lds / sizeof lds[0]); ld++) {
            bool again = lds[ld].bit == TIGHT && options.ld_mask & PADDED && !differ;
            if (options.ld_mask & lds[ld].bit && !again)
                right &= compare_shape(shape, ld, csv);
        }
    }
    close_csv(csv);
    for (int math = 0; math < MATHS; math++)
        if (options.math_mask & 1u << math)
            print_summary(math);
    for (int math = 1; math < MATHS; math++)
        print_slower(math, math - 1);
    free(ratios);
    return right;
}

/* --- The program ---------------------------------------------------------------------------- */

/* Returns the bits of the words in a comma-separated list; "all": every one. 0: an unknown word. */
static unsigned parse_maths(const char *list)
{
    unsigned mask = 0;
    for (const char *word = list; word; word = strchr(word, ',')) {
        word += *word == ',';
        size_t length = strcspn(word, ",");
        unsigned before = mask;
        for (int math = 0; math < MATHS; math++)
            if (!strncmp(word, "all", length) || !strncmp(word, maths[math].name, length))
                mask |= 1u << math;
        if (mask == before)
            return 0;
    }
    return mask;
}

/* The bits of the leading dimensions; 0: an unknown word. */
static unsigned parse_ld(const char *word)
{
    return !strcmp(word, "padded")  ? PADDED
           : !strcmp(word, "tight") ? TIGHT
           : !strcmp(word, "all")   ? PADDED | TIGHT
                                    : 0;
}

/* Adds the squares of a comma-separated list. */
static void add_sizes(const char *list)
{
    for (const char *at = list; *at; at += *at == ',') {
        char *end;
        int64_t side = strtoll(at, &end, 10);
        if (side < 1 || (*end && *end != ','))
            die("invalid size");
        at = end;
        shapes_add(&options.shapes, &(struct shape){.m = side, .n = side, .k = side},
                   options.trans_mask);
    }
}

static void parse(int argc, char **argv)
{
    const char *shapes = NULL, *sizes = "512,1024,2048,4096,8192", *type = "s";
    const char *math = NULL, *trans = "nn", *ld = "padded";
    options.argc = argc;
    options.argv = argv;
    options.commit = "unknown";
    options.budget_s = 0.5;
    options.seed = (uint64_t)time(NULL);
    const struct option_row rows[] = {{"type", OPTION_TEXT, &type},
                                      {"rows", OPTION_TEXT, &options.rows},
                                      {"math", OPTION_TEXT, &math},
                                      {"trans", OPTION_TEXT, &trans},
                                      {"ld", OPTION_TEXT, &ld},
                                      {"shapes", OPTION_TEXT, &shapes},
                                      {"sizes", OPTION_TEXT, &sizes},
                                      {"budget", OPTION_REAL, &options.budget_s},
                                      {"seed", OPTION_NUMBER, &options.seed},
                                      {"csv", OPTION_TEXT, &options.csv},
                                      {"commit", OPTION_TEXT, &options.commit},
                                      {0}};
    if (options_read(argc, argv, rows) != argc)
        die("usage: kernels [--type s|d] [--rows A,B | --math strict,accurate,tf32|all]\n"
            "               [--shapes FILE | --sizes N,N] [--trans nn|nt|tn|tt|all]\n"
            "               [--ld padded|tight|all] [--budget SECONDS] [--seed N]\n"
            "               [--csv FILE] [--commit TEXT]");
    options.math_mask = math ? parse_maths(math) : 0;
    options.trans_mask = shapes_trans_mask(trans);
    options.ld_mask = parse_ld(ld);
    if ((math && !options.math_mask) || !options.trans_mask || !options.ld_mask)
        die("unknown value");
    if (strcmp(type, "s") && strcmp(type, "d"))
        die("unknown type");
    options.type = *type == 'd' ? XG_TYPE_D : XG_TYPE_S;
    if (options.type == XG_TYPE_D && options.math_mask > 1u)
        die("double precision has only the arithmetic strict");
    if (shapes && !shapes_read(&options.shapes, shapes, options.trans_mask))
        exit(2);
    if (!shapes)
        add_sizes(sizes);
    if (!options.shapes.count)
        die("no shapes");
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    dev = resident_open();
    print_header(stdout, "");
    bool right = options.math_mask ? compare_shapes() : measure_rows();
    resident_close();
    shapes_free(&options.shapes);
    if (!right)
        fprintf(stderr, "kernels: results marked ! or WRONG are wrong\n");
    return !right;
}
