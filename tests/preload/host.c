/* SPDX-License-Identifier: MIT */
/*
 * A program that does unusual things around its products: loads libraries whose constructors
 * multiply, cancels threads, catches faults on operands, sets a rounding mode. It prints the same
 * whether the CPU or the GPU computes. Compiled by the preload tests; with HOST_PLUGIN as the
 * library that it loads. usage: host constructor|inversion PLUGIN | cancel | fault | rounding |
 * bits | limit
 */
#include <cblas.h>
#include <dlfcn.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/xt.h"

/* Defined by the program; the plug-in's constructor calls it before it multiplies. */
void host_loading(void);

static void *host_alloc(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        exit(XT_HARD);
    return p;
}

struct host_product {
    int m, n, k;
    float *a, *b, *c; /* (m, k), (k, n), (m, n), row-major */
};

/* A and B are ones; C is NaN, which no product gives. */
static struct host_product host_product(int m, int n, int k)
{
    struct host_product p = {.m = m, .n = n, .k = k};
    p.a = host_alloc((size_t)(m * k) * sizeof(float));
    p.b = host_alloc((size_t)(k * n) * sizeof(float));
    p.c = host_alloc((size_t)(m * n) * sizeof(float));
    for (int i = 0; i < m * k; i++)
        p.a[i] = 1.0f;
    for (int i = 0; i < k * n; i++)
        p.b[i] = 1.0f;
    for (int i = 0; i < m * n; i++)
        p.c[i] = NAN;
    return p;
}

/* Inlined, so that each use is a call site of its own. */
__attribute__((always_inline)) static inline void host_multiply(const struct host_product *p,
                                                                float alpha, float beta)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->m, p->n, p->k, alpha, p->a, p->k,
                p->b, p->n, beta, p->c, p->n);
}

static void host_report(const char *what, const struct host_product *p, float expected)
{
    int wrong = 0;
    for (int i = 0; i < p->m * p->n; i++)
        wrong += !(p->c[i] == expected);
    printf("%s: %s\n", what, wrong ? "wrong" : "right");
    fflush(stdout);
}

#ifdef HOST_PLUGIN

__attribute__((constructor)) static void plugin_begin(void)
{
    struct host_product p = host_product(100, 100, 100);
    host_loading();
    host_multiply(&p, 1.0f, 0.0f);
    host_report("constructor", &p, 100.0f);
}

#else

/* --- Constructors of libraries, run by dlopen with the dynamic linker's lock held ---------- */

static sem_t loading;
static int loading_rest_us;

void host_loading(void)
{
    sem_post(&loading);
    sem_post(&loading);
    usleep((useconds_t)loading_rest_us);
}

static void load(const char *plugin)
{
    if (!dlopen(plugin, RTLD_NOW)) {
        fprintf(stderr, "%s\n", dlerror());
        exit(XT_HARD);
    }
}

__attribute__((noinline)) static void *multiply(void *product)
{
    host_multiply(product, 1.0f, 0.0f);
    return NULL;
}

static void *multiply_at_known_site(void *product)
{
    sem_wait(&loading);
    return multiply(product);
}

static void *multiply_at_new_site(void *product)
{
    sem_wait(&loading);
    host_multiply(product, 1.0f, 0.0f);
    return NULL;
}

/*
 * While the constructor rests, two threads make the first products that are not tiny. They must
 * hold no lock that the constructor's product needs: dlopen holds the linker's lock.
 */
static void inversion(const char *plugin)
{
    pthread_t known, fresh;
    struct host_product tiny = host_product(4, 4, 4), p = host_product(100, 100, 100),
                        q = host_product(100, 100, 100);
    loading_rest_us = 300000;
    multiply(&tiny);
    if (pthread_create(&known, NULL, multiply_at_known_site, &p) != 0 ||
        pthread_create(&fresh, NULL, multiply_at_new_site, &q) != 0)
        exit(XT_HARD);
    load(plugin);
    pthread_join(known, NULL);
    pthread_join(fresh, NULL);
    host_report("known call site", &p, 100.0f);
    host_report("new call site", &q, 100.0f);
}

/* --- Threads ------------------------------------------------------------------------------- */

/* A product is no cancellation point: it completes, and pthread_testcancel ends the thread. */
static void *multiply_cancelled(void *product)
{
    pthread_cancel(pthread_self());
    host_multiply(product, 1.0f, 0.0f);
    pthread_testcancel();
    return product;
}

static void cancel(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *result;
        struct host_product p = host_product(300, 300, 300);
        if (pthread_create(&thread, NULL, multiply_cancelled, &p) != 0)
            exit(XT_HARD);
        pthread_join(thread, &result);
        host_report(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled", &p, 300.0f);
        p = host_product(300, 300, 300);
        host_multiply(&p, 1.0f, 0.0f);
        host_report("after it", &p, 300.0f);
    }
}

/* A deep product of random numbers. Its bits depend on the library and on its order of addition. */
static void bits(void)
{
    enum { THREADS = 4, ROUNDS = 2, SIDE = 64, DEPTH = 32768 };
    uint64_t seed = 1;
    struct host_product p[1 + THREADS];
    pthread_t thread[THREADS];
    p[0] = host_product(SIDE, SIDE, DEPTH);
    for (int i = 0; i < SIDE * DEPTH; i++)
        p[0].a[i] = xt_random(&seed), p[0].b[i] = xt_random(&seed);
    host_multiply(&p[0], 1.0f, 0.0f);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++) {
            p[1 + i] = p[0];
            p[1 + i].c = host_alloc(SIDE * SIDE * sizeof(float));
            if (pthread_create(&thread[i], NULL, multiply, &p[1 + i]) != 0)
                exit(XT_HARD);
        }
        int same = 0;
        for (int i = 0; i < THREADS; i++) {
            pthread_join(thread[i], NULL);
            same += !memcmp(p[0].c, p[1 + i].c, SIDE * SIDE * sizeof(float));
        }
        printf("%d of %d threads have the same bits\n", same, THREADS);
    }
}

/* --- Faults and rounding ------------------------------------------------------------------- */

static uintptr_t page_bytes;

static void open_page(int number, siginfo_t *info, void *context)
{
    char *page = (char *)((uintptr_t)info->si_addr & ~(page_bytes - 1));
    (void)number, (void)context;
    if (mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
        _exit(XT_HARD);
}

/* Operands become readable when they are touched, as with a user-space pager. */
static void fault(void)
{
    struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO};
    struct host_product p = host_product(2048, 64, 512);
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigaction(SIGSEGV, &action, NULL);
    mprotect(p.a, 2048 * 512 * sizeof(float), PROT_NONE);
    host_multiply(&p, 1.0f, 0.0f);
    host_report("paged in", &p, 512.0f);
}

/* A is 0, so each element of C is beta times the old one, rounded. */
static void rounding(void)
{
    static const struct {
        const char *name;
        int mode;
    } modes[] = {{"nearest", FE_TONEAREST}, {"up", FE_UPWARD}, {"down", FE_DOWNWARD}};
    volatile float beta = 0.3f, old = 0.1f;
    struct host_product p = host_product(2048, 512, 2);
    memset(p.a, 0, 2048 * 2 * sizeof(float));
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        for (int j = 0; j < p.m * p.n; j++)
            p.c[j] = old;
        fesetround(modes[i].mode);
        float expected = beta * old;
        host_multiply(&p, 1.0f, beta);
        int after = fegetround();
        fesetround(FE_TONEAREST);
        printf("%s, %a\n", after == modes[i].mode ? "mode kept" : "mode lost", (double)expected);
        host_report(modes[i].name, &p, expected);
    }
}

static sem_t go_on;

static void *multiply_later(void *product)
{
    struct host_product *p = product;
    sem_wait(&go_on);
    host_multiply(p, 1.0f, 0.0f);
    return NULL;
}

/* A thread that was created before multiplies when the process may take no more memory. The test
 * uses up malloc's rest too, so that a thread's first use of a library can allocate nothing. */
static void limit(void)
{
    static const struct rlimit none = {0, RLIM_INFINITY};
    struct host_product first = host_product(256, 256, 256), later = host_product(256, 256, 256);
    struct host_product overlapping = host_product(256, 256, 256);
    pthread_t thread;
    sem_init(&go_on, 0, 0);
    if (pthread_create(&thread, NULL, multiply_later, &later))
        exit(XT_HARD);
    /* The CPU library waits until it gets memory of its own. An overlapping product, which always
     * runs on the CPU, makes it allocate that memory now. */
    overlapping.c = overlapping.a;
    host_multiply(&overlapping, 1.0f, 0.0f);
    host_multiply(&first, 1.0f, 0.0f);
    host_report("before", &first, 256.0f);
    fflush(stdout);
    setrlimit(RLIMIT_AS, &none);
    for (size_t bytes = 1 << 20; bytes >= 16; bytes /= 2)
        while (malloc(bytes))
            continue;
    sem_post(&go_on);
    pthread_join(thread, NULL);
    setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    host_report("later", &later, 256.0f);
}

int main(int argc, char **argv)
{
    const char *scenario = argc > 1 ? argv[1] : "", *operand = argc > 2 ? argv[2] : "";
    sem_init(&loading, 0, 0);
    if (!strcmp(scenario, "constructor"))
        load(operand);
    else if (!strcmp(scenario, "inversion"))
        inversion(operand);
    else if (!strcmp(scenario, "cancel"))
        cancel();
    else if (!strcmp(scenario, "fault"))
        fault();
    else if (!strcmp(scenario, "rounding"))
        rounding();
    else if (!strcmp(scenario, "bits"))
        bits();
    else if (!strcmp(scenario, "limit"))
        limit();
    else
        return XT_HARD;
    printf("end\n");
    return 0;
}

#endif
