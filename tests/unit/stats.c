/* SPDX-License-Identifier: MIT */
/* Statistics: sums, the shapes that took longest, a line for each call, comparisons, the report at
 * exit, fork. */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/conf.h"
#include "src/report/compare.h"
#include "src/report/recorder.h"
#include "src/report/stats.h"
#include "tests/support/files.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

enum { THREADS = 4, CALLS = 500 };

static char log_path[] = "xg_stats_XXXXXX";
static pid_t test_pid;
static char text[1 << 16];

static const char *printed(void)
{
    FILE *out = fmemopen(text, sizeof text, "w");

    xg_stats_print(out);
    fclose(out);
    return text;
}

/* Returns the log's text since the last call, and empties the file. */
static const char *logged(void)
{
    xt_read(log_path, text, sizeof text);
    if (truncate(log_path, 0) != 0)
        exit(XT_HARD);
    return text;
}

static struct xg_call_record record(const char *symbol, int64_t size, enum xg_place place,
                                    enum xg_reason reason, double seconds)
{
    struct xg_call_record r = {
        .symbol = symbol,
        .call = {.m = size, .n = 2 * size, .k = 3 * size, .transb = true, .alpha = 1.0f},
        .place = place,
        .reason = reason,
        .gpu.kernel = place == XG_PLACE_CPU ? NULL : "tiled",
        .seconds = seconds,
        .gpu.up_bytes = place == XG_PLACE_CPU ? 0 : 1000000000,
        .gpu.down_bytes = place == XG_PLACE_CPU ? 0 : 500000000,
    };

    return r;
}

static void add(const char *symbol, int64_t size, enum xg_place place, enum xg_reason reason,
                double seconds)
{
    struct xg_call_record r = record(symbol, size, place, reason, seconds);

    xg_stats_add(&r);
}

static int count(const char *where, const char *what)
{
    int n = 0;

    for (const char *at = where; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

/* True if one line has both. */
static int line_with(const char *where, const char *first, const char *second)
{
    for (const char *at = where; (at = strstr(at, first)); at += strlen(first)) {
        const char *found = strstr(at, second);

        if (found && found < at + strcspn(at, "\n"))
            return 1;
    }
    return 0;
}

static void test_reasons(void)
{
    for (int i = 0; i < XG_REASON_COUNT; i++) {
        const char *reason = xg_reason_text((enum xg_reason)i);

        XT_CHECK(reason && *reason, "%d", i);
        for (int j = 0; j < i; j++)
            XT_CHECK(strcmp(reason, xg_reason_text((enum xg_reason)j)) != 0, "%s", reason);
    }
    XT_CHECK(xg_reason_text(XG_REASON_COUNT) != NULL, "out of range");
}

static void test_line(void)
{
    struct xg_call_record r =
        record("cblas_sgemm", 100, XG_PLACE_GPU, XG_REASON_MODEL, 0.012 /* 1 GFLOP/s */);

    r.predicted_cpu_s = 0.0174;
    r.predicted_gpu_s = 0.0085;
    xg_stats_add(&r);
    XT_CHECK(!strcmp(logged(), "xgemm: cblas_sgemm 100x200x300 NT beta=0: GPU tiled, 12 ms "
                               "(1 GFLOP/s), predicted CPU 17.4 ms, GPU 8.5 ms: cost model\n"),
             "%s", text);
    add("sgemm_", 0, XG_PLACE_CPU, XG_REASON_DEGENERATE, 0.0);
    XT_CHECK(!strcmp(logged(), "xgemm: sgemm_ 0x0x0 NT beta=0: CPU, 0 ms (0 GFLOP/s): "
                               "nothing to multiply\n"),
             "%s", text);
}

/* Runs the body in a child, which begins with an empty account. Returns its report. */
static const char *report_of(void (*body)(void))
{
    pid_t child = fork();

    if (child == 0) {
        body();
        exit(xt_failures ? 1 : 0);
    }
    xt_child_wait(child, "the child");
    return logged();
}

/* The first of equal calls has a line. One line counts the others, before the next different call
 * or at exit. */
static void repeated_lines(void)
{
    struct xg_call_record r = record("sgemm_", 100, XG_PLACE_GPU, XG_REASON_MODEL, 0.25);

    for (int i = 0; i < 42; i++)
        xg_stats_add(&r);
    logged();
    XT_CHECK(strstr(text, "xgemm: sgemm_ 100x200x300") == text &&
                 strchr(text, '\n') == text + strlen(text) - 1,
             "%s", text);
    r.reason = XG_REASON_PHASE;
    xg_stats_add(&r);
    XT_CHECK(strstr(logged(), "xgemm: the same 41 times more, 250 ms each\nxgemm: sgemm_ 100x") ==
                 text,
             "%s", text);
    xg_stats_add(&r);
    XT_CHECK(!*logged(), "%s", text);
}

static void verdict_lines(void)
{
    /* No rate has an exponent. Another beta makes a call differ from the one before. */
    static const struct {
        double seconds, beta;
        enum xg_verdict verdict;
        const char *text;
    } calls[] = {{6.29e-7, 0, XG_VERDICT_NONE, "(19.08 TFLOP/s)"},
                 {1.2001e-5, 1, XG_VERDICT_NONE, "(999.9 GFLOP/s)"},
                 {1.2e-5, 2, XG_VERDICT_NONE, "(1 TFLOP/s)"},
                 {0.012, 2, XG_VERDICT_RIGHT, "GFLOP/s), verified: cost model\n"},
                 {0.012, 2, XG_VERDICT_WRONG, "GFLOP/s), found wrong: cost model\n"},
                 {0.012, 2, XG_VERDICT_UNABLE, "GFLOP/s), not verified: cost model\n"}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct xg_call_record r =
            record("sgemm_", 100, XG_PLACE_GPU, XG_REASON_MODEL, calls[i].seconds);
        r.call.beta = calls[i].beta;
        r.gpu.verdict = calls[i].verdict;
        xg_stats_add(&r);
        XT_CHECK(strstr(logged(), calls[i].text), "%s", text);
    }
}

static void verified(void)
{
    static const struct {
        enum xg_verdict verdict;
        double deviation;
        int rows_skipped;
    } calls[] = {{XG_VERDICT_RIGHT, 0.01, 3},
                 {XG_VERDICT_RIGHT, 0.002, 0},
                 {XG_VERDICT_WRONG, 700, 4},
                 {XG_VERDICT_UNABLE, 0, 0},
                 {XG_VERDICT_NONE, 0, 0}};

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct xg_call_record r = record("sgemm_", 100, XG_PLACE_GPU, XG_REASON_MODEL, 0.006);
        r.gpu.verdict = calls[i].verdict;
        r.gpu.deviation = calls[i].deviation;
        r.gpu.rows_skipped = calls[i].rows_skipped;
        xg_stats_add(&r);
    }
    logged();
}

/* A LAPACK call has no transposes and no beta. */
static void routines(void)
{
    struct xg_call_record r = record("scipy_dgesv_64_", 100, XG_PLACE_GPU, XG_REASON_MODEL, 0.25);

    r.routine = "dgesv";
    r.routine_flops = 5e9;
    xg_stats_add(&r);
    XT_CHECK(strstr(logged(), "xgemm: scipy_dgesv_64_ 100x200x300: GPU"), "%s", text);
}

static void conjugates(void)
{
    struct xg_call_record r = record("zgemm_", 100, XG_PLACE_GPU, XG_REASON_MODE, 0.012);

    r.call.type = XG_TYPE_Z;
    r.call.transa = XG_CONJ_TRANS;
    xg_stats_add(&r);
    r.call.transb = XG_CONJ_TRANS;
    xg_stats_add(&r);
    XT_CHECK(strstr(logged(), "xgemm: zgemm_ 100x200x300 CT beta=0: ") &&
                 strstr(text, "xgemm: zgemm_ 100x200x300 CC beta=0: "),
             "%s", text);
    struct xg_compare_record compared = {.symbol = "zgemm_", .call = r.call};
    xg_stats_add_compare(&compared);
}

static void nothing(void) {}

static void sums(void)
{
    for (int i = 0; i < 3; i++)
        add("sgemm_", 100, XG_PLACE_GPU, XG_REASON_MODEL, 0.006);
    add("sgemm_", 100, XG_PLACE_CPU, XG_REASON_BUSY, 0.012);
    add("cblas_sgemm", 100, XG_PLACE_GPU, XG_REASON_MODEL, 0.003);
    logged();
}

static void test_verified(void)
{
    const char *report;

    report_of(verdict_lines);
    XT_CHECK(strstr(report_of(repeated_lines), "xgemm: the same 1 time more, 250 ms each\n") ==
                 text,
             "%s", text);
    report = report_of(verified);

    XT_CHECK(strstr(report, "verified: 3 calls; wrong, and computed again by the CPU: 1; could "
                            "not be verified: 1;\n  rows with NaN or infinities skipped: 7; "
                            "largest deviation: 0.01 of"),
             "%s", report);
    XT_CHECK(!strstr(report_of(sums), "verified"), "%s", text);
}

static void words_of_numpy(void)
{
    add("scipy_cblas_sgemm64_", 1000, XG_PLACE_CPU, XG_REASON_NO_DRIVER, 9.9999);
    add("cblas_sgemm", 100, XG_PLACE_GPU, XG_REASON_MODEL, 0.0001);
    logged();
}

/* Columns are as wide as their longest entry. */
static void test_widths(void)
{
    const char *head = strstr(report_of(words_of_numpy), "  where ");
    size_t width = head ? strcspn(head, "\n") : 0;
    XT_CHECK(width > 0 && width <= 100, "%s", text);
    XT_CHECK(head && strcspn(head + width + 1, "\n") == width, "%s", text);
    XT_CHECK(head && strcspn(head + 2 * (width + 1), "\n") == width, "%s", text);
}

static void many_shapes(void)
{
    for (int i = 1; i <= 2000; i++)
        add("sgemm_", i, XG_PLACE_CPU, XG_REASON_SMALL, i <= 700 ? 1e-3 * i : 1e-6);
    logged();
}

static void spins(double seconds)
{
    struct xg_call_record r = record("cblas_sgemm", 100, XG_PLACE_CPU, XG_REASON_MODEL, 1e-3);
    for (int i = 0; i < 3; i++) {
        r.spin_s = i == 1 ? seconds : 0.0;
        xg_stats_add(&r);
    }
    logged();
}

static void spins_long(void)
{
    spins(0.134);
}

static void spins_short(void)
{
    spins(4e-4);
}

static void *add_calls(void *arg)
{
    (void)arg;
    for (int i = 0; i < CALLS; i++)
        add("sgemm_", 1 + i % 7, XG_PLACE_CPU, XG_REASON_SMALL, 1e-6);
    return NULL;
}

static void threads(void)
{
    xt_threads_run(THREADS, add_calls, NULL, 0);
    logged();
}

static void compared(void)
{
    struct xg_compare_record r = {
        .symbol = "cblas_sgemm",
        .call = {.m = 64, .n = 32, .k = 16, .alpha = 1.0f, .beta = 1.0f},
        .kernel = "vectorized",
        .cpu_seconds = 0.5, /* the first call is not in the means */
        .gpu_seconds = 0.9,
        .cpu_error = 0.5,
        .gpu_error = 2.25,
    };

    xg_stats_add_compare(&r);
    r.cpu_seconds = 0.004;
    r.gpu_seconds = 0.001;
    xg_stats_add_compare(&r);
    r.cpu_seconds = 0.002;
    r.gpu_seconds = 0.002;
    r.gpu_error = 0.125;
    xg_stats_add_compare(&r);
    r.call.m = 65;
    r.gpu_error = NAN;
    xg_stats_add_compare(&r);
    r.gpu_error = 0.25;
    xg_stats_add_compare(&r);
    r = (struct xg_compare_record){.symbol = "dgesv_", .routine = true, .kernel = "cuSOLVER"};
    r.call = (struct xg_problem){.type = XG_TYPE_D, .m = 90, .n = 90, .k = 2};
    r.cpu_seconds = r.gpu_seconds = 0.001;
    r.cpu_error = XG_COMPARE_UNMEASURED;
    r.gpu_error = 3;
    xg_stats_add_compare(&r);
    r.call.m = 91;
    xg_stats_add_compare(&r);
    r.cpu_error = 0.75;
    r.gpu_error = 2;
    xg_stats_add_compare(&r);
}

static void add_inside(const char *symbol, int64_t size, enum xg_place place, double seconds,
                       double inside_s)
{
    struct xg_call_record r = record(symbol, size, place, XG_REASON_MODEL, seconds - inside_s);
    xg_recorder_add(&r, 0);
}

/* Calls on the GPU inside a routine on the CPU have their own records, and no time is counted
 * twice. */
static void inside(void)
{
    double outer = xg_recorder_enter();
    add_inside("product_", 100, XG_PLACE_CPU, 1, 0);
    double inner = xg_recorder_enter();
    add_inside("product_", 100, XG_PLACE_GPU, 2, 0);
    struct xg_call_record wrong = record("wrong_", 100, XG_PLACE_CPU, XG_REASON_WRONG, 1);
    wrong.gpu.verdict = XG_VERDICT_WRONG;
    xg_recorder_add(&wrong, 0);
    add_inside("inner_", 100, XG_PLACE_CPU, 3, xg_recorder_leave(inner));
    add_inside("outer_", 100, XG_PLACE_CPU, 7, xg_recorder_leave(outer));
    add_inside("after_", 100, XG_PLACE_CPU, 1, xg_recorder_leave(xg_recorder_enter()));
}

/* --- What the report at exit must have ------------------------------------------------------- */

static const struct {
    void (*body)(void);
    const char *first, *second; /* one line has both; second NULL: the report has the first */
} reports[] = {
    {sums, "xgemm: 5 products, 0.060 GFLOP in 0.033 s; 4 on the GPU, 1 on the CPU\n", NULL},
    {sums, "cost model", " 4.500  0.0180     2.0\n"},
    {sums, "GPU busy", " 0.000  0.0120     1.0\n"},
    {sums, "shapes that took longest", "of 3 "},
    {sums, "    NT    0 GPU   tiled ", " 3  6.0000     2.0\n"},
    {routines, "GPU ", " scipy_dgesv_64_ dgesv         1 5.000"},
    {routines, "scipy_dgesv_64_ 100 ", " -    - GPU "},
    /* A conjugate transpose and a transpose are different shapes with different letters. */
    {conjugates, "zgemm_ ", " CT    0 GPU "},
    {conjugates, "zgemm_ ", " CC    0 GPU "},
    {conjugates, "zgemm_ ", " CC    0      1 "}, /* compared */
    {inside, "xgemm: 4 products", "in 8.000 s; 1 on the GPU, 3"},
    {inside, " outer_ ", " 4.0000 "},
    {inside, " product_ ", " 2.0000 "},
    {many_shapes, "xgemm: 2000 products", NULL},
    {many_shapes, " 700 1400 2100 ", " 700.0000 "},
    {many_shapes, " 681 1362 2043 ", " 681.0000 "},
    {many_shapes, "and 1232 products of shapes that found the table full", NULL},
    {compared, "     64      32      16    NN  any      3      3.000      1.500",
     "    2.00       0.5      2.25  vectorized\n"},
    {compared, "     65      32 ", " nan  vectorized\n"}, /* NaN stays */
    /* A routine has no transposes. The error on the CPU is unmeasured at first. */
    {compared, "dgesv_ ", "     90      90       2     -    -      1 "},
    {compared, "     90      90       2     -    -      1 ", "         -         3  cuSOLVER\n"},
    {compared, "     91      90       2     -    -      2 ", "      0.75         3  cuSOLVER\n"},
    {compared, "without the errors of 2 calls", NULL},
};

static void test_reports(void)
{
    const char *report = NULL;
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        if (i == 0 || reports[i].body != reports[i - 1].body)
            report = report_of(reports[i].body);
        XT_CHECK(reports[i].second ? line_with(report, reports[i].first, reports[i].second)
                                   : strstr(report, reports[i].first) != NULL,
                 "%s, %s: %s", reports[i].first, reports[i].second ? reports[i].second : "",
                 report);
    }
    report = report_of(sums);
    XT_CHECK(count(report, "cost model") == 2, "one line for each name: %s", report);
    report = report_of(inside);
    XT_CHECK(!strstr(report, "inner_"), "%s", report);
    report = report_of(many_shapes);
    XT_CHECK(count(report, " NT ") == 20, "%d: %s", count(report, " NT "), report);
    XT_CHECK(!strstr(report, "     680    1360    2040 "), "%s", report);
    /* The report advises once about spinning threads, and does not if they spin for a short time.
     */
    report = report_of(spins_short);
    XT_CHECK(strstr(report, "3 products") && !strstr(report, "spin"), "%s", report);
    report = report_of(spins_long);
    XT_CHECK(count(report, "spin for 134 ms") == 1, "%s", report);
    XT_CHECK(count(report, "xgemm-run lets them sleep") == 1, "%s", report);
}

/* Registered before the exit report, therefore runs after it. Children do not remove the file. */
static void remove_log(void)
{
    if (getpid() == test_pid)
        unlink(log_path);
}

int main(void)
{
    int fd = mkstemp(log_path);

    if (fd < 0)
        return XT_HARD;
    close(fd);
    test_pid = getpid();
    atexit(remove_log);
    setenv("XGEMM_STATS", "1", 1);
    setenv("XGEMM_VERBOSE", "1", 1);
    setenv("XGEMM_LOG", log_path, 1);
    unsetenv("XGEMM_MODE");
    xg_conf_get();

    test_reasons();
    test_line();
    XT_CHECK(strstr(printed(), "xgemm: 2 products, 0.012 GFLOP in 0.012 s; 1 on the GPU"), "%s",
             text);
    XT_CHECK(!*report_of(nothing), "a child that multiplied nothing reports nothing: %s", text);
    test_reports();
    test_widths();
    test_verified();
    XT_CHECK(strstr(report_of(threads), "xgemm: 2000 products"), "%s", text);
    XT_CHECK(strstr(printed(), "xgemm: 2 products"), "the parent's account is its own: %s", text);
    return xt_done();
}
