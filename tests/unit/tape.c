/* SPDX-License-Identifier: MIT */
/* The tape: what it keeps of a call, its end, and children of fork. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/tally.h"
#include "report/tape.h"
#include "tests/support/xt.h"

static char folder[] = "/tmp/xg-tape-XXXXXX";

/* Maps the file of that process. */
static const struct xg_tape *read_tape(pid_t pid)
{
    char path[64];
    struct stat status = {0};
    snprintf(path, sizeof path, "%s/%ld", folder, (long)pid);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status))
        exit(XT_HARD);
    void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    unlink(path);
    if (at == MAP_FAILED)
        exit(XT_HARD);
    XT_CHECK((size_t)status.st_size ==
                 sizeof(struct xg_tape) + XG_TAPE_CALLS * sizeof(struct xg_tape_call),
             "%lld bytes", (long long)status.st_size);
    return at;
}

static void add(int64_t n, const struct xg_batch *batch, double seconds)
{
    const struct xg_problem problem = {.m = n, .n = n, .k = n, .alpha = 1, .batch = batch};
    const struct xg_situation now = {.now_s = 7, .cores = 5, .cpu_threads = 3, .spin_s = 0.5};
    xg_tape_add(&(struct xg_call){.problem = &problem}, &now, seconds);
}

static void test_calls(void)
{
    const void *const addresses[2] = {NULL, NULL};
    const struct xg_batch batch = {.count = 2, .a = addresses, .stride_c = 9};
    const struct xg_routine routine = {.name = XG_ROUTINE_GETRF, .m = 30, .n = 30};
    add(100, NULL, 0.25);
    add(63, NULL, 1); /* too small */
    add(100, &batch, 0.5);
    xg_tape_add(&(struct xg_call){.routine = &routine}, &(struct xg_situation){.now_s = 8}, 2);
    xg_tally_add(XG_TALLY_ROUTINES, 1);
    add(100, NULL, 1); /* inside a routine */
    xg_tally_take(XG_TALLY_ROUTINES, 1);

    const pid_t child = fork();
    if (child == 0) {
        add(200, NULL, 3);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    for (int i = 0; i < XG_TAPE_CALLS; i++)
        add(100, NULL, 1);

    const struct xg_tape *own = read_tape(getpid()), *other = read_tape(child);
    const struct xg_tape_call *calls = own->calls;
    XT_CHECK(own->count == XG_TAPE_CALLS + 3 && own->cores == 5, "%d", (int)own->count);
    XT_CHECK(calls[0].seconds == 0.25 && calls[0].begin_s == 7 && calls[0].cpu_threads == 3 &&
                 calls[0].spin_s == 0.5 && calls[0].problem.m == 100 && !calls[0].batch.count,
             "a product");
    XT_CHECK(calls[1].batch.count == 2 && calls[1].batch.stride_c == 9 && !calls[1].batch.a &&
                 !calls[1].problem.batch,
             "a batch");
    XT_CHECK(calls[2].is_routine && calls[2].routine.name == XG_ROUTINE_GETRF &&
                 calls[2].routine.m == 30 && calls[2].seconds == 2,
             "a routine");
    XT_CHECK(other->count == 1 && other->calls[0].problem.m == 200, "a child's call");
}

int main(void)
{
    if (!mkdtemp(folder))
        return XT_HARD;
    setenv("XGEMM_TAPE", folder, 1);
    test_calls();
    XT_CHECK(!rmdir(folder), "only two files were made");
    return xt_done();
}
