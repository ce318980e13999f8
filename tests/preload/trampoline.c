/* SPDX-License-Identifier: MIT */
/*
 * Sets up libblastrampoline before main, as Julia does, for any program of the preload tests:
 *   XT_BEHIND   files for lbt_forward, separated by spaces
 *   XT_GEMMT    a library with GEMMT and GEMMTR, of XT_WIDTH bits, which lbt_set_forward gets
 *   XT_SHIM     the library, opened here
 *   XT_LEAD     whether its functions are set: `all` by xgemm_lbt_forward, `single` by
 *               lbt_set_forward; otherwise they are not
 * With TRAMPOLINE_MAIN a program of its own:
 *   trampoline again FILE   lbt_forward of FILE, xgemm_lbt_forward after it, and off
 *   trampoline threads      products in threads while the functions are set and given back
 *   trampoline code         a call from code that was made at run time
 *   trampoline batch        the C interface's batch
 *   trampoline refused      lbt_forward of this library
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>

#include "tests/support/threads.h"
#include "tests/support/xt.h"
#include "trampolines.h"

const void *lbt_get_default_func(void);

static const char *const names[] = {
#define NAME(name) #name,
    LBT_OURS(NAME)};
enum { NAMES = sizeof names / sizeof names[0] };

static void *shim;

static void *function_of(void *handle, const char *name, int32_t width)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", name, width == ILP64 ? "64_" : "");
    return dlsym(handle, text);
}

static int has_forward(const char *name, int32_t width)
{
    const void *now = lbt_get_forward(name, width, 0);
    return now && now != (const void *)-1 && now != lbt_get_default_func();
}

/* Returns how many functions lead to the library, or were given back. */
static int lead(int on)
{
    typedef int forward(const void *get, const void *set, int on);
    forward *function = (forward *)dlsym(shim, "xgemm_lbt_forward");
    if (!function)
        exit(XT_HARD);
    return function((const void *)lbt_get_forward, (const void *)lbt_set_forward, on);
}

static void lead_single(void)
{
    for (int i = 0; i < NAMES; i++)
        for (int width = LP64; width <= ILP64; width += ILP64 - LP64)
            if (has_forward(names[i], width))
                lbt_set_forward(names[i], function_of(shim, names[i], width), width, 0, 0, 0);
}

static void add_gemmt(const char *file, int32_t width)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; handle && i < NAMES; i++)
        if (strstr(names[i], "gemmt"))
            lbt_set_forward(names[i], dlsym(handle, names[i]), width, 0, 0, 0);
}

__attribute__((constructor)) static void set_up(void)
{
    char behind[1024], *rest;
    const char *mode = getenv("XT_LEAD"), *gemmt = getenv("XT_GEMMT"), *file = getenv("XT_SHIM");
    int wanted = 0, clear = 1;
    snprintf(behind, sizeof behind, "%s", getenv("XT_BEHIND") ? getenv("XT_BEHIND") : "");
    for (char *at = strtok_r(behind, " ", &rest); at; at = strtok_r(NULL, " ", &rest), clear = 0)
        if (!lbt_forward(at, clear, 0, NULL))
            exit(XT_HARD);
    if (gemmt && *gemmt)
        add_gemmt(gemmt, atoi(getenv("XT_WIDTH")));
    shim = file ? dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND) : NULL; /* as Julia does */
    if (!mode || !shim)
        return;
    for (int i = 0; i < NAMES; i++)
        wanted += has_forward(names[i], LP64) + has_forward(names[i], ILP64);
    if (!strcmp(mode, "single"))
        lead_single();
    else if (lead(1) != wanted)
        exit(XT_HARD);
}

#ifdef TRAMPOLINE_MAIN

/* --- Products and routines in both widths ----------------------------------------------------- */

typedef void routine(const void *, ...);
routine dgemm_, dgemm_64_, dpotrf_64_;

enum { N = 96 };

/* Whether C = A A is right, where A has 2 on its diagonal and 1 beside it. */
static int multiplies(int32_t width)
{
    double *a = xt_alloc(N * N, sizeof *a), *c = xt_alloc(N * N, sizeof *c), one = 1, zero = 0;
    int32_t n = N;
    int64_t n64 = N;
    int right = 1;
    for (int i = 0; i < N * N; i++)
        a[i] = i % (N + 1) == 0 ? 2 : i % (N + 1) == 1 && i % N;
    if (width == LP64)
        dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n, (size_t)1, (size_t)1);
    else
        dgemm_64_("N", "N", &n64, &n64, &n64, &one, a, &n64, a, &n64, &zero, c, &n64, (size_t)1,
                  (size_t)1);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            right &= c[i * N + j] == (i == j ? 4 : j == i + 1 ? 4 : j == i + 2 ? 1 : 0);
    free(a);
    free(c);
    return right;
}

static void check_both(const char *what)
{
    XT_CHECK(multiplies(LP64), "%s, 32 bits", what);
    XT_CHECK(multiplies(ILP64), "%s, 64 bits", what);
}

/* How many calls of a name the library's account has. */
static int counted(const char *name)
{
    typedef size_t text(char *to, size_t bytes);
    static char account[1 << 16];
    int calls = 0;
    ((text *)dlsym(shim, "xgemm_account_text"))(account, sizeof account);
    char *at = strstr(account, name);
    if (at)
        sscanf(at + strlen(name), " %*s %d", &calls);
    return calls;
}

static void test_again(const char *file)
{
    const int all = lead(1);
    const void *ours = lbt_get_forward("dgemm_", LP64, 0);
    check_both("at first");
    XT_CHECK(ours == dlsym(shim, "dgemm_"), "dgemm_ is another");
    XT_CHECK(counted(" dgemm_ ") == 1 && counted(" dgemm_64_ ") == 1, "%d and %d calls",
             counted(" dgemm_ "), counted(" dgemm_64_ "));
    XT_CHECK(lead(1) == all && all > 0, "set twice: %d and not %d", lead(1), all);

    XT_CHECK(lbt_forward(file, 0, 0, NULL) > 0, "lbt_forward fails");
    const void *second = lbt_get_forward("dgemm_", LP64, 0);
    check_both("after lbt_forward");
    XT_CHECK(second != ours && counted(" dgemm_ ") == 1 && counted(" dgemm_64_ ") == 2,
             "%d and %d calls after lbt_forward", counted(" dgemm_ "), counted(" dgemm_64_ "));
    XT_CHECK(lead(1) == all, "%d and not %d", lead(1), all);
    check_both("set again");
    XT_CHECK(counted(" dgemm_ ") == 2 && counted(" dgemm_64_ ") == 3, "%d and %d calls",
             counted(" dgemm_ "), counted(" dgemm_64_ "));

    XT_CHECK(lead(0) == all, "not all are given back");
    XT_CHECK(lbt_get_forward("dgemm_", LP64, 0) == second, "another dgemm_ is given back");
    check_both("given back");
    XT_CHECK(counted(" dgemm_ ") == 2 && lead(0) == 0, "given back twice");
}

/* --- Threads --------------------------------------------------------------------------------- */

static _Atomic int ended, done;

static void *multiply(void *wrong)
{
    for (; !ended; done++)
        *(int *)wrong += !multiplies(LP64) + !multiplies(ILP64);
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 6, TURNS = 60 };
    int wrong[THREADS] = {0};
    struct xt_threads threads = xt_threads_start(THREADS, multiply, wrong, sizeof wrong[0]);
    XT_CHECK(lead(1) > 0, "none is set");
    for (int begun = done + THREADS; done <= begun;) /* until a product has begun and ended so */
        sched_yield();
    for (int turn = 0; turn < TURNS; turn++)
        XT_CHECK(lead(turn % 2 == 0) > 0, "turn %d", turn);
    ended = 1;
    xt_threads_join(&threads);
    for (int i = 0; i < THREADS; i++)
        XT_CHECK(!wrong[i], "thread %d: %d wrong answers", i, wrong[i]);
    XT_CHECK(counted(" dgemm_ ") > 0, "the library has seen none");
}

/* --- Other calls ------------------------------------------------------------------------------ */

/* Calls dpotrf_64_, all of whose arguments are in registers. */
static void check_factor(const void *function, const char *what)
{
    double a[4] = {4, 2, 2, 5};
    int64_t n = 2, info = -1;
    ((void (*)(const char *, void *, void *, void *, void *, size_t))function)("L", &n, a, &n,
                                                                               &info, 1);
    XT_CHECK(info == 0 && a[0] == 2 && a[1] == 1 && a[3] == 2, "%s: info %d", what, (int)info);
}

/* The caller is in no object, as Julia's compiled code is. The second code hides that it calls. */
static void test_code(void)
{
    check_factor((const void *)dpotrf_64_, "from the program");
#ifdef __x86_64__
    static const struct {
        const char *what, *bytes;
        size_t count;
    } codes[] = {{"by call", "\xff\xd0", 2},
                 {"by jump",
                  "\x4c\x8d\x15\x04\0\0\0" /* lea after(%rip),%r10 */
                  "\x41\x52\xff\xe0",      /* push %r10; jmp *%rax */
                  11}};
    const void *function = (const void *)dpotrf_64_;
    for (int i = 0; i < 2; i++) {
        char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
        if (at == MAP_FAILED)
            exit(XT_HARD);
        memcpy(at, "\x48\x83\xec\x08\x48\xb8", 6); /* sub $8,%rsp; mov $function,%rax */
        memcpy(at + 6, &function, sizeof function);
        memcpy(at + 14, codes[i].bytes, codes[i].count);
        memcpy(at + 14 + codes[i].count, "\x48\x83\xc4\x08\xc3", 5); /* add $8,%rsp; ret */
        check_factor(at, codes[i].what);
    }
#endif
}

#define TWO_PRODUCTS(function, integer)                                                            \
    do {                                                                                           \
        const integer m = 2, size = 2;                                                             \
        const int trans = 111;                                                                     \
        const double x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8}, one = 1, zero = 0;                  \
        const double *a[2] = {x, y}, *b[2] = {y, x};                                               \
        double r[4] = {0}, s[4] = {0}, *c[2] = {r, s};                                             \
        function((const void *)(uintptr_t)101, &trans, &trans, &m, &m, &m, &one, a, &m, b, &m,     \
                 &zero, c, &m, (int64_t)1, &size);                                                 \
        XT_CHECK(r[0] == 19 && r[3] == 50 && s[0] == 23 && s[3] == 46, #integer ": %g %g", r[0],   \
                 s[0]);                                                                            \
    } while (0)

/* Old releases of libblastrampoline lack the batch. */
static void test_batch(const char *const files[2])
{
    static const char name[] = "cblas_dgemm_batch";
    for (int wide = 0; wide < 2 && lbt_get_forward(name, LP64, 0) != (const void *)-1; wide++) {
        const int32_t width = wide ? ILP64 : LP64;
        lbt_set_forward(name, dlsym(dlopen(files[wide], RTLD_NOW), name), width, 0, 0, 0);
        XT_CHECK(lead(1) > 0 && lbt_get_forward(name, width, 0) == function_of(shim, name, width),
                 "the batch leads elsewhere");
        routine *batch = (routine *)function_of(RTLD_DEFAULT, name, width);
        if (wide)
            TWO_PRODUCTS(batch, int64_t);
        else
            TWO_PRODUCTS(batch, int32_t);
    }
    check_both("beside a batch");
}

static void test_refused(void)
{
    const void *before = lbt_get_forward("dgemm_", LP64, 0);
    XT_CHECK(lbt_forward(getenv("XT_SHIM"), 0, 0, NULL) == 0, "lbt_forward takes this library");
    XT_CHECK(lbt_get_forward("dgemm_", LP64, 0) == before, "and has changed the table");
    check_both("refused");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    void (*keep)(void) = shim ? (void (*)(void))dlsym(shim, "xgemm_account_keep") : NULL;
    if (keep)
        keep();
    if (!strcmp(what, "again") && argc > 2)
        test_again(argv[2]);
    else if (!strcmp(what, "threads"))
        test_threads();
    else if (!strcmp(what, "code"))
        test_code();
    else if (!strcmp(what, "batch") && argc > 3)
        test_batch((const char *const *)argv + 2);
    else if (!strcmp(what, "refused"))
        test_refused();
    else
        return XT_HARD;
    return xt_done();
}
#endif
