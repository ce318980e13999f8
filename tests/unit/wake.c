/* SPDX-License-Identifier: MIT */
/* The cost of waking threads: measured with a known delay added to each wake, and kept in a file.
 * Contract 7.7. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/pools.h"
#include "src/base/clock.h"
#include "tests/support/files.h"
#include "tests/support/xt.h"
#include "tools/wake.h"

/* --- The measurement ----------------------------------------------------------------------- */

static _Atomic int delay_us;

int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock);

/* The linker replaces the calls in tools/wake.c by this function, which adds the delay to each
 * wake. */
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    int result = __real_pthread_cond_wait(condition, lock);
    const double begin = xg_clock_s();
    while (xg_clock_s() - begin < 1e-6 * delay_us) {
    }
    return result;
}

/* Takes the least of eight measurements, because other programs may keep the cores busy. */
static bool measure(int added_us, struct xg_wake *wake)
{
    int measured = 0;
    delay_us = added_us;
    for (int i = 0; i < 100 && measured < 8; i++) {
        struct xg_wake once;
        if (wake_measure(&once) && (measured++ == 0 || once.wake_ns < wake->wake_ns))
            *wake = once;
    }
    return measured > 0;
}

static void test_measure(void)
{
    static const struct {
        int added_us, power_least, power_most; /* at 1e9 to 5e9 ticks a second */
    } table[] = {{30, 20, 27}, {300, 23, 27}, {3000, 0, 0}};
    struct xg_wake wake;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        puts("one core: no wake to measure");
        return;
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const double added_s = 1e-6 * table[i].added_us;
        XT_CHECK(measure(table[i].added_us, &wake), "%d us: no figure", table[i].added_us);
        const int power = shim_pools_power(SHIM_WISH_BY_WAKE, &wake);
        const double wake_s = 1e-9 * (double)wake.wake_ns;
        printf("%d us added: %.1f us, %.3g ticks a second, %.1f ns a round, power %d\n",
               table[i].added_us, 1e-3 * (double)wake.wake_ns, 1e3 * (double)wake.ticks_khz,
               1e-3 * (double)wake.round_ps, power);
        XT_CHECK(wake_s >= added_s, "%d us: %g s", table[i].added_us, wake_s);
        XT_CHECK(wake.ticks_khz >= 100000 && wake.ticks_khz <= 10000000, "%g kHz",
                 (double)wake.ticks_khz);
        XT_CHECK(wake.round_ps >= 100 && wake.round_ps <= 1000000, "%g ps", (double)wake.round_ps);
        XT_CHECK((power >= table[i].power_least && power <= table[i].power_most) ||
                     wake_s > added_s + 2e-4, /* a busy machine */
                 "%d us: 2^%d", table[i].added_us, power);
    }
    delay_us = 0;
}

/* --- The file ------------------------------------------------------------------------------ */

static const char *from_environment(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static bool load(struct xg_wake *wake)
{
    errno = ERANGE;
    bool loaded = xg_wake_load(wake, from_environment, NULL);
    XT_CHECK(errno == ERANGE, "errno");
    return loaded;
}

static void test_text(void)
{
    const struct xg_wake_key key = {"0-1-2", 16};
    const struct xg_wake wake = {62000, 2400000, 20500, true};
    char text[XG_WAKE_TEXT_BYTES], other[XG_WAKE_TEXT_BYTES + 8];
    struct xg_wake read;
    XT_CHECK(xg_wake_print(text, &key, &wake) == strlen(text), "length");
    XT_CHECK(!strcmp(text, "xgemm-wake=2\nboot=0-1-2\ncores=16\nwake_ns=62000\nticks_khz=2400000\n"
                           "round_ps=20500\nguest=1\n"),
             "%s", text);
    XT_CHECK(xg_wake_parse(text, &key, &read) && read.wake_ns == wake.wake_ns, "read");
    XT_CHECK(!xg_wake_parse(text, &(struct xg_wake_key){"0-1-3", 16}, &read), "another start");
    XT_CHECK(!xg_wake_parse(text, &(struct xg_wake_key){"0-1-2", 15}, &read), "other cores");
    for (size_t length = 0; length < strlen(text); length++) {
        snprintf(other, sizeof other, "%.*s", (int)length, text);
        XT_CHECK(!xg_wake_parse(other, &key, &read), "cut after %zu", length);
        snprintf(other, sizeof other, "%.*s0%s", (int)length, text, text + length);
        struct xg_wake changed = wake;
        XT_CHECK(!xg_wake_parse(other, &key, &changed) || changed.wake_ns != wake.wake_ns ||
                     changed.ticks_khz != wake.ticks_khz || changed.round_ps != wake.round_ps,
                 "a digit more after %zu", length);
    }
    static const char *const bad[] = {
        "wake_ns=0\nticks_khz=2400000\nround_ps=20500\nguest=1\n",
        "wake_ns=-5\nticks_khz=2400000\nround_ps=20500\nguest=1\n",
        "wake_ns=62000\nticks_khz=24\nround_ps=20500\nguest=1\n",
        "wake_ns=62000\nticks_khz=2400000\nround_ps=0\nguest=1\n",
        "wake_ns=99999999999999999999\nticks_khz=2400000\nround_ps=1\nguest=1\n",
        "wake_ns=62000\nticks_khz=2400000\nround_ps=20500\nguest=2\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(other, sizeof other, "xgemm-wake=2\nboot=0-1-2\ncores=16\n%s", bad[i]);
        XT_CHECK(!xg_wake_parse(other, &key, &read), "%s", bad[i]);
    }
}

static void test_file(void)
{
    char folder[] = "/tmp/xg_wake.XXXXXX", path[XG_WAKE_PATH_BYTES], again[64];
    struct xg_wake kept = {62000, 2400000, 20500, true}, read = {0};
    struct xg_wake_key key;
    if (!xg_wake_key_init(&key)) {
        puts("the kernel does not name its start: nothing is kept");
        XT_CHECK(!wake_keep(&kept), "kept");
        return;
    }
    XT_CHECK(mkdtemp(folder) != NULL, "no folder");
    setenv("XDG_CACHE_HOME", folder, 1);
    XT_CHECK(xg_wake_path(path, &key, from_environment, NULL), "no path");
    XT_CHECK(!load(&read), "nothing is kept");
    XT_CHECK(wake_keep(&kept) && load(&read), "%s: %s", path, strerror(errno));
    XT_CHECK(read.wake_ns == kept.wake_ns && read.ticks_khz == kept.ticks_khz, "read");
    kept.wake_ns = 90000;
    XT_CHECK(wake_keep(&kept) && wake_find(&read) && read.wake_ns == 90000, "again");
    xt_write(path, "");
    XT_CHECK(!load(&read), "an empty file");
    snprintf(again, sizeof again, "%0*d", (int)sizeof again - 1, 0);
    xt_write(path, again);
    XT_CHECK(!load(&read), "a file of zeros");
    unlink(path);
    XT_CHECK(mkfifo(path, 0600) == 0 && !load(&read), "a FIFO");
    unlink(path);
    XT_CHECK(mkdir(path, 0700) == 0 && !load(&read) && !wake_keep(&kept), "a folder");
    rmdir(path);
    XT_CHECK(symlink("/dev/zero", path) == 0 && !load(&read), "an endless file");
    unlink(path);
    *strrchr(path, '/') = '\0';
    XT_CHECK(rmdir(path) == 0 && rmdir(folder) == 0, "something is left in %s", folder);
    setenv("XDG_CACHE_HOME", "/proc", 1);
    XT_CHECK(!wake_keep(&kept) && !load(&read), "in /proc");
    setenv("XDG_CACHE_HOME", "relative", 1);
    unsetenv("HOME");
    XT_CHECK(!wake_keep(&kept) && !load(&read), "without a home");
}

int main(void)
{
    test_text();
    test_file();
    test_measure();
    return xt_done();
}
