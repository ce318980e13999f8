/* SPDX-License-Identifier: MIT */
/* Preloaded by xgemm-doctor: records which files a process executes, and its CPU time. */
/*
 * A program into which nothing can be preloaded reports nothing, so the process that starts it
 * does. All processes append to one file, "journal" in the folder XGEMM_DOCTOR_FOLDER. Lines, with
 * a tab after each word:
 *   start KEPT STARTER PATH        the process STARTER executes PATH; KEPT is 1 if the environment
 *                                  that it passes on preloads the library
 *   end MICROSECONDS               a process ends by itself, after that CPU time
 *
 * A child of vfork runs this code in its parent's memory. So everything after the constructor is
 * safe in a signal handler, allocates nothing, is no cancellation point, and keeps errno. A process
 * that filters its system calls (src/base/sandbox.h) makes none here.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/base/sandbox.h"

#define EXPORT __attribute__((visibility("default")))

typedef int execute(const char *path, char *const argv[], char *const env[]);
typedef int spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                  const posix_spawnattr_t *attributes, char *const argv[], char *const env[]);

static struct witness {
    char journal[PATH_MAX]; /* empty: nothing is reported */
    char starter[64];
    execute *execve, *execvpe; /* this one and the others are the next functions of these names */
    int (*fexecve)(int fd, char *const argv[], char *const env[]);
    spawn *spawn, *spawnp;
} witness;

/* Runs at load, because at the first call env -i has emptied its environment already. */
__attribute__((constructor)) static void prepare(void)
{
    const char *folder = secure_getenv("XGEMM_DOCTOR_FOLDER");
    *(void **)&witness.execve = dlsym(RTLD_NEXT, "execve");
    *(void **)&witness.execvpe = dlsym(RTLD_NEXT, "execvpe");
    *(void **)&witness.fexecve = dlsym(RTLD_NEXT, "fexecve");
    *(void **)&witness.spawn = dlsym(RTLD_NEXT, "posix_spawn");
    *(void **)&witness.spawnp = dlsym(RTLD_NEXT, "posix_spawnp");
    strncpy(witness.starter, program_invocation_short_name, sizeof witness.starter - 1);
    /* A musl program loads this too, but counts as one without the library. */
    if (dlsym(RTLD_DEFAULT, "gnu_get_libc_version") && folder && strlen(folder) < PATH_MAX - 16)
        strcat(strcpy(witness.journal, folder), "/journal");
    (void)dlerror();
}

/* A library's constructor may start programs before our constructor has run. */
static const struct witness *behind(void)
{
    if (!witness.execve)
        prepare();
    return &witness;
}

/* --- Lines --------------------------------------------------------------------------------- */

struct line {
    char text[PATH_MAX + 128];
    size_t length;
};

static void put(struct line *line, const char *text)
{
    size_t length = strnlen(text, sizeof line->text - line->length);
    memcpy(line->text + line->length, text, length);
    line->length += length;
}

/* Returns the first digit; the number ends at the end of `text`. */
static char *write_number(char text[24], unsigned long long number)
{
    char *at = text + 23;
    *at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    return at;
}

/* Writes once, so that lines of several processes do not mix. */
static void append(struct line *line)
{
    put(line, "\n");
    long fd = syscall(SYS_openat, AT_FDCWD, witness.journal,
                      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        syscall(SYS_write, fd, line->text, line->length);
        syscall(SYS_close, fd);
    }
}

static void tell_end(void)
{
    struct line line = {.length = 0};
    struct timespec spent = {0};
    char digits[24];
    int error = errno;
    if (!*witness.journal || xg_sandbox_closed())
        return;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    put(&line, "end\t");
    put(&line, write_number(digits, (unsigned long long)spent.tv_sec * 1000000 +
                                        (unsigned long long)spent.tv_nsec / 1000));
    append(&line);
    errno = error;
}

__attribute__((destructor)) static void finish(void)
{
    tell_end();
}

static bool keeps_library(char *const env[])
{
    for (; env && *env; env++)
        if (!strncmp(*env, "LD_PRELOAD=", 11))
            return strstr(*env, "libxgemm_shim.") != NULL;
    return false;
}

/* Reports an open file by its name without symbolic links. */
static void tell_open(long fd, char *const env[])
{
    struct line line = {.length = 0};
    char digits[24], link[48] = "/proc/self/fd/";
    int error = errno;
    if (!*witness.journal || xg_sandbox_closed())
        return;
    put(&line, keeps_library(env) ? "start\t1\t" : "start\t0\t");
    put(&line, witness.starter);
    put(&line, "\t");
    strcat(link, write_number(digits, (unsigned long long)fd));
    ssize_t length = readlink(link, line.text + line.length, PATH_MAX);
    line.length += length > 0 ? (size_t)length : 0;
    append(&line);
    errno = error;
}

/* False: it is not a file that could be executed. */
static bool tell_file(int folder, const char *path, char *const env[])
{
    struct stat status;
    int error = errno;
    if (xg_sandbox_closed())
        return false;
    long fd = faccessat(folder, path, X_OK, 0) == 0
                  ? syscall(SYS_openat, folder, path, O_PATH | O_CLOEXEC)
                  : -1;
    bool regular = fd >= 0 && fstat((int)fd, &status) == 0 && S_ISREG(status.st_mode);
    if (regular)
        tell_open(fd, env);
    if (fd >= 0)
        syscall(SYS_close, fd);
    errno = error;
    return regular;
}

/* Reports the first file of that name in the folders of PATH, as execvp finds it. */
static void tell_named(const char *name, char *const env[])
{
    char path[PATH_MAX];
    const char *folders = getenv("PATH");
    if (strchr(name, '/')) {
        tell_file(AT_FDCWD, name, env);
        return;
    }
    for (const char *at = folders ? folders : "/bin:/usr/bin";;) {
        size_t length = strcspn(at, ":");
        if (length + strlen(name) + 2 < sizeof path) {
            memcpy(path, at, length);
            path[length] = '\0';
            strcat(strcat(path, length ? "/" : ""), name);
            if (tell_file(AT_FDCWD, path, env))
                return;
        }
        if (!at[length])
            return;
        at += length + 1;
    }
}

/* --- Replacements of libc's functions ------------------------------------------------------ */

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
    tell_file(AT_FDCWD, path, env);
    return behind()->execve(path, argv, env);
}

EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

EXPORT int execvpe(const char *name, char *const argv[], char *const env[])
{
    tell_named(name, env);
    return behind()->execvpe(name, argv, env);
}

EXPORT int execvp(const char *name, char *const argv[])
{
    return execvpe(name, argv, environ);
}

/* Passes the arguments `first` and those of `list` up to a null pointer. If `passed`, the
 * environment follows in `list`. */
static int execute_list(execute *function, const char *path, const char *first, va_list list,
                        bool passed)
{
    va_list ahead;
    size_t count = 1;
    va_copy(ahead, list);
    for (const char *at = first; at; at = va_arg(ahead, const char *))
        count++;
    va_end(ahead);
    const char **argv = alloca(count * sizeof *argv);
    argv[0] = first;
    for (size_t i = 1; i < count; i++)
        argv[i] = va_arg(list, const char *);
    return function(path, (char *const *)argv, passed ? va_arg(list, char *const *) : environ);
}

EXPORT int execl(const char *path, const char *first, ...)
{
    va_list list;
    va_start(list, first);
    int status = execute_list(execve, path, first, list, false);
    va_end(list);
    return status;
}

EXPORT int execle(const char *path, const char *first, ...)
{
    va_list list;
    va_start(list, first);
    int status = execute_list(execve, path, first, list, true);
    va_end(list);
    return status;
}

EXPORT int execlp(const char *name, const char *first, ...)
{
    va_list list;
    va_start(list, first);
    int status = execute_list(execvpe, name, first, list, false);
    va_end(list);
    return status;
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
    tell_open(fd, env);
    return behind()->fexecve(fd, argv, env);
}

/* glibc has it since 2.34; older programs make the system call. */
EXPORT int execveat(int folder, const char *path, char *const argv[], char *const env[], int flags)
{
    if (!*path && (flags & AT_EMPTY_PATH))
        tell_open(folder, env);
    else
        tell_file(folder, path, env);
    return (int)syscall(SYS_execveat, folder, path, argv, env, flags);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
    tell_file(AT_FDCWD, path, env);
    return behind()->spawn(pid, path, actions, attributes, argv, env);
}

EXPORT int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
    tell_named(name, env);
    return behind()->spawnp(pid, name, actions, attributes, argv, env);
}

/* Children of shells and of Python end by _exit, which runs no destructors. */
EXPORT void _exit(int code)
{
    tell_end();
    for (;;)
        syscall(SYS_exit_group, code);
}

EXPORT void _Exit(int code)
{
    _exit(code);
}
