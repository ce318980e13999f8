/* SPDX-License-Identifier: MIT */
/*
 * Compares a process before and after its products, wherever they run: of what a program can see
 * only C has changed. Compiled by the preload tests and linked to a BLAS with the C interface; it
 * passes without the library too. Labels are doc/contract.md's. usage: state SCENARIO
 */
#define _GNU_SOURCE
#include <cblas.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/support/files.h"
#include "tests/support/xt.h"

extern char **environ;

/* --- Products whose sums are whole numbers, exact on the CPU and on the GPU ---------------- */

struct state_product {
    int m, n, k;
    float *a, *b, *c; /* (m, k), (k, n), (m, n), row-major */
};

static struct state_product state_create(int m, int n, int k)
{
    size_t elems = (size_t)(m * k + k * n + m * n);
    struct state_product p = {.m = m, .n = n, .k = k, .a = malloc(elems * sizeof(float))};
    if (!p.a)
        exit(XT_HARD);
    p.b = p.a + m * k;
    p.c = p.b + k * n;
    for (int i = 0; i < m * k; i++)
        p.a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < k * n; i++)
        p.b[i] = (float)(i % 5 - 2);
    for (int i = 0; i < m * n; i++)
        p.c[i] = (float)(i % 3);
    return p;
}

static void state_multiply(const struct state_product *p, float beta)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->m, p->n, p->k, 1.0f, p->a, p->k, p->b,
                p->n, beta, p->c, p->n);
}

/* Checks every 17th element; C was i % 3 before. */
static int state_right(const struct state_product *p, float beta)
{
    for (int e = 0; e < p->m * p->n; e += 17) {
        double sum = (double)beta * (e % 3);
        for (int l = 0; l < p->k; l++)
            sum += (double)p->a[e / p->n * p->k + l] * (double)p->b[l * p->n + e % p->n];
        if (!((double)p->c[e] == sum))
            return 0;
    }
    return 1;
}

static const int state_sizes[][3] = {{3, 4, 5}, {64, 64, 64}, {300, 200, 250}, {500, 30, 400}};

/* Computes a product of one of four sizes; true if it is right. */
static int state_turn(int turn)
{
    const int *size = state_sizes[turn % 4];
    float beta = (float)(turn / 4 % 3);
    struct state_product p = state_create(size[0], size[1], size[2]);
    state_multiply(&p, beta);
    int right = state_right(&p, beta);
    free(p.a);
    return right;
}

static void state_turns(int count)
{
    int right = 0;
    for (int i = 0; i < count; i++)
        right += state_turn(i);
    XT_CHECK(right == count, "contract 1.1: %d of %d are right", right, count);
}

/* --- errno and the floating-point environment ---------------------------------------------- */

static void state_errno(void)
{
    static const int values[] = {0, ERANGE, EINTR, -1, 12345};
    for (int i = 0; i < 40; i++) {
        struct state_product p = state_create(40 + 10 * i, 70, 80);
        errno = values[i % 5];
        state_multiply(&p, 0.0f);
        XT_CHECK(errno == values[i % 5], "contract 7.1: %d for %d", errno, values[i % 5]);
        free(p.a);
    }
}

/* Calls another name for each number; the library searches for each at its first call. */
static void state_multiply_named(int name)
{
    enum { SIZE = 40 };
    static double a[2 * SIZE * SIZE], b[2 * SIZE * SIZE], c[2 * SIZE * SIZE];
    static const double one[2] = {1, 0};
    switch (name) {
    case 0:
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIZE, SIZE, SIZE, 1, a, SIZE, b,
                    SIZE, 0, c, SIZE);
        break;
    case 1:
        cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIZE, SIZE, SIZE, one, a, SIZE, b,
                    SIZE, one, c, SIZE);
        break;
    case 2:
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, SIZE, SIZE, 1, a, SIZE, 0, c, SIZE);
        break;
    case 3:
        cblas_dsymm(CblasRowMajor, CblasLeft, CblasUpper, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, c,
                    SIZE);
        break;
    case 4:
        cblas_dtrmm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasUnit, SIZE, SIZE, 1, a,
                    SIZE, c, SIZE);
        break;
    default:
        state_turns(1);
    }
}

/* The dynamic linker's errors, pending or returned, stay the program's own. */
static void state_dlerror(void)
{
    char opened[256], looked[256];
    snprintf(opened, sizeof opened, "%s", dlopen("/nowhere/libnone.so", RTLD_NOW) ? "" : dlerror());
    snprintf(looked, sizeof looked, "%s", dlsym(RTLD_DEFAULT, "state_none") ? "" : dlerror());
    for (int i = 0; i < 18; i++) {
        const char *pending = i % 3 ? opened : looked, *held = NULL;
        void *found =
            i % 3 ? dlopen("/nowhere/libnone.so", RTLD_NOW) : dlsym(RTLD_DEFAULT, "state_none");
        if (i % 3 == 2)
            held = dlerror();
        state_multiply_named(i / 3 + i % 3); /* in varying order */
        const char *after = held ? held : dlerror();
        XT_CHECK(!found && after && !strcmp(after, pending), "contract 7.8: %s",
                 after ? after : "nothing");
        XT_CHECK(!dlerror(), "contract 7.8: more than there was");
    }
    state_turns(20);
    XT_CHECK(!dlerror(), "contract 7.8: an error that is not the program's");
}

static void state_rounding(void)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 16; i++) {
        fesetround(modes[i % 4]);
        int right = state_turn(i), after = fegetround();
        fesetround(FE_TONEAREST);
        XT_CHECK(right && after == modes[i % 4], "contract 7.2: mode %d", modes[i % 4]);
    }
}

/* An exact product raises no flag and causes no trap; flags that were raised stay. */
static void state_flags(void)
{
    static const int flags[] = {0, FE_OVERFLOW, FE_INVALID | FE_INEXACT, FE_ALL_EXCEPT};
    for (int i = 0; i < 64; i++) {
        const int *size = state_sizes[i % 4];
        struct state_product p = state_create(size[0], size[1], size[2]);
        feclearexcept(FE_ALL_EXCEPT);
        if (i % 2) {
            feenableexcept(FE_ALL_EXCEPT);
        } else {
            feraiseexcept(flags[i / 4 % 4]);
        }
        state_multiply(&p, 1.0f);
        int raised = fetestexcept(FE_ALL_EXCEPT), traps = fegetexcept();
        fedisableexcept(FE_ALL_EXCEPT);
        XT_CHECK(raised == (i % 2 ? 0 : flags[i / 4 % 4]), "contract 7.2: flags %#x", raised);
        XT_CHECK(traps == (i % 2 ? FE_ALL_EXCEPT : 0), "contract 7.2: traps %#x", traps);
        XT_CHECK(state_right(&p, 1.0f), "contract 7.2: product %d", i);
        free(p.a);
    }
}

/* Traps stay enabled until the process has ended: the report at exit causes none. */
static void state_traps(void)
{
    state_turns(24);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_ALL_EXCEPT);
    XT_CHECK(state_turn(0) && state_turn(2), "contract 7.2: products under traps");
}

/* Subnormal results become zero, and subnormal operands count as zero. */
static void state_flush(void)
{
#if defined(__x86_64__)
    for (int i = 0; i < 16; i++) {
        unsigned before = _mm_getcsr() | (i & 1 ? 0x8000 : 0) | (i & 2 ? 0x40 : 0);
        _mm_setcsr(before);
        int right = state_turn(i);
        unsigned after = _mm_getcsr();
        _mm_setcsr(after & ~0x8040u);
        XT_CHECK(right && ((before ^ after) & 0xffc0) == 0, "contract 7.2: %#x for %#x", after,
                 before);
    }
#endif
    XT_CHECK(fegetround() == FE_TONEAREST, "contract 7.2");
}

/* --- Signals ------------------------------------------------------------------------------- */

static void state_handler(int number)
{
    (void)number;
}

/* Another thread multiplies at the same time: a product that needs a second lane creates it. */
static atomic_bool state_over;

static void *state_beside(void *unused)
{
    sigset_t mask, after;
    sigfillset(&mask);
    sigdelset(&mask, SIGTERM);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    for (int i = 0; !state_over; i++)
        state_turn(i % 3 + 1);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i <= 31; i++)
        if (i != SIGKILL && i != SIGSTOP && sigismember(&mask, i) != sigismember(&after, i))
            return unused;
    return NULL;
}

static void state_signals(void)
{
    enum { SIGNALS = 64 };
    static char stack[1 << 16];
    struct sigaction before[SIGNALS + 1], after;
    sigset_t mask, mask_after;
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack}, now;
    sigaltstack(&own, NULL);
    signal(SIGUSR1, state_handler);
    signal(SIGPIPE, state_handler);
    signal(SIGFPE, SIG_IGN);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigaddset(&mask, SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    memset(before, 0, sizeof before);
    for (int i = 1; i <= SIGNALS; i++)
        sigaction(i, NULL, &before[i]);
    raise(SIGUSR2); /* stays pending */
    pthread_t beside;
    void *other = stack;
    if (pthread_create(&beside, NULL, state_beside, stack) != 0)
        exit(XT_HARD);
    state_turns(48);
    state_over = true;
    pthread_join(beside, &other);
    XT_CHECK(!other, "contract 7.3: the mask of the other thread");
    memset(&after, 0, sizeof after);
    for (int i = 1; i <= SIGNALS; i++) {
        sigaction(i, NULL, &after);
        XT_CHECK(after.sa_handler == before[i].sa_handler && after.sa_flags == before[i].sa_flags,
                 "contract 7.3: the handler of signal %d", i);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    for (int i = 1; i <= SIGNALS; i++)
        XT_CHECK(sigismember(&mask, i) == sigismember(&mask_after, i),
                 "contract 7.3: the mask of signal %d", i);
    sigaltstack(NULL, &now);
    XT_CHECK(now.ss_sp == own.ss_sp && now.ss_size == own.ss_size && now.ss_flags == 0,
             "contract 7.3: the alternative stack");
    sigpending(&mask);
    XT_CHECK(sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGPIPE),
             "contract 7.3: pending signals");
}

static pthread_t state_main;
static volatile sig_atomic_t state_strikes, state_elsewhere;

static void state_strike(int number)
{
    (void)number;
    state_strikes++;
    state_elsewhere += !pthread_equal(pthread_self(), state_main);
}

/* Signals all the time, whose handler restarts no system call. The library's threads get none. */
static void state_storm(void)
{
    const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = state_strike};
    state_main = pthread_self();
    state_turns(4);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    state_turns(60);
    setitimer(ITIMER_REAL, &never, NULL);
    XT_CHECK(state_strikes > 5, "contract 8.6: %d signals", (int)state_strikes);
    XT_CHECK(state_elsewhere == 0, "contract 7.3: %d on other threads", (int)state_elsewhere);
}

/* --- Everything else that a process has ---------------------------------------------------- */

/* Lists the open descriptors from /proc, except the one that reads the list. */
static void state_descriptors(char *text, size_t size)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    size_t at = 0;
    while (folder && (entry = readdir(folder))) {
        char path[300], target[256] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        if (atoi(entry->d_name) == dirfd(folder) || readlink(path, target, sizeof target - 1) < 0)
            continue;
        at += (size_t)snprintf(text + at, size - at, "%s %s\n", entry->d_name, target);
    }
    closedir(folder);
}

static void state_rest(char *text, size_t size)
{
    static const int limits[] = {RLIMIT_AS,    RLIMIT_CORE,    RLIMIT_CPU,   RLIMIT_DATA,
                                 RLIMIT_FSIZE, RLIMIT_MEMLOCK, RLIMIT_NPROC, RLIMIT_STACK};
    char folder[4096] = "", name[17] = "";
    struct sched_param priority;
    struct itimerval timer;
    cpu_set_t cores;
    int policy;
    mode_t mask = umask(0);
    umask(mask);
    CPU_ZERO(&cores);
    pthread_getaffinity_np(pthread_self(), sizeof cores, &cores);
    pthread_getschedparam(pthread_self(), &policy, &priority);
    prctl(PR_GET_NAME, name);
    size_t at = (size_t)snprintf(
        text, size, "folder %s, umask %o, locale %s, cores %d, policy %d %d, nice %d, name %s\n",
        getcwd(folder, sizeof folder), mask, setlocale(LC_ALL, NULL), CPU_COUNT(&cores), policy,
        priority.sched_priority, getpriority(PRIO_PROCESS, 0), name);
    at += (size_t)snprintf(text + at, size - at, "dumpable %d, slack %d, death %d\n",
                           prctl(PR_GET_DUMPABLE), prctl(PR_GET_TIMERSLACK),
                           prctl(PR_GET_PDEATHSIG, &policy));
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit limit;
        getrlimit(limits[i], &limit);
        at += (size_t)snprintf(text + at, size - at, "limit %zu: %ju of %ju\n", i,
                               (uintmax_t)limit.rlim_cur, (uintmax_t)limit.rlim_max);
    }
    for (int i = ITIMER_REAL; i <= ITIMER_PROF; i++) {
        getitimer(i, &timer);
        at +=
            (size_t)snprintf(text + at, size - at, "timer %d: %ld\n", i, timer.it_interval.tv_sec);
    }
    at += (size_t)snprintf(text + at, size - at, "environment %p\n", (void *)environ);
    for (char **entry = environ; *entry && at < size; entry++)
        at += (size_t)snprintf(text + at, size - at, "%p %s\n", (void *)*entry, *entry);
}

static void state_process(void)
{
    static char before[1 << 16], after[1 << 16], files[1 << 16], files_after[1 << 16];
    int numbers[8];
    setlocale(LC_ALL, "C.UTF-8");
    srand(7);
    for (int i = 0; i < 8; i++)
        numbers[i] = rand();
    srand(7);
    state_rest(before, sizeof before);
    state_descriptors(files, sizeof files);
    state_turns(40);
    state_rest(after, sizeof after);
    state_descriptors(files_after, sizeof files_after);
    XT_CHECK(!strcmp(before, after), "contract 7.6: was\n%s--- and is\n%s", before, after);
    XT_CHECK(!strcmp(files, files_after), "contract 7.5: were\n%s--- and are\n%s", files,
             files_after);
    for (int i = 0; i < 8; i++)
        XT_CHECK(rand() == numbers[i], "contract 7.6: rand() was called");
}

/* --- What is held -------------------------------------------------------------------------- */

/* Bytes that malloc has given out; glibc before 2.33 counts them in 32 bits. */
static size_t state_bytes(void)
{
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    struct mallinfo info = mallinfo();
    return (unsigned)info.uordblks + (size_t)(unsigned)info.hblkhd;
#endif
}

enum { STATE_BYTES, STATE_THREADS, STATE_FILES, STATE_HELD };

static void state_count(long held[STATE_HELD])
{
    held[STATE_BYTES] = (long)state_bytes();
    held[STATE_THREADS] = xt_entries("/proc/self/task");
    held[STATE_FILES] = xt_entries("/proc/self/fd");
}

/* After each size was computed once, products leave nothing behind, however many follow. A start
   comes once, whenever it has been earned, and its thread's heap stays: one of two rounds may hold
   more, while what a product leaves behind is in both. */
static void state_held(void)
{
    enum { SEEN = 48, MORE = 480, ROUNDS = 2 };
    static const char *const names[] = {"bytes", "threads", "descriptors"};
    static const long spare[] = {4096, 0, 0};
    long held[ROUNDS + 1][STATE_HELD];
    state_turns(SEEN);
    state_count(held[0]);
    for (int round = 1; round <= ROUNDS; round++) {
        state_turns(MORE);
        state_count(held[round]);
    }
    for (int i = 0; i < STATE_HELD; i++) {
        long first = held[1][i] - held[0][i], second = held[2][i] - held[1][i];
        XT_CHECK(first <= spare[i] || second <= spare[i], "contract 10.1: %ld and %ld %s more",
                 first, second, names[i]);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"errno", state_errno},     {"rounding", state_rounding}, {"flags", state_flags},
    {"traps", state_traps},     {"flush", state_flush},       {"signals", state_signals},
    {"storm", state_storm},     {"held", state_held},         {"process", state_process},
    {"dlerror", state_dlerror},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (argc > 1 && !strcmp(argv[1], scenarios[i].name)) {
            scenarios[i].run();
            return xt_done();
        }
    return XT_HARD;
}
