/* SPDX-License-Identifier: MIT */
/*
 * Processes that go on or end while their threads multiply: exec, spawned children, a main thread
 * that leaves, every kind of exit, a deadly signal, and this library opened and closed by dlopen.
 * Compiled by the preload tests and linked to a BLAS with the C interface. Labels are
 * doc/contract.md's. usage: process SCENARIO [ARGUMENT]
 */
#define _GNU_SOURCE
#include <cblas.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/files.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

typedef __typeof__(cblas_sgemm) process_sgemm;

enum { THREADS = 2, THREADS_MAX = 4 };

static int process_side = 200, process_threads = THREADS;
static atomic_int process_begun, process_wrong;
static atomic_bool process_over;

/* A and B are ones, so each element of C is the sum's length. */
static int process_right(process_sgemm *sgemm)
{
    const int side = process_side;
    const size_t count = (size_t)side * (size_t)side;
    float *a = malloc(3 * count * sizeof *a), *b = a + count, *c = b + count;
    int right = a != NULL;
    for (size_t i = 0; i < 2 * count; i++)
        a[i] = 1.0f;
    sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, side, side, side, 1.0f, a, side, b, side, 0.0f,
          c, side);
    for (size_t i = 0; i < count; i++)
        right = right && c[i] == (float)side;
    free(a);
    return right;
}

static void *process_loop(void *unused)
{
    while (!process_over) {
        process_wrong += !process_right(cblas_sgemm);
        process_begun++;
    }
    return unused;
}

static pthread_t process_thread[THREADS_MAX];

/* Starts threads that multiply until process_over, and waits until they have begun. */
static void process_start(void)
{
    for (int i = 0; i < process_threads; i++)
        if (pthread_create(&process_thread[i], NULL, process_loop, NULL) != 0)
            exit(XT_HARD);
    while (process_begun < 2 * process_threads)
        usleep(100);
}

static void process_stop(void)
{
    process_over = true;
    for (int i = 0; i < process_threads; i++)
        pthread_join(process_thread[i], NULL);
    XT_CHECK(process_wrong == 0, "contract 8.5: %d products", process_wrong);
}

/* --- exec and children --------------------------------------------------------------------- */

static void process_exec(const char *unused)
{
    char count[12];
    (void)unused;
    snprintf(count, sizeof count, "%d", xt_entries("/proc/self/fd"));
    process_start();
    execl("/proc/self/exe", "process", "execed", count, (char *)NULL);
    exit(XT_HARD);
}

/* After exec the process has as many descriptors as before its first product. */
static void process_execed(const char *count)
{
    XT_CHECK(xt_entries("/proc/self/fd") == atoi(count), "contract 8.3: %d descriptors, %s before",
             xt_entries("/proc/self/fd"), count);
    XT_CHECK(process_right(cblas_sgemm), "contract 8.3: the product after exec");
}

static void process_spawn(const char *unused)
{
    extern char **environ;
    char *const arguments[] = {"sh", "-c", "exit 3", NULL};
    (void)unused;
    process_start();
    for (int i = 0; i < 20; i++) {
        int status = -1;
        pid_t child;
        XT_CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0 &&
                     waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3,
                 "contract 8.2: posix_spawn, status %#x", status);
        child = vfork();
        if (child == 0) {
            execv("/bin/sh", arguments);
            _exit(XT_HARD);
        }
        XT_CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3,
                 "contract 8.2: vfork, status %#x", status);
        XT_CHECK(WEXITSTATUS(system("exit 4")) == 4, "contract 8.2: system");
    }
    process_stop();
}

/* Forks beside the process's first products, so many microseconds after they may begin: the
 * library's fork handlers may be registered by then or not. */
static void process_fork_first(const char *after_us)
{
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&process_thread[i], NULL, process_loop, NULL) != 0)
            exit(XT_HARD);
    usleep((useconds_t)atoi(after_us));
    pid_t child = fork();
    if (child == 0) {
        bool right = process_right(cblas_sgemm) && process_right(cblas_sgemm);
        _exit(right ? 0 : 1);
    }
    xt_child_wait(child, "8.2: the child");
    process_stop();
}

/* Rests in the walk while it holds a lock that glibc's fork does not reset in the child. */
static atomic_bool process_lingers, process_lingered;
static int (*process_visit)(struct dl_phdr_info *, size_t, void *);

static int process_linger(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    if (process_lingers && !atomic_exchange(&process_lingered, true))
        usleep(200000);
    return process_visit(info, size_bytes, context);
}

/* Replaces glibc's function, which it calls. */
int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context)
{
    int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    if (!process_lingers || process_lingered)
        return next(visit, context);
    process_visit = visit;
    return next(process_linger, context);
}

static int process_nothing(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    (void)info;
    (void)size_bytes;
    (void)context;
    return 0;
}

/* Forks while the first product, made through this library alone, searches the loaded objects for
 * its BLAS. */
static void process_fork_walk(const char *unused)
{
    process_lingers = true;
    if (pthread_create(&process_thread[0], NULL, process_loop, NULL) ||
        pthread_create(&process_thread[1], NULL, process_loop, NULL))
        exit(XT_HARD);
    (void)unused;
    while (!process_lingered)
        usleep(100);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        dl_iterate_phdr(process_nothing, NULL);
        _exit(process_right(cblas_sgemm) ? 0 : 1);
    }
    xt_child_wait(child, "8.2: the child");
    process_stop();
}

static int process_multiply(struct dl_phdr_info *info, size_t size_bytes, void *context)
{
    (void)info;
    (void)size_bytes;
    if (pthread_create(&process_thread[0], NULL, process_loop, NULL) ||
        pthread_create(&process_thread[1], NULL, process_loop, NULL))
        exit(XT_HARD);
    usleep(50000); /* until they wait for the lock that this thread has */
    *(int *)context = process_right(cblas_sgemm);
    return 1;
}

/* A first product inside the program's own walk, while other threads' products wait to walk. */
static void process_walk(const char *unused)
{
    int right = 0;
    (void)unused;
    alarm(30);
    dl_iterate_phdr(process_multiply, &right);
    XT_CHECK(right, "contract 8.8: a product in a walk");
    process_stop();
}

/* --- Children that multiply ------------------------------------------------------------------ */

#pragma weak _Fork
extern pid_t _Fork(void);

enum { CHILD_SIDE = 72, CHILD_THREADS = 3, CHILD_S = 60 };

static float process_ones[CHILD_SIDE * CHILD_SIDE];

/* Allocates nothing: in the child of such a process malloc's lock may be taken. */
static bool process_multiplies(float *c)
{
    bool right = true;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, CHILD_SIDE, CHILD_SIDE, CHILD_SIDE, 1.0f,
                process_ones, CHILD_SIDE, process_ones, CHILD_SIDE, 0.0f, c, CHILD_SIDE);
    for (int i = 0; i < CHILD_SIDE * CHILD_SIDE; i++)
        right = right && c[i] == (float)CHILD_SIDE;
    return right;
}

static void *process_multiplies_on(void *c)
{
    while (!process_over)
        if (!process_multiplies(c))
            _exit(XT_FAIL);
    return NULL;
}

static bool process_ends_well(pid_t child)
{
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* _Fork and clone call no handlers of pthread_atfork. */
static pid_t process_make(const char *way)
{
    if (!strcmp(way, "fork"))
        return fork();
    if (!strcmp(way, "_Fork") && _Fork)
        return _Fork();
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void process_child(bool leaves, const char *way)
{
    static float c[CHILD_SIDE * CHILD_SIDE];
    alarm(CHILD_S); /* ends a child that hangs */
    bool right = process_multiplies(c) && process_multiplies(c);
    pid_t grandchild = process_make(way);
    if (grandchild == 0)
        _exit(process_multiplies(c) ? XT_PASS : XT_FAIL);
    right = process_ends_well(grandchild) && right;
    if (leaves)
        _exit(right ? XT_PASS : XT_FAIL);
    exit(right ? XT_PASS : XT_FAIL);
}

/* Makes children while threads multiply; every other child ends by exit. how: WAY COUNT WAY: how
 * and how many, and how each child makes one that multiplies too. Needs a BLAS without locks. */
static void process_children(const char *how)
{
    static float c[1 + CHILD_THREADS][CHILD_SIDE * CHILD_SIDE];
    char way[8], way_of_child[8];
    int count;
    if (sscanf(how, "%7s %d %7s", way, &count, way_of_child) != 3)
        exit(XT_HARD);
    for (int i = 0; i < CHILD_SIDE * CHILD_SIDE; i++)
        process_ones[i] = 1.0f;
    bool right = process_multiplies(c[CHILD_THREADS]);
    const struct xt_threads threads =
        xt_threads_start(CHILD_THREADS, process_multiplies_on, c, sizeof c[0]);
    for (int i = 0; i < count && right; i++) {
        pid_t pid = process_make(way);
        if (pid == 0)
            process_child(i % 2, way_of_child);
        right = process_ends_well(pid);
        usleep(1000);
    }
    process_over = true;
    xt_threads_join(&threads);
    XT_CHECK(right, "contract 8.2: a child failed");
}

/* --- Ends ---------------------------------------------------------------------------------- */

static void *process_last(void *unused)
{
    void *result;
    (void)unused;
    pthread_join(process_thread[THREADS - 1], &result);
    process_over = true;
    pthread_join(process_thread[0], NULL);
    XT_CHECK(process_right(cblas_sgemm) && !process_wrong,
             "contract 8.5: products after main has left");
    exit(xt_done());
}

/* Threads end by returning from their start function or by pthread_exit, as main does here. */
static void *process_leave(void *unused)
{
    process_wrong += !process_right(cblas_sgemm);
    pthread_exit(unused);
}

static void process_main_leaves(const char *unused)
{
    pthread_t last;
    (void)unused;
    process_wrong += !process_right(cblas_sgemm);
    if (pthread_create(&process_thread[0], NULL, process_loop, NULL) ||
        pthread_create(&process_thread[THREADS - 1], NULL, process_leave, NULL) ||
        pthread_create(&last, NULL, process_last, NULL))
        exit(XT_HARD);
    pthread_exit(NULL);
}

static void process_end(const char *how)
{
    process_start();
    usleep(2000);
    if (!strcmp(how, "quick_exit"))
        quick_exit(5);
    if (!strcmp(how, "_exit"))
        _exit(6);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "terminate"))
        kill(getpid(), SIGTERM);
    for (;;)
        pause();
}

/* Exits with status 3 so many microseconds after the threads have begun. how: SIDE THREADS
 * MICROSECONDS, and "join": an exit handler waits for the threads, or "fork": all of that happens
 * in a child of a process that has multiplied. Contract 8.4. */
static void process_exit(const char *how)
{
    char way[8] = "";
    int us, status = -1;
    if (sscanf(how, "%d %d %d %7s", &process_side, &process_threads, &us, way) < 3 ||
        process_threads > THREADS_MAX)
        exit(XT_HARD);
    if (!strcmp(way, "join"))
        atexit(process_stop);
    if (!strcmp(way, "fork")) {
        process_wrong += !process_right(cblas_sgemm);
        pid_t child = fork();
        if (child != 0) {
            waitpid(child, &status, 0);
            exit(WIFEXITED(status) ? WEXITSTATUS(status) : XT_HARD);
        }
    }
    process_start();
    usleep((useconds_t)us);
    exit(process_wrong ? XT_FAIL : 3);
}

/* --- This library, opened and closed ------------------------------------------------------- */

static void process_dlclose(const char *file)
{
    for (int i = 0; i < 3; i++) {
        void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        process_sgemm *sgemm = handle ? (process_sgemm *)dlsym(handle, "cblas_sgemm") : NULL;
        if (!sgemm) {
            fprintf(stderr, "%s\n", dlerror());
            exit(XT_HARD);
        }
        XT_CHECK(sgemm != cblas_sgemm && process_right(sgemm), "contract 8.7: turn %d", i);
        XT_CHECK(dlclose(handle) == 0, "contract 8.7: dlclose");
        usleep(20000); /* its threads sleep, so their code must stay loaded */
        XT_CHECK(process_right(sgemm), "contract 8.7: closed, turn %d", i);
    }
}

static const struct {
    const char *name;
    void (*run)(const char *argument);
} scenarios[] = {
    {"exec", process_exec},
    {"execed", process_execed},
    {"spawn", process_spawn},
    {"children", process_children},
    {"fork_first", process_fork_first},
    {"fork_walk", process_fork_walk},
    {"walk", process_walk},
    {"main_leaves", process_main_leaves},
    {"end", process_end},
    {"exit", process_exit},
    {"dlclose", process_dlclose},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (argc > 1 && !strcmp(argv[1], scenarios[i].name)) {
            scenarios[i].run(argc > 2 ? argv[2] : "");
            return xt_done();
        }
    return XT_HARD;
}
