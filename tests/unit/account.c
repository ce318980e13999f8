/* SPDX-License-Identifier: MIT */
/* Accounts: their sums and how they merge; their files, which outlive the process however it ends;
 * and the account that a process reads of itself. Contract 10.4 (doc/contract.md). */
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/conf.h"
#include "src/report/account.h"
#include "src/report/mapping.h"
#include "src/report/stats.h"
#include "tests/support/files.h"
#include "tests/support/xt.h"

static char dir[] = "/tmp/xg_account_XXXXXX";
static struct xg_account read_back, sum;

static const char *in_dir(long pid, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%ld%s", pid, suffix);
    return xt_path(dir, name);
}

static struct xg_call_record record(int size, enum xg_place place, enum xg_reason reason)
{
    return (struct xg_call_record){
        .symbol = "cblas_sgemm",
        .call = {.m = size, .n = size, .k = size, .alpha = 1.0f},
        .place = place,
        .reason = reason,
        .gpu.kernel = place == XG_PLACE_CPU ? NULL : "tiled",
        .seconds = 0.5,
        .gpu.waited_s = place == XG_PLACE_CPU ? 0.0 : 0.125,
        .gpu.up_bytes = place == XG_PLACE_CPU ? 0 : 1000,
        .gpu.down_bytes = place == XG_PLACE_CPU ? 0 : 24,
        .spin_s = place == XG_PLACE_CPU ? 0.01 : 0.0,
    };
}

static void add(int size, enum xg_place place, enum xg_reason reason)
{
    struct xg_call_record r = record(size, place, reason);

    xg_stats_add(&r);
}

static void multiply(int count)
{
    for (int i = 0; i < count; i++)
        add(10, i % 2 ? XG_PLACE_GPU : XG_PLACE_CPU, i % 2 ? XG_REASON_MODEL : XG_REASON_SMALL);
}

/* --- The account --------------------------------------------------------------------------- */

static void fill(struct xg_account *account)
{
    struct xg_call_record r = record(10, XG_PLACE_GPU, XG_REASON_MODEL);

    xg_account_init(account);
    xg_account_add(account, &r);
    r.place = XG_PLACE_CPU;
    r.reason = XG_REASON_BUSY;
    r.gpu.kernel = NULL;
    r.gpu.up_bytes = r.gpu.down_bytes = 0;
    xg_account_add(account, &r);
    xg_account_add(account, &r);
}

static void test_sums(void)
{
    struct xg_account_sums sums;

    fill(&sum);
    fill(&read_back);
    xg_account_merge(&sum, &read_back);
    xg_account_sum(&sum, &sums);
    XT_CHECK(sums.calls == 6 && sums.gpu_calls == 2, "%lld, %lld", (long long)sums.calls,
             (long long)sums.gpu_calls);
    XT_CHECK(sums.flops == 12000 && sums.gpu_flops == 4000, "%g, %g", sums.flops, sums.gpu_flops);
    XT_CHECK(sums.seconds == 3 && sums.gpu_seconds == 0.75, "%g, %g", sums.seconds,
             sums.gpu_seconds);
    XT_CHECK(sums.bytes == 2048, "%g", sums.bytes);
    XT_CHECK(sum.row_count == 2 && sum.shape_count == 2, "%d rows, %d shapes", sum.row_count,
             sum.shape_count);
    XT_CHECK(xg_account_is_valid(&sum), "valid");
}

/* The print shows each symbol's operation, by its name in XGEMM_OPERATIONS. */
static void test_operations(void)
{
    static const char *const names[][2] = {
        {"cblas_sgemm", " sgemm "}, {"scipy_cblas_zgemm64_", " zgemm "},
        {"dgemmtr_", " dgemmt "},   {"cblas_zgemm_batch_strided", " zgemm_batch_strided "},
        {"CSYR2K", " - "},          {"cher2k_64_", " cher2k "},
        {"dtrsm_", " dtrsm "},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct xg_call_record r = record(10, XG_PLACE_CPU, XG_REASON_SMALL);
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        r.symbol = names[i][0];
        xg_account_init(&sum);
        xg_account_add(&sum, &r);
        xg_account_print(&sum, 0, out);
        fclose(out);
        const char *row = strstr(text, "too small");
        XT_CHECK(row && strstr(row, names[i][0]) && strstr(row, names[i][1]), "%s", text);
        free(text);
    }
}

/* A line of at most 80 columns lacks some of them. */
static void test_narrow(void)
{
    for (int most = 0; most <= 80; most += 80) {
        struct xg_call_record r = record(4096, XG_PLACE_CPU, XG_REASON_NO_DRIVER);
        char *text = NULL;
        size_t size, longest = 0;
        FILE *out = open_memstream(&text, &size);
        r.symbol = "scipy_cblas_zher2k64_";
        xg_account_init(&sum);
        xg_account_add(&sum, &r);
        r.place = XG_PLACE_GPU;
        r.gpu.kernel = "splitk_128x128_and_so_on";
        xg_account_add(&sum, &r);
        xg_account_print(&sum, most, out);
        fclose(out);
        for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
            longest = strcspn(at, "\n") > longest ? strcspn(at, "\n") : longest;
        XT_CHECK(most ? longest <= 80 && !strstr(text, "operation")
                      : longest > 80 && strstr(text, "operation"),
                 "%d: %s", most, text);
        XT_CHECK(strstr(text, "where why") && strstr(text, "seconds") && strstr(text, "mean ms"),
                 "%s", text);
        free(text);
    }
}

/* The account says why there was no GPU. Calls during a start get that reason when it is known. */
static void test_absence(void)
{
    struct xg_call_record r = record(10, XG_PLACE_CPU, XG_REASON_EARNING);
    xg_account_init(&sum);
    XT_CHECK(xg_account_absence(&sum) == XG_REASON_COUNT, "an empty account");
    xg_account_add(&sum, &r);
    XT_CHECK(xg_account_absence(&sum) == XG_REASON_EARNING, "to be found out");
    xg_account_explain(&sum, XG_REASON_NO_DEVICE);
    XT_CHECK(xg_account_absence(&sum) == XG_REASON_NO_DEVICE, "explained");
    const char *text = xg_account_absence_text(&sum);
    XT_CHECK(text && strstr(text, "no GPU here: ") && strstr(text, "xgemm-run doctor"), "%s", text);
    xg_account_init(&sum);
    xg_account_add(&sum, &r);
    r.place = XG_PLACE_GPU;
    r.reason = XG_REASON_MODEL;
    xg_account_add(&sum, &r);
    XT_CHECK(xg_account_absence(&sum) == XG_REASON_COUNT, "there is one");
    XT_CHECK(!xg_account_absence_text(&sum), "there is one, in words");
}

/* Calls that find the tables full still count in the sums. */
static void test_full(void)
{
    struct xg_account_sums sums;

    xg_account_init(&sum);
    xg_account_init(&read_back);
    for (int i = 0; i < 2000; i++) {
        struct xg_call_record r = record(1 + i, XG_PLACE_CPU, XG_REASON_SMALL);
        char symbol[80];

        snprintf(symbol, sizeof symbol, "name_of_more_than_thirty_one_characters_%d", i);
        r.symbol = i % 2 ? symbol + 32 : symbol;
        xg_account_add(i < 1000 ? &sum : &read_back, &r);
    }
    XT_CHECK(xg_account_is_valid(&sum) && xg_account_is_valid(&read_back), "valid");
    xg_account_merge(&sum, &read_back);
    xg_account_sum(&sum, &sums);
    XT_CHECK(xg_account_is_valid(&sum), "valid when merged");
    XT_CHECK(sums.calls == 2000, "%lld", (long long)sums.calls);
    XT_CHECK(sum.row_count == XG_ACCOUNT_ROWS, "%d rows", sum.row_count);
    XT_CHECK(sum.shapes_dropped == 2000 - 768, "%lld dropped", (long long)sum.shapes_dropped);
}

/* Changes a valid account so that it is valid or not. */
#define VALID(valid, why, ...)                                                                     \
    do {                                                                                           \
        fill(&bad);                                                                                \
        __VA_ARGS__;                                                                               \
        XT_CHECK(xg_account_is_valid(&bad) == (valid), "%s", why);                                 \
    } while (0)

static void set_transposes(struct xg_account *account, int trans)
{
    for (int i = 0; i < XG_ACCOUNT_SHAPES; i++)
        account->shapes[i].transb = account->shapes[i].calls ? trans : XG_NO_TRANS;
}

static void test_invalid(void)
{
    static struct xg_account bad;
    VALID(true, "unchanged", (void)0);
    VALID(false, "another version", bad.version++);
    VALID(false, "rows beyond the table", bad.row_count = XG_ACCOUNT_ROWS + 1);
    VALID(false, "no such reason", bad.rows[1].reason = XG_REASON_COUNT);
    VALID(false, "a text without end", memset(bad.rows[0].symbol, 'x', sizeof bad.rows[0].symbol));
    VALID(true, "conjugate transposes", set_transposes(&bad, XG_CONJ_TRANS));
    VALID(false, "no such transpose", set_transposes(&bad, 2 * XG_CONJ_TRANS));
    VALID(false, "only zeros", memset(&bad, 0, sizeof bad));
}

/* Another process may write any valid account into the folder: sums of counts stop at the largest
 * number, and the print shows it. */
static void test_largest(void)
{
    struct xg_account_sums sums;
    char *text = NULL;
    size_t size;

    fill(&read_back);
    for (int i = 0; i < read_back.row_count; i++)
        read_back.rows[i].calls = INT64_MAX;
    for (int i = 0; i < XG_ACCOUNT_SHAPES; i++)
        read_back.shapes[i].calls = read_back.shapes[i].calls ? INT64_MAX : 0;
    read_back.shapes_dropped = read_back.right = read_back.wrong = INT64_MAX;
    read_back.unable = read_back.rows_skipped = INT64_MAX;
    XT_CHECK(xg_account_is_valid(&read_back), "the largest counts");
    fill(&sum);
    xg_account_merge(&sum, &read_back);
    xg_account_merge(&sum, &read_back);
    XT_CHECK(xg_account_is_valid(&sum), "their sum");
    for (int i = 0; i < sum.row_count; i++)
        XT_CHECK(sum.rows[i].calls == INT64_MAX, "row %d: %lld", i, (long long)sum.rows[i].calls);
    for (int i = 0; i < XG_ACCOUNT_SHAPES; i++)
        XT_CHECK(!sum.shapes[i].calls || sum.shapes[i].calls == INT64_MAX, "shape %d: %lld", i,
                 (long long)sum.shapes[i].calls);
    XT_CHECK(sum.shapes_dropped == INT64_MAX && sum.right == INT64_MAX && sum.wrong == INT64_MAX &&
                 sum.unable == INT64_MAX && sum.rows_skipped == INT64_MAX,
             "the head's");
    xg_account_sum(&sum, &sums);
    XT_CHECK(sums.calls == INT64_MAX && sums.gpu_calls == INT64_MAX, "%lld, %lld",
             (long long)sums.calls, (long long)sums.gpu_calls);
    FILE *out = open_memstream(&text, &size);
    xg_account_print(&sum, 0, out);
    XT_CHECK(fclose(out) == 0 && !strstr(text, " -9") && strstr(text, " 9223372036854775807"), "%s",
             text);
    free(text);
}

/* A merge into a full table adds dropped shapes up to the largest number. */
static void test_largest_dropped(void)
{
    xg_account_init(&sum);
    for (int i = 0; i < 800; i++) {
        struct xg_call_record r = record(1 + i, XG_PLACE_CPU, XG_REASON_SMALL);
        xg_account_add(&sum, &r);
    }
    fill(&read_back);
    for (int i = 0; i < XG_ACCOUNT_SHAPES; i++)
        if (read_back.shapes[i].calls) {
            read_back.shapes[i].calls = INT64_MAX;
            read_back.shapes[i].m = INT64_MIN;
        }
    xg_account_merge(&sum, &read_back);
    XT_CHECK(sum.shapes_dropped == INT64_MAX, "%lld dropped", (long long)sum.shapes_dropped);
}

/* An account is not valid with a figure that no process can have. */
static void test_figures(void)
{
    static const double none[] = {-1.0, NAN, INFINITY, -INFINITY, DBL_MAX};
    static struct xg_account bad;
    fill(&bad);
    struct xg_account_shape *shape = bad.shapes;
    while (!shape->calls)
        shape++;
    double *const figures[] = {&bad.rows[0].flops,    &bad.rows[0].bytes, &bad.rows[1].seconds,
                               &bad.rows[1].waited_s, &shape->flops,      &shape->seconds,
                               &bad.deviation,        &bad.held_bytes};
    int64_t *const counts[] = {&bad.rows[0].calls, &bad.shapes_dropped, &bad.right,   &bad.wrong,
                               &bad.unable,        &bad.rows_skipped,   &shape->calls};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        for (size_t j = 0; j < sizeof none / sizeof none[0]; j++) {
            double was = *figures[i];
            *figures[i] = none[j];
            XT_CHECK(!xg_account_is_valid(&bad), "figure %zu: %g", i, none[j]);
            *figures[i] = was;
        }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int64_t was = *counts[i];
        *counts[i] = -1;
        XT_CHECK(!xg_account_is_valid(&bad), "count %zu", i);
        *counts[i] = was;
    }
    bad.longest_spin_s = INFINITY;
    XT_CHECK(xg_account_is_valid(&bad), "threads that spin without end");
    bad.rows[0].symbol[0] = '\033';
    XT_CHECK(!xg_account_is_valid(&bad), "a name that steers a terminal");
}

/* --- Its file ------------------------------------------------------------------------------ */

/* Runs the body in a child whose XGEMM_ACCOUNT is the folder. Returns the child's id; *status is
 * waitpid's. */
static pid_t run(void (*body)(void), int *status)
{
    pid_t child = fork();

    if (child == 0) {
        alarm(60);
        body();
        exit(xt_failures ? 1 : 0);
    }
    *status = -1;
    waitpid(child, status, 0);
    return child;
}

/* Returns the number of products in the file, of which the GPU computed half; -1: no valid file. */
static long products(long pid, const char *suffix)
{
    struct xg_account_sums sums;

    if (xg_mapping_read(in_dir(pid, suffix), &read_back) != XG_OK)
        return -1;
    xg_account_sum(&read_back, &sums);
    XT_CHECK(read_back.pid == pid, "pid %lld", (long long)read_back.pid);
    XT_CHECK(!strcmp(read_back.program, "account"), "%s", read_back.program);
    XT_CHECK(read_back.begun_ns > INT64_C(1700000000000000000), "%lld",
             (long long)read_back.begun_ns);
    XT_CHECK(sums.gpu_calls == sums.calls / 2, "%lld", (long long)sums.gpu_calls);
    return (long)sums.calls;
}

static void ends_by_exit(void)
{
    multiply(3);
}

static void ends_at_once(void)
{
    multiply(4);
    _exit(0);
}

static void ends_by_kill(void)
{
    multiply(5);
    raise(SIGKILL);
}

static void test_ends(void)
{
    int status;
    pid_t pid = run(ends_by_exit, &status);

    XT_CHECK(status == 0 && products(pid, "") == 3, "exit");
    pid = run(ends_at_once, &status);
    XT_CHECK(status == 0 && products(pid, "") == 4, "_exit");
    pid = run(ends_by_kill, &status);
    XT_CHECK(WIFSIGNALED(status) && products(pid, "") == 5, "SIGKILL");
    XT_CHECK(!strcmp(read_back.rows[1].symbol, "cblas_sgemm") &&
                 read_back.rows[1].reason == XG_REASON_MODEL && read_back.longest_spin_s == 0.01,
             "what is in it");
}

/* A child of fork has its own account, and no file before its first product. */
static pid_t child_pid;

static void forks(void)
{
    multiply(2);
    child_pid = fork();
    if (child_pid == 0) {
        XT_CHECK(access(in_dir(getpid(), ""), F_OK) != 0, "a file before a product");
        multiply(7);
        _exit(xt_failures != 0);
    }
    multiply(4);
    xt_child_wait(child_pid, "the child");
    XT_CHECK(products(child_pid, "") == 7, "the child's");
}

static void test_fork(void)
{
    int status;
    pid_t pid = run(forks, &status);

    XT_CHECK(status == 0 && products(pid, "") == 6, "the parent's, status %d", status);
}

/* After an exec the process finds an account under its id. */
static void finds_one_there(void)
{
    close(open(in_dir(getpid(), ""), O_WRONLY | O_CREAT | O_EXCL, 0600));
    multiply(3);
}

static void test_names(void)
{
    int status;
    pid_t pid = run(finds_one_there, &status);

    XT_CHECK(status == 0 && products(pid, "") < 0, "what was there stays");
    XT_CHECK(products(pid, ".1") == 3, "the next name");
}

/* Without space or without the folder, the program continues and leaves no file. */
static void no_space(void)
{
    const struct rlimit limit = {100000, 100000};

    setrlimit(RLIMIT_FSIZE, &limit);
    errno = 0;
    multiply(3);
}

static void no_folder(void)
{
    rmdir(dir);
    multiply(3);
}

static void test_refused(void)
{
    int status;
    pid_t pid = run(no_space, &status);

    XT_CHECK(status == 0, "a limit of file sizes: status %d", status);
    XT_CHECK(access(in_dir(pid, ""), F_OK) != 0, "a file is left");
}

/* Other users cannot read the file. A truncated file or a link is not read. */
static void test_read(void)
{
    int status;
    struct stat file;
    pid_t pid = run(ends_by_exit, &status);
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s", in_dir(pid, ""));
    XT_CHECK(stat(path, &file) == 0 && (file.st_mode & 0777) == 0600, "mode %o", file.st_mode);
    XT_CHECK(file.st_size == sizeof(struct xg_account) && file.st_blocks * 512 >= file.st_size,
             "%ld blocks", (long)file.st_blocks);
    const uint32_t before = XG_ACCOUNT_VERSION - 1;
    int fd = open(path, O_WRONLY);
    XT_CHECK(pwrite(fd, &before, sizeof before, offsetof(struct xg_account, version)) > 0, "fd %d",
             fd);
    close(fd);
    XT_CHECK(xg_mapping_read(path, &read_back) == XG_DECLINED && read_back.version == before,
             "another version");
    XT_CHECK(truncate(path, 12) == 0 && xg_mapping_read(path, &read_back) == XG_DECLINED,
             "another version, which is shorter");
    XT_CHECK(truncate(path, 11) == 0 && products(pid, "") < 0, "a head that is cut off");
    pid = run(ends_by_exit, &status);
    snprintf(path, sizeof path, "%s", in_dir(pid, ""));
    XT_CHECK(truncate(path, file.st_size - 1) == 0 && products(pid, "") < 0, "cut off");
    XT_CHECK(xg_mapping_read(dir, &read_back) == XG_ERR_NOTFOUND, "a folder");
    XT_CHECK(symlink(path, in_dir(0, "")) == 0 && products(0, "") < 0, "a link");
}

/* --- In memory ----------------------------------------------------------------------------- */

/* Returns the number of this process's products; -1: it keeps no account. */
static long products_here(void)
{
    struct xg_account_sums sums;
    size_t size = xg_stats_read(&read_back, sizeof read_back);

    XT_CHECK(size == 0 || size == sizeof read_back, "%zu bytes", size);
    if (size == 0)
        return -1;
    xg_account_sum(&read_back, &sums);
    XT_CHECK(xg_account_is_valid(&read_back), "valid");
    XT_CHECK(read_back.pid == (sums.calls ? getpid() : 0), "pid %lld", (long long)read_back.pid);
    return (long)sums.calls;
}

static void forks_in_memory(void)
{
    XT_CHECK(products_here() == 0, "a child's own");
    multiply(7);
    XT_CHECK(products_here() == 7, "a child's own");
}

/* An account in memory has no file. The first product still reads the settings. */
static void keeps_in_memory(void)
{
    char part[16] = "";
    int status;

    unsetenv("XGEMM_ACCOUNT");
    XT_CHECK(products_here() < 0, "nothing asked for an account");
    xg_conf_keep_account();
    XT_CHECK(products_here() == 0, "before the first product");
    setenv("XGEMM_TIMEOUT_MS", "77", 1);
    multiply(4);
    XT_CHECK(products_here() == 4, "after it");
    XT_CHECK(xg_conf_get()->timeout_ms == 77 && xg_conf_tells(xg_conf_get()), "the settings");
    XT_CHECK(access(in_dir(getpid(), ""), F_OK) != 0, "a file");
    XT_CHECK(xg_stats_read(part, 8) == sizeof read_back && !memcmp(part, XG_ACCOUNT_MAGIC, 8) &&
                 !part[8],
             "a part");
    run(forks_in_memory, &status);
    XT_CHECK(status == 0 && products_here() == 4, "the parent's, status %d", status);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) /* it must take no lock */
        _exit(xg_stats_read(part, 8) != 0);
    xt_child_wait(child, "a child that no handler saw");
}

static void keeps_too_late(void)
{
    unsetenv("XGEMM_ACCOUNT");
    multiply(1);
    xg_conf_keep_account();
    multiply(1);
    XT_CHECK(products_here() < 0, "after the first product");
}

static void keeps_both(void)
{
    xg_conf_keep_account();
    multiply(2);
    XT_CHECK(products(getpid(), "") == 2 && products_here() == 2, "the file and the memory");
}

/* Runs before this process has read its settings, which it reads once. */
static void test_in_memory(void)
{
    void (*const bodies[])(void) = {keeps_in_memory, keeps_too_late, keeps_both};
    int status;

    for (int i = 0; i < 3; i++) {
        run(bodies[i], &status);
        XT_CHECK(status == 0, "body %d: status %d", i, status);
    }
}

int main(void)
{
    if (!mkdtemp(dir))
        return XT_HARD;
    setenv("XGEMM_ACCOUNT", dir, 1);
    unsetenv("XGEMM_STATS");
    unsetenv("XGEMM_LOG");
    test_in_memory();
    xg_conf_get();
    test_sums();
    test_operations();
    test_narrow();
    test_absence();
    test_full();
    test_invalid();
    test_largest();
    test_largest_dropped();
    test_figures();
    test_ends();
    test_fork();
    test_names();
    test_refused();
    test_read();
    xt_remove(dir);

    int status;
    run(no_folder, &status);
    XT_CHECK(status == 0, "no folder: status %d", status);
    return xt_done();
}
