/* SPDX-License-Identifier: MIT */
/*
 * Products of a process that forbids itself system calls, or the processor's clock:
 *
 * sandbox HOW PRODUCTS SECONDS
 *
 * HOW: "prctl", "syscall" and "both" (syscall(SYS_prctl)) set a filter that kills, "all" sets one
 * for all threads, "strict" allows read and write, "tsc" makes reading the clock a fault,
 * "dispatch" makes each system call a signal that kills, "query" asks for filters and sets some
 * that the kernel refuses, "fork" is "prctl" with a child that multiplies too, "none" does nothing.
 * PRODUCTS products come before that. After it the first thread and a second one multiply for
 * SECONDS; without a clock the first one multiplies thirty times. Prints "right" if all are right.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "tests/support/filter.h"

void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                 float *, int);

enum { LARGEST = 700 };
static float ones[LARGEST * LARGEST];

static int product(int n, float *c)
{
    memset(c, 0xff, (size_t)n * (size_t)n * sizeof *c);
    cblas_sgemm(101, 111, 111, n, n, n, 1, ones, n, ones, n, 0, c, n);
    for (long i = 0; i < (long)n * n; i++)
        if (!(c[i] == (float)n))
            return 1;
    return 0;
}

/* --- The sandbox ---------------------------------------------------------------------------- */

/* The system calls of libc's threads and fork, and of OpenBLAS. None of them asks for the process,
 * a mask of signals, a file or the time. */
static struct sock_filter code[] = {
    FILTER_NUMBER,
    FILTER_ALLOW(SYS_write),
    FILTER_ALLOW(SYS_exit),
    FILTER_ALLOW(SYS_exit_group),
    FILTER_ALLOW(SYS_futex),
    FILTER_ALLOW(SYS_sched_yield),
    FILTER_ALLOW(SYS_mmap),
    FILTER_ALLOW(SYS_munmap),
    FILTER_ALLOW(SYS_mprotect),
    FILTER_ALLOW(SYS_madvise),
    FILTER_ALLOW(SYS_mbind),
    FILTER_ALLOW(SYS_brk),
    FILTER_ALLOW(SYS_clone),
    FILTER_ALLOW(SYS_wait4),
    FILTER_ALLOW(SYS_set_robust_list),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_fprog filter = {sizeof code / sizeof code[0], code};

static int is(const char *how, const char *what)
{
    return !strcmp(how, what);
}

static volatile char dispatches; /* system calls become signals while it is 1 */

/* Returns nonzero if this kernel refuses. */
static long set_sandbox(const char *how)
{
    if (is(how, "none"))
        return 0;
    if (is(how, "tsc"))
        return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    if (is(how, "dispatch")) /* by its number: headers may be older */
        return prctl(59, 1, 0, 0, &dispatches);
    if (is(how, "strict"))
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    if (is(how, "query")) {
        unsigned action = SECCOMP_RET_KILL_PROCESS;
        int tsc;
        return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0 || prctl(PR_GET_TSC, &tsc, 0, 0, 0) != 0 ||
               syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0 ||
               prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == 0 ||
               syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == 0;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return 1;
    if (is(how, "prctl") || is(how, "fork"))
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
    if (is(how, "both"))
        return syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                   is(how, "all") ? SECCOMP_FILTER_FLAG_TSYNC : 0, &filter);
}

/* --- Products in the sandbox ---------------------------------------------------------------- */

static float c_first[LARGEST * LARGEST], c_second[LARGEST * LARGEST];
static double seconds;

static int products(float *c)
{
    int wrong = 0, count = 0;
    for (double end_s = xg_clock_s() + seconds; xg_clock_s() < end_s; count++)
        wrong += product(100 + count % 7 * 100, c);
    return wrong + (count == 0);
}

/* Counts products, because there is no clock. */
static int counted_products(float *c)
{
    int wrong = 0;
    for (int count = 0; count < 30; count++)
        wrong += product(70 + count % 3 * 20, c);
    return wrong;
}

static void *second(void *go)
{
    while (!__atomic_load_n((int *)go, __ATOMIC_ACQUIRE))
        ;
    return (void *)(long)products(c_second);
}

static int child_products(void)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0)
        _exit(products(c_first) != 0);
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

static int say(int wrong)
{
    const char *said = wrong ? "wrong\n" : "right\n";
    return write(1, said, 6) != 6 || wrong;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 99;
    const char *how = argv[1];
    int go = 0, wrong = 0, before = atoi(argv[2]);
    pthread_t thread;
    void *result = NULL;
    seconds = atof(argv[3]);
    for (long i = 0; i < (long)LARGEST * LARGEST; i++)
        ones[i] = 1;
    int clockless = is(how, "tsc") || is(how, "strict") || is(how, "dispatch");
    for (int i = 0; i < before; i++)
        wrong += product(clockless ? 110 : LARGEST, c_first);

    /* The end of a thread makes system calls that the filter does not allow. */
    int alone = clockless || is(how, "all");
    if (!alone && pthread_create(&thread, NULL, second, &go))
        return 99;
    if (set_sandbox(how))
        return 77;
    if (clockless) {
        dispatches = 1;
        wrong += counted_products(c_first);
        dispatches = 0;
        int status = say(wrong);
        if (is(how, "strict")) /* it allows no exit_group */
            syscall(SYS_exit, status);
        return status;
    }
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    wrong += products(c_first);
    if (!alone)
        pthread_join(thread, &result);
    if (is(how, "fork")) /* OpenBLAS does not support a fork during a product */
        wrong += child_products();
    wrong = say(wrong + (result != NULL));
    /* Skips exit handlers: a driver's ask for the process, and OpenBLAS's end its threads. */
    if (getenv("SANDBOX_EXIT") || is(how, "all"))
        _exit(wrong);
    return wrong;
}
