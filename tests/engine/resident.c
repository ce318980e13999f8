/* SPDX-License-Identifier: MIT */
/* Products whose operands stay on the device are right, however the program changes these. Contract
 * 4.6. */
#include "resident.h"

/* --- What a program does to a matrix -----------------------------------------------------------
 */

static void *write_row(void *of)
{
    uint64_t seed = 77;
    const struct matrix *x = of;
    fill(x, x->rows / 2, 1, &seed);
    return NULL;
}

static void write_all(const struct matrix *x, uint64_t *seed)
{
    fill(x, 0, x->rows, seed);
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
    enum { MATRICES = 6 };
    const int products = fx_short() ? 60 : 240;
    uint64_t seed = 3;
    struct matrix pool[MATRICES];
    begin();
    for (int i = 0; i < MATRICES; i++)
        pool[i] = create(i % 2 ? XG_TYPE_D : XG_TYPE_S, COLUMNS, COLUMNS, i, &seed);
    for (int i = 0; i < products; i++) {
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
    const int step = fx_short() ? 5 : 1;
    uint64_t seed = 10;
    struct fakecuda fake = fx_fake();
    struct matrix big[CALLS]; /* none has the place of another */
    begin();
    const struct matrix thin = create(XG_TYPE_S, COLUMNS, THIN, 0, &seed);
    for (int call = 0; call < CALLS; call += step) {
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
    for (int call = 0; call < CALLS; call += step)
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
    {"sent", sent, "XGEMM_MODE=gpu XGEMM_RESIDENT=off", NULL, NULL},
    {"sent", sent, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto XGEMM_REPRODUCIBLE=1", NULL, NULL},
};

FX_SCENARIO_MAIN(scenarios)
