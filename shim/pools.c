/* SPDX-License-Identifier: MIT */
/* How long the threads of a CPU library spin: its variables, and the values that they should have.
 */
#define _GNU_SOURCE
#include "pools.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "src/base/conf.h"
#include "src/base/sandbox.h"
#include "src/host/ticks.h"

/* libgomp's own estimate is 10 ns a round, "5 times longer or shorter"; measured 10.7 to 12.3 on
 * AMD processors and 20.5 on Intel's since Skylake, whose pause takes longer. */
#define GOMP_ROUND_S 20.5e-9
#define GOMP_ROUNDS 300000

/* OpenBLAS's spin as a power of two of ticks: 0.5 ms; 17 ms; its own, 0.1 s. */
enum { POWER_LEAST = 20, POWER_GUEST = 25, POWER_OWN = 28 };

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
        power = POWER_OWN;
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
    double rounds = GOMP_ROUNDS;

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

void shim_pools_read(struct shim_pools *spin, spin_lookup *lookup, void *ctx)
{
    const char *policy = lookup(ctx, "OMP_WAIT_POLICY");
    const char *layer = lookup(ctx, "MKL_THREADING_LAYER");

    spin->openblas_ticks = read_openblas(lookup(ctx, SHIM_POOLS_POWER));
    spin->gomp_s = read_gomp(lookup(ctx, "GOMP_SPINCOUNT"), policy);
    spin->kmp_s = read_kmp(lookup(ctx, "KMP_BLOCKTIME"), policy);
    spin->mkl_s = spin->kmp_s;
    if (layer && is_word(layer, "GNU"))
        spin->mkl_s = spin->gomp_s;
    else if (layer && (is_word(layer, "SEQUENTIAL") || is_word(layer, "TBB")))
        spin->mkl_s = 0;
}

double shim_pools_spin_of(const struct shim_pools *spin, enum shim_pool pool, double ticks_hz)
{
    switch (pool) {
    case SHIM_POOL_NONE:
        return 0;
    case SHIM_POOL_GOMP:
        return spin->gomp_s;
    case SHIM_POOL_KMP:
        return spin->kmp_s;
    case SHIM_POOL_MKL:
        return spin->mkl_s;
    case SHIM_POOL_UNKNOWN:
    case SHIM_POOL_OPENBLAS:
        break;
    }
    return spin->openblas_ticks / ticks_hz;
}

/* --- How long they should -------------------------------------------------------------------- */

/* A wake costs at most so much of the pause that it ends. */
enum { LOSS_PERCENT = 3 };

/* libgomp's shortest spin: 0.1 to 0.2 ms. */
enum { ROUNDS_LEAST = 10000 };

enum shim_wish shim_pools_wish(enum xg_spinning spin, enum xg_mode mode, const char *visible,
                               bool device)
{
    bool hidden = visible && (!*visible || *visible == '-');
    if (spin == XG_SPINNING_SHORT)
        return SHIM_WISH_SHORT;
    if (spin == XG_SPINNING_KEEP || mode == XG_MODE_CPU || hidden || !device)
        return SHIM_WISH_KEPT;
    return SHIM_WISH_BY_WAKE;
}

/* In integers, which leave the floating-point environment alone. */
int shim_pools_power(enum shim_wish wish, const struct xg_wake *wake)
{
    int power = wake && wake->guest ? POWER_GUEST : POWER_LEAST;
    if (wish == SHIM_WISH_SHORT)
        return POWER_LEAST;
    if (wish == SHIM_WISH_KEPT || !wake)
        return 0;
    const uint64_t wake_ticks_e6 = wake->wake_ns * wake->ticks_khz; /* a million times the ticks */
    while (power < POWER_OWN && (UINT64_C(1) << power) * 10000 * LOSS_PERCENT < wake_ticks_e6)
        power++;
    return power < POWER_OWN ? power : 0;
}

long shim_pools_rounds(enum shim_wish wish, const struct xg_wake *wake)
{
    if (wish == SHIM_WISH_SHORT)
        return ROUNDS_LEAST;
    if (wish == SHIM_WISH_KEPT || !wake)
        return 0;
    const uint64_t rounds = wake->wake_ns * 1000 * 100 / LOSS_PERCENT / wake->round_ps;
    if (rounds < ROUNDS_LEAST)
        return ROUNDS_LEAST;
    return rounds < GOMP_ROUNDS ? (long)rounds : 0;
}

_Atomic int shim_pools_told;

#ifdef XG_CUDA
/* Looks for the driver files of a card, of WSL and of Tegra: asking the driver would start it. */
bool shim_pools_have_device(void)
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
bool shim_pools_have_device(void)
{
    return false;
}
#endif

/* --- The answer for OpenBLAS ----------------------------------------------------------------- */

static enum shim_wish read_wish(spin_lookup *lookup, void *ctx)
{
    const char *spin = lookup(ctx, "XGEMM_SPIN"), *mode = lookup(ctx, "XGEMM_MODE");
    enum xg_spinning spinning = XG_SPINNING_AUTO;
    if (spin && shim_pools_is_word(spin, "short"))
        spinning = XG_SPINNING_SHORT;
    else if (spin && shim_pools_is_word(spin, "keep"))
        spinning = XG_SPINNING_KEEP;
    bool on_cpu = mode && shim_pools_is_word(mode, "cpu");
    bool looks = spinning == XG_SPINNING_AUTO && !on_cpu && !xg_sandbox_closed();
    return shim_pools_wish(spinning, on_cpu ? XG_MODE_CPU : XG_MODE_AUTO,
                           lookup(ctx, "CUDA_VISIBLE_DEVICES"), looks && shim_pools_have_device());
}

const char *shim_pools_answer(spin_lookup *lookup, void *ctx)
{
    static const char texts[][3] = {"20", "21", "22", "23", "24", "25", "26", "27"};
    static _Thread_local bool asked __attribute__((tls_model("initial-exec")));
    struct xg_wake wake;
    int error = errno;
    if (asked)
        return NULL;
    asked = true;
    enum shim_wish wish = read_wish(lookup, ctx);
    bool known = wish == SHIM_WISH_BY_WAKE && xg_wake_load(&wake, lookup, ctx);
    int power = shim_pools_power(wish, known ? &wake : NULL);
    if (power)
        atomic_store_explicit(&shim_pools_told, power, memory_order_relaxed);
    asked = false;
    errno = error;
    return power ? texts[power - POWER_LEAST] : NULL;
}

/* --- This process -------------------------------------------------------------------------- */

static struct shim_pools process_spin;
static pthread_once_t process_spin_once = PTHREAD_ONCE_INIT;

static void process_spin_init(void)
{
    int error = errno;

    shim_pools_read(&process_spin, xg_conf_environment, NULL);
    (void)xg_ticks_hz(); /* begins to measure it */
    errno = error;
}

double shim_pools_spin_s(enum shim_pool pool)
{
    pthread_once(&process_spin_once, process_spin_init);
    struct shim_pools spin = process_spin;
    int told = atomic_load_explicit(&shim_pools_told, memory_order_relaxed);
    if (told)
        spin.openblas_ticks = ldexp(1.0, told);
    return shim_pools_spin_of(&spin, pool, xg_ticks_hz());
}
