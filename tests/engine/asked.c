/* SPDX-License-Identifier: MIT */
/* The policy decides about products that stay on the CPU: it makes no system call, and a signal
 * handler may jump out of it. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "scenario.h"
#include "src/base/clock.h"
#include "src/base/conf.h"
#include "src/dispatch.h"
#include "src/engine/engine.h"
#include "src/host/tally.h"
#include "tests/support/filter.h"
#include "tests/support/guarded.h"
#include "tests/support/typed.h"

enum { M = 122, N = 63, K = 95, BEFORE = 200, PRODUCTS = 300, SLOW = 2000, JUMPS = 4000 };

static volatile sig_atomic_t calls, number;

static void count_call(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    calls++;
    number = info->si_syscall;
}

/* The call that pause() makes. */
#ifdef SYS_pause
#define PAUSE SYS_pause
#else
#define PAUSE SYS_ppoll
#endif

/* From now on system calls of this thread are counted and not made. Exceptions are reads of the
 * clock, for which some machines have no other way, and calls that wait for the end of the process.
 * False: the system has no filters, or a sanitizer makes calls of its own. */
static bool trap_calls(void)
{
#ifdef XG_SANITIZED
    return false;
#endif
    static struct sock_filter rules[] = {
        FILTER_NUMBER,
        FILTER_ALLOW(SYS_clock_gettime),
        FILTER_ALLOW(SYS_rt_sigreturn),
        FILTER_ALLOW(PAUSE),
        FILTER_ALLOW(SYS_futex),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof rules[0], rules};
    struct sigaction action = {.sa_sigaction = count_call, .sa_flags = SA_SIGINFO};
    return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static atomic_long computed;

static void whole(void *ctx)
{
    (void)ctx;
    double begin = xg_clock_s();
    computed++;
    while (xg_clock_s() - begin < 20e-6)
        ;
}

static void at_once(void *ctx)
{
    (void)ctx;
    computed++;
}

static void part(void *ctx, const struct xg_problem *of)
{
    (void)ctx, (void)of;
}

/* The policy decides about each of these products; no decision is remembered. */
static void multiply(void (*compute)(void *ctx), int times)
{
    static float a[M * K], b[K * N];
    static _Thread_local float c[M * N];
    const struct xg_problem call = xt_problem(XG_TYPE_S, M, N, K, false, false, a, b, c);
    const struct xg_cpu cpu = {
        .whole = compute, .part = part, .threads = fx_sixteen, .own_pool = true};
    for (int i = 0; i < times; i++)
        xg_dispatch(&(struct xg_call){.symbol = "test_sgemm", .problem = &call}, &cpu);
}

static sem_t counted;
static bool trapped;

/* Never returns: the filter also traps the system calls that end a thread or the process. */
static void *count_on(void *unused)
{
    multiply(whole, BEFORE); /* the policy examines the machine and the library's threads */
    computed = 0;
    trapped = trap_calls();
    multiply(at_once, PRODUCTS);
    sem_post(&counted);
    for (;;)
        pause();
    return unused;
}

static void count(void)
{
    XT_CHECK(xg_dispatch_wants(XG_KIND_SGEMM, M, N, K), "not wanted");
    sem_init(&counted, 0, 0);
    xt_thread_start(count_on, NULL);
    while (sem_wait(&counted))
        ;
    XT_CHECK(calls == 0, "%d system calls, the last is number %d", (int)calls, (int)number);
    XT_CHECK(computed == PRODUCTS, "%ld of %d on the CPU", computed, PRODUCTS);
    if (!trapped)
        fputs("no filters of system calls here, or a sanitizer: none was counted\n", stdout);
}

static void cold(void)
{
    fx_watchdog();
    count();
}

static void ready(void)
{
    fx_watchdog();
    XT_CHECK(xg_engine_wait(xg_conf_get()) == XG_ENGINE_READY, "no engine");
    count();
}

/* Other threads multiply while signal handlers jump out of this thread's products, most often out
 * of the policy: the CPU's part of a product takes no time here. */
static atomic_bool armed, ended;

static void *multiply_on(void *unused)
{
    while (!ended)
        multiply(whole, 1);
    return unused;
}

static sigjmp_buf out;
static _Atomic long jumps, nested;

/* Every second signal handler multiplies and returns; the others jump out. */
static void leave(int signal)
{
    if (jumps++ % 2)
        siglongjmp(out, signal);
    nested++;
    multiply(at_once, 1);
}

static void slowly(void *ctx)
{
    const double takes_s = 2e-3, begin_s = xg_clock_s();
    whole(ctx);
    while (xg_clock_s() - begin_s < takes_s)
        ;
}

/* The policy still learns: later products move to the GPU if it is faster. With a sanitizer the
 * fake GPU is slower than the CPU. */
static void check_decides(void)
{
    if (fx_short())
        return;
    computed = 0;
    int products = 0;
    while (products == computed && products < SLOW) {
        multiply(slowly, 1);
        products++;
    }
    XT_CHECK(products > computed, "all %d on the CPU", products);
}

static bool may_be_cancelled(void)
{
    int state, type;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    return state == PTHREAD_CANCEL_ENABLE && type == PTHREAD_CANCEL_DEFERRED;
}

static void check_left_nothing(void)
{
    XT_CHECK(may_be_cancelled(), "no cancellation");
    for (int which = 0; which < XG_TALLY_COUNT; which++)
        XT_CHECK(xg_tally_all((enum xg_tally)which) == 0, "%d: %d are under way", which,
                 xg_tally_all((enum xg_tally)which));
}

static void *disturb(void *thread)
{
    while (!ended) {
        fx_nap_us(30);
        if (armed)
            pthread_kill(*(pthread_t *)thread, SIGUSR1);
    }
    return NULL;
}

static volatile long immortal; /* jumps after which the thread could not be cancelled */

static void left(void)
{
    pthread_t self = pthread_self();
    fx_watchdog();
    XT_CHECK(xg_engine_wait(xg_conf_get()) == XG_ENGINE_READY, "no engine");
    multiply(whole, BEFORE);
    signal(SIGUSR1, leave);
    const pthread_t other = xt_thread_start(multiply_on, NULL);
    const pthread_t disturber = xt_thread_start(disturb, &self);
    if (sigsetjmp(out, 1))
        immortal += !may_be_cancelled();
    armed = true;
    while (jumps < JUMPS)
        multiply(at_once, 1);
    signal(SIGUSR1, SIG_IGN);
    ended = true;
    pthread_join(disturber, NULL);
    pthread_join(other, NULL);
    XT_CHECK(nested >= JUMPS / 4, "%ld multiplied", nested);
    XT_CHECK(immortal == 0, "no cancellation after %ld of %ld", immortal, (long)jumps);
    multiply(at_once, 1);
    check_left_nothing();
    check_decides();
}

/* A product in a signal handler may allocate memory, for example in a thread's first driver call.
 * Programs have such handlers, whether that is legal or not. */
const char *__tsan_default_options(void) __attribute__((visibility("default")));
const char *__tsan_default_options(void)
{
    return "report_signal_unsafe=0";
}

static const struct fx_scenario scenarios[] = {
    {"cold", cold, "XGEMM_MODE=auto", NULL, NULL},
    {"ready", ready, "XGEMM_MODE=auto", NULL, NULL},
    {"left", left, "XGEMM_MODE=auto", NULL, NULL},
    {"left_told", left, "XGEMM_MODE=auto XGEMM_STATS=1", "products", NULL},
};

FX_SCENARIO_MAIN(scenarios)
