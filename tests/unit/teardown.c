/* SPDX-License-Identifier: MIT */
/* The process that outlives the program: its properties, the files that it holds, and when it ends.
 * Contract 8.10. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/device/teardown.h"
#include "tests/support/files.h"
#include "tests/support/xt.h"

static char folder[] = "/tmp/xgemm_teardown_XXXXXX";

static int open_file(const char *name)
{
    return open(xt_path(folder, name), O_RDWR | O_CREAT, 0600);
}

/* How the paths of the device's files begin. */
static const char *device_files(void)
{
    return xt_path(folder, "device");
}

/* The text of /proc/<process>/<name>; empty if it cannot be read. */
static const char *read_about(pid_t process, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
    return xt_read(path, out, size);
}

static bool is_there(pid_t process)
{
    return kill(process, 0) == 0;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static bool goes_within_s(pid_t process, double seconds)
{
    for (int ms = 0; ms < 1e3 * seconds && is_there(process); ms++) {
        waitpid(process, NULL, WNOHANG | __WALL); /* this process reaps orphans */
        nap();
    }
    return !is_there(process);
}

static const struct xg_conf leaves = {.exit = XG_EXIT_LEAVE}, waits = {.exit = XG_EXIT_WAIT};

/* Checks in the program, just before it ends, the process that it leaves. */
static void check_in_program(pid_t heir, int device)
{
    char text[4096], link[64], where[128] = "";
    XT_CHECK(!strcmp(read_about(heir, "comm", text, sizeof text), "xgemm-exit\n"), "%s", text);
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)heir);
    XT_CHECK(readlink(link, where, sizeof where - 1) > 0 && !strcmp(where, "/"), "%s", where);
    /* A descriptor of the program's process, and the two device files. */
    snprintf(link, sizeof link, "/proc/%d/fd", (int)heir);
    XT_CHECK(xt_entries(link) == 3, "%d files", xt_entries(link));
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)heir, device);
    memset(where, 0, sizeof where);
    XT_CHECK(readlink(link, where, sizeof where - 1) > 0 && strstr(where, "/device"), "%s", where);
    read_about(heir, "status", text, sizeof text);
    const char *blocked = strstr(text, "SigBlk:");
    XT_CHECK(blocked && strtoull(blocked + 7, NULL, 16) == 0xfffffffe7ffbfeffull, "%.60s",
             blocked ? blocked : "none");
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    XT_CHECK(!sigismember(&mask, SIGTERM), "the program's own mask");
    XT_CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "the program sees a child");
}

struct told {
    pid_t heir;
    int failed;
};

/* The program leaves the teardown to another process and ends with status 7. */
static void run_program(int out)
{
    int device = open_file("device0"), other = open_file("device-uvm");
    XT_CHECK(device >= 0 && other >= 0 && open_file("data") >= 0, "no files");
    XT_CHECK(flock(device, LOCK_EX) == 0, "lock");
    XT_CHECK(xg_teardown_leave(device_files()) == 0, "it was not prepared");
    xg_teardown_prepare(&leaves); /* on the start's thread, where errno does not matter */
    errno = 77;
    pid_t heir = xg_teardown_leave(device_files());
    XT_CHECK(errno == 77, "errno %d", errno);
    XT_CHECK(heir > 0 && is_there(heir), "no process");
    XT_CHECK(xg_teardown_leave(device_files()) == 0, "twice");
    if (heir > 0)
        check_in_program(heir, device);
    struct told told = {heir, xt_failures};
    XT_CHECK(write(out, &told, sizeof told) == sizeof told, "write");
    _exit(7);
}

/* When the program ends, its pipe closes and its status is available at once. Then the heir ends.
 */
static void test_program(void)
{
    int out[2], status = 0;
    struct told told = {0};
    char byte;
    XT_CHECK(pipe(out) == 0, "pipe");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t program = fork();
    if (program == 0) {
        close(out[0]);
        run_program(out[1]);
    }
    close(out[1]);
    XT_CHECK(read(out[0], &told, sizeof told) == sizeof told, "the program ended early");
    XT_CHECK(waitpid(program, &status, 0) == program && WIFEXITED(status) &&
                 WEXITSTATUS(status) == 7,
             "status %x", status);
    XT_CHECK(told.failed == 0, "%d checks failed in the program", told.failed);
    XT_CHECK(read(out[0], &byte, 1) == 0, "the pipe is still open");
    XT_CHECK(told.heir > 0 && goes_within_s(told.heir, 5), "it is still there");
    close(out[0]);
}

/* The heir stays until the program ends, and holds the lock of the device's file. */
static void test_holds(void)
{
    int release[2], told[2];
    pid_t heir = 0;
    XT_CHECK(pipe(release) == 0 && pipe(told) == 0, "pipe");
    pid_t program = fork();
    if (program == 0) {
        char byte;
        close(release[1]);
        int device = open_file("device1");
        flock(device, LOCK_EX);
        xg_teardown_prepare(&leaves);
        heir = xg_teardown_leave(device_files());
        close(device); /* as the driver's own exit handler may */
        if (write(told[1], &heir, sizeof heir) < 0 || read(release[0], &byte, 1) < 0)
            _exit(1);
        _exit(0);
    }
    close(release[0]);
    XT_CHECK(read(told[0], &heir, sizeof heir) == sizeof heir && heir > 0, "heir %d", heir);
    int device = open_file("device1");
    for (int ms = 0; ms < 50; ms++)
        nap();
    XT_CHECK(flock(device, LOCK_EX | LOCK_NB) != 0, "it does not hold the device's file");
    close(release[1]);
    xt_child_wait(program, "the child");
    XT_CHECK(goes_within_s(heir, 5), "it is still there");
    XT_CHECK(flock(device, LOCK_EX | LOCK_NB) == 0, "the device's file is still held");
    close(device), close(told[0]), close(told[1]);
}

/* If a zombie from an earlier teardown exists, no second process is left. */
static void test_unreaped(void)
{
    int device = open_file("device2");
    pid_t dead = fork();
    if (dead == 0) {
        prctl(PR_SET_NAME, "xgemm-exit");
        _exit(0);
    }
    siginfo_t info;
    waitid(P_PID, (id_t)dead, &info, WEXITED | WNOWAIT);
    xg_teardown_prepare(&leaves);
    XT_CHECK(xg_teardown_leave(device_files()) == 0, "left one more");
    waitpid(dead, NULL, 0);
    close(device);
}

/* No process is left if the user wants to wait, if the teardown is refused, in a child of fork, or
 * without an open device file. */
static void test_not(void)
{
    XT_CHECK(xg_teardown_apart(&leaves) && !xg_teardown_apart(&waits), "apart");
    xg_teardown_prepare(&leaves);
    XT_CHECK(xg_teardown_leave(device_files()) == 0, "no device's file is open");
    int device = open_file("device3");
    xg_teardown_prepare(&waits);
    XT_CHECK(xg_teardown_leave(device_files()) == 0, "XGEMM_EXIT=wait");
    xg_teardown_prepare(&leaves);
    pid_t child = fork();
    if (child == 0)
        _exit(xg_teardown_leave(device_files()) != 0);
    xt_child_wait(child, "in a child of fork()");
    xg_teardown_refuse();
    XT_CHECK(xg_teardown_leave(device_files()) == 0, "refused");
    close(device);
}

/* A program that has installed a filter of system calls leaves no process. */
static void test_filtered(void)
{
    int status = 1;
    pid_t program = fork();
    if (program == 0) {
        struct sock_filter allow[] = {{.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW}};
        struct sock_fprog filter = {.len = 1, .filter = allow};
        open_file("device4");
        xg_teardown_prepare(&leaves);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
            _exit(XT_SKIP);
        _exit(xg_teardown_leave(device_files()) == 0 ? XT_PASS : XT_FAIL);
    }
    XT_CHECK(waitpid(program, &status, 0) == program && WIFEXITED(status) &&
                 WEXITSTATUS(status) != XT_FAIL,
             "left under a filter: %x", status);
}

int main(void)
{
    XT_CHECK(mkdtemp(folder) != NULL, "no folder");
    if (!xg_teardown_apart(&leaves)) {
        rmdir(folder);
        return xt_skip("the kernel lacks pidfd_open or close_range, or calls are filtered");
    }
    test_not();
    test_unreaped();
    test_program();
    test_holds();
    test_filtered();
    xt_remove(folder);
    return xt_done();
}
