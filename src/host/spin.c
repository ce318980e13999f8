/* SPDX-License-Identifier: MIT */
/* How long the threads of a CPU library spin: its variables, the rate of the clock, and the setting
 * that OpenBLAS gets. */
#define _GNU_SOURCE
#include "host/spin.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/clock.h"
#include "base/conf.h"

/* libgomp's own estimate is 10 ns a round, "5 times longer or shorter"; measured 10.7 to 12.3 on
 * AMD processors and 20.5 on Intel's since Skylake, whose pause takes longer. */
#define GOMP_ROUND_S 20.5e-9

typedef const char *spin_lookup(void *ctx, const char *name);

static const char *skip_blanks(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

/* True if text is that one word, in any case, with or without blanks around it. */
static bool is_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    text = skip_blanks(text);
    return !strncasecmp(text, word, length) && !*skip_blanks(text + length);
}

/* Parses like OpenBLAS: atoi and its bounds. */
static double read_openblas(const char *text)
{
    int power = text ? (int)strtol(text, NULL, 10) : 0;

    if (power <= 0)
        power = 28;
    else if (power < 4)
        power = 4;
    else if (power > 30)
        power = 30;
    return ldexp(1.0, power);
}

/* Reads a number >= 0 and finds its end; false for anything else. */
static bool read_number(const char *text, double *value, const char **end)
{
    char *stop;

    text = skip_blanks(text);
    if (!isdigit((unsigned char)*text))
        return false;
    *value = (double)strtoull(text, &stop, 10);
    *end = skip_blanks(stop);
    return true;
}

/* GOMP_SPINCOUNT: rounds, with an optional decimal suffix, or a word for infinity. */
static bool read_rounds(const char *text, double *rounds)
{
    static const char suffixes[] = "kmgt";
    const char *end;

    if (is_word(text, "infinite") || is_word(text, "infinity")) {
        *rounds = INFINITY;
        return true;
    }
    if (!read_number(text, rounds, &end))
        return false;
    const char *suffix = *end ? strchr(suffixes, tolower((unsigned char)*end)) : NULL;
    if (suffix) {
        *rounds *= pow(1000.0, (double)(suffix - suffixes + 1));
        end = skip_blanks(end + 1);
    }
    return !*end;
}

static double read_gomp(const char *rounds_text, const char *policy)
{
    double rounds = 300e3;

    if (policy && is_word(policy, "active"))
        rounds = 30e9;
    else if (policy && is_word(policy, "passive"))
        rounds = 0;
    if (rounds_text) {
        double own;
        if (read_rounds(rounds_text, &own))
            rounds = own;
    }
    return rounds * GOMP_ROUND_S;
}

/* KMP_BLOCKTIME: milliseconds, or a number with another unit, or a word for infinity. */
static double read_kmp(const char *time_text, const char *policy)
{
    double value;
    const char *unit;

    if (time_text && is_word(time_text, "infinite"))
        return INFINITY;
    if (time_text && read_number(time_text, &value, &unit)) {
        /* The run-time stores an int, and the largest means infinity. */
        if (value >= (double)INT_MAX)
            return INFINITY;
        return value * (is_word(unit, "us") ? 1e-6 : is_word(unit, "s") ? 1.0 : 1e-3);
    }
    if (policy && is_word(policy, "active"))
        return INFINITY;
    return policy && is_word(policy, "passive") ? 0.0 : 0.2;
}

void xg_spin_read(struct xg_spin *spin, spin_lookup *lookup, void *ctx)
{
    const char *policy = lookup(ctx, "OMP_WAIT_POLICY");
    const char *layer = lookup(ctx, "MKL_THREADING_LAYER");

    spin->openblas_ticks = read_openblas(lookup(ctx, XG_SPIN_VARIABLE));
    spin->gomp_s = read_gomp(lookup(ctx, "GOMP_SPINCOUNT"), policy);
    spin->kmp_s = read_kmp(lookup(ctx, "KMP_BLOCKTIME"), policy);
    spin->mkl_s = spin->kmp_s;
    if (layer && is_word(layer, "GNU"))
        spin->mkl_s = spin->gomp_s;
    else if (layer && (is_word(layer, "SEQUENTIAL") || is_word(layer, "TBB")))
        spin->mkl_s = 0;
}

double xg_spin_of(const struct xg_spin *spin, enum xg_pool pool, double ticks_hz)
{
    switch (pool) {
    case XG_POOL_NONE:
        return 0;
    case XG_POOL_GOMP:
        return spin->gomp_s;
    case XG_POOL_KMP:
        return spin->kmp_s;
    case XG_POOL_MKL:
        return spin->mkl_s;
    case XG_POOL_UNKNOWN:
    case XG_POOL_OPENBLAS:
        break;
    }
    return spin->openblas_ticks / ticks_hz;
}

/* --- The setting for OpenBLAS -------------------------------------------------------------- */

_Atomic bool xg_spin_told;

#ifdef XG_CUDA
/* Looks for the driver files of a card, of WSL and of Tegra: asking the driver would start it. */
bool xg_spin_has_device(void)
{
    static const char *const files[] = {"/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg",
                                        "/dev/nvmap"};
    int error = errno;
    bool has = false;

    for (size_t i = 0; i < sizeof files / sizeof files[0] && !has; i++)
        has = access(files[i], F_OK) == 0;
    errno = error;
    return has;
}
#else
/* This build can use no device. */
bool xg_spin_has_device(void)
{
    return false;
}
#endif

/* --- This process -------------------------------------------------------------------------- */

static struct xg_spin process_spin;
static pthread_once_t process_spin_once = PTHREAD_ONCE_INIT;

#if defined(__x86_64__)

/* One moment, read on both clocks. */
struct moment {
    uint64_t ticks;
    double clock_s; /* 0: could not be read */
};

enum { MOMENT_TRIES = 4 };
#define MOMENT_S 20e-6 /* two readings further apart than this are repeated */
#define BASELINE_S 0.02

static struct moment first_moment;      /* constant once the environment has been read */
static _Atomic uint64_t ticks_a_second; /* 0: not known yet */

static struct moment take_moment(void)
{
    for (int i = 0; i < MOMENT_TRIES; i++) {
        double before = xg_clock_s();
        uint64_t ticks = __rdtsc();
        double after = xg_clock_s();

        if (after - before < MOMENT_S)
            return (struct moment){ticks, 0.5 * (before + after)};
    }
    return (struct moment){0};
}

static void start_ticks(void)
{
    first_moment = take_moment();
}

/* Threads that measure the rate at the same time get the same value, within 1 / 1000. */
static double ticks_hz(void)
{
    uint64_t known = atomic_load_explicit(&ticks_a_second, memory_order_relaxed);

    if (known)
        return (double)known;
    if (first_moment.clock_s == 0 || xg_clock_s() - first_moment.clock_s < BASELINE_S)
        return XG_SPIN_TICKS_HZ;
    struct moment now = take_moment();
    if (now.clock_s == 0 || now.ticks <= first_moment.ticks)
        return XG_SPIN_TICKS_HZ;
    double hz = (double)(now.ticks - first_moment.ticks) / (now.clock_s - first_moment.clock_s);
    if (!(hz >= 1e8 && hz <= 1e10)) /* the clock was set meanwhile */
        hz = XG_SPIN_TICKS_HZ;
    atomic_store_explicit(&ticks_a_second, (uint64_t)hz, memory_order_relaxed);
    return hz;
}

#elif defined(__aarch64__)

/* OpenBLAS counts the generic timer, shifted so that its rate is from 2^31 to 2^32 a second. */
static double ticks_hz(void)
{
    uint64_t hz;

    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    return hz > 0 && hz <= UINT32_MAX ? ldexp((double)hz, __builtin_clz((uint32_t)hz))
                                      : XG_SPIN_TICKS_HZ;
}

static void start_ticks(void) {}

#else

/* On other processors OpenBLAS counts nanoseconds. */
static double ticks_hz(void)
{
    return 1e9;
}

static void start_ticks(void) {}

#endif

static void process_spin_init(void)
{
    int error = errno;

    xg_spin_read(&process_spin, xg_conf_environment, NULL);
    start_ticks();
    errno = error;
}

double xg_spin_seconds(enum xg_pool pool)
{
    pthread_once(&process_spin_once, process_spin_init);
    struct xg_spin spin = process_spin;
    if (atomic_load_explicit(&xg_spin_told, memory_order_relaxed))
        spin.openblas_ticks = read_openblas(XG_SPIN_SHORT);
    return xg_spin_of(&spin, pool, ticks_hz());
}
