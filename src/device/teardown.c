/* SPDX-License-Identifier: MIT */
/* Creates a process that outlives the program until the kernel has closed a CUDA context. */
#define _GNU_SOURCE
#include "device/teardown.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

/* The process's name in /proc. */
static const char name[] = "xgemm-exit";

/* If a program's exit handlers take longer, its end waits for the teardown as without us. */
enum { LIFE_S = 10 };

/* How long to wait until the second process has closed the program's files: readers of its pipes
 * wait for that. */
enum { READY_MS = 20 };

/* The kernel's numbers are the same on all architectures since 5.1. */
enum { CALL_PIDFD_OPEN = 434, CALL_CLOSE_RANGE = 436 };

/* The driver has some 40 open. */
enum { FILES_MAX = 256 };

static pthread_once_t look_once = PTHREAD_ONCE_INIT;
static bool possible;          /* written once */
static _Atomic pid_t prepared; /* the process to outlive; 0: none */

/* The data of the second process, which shares the memory. */
static struct {
    pid_t program;
    int files[FILES_MAX]; /* in order */
    int count;
    _Atomic int ready; /* a futex */
    _Alignas(64) char stack[16 << 10];
} second;

/* --- Is it possible? ----------------------------------------------------------------------- */

static bool kernel_has_it(void)
{
    int self = (int)syscall(CALL_PIDFD_OPEN, getpid(), 0);
    if (self < 0)
        return false;
    close(self);
    return syscall(CALL_CLOSE_RANGE, UINT_MAX, UINT_MAX, 0) == 0;
}

/*
 * The number after `field` in /proc/self/status; 0 if it is not there. No malloc here, nor in any
 * function that xg_teardown_leave calls, because a signal handler may have called exit().
 */
static long read_status(const char *field)
{
    static char text[4096];
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *found = strstr(text, field);
    return found ? atol(found + strlen(field)) : 0;
}

/*
 * A container run time's filter refuses calls that it does not know. A filter that a program sets
 * on itself, which needs NoNewPrivs, may kill.
 */
static bool filters_itself(void)
{
    enum { FILTER = 2 };
    return read_status("\nSeccomp:") == FILTER && read_status("\nNoNewPrivs:");
}

/* Freeing more memory takes the kernel longer than closing the context, and the next program may
 * need that memory: the end waits for both. */
static bool is_large(void)
{
    enum { MOST_KIB = 4 << 20 };
    return read_status("\nVmRSS:") > MOST_KIB;
}

/* Valgrind ends if a program creates a kind of process that it does not know. */
static bool is_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "vgpreload_");
}

static void look(void)
{
    int saved_errno = errno;
    possible = !is_valgrind() && !filters_itself() && kernel_has_it();
    errno = saved_errno;
}

bool xg_teardown_apart(const struct xg_conf *conf)
{
    if (conf->exit == XG_EXIT_WAIT)
        return false;
    pthread_once(&look_once, look);
    return possible;
}

/* True if that process is one of ours that ended and was not reaped. */
static bool is_unreaped(const char *number)
{
    char path[64], found[32] = "", state = '\0';
    snprintf(path, sizeof path, "/proc/%.20s/stat", number);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool unreaped = fscanf(file, "%*d (%31[^)]) %c", found, &state) == 2 && state == 'Z' &&
                    !strcmp(found, name);
    fclose(file);
    return unreaped;
}

static bool one_was_left(void)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    bool found = false;
    while (processes && !found && (entry = readdir(processes)))
        found = isdigit((unsigned char)entry->d_name[0]) && is_unreaped(entry->d_name);
    if (processes)
        closedir(processes);
    return found;
}

void xg_teardown_prepare(const struct xg_conf *conf)
{
    if (!xg_teardown_apart(conf))
        return;
    if (one_was_left())
        xg_log(XG_LOG_INFO, "exit waits for the GPU: no process here reaps orphans");
    else
        atomic_store(&prepared, getpid());
}

void xg_teardown_refuse(void)
{
    atomic_store(&prepared, 0);
}

/* --- The second process -------------------------------------------------------------------- */

/* For the functions of the second process: a sanitizer keeps its state in the thread's storage. */
#define UNCHECKED __attribute__((no_sanitize("thread", "address", "undefined")))

UNCHECKED static void close_other_files(void)
{
    unsigned from = 0;
    for (int i = 0; i < second.count; i++) {
        unsigned kept = (unsigned)second.files[i];
        if (kept > from)
            syscall(CALL_CLOSE_RANGE, from, kept - 1, 0);
        from = kept + 1;
    }
    syscall(CALL_CLOSE_RANGE, from, UINT_MAX, 0);
}

UNCHECKED static void tell_ready(void)
{
    atomic_store(&second.ready, 1);
    syscall(SYS_futex, &second.ready, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/*
 * The second process shares the memory of a thread that waits until `ready`, including its thread
 * storage (errno). After `ready` it makes one call, and does not need the result.
 */
UNCHECKED static int outlive(void *unused)
{
    (void)unused;
    syscall(SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
    close_other_files();
    int program = (int)syscall(CALL_PIDFD_OPEN, second.program, 0);
    if (program < 0 || syscall(SYS_chdir, "/") != 0) {
        tell_ready();
        syscall(SYS_exit, 0);
    }
    struct pollfd end = {.fd = program, .events = POLLIN};
    struct timespec life = {.tv_sec = LIFE_S};
    tell_ready();
    syscall(SYS_ppoll, &end, 1, &life, NULL, 0);
    syscall(SYS_exit, 0);
    return 0;
}

struct entry { /* linux_dirent64 */
    uint64_t inode, offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* Keeps the files in the order of their numbers. */
static void add_file(int file)
{
    int at = second.count++;
    for (; at > 0 && second.files[at - 1] > file; at--)
        second.files[at] = second.files[at - 1];
    second.files[at] = file;
}

static void list_files(const char *files)
{
    static _Alignas(struct entry) char entries[8192];
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long bytes;
    second.count = 0;
    while (folder >= 0 && (bytes = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
        for (long at = 0; at < bytes && second.count < FILES_MAX;) {
            const struct entry *entry = (const struct entry *)(entries + at);
            char path[256];
            ssize_t length = readlinkat(folder, entry->name, path, sizeof path);
            if (length >= (ssize_t)strlen(files) && !strncmp(path, files, strlen(files)))
                add_file(atoi(entry->name));
            at += entry->length;
        }
    if (folder >= 0)
        close(folder);
}

static void wait_until_ready(void)
{
    struct timespec most = {.tv_nsec = READY_MS * 1000000L};
    for (int tries = 0; tries < 3 && !atomic_load(&second.ready); tries++)
        syscall(SYS_futex, &second.ready, FUTEX_WAIT_PRIVATE, 0, &most, NULL, 0);
}

pid_t xg_teardown_leave(const char *files)
{
    int saved_errno = errno;
    pid_t program = getpid();
    if (!atomic_compare_exchange_strong(&prepared, &(pid_t){program}, 0) || filters_itself() ||
        is_large())
        return 0;
    second.program = program;
    list_files(files);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* The program gets no SIGCHLD, and its own wait() does not see the process either. */
    pid_t created =
        second.count ? clone(outlive, second.stack + sizeof second.stack, CLONE_VM, NULL) : 0;
    if (created > 0)
        wait_until_ready();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved_errno;
    return created > 0 ? created : 0;
}
