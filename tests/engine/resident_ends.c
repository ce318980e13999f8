/* SPDX-License-Identifier: MIT */
/* What keeps an operand from staying on the device, and what ends its stay. Contract 4.6. */
#include "resident.h"

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

/* A product on the CPU that takes so long. */
struct slow_copy {
    const struct xg_problem *call;
    const float *known;
    useconds_t us;
};

static void copy_slowly(void *of)
{
    const struct slow_copy *slow = of;
    usleep(slow->us);
    memcpy(slow->call->c, slow->known,
           (size_t)(slow->call->m * slow->call->ldc) * sizeof *slow->known);
}

/* A thin product that stays on the CPU only because its operand would travel: while it does, the
 * tracker opens and a part of the pages is watched; then one call takes the operand there. */
static void taken_there(void)
{
    enum { M = 3000, N = 8, K = 4000, SEEN = 3 };
    static float known[M * N], result[M * N];
    uint64_t seed = 24;
    cpu_set_t one; /* the model's figures are the same everywhere */
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    XT_CHECK(!sched_setaffinity(0, sizeof one, &one));
    begin();
    const struct matrix big = create(XG_TYPE_S, M, K, 0, &seed);
    const struct matrix thin = create(XG_TYPE_S, K, N, 0, &seed);
    struct xg_problem call = {.type = XG_TYPE_S,
                              .m = M,
                              .n = N,
                              .k = K,
                              .alpha = 1,
                              .a = big.at,
                              .lda = big.ld,
                              .b = thin.at,
                              .ldb = thin.ld,
                              .c = known,
                              .ldc = N};
    xg_cpu_compute(&call);
    call.c = result;
    struct slow_copy slow = {&call, known, 2700}; /* as the model expects of one core */
    const struct xg_cpu cpu = {.whole = copy_slowly, .part = compute_part, .ctx = &slow};
    for (int i = 0; i < 8; i++) {
        memset(result, 0, sizeof result);
        xg_dispatch(&(struct xg_call){.symbol = "test_gemm", .problem = &call}, &cpu);
        XT_CHECK(!memcmp(result, known, sizeof result), "product %d", i);
        XT_CHECK(i != SEEN - 1 || on_gpu == 0, "%ld on the GPU before the tracker is open", on_gpu);
        XT_CHECK(i != SEEN || !tracks() || (on_gpu == 1 && is_kept(&big)));
    }
    XT_CHECK(tracks() || on_gpu == 0);
    destroy(&thin);
    destroy(&big);
}

/* A run with a promise is lent all credit at once; a look says how much may still be lent. */
static void trusted(void)
{
    uint64_t seed = 26;
    begin();
    const struct matrix a = create(XG_TYPE_D, ROWS, COLUMNS, 0, &seed);
    const struct matrix b = create(XG_TYPE_D, COLUMNS, THIN, 0, &seed);
    for (int again = 0; again < 2; again++) {
        struct xg_problem call = {
            .type = XG_TYPE_D, .m = ROWS, .n = THIN, .k = COLUMNS, .c = &seed};
        struct xg_resident_call none;
        const double left_s = again ? 0 : XG_CREDIT_LOAN_S;
        promised = (unsigned)again << XG_RESOURCE_GPU;
        XT_CHECK(multiply(&a, false, &b, false, NULL, &seed));
        XT_CHECK(xg_credit_loan_s(&xg_room.credit) == left_s);
        xg_resident_look(&none, &call, false);
        XT_CHECK(call.loan_s == left_s);
    }
    destroy(&a);
    destroy(&b);
}

/* A GEMV leaves the CPU only for its matrix, which is taken there once; what is written there
 * later travels, and a matrix that is written before each call stays away. */
static void vector(void)
{
    enum { M = 3000, K = 4000, SEEN = 3, CALLS = 12 };
    static float known[M], result[M];
    uint64_t seed = 25;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    XT_CHECK(!sched_setaffinity(0, sizeof one, &one));
    begin();
    for (int rewritten = 0; rewritten < 2; rewritten++) {
        const struct matrix big = create(XG_TYPE_S, M, K, 0, &seed);
        const struct matrix thin = create(XG_TYPE_S, K, 1, 0, &seed);
        const double all = (double)M * K * sizeof(float);
        struct xg_problem call = {.op = XG_OP_GEMV,
                                  .type = XG_TYPE_S,
                                  .m = M,
                                  .n = 1,
                                  .k = K,
                                  .alpha = 1,
                                  .a = big.at,
                                  .lda = big.ld,
                                  .b = thin.at,
                                  .ldb = 1,
                                  .ldc = 1};
        struct slow_copy slow = {&call, known, 60000}; /* even its way would gain */
        const struct xg_cpu cpu = {.whole = copy_slowly, .part = compute_part, .ctx = &slow};
        on_gpu = 0;
        for (int i = 0; i < CALLS; i++) {
            held_bytes = up_bytes = 0;
            if (rewritten)
                fill(&big, 0, M, &seed);
            else if (i % 4 == 3)
                write_rows(&big, &seed);
            set(&thin, i, 0, i);
            call.c = known;
            xg_cpu_compute(&call);
            call.c = memset(result, 0xff, sizeof result);
            xg_dispatch(&(struct xg_call){.symbol = "test_gemv", .problem = &call}, &cpu);
            XT_CHECK(!memcmp(result, known, sizeof result), "%d, %d", rewritten, i);
            XT_CHECK(i >= SEEN || on_gpu == 0, "%ld on the GPU unseen", on_gpu);
            if (!rewritten && on_gpu > 1 && held_bytes + up_bytes > 0 && tracks())
                XT_CHECK((double)held_bytes > 0.9 * all && (double)up_bytes < 0.1 * all,
                         "call %d: %g of %g sent", i, (double)up_bytes, all);
        }
        /* A fake device that a sanitizer slows down loses some of the calls again. */
        XT_CHECK(!tracks() || (rewritten ? on_gpu == 0 : on_gpu > 0),
                 "%ld on the GPU, rewritten %d", on_gpu, rewritten);
        destroy(&thin);
        destroy(&big);
    }
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
        before_compute =
            entry_of(&big) && entry_of(&big)->credit.state == XG_CREDIT_SCOUTED ? close_all : NULL;
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
    {"edges", edges, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"wide", wide, "XGEMM_MODE=gpu XGEMM_RESIDENT=auto", NULL, NULL},
    {"taken_there", taken_there, "XGEMM_MODE=auto XGEMM_RESIDENT=auto", NULL, NULL},
    {"vector", vector, "XGEMM_MODE=auto XGEMM_RESIDENT=auto", NULL, NULL},
    {"trusted", trusted, "XGEMM_MODE=auto XGEMM_RESIDENT=auto", NULL, NULL},
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
};

FX_SCENARIO_MAIN(scenarios)
