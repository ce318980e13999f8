/* SPDX-License-Identifier: MIT */
/* Products whose operands stay on the device are right, however the program changes these. Contract
 * 4.6. */
#include <sys/mman.h>

#include "scenario.h"
#include "src/dispatch.h"
#include "src/resident/room.h"

/* The linker puts this function in front of the engine's. */
static _Atomic uint64_t held_bytes, up_bytes;
static _Atomic long on_gpu;
static void (*before_compute)(void); /* called once, by the next product */

/* Memory that the program has registered; NULL: none. */
static const void *cuda_knows;
bool __real_xg_mem_is_known(const struct xg_dev *dev, const void *at);
bool __wrap_xg_mem_is_known(const struct xg_dev *dev, const void *at);

bool __wrap_xg_mem_is_known(const struct xg_dev *dev, const void *at)
{
    return (cuda_knows && at >= cuda_knows) || __real_xg_mem_is_known(dev, at);
}

enum xg_status __real_xg_engine_compute(const struct xg_call *call, const struct xg_conf *conf,
                                        const struct xg_cpu *cpu,
                                        const struct xg_patience *patience,
                                        struct xg_result *result);
enum xg_status __wrap_xg_engine_compute(const struct xg_call *call, const struct xg_conf *conf,
                                        const struct xg_cpu *cpu,
                                        const struct xg_patience *patience,
                                        struct xg_result *result);

enum xg_status __wrap_xg_engine_compute(const struct xg_call *call, const struct xg_conf *conf,
                                        const struct xg_cpu *cpu,
                                        const struct xg_patience *patience,
                                        struct xg_result *result)
{
    if (before_compute) {
        void (*const act)(void) = before_compute;
        before_compute = NULL;
        act();
    }
    const enum xg_status status = __real_xg_engine_compute(call, conf, cpu, patience, result);
    held_bytes += result->held_bytes;
    up_bytes += result->up_bytes;
    on_gpu += status == XG_OK;
    return status;
}

/* --- Matrices of small whole numbers, whose products are exact -------------------------------- */

enum { ROWS = 620, COLUMNS = 600, THIN = 24 };

struct matrix {
    enum xg_type type;
    int64_t rows, columns, ld;
    char *memory; /* mapped; the matrix begins within its first page */
    size_t bytes;
    void *at;
};

static void set(const struct matrix *x, int64_t i, int64_t j, double value)
{
    if (x->type == XG_TYPE_S)
        ((float *)x->at)[i * x->ld + j] = (float)value;
    else
        ((double *)x->at)[i * x->ld + j] = value;
}

static double get(const struct matrix *x, int64_t i, int64_t j)
{
    return x->type == XG_TYPE_S ? ((const float *)x->at)[i * x->ld + j]
                                : ((const double *)x->at)[i * x->ld + j];
}

static int draw(uint64_t *seed, int below)
{
    return (int)(((double)xt_random(seed) + 1) / 2 * below) % below;
}

static void fill(const struct matrix *x, int64_t first, int64_t count, uint64_t *seed)
{
    for (int64_t i = first; i < first + count; i++)
        for (int64_t j = 0; j < x->columns; j++)
            set(x, i, j, draw(seed, 9) - 4);
}

static struct matrix create(enum xg_type type, int64_t rows, int64_t columns, int64_t pad,
                            uint64_t *seed)
{
    struct matrix x = {.type = type, .rows = rows, .columns = columns, .ld = columns + pad};
    x.bytes = (size_t)(rows * x.ld + 64) * xg_type_bytes(type);
    x.memory = mmap(NULL, x.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (x.memory == MAP_FAILED)
        exit(XT_HARD);
    x.at = x.memory + 16 * (size_t)(pad % 4);
    fill(&x, 0, rows, seed);
    return x;
}

static void destroy(const struct matrix *x)
{
    munmap(x->memory, x->bytes);
}

static void compute_on_cpu(void *ctx)
{
    xg_cpu_compute(ctx);
}

static void compute_part(void *ctx, const struct xg_problem *part)
{
    (void)ctx;
    xg_cpu_compute(part);
}

/* C = op(A) op(B), and checks some rows of C; false: one is wrong. c NULL: a matrix of its own. */
static bool multiply(const struct matrix *a, bool transa, const struct matrix *b, bool transb,
                     const struct matrix *c, uint64_t *seed)
{
    const int64_t m = transa ? a->columns : a->rows, k = transa ? a->rows : a->columns;
    const int64_t n = transb ? b->rows : b->columns;
    const struct matrix own = c ? *c : create(a->type, m, n, 0, seed);
    struct xg_problem call = {.type = a->type,
                              .transa = transa,
                              .transb = transb,
                              .m = m,
                              .n = n,
                              .k = k,
                              .alpha = 1,
                              .a = a->at,
                              .lda = a->ld,
                              .b = b->at,
                              .ldb = b->ld,
                              .c = own.at,
                              .ldc = own.ld};
    const struct xg_cpu cpu = {.whole = compute_on_cpu, .part = compute_part, .ctx = &call};
    bool right = true;
    xg_dispatch(&(struct xg_call){.symbol = "test_gemm", .problem = &call}, &cpu);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = draw(seed, 3); i < m; i += 1 + draw(seed, 5)) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum +=
                    (transa ? get(a, l, i) : get(a, i, l)) * (transb ? get(b, j, l) : get(b, l, j));
            right = right && sum == get(&own, i, j);
        }
    if (!c)
        destroy(&own);
    return right;
}

/* --- What a program does to a matrix -----------------------------------------------------------
 */

static void *write_row(void *of)
{
    uint64_t seed = 77;
    const struct matrix *x = of;
    fill(x, x->rows / 2, 1, &seed);
    return NULL;
}

static void write_element(const struct matrix *x, uint64_t *seed)
{
    set(x, draw(seed, (int)x->rows), draw(seed, (int)x->columns), draw(seed, 9) - 4);
}

static void write_first(const struct matrix *x, uint64_t *seed)
{
    set(x, 0, 0, draw(seed, 9) - 4);
    set(x, x->rows - 1, x->columns - 1, draw(seed, 9) - 4);
}

static void write_all(const struct matrix *x, uint64_t *seed)
{
    fill(x, 0, x->rows, seed);
}

static void write_rows(const struct matrix *x, uint64_t *seed)
{
    fill(x, draw(seed, (int)x->rows - 9), 9, seed);
}

static void write_by_thread(const struct matrix *x, uint64_t *seed)
{
    (void)seed;
    pthread_join(xt_thread_start(write_row, (void *)x), NULL);
}

static void write_by_read(const struct matrix *x, uint64_t *seed)
{
    int ends[2];
    double twos[2] = {2, 2};
    float singles[4] = {2, 2, 2, 2};
    const size_t bytes = 2 * xg_type_bytes(x->type);
    char *at = (char *)x->at + (size_t)(draw(seed, (int)x->rows) * x->ld) * xg_type_bytes(x->type);
    const void *from = x->type == XG_TYPE_S ? (const void *)singles : twos;
    XT_CHECK(!pipe(ends) && write(ends[1], from, bytes) == (ssize_t)bytes &&
             read(ends[0], at, bytes) == (ssize_t)bytes);
    close(ends[0]);
    close(ends[1]);
}

static void free_pages(const struct matrix *x, uint64_t *seed)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = x->bytes / page;
    XT_CHECK(
        !madvise(x->memory + page * (size_t)draw(seed, (int)pages - 4), 4 * page, MADV_DONTNEED));
}

static void map_anew(const struct matrix *x, uint64_t *seed)
{
    munmap(x->memory, x->bytes);
    XT_CHECK(mmap(x->memory, x->bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == x->memory);
    write_all(x, seed);
}

static void (*const changes[])(const struct matrix *x, uint64_t *seed) = {
    write_element,   write_first,   write_all,  write_rows,
    write_by_thread, write_by_read, free_pages, map_anew,
};
enum { CHANGES = sizeof changes / sizeof changes[0] };

/* --- Scenarios ---------------------------------------------------------------------------------
 */

static const struct xg_conf *begin(void)
{
    const struct xg_conf *conf = xg_conf_get();
    fx_fake();
    XT_CHECK(xg_engine_wait(conf) == XG_ENGINE_READY);
    return conf;
}

/* This kernel, or this container, does not track pages: then all operands are sent. */
static bool tracks(void)
{
    return !xg_room_why_not();
}

/* Operands stay from the fourth product on at the latest; of what stays, only the first and the
 * last row travel. */
static void unchanged(void)
{
    uint64_t seed = 1;
    begin();
    for (int type = XG_TYPE_S; type <= XG_TYPE_D; type++)
        for (int trans = 0; trans < 4; trans++) {
            const struct matrix big = create((enum xg_type)type, ROWS, COLUMNS, trans, &seed);
            const bool ta = trans & 1, tb = trans & 2;
            const struct matrix right = create((enum xg_type)type,
                                               tb   ? THIN
                                               : ta ? ROWS
                                                    : COLUMNS,
                                               tb ? (ta ? ROWS : COLUMNS) : THIN, 3, &seed);
            for (int i = 0; i < 4; i++)
                XT_CHECK(multiply(&big, ta, &right, tb, NULL, &seed), "%d, %d", type, trans);
            held_bytes = up_bytes = 0;
            XT_CHECK(multiply(&big, ta, &right, tb, NULL, &seed));
            /* As the right operand too, transposed or not. */
            const struct matrix left = create((enum xg_type)type, THIN, ROWS, 0, &seed);
            XT_CHECK(multiply(&left, false, &big, false, NULL, &seed));
            const double all = (double)(ROWS * COLUMNS) * (double)xg_type_bytes(big.type);
            if (tracks())
                XT_CHECK((double)held_bytes > 1.9 * all && (double)up_bytes < 0.2 * all,
                         "type %d, trans %d: %g of %g held, %g sent", type, trans,
                         (double)held_bytes, 2 * all, (double)up_bytes);
            destroy(&left);
            destroy(&right);
            destroy(&big);
        }
}

/* A matrix times itself: one copy serves both sides. */
static void squared(void)
{
    uint64_t seed = 9;
    begin();
    const struct matrix square = create(XG_TYPE_D, 400, 400, 0, &seed);
    for (int i = 0; i < 9; i++) {
        if (i == 6)
            write_rows(&square, &seed);
        XT_CHECK(multiply(&square, false, &square, i % 2, NULL, &seed), "product %d", i);
    }
    XT_CHECK(!tracks() || held_bytes > 2 * 400 * 400 * 8);
    destroy(&square);
}

/* C = A B with a triangle of A: B in place for TRMM. False: an element is wrong. */
static bool multiply_structured(enum xg_op op, enum xg_uplo stored, const struct matrix *a,
                                uint64_t *seed)
{
    const int64_t m = a->rows;
    const struct matrix b = create(a->type, m, THIN, 0, seed),
                        c = create(a->type, m, THIN, 0, seed);
    if (op == XG_OP_TRMM)
        memcpy(c.at, b.at, (size_t)(m * THIN) * xg_type_bytes(a->type));
    struct xg_problem call = {.op = op,
                              .type = a->type,
                              .structured = XG_OPERAND_A,
                              .stored = stored,
                              .m = m,
                              .n = THIN,
                              .k = m,
                              .alpha = 1,
                              .a = a->at,
                              .lda = a->ld,
                              .b = op == XG_OP_TRMM ? c.at : b.at,
                              .ldb = THIN,
                              .c = c.at,
                              .ldc = THIN};
    const struct xg_cpu cpu = {.whole = compute_on_cpu, .part = compute_part, .ctx = &call};
    bool right = true;
    xg_dispatch(&(struct xg_call){.symbol = "test_structured", .problem = &call}, &cpu);
    for (int64_t i = 0; i < m; i += 1 + draw(seed, 5))
        for (int64_t j = 0; j < THIN; j++) {
            double sum = 0;
            for (int64_t l = 0; l < m; l++) {
                const bool mine = stored == XG_LOWER ? l <= i : l >= i;
                if (mine || op == XG_OP_SYMM)
                    sum += (mine ? get(a, i, l) : get(a, l, i)) * get(&b, l, j);
            }
            right = right && sum == get(&c, i, j);
        }
    destroy(&b);
    destroy(&c);
    return right;
}

/* A triangle is kept as it is packed, one matrix in two forms; a symmetric matrix is sent. */
static void structured(void)
{
    uint64_t seed = 11;
    begin();
    const struct matrix a = create(XG_TYPE_D, 420, 420, 0, &seed);
    for (int i = 0; i < 24; i++) {
        const enum xg_op op = i % 8 < 4 ? XG_OP_TRMM : XG_OP_SYMM;
        if (i >= 12 && i % 3 == 0)
            write_rows(&a, &seed);
        XT_CHECK(multiply_structured(op, i % 2 ? XG_LOWER : XG_UPPER, &a, &seed), "%d", i);
    }
    held_bytes = 0;
    for (int i = 0; i < 6; i++)
        XT_CHECK(multiply_structured(XG_OP_TRMM, XG_UPPER, &a, &seed), "%d", i);
    XT_CHECK(!tracks() || held_bytes > 0);
    destroy(&a);
}

/* Each change, after the operand was kept, and again while it is or is not. */
static void changed(void)
{
    uint64_t seed = 2;
    begin();
    for (int change = 0; change < CHANGES; change++) {
        const struct matrix big = create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed);
        const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &seed);
        for (int i = 0; i < 5; i++)
            XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed));
        for (int i = 0; i < 6; i++) {
            changes[change](&big, &seed);
            for (int again = 0; again <= i % 3; again++)
                XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed), "change %d, round %d",
                         change, i);
        }
        destroy(&big);
        destroy(&thin);
    }
    XT_CHECK(!tracks() || held_bytes > 0);
}

/* A tenth of the products follows a change; results become operands; operands share pages. */
static void random_program(void)
{
    enum { MATRICES = 6, PRODUCTS = 400 };
    uint64_t seed = 3;
    struct matrix pool[MATRICES];
    begin();
    for (int i = 0; i < MATRICES; i++)
        pool[i] = create(i % 2 ? XG_TYPE_D : XG_TYPE_S, COLUMNS, COLUMNS, i, &seed);
    for (int i = 0; i < PRODUCTS; i++) {
        const int x = draw(&seed, 3) * draw(&seed, 2), y = draw(&seed, MATRICES);
        const struct matrix *big = &pool[draw(&seed, 4) ? x : y];
        struct matrix thin = pool[(big - pool + 2) % MATRICES];
        if (draw(&seed, 10) == 0)
            changes[draw(&seed, CHANGES)](&pool[draw(&seed, MATRICES)], &seed);
        if (draw(&seed, 20) == 0) { /* C is a part of another operand */
            thin.rows = THIN;
            struct matrix c = pool[(big - pool + 4) % MATRICES];
            c.rows = THIN;
            XT_CHECK(multiply(&thin, false, big, draw(&seed, 2), &c, &seed), "product %d", i);
            fill(&c, 0, THIN, &seed);
            continue;
        }
        thin.columns = THIN;
        XT_CHECK(multiply(big, draw(&seed, 2), &thin, false, NULL, &seed), "product %d", i);
    }
    XT_CHECK(!tracks() || held_bytes > 0);
    for (int i = 0; i < MATRICES; i++)
        destroy(&pool[i]);
}

struct reader {
    const struct matrix *big;
    uint64_t seed;
    bool writes; /* to a matrix of its own */
    long wrong;
};

static void *read_on(void *of)
{
    struct reader *reader = of;
    const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &reader->seed);
    const struct matrix own = create(XG_TYPE_S, ROWS, COLUMNS, 0, &reader->seed);
    for (int i = 0; i < 24; i++) {
        const struct matrix *big = reader->writes ? &own : reader->big;
        if (reader->writes && i % 5 == 4)
            write_element(&own, &reader->seed);
        reader->wrong += !multiply(big, false, &thin, false, NULL, &reader->seed);
    }
    destroy(&thin);
    destroy(&own);
    return NULL;
}

/* Threads share an operand, and others change theirs. */
static void threads(void)
{
    enum { THREADS = 6 };
    uint64_t seed = 4;
    struct reader readers[THREADS];
    begin();
    const struct matrix big = create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed);
    for (int i = 0; i < THREADS; i++)
        readers[i] = (struct reader){&big, 10 + (uint64_t)i, i % 3 == 2, 0};
    xt_threads_run(THREADS, read_on, readers, sizeof readers[0]);
    for (int i = 0; i < THREADS; i++)
        XT_CHECK(readers[i].wrong == 0, "thread %d: %ld products", i, readers[i].wrong);
    XT_CHECK(!tracks() || held_bytes > 0);
    destroy(&big);
}

/* More operands than the device's share holds, and products that need all of its memory. */
static void memory(void)
{
    enum { MATRICES = 5 };
    uint64_t seed = 5;
    struct matrix pool[MATRICES];
    begin();
    const struct matrix thin = create(XG_TYPE_D, COLUMNS, THIN, 0, &seed);
    for (int i = 0; i < MATRICES; i++)
        pool[i] = create(XG_TYPE_D, ROWS, COLUMNS, 0, &seed);
    for (int i = 0; i < 60; i++)
        XT_CHECK(
            multiply(&pool[i % 12 < 8 ? i / 12 : i % MATRICES], false, &thin, false, NULL, &seed),
            "product %d", i);
    const struct matrix wide = create(XG_TYPE_D, 1500, 40, 0, &seed);
    XT_CHECK(multiply(&wide, false, &wide, true, NULL, &seed));
    XT_CHECK(multiply(&pool[0], false, &thin, false, NULL, &seed));
    XT_CHECK(!tracks() || held_bytes > 0);
    for (int i = 0; i < MATRICES; i++)
        destroy(&pool[i]);
    destroy(&wide);
    destroy(&thin);
}

/* A device that fails: the CPU finishes, and nothing half sent is used later. */
static void failing(void)
{
    uint64_t seed = 6;
    begin();
    const struct matrix big = create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed);
    const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &seed);
    for (int i = 0; i < 20; i++) {
        if (i % 4 == 3)
            write_rows(&big, &seed);
        XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed), "product %d", i);
    }
    destroy(&big);
    destroy(&thin);
}

/* Each call of the driver fails once, in a product that fills a copy or in one that uses it: the
 * CPU finishes, and rows that may not have arrived are sent again. */
static void fails_once(void)
{
    enum { CALLS = 40 };
    uint64_t seed = 10;
    struct fakecuda fake = fx_fake();
    struct matrix big[CALLS]; /* none has the place of another */
    begin();
    const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &seed);
    for (int call = 0; call < CALLS; call++) {
        big[call] = create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed);
        for (int i = 0; i < 9; i++) {
            if (i == (call % 2 ? 6 : 3))
                fake.fail(NULL, call % 2 ? 1 + call / 2 : 1 + 3 * call, call % 8 < 4 ? 1 : 2,
                          FAKECUDA_ONCE);
            if (i == 6)
                write_rows(&big[call], &seed);
            XT_CHECK(multiply(&big[call], false, &thin, false, NULL, &seed), "call %d, product %d",
                     call, i);
        }
        fake.reset(1);
    }
    XT_CHECK(!tracks() || held_bytes > 0);
    for (int call = 0; call < CALLS; call++)
        destroy(&big[call]);
    destroy(&thin);
}

/* The child has its own pages, and no device. */
static void forked(void)
{
    uint64_t seed = 7;
    int status = 0;
    begin();
    const struct matrix big = create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed);
    const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &seed);
    for (int i = 0; i < 6; i++)
        XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed));
    fflush(NULL);
    const pid_t pid = fork();
    write_rows(&big, &seed); /* either writes to its own */
    bool right = multiply(&big, false, &thin, false, NULL, &seed);
    if (pid == 0)
        _exit(right ? 0 : 1);
    XT_CHECK(right && waitpid(pid, &status, 0) == pid && status == 0, "status %#x",
             (unsigned)status);
    for (int i = 0; i < 6; i++)
        XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed));
    destroy(&big);
    destroy(&thin);
}

static void sent(void)
{
    uint64_t seed = 8;
    begin();
    const struct matrix big = create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed);
    const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &seed);
    for (int i = 0; i < 8; i++)
        XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed));
    XT_CHECK(held_bytes == 0 && on_gpu == 8, "%g bytes held", (double)held_bytes);
    destroy(&big);
    destroy(&thin);
}

/* What the room knows of a matrix; NULL: nothing. */
static const struct xg_table_entry *entry_of(const struct matrix *x)
{
    for (int i = 0; i < XG_TABLE_ENTRIES; i++)
        if (xg_room.table.hashes[i] && xg_room.table.entries[i].key.at == x->at)
            return &xg_room.table.entries[i];
    return NULL;
}

static bool is_kept(const struct matrix *x)
{
    return entry_of(x) && entry_of(x)->copy;
}

/* The bytes before and after an operand's pages may change: that disproves nothing. */
static void edges(void)
{
    uint64_t seed = 12;
    begin();
    const bool tracked = tracks();
    const struct matrix a = create(XG_TYPE_D, 420, 420, 1, &seed);
    const struct matrix wide = create(XG_TYPE_D, 3, 60000, 1, &seed);
    const struct matrix thin = create(XG_TYPE_D, 60000, 2, 0, &seed);
    for (int i = 0; i < 12; i++) {
        if (i >= 6) {
            write_first(&a, &seed);
            set(&wide, 0, 0, i - 9);
        }
        XT_CHECK(multiply_structured(XG_OP_TRMM, XG_UPPER, &a, &seed), "product %d", i);
        XT_CHECK(multiply(&wide, false, &thin, false, NULL, &seed), "product %d", i);
    }
    XT_CHECK(!tracked || tracks());
    destroy(&a);
    destroy(&wide);
    destroy(&thin);
}

/* Credit is earned by rows that do not travel: none of a matrix of one row, nor if each row has a
 * page that was written. */
static void wide(void)
{
    uint64_t seed = 13;
    begin();
    const struct matrix row = create(XG_TYPE_D, 1, 200000, 0, &seed);
    const struct matrix rows = create(XG_TYPE_D, 8, 40000, 0, &seed);
    const struct matrix thin = create(XG_TYPE_D, 200000, 2, 0, &seed);
    struct matrix less = thin;
    less.rows = rows.columns;
    for (int i = 0; i < 8; i++) {
        XT_CHECK(multiply(&row, false, &thin, false, NULL, &seed), "product %d", i);
        XT_CHECK(multiply(&rows, false, &less, false, NULL, &seed), "product %d", i);
    }
    XT_CHECK(!is_kept(&row));
    XT_CHECK(!tracks() || is_kept(&rows));
    for (int64_t i = 0; i < rows.rows; i++)
        set(&rows, i, rows.columns / 2, 1);
    XT_CHECK(multiply(&rows, false, &less, false, NULL, &seed));
    XT_CHECK(!is_kept(&rows));
    destroy(&row);
    destroy(&rows);
    destroy(&thin);
}

/* An operand that is larger than the device's share displaces no other. */
static void too_large(void)
{
    uint64_t seed = 14;
    begin();
    const struct matrix big = create(XG_TYPE_D, 1800, COLUMNS, 0, &seed);
    const struct matrix small = create(XG_TYPE_D, ROWS, COLUMNS, 0, &seed);
    const struct matrix thin = create(XG_TYPE_D, COLUMNS, THIN, 0, &seed);
    for (int i = 0; i < 16; i++) {
        XT_CHECK(multiply(i < 5 ? &small : &big, false, &thin, false, NULL, &seed), "product %d",
                 i);
        XT_CHECK(i < 4 || !tracks() || is_kept(&small), "product %d", i);
    }
    destroy(&big);
    destroy(&small);
    destroy(&thin);
}

/* A copy that is damaged on the device makes one wrong product, not all that follow. */
static void damaged(void)
{
    uint64_t seed = 15;
    void *(*device_memory)(CUdeviceptr, size_t, const char *);
    begin();
    if (!fakecuda_symbol(dlopen("libcuda.so.1", RTLD_NOW), "fakecuda_device_memory",
                         &device_memory))
        exit(XT_HARD);
    const struct matrix big = create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed);
    const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &seed);
    for (int i = 0; i < 12; i++) {
        if (i == 6 && is_kept(&big)) {
            const struct xg_room_memory *memory = entry_of(&big)->copy->held;
            memset(device_memory(memory->memory.ptr + 4096, 4096, "damaged"), 1, 4096);
        }
        XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed), "product %d", i);
    }
    XT_CHECK(on_gpu == (tracks() ? 11 : 12), "%ld on the GPU", on_gpu);
    destroy(&big);
    destroy(&thin);
}

/* The program registers a part of a kept operand, to which devices may write from then on. */
static void registered(void)
{
    uint64_t seed = 16;
    begin();
    const struct matrix big = create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed);
    const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &seed);
    for (int i = 0; i < 10; i++) {
        if (i == 6) {
            cuda_knows = (char *)big.at + big.bytes / 2;
            write_element(&big, &seed); /* the kernel writes to the pages that it pins */
        }
        XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed), "product %d", i);
        XT_CHECK(!tracks() || i < 4 || is_kept(&big) == (i < 6), "product %d", i);
    }
    destroy(&big);
    destroy(&thin);
}

/* The device is lost while a call that has found its operand there waits for a lane: the other
 * device gets the operand. */
static void lose_first(void)
{
    uint64_t seed = 17;
    struct fakecuda fake = fx_fake();
    const struct matrix x = create(XG_TYPE_S, 64, 64, 0, &seed);
    fake.fail("exec", 1, 719, FAKECUDA_ONCE);
    XT_CHECK(multiply(&x, false, &x, false, NULL, &seed));
    fake.fail("exec", 1, 0, FAKECUDA_ONCE);
    destroy(&x);
}

static void lost(void)
{
    uint64_t seed = 18;
    begin();
    const struct matrix big = create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed);
    const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &seed);
    for (int i = 0; i < 12; i++) {
        before_compute = i == 6 ? lose_first : NULL;
        XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed), "product %d", i);
    }
    held_bytes = 0;
    XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed));
    XT_CHECK(!tracks() || held_bytes > 0);
    destroy(&big);
    destroy(&thin);
}

/* Tracking ends while a call uses a copy: the next product frees its memory. */
static void stop(void)
{
    xg_room_enter();
    xg_room_stop("the test ends it");
    xg_room_leave();
}

static void stopped(void)
{
    uint64_t seed = 19;
    struct fakecuda fake = fx_fake();
    begin();
    const struct matrix big = create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed);
    const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &seed);
    XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed));
    const size_t before = fx_live(&fake).dev;
    for (int i = 0; i < 8; i++) {
        before_compute = i == 6 ? stop : NULL;
        XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed));
    }
    XT_CHECK(fx_live(&fake).dev == before, "%zu allocations, %zu before", fx_live(&fake).dev,
             before);
    destroy(&big);
    destroy(&thin);
}

/* The program closes the tracker's descriptors before the operand's pages are armed. */
static void close_all(void)
{
    for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
        close(fd);
}

static void closed(void)
{
    uint64_t seed = 22;
    struct fakecuda fake = fx_fake();
    begin();
    const struct matrix big = create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed);
    const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &seed);
    XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed));
    const size_t before = fx_live(&fake).dev;
    for (int i = 0; i < 8; i++) {
        before_compute = entry_of(&big) && entry_of(&big)->credit.scouted ? close_all : NULL;
        XT_CHECK(multiply(&big, false, &thin, false, NULL, &seed));
    }
    XT_CHECK(!tracks() && !xg_room.free && fx_live(&fake).dev == before,
             "%zu allocations, %zu before", fx_live(&fake).dev, before);
    destroy(&big);
    destroy(&thin);
}

/* With alpha = 0, A and B are not read: they may be anywhere. */
static void unread(void)
{
    static double c[1000 * 4];
    begin();
    struct xg_problem call = {.type = XG_TYPE_D,
                              .m = 1000,
                              .n = 4,
                              .k = 1000,
                              .a = (void *)64, // NOLINT
                              .lda = 1000,
                              .b = (void *)64, // NOLINT
                              .ldb = 4,
                              .c = c,
                              .ldc = 4};
    const struct xg_cpu cpu = {.whole = compute_on_cpu, .part = compute_part, .ctx = &call};
    xg_dispatch(&(struct xg_call){.symbol = "test_gemm", .problem = &call}, &cpu);
    XT_CHECK(on_gpu == 0);
}

static void *multiply_on_small_stack(void *of)
{
    uint64_t seed = 20;
    const struct matrix *x = of;
    return multiply(&x[0], false, &x[1], false, NULL, &seed) ? NULL : of;
}

/* A thread whose stack is too small for the GPU asks nothing of the tracker. */
static void small_stack(void)
{
    uint64_t seed = 21;
    pthread_attr_t attributes;
    pthread_t thread;
    void *wrong = NULL;
    begin();
    const struct matrix x[2] = {create(XG_TYPE_S, ROWS, COLUMNS, 0, &seed),
                                create(XG_TYPE_S, COLUMNS, THIN, 0, &seed)};
    pthread_attr_init(&attributes);
    XT_CHECK(!pthread_attr_setstacksize(&attributes, 64 << 10));
    for (int i = 0; i < 5; i++)
        XT_CHECK(!pthread_create(&thread, &attributes, multiply_on_small_stack, (void *)x) &&
                 !pthread_join(thread, &wrong) && !wrong);
    XT_CHECK(!entry_of(&x[0]) && on_gpu == 0);
    destroy(&x[0]);
    destroy(&x[1]);
}

static const struct fx_scenario scenarios[] = {
    {"unchanged", unchanged, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"unchanged", unchanged, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto XGEMM_VERIFY=1", NULL, NULL},
    {"changed", changed, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"squared", squared, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"structured", structured, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"random", random_program, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"threads", threads, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"memory", memory, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto XGEMM_MEM_LIMIT=32M", NULL, NULL},
    {"failing", failing, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto FAKECUDA_FAIL=exec:60:719",
     "device lost", NULL},
    {"fails_once", fails_once, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", "a product failed on the GPU",
     NULL},
    {"forked", forked, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"edges", edges, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"wide", wide, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"too_large", too_large, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto XGEMM_MEM_LIMIT=32M", NULL, NULL},
    {"damaged", damaged, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto XGEMM_VERIFY=1",
     "the GPU computed a wrong product", NULL},
    {"registered", registered, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"lost", lost, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto FAKECUDA_DEVICES=2 XGEMM_DEVICES=0,1",
     "one of the GPUs failed", NULL},
    {"stopped", stopped, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"closed", closed, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"unread", unread, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"small_stack", small_stack, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"sent", sent, "XGEMM_MODE=gpu XGEMM_RESIDENT=off", NULL, NULL},
    {"sent", sent, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto XGEMM_REPRODUCIBLE=1", NULL, NULL},
};

FX_SCENARIO_MAIN(scenarios)
