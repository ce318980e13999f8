/* SPDX-License-Identifier: MIT */
/* How long threads spin: the variables, the clock of this machine, and the value that OpenBLAS
 * gets. Contract 7.7 (doc/contract.md). */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "shim/pools.h"
#include "src/base/clock.h"
#include "src/host/ticks.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

/* ctx: the environment, "NAME=VALUE;NAME=VALUE". */
static const char *lookup(void *ctx, const char *name)
{
    static char values[4][64];
    static int next;
    size_t length = strlen(name);

    for (const char *at = ctx; at && *at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL) {
        if (strncmp(at, name, length) || at[length] != '=')
            continue;
        char *value = values[next++ % 4];
        size_t size = strcspn(at + length + 1, ";");
        memcpy(value, at + length + 1, size);
        value[size] = '\0';
        return value;
    }
    return NULL;
}

struct row {
    const char *environment;
    enum shim_pool pool;
    double seconds; /* with a clock of 1 GHz */
};

static const struct row rows[] = {
    {"", SHIM_POOL_OPENBLAS, 0x1p28 * 1e-9},
    {"", SHIM_POOL_UNKNOWN, 0x1p28 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT=20", SHIM_POOL_OPENBLAS, 0x1p20 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT=20", SHIM_POOL_UNKNOWN, 0x1p20 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT= 26 ticks", SHIM_POOL_OPENBLAS, 0x1p26 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT=1", SHIM_POOL_OPENBLAS, 0x1p4 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT=4", SHIM_POOL_OPENBLAS, 0x1p4 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT=30", SHIM_POOL_OPENBLAS, 0x1p30 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT=31", SHIM_POOL_OPENBLAS, 0x1p30 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT=0", SHIM_POOL_OPENBLAS, 0x1p28 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT=", SHIM_POOL_OPENBLAS, 0x1p28 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT=-5", SHIM_POOL_OPENBLAS, 0x1p28 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT=short", SHIM_POOL_OPENBLAS, 0x1p28 * 1e-9},
    {"OPENBLAS_THREAD_TIMEOUT=20", SHIM_POOL_NONE, 0},
    {"OMP_WAIT_POLICY=ACTIVE;KMP_BLOCKTIME=7;GOMP_SPINCOUNT=7", SHIM_POOL_OPENBLAS, 0x1p28 * 1e-9},

    {"", SHIM_POOL_GOMP, 6.15e-3},
    {"OMP_WAIT_POLICY=passive", SHIM_POOL_GOMP, 0},
    {"OMP_WAIT_POLICY= Active ", SHIM_POOL_GOMP, 615},
    {"OMP_WAIT_POLICY=activeness", SHIM_POOL_GOMP, 6.15e-3},
    {"GOMP_SPINCOUNT=0", SHIM_POOL_GOMP, 0},
    {"GOMP_SPINCOUNT=1000000;OMP_WAIT_POLICY=PASSIVE", SHIM_POOL_GOMP, 20.5e-3},
    {"GOMP_SPINCOUNT= 3 k ", SHIM_POOL_GOMP, 61.5e-6},
    {"GOMP_SPINCOUNT=2G", SHIM_POOL_GOMP, 41},
    {"GOMP_SPINCOUNT=INFINITY", SHIM_POOL_GOMP, INFINITY},
    {"GOMP_SPINCOUNT=3x", SHIM_POOL_GOMP, 6.15e-3},
    {"GOMP_SPINCOUNT=-3", SHIM_POOL_GOMP, 6.15e-3},
    {"GOMP_SPINCOUNT=", SHIM_POOL_GOMP, 6.15e-3},

    {"", SHIM_POOL_KMP, 0.2},
    {"KMP_BLOCKTIME=0", SHIM_POOL_KMP, 0},
    {"KMP_BLOCKTIME=5", SHIM_POOL_KMP, 5e-3},
    {"KMP_BLOCKTIME=5ms", SHIM_POOL_KMP, 5e-3},
    {"KMP_BLOCKTIME=50us", SHIM_POOL_KMP, 50e-6},
    {"KMP_BLOCKTIME=2s", SHIM_POOL_KMP, 2},
    {"KMP_BLOCKTIME=infinite", SHIM_POOL_KMP, INFINITY},
    {"KMP_BLOCKTIME=2147483647", SHIM_POOL_KMP, INFINITY},
    {"KMP_BLOCKTIME=never", SHIM_POOL_KMP, 0.2},
    {"OMP_WAIT_POLICY=passive", SHIM_POOL_KMP, 0},
    {"OMP_WAIT_POLICY=active", SHIM_POOL_KMP, INFINITY},
    {"OMP_WAIT_POLICY=active;KMP_BLOCKTIME=1", SHIM_POOL_KMP, 1e-3},

    {"KMP_BLOCKTIME=5", SHIM_POOL_MKL, 5e-3},
    {"KMP_BLOCKTIME=5;MKL_THREADING_LAYER=INTEL", SHIM_POOL_MKL, 5e-3},
    {"KMP_BLOCKTIME=5;MKL_THREADING_LAYER=gnu", SHIM_POOL_MKL, 6.15e-3},
    {"KMP_BLOCKTIME=5;MKL_THREADING_LAYER=SEQUENTIAL", SHIM_POOL_MKL, 0},
    {"KMP_BLOCKTIME=5;MKL_THREADING_LAYER=TBB", SHIM_POOL_MKL, 0},
};

static void test_variables(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct shim_pools spin;
        shim_pools_read(&spin, lookup, (void *)(uintptr_t)rows[i].environment);
        double seconds = shim_pools_spin_of(&spin, rows[i].pool, 1e9), wanted = rows[i].seconds;
        XT_CHECK(seconds == wanted || fabs(seconds - wanted) <= 1e-9 * wanted, "%s: %g and not %g",
                 rows[i].environment, seconds, wanted);
    }
}

/* The wish follows the settings and whether there is a device. Contract 7.7. */
static void test_wish(void)
{
    static const struct {
        enum xg_spinning spin;
        enum xg_mode mode;
        bool device;
        const char *visible;
        enum shim_wish wish;
    } table[] = {
        {XG_SPINNING_AUTO, XG_MODE_AUTO, true, NULL, SHIM_WISH_BY_WAKE},
        {XG_SPINNING_AUTO, XG_MODE_GPU, true, "0", SHIM_WISH_BY_WAKE},
        {XG_SPINNING_AUTO, XG_MODE_COMPARE, true, "GPU-5", SHIM_WISH_BY_WAKE},
        {XG_SPINNING_AUTO, XG_MODE_CPU, true, NULL, SHIM_WISH_KEPT},
        {XG_SPINNING_AUTO, XG_MODE_AUTO, true, "", SHIM_WISH_KEPT},
        {XG_SPINNING_AUTO, XG_MODE_AUTO, true, "-1", SHIM_WISH_KEPT},
        {XG_SPINNING_AUTO, XG_MODE_GPU, false, NULL, SHIM_WISH_KEPT},
        {XG_SPINNING_SHORT, XG_MODE_CPU, false, "", SHIM_WISH_SHORT},
        {XG_SPINNING_KEEP, XG_MODE_GPU, true, "0", SHIM_WISH_KEPT},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        XT_CHECK(shim_pools_wish(table[i].spin, table[i].mode, table[i].visible, table[i].device) ==
                     table[i].wish,
                 "row %zu", i);
}

/* Chooses the shortest spin at which wakes cost at most 3 %, if it is shorter than the library's
 * own. */
static void test_spin_of_wake(void)
{
    static const struct {
        struct xg_wake wake;
        int power;
        long rounds;
    } table[] = {
        {{30000, 2400000, 20000, false}, 22, 50000},  /* 1 ms: 2.4e6 ticks */
        {{300000, 2400000, 20000, false}, 25, 0},     /* 10 ms, more than libgomp's own */
        {{3000000, 2400000, 20000, false}, 0, 0},     /* 100 ms, as OpenBLAS's own */
        {{60000, 2400000, 20000, false}, 23, 100000}, /* 2 ms */
        {{60000, 2400000, 6000, false}, 23, 0},       /* short rounds */
        {{60000, 4400000, 20000, false}, 24, 100000}, /* short ticks */
        {{1000, 2400000, 20000, false}, 20, 10000},   /* the shortest */
        {{1677000, 2400000, 20000, false}, 27, 0},    /* half of OpenBLAS's own */
        {{1679000, 2400000, 20000, false}, 0, 0},
        {{30000, 2400000, 20000, true}, 25, 50000}, /* a virtual machine */
        {{600000, 2400000, 20000, true}, 26, 0},
        {{3000000, 2400000, 20000, true}, 0, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct xg_wake wake = table[i].wake;
        const int power = shim_pools_power(SHIM_WISH_BY_WAKE, &wake);
        const long rounds = shim_pools_rounds(SHIM_WISH_BY_WAKE, &wake);
        XT_CHECK(power == table[i].power, "row %zu: %d", i, power);
        XT_CHECK(rounds == table[i].rounds, "row %zu: %ld", i, rounds);
        XT_CHECK(shim_pools_power(SHIM_WISH_KEPT, &wake) == 0, "kept");
        XT_CHECK(shim_pools_rounds(SHIM_WISH_KEPT, &wake) == 0, "kept");
        XT_CHECK(shim_pools_power(SHIM_WISH_SHORT, &wake) == 20, "short");
    }
    XT_CHECK(shim_pools_power(SHIM_WISH_BY_WAKE, NULL) == 0, "unknown");
    XT_CHECK(shim_pools_rounds(SHIM_WISH_BY_WAKE, NULL) == 0, "unknown");
    XT_CHECK(shim_pools_power(SHIM_WISH_SHORT, NULL) == 20, "short");
    XT_CHECK(shim_pools_rounds(SHIM_WISH_SHORT, NULL) == 10000, "short");
}

static const char *short_setting(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "XGEMM_SPIN") ? NULL : "short";
}

/* The value that OpenBLAS got counts for OpenBLAS, and not for other pools. */
static void test_told(void)
{
    double kept_s = shim_pools_spin_s(SHIM_POOL_OPENBLAS),
           other_s = shim_pools_spin_s(SHIM_POOL_GOMP);
    errno = ERANGE;
    const char *answer = shim_pools_answer(short_setting, NULL);
    XT_CHECK(answer && !strcmp(answer, "20") && shim_pools_told == 20 && errno == ERANGE, "short");
    double short_s = shim_pools_spin_s(SHIM_POOL_OPENBLAS);
    XT_CHECK(fabs(short_s / kept_s - 0x1p-4) <= 1e-4, "%g s after %g" /* 24 is set */, short_s,
             kept_s);
    XT_CHECK(shim_pools_spin_s(SHIM_POOL_UNKNOWN) == short_s, "an unknown pool");
    XT_CHECK(shim_pools_spin_s(SHIM_POOL_GOMP) == other_s, "another pool");
    shim_pools_told = 0;
    (void)shim_pools_have_device();
    XT_CHECK(errno == ERANGE, "errno");
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void *ask(void *seconds)
{
    *(double *)seconds = shim_pools_spin_s(SHIM_POOL_OPENBLAS);
    return NULL;
}

/* Before the clock's rate is known no call waits for it. Later answers follow the clock, and
 * changes of the environment do not count. */
static void test_process(void)
{
    setenv("OPENBLAS_THREAD_TIMEOUT", "24", 1);
    setenv("KMP_BLOCKTIME", "3", 1);
    errno = ERANGE;
    double at_first = shim_pools_spin_s(SHIM_POOL_OPENBLAS);
    XT_CHECK(errno == ERANGE, "errno");
    XT_CHECK(shim_pools_spin_s(SHIM_POOL_KMP) == 3e-3, "KMP_BLOCKTIME");
    setenv("OPENBLAS_THREAD_TIMEOUT", "5", 1);
#if defined(__x86_64__)
    double begin_s = xg_clock_s();
    uint64_t begin = __rdtsc();
    sleep_ms(60);
    uint64_t end = __rdtsc();
    double hz = (double)(end - begin) / (xg_clock_s() - begin_s);

    /* A first call that takes longer than the baseline knows the rate already. */
    XT_CHECK(at_first == 0x1p24 / XG_TICKS_HZ || fabs(at_first * hz / 0x1p24 - 1) <= 0.01, "%g",
             at_first);

    double seconds[4];
    xt_threads_run(4, ask, seconds, sizeof seconds[0]);
    for (int i = 0; i < 4; i++)
        XT_CHECK(fabs(seconds[i] - 0x1p24 / hz) <= 0.01 * seconds[i], "%g s at %g Hz", seconds[i],
                 hz);
    double settled = shim_pools_spin_s(SHIM_POOL_OPENBLAS);
    sleep_ms(5);
    XT_CHECK(shim_pools_spin_s(SHIM_POOL_OPENBLAS) == settled, "the rate is measured once");
    begin_s = xg_clock_s();
    for (int i = 0; i < 1000000; i++)
        settled += shim_pools_spin_s(SHIM_POOL_OPENBLAS);
    printf("%.1f ns a call, %.4g Hz\n", 1e3 * (xg_clock_s() - begin_s), hz);
#else
    sleep_ms(60);
    XT_CHECK(shim_pools_spin_s(SHIM_POOL_OPENBLAS) == at_first && at_first > 0, "%g", at_first);
#endif
}

int main(void)
{
    test_variables();
    test_wish();
    test_spin_of_wake();
    test_process();
    test_told();
    return xt_done();
}
