/* SPDX-License-Identifier: MIT */
/* Reads a fixture of replay.h: header, products, periods; and what each product waited for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

enum { PRODUCTS_MAX = 1 << 20 };

struct reader {
    struct replay_fixture *fixture;
    size_t room;
    size_t section;      /* the first product of the period */
    long repeats;        /* of the period */
    double period_s;     /* 0: not repeated */
    double section_at_s; /* where its times count from */
};

static bool add_product(struct reader *reader, const struct replay_product *product)
{
    struct replay_fixture *fixture = reader->fixture;
    if (fixture->count == reader->room) {
        size_t room = reader->room ? 2 * reader->room : 256;
        struct replay_product *grown =
            room > PRODUCTS_MAX ? NULL : realloc(fixture->products, room * sizeof *grown);
        if (!grown)
            return false;
        fixture->products = grown;
        reader->room = room;
    }
    fixture->products[fixture->count++] = *product;
    if (fixture->threads <= product->thread)
        fixture->threads = product->thread + 1;
    return true;
}

/* Repeats the period that was read. */
static bool end_section(struct reader *reader)
{
    size_t end = reader->fixture->count;
    for (long turn = 1; turn < reader->repeats; turn++) {
        for (size_t i = reader->section; i < end; i++) {
            struct replay_product again = reader->fixture->products[i];
            again.start_s += (double)turn * reader->period_s;
            if (!add_product(reader, &again))
                return false;
        }
    }
    reader->section_at_s += (double)reader->repeats * reader->period_s;
    reader->section = reader->fixture->count;
    return true;
}

static bool read_header(struct reader *reader, const char *line)
{
    struct replay_fixture *fixture = reader->fixture;
    char name[REPLAY_NAME_BYTES];
    int value = 0;
    if (sscanf(line, "# %79[a-z_]:%n", name, &value) != 1 || !value)
        return true;
    if (!strcmp(name, "program"))
        return sscanf(line + value, " %79[^\n]", fixture->program) == 1;
    if (!strcmp(name, "cores"))
        return sscanf(line + value, "%d", &fixture->cores) == 1 && fixture->cores > 0;
    if (!strcmp(name, "cpu_threads"))
        return sscanf(line + value, "%d", &fixture->cpu_threads) == 1 && fixture->cpu_threads > 0;
    if (!strcmp(name, "cpu_threads_set"))
        return sscanf(line + value, "%d", &fixture->cpu_threads_set) == 1 &&
               fixture->cpu_threads_set > 0;
    if (!strcmp(name, "spin_s"))
        return sscanf(line + value, "%lf", &fixture->spin_s) == 1 && fixture->spin_s >= 0;
    if (strcmp(name, "repeat"))
        return true;
    double period_us;
    if (!end_section(reader) ||
        sscanf(line + value, "%ld %lf", &reader->repeats, &period_us) != 2 || !(period_us > 0))
        return false;
    reader->period_s = 1e-6 * period_us;
    return isfinite(period_us) && reader->repeats > 0 && reader->repeats <= PRODUCTS_MAX;
}

static bool read_product(struct reader *reader, const char *line)
{
    struct replay_product product = {0};
    long long m, n, k;
    double start_us, cpu_us, gpu_us, busy_us;
    if (sscanf(line, "%lf,%d,%lld,%lld,%lld,%lf,%lf,%lf", &start_us, &product.thread, &m, &n, &k,
               &cpu_us, &gpu_us, &busy_us) != 8)
        return false;
    product.start_s = reader->section_at_s + 1e-6 * start_us;
    product.m = m;
    product.n = n;
    product.k = k;
    product.cpu_s = 1e-6 * cpu_us;
    product.gpu_s = 1e-6 * gpu_us;
    product.gpu_busy_s = 1e-6 * busy_us;
    return isfinite(start_us) && isfinite(cpu_us) && isfinite(gpu_us) && isfinite(busy_us) &&
           product.start_s >= 0 && product.thread >= 0 && product.thread < REPLAY_THREADS_MAX &&
           m >= 0 && n >= 0 && k >= 0 && product.cpu_s > 0 && product.gpu_s > 0 &&
           product.gpu_busy_s > 0 && add_product(reader, &product);
}

static int by_start(const void *a, const void *b)
{
    const struct replay_product *x = a, *y = b;
    if (x->thread == y->thread || x->start_s != y->start_s)
        return (x->start_s > y->start_s) - (x->start_s < y->start_s);
    return x->thread - y->thread;
}

static void find_gaps(struct replay_fixture *fixture)
{
    ptrdiff_t last[REPLAY_THREADS_MAX];
    for (int i = 0; i < REPLAY_THREADS_MAX; i++)
        last[i] = -1;
    for (size_t i = 0; i < fixture->count; i++) {
        struct replay_product *product = &fixture->products[i];
        double end_s = fixture->products[0].start_s;
        product->after = last[product->thread];
        if (product->after >= 0) {
            const struct replay_product *before = &fixture->products[product->after];
            end_s = before->start_s + before->cpu_s;
        } else {
            for (size_t j = 0; j < i; j++) {
                const struct replay_product *other = &fixture->products[j];
                if (other->start_s + other->cpu_s >= end_s &&
                    other->start_s + other->cpu_s <= product->start_s) {
                    end_s = other->start_s + other->cpu_s;
                    product->after = (ptrdiff_t)j;
                }
            }
        }
        product->gap_s = product->start_s > end_s ? product->start_s - end_s : 0.0;
        last[product->thread] = (ptrdiff_t)i;
    }
}

bool replay_read(FILE *file, struct replay_fixture *fixture, char error[REPLAY_NAME_BYTES])
{
    struct reader reader = {.fixture = fixture, .repeats = 1};
    char line[1024];
    *fixture = (struct replay_fixture){.spin_s = -1};
    error[0] = '\0';
    for (int number = 1; !error[0] && fgets(line, sizeof line, file); number++) {
        bool header = line[0] == '#';
        if (line[0] != '\n' && !(header ? read_header : read_product)(&reader, line))
            snprintf(error, REPLAY_NAME_BYTES, "line %d is not understood", number);
    }
    if (!error[0] && !end_section(&reader))
        snprintf(error, REPLAY_NAME_BYTES, "too many products");
    if (!error[0] && (!fixture->cores || !fixture->cpu_threads || fixture->spin_s < 0))
        snprintf(error, REPLAY_NAME_BYTES, "cores, cpu_threads or spin_s is missing");
    if (!error[0] && fixture->count == 0)
        snprintf(error, REPLAY_NAME_BYTES, "no products");
    if (error[0]) {
        replay_free(fixture);
        return false;
    }
    qsort(fixture->products, fixture->count, sizeof *fixture->products, by_start);
    find_gaps(fixture);
    return true;
}

bool replay_repeat(struct replay_fixture *fixture, int times)
{
    size_t count = fixture->count;
    struct replay_product *products =
        realloc(fixture->products, count * (size_t)times * sizeof *products);
    double period_s = 0;
    if (!products)
        return false;
    for (size_t i = 0; i < count; i++)
        period_s = fmax(period_s, products[i].start_s + products[i].cpu_s);
    period_s += REPLAY_PAUSE_S;
    for (size_t i = count; i < count * (size_t)times; i++) {
        products[i] = products[i - count];
        products[i].start_s += period_s;
    }
    fixture->products = products;
    fixture->count = count * (size_t)times;
    find_gaps(fixture);
    return true;
}

void replay_free(struct replay_fixture *fixture)
{
    free(fixture->products);
    fixture->products = NULL;
    fixture->count = 0;
}
