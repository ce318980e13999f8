/* SPDX-License-Identifier: MIT */
/* The kernel's calls of the page tracker where a kernel or a filter lacks them. */
#include "src/resident/uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/resident/selftest.h"
#include "tests/support/filter.h"
#include "tests/support/xt.h"

static const struct xg_pages_system *const system_calls = &xg_uffd_system;
static struct xg_uffd uffd;

/* From now on this process's system call `number` ends so; if `argument` is not 0, only with this
 * second argument. */
static void filter(long number, unsigned argument, unsigned end)
{
    struct sock_filter rules[] = {
        FILTER_NUMBER,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argument, 0, argument ? 1 : 0),
        BPF_STMT(BPF_RET | BPF_K, end),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(XT_SKIP);
}

static void in_child(void (*test)(void), const char *what)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        test();
        _exit(xt_failures != 0);
    }
    int status = 0;
    XT_CHECK(waitpid(child, &status, 0) == child, "%s", what);
    if (status == XT_SKIP << 8)
        printf("not possible here: %s\n", what);
    else
        XT_CHECK(status == 0, "%s: status %#x", what, (unsigned)status);
}

/* --- Filters ------------------------------------------------------------------------------------
 */

/* The number that the next descriptor gets. */
static int next_descriptor(void)
{
    const int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

/* A filter would end the process: no call is made. */
static void test_filtered(void)
{
    static struct xg_pages pages;
    const int next = next_descriptor();
    filter(SYS_userfaultfd, 0, SECCOMP_RET_KILL_PROCESS);
    XT_CHECK(!xg_selftest_open(&pages, system_calls, &uffd) && strstr(pages.why, "seccomp"), "%s",
             pages.why);
    XT_CHECK(next_descriptor() == next, "a descriptor is left");
}

/* --- Mappings -----------------------------------------------------------------------------------
 */

enum { LISTED = 400 };

static int list(struct xg_pages_mapping *mappings)
{
    uintptr_t at = 0;
    int count = 0;
    while (count < LISTED && system_calls->find(&uffd, at, &mappings[count]))
        at = mappings[count++].range.end;
    return count;
}

static void check_mapping(int protection, int flags, int file, bool plain)
{
    char *at = mmap(NULL, 3 * 65536, protection, flags, file, 0);
    struct xg_pages_mapping found = {0};
    if (at == MAP_FAILED)
        exit(XT_HARD);
    /* Holes around it, so that it is a mapping of its own. */
    munmap(at, 65536);
    munmap(at + 2 * 65536, 65536);
    const uintptr_t begin = (uintptr_t)at + 65536;
    XT_CHECK(system_calls->find(&uffd, begin + 100, &found));
    XT_CHECK(found.range.begin == begin && found.range.end == begin + 65536 && found.plain == plain,
             "flags %#x, protection %d: plain %d", (unsigned)flags, protection, found.plain);
    XT_CHECK(system_calls->find(&uffd, begin - 1, &found) && found.range.begin == begin,
             "the next one");
    munmap(at + 65536, 65536);
    XT_CHECK(!system_calls->find(&uffd, begin, &found) || found.range.begin > begin);
}

static void test_mappings(void)
{
    enum { RW = PROT_READ | PROT_WRITE };
    struct xg_pages_mapping found;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), variable = 0;
    check_mapping(RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, true);
    check_mapping(RW | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, true);
    check_mapping(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, false);
    check_mapping(PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, false);
    check_mapping(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, false);
    check_mapping(RW, MAP_SHARED | MAP_ANONYMOUS, -1, false);
    check_mapping(RW, MAP_PRIVATE, file, false);
    check_mapping(PROT_READ, MAP_SHARED, file, false);
    XT_CHECK(system_calls->find(&uffd, (uintptr_t)&variable, &found) && !found.plain, "the stack");
    XT_CHECK(!system_calls->find(&uffd, UINTPTR_MAX - 4096, &found));
    close(file);
}

/* The answers of a kernel before 6.11, which has only the list, are the same. */
static void test_list(void)
{
    static struct xg_pages_mapping before[LISTED], after[LISTED];
    enum { QUERY = 0xc0686611 };
    const int count = list(before);
    XT_CHECK(count > 5 && count < LISTED);
    filter(SYS_ioctl, QUERY, SECCOMP_RET_ERRNO | ENOTTY);
    XT_CHECK(ioctl(-1, QUERY, NULL) == -1 && errno == ENOTTY, "the filter works");
    /* Reading the list allocates, which may extend the heap by a little: all else is the same. */
    const int then = list(after);
    int same = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < then; k++)
            same += before[i].range.begin == after[k].range.begin &&
                    before[i].range.end == after[k].range.end && before[i].plain == after[k].plain;
    XT_CHECK(same >= count - 1, "%d of %d mappings", same, count);
    test_mappings();
}

int main(void)
{
    const char *why = system_calls->open(&uffd);
    if (why) {
        printf("skipped: %s\n", why);
        return XT_SKIP;
    }
    test_mappings();
    in_child(test_list, "a kernel that lists mappings");
    system_calls->close(&uffd);
    in_child(test_filtered, "a filter of system calls");
    return xt_done();
}
