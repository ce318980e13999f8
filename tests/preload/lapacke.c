/* SPDX-License-Identifier: MIT */
/*
 * With LIBRARY a LAPACK without locks: dgesv_, with LAPACKE's function of it, which
 * calls it by its Fortran name as LAPACKE does in OpenBLAS and in the reference library; and
 * dgelsd_, which only calls lapacke_leave. Without, a program that is linked to that library.
 * usage: lapacke both    solves systems in both layouts
 *        lapacke jump    a handler of SIGALRM leaves the routine on the CPU by siglongjmp; the exit
 *                        does not wait for it
 *        lapacke squares siglongjmp leaves least squares in the library's own routine; no memory
 *                        stays
 *        lapacke ends    threads leave them by siglongjmp, cancellation or pthread_exit, and end
 *        lapacke held    a signal leaves least squares that need no such routine
 *
 * Prints "right" if every check passed.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "tests/support/xt.h"

enum { ROW_MAJOR = 101, COLUMN_MAJOR };

int LAPACKE_dgesv(int layout, int n, int k, double *a, int lda, int *pivots, double *b, int ldb);
void dgelsd_(const int *m, const int *n, const int *k, double *a, const int *lda, double *b,
             const int *ldb, double *s, const double *rcond, int *rank, double *work,
             const int *lwork, int *iwork, int *info);

/* dgelsd_ calls it, and so does dgesv_ if it is set. */
extern void (*lapacke_leave)(void);

#ifdef LIBRARY

void (*lapacke_leave)(void);

void dgelsd_(const int *m, const int *n, const int *k, double *a, const int *lda, double *b,
             const int *ldb, double *s, const double *rcond, int *rank, double *work,
             const int *lwork, int *iwork, int *info)
{
    (void)m, (void)n, (void)k, (void)a, (void)lda, (void)b, (void)ldb, (void)s, (void)rcond;
    (void)rank, (void)work, (void)lwork, (void)iwork, (void)info;
    lapacke_leave();
}

static void swap_rows(double *a, int ld, int columns, int one, int other)
{
    for (int j = 0; j < columns; j++) {
        double kept = a[j * ld + one];
        a[j * ld + one] = a[j * ld + other];
        a[j * ld + other] = kept;
    }
}

void dgesv_(const int *order, const int *count, double *a, const int *lda, int *pivots, double *b,
            const int *ldb, int *info)
{
    const int n = *order, k = *count, ld = *lda;
    if (lapacke_leave)
        lapacke_leave();
    for (int j = 0; j < n; j++) {
        int most = j;
        for (int i = j; i < n; i++)
            most = fabs(a[j * ld + i]) > fabs(a[j * ld + most]) ? i : most;
        pivots[j] = most + 1;
        swap_rows(a, ld, n, j, most);
        swap_rows(b, *ldb, k, j, most);
        for (int i = j + 1; i < n; i++) {
            double factor = a[j * ld + i] /= a[j * ld + j];
            for (int l = j + 1; l < n; l++)
                a[l * ld + i] -= factor * a[l * ld + j];
            for (int l = 0; l < k; l++)
                b[l * *ldb + i] -= factor * b[l * *ldb + j];
        }
    }
    for (int l = 0; l < k; l++)
        for (int j = n - 1; j >= 0; j--) {
            b[l * *ldb + j] /= a[j * ld + j];
            for (int i = 0; i < j; i++)
                b[l * *ldb + i] -= a[j * ld + i] * b[l * *ldb + j];
        }
    *info = 0;
}

static double *transposed(const double *a, int rows, int columns, int ld)
{
    double *t = malloc((size_t)rows * (size_t)columns * sizeof *t);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            t[j * rows + i] = a[i * ld + j];
    return t;
}

int LAPACKE_dgesv(int layout, int n, int k, double *a, int lda, int *pivots, double *b, int ldb)
{
    int info = -99;
    if (layout == COLUMN_MAJOR) {
        dgesv_(&n, &k, a, &lda, pivots, b, &ldb, &info);
        return info;
    }
    double *a_t = transposed(a, n, n, lda), *b_t = transposed(b, n, k, ldb);
    dgesv_(&n, &k, a_t, &n, pivots, b_t, &n, &info);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < k; j++)
            b[i * ldb + j] = b_t[j * n + i];
    free(a_t);
    free(b_t);
    return info;
}

#else

enum { N = 400, K = 3 };

static double a[N * N], b[N * K];
static int pivots[N];

static void fill(int layout)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[layout == ROW_MAJOR ? i * N + j : j * N + i] = i == j ? N : 1.0 / (1 + i + 2 * j);
    for (int i = 0; i < N * K; i++)
        b[i] = 1 + i % 7;
}

static void solve(int layout)
{
    int info = LAPACKE_dgesv(layout, N, K, a, N, pivots, b, layout == ROW_MAJOR ? K : N);
    XT_CHECK(info == 0, "info %d", info);
}

static void both(void)
{
    static double x[N * K];
    for (int layout = ROW_MAJOR; layout <= COLUMN_MAJOR; layout++) {
        const int down = layout == ROW_MAJOR ? K : 1, right = layout == ROW_MAJOR ? 1 : N;
        fill(layout);
        solve(layout);
        memcpy(x, b, sizeof x);
        fill(layout);
        for (int i = 0; i < N; i++)
            for (int l = 0; l < K; l++) {
                double sum = 0;
                for (int j = 0; j < N; j++)
                    sum += a[layout == ROW_MAJOR ? i * N + j : j * N + i] * x[j * down + l * right];
                XT_CHECK_LE(fabs(sum - b[i * down + l * right]), 1e-11, "layout %d", layout);
            }
    }
}

/* --- A jump ---------------------------------------------------------------------------------- */

static sigjmp_buf out;
static volatile sig_atomic_t jumps;

static void leave(int signal)
{
    siglongjmp(out, signal);
}

/* The CPU computes systems with a NaN. */
static void *jump(void *ready)
{
    enum { ROUNDS = 3, US = 20000 };
    const struct itimerval timer = {.it_value = {0, US}};
    sigset_t alarm_alone;
    sigemptyset(&alarm_alone);
    sigaddset(&alarm_alone, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm_alone, NULL);
    fill(COLUMN_MAJOR);
    solve(COLUMN_MAJOR); /* the GPU starts */
    if (sigsetjmp(out, 1))
        jumps++;
    while (jumps < ROUNDS) {
        setitimer(ITIMER_REAL, &timer, NULL);
        for (;;) {
            fill(COLUMN_MAJOR);
            a[1] = NAN;
            solve(COLUMN_MAJOR);
        }
    }
    fill(COLUMN_MAJOR);
    solve(COLUMN_MAJOR);
    if (write(*(int *)ready, "", 1) == 1)
        for (;;)
            pause();
    return NULL;
}

/* Exits while the thread that jumped still exists; sends the time to the parent. */
static double end_child(int told)
{
    sigset_t alarm_alone;
    pthread_t thread;
    int ready[2];
    char byte;
    sigemptyset(&alarm_alone);
    sigaddset(&alarm_alone, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_alone, NULL);
    signal(SIGALRM, leave);
    if (pipe(ready) || pthread_create(&thread, NULL, jump, &ready[1]) ||
        read(ready[0], &byte, 1) != 1)
        exit(XT_HARD);
    double now_s = xg_clock_s();
    if (write(told, &now_s, sizeof now_s) != sizeof now_s)
        exit(XT_HARD);
    exit(xt_failures > 0);
}

static void jumped(void)
{
    int told[2], status = -1;
    double ended_s = 0;
    if (pipe(told))
        exit(XT_HARD);
    pid_t child = fork();
    if (child == 0)
        end_child(told[1]);
    XT_CHECK(read(told[0], &ended_s, sizeof ended_s) == sizeof ended_s &&
             waitpid(child, &status, 0) == child && status == 0);
    double took_s = xg_clock_s() - ended_s;
    XT_CHECK(took_s < 1.5, "the exit took %g s", took_s);
}

/* --- Least squares --------------------------------------------------------------------------- */

static void leave_squares(void)
{
    siglongjmp(out, 1);
}

/* Whether the thread is in a call that a signal may leave. */
static volatile sig_atomic_t inside;

static long memory_pages(void)
{
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%ld", &pages) != 1)
        exit(XT_HARD);
    fclose(statm);
    return pages;
}

/* A round that leaks takes 240 pages; a thread's stack and heap take 18433. */
enum { M = 800, N_LEFT = 200, K_LEFT = 2, ROUNDS = 150, PAGES_MOST = 15000 };
static double x[M * N_LEFT], y[M * K_LEFT];

static void solve_squares(void)
{
    enum { LWORK = 100000 };
    static double s[N_LEFT], work[LWORK];
    static int iwork[LWORK];
    const int m = M, n = N_LEFT, k = K_LEFT, lwork = LWORK;
    const double rcond = -1;
    int rank, info;
    dgelsd_(&m, &n, &k, x, &m, y, &m, s, &rcond, &rank, work, &lwork, iwork, &info);
}

static void squares(void)
{
    volatile long before = 0;
    volatile int rounds = 0;
    for (int i = 0; i < M * K_LEFT; i++)
        y[i] = 1;
    sigsetjmp(out, 1);
    if (rounds == 10)
        before = memory_pages();
    for (inside = 1; rounds++ < ROUNDS; inside = 1)
        solve_squares();
    inside = 0;
    long more = memory_pages() - before;
    XT_CHECK(more < PAGES_MOST, "%ld pages are left", more);
}

/* The rank is low, so that the library's own routine solves it, and leaves. */
static void fill_low(void)
{
    for (int i = 0; i < M * N_LEFT; i++)
        x[i] = 1 + i % 11;
}

static void left_squares(void)
{
    lapacke_leave = leave_squares;
    fill_low();
    squares();
}

/* --- Threads that end ------------------------------------------------------------------------ */

static void cancel_squares(void)
{
    pthread_cancel(pthread_self());
    pthread_testcancel();
}

static void exit_squares(void)
{
    pthread_exit(NULL);
}

/* When calls are compared the CPU computes the system too, else the GPU alone. */
static void *end_in_squares(void *unused)
{
    fill(COLUMN_MAJOR);
    if (!sigsetjmp(out, 1)) {
        solve(COLUMN_MAJOR);
        solve_squares();
    }
    return unused;
}

static void ended_squares(void)
{
    static void (*const leaves[])(void) = {leave_squares, cancel_squares, exit_squares};
    long before = 0;
    fill_low();
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        lapacke_leave = leaves[i % 3];
        if (i == 10)
            before = memory_pages();
        if (pthread_create(&thread, NULL, end_in_squares, NULL) || pthread_join(thread, NULL))
            exit(XT_HARD);
    }
    long more = memory_pages() - before;
    XT_CHECK(more < PAGES_MOST, "%ld pages are left by threads", more);
}

static void leave_inside(int number)
{
    (void)number;
    if (inside) {
        inside = 0;
        siglongjmp(out, 1);
    }
}

static void go_on(void) {}

static void *alarm_often(void *caller)
{
    for (;;) {
        usleep(300);
        if (inside)
            pthread_kill(*(pthread_t *)caller, SIGALRM);
    }
    return NULL;
}

/* The rank is full. The signal arrives while the engine computes, and is delivered afterwards. */
static void held_squares(void)
{
    pthread_t caller = pthread_self(), thread;
    lapacke_leave = go_on;
    for (int i = 0; i < M * N_LEFT; i++)
        x[i] = cos(3.0 * i * i);
    signal(SIGALRM, leave_inside);
    if (pthread_create(&thread, NULL, alarm_often, &caller))
        exit(XT_HARD);
    squares();
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return XT_HARD;
    if (!strcmp(argv[1], "both"))
        both();
    else if (!strcmp(argv[1], "squares"))
        left_squares();
    else if (!strcmp(argv[1], "ends"))
        ended_squares();
    else if (!strcmp(argv[1], "held"))
        held_squares();
    else
        jumped();
    if (xt_failures == 0)
        puts("right");
    return xt_failures > 0;
}

#endif
