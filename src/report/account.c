/* SPDX-License-Identifier: MIT */
#include "report/account.h"

#include <math.h>
#include <string.h>

enum { SHAPES_PRINTED = 20 };

static void copy_text(char *to, size_t size, const char *from)
{
    memset(to, 0, size);
    if (from)
        memcpy(to, from, strnlen(from, size - 1));
}

static bool same_text(const char *kept, const char *text)
{
    return !strncmp(kept, text ? text : "", XG_ACCOUNT_TEXT - 1);
}

void xg_account_init(struct xg_account *account)
{
    memset(account, 0, sizeof *account);
    memcpy(account->magic, XG_ACCOUNT_MAGIC, sizeof account->magic);
    account->version = XG_ACCOUNT_VERSION;
    account->bytes = sizeof *account;
}

/* --- Adding -------------------------------------------------------------------------------- */

/* Adds a count. A sum of files that would overflow stays at the largest number. */
static void add_count(int64_t *sum, int64_t count)
{
    if (__builtin_add_overflow(*sum, count, sum))
        *sum = INT64_MAX;
}

/* The row of this symbol, place and reason. A full table returns its last row, so that the sums
 * lose nothing. */
static struct xg_account_row *find_row(struct xg_account *account, const char *symbol,
                                       uint32_t place, uint32_t reason)
{
    struct xg_account_row *row = account->rows, *end = row + account->row_count;

    while (row < end &&
           (row->place != place || row->reason != reason || !same_text(row->symbol, symbol)))
        row++;
    if (row < end)
        return row;
    if (account->row_count == XG_ACCOUNT_ROWS)
        return row - 1;
    copy_text(row->symbol, sizeof row->symbol, symbol);
    row->place = place;
    row->reason = reason;
    account->row_count++;
    return row;
}

static bool is_shape(const struct xg_account_shape *a, const struct xg_account_shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->transa == b->transa &&
           a->transb == b->transb && a->beta_zero == b->beta_zero && a->place == b->place &&
           same_text(a->symbol, b->symbol) && same_text(a->kernel, b->kernel);
}

/* Adds the calls of *added to its shape's slot and returns the slot; -1: the table is full. */
static int add_shape(struct xg_account *account, const struct xg_account_shape *added)
{
    uint64_t hash =
        (((uint64_t)added->m * 0x9e3779b97f4a7c15u + (uint64_t)added->n) * 0xbf58476d1ce4e5b9u +
         (uint64_t)added->k) *
        0x94d049bb133111ebu;
    size_t slot = (size_t)(hash >> 40) % XG_ACCOUNT_SHAPES;
    struct xg_account_shape *shapes = account->shapes;

    while (shapes[slot].calls && !is_shape(&shapes[slot], added))
        slot = (slot + 1) % XG_ACCOUNT_SHAPES;
    if (!shapes[slot].calls) {
        /* A quarter stays empty, so that a search ends soon. */
        if (account->shape_count >= XG_ACCOUNT_SHAPES / 4 * 3) {
            add_count(&account->shapes_dropped, added->calls);
            return -1;
        }
        account->shape_count++;
        shapes[slot] = *added;
        return (int)slot;
    }
    add_count(&shapes[slot].calls, added->calls);
    shapes[slot].flops += added->flops;
    shapes[slot].seconds += added->seconds;
    return (int)slot;
}

static void add_verdict(struct xg_account *account, const struct xg_call_record *record)
{
    account->right += record->gpu.verdict == XG_VERDICT_RIGHT;
    account->wrong += record->gpu.verdict == XG_VERDICT_WRONG;
    account->unable += record->gpu.verdict == XG_VERDICT_UNABLE;
    account->rows_skipped += record->gpu.rows_skipped;
    if (record->gpu.verdict == XG_VERDICT_RIGHT)
        account->deviation = fmax(account->deviation, record->gpu.deviation);
}

struct xg_account_change xg_account_add(struct xg_account *account,
                                        const struct xg_call_record *record)
{
    const struct xg_problem *call = &record->call;
    double flops = xg_record_flops(record);
    struct xg_account_row *row =
        find_row(account, record->symbol, (uint32_t)record->place, (uint32_t)record->reason);
    row->calls++;
    row->flops += flops;
    row->bytes += (double)record->gpu.up_bytes + (double)record->gpu.down_bytes;
    row->seconds += record->seconds;
    row->waited_s += record->gpu.waited_s;
    account->longest_spin_s = fmax(account->longest_spin_s, record->spin_s);
    account->held_bytes += (double)record->gpu.held_bytes;
    add_verdict(account, record);

    struct xg_account_shape shape = {
        .m = call->m,
        .n = call->n,
        .k = call->k,
        .place = (uint32_t)record->place,
        .transa = call->transa,
        .transb = call->transb,
        .beta_zero = xg_problem_beta_zero(call),
        .calls = 1,
        .flops = flops,
        .seconds = record->seconds,
    };
    copy_text(shape.symbol, sizeof shape.symbol, record->symbol);
    copy_text(shape.kernel, sizeof shape.kernel, record->gpu.kernel);
    return (struct xg_account_change){(int)(row - account->rows), add_shape(account, &shape)};
}

void xg_account_merge(struct xg_account *into, const struct xg_account *from)
{
    for (int i = 0; i < from->row_count; i++) {
        const struct xg_account_row *row = &from->rows[i];
        struct xg_account_row *sum = find_row(into, row->symbol, row->place, row->reason);

        add_count(&sum->calls, row->calls);
        sum->flops += row->flops;
        sum->bytes += row->bytes;
        sum->seconds += row->seconds;
        sum->waited_s += row->waited_s;
    }
    for (int i = 0; i < XG_ACCOUNT_SHAPES; i++)
        if (from->shapes[i].calls)
            add_shape(into, &from->shapes[i]);
    add_count(&into->shapes_dropped, from->shapes_dropped);
    into->longest_spin_s = fmax(into->longest_spin_s, from->longest_spin_s);
    add_count(&into->right, from->right);
    add_count(&into->wrong, from->wrong);
    add_count(&into->unable, from->unable);
    add_count(&into->rows_skipped, from->rows_skipped);
    into->deviation = fmax(into->deviation, from->deviation);
    into->held_bytes += from->held_bytes;
}

void xg_account_sum(const struct xg_account *account, struct xg_account_sums *sums)
{
    *sums = (struct xg_account_sums){0};
    for (int i = 0; i < account->row_count; i++) {
        const struct xg_account_row *row = &account->rows[i];
        bool gpu = row->place != XG_PLACE_CPU;

        add_count(&sums->calls, row->calls);
        sums->flops += row->flops;
        sums->bytes += row->bytes;
        sums->seconds += row->seconds;
        add_count(&sums->gpu_calls, gpu ? row->calls : 0);
        sums->gpu_flops += gpu ? row->flops : 0.0;
        sums->gpu_seconds += gpu ? row->seconds - row->waited_s : 0.0;
    }
}

/* --- No GPU -------------------------------------------------------------------------------- */

enum xg_reason xg_account_absence(const struct xg_account *account)
{
    int64_t calls[XG_REASON_COUNT] = {0}, most = 0;
    enum xg_reason found = XG_REASON_COUNT;
    bool met = false;

    for (int i = 0; i < account->row_count; i++) {
        const struct xg_account_row *row = &account->rows[i];
        add_count(&calls[row->reason], row->calls);
        met |= row->place != XG_PLACE_CPU || row->reason == XG_REASON_STARTING;
    }
    for (int reason = 0; reason < XG_REASON_COUNT; reason++)
        if (xg_reason_is_absence((enum xg_reason)reason) && calls[reason] > most) {
            most = calls[reason];
            found = (enum xg_reason)reason;
        }
    if (found == XG_REASON_COUNT && !met && calls[XG_REASON_EARNING] > 0)
        found = XG_REASON_EARNING;
    return found;
}

void xg_account_explain(struct xg_account *account, enum xg_reason reason)
{
    for (int i = 0; i < account->row_count; i++)
        if (account->rows[i].reason == XG_REASON_EARNING)
            account->rows[i].reason = reason;
}

const char *xg_account_absence_text(const struct xg_account *account)
{
    enum xg_reason reason = xg_account_absence(account);
#define SEE "; see xgemm-run doctor"
    return reason == XG_REASON_NO_DRIVER
               ? "no GPU here: the CUDA driver (libcuda.so.1) is not found" SEE
           : reason == XG_REASON_NO_DEVICE ? "no GPU here: the CUDA driver finds no device" SEE
           : reason == XG_REASON_DENIED
               ? "no GPU here: its device files (/dev/nvidia*) may not be opened, by this user or "
                 "in this container" SEE
           : reason == XG_REASON_NO_GPU ? "no GPU here that can be used" SEE
                                        : NULL;
#undef SEE
}

/* --- Reading ------------------------------------------------------------------------------- */

/* No figure of a process can be larger, and sums of figures up to it do not overflow. */
#define FIGURE_MOST 1e40

static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size);
}

/* A name without control characters, which is safe to print on a terminal. */
static bool is_name(const char *text, size_t size)
{
    while (size > 0 && *text >= ' ' && *text <= '~')
        text++, size--;
    return size > 0 && !*text;
}

static bool is_figure(double value)
{
    return value >= 0.0 && value <= FIGURE_MOST;
}

static bool are_verdicts_valid(const struct xg_account *account)
{
    return account->shapes_dropped >= 0 && account->right >= 0 && account->wrong >= 0 &&
           account->unable >= 0 && account->rows_skipped >= 0 && is_figure(account->deviation) &&
           is_figure(account->held_bytes) &&
           account->longest_spin_s >= 0.0; /* infinite if threads never sleep */
}

bool xg_account_is_valid(const struct xg_account *account)
{
    if (memcmp(account->magic, XG_ACCOUNT_MAGIC, sizeof account->magic) ||
        account->version != XG_ACCOUNT_VERSION || account->bytes != sizeof *account ||
        !is_text(account->program, sizeof account->program) || account->row_count < 0 ||
        account->row_count > XG_ACCOUNT_ROWS || account->shape_count < 0 ||
        account->shape_count > XG_ACCOUNT_SHAPES / 4 * 3 || !are_verdicts_valid(account))
        return false;
    for (int i = 0; i < account->row_count; i++) {
        const struct xg_account_row *row = &account->rows[i];
        if (!is_name(row->symbol, sizeof row->symbol) || row->place > XG_PLACE_BOTH ||
            row->reason >= XG_REASON_COUNT || row->calls < 0 || !is_figure(row->flops) ||
            !is_figure(row->bytes) || !is_figure(row->seconds) || !is_figure(row->waited_s))
            return false;
    }
    for (int i = 0; i < XG_ACCOUNT_SHAPES; i++) {
        const struct xg_account_shape *shape = &account->shapes[i];
        if (!is_name(shape->symbol, sizeof shape->symbol) ||
            !is_name(shape->kernel, sizeof shape->kernel) || shape->place > XG_PLACE_BOTH ||
            shape->transa > XG_CONJ_TRANS || shape->transb > XG_CONJ_TRANS || shape->calls < 0 ||
            !is_figure(shape->flops) || !is_figure(shape->seconds))
            return false;
    }
    return true;
}

/* --- Text tables, whose columns are as wide as their longest cells ---------------------------- */

enum { TABLE_COLUMNS = 11, TABLE_CELL = 48 };

typedef char table_cells[TABLE_COLUMNS][TABLE_CELL];

struct table {
    int columns; /* at most TABLE_COLUMNS */
    const char *head[TABLE_COLUMNS];
    unsigned left;     /* one bit for each column of words, flush left; numbers are flush right */
    const char *spare; /* columns that a narrow table lacks, the first of them first */
    int most;          /* the most characters of a line; 0: any number */
    int rows;
    /* Writes the cells of a row. Called twice for each row. */
    void (*fill)(table_cells cells, int row, const void *context);
    const void *context;
};

static void print_cell(const struct table *table, int column, int width, const char *cell,
                       FILE *out)
{
    fprintf(out, "%s%*s", column ? " " : "  ", table->left & 1u << column ? -width : width, cell);
}

/* Leaves out spare columns, whose width is then -1, until a line is short enough. */
static void narrow(const struct table *table, int widths[TABLE_COLUMNS])
{
    int length = 1;
    for (int column = 0; column < table->columns; column++)
        length += 1 + widths[column];
    for (const char *spare = table->spare; *spare && table->most && length > table->most; spare++) {
        length -= 1 + widths[*spare - '0'];
        widths[*spare - '0'] = -1;
    }
}

/* Prints head and rows, each after two blanks. Fills every row twice: first to measure it, then to
 * print it. */
static void print_table(const struct table *table, FILE *out)
{
    int widths[TABLE_COLUMNS];
    table_cells cells;
    for (int column = 0; column < table->columns; column++)
        widths[column] = (int)strlen(table->head[column]);
    for (int row = 0; row < table->rows; row++) {
        table->fill(cells, row, table->context);
        for (int column = 0; column < table->columns; column++) {
            int length = (int)strlen(cells[column]);
            widths[column] = length > widths[column] ? length : widths[column];
        }
    }
    narrow(table, widths);
    for (int row = -1; row < table->rows; row++) {
        if (row >= 0)
            table->fill(cells, row, table->context);
        for (int column = 0; column < table->columns; column++)
            if (widths[column] >= 0)
                print_cell(table, column, widths[column],
                           row < 0 ? table->head[column] : cells[column], out);
        fputc('\n', out);
    }
}

/* --- Printing ------------------------------------------------------------------------------ */

static double gflops_per_s(double flops, double seconds)
{
    return seconds > 0.0 ? flops / seconds * 1e-9 : 0.0;
}

/* The longest name of XGEMM_OPERATIONS that is part of the symbol; NULL: no name is, so the symbol
 * is a routine of LAPACK. */
static const char *kind_of(const char *symbol)
{
    const char *found = NULL;

    for (int kind = 0; kind < XG_KIND_COUNT; kind++) {
        const char *name = xg_kind_name(kind);
        if (strstr(symbol, name) && (!found || strlen(name) > strlen(found)))
            found = name;
    }
    return found;
}

/* Writes "sgemm"; for a routine its name without the spelling: "dgesv" for scipy_dgesv_64_. */
static void put_operation(char cell[TABLE_CELL], const char *symbol)
{
    const char *kind = kind_of(symbol), *scipy = "scipy_";
    const char *begin = strncmp(symbol, scipy, strlen(scipy)) ? symbol : symbol + strlen(scipy);
    const char *name = kind ? kind : begin;

    snprintf(cell, TABLE_CELL, "%.*s", (int)strcspn(name, kind ? "" : "_"), name);
}

static void fill_row(table_cells cells, int index, const void *context)
{
    const struct xg_account_row *row = &((const struct xg_account *)context)->rows[index];

    snprintf(cells[0], TABLE_CELL, "%s", xg_place_text((enum xg_place)row->place));
    snprintf(cells[1], TABLE_CELL, "%s", xg_reason_text((enum xg_reason)row->reason));
    snprintf(cells[2], TABLE_CELL, "%s", row->symbol);
    put_operation(cells[3], row->symbol);
    snprintf(cells[4], TABLE_CELL, "%lld", (long long)row->calls);
    snprintf(cells[5], TABLE_CELL, "%.3f", row->flops * 1e-9);
    snprintf(cells[6], TABLE_CELL, "%.3f", row->bytes * 1e-9);
    snprintf(cells[7], TABLE_CELL, "%.4f", row->seconds);
    snprintf(cells[8], TABLE_CELL, "%.1f", gflops_per_s(row->flops, row->seconds));
}

static void print_rows(const struct xg_account *account, int most, FILE *out)
{
    struct xg_account_sums sums;

    xg_account_sum(account, &sums);
    fprintf(out, "xgemm: %lld product%s, %.3f GFLOP in %.3f s; %lld on the GPU, %lld on the CPU\n",
            (long long)sums.calls, sums.calls == 1 ? "" : "s", sums.flops * 1e-9, sums.seconds,
            (long long)sums.gpu_calls, (long long)(sums.calls - sums.gpu_calls));
    const struct table table = {
        .columns = 9,
        .head = {"where", "why", "name", "operation", "calls", "GFLOP", "GB", "seconds", "GFLOP/s"},
        .left = 0xf,
        .spare = "368", /* operation, GB, GFLOP/s */
        .most = most,
        .rows = account->row_count,
        .fill = fill_row,
        .context = account};
    print_table(&table, out);
}

/* The used slot with the longest time among those not yet taken; NULL when none is left. */
static const struct xg_account_shape *longest_shape(const struct xg_account *account,
                                                    const bool *taken)
{
    const struct xg_account_shape *longest = NULL;

    for (int i = 0; i < XG_ACCOUNT_SHAPES; i++) {
        const struct xg_account_shape *shape = &account->shapes[i];
        if (shape->calls && !taken[i] && (!longest || shape->seconds > longest->seconds))
            longest = shape;
    }
    return longest;
}

static void fill_shape(table_cells cells, int index, const void *context)
{
    const struct xg_account_shape *shape = ((const struct xg_account_shape *const *)context)[index];
    const char trans[] = {xg_trans_letter((enum xg_trans)shape->transa),
                          xg_trans_letter((enum xg_trans)shape->transb), '\0'};
    bool routine = !kind_of(shape->symbol);

    snprintf(cells[0], TABLE_CELL, "%s", shape->symbol);
    snprintf(cells[1], TABLE_CELL, "%lld", (long long)shape->m);
    snprintf(cells[2], TABLE_CELL, "%lld", (long long)shape->n);
    snprintf(cells[3], TABLE_CELL, "%lld", (long long)shape->k);
    snprintf(cells[4], TABLE_CELL, "%s", routine ? "-" : trans);
    snprintf(cells[5], TABLE_CELL, "%s", routine ? "-" : shape->beta_zero ? "0" : "any");
    snprintf(cells[6], TABLE_CELL, "%s", xg_place_text((enum xg_place)shape->place));
    snprintf(cells[7], TABLE_CELL, "%s", shape->kernel[0] ? shape->kernel : "-");
    snprintf(cells[8], TABLE_CELL, "%lld", (long long)shape->calls);
    snprintf(cells[9], TABLE_CELL, "%.4f", 1e3 * shape->seconds / (double)shape->calls);
    snprintf(cells[10], TABLE_CELL, "%.1f", gflops_per_s(shape->flops, shape->seconds));
}

static void print_shapes(const struct xg_account *account, int most, FILE *out)
{
    const struct xg_account_shape *longest[SHAPES_PRINTED];
    bool taken[XG_ACCOUNT_SHAPES] = {false};
    int count = 0;

    while (count < SHAPES_PRINTED && (longest[count] = longest_shape(account, taken)))
        taken[longest[count++] - account->shapes] = true;
    fprintf(out, "  shapes that took longest, of %d (row-major)\n", account->shape_count);
    const struct table table = {.columns = 11,
                                .head = {"name", "m", "n", "k", "trans", "beta", "where", "kernel",
                                         "calls", "mean ms", "GFLOP/s"},
                                .left = 1u << 0 | 1u << 6 | 1u << 7,
                                .spare = "5468", /* beta, trans, where, calls */
                                .most = most,
                                .rows = count,
                                .fill = fill_shape,
                                .context = longest};
    print_table(&table, out);
    if (account->shapes_dropped)
        fprintf(out, "  and %lld products of shapes that found the table full\n",
                (long long)account->shapes_dropped);
}

static void print_verified(const struct xg_account *account, FILE *out)
{
    int64_t count = account->right;
    add_count(&count, account->wrong);
    if (count == 0 && account->unable == 0)
        return;
    fprintf(
        out,
        "  verified: %lld calls; wrong, and computed again by the CPU: %lld; could not be "
        "verified: %lld;\n"
        "  rows with NaN or infinities skipped: %lld; largest deviation: %.2g of where a row or a "
        "routine is computed again\n",
        (long long)count, (long long)account->wrong, (long long)account->unable,
        (long long)account->rows_skipped, account->deviation);
}

static void print_held(const struct xg_account *account, FILE *out)
{
    if (account->held_bytes > 0)
        fprintf(out, "  operands that stayed on the GPU, unchanged: %.3f GB not sent\n",
                1e-9 * account->held_bytes);
}

/* Prints what helps if the CPU library's threads keep the cores for long. */
static void print_spin(const struct xg_account *account, FILE *out)
{
    static const double long_s = 0.01;
    if (account->longest_spin_s >= long_s)
        fprintf(out,
                "  OpenBLAS's threads spin for %.0f ms after a product and take the cores that\n"
                "  staging needs; xgemm-run lets them sleep sooner if waking them is cheap here\n",
                1e3 * account->longest_spin_s);
}

/* Says how to get cuSOLVER if a routine lacked it. */
static void print_solver(const struct xg_account *account, FILE *out)
{
    bool lacked = false;
    for (int i = 0; i < account->row_count; i++)
        lacked |= account->rows[i].reason == XG_REASON_SOLVER;
    if (lacked)
        fputs("  no cuSOLVER here: pip install 'xgemm-shim[lapack]' or nvidia-cusolver\n"
              "  (drivers older than 580: 'xgemm-shim[lapack-cuda12]', nvidia-cusolver-cu12)\n",
              out);
}

void xg_account_print(const struct xg_account *account, int most, FILE *out)
{
    if (account->row_count == 0)
        return;
    print_rows(account, most, out);
    print_shapes(account, most, out);
    print_held(account, out);
    print_verified(account, out);
    print_spin(account, out);
    print_solver(account, out);
    const char *absence = xg_account_absence_text(account);
    if (absence)
        fprintf(out, "  %s\n", absence);
}
