/* SPDX-License-Identifier: MIT */
/*
 * Multiplies from threads that come and go while the fake driver is made to fail, checks every
 * element of every product, and at the end compares what the process holds with what it held early.
 * usage: soak MINUTES THREADS [lost|device]
 * lost: the device is lost halfway. device: any driver, without faults; products are larger, and
 * the caller checks that some ran there.
 *
 * In each round threads are created, multiply and are joined; then memory, descriptors,
 * threads and the driver's objects are counted. A fault strikes once, and the next one
 * follows some right products: three failures in a row would end the use of the GPU.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define FAKECUDA_WANT_LOAD
#include "src/base/clock.h"
#include "tests/fakedrv/fakecuda.h"
#include "tests/support/files.h"
#include "tests/support/xt.h"

void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc, size_t transa_length,
            size_t transb_length);

enum { THREADS_MAX = 64, ROUNDS = 12, CODE_LOST = 719, BETWEEN_FAULTS = 40 };
/* Growth of resident memory, which the allocator's arenas make uneven. */
enum { GROWTH_KB = 8 << 10 };

static bool faked; /* without the fake driver there are no counts and no faults */
static int side_max = 200;
static struct fakecuda fake;
static _Atomic long products, wrong, launches, struck;
static _Atomic bool stop;

/* A whole number from `least` to `most`. */
static int pick(uint64_t *seed, int least, int most)
{
    int count = most - least + 1;
    int at = (int)((0.5f * xt_random(seed) + 0.5f) * (float)count);
    return least + (at < count ? at : count - 1);
}

struct product {
    int m, n, k, lda, ldb, ldc, ta, tb;
    float alpha, beta;
    float *a, *b, *c, *old;
};

static float *whole_numbers(uint64_t *seed, size_t count)
{
    float *x = malloc(count * sizeof(*x));
    if (!x)
        exit(XT_HARD);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)pick(seed, -8, 8);
    return x;
}

static struct product make(uint64_t *seed)
{
    int most = pick(seed, 0, 9) ? 60 : side_max;
    struct product p = {.m = pick(seed, 1, most),
                        .n = pick(seed, 1, most),
                        .k = pick(seed, 1, most),
                        .ta = pick(seed, 0, 1),
                        .tb = pick(seed, 0, 1),
                        .alpha = (float)pick(seed, -2, 2),
                        .beta = (float)pick(seed, -1, 2)};
    p.lda = (p.ta ? p.k : p.m) + pick(seed, 0, 3);
    p.ldb = (p.tb ? p.n : p.k) + pick(seed, 0, 3);
    p.ldc = p.m + pick(seed, 0, 3);
    p.a = whole_numbers(seed, (size_t)p.lda * (size_t)(p.ta ? p.m : p.k));
    p.b = whole_numbers(seed, (size_t)p.ldb * (size_t)(p.tb ? p.k : p.n));
    p.c = whole_numbers(seed, (size_t)p.ldc * (size_t)p.n);
    p.old = malloc((size_t)p.ldc * (size_t)p.n * sizeof(float));
    if (!p.old)
        exit(XT_HARD);
    memcpy(p.old, p.c, (size_t)p.ldc * (size_t)p.n * sizeof(float));
    return p;
}

/* Checks every element exactly, and the bits between the columns. */
static bool right(const struct product *p)
{
    for (int at = 0; at < p->ldc * p->n; at++) {
        int i = at % p->ldc, j = at / p->ldc;
        double sum = 0;
        if (i >= p->m) {
            if (memcmp(&p->c[at], &p->old[at], sizeof(float)))
                return false;
            continue;
        }
        for (int l = 0; l < p->k; l++)
            sum += (double)p->a[p->ta ? i * p->lda + l : l * p->lda + i] *
                   (double)p->b[p->tb ? l * p->ldb + j : j * p->ldb + l];
        sum = (double)p->alpha * sum + (double)p->beta * (double)p->old[at];
        if (!((double)p->c[at] == sum))
            return false;
    }
    return true;
}

static void *work(void *argument)
{
    uint64_t seed = (uint64_t)(uintptr_t)argument;
    while (!atomic_load(&stop)) {
        struct product p = make(&seed);
        sgemm_(p.ta ? "T" : "N", p.tb ? "c" : "n", &p.m, &p.n, &p.k, &p.alpha, p.a, &p.lda, p.b,
               &p.ldb, &p.beta, p.c, &p.ldc, 1, 1);
        if (!right(&p) && atomic_fetch_add(&wrong, 1) < 10)
            fprintf(stderr, "wrong: %d,%d,%d trans %d%d ld %d,%d,%d alpha %g beta %g\n", p.m, p.n,
                    p.k, p.ta, p.tb, p.lda, p.ldb, p.ldc, (double)p.alpha, (double)p.beta);
        free(p.a);
        free(p.b);
        free(p.c);
        free(p.old);
        atomic_fetch_add(&products, 1);
    }
    return NULL;
}

/* Injects one fault after another until the round ends, or only the one that loses the device. */
static void inject(uint64_t *seed, double until, bool lose)
{
    static const char *const names[] = {
        "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuEventRecord",
        "cuLaunchKernel",    "cuEventQuery",      "cuCtxPushCurrent",
        "cuMemAlloc",        "cuStreamWaitEvent", NULL};
    static const int codes[] = {2, 999};
    const struct timespec nap = {0, 2000000};
    while (xg_clock_s() < until) {
        const long from = atomic_load(&products);
        if (faked) {
            launches += fake.calls("cuLaunchKernel");
            struck += fake.faults(NULL);
            fake.reset((unsigned long)pick(seed, 1, 1 << 20));
        }
        if (faked && lose) /* in a call that has a context to lose */
            fake.fail("cuEventRecord", 20, CODE_LOST, FAKECUDA_STICKY);
        else if (faked)
            fake.fail(names[pick(seed, 0, 8)], pick(seed, 1, 300), codes[pick(seed, 0, 1)],
                      FAKECUDA_ONCE);
        while (xg_clock_s() < until && (lose || atomic_load(&products) < from + BETWEEN_FAULTS))
            nanosleep(&nap, NULL);
    }
}

/* What the process holds between two rounds. */
struct held {
    long kb, descriptors, threads;
    struct fakecuda_live live;
};

static struct held look(void)
{
    struct held held = {.descriptors = xt_entries("/proc/self/fd"),
                        .threads = xt_entries("/proc/self/task")};
    FILE *file = fopen("/proc/self/statm", "r");
    long pages;
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        exit(XT_HARD);
    fclose(file);
    held.kb = pages * (sysconf(_SC_PAGESIZE) / 1024);
    if (faked)
        fake.live(&held.live);
    return held;
}

static long count_launches(void)
{
    return atomic_load(&launches) + (faked ? fake.calls("cuLaunchKernel") : 0);
}

static void run_round(int threads, double seconds, uint64_t *seed, bool lose)
{
    pthread_t thread[THREADS_MAX];
    atomic_store(&stop, false);
    for (int i = 0; i < threads; i++) {
        *seed += 0x9e3779b97f4a7c15u;
        if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)*seed))
            exit(XT_HARD);
    }
    inject(seed, xg_clock_s() + seconds, lose);
    atomic_store(&stop, true);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}

/* Compares the last round with the most that the rounds of the first half held, after the first. */
static void accuracy(const struct held *rounds)
{
    struct held most = rounds[1];
    for (int i = 2; i <= ROUNDS / 2; i++) {
        most.kb = rounds[i].kb > most.kb ? rounds[i].kb : most.kb;
        most.descriptors =
            rounds[i].descriptors > most.descriptors ? rounds[i].descriptors : most.descriptors;
        most.threads = rounds[i].threads > most.threads ? rounds[i].threads : most.threads;
        if (rounds[i].live.pinned_bytes > most.live.pinned_bytes)
            most.live.pinned_bytes = rounds[i].live.pinned_bytes;
        if (rounds[i].live.events > most.live.events)
            most.live.events = rounds[i].live.events;
    }
    const struct held *last = &rounds[ROUNDS - 1];
    XT_CHECK(last->kb <= most.kb + GROWTH_KB, "memory grew from %ld to %ld KB", most.kb, last->kb);
    XT_CHECK(last->descriptors <= most.descriptors, "descriptors: %ld, then %ld", most.descriptors,
             last->descriptors);
    XT_CHECK(last->threads <= most.threads, "threads: %ld, then %ld", most.threads, last->threads);
    XT_CHECK(last->live.pinned_bytes <= most.live.pinned_bytes, "page-locked memory: %zu, then %zu",
             most.live.pinned_bytes, last->live.pinned_bytes);
    XT_CHECK(last->live.events <= most.live.events, "events: %zu, then %zu", most.live.events,
             last->live.events);
}

int main(int argc, char **argv)
{
    static struct held rounds[ROUNDS];
    double minutes = argc > 1 ? atof(argv[1]) : 0;
    int threads = argc > 2 ? atoi(argv[2]) : 8;
    const char *word = argc > 3 ? argv[3] : "";
    bool lost = !strcmp(word, "lost"), device = !strcmp(word, "device");
    uint64_t seed = 1;
    if (!(minutes > 0) || threads < 1 || threads > THREADS_MAX)
        return XT_HARD;
    faked = !device && fakecuda_load(&fake);
    if (!faked && !device)
        return XT_HARD;
    if (device)
        side_max = 500;
    printf(
        "round   products  on the GPU  faults   KB held  descriptors  threads  page-locked KB\n");
    for (int i = 0; i < ROUNDS; i++) {
        long before = count_launches();
        run_round(threads, 60 * minutes / ROUNDS, &seed, lost && i == ROUNDS / 2);
        bool used = count_launches() > before, expected = !lost || i <= ROUNDS / 2;
        rounds[i] = look();
        printf("%5d %10ld %11s %7ld %9ld %12ld %8ld %15zu\n", i + 1, atomic_load(&products),
               device ? "-"
               : used ? "yes"
                      : "no",
               atomic_load(&struck) + (faked ? fake.faults(NULL) : 0), rounds[i].kb,
               rounds[i].descriptors, rounds[i].threads, rounds[i].live.pinned_bytes / 1024);
        fflush(stdout);
        XT_CHECK(device || used == expected, "round %d: %s on the GPU", i + 1,
                 used ? "something" : "nothing");
    }
    XT_CHECK(atomic_load(&wrong) == 0, "%ld of %ld products", atomic_load(&wrong),
             atomic_load(&products));
    XT_CHECK(device || atomic_load(&struck) > 0, "no fault struck");
    accuracy(rounds);
    printf("%ld products, %ld wrong; %ld faults struck\n", atomic_load(&products),
           atomic_load(&wrong), atomic_load(&struck));
    return xt_done();
}
